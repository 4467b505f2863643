/* Depthwise convolution of 8-bit integers: sums of products over the places of the kernel, for each channel. */
#include "quantized_depthwise.h"

#include "scratch.h"

/* The pointers to pixels for one pixel of the result: one for each place of the kernel, filled up to whole quads. */
static size_t steps_of(size_t k) { return fl_quads(k) * FL_QUAD; }

#if defined(FL_QUAD_VECTOR)

/* The bytes of a vector. A block of channels takes 64, 32 or 16 of them for each pixel, so that one vector has 1, 2 or 4 pixels. */
#define BYTES 64

/* A block of channels. Four places of the kernel are interleaved by unpacking their bytes, which gives four vectors of quads: vector j has the
 * quads of bytes 16 l + 4 j to 16 l + 4 j + 3 in its lane l. Weights and parameters have the same order, and packing restores it. */
typedef struct block {
  fl_requantization_lanes lanes[4];
  int8_t weights[]; /* [quads][4][BYTES] */
} block;

static size_t block_size(size_t k) { return sizeof(block) + fl_quads(k) * 4 * BYTES; }

static size_t blocks_of(size_t channels) { return (channels + BYTES - 1) / BYTES; }

/* Returns the pixels of a vector for so many channels. */
static size_t pixels_of(size_t channels) { return channels <= BYTES / 4 ? 4 : channels <= BYTES / 2 ? 2 : 1; }

FL_INLINE void interleave(const __m512i places[FL_QUAD], __m512i quads[4]) {
  const __m512i low = _mm512_unpacklo_epi8(places[0], places[1]), high = _mm512_unpackhi_epi8(places[0], places[1]);
  const __m512i next_low = _mm512_unpacklo_epi8(places[2], places[3]), next_high = _mm512_unpackhi_epi8(places[2], places[3]);
  quads[0] = _mm512_unpacklo_epi16(low, next_low);
  quads[1] = _mm512_unpackhi_epi16(low, next_low);
  quads[2] = _mm512_unpacklo_epi16(high, next_high);
  quads[3] = _mm512_unpackhi_epi16(high, next_high);
}

/* Returns the bytes of `pixels` pixels at one place of the kernel, whose pointers are `step` apart; those after the last pixel are the last one's. */
FL_INLINE __m512i bytes_of(const uint8_t *const *place, size_t step, size_t left, size_t first, __mmask64 mask, const size_t pixels) {
  if (pixels == 1) {
    return _mm512_maskz_loadu_epi8(mask, place[0] + first);
  }
  if (pixels == 2) {
    const __m256i one = _mm256_maskz_loadu_epi8((__mmask32)mask, place[0] + first);
    return _mm512_inserti64x4(_mm512_castsi256_si512(one), _mm256_maskz_loadu_epi8((__mmask32)mask, place[left > 1 ? step : 0] + first), 1);
  }
  __m512i all = _mm512_castsi128_si512(_mm_maskz_loadu_epi8((__mmask16)mask, place[0] + first));
  all = _mm512_inserti32x4(all, _mm_maskz_loadu_epi8((__mmask16)mask, place[(left > 1 ? 1 : 0) * step] + first), 1);
  all = _mm512_inserti32x4(all, _mm_maskz_loadu_epi8((__mmask16)mask, place[(left > 2 ? 2 : left - 1) * step] + first), 2);
  return _mm512_inserti32x4(all, _mm_maskz_loadu_epi8((__mmask16)mask, place[(left > 3 ? 3 : left - 1) * step] + first), 3);
}

/* Limits the sums of a vector of pixels, after requantization, and writes them, `stride` bytes from pixel to pixel. */
FL_INLINE void store_pixels(const fl_requantization *to, const block *b, const __m512i sums[4], uint8_t *out, size_t stride, size_t left, __mmask64 mask,
                            const size_t pixels, const int is_signed) {
  __m512i values[4];
  FL_UNROLL for (size_t j = 0; j < 4; ++j) { values[j] = fl_requantized_lanes(&b->lanes[j], sums[j]); }
  const __m512i bytes = fl_limited_bytes(to, values, is_signed);
  if (pixels == 1) {
    _mm512_mask_storeu_epi8(out, mask, bytes);
    return;
  }
  if (pixels == 2) {
    _mm256_mask_storeu_epi8(out, (__mmask32)mask, _mm512_castsi512_si256(bytes));
    if (left > 1) {
      _mm256_mask_storeu_epi8(out + stride, (__mmask32)mask, _mm512_extracti64x4_epi64(bytes, 1));
    }
    return;
  }
  const __m128i each[4] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1), _mm512_extracti32x4_epi32(bytes, 2),
                           _mm512_extracti32x4_epi32(bytes, 3)};
  FL_UNROLL for (size_t i = 0; i < 4; ++i) {
    if (i < left) {
      _mm_mask_storeu_epi8(out + i * stride, (__mmask16)mask, each[i]);
    }
  }
}

FL_INLINE void run_block(const fl_integer_product *product, const block *b, const uint8_t *const *places, size_t rows, size_t first, size_t count,
                         const size_t pixels, const int is_signed, uint8_t *out) {
  const size_t quads = fl_quads(product->k), steps = steps_of(product->k);
  const __mmask64 mask = count == BYTES ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1;
  const __m512i sign = _mm512_set1_epi8(is_signed ? -128 : 0);
  for (size_t r = 0; r < rows; r += pixels, places += pixels * steps) {
    __m512i sums[4];
    FL_UNROLL for (size_t j = 0; j < 4; ++j) { sums[j] = _mm512_setzero_si512(); }
    for (size_t q = 0; q < quads; ++q) {
      __m512i x[FL_QUAD], mixed[4];
      FL_UNROLL for (size_t t = 0; t < FL_QUAD; ++t) {
        const __m512i loaded = bytes_of(places + q * FL_QUAD + t, steps, rows - r, first, mask, pixels);
        x[t] = is_signed ? _mm512_xor_si512(loaded, sign) : loaded;
      }
      interleave(x, mixed);
      FL_UNROLL for (size_t j = 0; j < 4; ++j) { sums[j] = _mm512_dpbusd_epi32(sums[j], mixed[j], _mm512_load_si512(b->weights + (4 * q + j) * BYTES)); }
    }
    store_pixels(&product->to, b, sums, out + r * product->n + first, product->n, rows - r, mask, pixels, is_signed);
  }
}

/* The cases are apart, because each has the vectors of its own. */
static __attribute__((noinline)) void run_signed(const fl_integer_product *product, const block *b, const uint8_t *const *places, size_t rows,
                                                 size_t first, size_t count, uint8_t *out) {
  switch (pixels_of(count)) {
  case 1: run_block(product, b, places, rows, first, count, 1, 1, out); return;
  case 2: run_block(product, b, places, rows, first, count, 2, 1, out); return;
  default: run_block(product, b, places, rows, first, count, 4, 1, out);
  }
}

static __attribute__((noinline)) void run_unsigned(const fl_integer_product *product, const block *b, const uint8_t *const *places, size_t rows,
                                                   size_t first, size_t count, uint8_t *out) {
  switch (pixels_of(count)) {
  case 1: run_block(product, b, places, rows, first, count, 1, 0, out); return;
  case 2: run_block(product, b, places, rows, first, count, 2, 0, out); return;
  default: run_block(product, b, places, rows, first, count, 4, 0, out);
  }
}

/* Returns a parameter of each channel in the order of vector j. */
static __attribute__((noinline)) __m512i ordered(const int32_t *numbers, size_t count, size_t j, int32_t none) {
  int32_t found[16];
  const size_t width = BYTES / pixels_of(count);
  for (size_t i = 0; i < 16; ++i) {
    const size_t channel = (16 * (i / 4) + 4 * j + i % 4) % width;
    found[i] = channel < count ? numbers[channel] : none;
  }
  return _mm512_loadu_si512(found);
}

/* Returns the weights of a place of the kernel, again for each pixel of a vector. */
FL_INLINE __m512i weights_of(const fl_integer_product *product, size_t place, size_t first, size_t count) {
  if (place >= product->k) {
    return _mm512_setzero_si512();
  }
  const __m512i loaded = _mm512_maskz_loadu_epi8(count == BYTES ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1, product->weight + place * product->n + first);
  switch (pixels_of(count)) {
  case 1: return loaded;
  case 2: return _mm512_broadcast_i64x4(_mm512_castsi512_si256(loaded));
  default: return _mm512_broadcast_i32x4(_mm512_castsi512_si128(loaded));
  }
}

/* Signed numbers get 128 added; the bias takes off what that adds to the sums. */
static void prepare(const fl_integer_product *product, size_t first, size_t count, block *b) {
  const fl_requantization *const to = &product->to;
  const __m512i raise = _mm512_set1_epi8((char)(product->is_signed ? 128 : 0));
  __m512i raised[4];
  FL_UNROLL for (size_t j = 0; j < 4; ++j) { raised[j] = _mm512_setzero_si512(); }
  for (size_t q = 0; q < fl_quads(product->k); ++q) {
    __m512i w[FL_QUAD], mixed[4];
    FL_UNROLL for (size_t t = 0; t < FL_QUAD; ++t) { w[t] = weights_of(product, q * FL_QUAD + t, first, count); }
    interleave(w, mixed);
    FL_UNROLL for (size_t j = 0; j < 4; ++j) {
      _mm512_store_si512(b->weights + (4 * q + j) * BYTES, mixed[j]);
      raised[j] = _mm512_dpbusd_epi32(raised[j], raise, mixed[j]);
    }
  }
  FL_UNROLL for (size_t j = 0; j < 4; ++j) {
    const __m512i bias = _mm512_sub_epi32(ordered(to->bias + first, count, j, 0), raised[j]);
    b->lanes[j] = fl_lanes_of_requantization(bias, ordered(to->multiplier + first, count, j, 0), ordered(to->shift + first, count, j, 32), to->zero_point);
  }
}

static size_t prepared_size(size_t channels, size_t k) { return blocks_of(channels) * block_size(k); }

static void prepare_all(const fl_integer_product *product, void *prepared) {
  for (size_t i = 0; i < blocks_of(product->n); ++i) {
    const size_t first = i * BYTES, left = product->n - first;
    prepare(product, first, left < BYTES ? left : BYTES, (block *)(void *)((char *)prepared + i * block_size(product->k)));
  }
}

/* Returns 0 if the vectors cannot compute this. */
static int run_prepared(const fl_quantized_convolution *work, const uint8_t *const *places, size_t rows, uint8_t *out) {
  const fl_integer_product *const product = work->product;
  if (!product->to.is_narrow) {
    return 0;
  }
  for (size_t i = 0; i < blocks_of(product->n); ++i) {
    const size_t first = i * BYTES, left = product->n - first, count = left < BYTES ? left : BYTES;
    const block *const b = (const block *)(const void *)((const char *)work->prepared + i * block_size(product->k));
    (product->is_signed ? run_signed : run_unsigned)(product, b, places, rows, first, count, out);
  }
  return 1;
}

#else

static size_t prepared_size(size_t channels, size_t k) {
  (void)channels, (void)k;
  return 0;
}

static void prepare_all(const fl_integer_product *product, void *prepared) { (void)product, (void)prepared; }

static int run_prepared(const fl_quantized_convolution *work, const uint8_t *const *places, size_t rows, uint8_t *out) {
  (void)work, (void)places, (void)rows, (void)out;
  return 0;
}

#endif

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

/* Adds the products over k taps of a pixel to its sums, for `count` channels from `first` on. */
FL_INLINE void add_taps(const uint8_t *const *taps, const int8_t *weight, size_t channels, size_t k, size_t first, size_t count, const int is_signed,
                        int32_t *sums) {
  for (size_t tap = 0; tap < k; ++tap) {
    const uint8_t *const x = taps[tap] + first;
    const int8_t *const w = weight + tap * channels + first;
    FL_INDEPENDENT for (size_t i = 0; i < count; ++i) { sums[i] += (is_signed ? (int32_t)(int8_t)x[i] : (int32_t)x[i]) * w[i]; }
  }
}

#if defined(__AVX2__)
/* Stores the sums of products over k taps of `rows` pixels, for FL_PANEL channels from `first` on. rows and is_signed are constants when inlined.
 * Adds the products of two taps at a time in 32 bits. Interleaving changes the order of the channels, which is restored at the end. */
FL_INLINE void sum_taps(const uint8_t *const *taps, const int8_t *weight, size_t channels, size_t k, size_t first, const size_t rows,
                        const int is_signed, int32_t (*sums)[FL_PANEL]) {
  const size_t steps = steps_of(k);
  __m256i low[FL_QUAD_ROWS], high[FL_QUAD_ROWS];
  FL_UNROLL for (size_t r = 0; r < rows; ++r) { low[r] = high[r] = _mm256_setzero_si256(); }
  for (size_t tap = 0; tap < k; tap += 2) {
    const int is_pair = tap + 1 < k;
    const __m256i w = widened(weight + tap * channels + first, 1);
    const __m256i next = is_pair ? widened(weight + (tap + 1) * channels + first, 1) : _mm256_setzero_si256();
    const __m256i low_factors = _mm256_unpacklo_epi16(w, next), high_factors = _mm256_unpackhi_epi16(w, next);
    FL_UNROLL for (size_t r = 0; r < rows; ++r) {
      const uint8_t *const *const at = taps + r * steps + tap;
      const __m256i x = widened(at[0] + first, is_signed), y = widened(at[is_pair] + first, is_signed);
      low[r] = add_pairs(low[r], _mm256_unpacklo_epi16(x, y), low_factors);
      high[r] = add_pairs(high[r], _mm256_unpackhi_epi16(x, y), high_factors);
    }
  }
  FL_UNROLL for (size_t r = 0; r < rows; ++r) {
    _mm256_storeu_si256((void *)sums[r], _mm256_permute2x128_si256(low[r], high[r], 0x20));
    _mm256_storeu_si256((void *)(sums[r] + 8), _mm256_permute2x128_si256(low[r], high[r], 0x31));
  }
}
#endif

FL_INLINE void run_taps(const fl_integer_product *product, const uint8_t *const *taps, size_t rows, const int is_signed, uint8_t *out) {
  const size_t channels = product->n, k = product->k, steps = steps_of(k);
  for (size_t first = 0; first < channels; first += FL_PANEL) {
    const size_t count = channels - first < FL_PANEL ? channels - first : FL_PANEL;
    int32_t sums[FL_QUAD_ROWS][FL_PANEL] = {{0}};
    size_t r = 0;
#if defined(__AVX2__)
    if (count == FL_PANEL && rows == FL_QUAD_ROWS) {
      sum_taps(taps, product->weight, channels, k, first, FL_QUAD_ROWS, is_signed, sums);
      r = rows;
    }
    for (; count == FL_PANEL && r < rows; ++r) {
      sum_taps(taps + r * steps, product->weight, channels, k, first, 1, is_signed, sums + r);
    }
#endif
    for (; r < rows; ++r) {
      add_taps(taps + r * steps, product->weight, channels, k, first, count, is_signed, sums[r]);
    }
    fl_requantize(&product->to, sums, rows, first, count, out + first, channels);
  }
}

size_t fl_quantized_depthwise_scratch_size(const fl_conv2d *c) {
  const size_t k = c->kernel_height * c->kernel_width;
  return prepared_size(c->channels, k) + FL_TAKEN(uint8_t, c->channels) + FL_TAKEN(size_t, steps_of(k)) + FL_TAKEN(uint8_t *, FL_QUAD_ROWS * steps_of(k));
}

fl_status fl_prepare_quantized_depthwise(fl_context *context, fl_quantized_convolution *work) {
  FL_TAKE(char, prepared, prepared_size(work->product->n, work->product->k));
  work->prepared = prepared;
  prepare_all(work->product, prepared);
  return FL_OK;
}

/* Stores the pointers to the pixels under the kernel at the pixel (y, x) of the result. `offsets` are those of the places of the kernel. */
static void point(const fl_conv2d *c, const uint8_t *image, size_t y, size_t x, const uint8_t *zeros, const size_t *offsets, size_t steps,
                  const uint8_t **places) {
  const int64_t top = (int64_t)(y * c->stride_height) - (int64_t)c->padding_height, left = (int64_t)(x * c->stride_width) - (int64_t)c->padding_width;
  if (top >= 0 && left >= 0 && top + (int64_t)((c->kernel_height - 1) * c->dilation_height) < (int64_t)c->height &&
      left + (int64_t)((c->kernel_width - 1) * c->dilation_width) < (int64_t)c->width) {
    const uint8_t *const first = image + ((size_t)top * c->width + (size_t)left) * c->channels;
    for (size_t i = 0; i < steps; ++i) {
      places[i] = first + offsets[i];
    }
    return;
  }
  for (size_t i = 0; i < steps; ++i) {
    places[i] = zeros;
  }
  for (size_t i = 0; i < c->kernel_height; ++i) {
    const int64_t row = top + (int64_t)(i * c->dilation_height);
    for (size_t j = 0; row >= 0 && row < (int64_t)c->height && j < c->kernel_width; ++j) {
      const int64_t column = left + (int64_t)(j * c->dilation_width);
      if (column >= 0 && column < (int64_t)c->width) {
        places[i * c->kernel_width + j] = image + ((size_t)row * c->width + (size_t)column) * c->channels;
      }
    }
  }
}

/* In its scratch memory are a pixel outside of the image, the offsets of the places of the kernel, and pointers for FL_QUAD_ROWS pixels of the result. */
void fl_quantized_depthwise_piece(const void *work, size_t piece, void *scratch) {
  const fl_quantized_convolution *const w = work;
  const fl_conv2d *const c = w->c;
  const fl_range blocks = fl_range_of(c->batch * w->blocks, w->pieces, piece);
  const size_t steps = steps_of(w->product->k);
  uint8_t *const zeros = scratch;
  size_t *const offsets = (size_t *)(void *)(zeros + FL_TAKEN(uint8_t, c->channels));
  const uint8_t **const places = (const uint8_t **)(void *)((char *)offsets + FL_TAKEN(size_t, steps));
  memset(zeros, w->zero, c->channels);
  for (size_t i = 0; i < steps; ++i) {
    const size_t row = i / c->kernel_width * c->dilation_height, column = i % c->kernel_width * c->dilation_width;
    offsets[i] = i < w->product->k ? (row * c->width + column) * c->channels : 0;
  }
  for (size_t block = blocks.begin; block < blocks.end; ++block) {
    const size_t n = block / w->blocks, at = block % w->blocks * FL_QUAD_ROWS, rows = w->pixels - at < FL_QUAD_ROWS ? w->pixels - at : FL_QUAD_ROWS;
    const uint8_t *const image = w->input + n * c->height * c->width * c->channels;
    for (size_t r = 0, y = at / c->out_width, x = at % c->out_width; r < rows; ++r) {
      point(c, image, y, x, zeros, offsets, steps, places + r * steps);
      if (++x == c->out_width) {
        x = 0;
        ++y;
      }
    }
    uint8_t *const out = w->out + (n * w->pixels + at) * c->channels;
    if (run_prepared(w, places, rows, out)) {
      continue;
    }
    if (w->product->is_signed) {
      run_taps(w->product, places, rows, 1, out);
    } else {
      run_taps(w->product, places, rows, 0, out);
    }
  }
}
