/* flambeau::quantized_linear and quantized_conv2d: layers of quantized numbers, computed in integers. */
#include "conv2d.h"
#include "integer_products.h"
#include "optional.h"

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
  return groups == 1 ? FL_TAKEN(uint8_t, FL_QUAD_ROWS * fl_quads(taps * c.channels) * FL_QUAD)
                     : FL_TAKEN(uint8_t, c.channels) + FL_TAKEN(uint8_t *, FL_QUAD_ROWS * taps);
}

/* Copies bytes as memcpy does, without a call, because a row of the first layer's window has few bytes. */
FL_INLINE void copy_bytes(uint8_t *to, const uint8_t *from, size_t count) {
  if (count >= 8 && count <= 16) {
    memcpy(to, from, 8);
    memcpy(to + count - 8, from + count - 8, 8);
  } else {
    memcpy(to, from, count);
  }
}

/* Copies the pixels under the kernel at one output pixel to contiguous memory, with `zero` for pixels outside of the image. */
static void copy_window(const fl_conv2d *c, const uint8_t *image, size_t y, size_t x, uint8_t zero, uint8_t *to) {
  const int64_t left = (int64_t)(x * c->stride_width) - (int64_t)c->padding_width;
  const size_t bytes = c->kernel_width * c->channels;
  const int whole = c->dilation_width == 1 && left >= 0 && left + (int64_t)c->kernel_width <= (int64_t)c->width;
  for (size_t i = 0; i < c->kernel_height; ++i, to += bytes) {
    const int64_t row = (int64_t)(y * c->stride_height + i * c->dilation_height) - (int64_t)c->padding_height;
    if (row < 0 || row >= (int64_t)c->height) {
      memset(to, zero, bytes);
      continue;
    }
    const uint8_t *const line = image + (size_t)row * c->width * c->channels;
    if (whole) {
      copy_bytes(to, line + (size_t)left * c->channels, bytes);
      continue;
    }
    for (size_t j = 0; j < c->kernel_width; ++j) {
      const int64_t column = left + (int64_t)(j * c->dilation_width);
      if (column >= 0 && column < (int64_t)c->width) {
        memcpy(to + j * c->channels, line + (size_t)column * c->channels, c->channels);
      } else {
        memset(to + j * c->channels, zero, c->channels);
      }
    }
  }
}

/* A convolution in blocks of FL_QUAD_ROWS pixels of an image, some of them in each piece. */
typedef struct convolution {
  const fl_conv2d *c;
  const fl_integer_product *product;
  const uint8_t *input;
  uint8_t zero;
  uint8_t *out;
  size_t pixels, blocks, pieces; /* pixels of an image, blocks of one, and pieces of all */
} convolution;

/* Computes a part of a dense convolution. Windows are filled up to whole quads, for which the packed weight is 0. */
static void run_dense(const void *work, size_t piece, void *scratch) {
  const convolution *const w = work;
  const fl_conv2d *const c = w->c;
  const fl_range blocks = fl_range_of(c->batch * w->blocks, w->pieces, piece);
  fl_integer_product filled = *w->product;
  filled.k = fl_quads(filled.k) * FL_QUAD;
  memset(scratch, 0, FL_QUAD_ROWS * filled.k);
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const size_t n = block / w->blocks, at = block % w->blocks * FL_QUAD_ROWS, rows = w->pixels - at < FL_QUAD_ROWS ? w->pixels - at : FL_QUAD_ROWS;
    const uint8_t *const image = w->input + n * c->height * c->width * c->channels;
    for (size_t r = 0; r < rows; ++r) {
      copy_window(c, image, (at + r) / c->out_width, (at + r) % c->out_width, w->zero, (uint8_t *)scratch + r * filled.k);
    }
    fl_integer_product_run(NULL, &filled, scratch, filled.k, rows, w->out + (n * w->pixels + at) * filled.n, filled.n);
  }
}

#if defined(__AVX2__)
/* Returns FL_PANEL bytes as 16-bit numbers. */
FL_INLINE __m256i widened(const void *bytes, const int is_signed) {
  const __m128i loaded = _mm_loadu_si128(bytes);
  return is_signed ? _mm256_cvtepi8_epi16(loaded) : _mm256_cvtepu8_epi16(loaded);
}

/* Returns `sums` plus the products of pairs of 16-bit numbers. */
FL_INLINE __m256i add_pairs(__m256i sums, __m256i a, __m256i b) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  return _mm256_dpwssd_epi32(sums, a, b);
#else
  return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
#endif
}
#endif

/* Stores the sums of products over k taps of `rows` pixels, for FL_PANEL channels from `first` on. rows and is_signed are constants when inlined. */
FL_INLINE void sum_taps(const uint8_t *const *taps, const int8_t *weight, size_t channels, size_t k, size_t first, const size_t rows,
                        const int is_signed, int32_t (*sums)[FL_PANEL]) {
#if defined(__AVX2__)
  /* Adds the products of two taps at a time in 32 bits. Interleaving changes the order of the channels, which is restored at the end. */
  __m256i low[FL_QUAD_ROWS], high[FL_QUAD_ROWS];
  FL_UNROLL for (size_t r = 0; r < rows; ++r) { low[r] = high[r] = _mm256_setzero_si256(); }
  for (size_t tap = 0; tap < k; tap += 2) {
    const int is_pair = tap + 1 < k;
    const __m256i w = widened(weight + tap * channels + first, 1);
    const __m256i next = is_pair ? widened(weight + (tap + 1) * channels + first, 1) : _mm256_setzero_si256();
    const __m256i low_factors = _mm256_unpacklo_epi16(w, next), high_factors = _mm256_unpackhi_epi16(w, next);
    FL_UNROLL for (size_t r = 0; r < rows; ++r) {
      const uint8_t *const *const at = taps + r * k + tap;
      const __m256i x = widened(at[0] + first, is_signed), y = widened(at[is_pair] + first, is_signed);
      low[r] = add_pairs(low[r], _mm256_unpacklo_epi16(x, y), low_factors);
      high[r] = add_pairs(high[r], _mm256_unpackhi_epi16(x, y), high_factors);
    }
  }
  FL_UNROLL for (size_t r = 0; r < rows; ++r) {
    _mm256_storeu_si256((void *)sums[r], _mm256_permute2x128_si256(low[r], high[r], 0x20));
    _mm256_storeu_si256((void *)(sums[r] + 8), _mm256_permute2x128_si256(low[r], high[r], 0x31));
  }
#else
  for (size_t r = 0; r < rows; ++r) {
    int32_t totals[FL_PANEL] = {0};
    for (size_t tap = 0; tap < k; ++tap) {
      const uint8_t *const x = taps[r * k + tap] + first;
      const int8_t *const w = weight + tap * channels + first;
      for (size_t i = 0; i < FL_PANEL; ++i) {
        totals[i] += (is_signed ? (int32_t)(int8_t)x[i] : (int32_t)x[i]) * w[i];
      }
    }
    memcpy(sums[r], totals, sizeof totals);
  }
#endif
}

FL_INLINE void run_taps(const fl_integer_product *product, const uint8_t *const *taps, size_t rows, const int is_signed, uint8_t *out) {
  const size_t channels = product->n, k = product->k;
  for (size_t first = 0; first < channels; first += FL_PANEL) {
    const size_t count = channels - first < FL_PANEL ? channels - first : FL_PANEL;
    int32_t sums[FL_QUAD_ROWS][FL_PANEL] = {{0}};
    if (count < FL_PANEL) {
      for (size_t i = 0; i < rows * k; ++i) {
        for (size_t j = 0; j < count; ++j) {
          const uint8_t byte = taps[i][first + j];
          sums[i / k][j] += (is_signed ? (int32_t)(int8_t)byte : (int32_t)byte) * product->weight[i % k * channels + first + j];
        }
      }
    } else if (rows == FL_QUAD_ROWS) {
      sum_taps(taps, product->weight, channels, k, first, FL_QUAD_ROWS, is_signed, sums);
    } else {
      for (size_t r = 0; r < rows; ++r) {
        sum_taps(taps + r * k, product->weight, channels, k, first, 1, is_signed, sums + r);
      }
    }
    fl_requantize(&product->to, sums, rows, first, count, out + first, channels);
  }
}

/* Computes a part of a depthwise convolution. In its scratch memory are a pixel outside of the image, and room for FL_QUAD_ROWS pointers for each place of
 * the kernel. */
static void run_depthwise(const void *work, size_t piece, void *scratch) {
  const convolution *const w = work;
  const fl_conv2d *const c = w->c;
  const fl_range blocks = fl_range_of(c->batch * w->blocks, w->pieces, piece);
  uint8_t *const zeros = scratch;
  const uint8_t **const taps = (const uint8_t **)(void *)(zeros + FL_TAKEN(uint8_t, c->channels));
  memset(zeros, w->zero, c->channels);
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const size_t n = block / w->blocks, at = block % w->blocks * FL_QUAD_ROWS, rows = w->pixels - at < FL_QUAD_ROWS ? w->pixels - at : FL_QUAD_ROWS;
    const uint8_t *const input = w->input + n * c->height * c->width * c->channels;
    const uint8_t **tap = taps;
    for (size_t r = 0; r < rows; ++r) {
      const size_t y = (at + r) / c->out_width, x = (at + r) % c->out_width;
      const int64_t left = (int64_t)(x * c->stride_width) - (int64_t)c->padding_width;
      const int is_within = left >= 0 && left + (int64_t)((c->kernel_width - 1) * c->dilation_width) < (int64_t)c->width;
      for (size_t i = 0; i < c->kernel_height; ++i) {
        const int64_t row = (int64_t)(y * c->stride_height + i * c->dilation_height) - (int64_t)c->padding_height;
        const int is_inside = row >= 0 && row < (int64_t)c->height;
        const uint8_t *pixel = is_inside && is_within ? input + ((size_t)row * c->width + (size_t)left) * c->channels : zeros;
        for (size_t j = 0; is_within && j < c->kernel_width; ++j, pixel += is_inside ? c->dilation_width * c->channels : 0) {
          *tap++ = pixel;
        }
        for (size_t j = 0; !is_within && j < c->kernel_width; ++j) {
          const int64_t column = left + (int64_t)(j * c->dilation_width);
          const int is_pixel = is_inside && column >= 0 && column < (int64_t)c->width;
          *tap++ = is_pixel ? input + ((size_t)row * c->width + (size_t)column) * c->channels : zeros;
        }
      }
    }
    uint8_t *const out = w->out + (n * w->pixels + at) * c->channels;
    if (w->product->is_signed) {
      run_taps(w->product, taps, rows, 1, out);
    } else {
      run_taps(w->product, taps, rows, 0, out);
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
  convolution work = {.c = &c, .product = &product, .input = input->data, .zero = (uint8_t)zero, .out = out->data, .pixels = c.out_height * c.out_width};
  if (groups == 1 && fl_conv2d_is_product(&c)) {
    fl_integer_product_run(context, &product, work.input, k, c.batch * work.pixels, work.out, product.n);
    return FL_OK;
  }
  FL_CHECK(context, context->scratch_size >= fl_quantized_conv2d_scratch(args, count), "the kernel was given too little scratch memory");
  work.blocks = (work.pixels + FL_QUAD_ROWS - 1) / FL_QUAD_ROWS;
  const size_t blocks = c.batch * work.blocks, operations = c.batch * work.pixels * c.out_channels * k / FL_PANEL, wanted = fl_pieces(context, operations);
  work.pieces = blocks < wanted ? blocks : wanted;
  fl_divide(context, work.pieces, operations, groups == 1 ? run_dense : run_depthwise, &work);
  return FL_OK;
}
