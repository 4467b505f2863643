/* Kernels of logical and bitwise operators. */
#include "spans.h"
#include "logic.def"

#define LOGICAL(name, expression)                                                              \
  FL_SPAN2(name##_span, uint8_t, uint8_t, expression)                                          \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    (void)count;                                                                               \
    return fl_logical_run(context, name##_span, args, 2, args[2]);                             \
  }

LOGICAL(logical_and, (x != 0) & (y != 0))
LOGICAL(logical_or, (x | y) != 0)
LOGICAL(logical_xor, (x != 0) ^ (y != 0))

#define BITWISE(name, flags, expression)                                                              \
  FL_SPAN2(name##_i64, int64_t, int64_t, expression)                                           \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    static const fl_pointwise operation = FL_POINTWISE(NULL, NULL, name##_i64, flags);                     \
    (void)count;                                                                               \
    return fl_pointwise_run(context, &operation, args, 2, args[2], NULL);                      \
  }

BITWISE(bitwise_and, FL_TAKES_UINT64, x &y)
BITWISE(bitwise_or, FL_TAKES_UINT64, x | y)
BITWISE(bitwise_xor, FL_TAKES_UINT64, x ^ y)
/* A shift by the width or more, or by a negative number, removes every bit. Narrower types use the same code, as they wrap and extend their sign. */
BITWISE(left_shift, 0, y < 0 || y > 63 ? 0 : (int64_t)((uint64_t)x << (y & 63)))
BITWISE(right_shift, 0, x >> (y < 0 || y > 63 ? 63 : y))

FL_SPAN1(logical_not_span, uint8_t, uint8_t, x == 0)
FL_SPAN1(bitwise_not_span, int64_t, int64_t, ~x)

fl_status fl_logical_not_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return fl_logical_run(context, logical_not_span, args, 1, args[1]);
}

fl_status fl_bitwise_not_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(NULL, NULL, bitwise_not_span, FL_TAKES_UINT64);
  FL_TENSOR_ARGUMENT(self, 0);
  FL_CHECK(context, !fl_is_float(self->dtype), "bitwise_not takes integers");
  return self->dtype == FL_BOOL ? fl_logical_not_out(context, args, count) : fl_pointwise_run(context, &operation, args, 1, args[1], NULL);
}
