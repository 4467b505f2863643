/* Kernels of the greatest common divisor, and of the float next to another. */
#include "spans.h"
#include "discrete.def"

static uint64_t magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

static int64_t divisor(int64_t x, int64_t y) {
  uint64_t a = magnitude(x);
  for (uint64_t b = magnitude(y); b != 0;) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return (int64_t)a;
}

FL_SPAN2(gcd_i64, int64_t, int64_t, divisor(x, y))

fl_status fl_gcd_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(NULL, NULL, gcd_i64, 0);
  int8_t common;
  (void)count;
  FL_TRY(fl_common_type(context, args, 2, &common));
  FL_CHECK(context, fl_is_integer(common), "common divisors are those of integers");
  return fl_pointwise_run(context, &operation, args, 2, args[2], NULL);
}

FL_SPAN2(nextafter_f32, float, float, nextafterf(x, y))
FL_SPAN2(nextafter_f64, double, double, nextafter(x, y))

fl_status fl_nextafter_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(nextafter_f32, nextafter_f64, NULL, 0);
  int8_t common;
  (void)count;
  FL_TRY(fl_common_type(context, args, 2, &common));
  FL_CHECK(context, common == FL_FLOAT32 || common == FL_FLOAT64, "the next number is that of a float32 or float64");
  return fl_pointwise_run(context, &operation, args, 2, args[2], NULL);
}
