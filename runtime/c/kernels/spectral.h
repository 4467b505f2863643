/* What kernels of eigenvalues and singular values share: vectors, and matrices of finite numbers that are scaled against overflow. */
#ifndef FLAMBEAU_KERNELS_SPECTRAL_H
#define FLAMBEAU_KERNELS_SPECTRAL_H

#include "matrices.h"

#define FL_EPSILON 0x1p-52 /* from 1 to the next double */

static inline double fl_product(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t k = 0; k < n; ++k) {
    sum += a[k] * b[k];
  }
  return sum;
}

/* a' = c a - s b and b' = s a + c b */
static inline void fl_rotate(size_t n, double *a, double *b, double c, double s) {
  for (size_t k = 0; k < n; ++k) {
    const double x = a[k];
    const double y = b[k];
    a[k] = c * x - s * y;
    b[k] = s * x + c * y;
  }
}

static inline void fl_swap(size_t n, double *a, double *b) {
  for (size_t k = 0; k < n; ++k) {
    const double x = a[k];
    a[k] = b[k];
    b[k] = x;
  }
}

/* Divides n numbers by a power of 2, so that the largest is about 1. Returns the exponent. Fails where one is infinite or NaN. */
static inline fl_status fl_scale_matrix(fl_context *context, double *a, size_t n, int *exponent) {
  double largest = 0;
  for (size_t i = 0; i < n; ++i) {
    FL_CHECK(context, isfinite(a[i]), "the algorithm does not converge: the matrix holds NaN or infinite numbers");
    largest = fmax(largest, fabs(a[i]));
  }
  (void)frexp(largest, exponent);
  for (size_t i = 0; i < n; ++i) {
    a[i] = ldexp(a[i], -*exponent);
  }
  return FL_OK;
}

#endif
