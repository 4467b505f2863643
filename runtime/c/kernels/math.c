/* Kernels of mathematical functions of one tensor. Functions that networks use often compute with vectors; the others call the C library. */
#include "spans.h"
#include "math.def"

#define REAL_LIBRARY(name, function)                          \
  FL_SPAN1(name##_f32, float, float, function##f(x))          \
  FL_SPAN1(name##_f64, double, double, function(x))           \
  FL_POINTWISE_KERNEL(name, 1, name##_f32, name##_f64, NULL, 0)

/* Defines a function that has integer results for integers. */
#define ANY_NUMBER(name, f32_expression, f64_expression, i64_expression) \
  FL_SPAN1(name##_f32, float, float, f32_expression)          \
  FL_SPAN1(name##_f64, double, double, f64_expression)        \
  FL_SPAN1(name##_i64, int64_t, int64_t, i64_expression)      \
  FL_POINTWISE_KERNEL(name, 1, name##_f32, name##_f64, name##_i64, 0)

FL_REAL_KERNEL(erf, erf(x))
FL_REAL_KERNEL(exp, exp(x))
FL_REAL_KERNEL(log, log(x))
FL_REAL_KERNEL(reciprocal, 1.0 / x)
FL_REAL_KERNEL(rsqrt, 1.0 / sqrt(x))
FL_REAL_KERNEL(sqrt, sqrt(x))

#if defined(__FMA__) || defined(FL_SIMD_NEON)
/* Above this magnitude, x - k pi / 2 in float loses digits. */
#define LARGEST_ANGLE 30000.0f

/* Returns sin(x + quarter pi / 2) for |x| <= LARGEST_ANGLE: reduces x to |r| <= pi / 4, with pi / 2 in three parts, then sums a power series. */
FL_INLINE fl_vec sine(fl_vec x, int32_t quarter) {
  const fl_vec magic = fl_set(12582912.0f); /* 1.5 * 2^23: adding it rounds a number to an integer in the low bits */
  fl_vec shifted = fl_fma(x, fl_set(0.636619772367581343f), magic);
  fl_vec k = shifted - magic;
  fl_ivec turn = ((fl_ivec)shifted & fl_iset(3)) + fl_iset(quarter);
  fl_vec r = fl_fma(k, fl_set(-1.57079637050628662109375f), x);
  r = fl_fma(k, fl_set(4.37113900018624283e-8f), r);
  r = fl_fma(k, fl_set(1.71512489e-15f), r);
  fl_vec z = r * r;
  fl_vec s = fl_fma(z, fl_set(1.0f / 362880.0f), fl_set(-1.0f / 5040.0f));
  s = fl_fma(s, z, fl_set(1.0f / 120.0f));
  s = fl_fma(s, z, fl_set(-1.0f / 6.0f));
  s = fl_fma(s * z, r, r);
  fl_vec c = fl_fma(z, fl_set(-1.0f / 3628800.0f), fl_set(1.0f / 40320.0f));
  c = fl_fma(c, z, fl_set(-1.0f / 720.0f));
  c = fl_fma(c, z, fl_set(1.0f / 24.0f));
  c = fl_fma(c, z, fl_set(-0.5f));
  c = fl_fma(c, z, fl_set(1.0f));
  fl_vec y = fl_select((fl_ivec)((turn & fl_iset(1)) != 0), c, s);
  return (fl_vec)((fl_ivec)y ^ ((turn & fl_iset(2)) << 30));
}

#define SINE(name, function, quarter)                                                               \
  static void name##_f32(size_t n, void *out, const void *const *in, const fl_parameter *p) {       \
    (void)p;                                                                                        \
    for (size_t i = 0; i < n; i += FL_LANES) {                                                      \
      const size_t m = n - i < FL_LANES ? n - i : FL_LANES;                                         \
      const fl_vec x = fl_load_part((const float *)in[0] + i, m);                                   \
      float angles[FL_LANES], *const y = (float *)out + i;                                          \
      int far = 0;                                                                                  \
      fl_store(angles, x);                                                                          \
      fl_store_part(y, sine(x, quarter), m);                                                        \
      for (size_t j = 0; j < FL_LANES; ++j) {                                                       \
        far |= !(fabsf(angles[j]) <= LARGEST_ANGLE);                                                \
      }                                                                                             \
      for (size_t j = 0; far && j < m; ++j) {                                                       \
        y[j] = fabsf(angles[j]) <= LARGEST_ANGLE ? y[j] : function##f(angles[j]);                   \
      }                                                                                             \
    }                                                                                               \
  }                                                                                                 \
  FL_SPAN1(name##_f64, double, double, function(x))                                                 \
  FL_POINTWISE_KERNEL(name, 1, name##_f32, name##_f64, NULL, 0)
SINE(sin, sin, 0)
SINE(cos, cos, 1)
#else
REAL_LIBRARY(sin, sin)
REAL_LIBRARY(cos, cos)
#endif

REAL_LIBRARY(acos, acos)
REAL_LIBRARY(acosh, acosh)
REAL_LIBRARY(asin, asin)
REAL_LIBRARY(asinh, asinh)
REAL_LIBRARY(atan, atan)
REAL_LIBRARY(atanh, atanh)
REAL_LIBRARY(cosh, cosh)
REAL_LIBRARY(exp2, exp2)
REAL_LIBRARY(expm1, expm1)
REAL_LIBRARY(log10, log10)
REAL_LIBRARY(log1p, log1p)
REAL_LIBRARY(log2, log2)
REAL_LIBRARY(sinh, sinh)
REAL_LIBRARY(tan, tan)

ANY_NUMBER(abs, fabsf(x), fabs(x), x < 0 ? fl_wrap_sub(0, x) : x)
ANY_NUMBER(ceil, ceilf(x), ceil(x), x)
ANY_NUMBER(floor, floorf(x), floor(x), x)
ANY_NUMBER(frac, x - truncf(x), x - trunc(x), 0 * x)
ANY_NUMBER(neg, -x, -x, fl_wrap_sub(0, x))
ANY_NUMBER(round, rintf(x), rint(x), x)
ANY_NUMBER(sign, (x > 0.0f) - (x < 0.0f), (x > 0.0) - (x < 0.0), (x > 0) - (x < 0))
ANY_NUMBER(square, x * x, x * x, fl_wrap_mul(x, x))
ANY_NUMBER(trunc, truncf(x), trunc(x), x)

FL_SPAN1(signbit_f32, float, uint8_t, signbit(x) != 0)
FL_SPAN1(signbit_f64, double, uint8_t, signbit(x) != 0)
FL_SPAN1(signbit_i64, int64_t, uint8_t, x < 0)
FL_POINTWISE_KERNEL(signbit, 1, signbit_f32, signbit_f64, signbit_i64, FL_GIVES_BOOL)

/* p[0] and p[1] are the bounds to which x is limited. */
FL_VECTOR_SPAN1(logit_f32, const float low = (float)p[0].real; const float high = (float)p[1].real,
                fl_log(fl_clamp(x, low, high) / (fl_set(1.0f) - fl_clamp(x, low, high))))
static double logit(double x, double low, double high) {
  x = x < low ? low : x > high ? high : x;
  return log(x / (1.0 - x));
}
FL_SPAN1(logit_f64, double, double, logit(x, p[0].real, p[1].real))

fl_status fl_logit_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(logit_f32, logit_f64, NULL, 0);
  double eps = 0.0;
  (void)count;
  FL_CHECK(context, fl_is_none(args[1]) || fl_get_real(args[1], &eps), "logit's eps must be a number or none");
  const int bounded = !fl_is_none(args[1]);
  const fl_parameter bounds[2] = {{bounded ? eps : -INFINITY, 0}, {bounded ? 1.0 - eps : INFINITY, 0}};
  return fl_pointwise_run(context, &operation, args, 1, args[2], bounds);
}

/* p: the numbers that replace NaN, infinity and minus infinity. */
#define NAN_TO_NUM(T) (x != x ? (T)p[0].real : x == (T)INFINITY ? (T)p[1].real : x == (T)-INFINITY ? (T)p[2].real : x)
FL_SPAN1(nan_to_num_f32, float, float, NAN_TO_NUM(float))
FL_SPAN1(nan_to_num_f64, double, double, NAN_TO_NUM(double))
FL_SPAN1(nan_to_num_i64, int64_t, int64_t, x)

fl_status fl_nan_to_num_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(nan_to_num_f32, nan_to_num_f64, nan_to_num_i64, 0);
  FL_TENSOR_ARGUMENT(self, 0);
  const double largest = self->dtype == FL_FLOAT64   ? 0x1.fffffffffffffp1023
                         : self->dtype == FL_FLOAT16 ? 65504.0
                         : self->dtype == FL_BFLOAT16 ? 0x1.fep127
                                                      : 0x1.fffffep127;
  fl_parameter stands_for[3] = {{0.0, 0}, {largest, 0}, {-largest, 0}};
  (void)count;
  for (size_t i = 0; i < 3; ++i) {
    FL_CHECK(context, fl_is_none(args[i + 1]) || fl_get_real(args[i + 1], &stands_for[i].real), "replacements must be numbers or none");
  }
  return fl_pointwise_run(context, &operation, args, 1, args[4], stands_for);
}
