/* Kernels that factor matrices into triangular and orthogonal matrices, in double precision. */
#include "matrices.h"
#include "factorization.def"

size_t fl_factors_scratch(fl_value *const *args, size_t count);

/* Returns the scratch memory for one matrix of the first argument, and a row of numbers or indices. */
size_t fl_factors_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *tensor = fl_get_tensor(args[0]);
  const size_t matrix = fl_matrices_room(args[0], 1);
  (void)count;
  if (tensor == NULL || tensor->rank < 2 || matrix > SIZE_MAX / 2) {
    return matrix;
  }
  return matrix + fl_scratch_bytes((size_t)tensor->sizes[tensor->rank - 2] + (size_t)tensor->sizes[tensor->rank - 1], sizeof(double)) + 256;
}

static size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

/* Subtracts `factor` times the n numbers of `other` from `row`. */
static void subtract_row(size_t n, double *row, double factor, const double *other) {
  FL_INDEPENDENT
  for (size_t k = 0; k < n; ++k) {
    row[k] -= factor * other[k];
  }
}

static double product(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t k = 0; k < n; ++k) {
    sum += a[k] * b[k];
  }
  return sum;
}

static void swap_rows(size_t n, double *a, double *b) {
  for (size_t k = 0; k < n; ++k) {
    const double swap = a[k];
    a[k] = b[k];
    b[k] = swap;
  }
}

/* Factors a matrix into L U in place, with row exchanges in `pivots`. Returns the first pivot that is 0, counted from 1, or 0. */
static int32_t factor(double *a, size_t rows, size_t columns, int32_t *pivots) {
  int32_t info = 0;
  for (size_t j = 0; j < lesser(rows, columns); ++j) {
    size_t pivot = j;
    for (size_t i = j + 1; i < rows; ++i) {
      pivot = fabs(a[i * columns + j]) > fabs(a[pivot * columns + j]) ? i : pivot;
    }
    pivots[j] = (int32_t)(pivot + 1);
    if (a[pivot * columns + j] != 0) {
      if (pivot != j) {
        swap_rows(columns, a + j * columns, a + pivot * columns);
      }
      for (size_t i = j + 1; i < rows; ++i) {
        a[i * columns + j] /= a[j * columns + j];
      }
    } else if (info == 0) {
      info = (int32_t)(j + 1);
    }
    for (size_t i = j + 1; i < rows; ++i) {
      subtract_row(columns - j - 1, a + i * columns + j + 1, a[i * columns + j], a + j * columns + j + 1);
    }
  }
  return info;
}

fl_status fl_linalg_lu_factor_ex_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const out = fl_get_tensor(args[3]);
  fl_tensor *const pivots = fl_get_tensor(args[4]);
  fl_tensor *const info = fl_get_tensor(args[5]);
  FL_INT_ARGUMENT(pivot, 1);
  FL_INT_ARGUMENT(check, 2);
  (void)count;
  FL_CHECK(context, pivot != 0, "pivot must be true");
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t least = lesser(a.rows, a.columns);
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){a.rows, a.columns}, 2));
  FL_TRY(fl_resize_batch(context, pivots, a.tensor, FL_INT32, &least, 1));
  FL_TRY(fl_resize_batch(context, info, a.tensor, FL_INT32, NULL, 0));
  FL_TAKE(double, work, a.rows * a.columns);
  for (size_t i = 0; i < a.count; ++i) {
    fl_read_reals(a.tensor, i * a.rows * a.columns, a.rows * a.columns, work);
    const int32_t found = factor(work, a.rows, a.columns, (int32_t *)pivots->data + i * least);
    FL_CHECK_NUMBERS(context, check == 0 || found == 0, "a matrix is singular: pivot % is 0", found, 0);
    ((int32_t *)info->data)[i] = found;
    fl_write_reals(out, i * a.rows * a.columns, a.rows * a.columns, work);
  }
  return FL_OK;
}

/* Stores in `order` the row of the 1 in each column of the permutation matrix that `count` pivots give. Fails for invalid pivots. */
static fl_status order_of(fl_context *context, const int32_t *pivots, size_t count, size_t rows, int32_t *order) {
  for (size_t i = 0; i < rows; ++i) {
    order[i] = (int32_t)i;
  }
  for (size_t i = 0; i < count; ++i) {
    FL_CHECK_NUMBERS(context, pivots[i] >= 1 && (size_t)pivots[i] <= rows, "a pivot must be one of % rows, not %", (int64_t)rows, pivots[i]);
    const int32_t swap = order[i];
    order[i] = order[pivots[i] - 1];
    order[pivots[i] - 1] = swap;
  }
  return FL_OK;
}

static fl_status unpack_pivots(fl_context *context, const fl_matrices *a, const fl_tensor *pivots, fl_tensor *out) {
  const size_t least = lesser(a->rows, a->columns);
  FL_TRY(fl_resize_batch(context, out, a->tensor, a->tensor->dtype, (const size_t[]){a->rows, a->rows}, 2));
  FL_TAKE(int32_t, order, a->rows);
  for (size_t i = 0; i < a->count; ++i) {
    FL_TRY(order_of(context, (const int32_t *)pivots->data + i * least, least, a->rows, order));
    for (size_t at = 0; at < a->rows * a->rows; ++at) {
      fl_write_real(out->dtype, out->data, i * a->rows * a->rows + at, (size_t)order[at % a->rows] == at / a->rows ? 1 : 0);
    }
  }
  return FL_OK;
}

static fl_status unpack_data(fl_context *context, const fl_matrices *a, fl_tensor *lower, fl_tensor *upper) {
  const size_t least = lesser(a->rows, a->columns);
  FL_TRY(fl_resize_batch(context, lower, a->tensor, a->tensor->dtype, (const size_t[]){a->rows, least}, 2));
  FL_TRY(fl_resize_batch(context, upper, a->tensor, a->tensor->dtype, (const size_t[]){least, a->columns}, 2));
  for (size_t i = 0; i < a->count; ++i) {
    for (size_t r = 0; r < a->rows; ++r) {
      for (size_t c = 0; c < a->columns; ++c) {
        const double x = fl_read_real(a->tensor->dtype, a->tensor->data, (i * a->rows + r) * a->columns + c);
        if (c < least) {
          fl_write_real(lower->dtype, lower->data, (i * a->rows + r) * least + c, c < r ? x : c == r ? 1 : 0);
        }
        if (r < least) {
          fl_write_real(upper->dtype, upper->data, (i * least + r) * a->columns + c, c >= r ? x : 0);
        }
      }
    }
  }
  return FL_OK;
}

static fl_status resize_to_nothing(fl_context *context, fl_tensor *out) {
  FL_CHECK(context, out != NULL, "the outputs must be tensors");
  return fl_resize(context, out, (const int32_t[]){0}, 1);
}

fl_status fl_lu_unpack_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  FL_TENSOR_ARGUMENT(pivots, 1);
  FL_INT_ARGUMENT(data, 2);
  FL_INT_ARGUMENT(order, 3);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t least = lesser(a.rows, a.columns);
  FL_CHECK(context, pivots->dtype == FL_INT32 && fl_is_contiguous(pivots), "the pivots must be contiguous and of int32");
  FL_CHECK(context, fl_numel(pivots) == a.count * least, "the pivots do not fit to the matrices");
  if (order != 0) {
    FL_TRY(unpack_pivots(context, &a, pivots, fl_get_tensor(args[4])));
  } else {
    FL_TRY(resize_to_nothing(context, fl_get_tensor(args[4])));
  }
  if (data != 0) {
    return unpack_data(context, &a, fl_get_tensor(args[5]), fl_get_tensor(args[6]));
  }
  FL_TRY(resize_to_nothing(context, fl_get_tensor(args[5])));
  return resize_to_nothing(context, fl_get_tensor(args[6]));
}

/* Factors a matrix into L Lᵀ in place, in the lower triangle. Returns the order of the first leading minor that is not positive, or 0. */
static int32_t factor_definite(double *a, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    double *const row = a + j * n;
    const double square = row[j] - product(j, row, row);
    if (!(square > 0)) {
      return (int32_t)(j + 1);
    }
    row[j] = sqrt(square);
    for (size_t i = j + 1; i < n; ++i) {
      a[i * n + j] = (a[i * n + j] - product(j, a + i * n, row)) / row[j];
    }
  }
  return 0;
}

fl_status fl_linalg_cholesky_ex_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const out = fl_get_tensor(args[3]);
  fl_tensor *const info = fl_get_tensor(args[4]);
  FL_INT_ARGUMENT(upper, 1);
  FL_INT_ARGUMENT(check, 2);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t n = a.rows;
  FL_CHECK(context, a.columns == n, "the matrices must be square");
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){n, n}, 2));
  FL_TRY(fl_resize_batch(context, info, a.tensor, FL_INT32, NULL, 0));
  FL_TAKE(double, work, n * n);
  for (size_t i = 0; i < a.count; ++i) {
    for (size_t at = 0; at < n * n; ++at) {
      const size_t row = at / n;
      const size_t column = at % n;
      const size_t from = i * n * n + (upper != 0 ? column * n + row : at);
      work[at] = column <= row ? fl_read_real(a.tensor->dtype, a.tensor->data, from) : 0;
    }
    const int32_t found = factor_definite(work, n);
    FL_CHECK_NUMBERS(context, check == 0 || found == 0,
                     "a matrix is not positive-definite: its leading minor of order % is not positive", found, 0);
    ((int32_t *)info->data)[i] = found;
    for (size_t at = 0; at < n * n; ++at) {
      fl_write_real(out->dtype, out->data, i * n * n + at, work[upper != 0 ? at % n * n + at / n : at]);
    }
  }
  return FL_OK;
}

/* Multiplies the rows of a from j on, in the columns from `from` on, by I - tau v vᵀ. v[j] is 1, and v[i] is vector[i * stride]. */
static void reflect(const double *vector, size_t stride, double tau, double *a, size_t rows, size_t j, size_t columns, size_t from,
                    double *sums) {
  for (size_t k = from; k < columns; ++k) {
    sums[k] = a[j * columns + k];
  }
  for (size_t i = j + 1; i < rows; ++i) {
    subtract_row(columns - from, sums + from, -vector[i * stride], a + i * columns + from);
  }
  subtract_row(columns - from, a + j * columns + from, tau, sums + from);
  for (size_t i = j + 1; i < rows; ++i) {
    subtract_row(columns - from, a + i * columns + from, tau * vector[i * stride], sums + from);
  }
}

/* Returns the length of the part of column j below row j, without overflow. */
static double length_below(const double *a, size_t rows, size_t columns, size_t j) {
  double scale = 0;
  double sum = 0;
  for (size_t i = j + 1; i < rows; ++i) {
    const double size = fabs(a[i * columns + j]);
    scale = size > scale || size != size ? size : scale;
  }
  if (!(scale > 0)) {
    return scale;
  }
  for (size_t i = j + 1; i < rows; ++i) {
    const double part = a[i * columns + j] / scale;
    sum += part * part;
  }
  return scale * sqrt(sum);
}

fl_status fl_geqrf_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const out = fl_get_tensor(args[1]);
  fl_tensor *const taus = fl_get_tensor(args[2]);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t least = lesser(a.rows, a.columns);
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){a.rows, a.columns}, 2));
  FL_TRY(fl_resize_batch(context, taus, a.tensor, a.tensor->dtype, &least, 1));
  FL_TAKE(double, work, a.rows * a.columns);
  FL_TAKE(double, sums, a.columns);
  for (size_t i = 0; i < a.count; ++i) {
    fl_read_reals(a.tensor, i * a.rows * a.columns, a.rows * a.columns, work);
    for (size_t j = 0; j < least; ++j) {
      double *const alpha = work + j * a.columns + j;
      const double length = length_below(work, a.rows, a.columns, j);
      double tau = 0;
      if (length != 0) {
        const double beta = -copysign(hypot(*alpha, length), *alpha);
        tau = (beta - *alpha) / beta;
        for (size_t row = j + 1; row < a.rows; ++row) {
          work[row * a.columns + j] /= *alpha - beta;
        }
        *alpha = beta;
        reflect(work + j, a.columns, tau, work, a.rows, j, a.columns, j + 1, sums);
      }
      fl_write_real(taus->dtype, taus->data, i * least + j, tau);
    }
    fl_write_reals(out, i * a.rows * a.columns, a.rows * a.columns, work);
  }
  return FL_OK;
}

fl_status fl_linalg_householder_product_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  const fl_tensor *const taus = fl_get_tensor(args[1]);
  fl_tensor *const out = fl_get_tensor(args[2]);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  FL_CHECK(context, taus != NULL && taus->dtype == a.tensor->dtype && taus->rank + 1 == a.tensor->rank && fl_is_contiguous(taus),
           "the numbers tau must be contiguous, of the type of the vectors, with one dimension less");
  const size_t reflections = (size_t)taus->sizes[taus->rank - 1];
  FL_CHECK(context, a.rows >= a.columns && a.columns >= reflections, "reflections need as many columns, and no fewer rows than columns");
  FL_CHECK(context, fl_numel(taus) == a.count * reflections, "the numbers tau do not fit to the vectors");
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){a.rows, a.columns}, 2));
  FL_TAKE(double, work, a.rows * a.columns);
  FL_TAKE(double, sums, a.columns);
  FL_TAKE(double, vector, a.rows);
  for (size_t i = 0; i < a.count; ++i) {
    for (size_t at = 0; at < a.rows * a.columns; ++at) {
      work[at] = at / a.columns == at % a.columns ? 1 : 0;
    }
    for (size_t j = reflections; j-- > 0;) {
      for (size_t row = j + 1; row < a.rows; ++row) {
        vector[row] = fl_read_real(a.tensor->dtype, a.tensor->data, (i * a.rows + row) * a.columns + j);
      }
      reflect(vector, 1, fl_read_real(taus->dtype, taus->data, i * reflections + j), work, a.rows, j, a.columns, j, sums);
    }
    fl_write_reals(out, i * a.rows * a.columns, a.rows * a.columns, work);
  }
  return FL_OK;
}
