/* Kernels that solve triangular systems of linear equations, and exponentials of matrices, in double precision. */
#include "matrices.h"
#include "linear_systems.def"
#include "triangular_systems.def"

/* The terms of the exponential's series, for matrices of norm up to 1/2; further terms are below the last bit of a double. */
#define TERMS 20

size_t fl_triangular_scratch(fl_value *const *args, size_t count);
size_t fl_exponential_scratch(fl_value *const *args, size_t count);

size_t fl_triangular_scratch(fl_value *const *args, size_t count) {
  const size_t a = fl_matrices_room(args[0], 1);
  const size_t b = fl_matrices_room(args[1], 1);
  (void)count;
  return a > SIZE_MAX / 4 || b > SIZE_MAX / 4 ? SIZE_MAX : a + b + 128;
}

size_t fl_exponential_scratch(fl_value *const *args, size_t count) {
  const size_t room = fl_matrices_room(args[0], 3);
  (void)count;
  return room > SIZE_MAX / 2 ? SIZE_MAX : room + 192;
}

/* Solves a x = b in place of b, row by row. */
static void solve(const double *a, size_t n, double *b, size_t columns, int upper, int unit) {
  for (size_t step = 0; step < n; ++step) {
    const size_t i = upper ? n - 1 - step : step;
    double *const row = b + i * columns;
    for (size_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k) {
      const double factor = a[i * n + k];
      const double *const other = b + k * columns;
      FL_INDEPENDENT
      for (size_t c = 0; c < columns; ++c) {
        row[c] -= factor * other[c];
      }
    }
    for (size_t c = 0; c < columns && !unit; ++c) {
      row[c] /= a[i * n + i];
    }
  }
}

/* Reads matrix `place` into `to`, transposed if `transposed`. */
static void read_matrix(const fl_matrices *m, size_t place, int transposed, double *to) {
  const size_t start = place * m->rows * m->columns;
  for (size_t at = 0; at < m->rows * m->columns; ++at) {
    to[transposed ? at % m->columns * m->rows + at / m->columns : at] = fl_read_real(m->tensor->dtype, m->tensor->data, start + at);
  }
}

fl_status fl_linalg_solve_triangular_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_matrices b;
  fl_tensor *const out = fl_get_tensor(args[5]);
  FL_INT_ARGUMENT(upper, 2);
  FL_INT_ARGUMENT(left, 3);
  FL_INT_ARGUMENT(unit, 4);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[1]), &b));
  FL_CHECK_NUMBERS(context, a.rows == a.columns && a.rows == (left != 0 ? b.rows : b.columns),
                   "square matrices of % rows and right sides of % rows do not fit", (int64_t)a.rows, (int64_t)(left != 0 ? b.rows : b.columns));
  FL_TRY(fl_resize_broadcast_batch(context, out, &a, &b));
  const size_t numbers = b.rows * b.columns;
  const size_t solutions = numbers > 0 ? fl_numel(out) / numbers : 0;
  FL_TAKE(double, matrix, a.rows * a.rows);
  FL_TAKE(double, right, numbers);
  for (size_t i = 0; i < solutions; ++i) {
    /* x a = b is solved as aᵀ xᵀ = bᵀ. */
    read_matrix(&a, fl_broadcast_place(out, i, a.tensor), left == 0, matrix);
    read_matrix(&b, fl_broadcast_place(out, i, b.tensor), left == 0, right);
    solve(matrix, a.rows, right, left != 0 ? b.columns : b.rows, (upper != 0) == (left != 0), unit != 0);
    for (size_t at = 0; at < numbers; ++at) {
      fl_write_real(out->dtype, out->data, i * numbers + at, right[left != 0 ? at : at % b.columns * b.rows + at / b.columns]);
    }
  }
  return FL_OK;
}

/* Computes to = a b, matrices of n rows and columns. */
static void multiply(size_t n, double *to, const double *a, const double *b) {
  for (size_t i = 0; i < n; ++i) {
    double *const row = to + i * n;
    memset(row, 0, n * sizeof *row);
    for (size_t k = 0; k < n; ++k) {
      const double factor = a[i * n + k];
      FL_INDEPENDENT
      for (size_t j = 0; j < n; ++j) {
        row[j] += factor * b[k * n + j];
      }
    }
  }
}

/* Returns the largest sum of magnitudes of a column; infinite or NaN if an element is. */
static double norm_of(size_t n, const double *a) {
  double norm = 0;
  for (size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      sum += fabs(a[i * n + j]);
    }
    norm = sum > norm || sum != sum ? sum : norm;
    if (norm != norm) {
      return norm;
    }
  }
  return norm;
}

/* Computes the exponential of `a`: halves the matrix until its norm is small, sums the series, and squares the sum as often. Returns the array,
 * `found` or `other`, that holds it. */
static double *exponential(size_t n, double *a, double *found, double *other) {
  const double norm = norm_of(n, a);
  int halvings = 0;
  if (!isfinite(norm)) {
    for (size_t at = 0; at < n * n; ++at) {
      found[at] = (double)NAN;
    }
    return found;
  }
  (void)frexp(norm, &halvings);
  halvings = halvings > -1 ? halvings + 1 : 0;
  for (size_t at = 0; at < n * n; ++at) {
    a[at] = ldexp(a[at], -halvings);
    found[at] = at / n == at % n ? 1 : 0;
  }
  for (int k = TERMS; k > 0; --k) {
    multiply(n, other, a, found);
    for (size_t at = 0; at < n * n; ++at) {
      found[at] = other[at] / k + (at / n == at % n ? 1 : 0);
    }
  }
  for (int k = 0; k < halvings; ++k) {
    double *const swap = found;
    multiply(n, other, found, found);
    found = other;
    other = swap;
  }
  return found;
}

fl_status fl_linalg_matrix_exp_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const out = fl_get_tensor(args[1]);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  FL_CHECK(context, a.rows == a.columns, "the matrices must be square");
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){a.rows, a.columns}, 2));
  const size_t numbers = a.rows * a.rows;
  FL_TAKE(double, matrix, numbers);
  FL_TAKE(double, found, numbers);
  FL_TAKE(double, other, numbers);
  for (size_t i = 0; i < a.count; ++i) {
    fl_read_reals(a.tensor, i * numbers, numbers, matrix);
    fl_write_reals(out, i * numbers, numbers, exponential(a.rows, matrix, found, other));
  }
  return FL_OK;
}
