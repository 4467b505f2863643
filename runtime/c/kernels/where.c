/* Choices between elements: by a condition, by a mask, by bounds. */
#include "spans.h"

#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *, fl_value *const *, size_t);
#include "where.def"
#undef FL_KERNEL

#define WHERE_SPAN(name, T)                                                                                \
  FL_SPAN(name, T, const uint8_t *const cs = in[0]; const T *const xs = in[1]; const T *const ys = in[2], \
          const uint8_t c = cs[i]; const T x = xs[i]; const T y = ys[i], c != 0 ? x : y)
WHERE_SPAN(where_f32, float)
WHERE_SPAN(where_f64, double)
WHERE_SPAN(where_i64, int64_t)
WHERE_SPAN(where_bool, uint8_t)

/* out = condition ? args[0] : args[1], computed in `common`. */
static fl_status where(fl_context *context, const fl_value *condition, const fl_value *yes, const fl_value *no, int8_t common,
                       fl_tensor *out) {
  fl_scalar_tensor storage[3];
  const fl_tensor *in[3] = {fl_operand(condition, &storage[0]), fl_operand(yes, &storage[1]), fl_operand(no, &storage[2])};
  for (size_t k = 0; k < 3; ++k) {
    FL_CHECK(context, in[k] != NULL, "each operand must be a tensor of a known type, or a number");
  }
  FL_CHECK(context, in[0]->dtype == FL_BOOL || in[0]->dtype == FL_UINT8, "the condition must be a tensor of bool");
  if (!fl_can_cast(common, out->dtype)) {
    return FL_FAIL(context, FL_INVALID_TYPE, "the result's type does not convert to the output's");
  }
  FL_TRY(fl_broadcast_out(context, out, in, 3));
  const fl_compute type = common == FL_BOOL ? FL_COMPUTE_BOOL : fl_compute_of(common);
  static const fl_span_fn spans[] = {where_f32, where_f64, where_i64, where_bool};
  const fl_map map = {.span = spans[type], .in = {FL_COMPUTE_BOOL, type, type}, .result = type, .common = common};
  return fl_map_run(context, out, in, 3, &map);
}

fl_status fl_where_out(fl_context *context, fl_value *const *args, size_t count) {
  int8_t common;
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_TRY(fl_common_type(context, args + 1, 2, &common));
  return where(context, args[0], args[1], args[2], common, out);
}

fl_status fl_masked_fill_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(mask, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, mask->dtype == FL_BOOL, "the mask must be a tensor of bool");
  FL_CHECK(context, args[2]->tag != FL_TENSOR || args[2]->as.tensor->rank == 0, "the value must have no dimensions");
  return where(context, args[1], args[2], args[0], self->dtype, out);
}

#define CLAMP_SPANS(name, T, expression_min, expression_max, expression_both) \
  FL_SPAN2(name##_min, T, T, expression_min)                                  \
  FL_SPAN2(name##_max, T, T, expression_max)                                  \
  FL_SPAN3(name##_both, T, T, expression_both)
/* A NaN in the element or in a bound gives NaN; the upper bound comes last. */
#define RAISED(x, y) ((x) < (y) || (y) != (y) ? (y) : (x))
#define LOWERED(x, y) ((x) > (y) || (y) != (y) ? (y) : (x))
CLAMP_SPANS(clamp_f32, float, RAISED(x, y), LOWERED(x, y), LOWERED(RAISED(x, y), z))
CLAMP_SPANS(clamp_f64, double, RAISED(x, y), LOWERED(x, y), LOWERED(RAISED(x, y), z))
CLAMP_SPANS(clamp_i64, int64_t, x < y ? y : x, x > y ? y : x, (x < y ? y : x) > z ? z : (x < y ? y : x))

static const fl_pointwise clamp_min = {clamp_f32_min, clamp_f64_min, clamp_i64_min, 0};
static const fl_pointwise clamp_max = {clamp_f32_max, clamp_f64_max, clamp_i64_max, 0};
static const fl_pointwise clamp_both = {clamp_f32_both, clamp_f64_both, clamp_i64_both, 0};

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
