/* Nests of loops over the dimensions of several operands, which have strides. */
#ifndef FLAMBEAU_KERNELS_NEST_H
#define FLAMBEAU_KERNELS_NEST_H

#include "dtype.h"

/* More than FL_MAX_RANK, because some views split two dimensions of a tensor. */
#define FL_MAX_DIMS (FL_MAX_RANK + 2)
#define FL_MAX_OPERANDS 4

/* Loops over several operands at once, from the outermost dimension to the innermost. Strides are in bytes; operand 0 is written. */
typedef struct fl_nest {
  uint32_t sizes[FL_MAX_DIMS]; /* 32 bits suffice: a tensor has at most 2^31 - 1 elements */
  int64_t strides[FL_MAX_OPERANDS][FL_MAX_DIMS];
  uint8_t rank;
  uint8_t operands;
} fl_nest;

/* Adds an innermost dimension of `size`; `strides` has one stride per operand. */
void fl_nest_push(fl_nest *nest, size_t size, const int64_t *strides);
/* Drops dimensions of size 1, orders the others by the strides of operand `key` (largest outermost), and merges dimensions that all
 * operands lay out as one. */
void fl_nest_simplify(fl_nest *nest, uint8_t key);
/* Moves `index` and the operands' pointers `at` to the next position of the outer `rank - inner` dimensions, and returns 1; returns 0 after the last
 * position. `index`, of FL_MAX_DIMS entries, starts as zeros. */
int fl_nest_next(const fl_nest *nest, uint8_t inner, uint32_t *index, char **at);

#endif
