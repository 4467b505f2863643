/* Comparisons of two operands. */
#include "spans.h"

#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *, fl_value *const *, size_t);
#include "comparison.def"
#undef FL_KERNEL

#define COMPARISON(name, operator)                                                             \
  FL_SPAN2(name##_f32, float, uint8_t, x operator y)                                           \
  FL_SPAN2(name##_f64, double, uint8_t, x operator y)                                          \
  FL_SPAN2(name##_i64, int64_t, uint8_t, x operator y)                                         \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    static const fl_pointwise operation = {name##_f32, name##_f64, name##_i64, 1};             \
    (void)count;                                                                               \
    return fl_pointwise_run(context, &operation, args, 2, args[2], NULL);                      \
  }

COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
