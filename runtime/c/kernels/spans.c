/* Helpers of elementwise kernels: they promote and broadcast operands, and choose the computing type. */
#include "spans.h"

fl_status fl_promoted_type(fl_context *context, fl_value *const *operands, size_t count, int takes_uint64, int8_t *common) {
  fl_promotion promotion = fl_promotion_start();
  for (size_t k = 0; k < count; ++k) {
    fl_scalar_tensor storage;
    const fl_tensor *tensor = fl_operand(operands[k], &storage);
    FL_CHECK(context, tensor != NULL, "each operand must be a tensor of a known type, or a number");
    fl_promotion_operand(&promotion, operands[k], tensor);
  }
  *common = fl_promotion_result(&promotion);
  if (*common < 0 || !fl_has(*common) || (*common == FL_UINT64 && !takes_uint64)) {
    return FL_FAIL(context, FL_INVALID_TYPE, "arithmetic is not defined on these types");
  }
  return FL_OK;
}

fl_status fl_common_type(fl_context *context, fl_value *const *operands, size_t count, int8_t *common) {
  return fl_promoted_type(context, operands, count, 0, common);
}

fl_status fl_pointwise_run(fl_context *context, const fl_pointwise *operation, fl_value *const *operands, size_t count, const fl_value *out,
                           const fl_parameter *parameters) {
  fl_scalar_tensor storage[FL_MAX_OPERANDS - 1];
  const fl_tensor *in[FL_MAX_OPERANDS - 1];
  int8_t common;
  fl_tensor *result = fl_get_tensor(out);
  FL_CHECK(context, result != NULL && fl_dtype_size(result->dtype) > 0, "the output must be a tensor of a known type");
  FL_TRY(fl_promoted_type(context, operands, count, (operation->flags & FL_TAKES_UINT64) != 0, &common));
  FL_CHECK(context, !fl_is_float(common) || operation->f32 != NULL || operation->f64 != NULL, "the operation takes integers");
  if (!fl_is_float(common) && operation->i64 == NULL) {
    common = FL_FLOAT32;
  }
  for (size_t k = 0; k < count; ++k) {
    in[k] = fl_operand_as(operands[k], common, &storage[k]);
  }
  if ((operation->flags & FL_GIVES_BOOL) == 0 && !fl_can_cast(common, result->dtype)) {
    return FL_FAIL(context, FL_INVALID_TYPE, "the result's type does not convert to the output's");
  }
  FL_TRY(fl_broadcast_out(context, result, in, count));
  const fl_compute type = fl_compute_of(common);
  const fl_map map = {
      .span = type == FL_COMPUTE_F32 ? operation->f32 : type == FL_COMPUTE_F64 ? operation->f64 : operation->i64,
      .in = {type, type, type},
      .result = (operation->flags & FL_GIVES_BOOL) != 0 ? FL_COMPUTE_BOOL : type,
      .common = common,
      .parameters = parameters,
  };
  return fl_map_run(context, result, in, count, &map);
}

fl_status fl_logical_run(fl_context *context, fl_span_fn span, fl_value *const *operands, size_t count, const fl_value *out) {
  fl_scalar_tensor storage[FL_MAX_OPERANDS - 1];
  const fl_tensor *in[FL_MAX_OPERANDS - 1];
  fl_tensor *result = fl_get_tensor(out);
  FL_CHECK(context, result != NULL && fl_dtype_size(result->dtype) > 0, "the output must be a tensor of a known type");
  for (size_t k = 0; k < count; ++k) {
    in[k] = fl_operand(operands[k], &storage[k]);
    FL_CHECK(context, in[k] != NULL, "each operand must be a tensor of a known type, or a number");
  }
  FL_TRY(fl_broadcast_out(context, result, in, count));
  const fl_map map = {.span = span, .in = {FL_COMPUTE_BOOL, FL_COMPUTE_BOOL, FL_COMPUTE_BOOL}, .result = FL_COMPUTE_BOOL, .common = -1};
  return fl_map_run(context, result, in, count, &map);
}

#define WHERE_SPAN(name, T)                                                                                \
  FL_SPAN(name, T, const uint8_t *const cs = in[0]; const T *const xs = in[1]; const T *const ys = in[2], \
          const uint8_t c = cs[i]; const T x = xs[i]; const T y = ys[i], c != 0 ? x : y)
WHERE_SPAN(where_f32, float)
WHERE_SPAN(where_f64, double)
WHERE_SPAN(where_i64, int64_t)
WHERE_SPAN(where_bool, uint8_t)

fl_status fl_where_run(fl_context *context, const fl_value *condition, const fl_value *yes, const fl_value *no, int8_t common, fl_tensor *out) {
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
  static const fl_span_fn spans[] = {where_f32, FL_IF_DOUBLES(where_f64), FL_IF_INTEGERS(where_i64), FL_IF_INTEGERS(where_bool)};
  const fl_map map = {.span = spans[type], .in = {FL_COMPUTE_BOOL, type, type}, .result = type, .common = common};
  return fl_map_run(context, out, in, 3, &map);
}
