/* Reads and writes numpy's .npy files, versions 1 to 3. */
#ifndef FLAMBEAU_TOOLS_NPY_H
#define FLAMBEAU_TOOLS_NPY_H

#include "flambeau/value.h"

/* An array in a file that was read into memory. */
typedef struct npy_array {
  fl_tensor tensor; /* refers to `sizes`, `strides` and `file` */
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
  void *file;       /* the file's memory, which the caller frees */
} npy_array;

/* Reads a file. Returns NULL, or the reason of a failure. `array` must not move afterwards. Reads 2-byte records ("V2") as bfloat16. */
const char *npy_read(const char *path, npy_array *array);
/* Writes a tensor of any layout in row-major order. Returns NULL, or the reason of a failure. */
const char *npy_write(const char *path, const fl_tensor *tensor);
/* Returns the content of a file, in 64-byte aligned memory that the caller frees; NULL, with the reason in `reason`, on failure. */
void *read_file(const char *path, size_t *size, const char **reason);

#endif
