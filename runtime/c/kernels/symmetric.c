/* Kernels of eigenvalues and eigenvectors of symmetric matrices, computed in double precision.
 *
 * Householder's reflections make the matrix tridiagonal, and QL steps with implicit shifts make it diagonal. The vectors are rows: number k of
 * vector j is v[j * n + k]. */
#include "spectral.h"
#include "spectral.def"

#define MOST_STEPS 100

size_t fl_symmetric_scratch(fl_value *const *args, size_t count);

/* Returns the scratch memory for a matrix and two rows. */
size_t fl_symmetric_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *tensor = fl_get_tensor(args[0]);
  const size_t matrix = fl_matrices_room(args[0], 1);
  (void)count;
  if (tensor == NULL || tensor->rank < 2 || matrix > SIZE_MAX / 2) {
    return matrix;
  }
  return matrix + fl_scratch_bytes((size_t)tensor->sizes[tensor->rank - 2], 2 * sizeof(double)) + 256;
}

/* Reflects the leading i + 1 rows and columns, so that the last row is 0 before its last two numbers. d holds that row. Returns the square of the
 * reflection vector's length, or 0 if no reflection is needed. */
static double reflect(double *v, size_t n, size_t i, double *d, double *e) {
  double scale = 0;
  double square = 0;
  for (size_t k = 0; k < i; ++k) {
    scale += fabs(d[k]);
  }
  if (scale == 0) {
    e[i] = d[i - 1];
    for (size_t j = 0; j < i; ++j) {
      d[j] = v[j * n + i - 1];
      v[j * n + i] = 0;
      v[i * n + j] = 0;
    }
    return 0;
  }
  for (size_t k = 0; k < i; ++k) {
    d[k] /= scale;
    square += d[k] * d[k];
    e[k] = 0;
  }
  const double last = d[i - 1];
  const double length = last > 0 ? -sqrt(square) : sqrt(square);
  e[i] = scale * length;
  square -= last * length;
  d[i - 1] = last - length;
  for (size_t j = 0; j < i; ++j) {
    const double *const column = v + j * n;
    double sum = e[j] + column[j] * d[j];
    for (size_t k = j + 1; k < i; ++k) {
      sum += column[k] * d[k];
      e[k] += column[k] * d[j];
    }
    e[j] = sum;
    v[i * n + j] = d[j];
  }
  const double half = fl_product(i, e, d) / square / (square + square);
  for (size_t j = 0; j < i; ++j) {
    e[j] = e[j] / square - half * d[j];
  }
  for (size_t j = 0; j < i; ++j) {
    double *const column = v + j * n;
    const double f = d[j];
    for (size_t k = j; k < i; ++k) {
      column[k] -= f * e[k] + e[j] * d[k];
    }
    d[j] = column[i - 1];
    column[i] = 0;
  }
  return square;
}

/* Stores the diagonal d, and the numbers e below it, of a tridiagonal matrix similar to v, given by its lower triangle. Replaces v by the product of
 * the reflections. */
static void make_tridiagonal(double *v, size_t n, double *d, double *e) {
  for (size_t j = 0; j < n; ++j) {
    d[j] = v[j * n + n - 1];
  }
  for (size_t i = n - 1; i > 0; --i) {
    d[i] = reflect(v, n, i, d, e);
  }
  for (size_t i = 0; i + 1 < n; ++i) {
    double *const next = v + (i + 1) * n;
    v[i * n + n - 1] = v[i * n + i];
    v[i * n + i] = 1;
    if (d[i + 1] != 0) {
      for (size_t k = 0; k <= i; ++k) {
        d[k] = next[k] / d[i + 1];
      }
      for (size_t j = 0; j <= i; ++j) {
        const double g = fl_product(i + 1, next, v + j * n);
        for (size_t k = 0; k <= i; ++k) {
          v[j * n + k] -= g * d[k];
        }
      }
    }
    for (size_t k = 0; k <= i; ++k) {
      next[k] = 0;
    }
  }
  for (size_t j = 0; j < n; ++j) {
    d[j] = v[j * n + n - 1];
    v[j * n + n - 1] = 0;
  }
  v[n * n - 1] = 1;
  for (size_t i = 1; i < n; ++i) {
    e[i - 1] = e[i];
  }
  e[n - 1] = 0;
}

/* Performs one QL step from m up to l. Returns the number that it subtracted from the diagonal from l on. */
static double step(double *v, size_t n, size_t length, size_t l, size_t m, double *d, double *e) {
  const double start = d[l];
  const double ratio = (d[l + 1] - start) / (2 * e[l]);
  const double root = ratio + copysign(hypot(ratio, 1), ratio);
  d[l] = e[l] / root;
  d[l + 1] = e[l] * root;
  const double second = d[l + 1];
  const double shift = start - d[l];
  for (size_t i = l + 2; i < n; ++i) {
    d[i] -= shift;
  }
  const double below = e[l + 1];
  double p = d[m];
  double c = 1, c2 = 1, c3 = 1, s = 0, s2 = 0;
  for (size_t i = m; i-- > l;) {
    c3 = c2;
    c2 = c;
    s2 = s;
    const double g = c * e[i];
    const double h = c * p;
    const double r = hypot(p, e[i]);
    e[i + 1] = s * r;
    s = e[i] / r;
    c = p / r;
    p = c * d[i] - s * g;
    d[i + 1] = h + s * (c * g + s * d[i]);
    fl_rotate(length, v + i * n, v + (i + 1) * n, c, s);
  }
  p = -s * s2 * c3 * below * e[l] / second;
  e[l] = s * p;
  d[l] = c * p;
  return shift;
}

/* Replaces the diagonal d of a tridiagonal matrix by its eigenvalues, and rotates the first `length` numbers of the vectors. Returns 0 if the steps
 * do not converge. */
static int make_diagonal(double *v, size_t n, size_t length, double *d, double *e) {
  double shifted = 0;
  double largest = 0;
  for (size_t l = 0; l < n; ++l) {
    largest = fmax(largest, fabs(d[l]) + fabs(e[l]));
    size_t m = l;
    while (fabs(e[m]) > FL_EPSILON * largest) {
      ++m;
    }
    for (int steps = 0; m > l && fabs(e[l]) > FL_EPSILON * largest; ++steps) {
      if (steps == MOST_STEPS) {
        return 0;
      }
      shifted += step(v, n, length, l, m, d, e);
    }
    d[l] += shifted;
    e[l] = 0;
  }
  return 1;
}

static void sort_ascending(double *v, size_t n, double *d) {
  for (size_t i = 0; i < n; ++i) {
    size_t least = i;
    for (size_t j = i + 1; j < n; ++j) {
      least = d[j] < d[least] ? j : least;
    }
    if (least != i) {
      fl_swap(1, d + i, d + least);
      fl_swap(n, v + i * n, v + least * n);
    }
  }
}

/* Reads the full symmetric matrix `at` of `a` from its lower triangle, or from its upper triangle if `upper`. */
static void read_triangle(const fl_matrices *a, size_t at, int upper, double *v) {
  const size_t n = a->rows;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      v[j * n + i] = fl_read_real(a->tensor->dtype, a->tensor->data, at + (upper != 0 ? j * n + i : i * n + j));
      v[i * n + j] = v[j * n + i];
    }
  }
}

fl_status fl_linalg_eigh_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const values = fl_get_tensor(args[3]);
  fl_tensor *const vectors = fl_get_tensor(args[4]);
  FL_INT_ARGUMENT(wanted, 2);
  (void)count;
  FL_CHECK(context, args[1]->tag == FL_STRING && args[1]->as.string.length == 1, "UPLO must be \"L\" or \"U\"");
  const char triangle = args[1]->as.string.data[0];
  const int upper = triangle == 'U' || triangle == 'u';
  FL_CHECK(context, upper || triangle == 'L' || triangle == 'l', "UPLO must be \"L\" or \"U\"");
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t n = a.rows;
  FL_CHECK(context, a.columns == n, "the matrices must be square");
  FL_TRY(fl_resize_batch(context, values, a.tensor, a.tensor->dtype, &n, 1));
  if (wanted != 0) {
    FL_TRY(fl_resize_batch(context, vectors, a.tensor, a.tensor->dtype, (const size_t[]){n, n}, 2));
  } else {
    FL_CHECK(context, vectors != NULL, "the eigenvectors must be a tensor");
    FL_TRY(fl_resize(context, vectors, (const int32_t[]){0}, 1));
  }
  FL_TAKE(double, v, n * n);
  FL_TAKE(double, d, n);
  FL_TAKE(double, e, n);
  for (size_t i = 0; i < (n == 0 ? 0 : a.count); ++i) {
    int exponent = 0;
    read_triangle(&a, i * n * n, upper, v);
    FL_TRY(fl_scale_matrix(context, v, n * n, &exponent));
    make_tridiagonal(v, n, d, e);
    FL_CHECK(context, make_diagonal(v, n, wanted != 0 ? n : 0, d, e), "the algorithm does not converge to the eigenvalues of a matrix");
    sort_ascending(v, n, d);
    for (size_t j = 0; j < n; ++j) {
      fl_write_real(values->dtype, values->data, i * n + j, ldexp(d[j], exponent));
      for (size_t k = 0; k < (wanted != 0 ? n : 0); ++k) {
        fl_write_real(vectors->dtype, vectors->data, (i * n + k) * n + j, v[j * n + k]);
      }
    }
  }
  return FL_OK;
}
