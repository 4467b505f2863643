/* Matrix products of operands with any strides, which are not packed ahead of time. */
#ifndef FLAMBEAU_KERNELS_MATMUL_H
#define FLAMBEAU_KERNELS_MATMUL_H

#include "flambeau/kernel.h"
#include "gemm.h"

/* A view of a float matrix, with strides in floats. */
typedef struct fl_matrix {
  float *data;
  size_t rows, columns;
  size_t row_stride, column_stride;
} fl_matrix;

static inline fl_matrix fl_transposed(fl_matrix a) {
  return (fl_matrix){a.data, a.columns, a.rows, a.column_stride, a.row_stride};
}

/* Returns the floats of scratch memory that fl_matmul needs for c = a b, and for all smaller products of the same layouts. Reads no data. */
size_t fl_matmul_scratch(fl_matrix c, fl_matrix a, fl_matrix b);

/* Computes c = a b, and adds `bias` to each row of c if it is not NULL. One of c's strides must be 1. The context has the scratch memory. */
void fl_matmul(const fl_context *context, fl_matrix c, fl_matrix a, fl_matrix b, const float *bias);

/* A view of a matrix of any real dtype, with `offset` and strides in elements. */
typedef struct fl_any_matrix {
  void *data;
  size_t offset; /* of the first element from `data` */
  size_t rows, columns;
  size_t row_stride, column_stride;
  int8_t dtype;
} fl_any_matrix;
/* Computes c = a b, accumulated in double or, for integers, modulo 2^64. */
void fl_matmul_any(fl_any_matrix c, fl_any_matrix a, fl_any_matrix b);

#endif
