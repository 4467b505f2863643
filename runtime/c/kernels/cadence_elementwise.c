/* Elementwise operators of ExecuTorch's runtime for Cadence's DSPs, on quantized numbers. */
#include "cadence_nnlib.h"
#include "cadence_elementwise.def"
#include "quantize.def"

fl_status fl_cadence_dequantize_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  fl_value none = {.tag = FL_NONE};
  fl_value *const all[] = {args[0], args[1], args[2], args[3], args[4], args[5], &none, args[6], args[7]};
  return fl_dequantize_per_tensor_out(context, all, sizeof all / sizeof *all);
}

/* Gives `out` the sizes of `input`, and checks that both lie in one order. */
static fl_status resize_like(fl_context *context, const fl_tensor *input, fl_tensor *out) {
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out), "the operands and the result must be laid out alike");
  return FL_OK;
}

fl_status fl_cadence_relu_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 5);
  int32_t zero_point;
  fl_cadence_ratio ratio;
  FL_TRY(fl_cadence_types(context, input, input, out));
  FL_TRY(fl_cadence_zero_point(context, args[1], input->dtype, &zero_point));
  FL_TRY(fl_cadence_read_ratio(context, args[2], args[3], args[4], input->dtype, &ratio));
  FL_TRY(resize_like(context, input, out));
  const int is_signed = input->dtype == FL_INT8;
  const size_t n = fl_numel(input);
#if defined(FL_NNLIB)
  /* The lower limit is the relu. */
  return fl_nnlib_status(context, is_signed ? xa_nn_vec_relu_asym8s_asym8s(out->data, input->data, zero_point, FL_NNLIB_RATIO(&ratio), ratio.zero_point,
                                                                           ratio.high, (WORD32)n)
                                            : xa_nn_vec_relu_asym8u_asym8u(out->data, input->data, zero_point, FL_NNLIB_RATIO(&ratio), ratio.zero_point,
                                                                           ratio.high, (WORD32)n));
#else
  const uint8_t *const bytes = input->data;
  uint8_t *const results = out->data;
  for (size_t i = 0; i < n; ++i) {
    const int32_t x = (is_signed ? (int8_t)bytes[i] : bytes[i]) - zero_point;
    results[i] = (uint8_t)fl_cadence_requantized(&ratio, x > 0 ? x : 0);
  }
  return FL_OK;
#endif
}

/* Returns the float of a byte. */
static float float_of(uint8_t byte, int is_signed, float scale, int32_t zero_point) {
  return (float)((is_signed ? (int8_t)byte : byte) - zero_point) * scale;
}

fl_status fl_cadence_add_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(x, 0);
  FL_TENSOR_ARGUMENT(y, 3);
  FL_TENSOR_ARGUMENT(out, 8);
  float scales[3];
  int32_t zero_points[3];
  FL_TRY(fl_cadence_types(context, x, y, out));
  FL_TRY(fl_cadence_read_scale(context, args, 1, x->dtype, &scales[0], &zero_points[0]));
  FL_TRY(fl_cadence_read_scale(context, args, 4, x->dtype, &scales[1], &zero_points[1]));
  FL_TRY(fl_cadence_read_scale(context, args, 6, x->dtype, &scales[2], &zero_points[2]));
  FL_CHECK(context, fl_same_sizes(x, y), "the operands must have one shape");
  FL_TRY(resize_like(context, x, out));
  FL_CHECK(context, fl_same_order(x, y), "the operands must be laid out alike");
  const uint8_t *const left = x->data, *const right = y->data;
  uint8_t *const results = out->data;
  const int is_signed = x->dtype == FL_INT8;
  const float inverse = 1.0f / scales[2], zero = (float)zero_points[2];
  const float low = (float)fl_cadence_low(x->dtype), high = low + 255;
  for (size_t i = 0, n = fl_numel(x); i < n; ++i) {
    const float a = float_of(left[i], is_signed, scales[0], zero_points[0]);
    const float b = float_of(right[i], is_signed, scales[1], zero_points[1]);
    results[i] = fl_cadence_quantized(a + b, inverse, zero, low, high);
  }
  return FL_OK;
}
