/* Arrays in numpy's .npy files, versions 1 to 3. */
#ifndef FLAMBEAU_TOOLS_NPY_H
#define FLAMBEAU_TOOLS_NPY_H

#include "flambeau/value.h"

/* An array that lies in a file read into memory. */
typedef struct npy_array {
  fl_tensor tensor; /* refers to `sizes`, `strides` and `file` */
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
  void *file;       /* to be freed */
} npy_array;

/* NULL on success, else what is wrong. `array` must not move afterwards. A file of 2-byte records ("V2") is taken for bfloat16. */
const char *npy_read(const char *path, npy_array *array);
/* Writes in row-major order, whatever the tensor's layout. */
const char *npy_write(const char *path, const fl_tensor *tensor);
/* The whole of a file, 64-byte aligned; NULL and a reason on failure. */
void *read_file(const char *path, size_t *size, const char **reason);

#endif
