/* Reads bundled programs (.bpte, ExecuTorch's BP08): a program, and inputs with the outputs expected of its methods. */
#ifndef FLAMBEAU_TOOLS_BUNDLE_H
#define FLAMBEAU_TOOLS_BUNDLE_H

#include "flambeau/value.h"

typedef struct bundle {
  const uint8_t *file;
  uint32_t size;
  uint32_t suite;   /* the test cases of one method; 0: none */
  int is_damaged;   /* something lay outside of the file */
  char reason[96];  /* what bundle_open returns */
} bundle;

/* A value of a test case. A tensor refers to the file, and to the arrays of this structure. */
typedef struct bundle_value {
  fl_value value;
  fl_tensor tensor;
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
} bundle_value;

typedef enum bundle_list { BUNDLE_INPUTS = 0, BUNDLE_OUTPUTS } bundle_list;

int bundle_is(const void *file, size_t size);
/* Finds the program and, unless it is NULL, the test cases of a method. Returns NULL, or the reason of a failure. */
const char *bundle_open(bundle *b, const void *file, size_t size, const char *method, const void **program, size_t *program_size);
uint32_t bundle_cases(bundle *b);
uint32_t bundle_count(bundle *b, uint32_t number, bundle_list list);
/* Reads value `index` of a list of test case `number`, and returns 1; returns 0 when the file is damaged, or the value has no form in programs. */
int bundle_read(bundle *b, uint32_t number, bundle_list list, uint32_t index, bundle_value *value);
/* Returns the number of elements that differ by more than atol + rtol * |expected|, or for integers at all; all elements if types or shapes
 * differ. Raises `most` to the greatest difference. */
uint64_t bundle_differences(const fl_value *expected, const fl_value *found, double rtol, double atol, double *most);

#endif
