/* Kernels of powers. */
#include "spans.h"
#include "pow.def"

/* Returns x^y modulo 2^64; a negative power of an integer is 0 unless x is 1 or -1. */
static int64_t power_i64(int64_t x, int64_t y) {
  if (y < 0) {
    return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  for (uint64_t base = (uint64_t)x, rest = (uint64_t)y; rest > 0; rest >>= 1, base *= base) {
    result *= (rest & 1u) != 0 ? base : 1;
  }
  return (int64_t)result;
}

FL_SPAN2(pow_f32, float, float, powf(x, y))
FL_SPAN2(pow_f64, double, double, pow(x, y))
FL_SPAN2(pow_i64, int64_t, int64_t, power_i64(x, y))
FL_POINTWISE_KERNEL(pow, 2, pow_f32, pow_f64, pow_i64, 0)

/* Spans for frequent exponents, which do not call pow. */
FL_VECTOR_SPAN1(square_f32, , fl_square_lanes(x))
FL_VECTOR_SPAN1(cube_f32, , fl_cube_lanes(x))
FL_VECTOR_SPAN1(square_root_f32, , fl_sqrt_lanes(x))
FL_VECTOR_SPAN1(inverse_f32, , fl_reciprocal_lanes(x))
FL_VECTOR_SPAN1(inverse_root_f32, , fl_rsqrt_lanes(x))
FL_SPAN1(square_root_f64, double, double, sqrt(x))
FL_SPAN1(inverse_root_f64, double, double, 1.0 / sqrt(x))

fl_status fl_pow_tensor_scalar_out(fl_context *context, fl_value *const *args, size_t count) {
  static const struct {
    double exponent;
    fl_pointwise operation;
  } special[] = {{2.0, {square_f32, NULL, NULL, 0}},
                 {3.0, {cube_f32, NULL, NULL, 0}},
                 {-1.0, {inverse_f32, NULL, NULL, 0}},
                 {0.5, {square_root_f32, square_root_f64, NULL, 0}},
                 {-0.5, {inverse_root_f32, inverse_root_f64, NULL, 0}}};
  int8_t common;
  FL_TENSOR_ARGUMENT(self, 0);
  FL_REAL_ARGUMENT(exponent, 1);
  FL_TRY(fl_common_type(context, args, 2, &common));
  FL_CHECK(context, fl_is_float(common) || exponent >= 0.0, "integers have no negative integer powers");
  if (fl_is_float(self->dtype)) {
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i) {
      /* ATen computes roots for all types except float16, for which it computes pow, with other results for -inf and -0. */
      const int root = special[i].exponent == 0.5 || special[i].exponent == -0.5;
      if (special[i].exponent == exponent && (root ? self->dtype != FL_FLOAT16 : self->dtype != FL_FLOAT64)) {
        return fl_pointwise_run(context, &special[i].operation, args, 1, args[2], NULL);
      }
    }
  }
  return fl_pow_out(context, args, count);
}
