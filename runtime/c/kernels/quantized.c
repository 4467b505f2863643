/* flambeau::quantized_linear, quantized_conv2d and quantized_add: quantized numbers, in integers. */
#include "conv2d.h"
#include "integer_products.h"
#include "optional.h"

#define MOST_SHIFT 61

/* Checks `parameters` and the three numbers from argument `at` on. */
static fl_status read_requantization(fl_context *context, fl_value *const *args, int at, const fl_tensor *input, size_t channels,
                                     fl_requantization *to) {
  FL_TENSOR_ARGUMENT(parameters, 2);
  FL_CHECK(context, parameters->dtype == FL_INT32 && parameters->rank == 2 && parameters->sizes[0] == 3 &&
                        (size_t)parameters->sizes[1] == channels && fl_is_contiguous(parameters),
           "the parameters must be bias, multiplier and shift of each channel, in int32");
  int64_t numbers[3];
  const int64_t least = input->dtype == FL_INT8 ? -128 : 0;
  for (int i = 0; i < 3; ++i) {
    FL_CHECK(context, fl_get_int(args[at + i], &numbers[i]) && numbers[i] >= least && numbers[i] <= least + 255,
             "zero_point, low and high must be numbers of the input's type");
  }
  FL_CHECK(context, numbers[1] <= numbers[2], "low must not be above high");
  const int32_t *const data = parameters->data;
  *to = (fl_requantization){data, data + channels, data + 2 * channels, (int32_t)numbers[0], (int32_t)numbers[1], (int32_t)numbers[2]};
  for (size_t c = 0; c < channels; ++c) {
    FL_CHECK(context, to->shift[c] >= 1 && to->shift[c] <= MOST_SHIFT, "a shift must be from 1 to 61");
  }
  return FL_OK;
}

static fl_status check_types(fl_context *context, const fl_tensor *input, const fl_tensor *weight, const fl_tensor *out) {
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && input->dtype == out->dtype && weight->dtype == FL_INT8,
           "the input and the result must be of int8 or uint8, both of one, and the weight of int8");
  FL_CHECK(context, fl_is_contiguous(weight), "the weight must be contiguous");
  return FL_OK;
}

fl_status fl_quantized_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_INT_ARGUMENT(features, 3);
  FL_TENSOR_ARGUMENT(out, 7);
  FL_TRY(check_types(context, input, weight, out));
  FL_CHECK(context, input->rank >= 1 && fl_is_contiguous(input), "the input must be contiguous and have a dimension");
  const size_t k = (size_t)input->sizes[input->rank - 1];
  FL_CHECK(context, features >= 0 && features <= INT32_MAX && fl_is_packed_integers(weight, (size_t)features, k),
           "the weight must be packed: [ceil(out_features / 16), ceil(k / 4), 16, 4], with k at most 65536");
  fl_integer_product product = {(size_t)features, k, weight->data, input->dtype == FL_INT8, {0}};
  FL_TRY(read_requantization(context, args, 4, input, product.n, &product.to));
  FL_TRY(fl_resize_features(context, out, input, features));
  fl_integer_product_run(&product, input->data, k, fl_rows_of(input), out->data, product.n);
  return FL_OK;
}

size_t fl_quantized_conv2d_scratch(fl_value *const *args, size_t count) {
  fl_context context = {0};
  fl_conv2d c;
  int64_t groups;
  (void)count;
  if (fl_conv2d_read(&context, args, 3, &c, &groups) != FL_OK || c.kernel_height > FL_MOST_PRODUCTS || c.kernel_width > FL_MOST_PRODUCTS) {
    return 0;
  }
  const size_t taps = c.kernel_height * c.kernel_width;
  if (taps > FL_MOST_PRODUCTS || (groups == 1 && (fl_conv2d_is_product(&c) || c.channels > FL_MOST_PRODUCTS || taps * c.channels > FL_MOST_PRODUCTS))) {
    return 0;
  }
  return groups == 1 ? FL_TAKEN(uint8_t, FL_QUAD_ROWS * taps * c.channels) : FL_TAKEN(uint8_t, c.channels) + FL_TAKEN(uint8_t *, 2 * taps);
}

/* The pixels under the kernel at one place of the output, side by side; `zero` where there is no image. */
static void copy_window(const fl_conv2d *c, const uint8_t *image, size_t y, size_t x, uint8_t zero, uint8_t *to) {
  for (size_t i = 0; i < c->kernel_height; ++i) {
    const int64_t row = (int64_t)(y * c->stride_height + i * c->dilation_height) - (int64_t)c->padding_height;
    for (size_t j = 0; j < c->kernel_width; ++j, to += c->channels) {
      const int64_t column = (int64_t)(x * c->stride_width + j * c->dilation_width) - (int64_t)c->padding_width;
      if (row >= 0 && row < (int64_t)c->height && column >= 0 && column < (int64_t)c->width) {
        memcpy(to, image + ((size_t)row * c->width + (size_t)column) * c->channels, c->channels);
      } else {
        memset(to, zero, c->channels);
      }
    }
  }
}

static void run_dense(const fl_conv2d *c, const fl_integer_product *product, const uint8_t *input, uint8_t zero, uint8_t *window, uint8_t *out) {
  const size_t pixels = c->out_height * c->out_width;
  if (fl_conv2d_is_product(c)) {
    fl_integer_product_run(product, input, product->k, c->batch * pixels, out, product->n);
    return;
  }
  for (size_t n = 0; n < c->batch; ++n, input += c->height * c->width * c->channels) {
    for (size_t at = 0; at < pixels; at += FL_QUAD_ROWS) {
      const size_t rows = pixels - at < FL_QUAD_ROWS ? pixels - at : FL_QUAD_ROWS;
      for (size_t r = 0; r < rows; ++r) {
        copy_window(c, input, (at + r) / c->out_width, (at + r) % c->out_width, zero, window + r * product->k);
      }
      fl_integer_product_run(product, window, product->k, rows, out + (n * pixels + at) * product->n, product->n);
    }
  }
}

/* FL_PANEL channels at a time: their sums of products over the taps; `type` is that of the bytes. */
#define DEFINE_TAPS(name, type)                                                                                  \
  static void name(const uint8_t *const *taps, const int8_t *weight, size_t channels, size_t k, int32_t *sums) { \
    int32_t totals[FL_PANEL] = {0};                                                                              \
    for (size_t tap = 0; tap < k; ++tap, weight += channels) {                                                   \
      const type *const x = (const void *)taps[tap];                                                             \
      for (size_t i = 0; i < FL_PANEL; ++i) {                                                                    \
        totals[i] += x[i] * weight[i];                                                                           \
      }                                                                                                          \
    }                                                                                                            \
    memcpy(sums, totals, sizeof totals);                                                                         \
  }
DEFINE_TAPS(signed_taps, int8_t)
DEFINE_TAPS(unsigned_taps, uint8_t)

/* `zeros` is a pixel outside the image; `taps` has room for a pointer for each place of the kernel, twice. */
static void run_depthwise(const fl_conv2d *c, const fl_integer_product *product, const uint8_t *input, const uint8_t *zeros,
                          const uint8_t **taps, uint8_t *out) {
  const uint8_t **const at = taps + product->k;
  for (size_t n = 0; n < c->batch; ++n, input += c->height * c->width * c->channels) {
    for (size_t pixel = 0; pixel < c->out_height * c->out_width; ++pixel, out += c->channels) {
      const size_t y = pixel / c->out_width, x = pixel % c->out_width;
      for (size_t tap = 0; tap < product->k; ++tap) {
        const int64_t row = (int64_t)(y * c->stride_height + tap / c->kernel_width * c->dilation_height) - (int64_t)c->padding_height;
        const int64_t column = (int64_t)(x * c->stride_width + tap % c->kernel_width * c->dilation_width) - (int64_t)c->padding_width;
        const int inside = row >= 0 && row < (int64_t)c->height && column >= 0 && column < (int64_t)c->width;
        taps[tap] = inside ? input + ((size_t)row * c->width + (size_t)column) * c->channels : zeros;
      }
      size_t first = 0;
      for (int32_t sums[FL_PANEL]; first + FL_PANEL <= c->channels; first += FL_PANEL) {
        for (size_t tap = 0; tap < product->k; ++tap) {
          at[tap] = taps[tap] + first;
        }
        (product->is_signed ? signed_taps : unsigned_taps)(at, product->weight + first, c->channels, product->k, sums);
        fl_requantize(&product->to, sums, first, FL_PANEL, out + first);
      }
      for (; first < c->channels; ++first) {
        int32_t sum = 0;
        for (size_t tap = 0; tap < product->k; ++tap) {
          const uint8_t byte = taps[tap][first];
          sum += (product->is_signed ? (int32_t)(int8_t)byte : (int32_t)byte) * product->weight[tap * c->channels + first];
        }
        fl_requantize(&product->to, &sum, first, 1, out + first);
      }
    }
  }
}

fl_status fl_quantized_conv2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_INT_ARGUMENT(zero, 9);
  FL_TENSOR_ARGUMENT(out, 13);
  fl_conv2d c;
  int64_t groups;
  FL_TRY(fl_conv2d_read(context, args, 3, &c, &groups));
  FL_TRY(check_types(context, input, weight, out));
  FL_CHECK(context, fl_is_channels_last(input), "the input must be stored channels last");
  const int64_t least = input->dtype == FL_INT8 ? -128 : 0;
  FL_CHECK(context, zero >= least && zero <= least + 255, "input_zero_point must be a number of the input's type");
  FL_CHECK(context, c.kernel_height <= FL_MOST_PRODUCTS && c.kernel_width <= FL_MOST_PRODUCTS && c.kernel_height * c.kernel_width <= FL_MOST_PRODUCTS,
           "a sum can have 65536 products");
  const size_t taps = c.kernel_height * c.kernel_width, k = groups == 1 ? taps * c.channels : taps;
  if (groups == 1) {
    FL_CHECK(context, fl_is_packed_integers(weight, c.out_channels, k),
             "the weight must be packed: [ceil(out_channels / 16), ceil(k / 4), 16, 4], with k = kernel height x width x channels, at most 65536");
  } else {
    FL_CHECK(context, groups > 0 && (size_t)groups == c.channels && c.channels == c.out_channels,
             "only one group, or one group for each channel, is supported");
    FL_CHECK(context, weight->rank == 2 && (size_t)weight->sizes[0] == taps && (size_t)weight->sizes[1] == c.channels,
             "a depthwise weight must be packed: [kernel height x width, channels]");
  }
  fl_integer_product product = {c.out_channels, k, weight->data, input->dtype == FL_INT8, {0}};
  FL_TRY(read_requantization(context, args, 10, input, c.out_channels, &product.to));
  const int32_t sizes[4] = {(int32_t)c.batch, (int32_t)c.out_channels, (int32_t)c.out_height, (int32_t)c.out_width};
  FL_TRY(fl_resize(context, out, sizes, 4));
  FL_CHECK(context, fl_is_channels_last(out), "the result must be stored channels last");
  if (groups == 1) {
    const size_t size = fl_conv2d_is_product(&c) ? 0 : FL_QUAD_ROWS * k;
    FL_TAKE(uint8_t, window, size);
    run_dense(&c, &product, input->data, (uint8_t)zero, window, out->data);
  } else {
    FL_TAKE(uint8_t, zeros, c.channels);
    FL_TAKE(const uint8_t *, pointers, 2 * taps);
    memset(zeros, (uint8_t)zero, c.channels);
    run_depthwise(&c, &product, input->data, zeros, pointers, out->data);
  }
  return FL_OK;
}

#define MOST_MULTIPLIER (1 << 21)
#define MOST_SUM_SHIFT 30

/* Numbers of argument 2 on. */
typedef struct sum {
  int32_t left, right, shift, left_zero, right_zero, zero, low, high;
} sum;

#define DEFINE_ADD(name, type)                                                                          \
  static void name(const sum *s, const type *left, const type *right, size_t n, type *out) {            \
    const int32_t half = (int32_t)1 << (s->shift - 1);                                                   \
    FL_INDEPENDENT for (size_t i = 0; i < n; ++i) {                                                      \
      const int32_t total = (left[i] - s->left_zero) * s->left + (right[i] - s->right_zero) * s->right; \
      const int32_t value = ((total + half) >> s->shift) + s->zero;                                      \
      out[i] = (type)(value < s->low ? s->low : value > s->high ? s->high : value);                      \
    }                                                                                                    \
  }
DEFINE_ADD(add_int8, int8_t)
DEFINE_ADD(add_uint8, uint8_t)

fl_status fl_fixed_point_add_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(other, 1);
  FL_TENSOR_ARGUMENT(out, 10);
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && input->dtype == other->dtype && input->dtype == out->dtype,
           "the operands and the result must be of int8 or uint8, all of one");
  int64_t numbers[8];
  const int64_t least = input->dtype == FL_INT8 ? -128 : 0;
  for (int i = 0; i < 8; ++i) {
    FL_CHECK(context, fl_get_int(args[2 + i], &numbers[i]), "multipliers, shift, zero points, low and high must be integers");
    FL_CHECK(context, i < 3 || (numbers[i] >= least && numbers[i] <= least + 255), "zero points, low and high must be numbers of the operands' type");
  }
  FL_CHECK(context, numbers[0] >= 0 && numbers[0] <= MOST_MULTIPLIER && numbers[1] >= 0 && numbers[1] <= MOST_MULTIPLIER,
           "a multiplier must be from 0 to 2097152");
  FL_CHECK(context, numbers[2] >= 1 && numbers[2] <= MOST_SUM_SHIFT && numbers[6] <= numbers[7], "the shift must be from 1 to 30, and low at most high");
  FL_CHECK(context, fl_same_sizes(input, other), "the operands must have one shape");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out) && fl_same_order(other, out), "the operands and the result must be laid out alike");
  const sum s = {(int32_t)numbers[0], (int32_t)numbers[1], (int32_t)numbers[2], (int32_t)numbers[3],
                 (int32_t)numbers[4], (int32_t)numbers[5], (int32_t)numbers[6], (int32_t)numbers[7]};
  if (input->dtype == FL_INT8) {
    add_int8(&s, input->data, other->data, fl_numel(input), out->data);
  } else {
    add_uint8(&s, input->data, other->data, fl_numel(input), out->data);
  }
  return FL_OK;
}
