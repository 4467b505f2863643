/* Kernels that choose the scale and the zero point for the range of a tensor, or of each of its rows. */
#include <math.h>

#include "quantize.h"
#include "rows.h"
#include "choose_qparams.def"

/* Stores the smallest and the largest of 0 and n elements; NaN if one of them is NaN. */
static void range_of(const fl_tensor *t, size_t start, size_t n, float *low, float *high) {
  if (fl_is(t->dtype, FL_FLOAT32)) {
    *low = fl_row_min(n, (const float *)t->data + start, 0.0f);
    *high = fl_row_max(n, (const float *)t->data + start, 0.0f);
    return;
  }
  *low = *high = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float x = (float)fl_read_real(t->dtype, t->data, start + i);
    *low = x < *low || x != x ? x : *low;
    *high = x > *high || x != x ? x : *high;
  }
}

fl_status fl_choose_qparams_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_REAL_ARGUMENT(eps, 3);
  FL_TENSOR_ARGUMENT(scale_out, 5);
  FL_TENSOR_ARGUMENT(zero_point_out, 6);
  int64_t range[2];
  FL_TRY(fl_quantized_range(context, args, 1, FL_INT32, range));
  FL_CHECK(context, range[0] < range[1], "quant_min must be below quant_max");
  FL_CHECK(context, fl_is_float(input->dtype) && fl_numel(input) > 0, "the input must be of a floating type and not empty");
  FL_CHECK(context, fl_is_float(scale_out->dtype) && fl_is_integer(zero_point_out->dtype), "the scale must be of a floating type, the zero point an integer");
  FL_CHECK(context, fl_numel(scale_out) == 1 && fl_numel(zero_point_out) == 1, "scale and zero point must have one element");
  float low, high;
  range_of(input, 0, fl_numel(input), &low, &high);
  float scale = (high - low) / (float)(range[1] - range[0]);
  scale = scale < (float)eps ? (float)eps : scale;
  const int64_t zero = fl_wrap_sub(range[0], fl_i64_of_real((double)nearbyintf(low / scale)));
  fl_write_real(scale_out->dtype, scale_out->data, 0, (double)scale);
  fl_write_integer(zero_point_out->dtype, zero_point_out->data, 0, (uint64_t)(zero < range[0] ? range[0] : zero > range[1] ? range[1] : zero));
  return FL_OK;
}

fl_status fl_choose_qparams_per_token_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(scale_out, 2);
  FL_TENSOR_ARGUMENT(zero_point_out, 3);
  FL_CHECK(context, fl_is_float(input->dtype) && input->rank >= 1 && fl_is_contiguous(input), "the input must be contiguous and of a floating type");
  FL_CHECK(context, input->sizes[input->rank - 1] > 0, "the input's last dimension must not be empty");
  FL_CHECK(context, fl_is_float(scale_out->dtype) && fl_is_integer(zero_point_out->dtype), "the scale must be of a floating type, the zero point an integer");
  int32_t sizes[FL_MAX_RANK];
  memcpy(sizes, input->sizes, input->rank * sizeof(int32_t));
  sizes[input->rank - 1] = 1;
  FL_TRY(fl_resize(context, scale_out, sizes, input->rank));
  FL_TRY(fl_resize(context, zero_point_out, sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(scale_out) && fl_is_contiguous(zero_point_out), "the results must be contiguous");
  const size_t width = (size_t)input->sizes[input->rank - 1], rows = fl_numel(input) / width;
  for (size_t i = 0; i < rows; ++i) {
    float low, high;
    range_of(input, i * width, width, &low, &high);
    float scale = (high - low) / 255.0f;
    scale = scale < 0x1p-23f ? 0x1p-23f : scale;
    /* The zero point comes from the end of the range that leaves the smaller error. */
    float zero = -128.0f + low / scale + (127.0f + high / scale) > 0 ? -128.0f - low / scale : 127.0f - high / scale;
    zero = zero < -128.0f ? -128.0f : zero > 127.0f ? 127.0f : zero;
    fl_write_real(scale_out->dtype, scale_out->data, i, (double)scale);
    fl_write_integer(zero_point_out->dtype, zero_point_out->data, i, (uint64_t)fl_i64_of_real((double)nearbyintf(zero)));
  }
  return FL_OK;
}
