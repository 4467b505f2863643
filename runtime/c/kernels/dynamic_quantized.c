/* flambeau::dynamic_quantized_linear: the product of integers, with scales that the run has chosen, and constant integers, as floats. */
#include "integer_products.h"
#include "loops.h"
#include "optional.h"
#include "dynamic_quantized.def"

typedef struct layer {
  fl_integer_product product;
  const fl_tensor *scale, *zero; /* of the rows: one for all, or one for each */
  const int32_t *weight_sums;
  const float *scales, *bias;
  float *out;
} layer;

/* Converts the sums of a tile to floats, and stores them. */
static void take_floats(const void *taker, int32_t (*sums)[FL_PANEL], size_t row, size_t rows, size_t first, size_t columns) {
  const layer *const l = taker;
  for (size_t r = 0; r < rows; ++r) {
    const float scale = (float)fl_read_real(l->scale->dtype, l->scale->data, fl_numel(l->scale) == 1 ? 0 : row + r);
    const uint32_t zero = (uint32_t)fl_read_integer(l->zero->dtype, l->zero->data, fl_numel(l->zero) == 1 ? 0 : row + r);
    float *const out = l->out + (row + r) * l->product.n + first;
    for (size_t j = 0; j < columns; ++j) {
      const size_t c = first + j;
      const float product = (float)(int32_t)((uint32_t)sums[r][j] - zero * (uint32_t)l->weight_sums[c]) * scale * l->scales[c];
      out[j] = l->bias ? product + l->bias[c] : product;
    }
  }
}

static int is_vector(const fl_tensor *t, int dtype, int64_t size) {
  return t->dtype == dtype && t->rank == 1 && t->sizes[0] == size && fl_is_contiguous(t);
}

fl_status fl_dynamic_quantized_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(scale, 1);
  FL_TENSOR_ARGUMENT(zero, 2);
  FL_TENSOR_ARGUMENT(weight, 3);
  FL_TENSOR_ARGUMENT(weight_sums, 4);
  FL_TENSOR_ARGUMENT(scales, 5);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 6);
  FL_INT_ARGUMENT(features, 7);
  FL_TENSOR_ARGUMENT(out, 8);
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && weight->dtype == FL_INT8 && out->dtype == FL_FLOAT32,
           "the input must be of int8 or uint8, the weight of int8, the result of float32");
  FL_CHECK(context, input->rank >= 1 && fl_is_contiguous(input), "the input must be contiguous and have a dimension");
  const size_t k = (size_t)input->sizes[input->rank - 1], rows = fl_rows_of(input);
  FL_CHECK(context, features >= 0 && features <= INT32_MAX && fl_is_packed_integers(weight, (size_t)features, k),
           "the weight must be packed: [ceil(out_features / 16), ceil(k / 4), 16, 4], with k at most 65536");
  FL_CHECK(context, fl_is_float(scale->dtype) && fl_is_integer(zero->dtype), "the input's scale must be a float, its zero point an integer");
  FL_CHECK(context, (fl_numel(scale) == 1 || fl_numel(scale) == rows) && (fl_numel(zero) == 1 || fl_numel(zero) == rows) &&
                        fl_is_contiguous(scale) && fl_is_contiguous(zero),
           "the input must have one scale and zero point, or one for each row");
  FL_CHECK(context, is_vector(scales, FL_FLOAT32, features) && is_vector(weight_sums, FL_INT32, features) &&
                        (!bias || is_vector(bias, FL_FLOAT32, features)),
           "scales, sums and bias must have one value for each output feature");
  FL_TRY(fl_resize_features(context, out, input, features));
  const layer l = {{(size_t)features, k, weight->data, input->dtype == FL_INT8, {0}}, scale,        zero,
                   weight_sums->data, scales->data, bias ? bias->data : NULL, out->data};
  fl_integer_product_sums(&l.product, input->data, k, rows, take_floats, &l);
  return FL_OK;
}
