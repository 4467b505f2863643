/* Kernels of arithmetic on two operands, tensors or Scalars. */
#include "spans.h"
#include "arithmetic.def"

#define REAL_LIBRARY(name, function)                                                           \
  FL_SPAN2(name##_f32, float, float, function##f(x, y))                                        \
  FL_SPAN2(name##_f64, double, double, function(x, y))                                         \
  FL_POINTWISE_KERNEL(name, 2, name##_f32, name##_f64, NULL, 0)

FL_VECTOR_SPAN2(mul_f32, , fl_mul_lanes(x, y))
FL_SPAN2(mul_f64, double, double, x *y)
FL_SPAN2(mul_i64, int64_t, int64_t, fl_wrap_mul(x, y))
FL_POINTWISE_KERNEL(mul, 2, mul_f32, mul_f64, mul_i64, FL_TAKES_UINT64)

REAL_LIBRARY(atan2, atan2)
REAL_LIBRARY(copysign, copysign)
REAL_LIBRARY(hypot, hypot)

static double logaddexp(double x, double y) { return x == y ? x + log(2.0) : (x > y ? x : y) + log1p(exp(-fabs(x - y))); }
FL_SPAN2(logaddexp_f32, float, float, logaddexp((double)x, (double)y))
FL_SPAN2(logaddexp_f64, double, double, logaddexp(x, y))
FL_POINTWISE_KERNEL(logaddexp, 2, logaddexp_f32, logaddexp_f64, NULL, 0)

FL_VECTOR_SPAN2(div_f32, , fl_div_lanes(x, y))
FL_SPAN2(div_f64, double, double, x / y)
FL_POINTWISE_KERNEL(div, 2, div_f32, div_f64, NULL, 0)

/* ---- sums with a multiple of the second operand: p[0] is alpha ---- */

FL_VECTOR_SPAN2(add_f32, , fl_add_lanes(x, y))
FL_SPAN2(add_f64, double, double, x + y)
FL_SPAN2(add_i64, int64_t, int64_t, fl_wrap_add(x, y))
FL_VECTOR_SPAN2(add_scaled_f32, , fl_add_scaled_lanes(x, y, p[0].real))
FL_SPAN2(add_scaled_f64, double, double, x + p[0].real * y)
FL_SPAN2(add_scaled_i64, int64_t, int64_t, fl_wrap_add(x, fl_wrap_mul(p[0].integer, y)))
FL_VECTOR_SPAN2(sub_f32, , fl_sub_lanes(x, y))
FL_SPAN2(sub_f64, double, double, x - y)
FL_SPAN2(sub_i64, int64_t, int64_t, fl_wrap_sub(x, y))

static const fl_pointwise add_operation = FL_POINTWISE(add_f32, add_f64, add_i64, 0);
static const fl_pointwise sub_operation = FL_POINTWISE(sub_f32, sub_f64, sub_i64, 0);
static const fl_pointwise add_scaled_operation = FL_POINTWISE(add_scaled_f32, add_scaled_f64, add_scaled_i64, 0);

/* Computes operands[0] + alpha * operands[1], or with `subtract` operands[0] - alpha * operands[1], into `out`. */
static fl_status add_scaled(fl_context *context, fl_value *const *operands, const fl_value *alpha, int subtract, const fl_value *out) {
  fl_parameter parameter = {1.0, 1};
  int8_t common;
  FL_TRY(fl_common_type(context, operands, 2, &common));
  FL_CHECK(context, fl_get_real(alpha, &parameter.real), "alpha must be a number");
  FL_CHECK(context, alpha->tag != FL_DOUBLE || fl_is_float(common), "alpha must be an integer when the operands are");
  if (!fl_get_int(alpha, &parameter.integer)) {
    parameter.integer = 0;
  }
  if (parameter.real == 1.0) {
    return fl_pointwise_run(context, subtract ? &sub_operation : &add_operation, operands, 2, out, NULL);
  }
  if (subtract) {
    parameter = (fl_parameter){-parameter.real, fl_wrap_sub(0, parameter.integer)};
  }
  return fl_pointwise_run(context, &add_scaled_operation, operands, 2, out, &parameter);
}

fl_status fl_add_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return add_scaled(context, args, args[2], 0, args[3]);
}

fl_status fl_sub_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return add_scaled(context, args, args[2], 1, args[3]);
}

fl_status fl_rsub_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_value *const operands[2] = {args[1], args[0]};
  (void)count;
  return add_scaled(context, operands, args[2], 1, args[3]);
}

/* ---- sums with a product: p[0] is value ---- */

FL_VECTOR_SPAN3(addcmul_f32, , fl_addcmul_lanes(x, y, z))
FL_SPAN3(addcmul_f64, double, double, x + y * z)
FL_SPAN3(addcmul_i64, int64_t, int64_t, fl_wrap_add(x, fl_wrap_mul(y, z)))
FL_VECTOR_SPAN3(addcmul_scaled_f32, , fl_addcmul_scaled_lanes(x, y, z, p[0].real))
FL_SPAN3(addcmul_scaled_f64, double, double, x + p[0].real * y * z)
FL_SPAN3(addcmul_scaled_i64, int64_t, int64_t, fl_wrap_add(x, fl_wrap_mul(fl_wrap_mul(p[0].integer, y), z)))

fl_status fl_addcmul_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise plain = FL_POINTWISE(addcmul_f32, addcmul_f64, addcmul_i64, 0);
  static const fl_pointwise scaled = FL_POINTWISE(addcmul_scaled_f32, addcmul_scaled_f64, addcmul_scaled_i64, 0);
  fl_parameter value = {1.0, 1};
  int8_t common;
  (void)count;
  FL_TRY(fl_common_type(context, args, 3, &common));
  FL_CHECK(context, fl_get_real(args[3], &value.real), "value must be a number");
  if (!fl_get_int(args[3], &value.integer)) {
    value.integer = fl_i64_of_real(value.real); /* truncated, as in ATen */
    value.real = fl_is_float(common) ? value.real : (double)value.integer;
  }
  return fl_pointwise_run(context, value.real == 1.0 ? &plain : &scaled, args, 3, args[4], &value);
}

/* ---- division with rounding ---- */

static int64_t divide(int64_t x, int64_t y) { return y == -1 ? fl_wrap_sub(0, x) : x / y; }
static int64_t modulo(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }

static int64_t floor_divide_i64(int64_t x, int64_t y) {
  const int64_t quotient = divide(x, y);
  return modulo(x, y) != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

static int64_t remainder_i64(int64_t x, int64_t y) {
  const int64_t rest = modulo(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Defines Python's // on reals, which never rounds a quotient up past its exact value. */
#define FLOOR_DIVIDE(name, T, FMOD, FLOOR, COPYSIGN)                                           \
  static T name(T x, T y) {                                                                    \
    if (y == 0) {                                                                              \
      return x / y;                                                                            \
    }                                                                                          \
    const T rest = FMOD(x, y);                                                                 \
    T quotient = (x - rest) / y;                                                               \
    if (rest != 0 && (y < 0) != (rest < 0)) {                                                  \
      quotient -= 1;                                                                           \
    }                                                                                          \
    if (quotient == 0) {                                                                       \
      return COPYSIGN(0, x / y);                                                               \
    }                                                                                          \
    const T rounded = FLOOR(quotient);                                                         \
    return quotient - rounded > (T)0.5 ? rounded + 1 : rounded;                                \
  }
FLOOR_DIVIDE(floor_divide_float, float, fmodf, floorf, copysignf)
FLOOR_DIVIDE(floor_divide_double, double, fmod, floor, copysign)

/* Returns the remainder of x / y, with the sign of the divisor. */
static float remainder_float(float x, float y) {
  const float rest = fmodf(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double remainder_double(double x, double y) {
  const double rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

FL_SPAN2(floor_divide_span_f32, float, float, floor_divide_float(x, y))
FL_SPAN2(floor_divide_span_f64, double, double, floor_divide_double(x, y))
FL_SPAN2(floor_divide_span_i64, int64_t, int64_t, floor_divide_i64(x, y))
FL_SPAN2(trunc_divide_f32, float, float, truncf(x / y))
FL_SPAN2(trunc_divide_f64, double, double, trunc(x / y))
FL_SPAN2(trunc_divide_i64, int64_t, int64_t, divide(x, y))
FL_SPAN2(fmod_f32, float, float, fmodf(x, y))
FL_SPAN2(fmod_f64, double, double, fmod(x, y))
FL_SPAN2(fmod_i64, int64_t, int64_t, modulo(x, y))
FL_SPAN2(remainder_span_f32, float, float, remainder_float(x, y))
FL_SPAN2(remainder_span_f64, double, double, remainder_double(x, y))
FL_SPAN2(remainder_span_i64, int64_t, int64_t, remainder_i64(x, y))

static const fl_pointwise floor_divide_operation = FL_POINTWISE(floor_divide_span_f32, floor_divide_span_f64, floor_divide_span_i64, 0);
static const fl_pointwise trunc_divide_operation = FL_POINTWISE(trunc_divide_f32, trunc_divide_f64, trunc_divide_i64, 0);
static const fl_pointwise fmod_operation = FL_POINTWISE(fmod_f32, fmod_f64, fmod_i64, 0);
static const fl_pointwise remainder_operation = FL_POINTWISE(remainder_span_f32, remainder_span_f64, remainder_span_i64, 0);

/* Returns whether an operand has an element that is 0 in the common type. */
static int has_zero(const fl_value *value, int8_t common) {
  fl_scalar_tensor storage;
  const fl_tensor *tensor = fl_operand_as(value, common, &storage);
  uint8_t truths[FL_BLOCK];
  const fl_convert_fn convert = fl_widen(tensor->dtype, FL_COMPUTE_BOOL);
  const size_t element = fl_element_size(tensor->dtype);
  const size_t total = fl_numel(tensor);
  for (size_t i = 0; i < total; i += FL_BLOCK) {
    const size_t n = total - i < FL_BLOCK ? total - i : FL_BLOCK;
    const uint8_t *block = (const uint8_t *)tensor->data + i * element;
    if (convert != NULL) {
      convert(n, truths, block);
      block = truths;
    }
    if (memchr(block, 0, n) != NULL) {
      return 1;
    }
  }
  return 0;
}

static fl_status divide_run(fl_context *context, const fl_pointwise *operation, fl_value *const *args, const fl_value *out) {
  int8_t common;
  fl_scalar_tensor storage;
  FL_TRY(fl_common_type(context, args, 2, &common));
  const int divides = !fl_is_float(common) && fl_numel(fl_operand(args[0], &storage)) > 0;
  FL_CHECK(context, !divides || !has_zero(args[1], common), "integer division by zero");
  return fl_pointwise_run(context, operation, args, 2, out, NULL);
}

fl_status fl_floor_divide_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return divide_run(context, &floor_divide_operation, args, args[2]);
}

fl_status fl_fmod_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return divide_run(context, &fmod_operation, args, args[2]);
}

fl_status fl_remainder_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return divide_run(context, &remainder_operation, args, args[2]);
}

fl_status fl_div_out_mode(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise exact = FL_POINTWISE(div_f32, div_f64, NULL, 0);
  (void)count;
  if (fl_is_none(args[2])) {
    return fl_pointwise_run(context, &exact, args, 2, args[3], NULL);
  }
  FL_CHECK(context, args[2]->tag == FL_STRING, "rounding_mode must be none or a string");
  const char *mode = args[2]->as.string.data;
  const int is_floor = strcmp(mode, "floor") == 0;
  FL_CHECK(context, is_floor || strcmp(mode, "trunc") == 0, "rounding_mode must be none, floor or trunc");
  return divide_run(context, is_floor ? &floor_divide_operation : &trunc_divide_operation, args, args[3]);
}
