/* flambeau::quantized_linear and quantized_conv2d: layers of quantized numbers, computed in integers. */
#include "conv2d.h"
#include "integer_products.h"
#include "optional.h"
#include "quantized_depthwise.h"

/* Reads and checks the parameters and the three numbers from argument `at` on. */
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
  *to = (fl_requantization){data, data + channels, data + 2 * channels, (int32_t)numbers[0], (int32_t)numbers[1], (int32_t)numbers[2], 1};
  for (size_t c = 0; c < channels; ++c) {
    FL_CHECK(context, to->shift[c] >= 1 && to->shift[c] <= FL_MOST_SHIFT, "a shift must be from 1 to 61");
    to->is_narrow &= fl_is_narrow(to->shift[c]);
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
  fl_integer_product_run(context, &product, input->data, k, fl_rows_of(input), out->data, product.n);
  return FL_OK;
}

/* Returns the pixels of a block of a dense convolution, whose windows have k bytes. */
static size_t rows_of(size_t k) { return k <= 256 ? 4 * FL_QUAD_ROWS : FL_QUAD_ROWS; }

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
  return groups == 1 ? FL_TAKEN(uint8_t, rows_of(taps * c.channels) * fl_quads(taps * c.channels) * FL_QUAD)
                     : fl_quantized_depthwise_scratch_size(&c);
}

/* Copies bytes as memcpy does, without a call, because a row of the first layer's window has few bytes. */
static void copy_bytes(uint8_t *to, const uint8_t *from, size_t count) {
  if (count > 16) {
    memcpy(to, from, count);
  } else if (count >= 8) {
    memcpy(to, from, 8);
    memcpy(to + count - 8, from + count - 8, 8);
  } else if (count >= 4) {
    memcpy(to, from, 4);
    memcpy(to + count - 4, from + count - 4, 4);
  } else {
    for (size_t i = 0; i < count; ++i) {
      to[i] = from[i];
    }
  }
}

/* Copies the pixels under the kernel at one output pixel to contiguous memory, with `zero` for pixels outside of the image. */
static void copy_window(const fl_conv2d *c, const uint8_t *image, size_t y, size_t x, uint8_t zero, uint8_t *to) {
  const int64_t left = (int64_t)(x * c->stride_width) - (int64_t)c->padding_width, width = (int64_t)c->width;
  const size_t bytes = c->kernel_width * c->channels;
  const int is_whole = left >= 0 && left + (int64_t)c->kernel_width <= width;
  for (size_t i = 0; i < c->kernel_height; ++i, to += bytes) {
    const int64_t row = (int64_t)(y * c->stride_height + i * c->dilation_height) - (int64_t)c->padding_height;
    const uint8_t *const line = image + (size_t)row * c->width * c->channels;
    if (row < 0 || row >= (int64_t)c->height) {
      memset(to, zero, bytes);
    } else if (c->dilation_width == 1 && is_whole) {
      copy_bytes(to, line + (size_t)left * c->channels, bytes);
    } else {
      for (size_t j = 0; j < c->kernel_width; ++j) {
        const int64_t column = left + (int64_t)(j * c->dilation_width);
        if (column >= 0 && column < width) {
          copy_bytes(to + j * c->channels, line + (size_t)column * c->channels, c->channels);
        } else {
          memset(to + j * c->channels, zero, c->channels);
        }
      }
    }
  }
}

/* Computes a part of a dense convolution. Windows are filled up to whole quads, for which the packed weight is 0. */
static void run_dense(const void *work, size_t piece, void *scratch) {
  const fl_quantized_convolution *const w = work;
  const fl_conv2d *const c = w->c;
  const fl_range blocks = fl_range_of(c->batch * w->blocks, w->pieces, piece);
  fl_integer_product filled = *w->product;
  filled.k = fl_quads(filled.k) * FL_QUAD;
  memset(scratch, 0, w->rows * filled.k);
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const size_t n = block / w->blocks, at = block % w->blocks * w->rows, rows = w->pixels - at < w->rows ? w->pixels - at : w->rows;
    const uint8_t *const image = w->input + n * c->height * c->width * c->channels;
    for (size_t r = 0, y = at / c->out_width, x = at % c->out_width; r < rows; ++r) {
      copy_window(c, image, y, x, w->zero, (uint8_t *)scratch + r * filled.k);
      if (++x == c->out_width) {
        x = 0;
        ++y;
      }
    }
    fl_integer_product_rows(&filled, scratch, filled.k, rows, w->out + (n * w->pixels + at) * filled.n, filled.n);
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
  fl_quantized_convolution work = {.c = &c, .product = &product, .input = input->data, .zero = (uint8_t)zero, .out = out->data, .pixels = c.out_height * c.out_width};
  if (groups == 1 && fl_conv2d_is_product(&c)) {
    fl_integer_product_run(context, &product, work.input, k, c.batch * work.pixels, work.out, product.n);
    return FL_OK;
  }
  FL_CHECK(context, context->scratch_size >= fl_quantized_conv2d_scratch(args, count), "the kernel was given too little scratch memory");
  work.rows = groups == 1 ? rows_of(k) : FL_QUAD_ROWS;
  work.blocks = (work.pixels + work.rows - 1) / work.rows;
  const size_t blocks = c.batch * work.blocks, operations = c.batch * work.pixels * c.out_channels * k / FL_PANEL, wanted = fl_pieces(context, operations);
  work.pieces = blocks < wanted ? blocks : wanted;
  if (groups != 1) {
    FL_TRY(fl_prepare_quantized_depthwise(context, &work));
  }
  fl_divide(context, work.pieces, operations, groups == 1 ? run_dense : fl_quantized_depthwise_piece, &work);
  return FL_OK;
}
