/* Kernels of orthogonal polynomials of degree y at x, computed by recurrences. Degrees are truncated; a negative degree gives 0. */
#include "element.h"
#include "spans.h"
#include "polynomials.def"

#define HIGHEST_DEGREE 65536

enum { CHEBYSHEV_T, CHEBYSHEV_U, CHEBYSHEV_V, CHEBYSHEV_W, HERMITE_H, HERMITE_HE, LAGUERRE_L, LEGENDRE_P };

/* Defines the functions for the float type T. `most` is the highest degree of Hermite's polynomials. */
#define FAMILIES(T, suffix, f, most)                                                                                \
  static T first_##suffix(int family, T x) {                                                                        \
    switch (family) {                                                                                               \
      case CHEBYSHEV_U:                                                                                             \
      case HERMITE_H:                                                                                               \
        return x + x;                                                                                               \
      case CHEBYSHEV_V:                                                                                             \
        return x + x - (T)1;                                                                                        \
      case CHEBYSHEV_W:                                                                                             \
        return x + x + (T)1;                                                                                        \
      case LAGUERRE_L:                                                                                              \
        return (T)1 - x;                                                                                            \
      default:                                                                                                      \
        return x;                                                                                                   \
    }                                                                                                               \
  }                                                                                                                 \
  /* The polynomial of degree k + 1, from degrees k and k - 1. */                                                          \
  static T next_##suffix(int family, T k, T x, T current, T last) {                                                 \
    switch (family) {                                                                                               \
      case HERMITE_H:                                                                                               \
        return (x + x) * current - (T)2 * k * last;                                                                 \
      case HERMITE_HE:                                                                                              \
        return x * current - k * last;                                                                              \
      case LAGUERRE_L:                                                                                              \
        return ((k + k + ((T)1 - x)) * current - k * last) / (k + (T)1);                                            \
      case LEGENDRE_P:                                                                                              \
        return ((k + k + (T)1) * x * current - k * last) / (k + (T)1);                                              \
      default:                                                                                                      \
        return (x + x) * current - last;                                                                            \
    }                                                                                                               \
  }                                                                                                                 \
  /* Chebyshev's polynomials for |x| < 1. */                                                                        \
  static T far_##suffix(int family, T n, T x) {                                                                     \
    const T angle = acos##f(x);                                                                                     \
    switch (family) {                                                                                               \
      case CHEBYSHEV_T:                                                                                             \
        return cos##f(n * angle);                                                                                   \
      case CHEBYSHEV_U:                                                                                             \
        return sin##f((n + (T)1) * angle) / sin##f(angle);                                                          \
      case CHEBYSHEV_V:                                                                                             \
        return cos##f((n + (T)0.5) * angle) / cos##f(angle / (T)2);                                                 \
      default:                                                                                                      \
        return sin##f((n + (T)0.5) * angle) / sin##f(angle / (T)2);                                                 \
    }                                                                                                               \
  }                                                                                                                 \
  /* At -1 and 1. */                                                                                                \
  static T edge_##suffix(int family, int64_t n, T x) {                                                              \
    const T sign = x > (T)0 || n % 2 == 0 ? (T)1 : (T)-1;                                                           \
    const T odd = (T)2 * (T)n + (T)1;                                                                               \
    return family == CHEBYSHEV_U   ? sign * ((T)n + (T)1)                                                           \
           : family == CHEBYSHEV_V ? (x > (T)0 ? (T)1 : sign * odd)                                                 \
           : family == CHEBYSHEV_W ? (x > (T)0 ? odd : sign)                                                        \
                                   : sign;                                                                          \
  }                                                                                                                 \
  static T polynomial_##suffix(int family, T x, T degree) {                                                         \
    const int64_t n = fl_i64_of_real((double)degree);                                                               \
    const int is_hermite = family == HERMITE_H || family == HERMITE_HE;                                             \
    if (n < 0) {                                                                                                    \
      return (T)0;                                                                                                  \
    }                                                                                                               \
    if (!is_hermite && family != LAGUERRE_L && (x == (T)1 || x == (T)-1)) {                                         \
      return edge_##suffix(family, n, x);                                                                           \
    }                                                                                                               \
    if (n == 0 || (family == LAGUERRE_L && x == (T)0)) {                                                            \
      return (T)1;                                                                                                  \
    }                                                                                                               \
    if (is_hermite && n > (most)) {                                                                                 \
      return (T)NAN;                                                                                                \
    }                                                                                                               \
    if (family <= CHEBYSHEV_W && n > 8 && fabs##f(x) < (T)1) {                                                      \
      return far_##suffix(family, (T)n, x);                                                                         \
    }                                                                                                               \
    T last = (T)1;                                                                                                  \
    T current = first_##suffix(family, x);                                                                          \
    for (int64_t k = 1; k < n && (is_hermite || current == current); ++k) {                                         \
      const T next = next_##suffix(family, (T)k, x, current, last);                                                 \
      last = current;                                                                                               \
      current = next;                                                                                               \
    }                                                                                                               \
    return current;                                                                                                 \
  }
FAMILIES(float, f32, f, 128)
FAMILIES(double, f64, , 512)

/* Checks the degrees, which are data: a recurrence takes as many steps as the degree. */
static fl_status check_degrees(fl_context *context, int family, const fl_value *degrees) {
  const fl_tensor *tensor = fl_get_tensor(degrees);
  double scalar = 0;
  if (family == HERMITE_H || family == HERMITE_HE || (tensor == NULL && !fl_get_real(degrees, &scalar))) {
    return FL_OK;
  }
  for (size_t i = 0; i < (tensor == NULL ? 1 : fl_numel(tensor)); ++i) {
    const int64_t degree = fl_i64_of_real(tensor == NULL ? scalar : fl_read_real(tensor->dtype, tensor->data, i));
    FL_CHECK_NUMBERS(context, degree <= HIGHEST_DEGREE, "a degree must be at most %, got %", HIGHEST_DEGREE, degree);
  }
  return FL_OK;
}

#define POLYNOMIAL(name, family, argument)                                                     \
  FL_SPAN2(name##_f32, float, float, polynomial_f32(family, argument, y))                      \
  FL_SPAN2(name##_f64, double, double, polynomial_f64(family, argument, y))                    \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    static const fl_pointwise operation = FL_POINTWISE(name##_f32, name##_f64, NULL, 0);                   \
    (void)count;                                                                               \
    FL_TRY(check_degrees(context, family, args[1]));                                           \
    return fl_pointwise_run(context, &operation, args, 2, args[2], NULL);                      \
  }

POLYNOMIAL(chebyshev_polynomial_t, CHEBYSHEV_T, x)
POLYNOMIAL(chebyshev_polynomial_u, CHEBYSHEV_U, x)
POLYNOMIAL(chebyshev_polynomial_v, CHEBYSHEV_V, x)
POLYNOMIAL(chebyshev_polynomial_w, CHEBYSHEV_W, x)
POLYNOMIAL(hermite_polynomial_h, HERMITE_H, x)
POLYNOMIAL(hermite_polynomial_he, HERMITE_HE, x)
POLYNOMIAL(laguerre_polynomial_l, LAGUERRE_L, x)
POLYNOMIAL(legendre_polynomial_p, LEGENDRE_P, x)
POLYNOMIAL(shifted_chebyshev_polynomial_t, CHEBYSHEV_T, x + x - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_u, CHEBYSHEV_U, x + x - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_v, CHEBYSHEV_V, x + x - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_w, CHEBYSHEV_W, x + x - 1)
