/* Loop nests with strides. */
#ifndef FLAMBEAU_KERNELS_NEST_H
#define FLAMBEAU_KERNELS_NEST_H

#include "dtype.h"

/* Some views split two dimensions of a tensor. */
#define FL_MAX_DIMS (FL_MAX_RANK + 2)
#define FL_MAX_OPERANDS 4

/* Loops over several operands at once. Strides are in bytes; operand 0 is the one written. */
typedef struct fl_nest {
  uint32_t sizes[FL_MAX_DIMS]; /* a tensor has at most 2^31 - 1 elements */
  int64_t strides[FL_MAX_OPERANDS][FL_MAX_DIMS];
  uint8_t rank;
  uint8_t operands;
} fl_nest;

/* Adds an innermost dimension. Strides: one per operand. */
void fl_nest_push(fl_nest *nest, size_t size, const int64_t *strides);
/* Drops dimensions of size 1, orders the rest by the strides of operand `key` (largest outermost), merges those that make one run. */
void fl_nest_simplify(fl_nest *nest, uint8_t key);
/* Steps the outer `rank - inner` dimensions; `index` starts as zeros. Returns 0 after the last position. */
int fl_nest_next(const fl_nest *nest, uint8_t inner, uint32_t *index, char **at);

#endif
