/* Bundled programs (.bpte, ExecuTorch's BP08): a program, and inputs with the outputs that its methods should give. */
#ifndef FLAMBEAU_TOOLS_BUNDLE_H
#define FLAMBEAU_TOOLS_BUNDLE_H

#include "flambeau/value.h"

typedef struct bundle {
  const uint8_t *file;
  uint32_t size;
  uint32_t suite;   /* the test cases of one method; 0: none */
  int is_damaged;   /* something lay outside of the file */
} bundle;

/* A value of a test case. A tensor refers to the file and to the arrays beside it. */
typedef struct bundle_value {
  fl_value value;
  fl_tensor tensor;
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
} bundle_value;

typedef enum bundle_list { BUNDLE_INPUTS = 0, BUNDLE_OUTPUTS } bundle_list;

/* Finds the program and the test cases of a method. NULL on success, else what is wrong. */
const char *bundle_open(bundle *b, const void *file, size_t size, const char *method, const void **program, size_t *program_size);
uint32_t bundle_cases(bundle *b);
uint32_t bundle_count(bundle *b, uint32_t number, bundle_list list);
/* 0 when the file is damaged, or holds what a program cannot take. */
int bundle_read(bundle *b, uint32_t number, bundle_list list, uint32_t index, bundle_value *value);
/* The number of elements that lie further apart than atol + rtol * |expected|, integers that are not equal; all where the types or shapes
 * differ. `most` becomes the greatest difference. */
uint64_t bundle_differences(const fl_value *expected, const fl_value *found, double rtol, double atol, double *most);

#endif
