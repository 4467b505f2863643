/* Computes the eigenvectors of a matrix that is triangular, except for blocks of two rows, by substitution from the last row up. */
#include "eigenvectors.h"

typedef struct pair {
  double re, im;
} pair;

/* Returns the complex quotient a / b, without overflow of intermediate results. */
static pair quotient(double a_re, double a_im, double b_re, double b_im) {
  if (fabs(b_re) > fabs(b_im)) {
    const double ratio = b_im / b_re;
    const double whole = b_re + ratio * b_im;
    return (pair){(a_re + ratio * a_im) / whole, (a_im - ratio * a_re) / whole};
  }
  const double ratio = b_re / b_im;
  const double whole = b_im + ratio * b_re;
  return (pair){(ratio * a_re + a_im) / whole, (ratio * a_im - a_re) / whole};
}

/* Returns the sum of the products of row i with column j, over entries from `first` to `last`. */
static double known_part(const fl_schur *f, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, ptrdiff_t last) {
  double sum = 0;
  for (ptrdiff_t k = first; k <= last; ++k) {
    sum += H(f, i, k) * H(f, k, j);
  }
  return sum;
}

/* Divides the rows from i to `last` of `count` columns from j on by the largest number in row i, if products could overflow. */
static void limit(const fl_schur *f, ptrdiff_t i, ptrdiff_t j, int count, ptrdiff_t last) {
  const double largest = fmax(fabs(H(f, i, j)), fabs(H(f, i, j + count - 1)));
  if (FL_EPSILON * largest * largest > 1) {
    for (ptrdiff_t k = i; k <= last; ++k) {
      for (int c = 0; c < count; ++c) {
        H(f, k, j + c) /= largest;
      }
    }
  }
}

/* Computes the eigenvector of the real eigenvalue of row n, in column n. */
static void solve_real(const fl_schur *f, ptrdiff_t n) {
  const double value = f->re[n];
  double z = 0, s = 0; /* numbers of the second row of a block */
  ptrdiff_t known = n;
  H(f, n, n) = 1;
  for (ptrdiff_t i = n - 1; i >= 0; --i) {
    const double w = H(f, i, i) - value;
    const double r = known_part(f, i, n, known, n);
    if (f->im[i] < 0) {
      z = w;
      s = r;
      continue;
    }
    known = i;
    if (f->im[i] == 0) {
      H(f, i, n) = -r / (w != 0 ? w : FL_EPSILON * f->norm);
    } else {
      const double x = H(f, i, i + 1);
      const double y = H(f, i + 1, i);
      const double away = f->re[i] - value;
      const double t = (x * s - z * r) / (away * away + f->im[i] * f->im[i]);
      H(f, i, n) = t;
      H(f, i + 1, n) = fabs(x) > fabs(z) ? (-r - w * t) / x : (-s - y * t) / z;
    }
    limit(f, i, n, 1, n);
  }
}

static void put(const fl_schur *f, ptrdiff_t i, ptrdiff_t n, pair x) {
  H(f, i, n - 1) = x.re;
  H(f, i, n) = x.im;
}

/* Computes the eigenvector of the eigenvalue with negative imaginary part of rows n - 1 and n; columns n - 1 and n hold its parts. */
static void solve_complex(const fl_schur *f, ptrdiff_t n) {
  const double p = f->re[n];
  const double q = f->im[n];
  double z = 0, r = 0, s = 0; /* numbers of the second row of a block */
  ptrdiff_t known = n - 1;
  if (fabs(H(f, n, n - 1)) > fabs(H(f, n - 1, n))) {
    const double below = H(f, n, n - 1);
    put(f, n - 1, n, (pair){q / below, -(H(f, n, n) - p) / below});
  } else {
    put(f, n - 1, n, quotient(0, -H(f, n - 1, n), H(f, n - 1, n - 1) - p, q));
  }
  put(f, n, n, (pair){0, 1});
  for (ptrdiff_t i = n - 2; i >= 0; --i) {
    const double ra = known_part(f, i, n - 1, known, n);
    const double sa = known_part(f, i, n, known, n);
    const double w = H(f, i, i) - p;
    if (f->im[i] < 0) {
      z = w;
      r = ra;
      s = sa;
      continue;
    }
    known = i;
    if (f->im[i] == 0) {
      const double nothing = w == 0 && q == 0 ? FL_EPSILON * f->norm : w;
      put(f, i, n, quotient(-ra, -sa, nothing, q));
    } else {
      const double x = H(f, i, i + 1);
      const double y = H(f, i + 1, i);
      const double away = f->re[i] - p;
      const double down_im = 2 * away * q;
      double down = away * away + f->im[i] * f->im[i] - q * q;
      if (down == 0 && down_im == 0) {
        down = FL_EPSILON * f->norm * (fabs(w) + fabs(q) + fabs(x) + fabs(y) + fabs(z));
      }
      const pair here = quotient(x * r - z * ra + q * sa, x * s - z * sa - q * ra, down, down_im);
      put(f, i, n, here);
      if (fabs(x) > fabs(z) + fabs(q)) {
        put(f, i + 1, n, (pair){(-ra - w * here.re + q * here.im) / x, (-sa - w * here.im - q * here.re) / x});
      } else {
        put(f, i + 1, n, quotient(-r - y * here.re, -s - y * here.im, z, q));
      }
    }
    limit(f, i, n - 1, 2, n);
  }
}

void fl_find_eigenvectors(const fl_schur *f) {
  const ptrdiff_t n = f->n;
  if (f->norm == 0) {
    return;
  }
  for (ptrdiff_t last = n - 1; last >= 0; --last) {
    if (f->im[last] == 0) {
      solve_real(f, last);
    } else if (f->im[last] < 0) {
      solve_complex(f, last);
    }
  }
  for (ptrdiff_t j = n - 1; j >= 0; --j) {
    for (ptrdiff_t i = 0; i < n; ++i) {
      double sum = 0;
      for (ptrdiff_t k = 0; k <= j; ++k) {
        sum += V(f, i, k) * H(f, k, j);
      }
      V(f, i, j) = sum;
    }
  }
}
