/* Helpers of kernels for eigenvalues and singular values: operations on vectors, and the scaling of matrices against overflow. */
#ifndef FLAMBEAU_KERNELS_SPECTRAL_H
#define FLAMBEAU_KERNELS_SPECTRAL_H

#include "matrices.h"

#define FL_EPSILON 0x1p-52 /* the distance from 1 to the next double */

/* Returns the inner product of two vectors of n numbers. */
static inline double fl_product(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t k = 0; k < n; ++k) {
    sum += a[k] * b[k];
  }
  return sum;
}

/* Replaces the vectors a and b, of n numbers, by c a - s b and s a + c b. */
static inline void fl_rotate(size_t n, double *a, double *b, double c, double s) {
  for (size_t k = 0; k < n; ++k) {
    const double x = a[k];
    const double y = b[k];
    a[k] = c * x - s * y;
    b[k] = s * x + c * y;
  }
}

/* Exchanges two vectors of n numbers. */
static inline void fl_swap(size_t n, double *a, double *b) {
  for (size_t k = 0; k < n; ++k) {
    const double x = a[k];
    a[k] = b[k];
    b[k] = x;
  }
}

/* Divides n numbers by a power of 2, so that the largest magnitude is about 1, and stores its exponent. Fails if any is infinite or NaN. */
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
