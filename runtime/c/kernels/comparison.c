/* Kernels of comparisons, and of limits. */
#include "spans.h"
#include "comparison.def"

#define COMPARISON(name, operator, flags)                                                             \
  FL_SPAN2(name##_f32, float, uint8_t, x operator y)                                           \
  FL_SPAN2(name##_f64, double, uint8_t, x operator y)                                          \
  FL_SPAN2(name##_i64, int64_t, uint8_t, x operator y)                                         \
  FL_POINTWISE_KERNEL(name, 2, name##_f32, name##_f64, name##_i64, FL_GIVES_BOOL | flags)

COMPARISON(eq, ==, FL_TAKES_UINT64)
COMPARISON(ne, !=, FL_TAKES_UINT64)
COMPARISON(lt, <, 0)
COMPARISON(le, <=, 0)
COMPARISON(gt, >, 0)
COMPARISON(ge, >=, 0)

#define PREDICATE(name, real_expression, integer_expression)                                   \
  FL_SPAN1(name##_f32, float, uint8_t, real_expression)                                        \
  FL_SPAN1(name##_f64, double, uint8_t, real_expression)                                       \
  FL_SPAN1(name##_i64, int64_t, uint8_t, integer_expression)                                   \
  FL_POINTWISE_KERNEL(name, 1, name##_f32, name##_f64, name##_i64, FL_GIVES_BOOL)

PREDICATE(isnan, x != x, x != x)
PREDICATE(isinf, isinf(x) != 0, 0 * x)
PREDICATE(isposinf, isinf(x) && x > 0, 0 * x)
PREDICATE(isneginf, isinf(x) && x < 0, 0 * x)

#define EXTREMUM(name, vector_expression, f64_expression, i64_expression)                      \
  FL_VECTOR_SPAN2(name##_f32, , vector_expression)                                             \
  FL_SPAN2(name##_f64, double, double, f64_expression)                                         \
  FL_SPAN2(name##_i64, int64_t, int64_t, i64_expression)                                       \
  FL_POINTWISE_KERNEL(name, 2, name##_f32, name##_f64, name##_i64, 0)

EXTREMUM(maximum, fl_maximum_lanes(x, y), x > y || x != x ? x : y, x > y ? x : y)
EXTREMUM(minimum, fl_minimum_lanes(x, y), x < y || x != x ? x : y, x < y ? x : y)
EXTREMUM(fmax, fl_select((fl_ivec)(y != y), x, fl_max_b(x, y)), fmax(x, y), x > y ? x : y)
EXTREMUM(fmin, fl_select((fl_ivec)(y != y), x, fl_min_b(x, y)), fmin(x, y), x < y ? x : y)

#define CLAMP_SPANS(name, T, expression_min, expression_max, expression_both) \
  FL_SPAN2(name##_min, T, T, expression_min)                                  \
  FL_SPAN2(name##_max, T, T, expression_max)                                  \
  FL_SPAN3(name##_both, T, T, expression_both)
/* Limits an element; the upper bound is applied last. NaN in the element or in a bound gives NaN. */
#define RAISED(x, y) ((x) < (y) || (y) != (y) ? (y) : (x))
#define LOWERED(x, y) ((x) > (y) || (y) != (y) ? (y) : (x))
FL_VECTOR_SPAN2(clamp_f32_min, , fl_clamp_min_lanes(x, y))
FL_VECTOR_SPAN2(clamp_f32_max, , fl_clamp_max_lanes(x, y))
FL_VECTOR_SPAN3(clamp_f32_both, , fl_clamp_lanes(x, y, z))
CLAMP_SPANS(clamp_f64, double, RAISED(x, y), LOWERED(x, y), LOWERED(RAISED(x, y), z))
CLAMP_SPANS(clamp_i64, int64_t, x < y ? y : x, x > y ? y : x, (x < y ? y : x) > z ? z : (x < y ? y : x))

static const fl_pointwise clamp_min = FL_POINTWISE(clamp_f32_min, clamp_f64_min, clamp_i64_min, 0);
static const fl_pointwise clamp_max = FL_POINTWISE(clamp_f32_max, clamp_f64_max, clamp_i64_max, 0);
static const fl_pointwise clamp_both = FL_POINTWISE(clamp_f32_both, clamp_f64_both, clamp_i64_both, 0);

fl_status fl_clamp_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  if (!fl_is_none(args[1]) && !fl_is_none(args[2])) {
    return fl_pointwise_run(context, &clamp_both, args, 3, args[3], NULL);
  }
  FL_CHECK(context, !fl_is_none(args[1]) || !fl_is_none(args[2]), "clamp needs a bound");
  fl_value *const operands[2] = {args[0], fl_is_none(args[1]) ? args[2] : args[1]};
  return fl_pointwise_run(context, fl_is_none(args[1]) ? &clamp_max : &clamp_min, operands, 2, args[3], NULL);
}

fl_status fl_clamp_min_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return fl_pointwise_run(context, &clamp_min, args, 2, args[2], NULL);
}

fl_status fl_clamp_max_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return fl_pointwise_run(context, &clamp_max, args, 2, args[2], NULL);
}
