/* Computes eigenvalues and eigenvectors of any square matrix of real numbers, in double precision.
 *
 * Reflections transform the matrix to a Hessenberg matrix. QR steps with two shifts at once (Francis) make this triangular, except for blocks
 * of two rows, one for each pair of conjugate eigenvalues. Then eigenvectors.c computes the eigenvectors. */
#include "eigenvectors.h"
#include "spectral.def"

#define MOST_STEPS 300

size_t fl_eigen_scratch(fl_value *const *args, size_t count);

/* Returns the scratch memory for two matrices and two rows. */
size_t fl_eigen_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *tensor = fl_get_tensor(args[0]);
  const size_t matrices = fl_matrices_room(args[0], 2);
  (void)count;
  if (tensor == NULL || tensor->rank < 2 || matrices > SIZE_MAX / 2) {
    return matrices;
  }
  return matrices + fl_scratch_bytes((size_t)tensor->sizes[tensor->rank - 2], 2 * sizeof(double)) + 256;
}

/* Transforms h so that the numbers below the first subdiagonal are 0, and sets v to the product of the reflections. */
static void make_hessenberg(const fl_schur *f) {
  const ptrdiff_t n = f->n;
  double *const u = f->im;
  for (ptrdiff_t i = 0; i < n * n; ++i) {
    f->v[i] = i % (n + 1) == 0;
  }
  for (ptrdiff_t m = 1; m + 1 < n; ++m) {
    double length = 0;
    for (ptrdiff_t i = m; i < n; ++i) {
      u[i] = H(f, i, m - 1);
      length = hypot(length, u[i]);
    }
    u[m] += copysign(length, u[m]);
    double half = 0;
    for (ptrdiff_t i = m; i < n; ++i) {
      u[i] = length > 0 ? u[i] / length : 0;
      half += u[i] * u[i] / 2;
    }
    if (!(half > 0)) {
      continue;
    }
    for (ptrdiff_t j = m - 1; j < n; ++j) {
      double sum = 0;
      for (ptrdiff_t i = m; i < n; ++i) {
        sum += u[i] * H(f, i, j);
      }
      for (ptrdiff_t i = m; i < n; ++i) {
        H(f, i, j) -= sum / half * u[i];
      }
    }
    for (ptrdiff_t i = 0; i < n; ++i) {
      double sum = 0, sum_v = 0;
      for (ptrdiff_t j = m; j < n; ++j) {
        sum += u[j] * H(f, i, j);
        sum_v += u[j] * V(f, i, j);
      }
      for (ptrdiff_t j = m; j < n; ++j) {
        H(f, i, j) -= sum / half * u[j];
        V(f, i, j) -= sum_v / half * u[j];
      }
    }
    for (ptrdiff_t i = m + 1; i < n; ++i) {
      H(f, i, m - 1) = 0;
    }
  }
}

/* Returns the first row of the block that ends at row n, in which no number of the subdiagonal is negligible. */
static ptrdiff_t start_of_block(const fl_schur *f, ptrdiff_t n) {
  ptrdiff_t l = n;
  for (; l > 0; --l) {
    const double around = fabs(H(f, l - 1, l - 1)) + fabs(H(f, l, l));
    if (fabs(H(f, l, l - 1)) <= FL_EPSILON * (around > 0 ? around : f->norm)) {
      H(f, l, l - 1) = 0;
      break;
    }
  }
  return l;
}

/* Rotates columns `at` and `at` + 1 of a matrix. */
static void rotate_columns(double *matrix, ptrdiff_t n, ptrdiff_t rows, ptrdiff_t at, double p, double q) {
  for (ptrdiff_t i = 0; i < rows; ++i) {
    double *const pair = matrix + i * n + at;
    const double x = pair[0];
    pair[0] = q * x + p * pair[1];
    pair[1] = q * pair[1] - p * x;
  }
}

/* Stores the eigenvalues of the block of rows n - 1 and n. Makes the block triangular if they are real. */
static void solve_pair(const fl_schur *f, ptrdiff_t n) {
  const double half = (H(f, n - 1, n - 1) - H(f, n, n)) / 2;
  const double product = H(f, n, n - 1) * H(f, n - 1, n);
  const double square = half * half + product;
  const double last = H(f, n, n);
  if (square < 0) {
    f->re[n - 1] = f->re[n] = last + half;
    f->im[n - 1] = sqrt(-square);
    f->im[n] = -f->im[n - 1];
    return;
  }
  const double z = half + copysign(sqrt(square), half);
  const double below = H(f, n, n - 1);
  f->re[n - 1] = last + z;
  f->re[n] = z != 0 ? last - product / z : last + z;
  f->im[n - 1] = f->im[n] = 0;
  const double length = hypot(below, z);
  const double p = length > 0 ? below / length : 0;
  const double q = length > 0 ? z / length : 1;
  for (ptrdiff_t j = n - 1; j < f->n; ++j) {
    const double x = H(f, n - 1, j);
    H(f, n - 1, j) = q * x + p * H(f, n, j);
    H(f, n, j) = q * H(f, n, j) - p * x;
  }
  rotate_columns(f->h, f->n, n + 1, n - 1, p, q);
  rotate_columns(f->v, f->n, f->n, n - 1, p, q);
  H(f, n, n - 1) = 0;
}

/* Stores the vector of the first reflection of a step on rows l to n, for the two shifts that `shift` gives. Returns the row where it starts. */
static ptrdiff_t first_vector(const fl_schur *f, ptrdiff_t l, ptrdiff_t n, const double shift[3], double vector[3]) {
  ptrdiff_t m = n - 2;
  for (;; --m) {
    const double z = H(f, m, m);
    const double r = shift[0] - z;
    const double s = shift[1] - z;
    vector[0] = (r * s - shift[2]) / H(f, m + 1, m) + H(f, m, m + 1);
    vector[1] = H(f, m + 1, m + 1) - z - r - s;
    vector[2] = H(f, m + 2, m + 1);
    const double sum = fabs(vector[0]) + fabs(vector[1]) + fabs(vector[2]);
    for (int i = 0; i < 3; ++i) {
      vector[i] /= sum;
    }
    if (m == l) {
      return m;
    }
    const double around = fabs(H(f, m - 1, m - 1)) + fabs(z) + fabs(H(f, m + 1, m + 1));
    if (fabs(H(f, m, m - 1)) * (fabs(vector[1]) + fabs(vector[2])) < FL_EPSILON * fabs(vector[0]) * around) {
      return m;
    }
  }
}

/* Reflects `width` rows from k on, and as many columns, by the vector `by`, of which `times` are multiples. */
static void reflect(const fl_schur *f, ptrdiff_t k, ptrdiff_t n, int width, const double *by, const double *times) {
  for (ptrdiff_t j = k; j < f->n; ++j) {
    double sum = 0;
    for (int i = 0; i < width; ++i) {
      sum += by[i] * H(f, k + i, j);
    }
    for (int i = 0; i < width; ++i) {
      H(f, k + i, j) -= sum * times[i];
    }
  }
  const ptrdiff_t end = n < k + 3 ? n : k + 3;
  for (ptrdiff_t row = 0; row < f->n + end + 1; ++row) {
    double *const at = row <= end ? &H(f, row, k) : &V(f, row - end - 1, k);
    double sum = 0;
    for (int i = 0; i < width; ++i) {
      sum += times[i] * at[i];
    }
    for (int i = 0; i < width; ++i) {
      at[i] -= sum * by[i];
    }
  }
}

/* Performs one QR step with two shifts on rows l to n. */
static void step(const fl_schur *f, ptrdiff_t l, ptrdiff_t n, const double shift[3]) {
  double vector[3];
  const ptrdiff_t m = first_vector(f, l, n, shift, vector);
  for (ptrdiff_t i = m + 2; i <= n; ++i) {
    H(f, i, i - 2) = 0;
    if (i > m + 2) {
      H(f, i, i - 3) = 0;
    }
  }
  for (ptrdiff_t k = m; k < n; ++k) {
    const int width = k + 1 < n ? 3 : 2;
    double scale = 1;
    if (k != m) {
      scale = 0;
      for (int i = 0; i < 3; ++i) {
        vector[i] = i < width ? H(f, k + i, k - 1) : 0;
        scale += fabs(vector[i]);
      }
      if (scale == 0) {
        continue;
      }
      for (int i = 0; i < 3; ++i) {
        vector[i] /= scale;
      }
    } else if (width == 2) {
      vector[2] = 0;
    }
    const double s = copysign(sqrt(fl_product(3, vector, vector)), vector[0]);
    if (s == 0) {
      continue;
    }
    if (k != m) {
      H(f, k, k - 1) = -s * scale;
    } else if (l != m) {
      H(f, k, k - 1) = -H(f, k, k - 1);
    }
    const double first = vector[0] + s;
    const double by[3] = {1, vector[1] / first, vector[2] / first};
    const double times[3] = {first / s, vector[1] / s, vector[2] / s};
    reflect(f, k, n, width, by, times);
  }
}

/* Makes a Hessenberg matrix triangular, except for blocks of two rows. Returns 0 if the steps do not converge. */
static int make_triangular(const fl_schur *f) {
  double shifted = 0;
  int steps = 0;
  for (ptrdiff_t n = f->n - 1; n >= 0;) {
    const ptrdiff_t l = start_of_block(f, n);
    if (l + 1 >= n) {
      for (ptrdiff_t i = l; i <= n; ++i) {
        H(f, i, i) += shifted;
      }
      if (l == n) {
        f->re[n] = H(f, n, n);
        f->im[n] = 0;
      } else {
        solve_pair(f, n);
      }
      n = l - 1;
      steps = 0;
      continue;
    }
    double shift[3] = {H(f, n, n), H(f, n - 1, n - 1), H(f, n, n - 1) * H(f, n - 1, n)};
    if (steps == MOST_STEPS) {
      return 0;
    }
    if (steps % 20 == 10) {
      const double size = fabs(H(f, n, n - 1)) + fabs(H(f, n - 1, n - 2));
      shifted += shift[0];
      for (ptrdiff_t i = 0; i <= n; ++i) {
        H(f, i, i) -= shift[0];
      }
      shift[0] = shift[1] = 0.75 * size;
      shift[2] = -0.4375 * size * size;
    }
    ++steps;
    step(f, l, n, shift);
  }
  return 1;
}

/* Writes the eigenvectors as columns of length 1. The largest number of a complex vector is made real. */
static void write_vectors(const fl_schur *f, fl_tensor *out, int8_t part, size_t matrix) {
  const ptrdiff_t n = f->n;
  for (ptrdiff_t j = 0; j < n; ++j) {
    const int pair = f->im[j] != 0;
    double length = 0, largest = 0, c = 1, s = 0;
    for (ptrdiff_t i = 0; i < n; ++i) {
      const double x = V(f, i, j);
      const double y = pair ? V(f, i, j + 1) : 0;
      const double size = hypot(x, y);
      length = hypot(length, size);
      if (pair && size > largest) {
        largest = size;
        c = x / size;
        s = y / size;
      }
    }
    for (ptrdiff_t i = 0; i < n; ++i) {
      const double x = V(f, i, j) / length;
      const double y = pair ? V(f, i, j + 1) / length : 0;
      const size_t at = matrix + (size_t)(i * n + j);
      for (size_t k = 0; k < (pair ? 2 : 1); ++k) {
        fl_write_real(part, out->data, 2 * (at + k), c * x + s * y);
        fl_write_real(part, out->data, 2 * (at + k) + 1, k == 0 ? c * y - s * x : s * x - c * y);
      }
    }
    j += pair;
  }
}

fl_status fl_linalg_eig_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const values = fl_get_tensor(args[1]);
  fl_tensor *const vectors = fl_get_tensor(args[2]);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const size_t n = a.rows;
  const int8_t part = a.tensor->dtype;
  const int8_t pair = part == FL_FLOAT32 ? FL_COMPLEX64 : FL_COMPLEX128;
  FL_CHECK(context, part == FL_FLOAT32 || part == FL_FLOAT64, "complex eigenvalues are those of float32 or float64 matrices");
  FL_CHECK(context, a.columns == n, "the matrices must be square");
  FL_TRY(fl_resize_batch(context, values, a.tensor, pair, &n, 1));
  FL_TRY(fl_resize_batch(context, vectors, a.tensor, pair, (const size_t[]){n, n}, 2));
  FL_TAKE(double, h, n * n);
  FL_TAKE(double, v, n * n);
  FL_TAKE(double, re, n);
  FL_TAKE(double, im, n);
  fl_schur f = {.n = (ptrdiff_t)n, .h = h, .v = v, .re = re, .im = im};
  for (size_t i = 0; i < a.count; ++i) {
    int exponent = 0;
    fl_read_reals(a.tensor, i * n * n, n * n, h);
    FL_TRY(fl_scale_matrix(context, h, n * n, &exponent));
    make_hessenberg(&f);
    f.norm = 0;
    for (size_t k = 0; k < n * n; ++k) {
      f.norm += fabs(h[k]);
    }
    FL_CHECK(context, make_triangular(&f), "the algorithm does not converge to the eigenvalues of a matrix");
    fl_find_eigenvectors(&f);
    write_vectors(&f, vectors, part, i * n * n);
    for (size_t k = 0; k < n; ++k) {
      fl_write_real(part, values->data, 2 * (i * n + k), ldexp(re[k], exponent));
      fl_write_real(part, values->data, 2 * (i * n + k) + 1, ldexp(im[k], exponent));
    }
  }
  return FL_OK;
}
