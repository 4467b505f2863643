/* Matrix products whose operands come as they are: any strides, nothing packed ahead of time. */
#ifndef FLAMBEAU_KERNELS_MATMUL_H
#define FLAMBEAU_KERNELS_MATMUL_H

#include "flambeau/kernel.h"
#include "gemm.h"

/* A view of a float matrix; strides in floats. */
typedef struct fl_matrix {
  float *data;
  size_t rows, columns;
  size_t row_stride, column_stride;
} fl_matrix;

static inline fl_matrix fl_transposed(fl_matrix a) {
  return (fl_matrix){a.data, a.columns, a.rows, a.column_stride, a.row_stride};
}

/* Floats of scratch memory that a product with these sizes (or smaller ones) needs. */
size_t fl_matmul_scratch(size_t m, size_t n, size_t k);

/* c = a b. One of c's strides must be 1. `bias` is added to each row of c when not NULL. */
void fl_matmul(fl_matrix c, fl_matrix a, fl_matrix b, const float *bias, float *scratch);

/* The same for every element type: out = a b, accumulated in double or modulo 2^64. Strides in elements. */
typedef struct fl_any_matrix {
  void *data;
  size_t offset;
  size_t rows, columns;
  size_t row_stride, column_stride;
  int8_t dtype;
} fl_any_matrix;
void fl_matmul_any(fl_any_matrix c, fl_any_matrix a, fl_any_matrix b);

#endif
