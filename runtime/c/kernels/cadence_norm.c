/* Layer norm of ExecuTorch's runtime for Cadence's DSPs, on quantized numbers. */
#include "cadence.h"
#include "cadence_norm.def"

#define MOST_NUMBERS 1048576

fl_status fl_cadence_layer_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_INTS_ARGUMENT(shape, rank, 3);
  FL_TENSOR_ARGUMENT(weight, 4);
  FL_TENSOR_ARGUMENT(bias, 5);
  FL_REAL_ARGUMENT(eps, 6);
  FL_TENSOR_ARGUMENT(out, 9);
  float scale, out_scale;
  double wide_scale = 0;
  int32_t zero_point, out_zero_point;
  FL_TRY(fl_cadence_types(context, input, input, out));
  FL_TRY(fl_cadence_read_scale(context, args, 1, input->dtype, &scale, &zero_point));
  FL_TRY(fl_cadence_read_scale(context, args, 7, input->dtype, &out_scale, &out_zero_point));
  (void)fl_get_real(args[1], &wide_scale);
  FL_CHECK(context, eps > 0 && eps <= 1, "eps must be above 0, and at most 1");
  size_t n = 1;
  int fits = rank >= 1 && rank <= input->rank && weight->rank == rank && fl_same_sizes(weight, bias);
  for (uint32_t i = 0; fits && i < rank; ++i) {
    const int32_t size = input->sizes[input->rank - rank + i];
    fits = shape[i] == size && weight->sizes[i] == size && n <= MOST_NUMBERS;
    n *= (size_t)size;
  }
  FL_CHECK(context, fits && n > 0 && n <= MOST_NUMBERS && weight->dtype == FL_FLOAT32 && bias->dtype == FL_FLOAT32,
           "normalized_shape must be the last sizes of the input, at most 1048576 numbers, and the weight and the bias be float32 of this shape");
  FL_CHECK(context, fl_is_contiguous(input) && fl_is_contiguous(weight) && fl_is_contiguous(bias), "the operands must be contiguous");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  const int is_signed = input->dtype == FL_INT8;
  const float *const factors = weight->data, *const addends = bias->data;
  const float inverse = 1.0f / out_scale, zero = (float)out_zero_point, low = (float)fl_cadence_low(input->dtype), high = low + 255;
  const uint8_t *x = input->data;
  uint8_t *y = out->data;
  for (size_t row = fl_numel(input) / n; row > 0; --row, x += n, y += n) {
    int64_t sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) {
      const int32_t number = (is_signed ? (int8_t)x[i] : x[i]) - zero_point;
      sum += number;
      squares += number * number;
    }
    /* A statement for each step: so numpy computes it too. */
    const double count_of = (double)n;
    double variance = (double)((int64_t)n * squares - sum * sum) / (count_of * count_of);
    variance = variance * wide_scale;
    variance = variance * wide_scale;
    variance = variance + eps;
    const float mean = (float)((double)sum / count_of), factor = (float)(wide_scale / sqrt(variance));
    for (size_t i = 0; i < n; ++i) {
      const float centred = (float)((is_signed ? (int8_t)x[i] : x[i]) - zero_point) - mean;
      float value = centred * factor;
      value = value * factors[i];
      value = value + addends[i];
      y[i] = fl_cadence_quantized(value, inverse, zero, low, high);
    }
  }
  return FL_OK;
}
