/* Kernels that factor symmetric, perhaps indefinite matrices into L D Lᵀ with LAPACK's pivots (Bunch and Kaufman), in double precision. */
#include "matrices.h"
#include "indefinite.def"

/* The least ratio of a pivot to the largest element of its column, for which elements grow least: (1 + sqrt(17)) / 8. */
#define GROWTH 0.6403882032022076

size_t fl_indefinite_scratch(fl_value *const *args, size_t count);
size_t fl_indefinite_systems_scratch(fl_value *const *args, size_t count);

size_t fl_indefinite_scratch(fl_value *const *args, size_t count) {
  const size_t room = fl_matrices_room(args[0], 1);
  (void)count;
  return room > SIZE_MAX / 2 ? SIZE_MAX : room + 64;
}

size_t fl_indefinite_systems_scratch(fl_value *const *args, size_t count) {
  const size_t a = fl_matrices_room(args[0], 1);
  const size_t b = fl_matrices_room(args[2], 1);
  (void)count;
  return a > SIZE_MAX / 4 || b > SIZE_MAX / 4 ? SIZE_MAX : a + b + 128;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void swap_numbers(double *a, double *b) {
  const double swap = *a;
  *a = *b;
  *b = swap;
}

/* Returns the largest magnitude of n numbers, and stores its index in `place`; NaN only if the first number is NaN; 0 for no numbers. */
static double largest(const double *x, size_t n, size_t stride, size_t *place) {
  double size = n > 0 ? fabs(x[0]) : 0;
  *place = 0;
  for (size_t i = 1; i < n; ++i) {
    if (fabs(x[i * stride]) > size) {
      size = fabs(x[i * stride]);
      *place = i;
    }
  }
  return size;
}

/* Returns the row that step k exchanges, n for a column of zeros. Stores whether the pivot is a block of two rows in `pair`. */
static size_t choose(const double *a, size_t n, size_t k, int *pair) {
  size_t place = 0;
  size_t ignored = 0;
  const double own = fabs(a[k * n + k]);
  const double below = k + 1 < n ? largest(a + (k + 1) * n + k, n - k - 1, n, &place) : 0;
  *pair = 0;
  if (own == 0 && below == 0) {
    return n;
  }
  if (own != own || own >= GROWTH * below) {
    return k;
  }
  const size_t row = k + 1 + place;
  const double left = largest(a + row * n + k, row - k, 1, &ignored);
  const double beside = larger(left, row + 1 < n ? largest(a + (row + 1) * n + row, n - row - 1, n, &ignored) : 0);
  if (own >= GROWTH * below * (below / beside)) {
    return k;
  }
  *pair = !(fabs(a[row * n + row]) >= GROWTH * beside);
  return row;
}

/* Exchanges rows and columns `last` and `row` in the part of the lower triangle that is not factored yet. */
static void exchange(double *a, size_t n, size_t k, size_t last, size_t row) {
  for (size_t i = row + 1; i < n; ++i) {
    swap_numbers(a + i * n + last, a + i * n + row);
  }
  for (size_t i = last + 1; i < row; ++i) {
    swap_numbers(a + i * n + last, a + row * n + i);
  }
  swap_numbers(a + last * n + last, a + row * n + row);
  if (last > k) {
    swap_numbers(a + last * n + k, a + row * n + k);
  }
}

/* Subtracts the product of pivot k's factors from the rest of the triangle, and stores the factors in its column. */
static void eliminate(double *a, size_t n, size_t k) {
  const double pivot = a[k * n + k];
  for (size_t i = n; i-- > k + 1;) {
    const double factor = a[i * n + k] / pivot;
    for (size_t j = k + 1; j <= i; ++j) {
      a[i * n + j] -= factor * a[j * n + k];
    }
    a[i * n + k] = factor;
  }
}

static void eliminate_pair(double *a, size_t n, size_t k) {
  const size_t last = k + 1;
  const double across = a[last * n + k];
  const double first = a[k * n + k] / across;
  const double second = a[last * n + last] / across;
  const double scale = 1 / (first * second - 1) / across;
  for (size_t i = n; i-- > last + 1;) {
    double *const row = a + i * n;
    const double one = scale * (second * row[k] - row[last]);
    const double other = scale * (first * row[last] - row[k]);
    for (size_t j = last + 1; j <= i; ++j) {
      row[j] -= one * a[j * n + k] + other * a[j * n + last];
    }
    row[k] = one;
    row[last] = other;
  }
}

/* Factors a matrix in place, in its lower triangle, with exchanges in `pivots`. Returns the first pivot that is 0, counted from 1, or 0. */
static int32_t factor(double *a, size_t n, int32_t *pivots) {
  int32_t info = 0;
  for (size_t k = 0; k < n;) {
    int pair = 0;
    size_t row = choose(a, n, k, &pair);
    const size_t last = pair ? k + 1 : k;
    if (row == n) {
      info = info == 0 ? (int32_t)(k + 1) : info;
      row = k;
    } else if (row != last) {
      exchange(a, n, k, last, row);
    }
    pivots[k] = pivots[last] = pair ? -(int32_t)(row + 1) : (int32_t)(row + 1);
    if (pair) {
      eliminate_pair(a, n, k);
    } else if (a[k * n + k] != 0) {
      eliminate(a, n, k);
    }
    k = last + 1;
  }
  return info;
}

fl_status fl_linalg_ldl_factor_ex_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const out = fl_get_tensor(args[3]);
  fl_tensor *const pivots = fl_get_tensor(args[4]);
  fl_tensor *const info = fl_get_tensor(args[5]);
  FL_INT_ARGUMENT(check, 2);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t n = a.rows;
  FL_CHECK(context, a.columns == n, "the matrices must be square");
  FL_TRY(fl_resize_batch(context, out, a.tensor, a.tensor->dtype, (const size_t[]){n, n}, 2));
  FL_TRY(fl_resize_batch(context, pivots, a.tensor, FL_INT32, &n, 1));
  FL_TRY(fl_resize_batch(context, info, a.tensor, FL_INT32, NULL, 0));
  FL_TAKE(double, work, n * n);
  for (size_t i = 0; i < a.count; ++i) {
    fl_read_reals(a.tensor, i * n * n, n * n, work);
    for (size_t at = 0; at < n * n; ++at) {
      work[at] = at % n <= at / n ? work[at] : 0;
    }
    const int32_t found = factor(work, n, (int32_t *)pivots->data + i * n);
    FL_CHECK_NUMBERS(context, check == 0 || found == 0, "a matrix is singular: pivot % is 0", found, 0);
    ((int32_t *)info->data)[i] = found;
    fl_write_reals(out, i * n * n, n * n, work);
  }
  return FL_OK;
}

static void swap_rows(double *b, size_t columns, size_t one, size_t other) {
  for (size_t c = 0; c < columns && one != other; ++c) {
    swap_numbers(b + one * columns + c, b + other * columns + c);
  }
}

/* Subtracts `factor` times the n numbers of `other` from `row`. */
static void subtract_row(size_t n, double *row, double factor, const double *other) {
  FL_INDEPENDENT
  for (size_t c = 0; c < n; ++c) {
    row[c] -= factor * other[c];
  }
}

/* Solves the equations of a block of D of two rows, from row k on, in place of b. */
static void solve_pair(const double *a, size_t n, size_t k, double *b, size_t columns) {
  const double across = a[(k + 1) * n + k];
  const double first = a[k * n + k] / across;
  const double second = a[(k + 1) * n + k + 1] / across;
  for (size_t c = 0; c < columns; ++c) {
    const double top = b[k * columns + c] / across;
    const double bottom = b[(k + 1) * columns + c] / across;
    b[k * columns + c] = (second * top - bottom) / (first * second - 1);
    b[(k + 1) * columns + c] = (first * bottom - top) / (first * second - 1);
  }
}

/* Solves L D Lᵀ x = b in place of b. The pivots must be valid. */
static void solve(const double *a, size_t n, const int32_t *pivots, double *b, size_t columns) {
  for (size_t k = 0; k < n;) {
    const size_t last = pivots[k] < 0 ? k + 1 : k;
    swap_rows(b, columns, last, (size_t)(pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1);
    for (size_t i = last + 1; i < n; ++i) {
      for (size_t j = k; j <= last; ++j) {
        subtract_row(columns, b + i * columns, a[i * n + j], b + j * columns);
      }
    }
    if (last > k) {
      solve_pair(a, n, k, b, columns);
    } else {
      for (size_t c = 0; c < columns; ++c) {
        b[k * columns + c] /= a[k * n + k];
      }
    }
    k = last + 1;
  }
  for (size_t end = n; end > 0;) {
    const size_t last = end - 1;
    const size_t k = pivots[last] < 0 ? last - 1 : last;
    for (size_t j = k; j <= last; ++j) {
      for (size_t i = end; i < n; ++i) {
        subtract_row(columns, b + j * columns, a[i * n + j], b + i * columns);
      }
    }
    swap_rows(b, columns, last, (size_t)(pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1);
    end = k;
  }
}

/* Checks n pivots. A pivot is the row with which the last row of its block was exchanged; both rows of a block have it. */
static fl_status check_pivots(fl_context *context, const int32_t *pivots, size_t n) {
  for (size_t k = 0; k < n;) {
    const int64_t pivot = pivots[k];
    const size_t last = pivot < 0 ? k + 1 : k;
    const int64_t row = pivot < 0 ? -pivot : pivot;
    FL_CHECK_NUMBERS(context, row >= (int64_t)last + 1 && row <= (int64_t)n && pivots[last] == pivot, "pivot % cannot be %", (int64_t)k, pivot);
    k = last + 1;
  }
  return FL_OK;
}

fl_status fl_linalg_ldl_solve_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_matrices b;
  FL_TENSOR_ARGUMENT(pivots, 1);
  fl_tensor *const out = fl_get_tensor(args[4]);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[2]), &b));
  const size_t n = a.rows;
  FL_CHECK_NUMBERS(context, a.columns == n && b.rows == n, "square matrices of % rows and right sides of % rows do not fit", (int64_t)n,
                   (int64_t)b.rows);
  FL_CHECK(context, pivots->dtype == FL_INT32 && fl_is_contiguous(pivots) && fl_numel(pivots) == a.count * n, "the pivots do not fit to the matrices");
  FL_TRY(fl_resize_broadcast_batch(context, out, &a, &b));
  const size_t numbers = n * b.columns;
  const size_t solutions = numbers > 0 ? fl_numel(out) / numbers : 0;
  FL_TAKE(double, matrix, n * n);
  FL_TAKE(double, right, numbers);
  for (size_t i = 0; i < solutions; ++i) {
    const size_t place = fl_broadcast_place(out, i, a.tensor);
    const int32_t *const own = (const int32_t *)pivots->data + place * n;
    FL_TRY(check_pivots(context, own, n));
    fl_read_reals(a.tensor, place * n * n, n * n, matrix);
    fl_read_reals(b.tensor, fl_broadcast_place(out, i, b.tensor) * numbers, numbers, right);
    solve(matrix, n, own, right, b.columns);
    fl_write_reals(out, i * numbers, numbers, right);
  }
  return FL_OK;
}
