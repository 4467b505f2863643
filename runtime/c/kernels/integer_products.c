#include "integer_products.h"

/* The first results, as many as vectors hold; returns how many. */
static size_t requantize_vectors(const fl_requantization *to, const int32_t *sums, size_t first, size_t count, uint8_t *out) {
  size_t j = 0;
#if defined(FL_SIMD_AVX512) && defined(__AVX512DQ__)
  const __m512i one = _mm512_set1_epi64(1), zero_point = _mm512_set1_epi64(to->zero_point);
  const __m512i low = _mm512_set1_epi64(to->low), high = _mm512_set1_epi64(to->high);
  for (; j + 8 <= count; j += 8) {
    const __m256i bias = _mm256_loadu_si256((const void *)(to->bias + first + j)), sum = _mm256_loadu_si256((const void *)(sums + j));
    const __m512i multiplier = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)(to->multiplier + first + j)));
    const __m512i shift = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)(to->shift + first + j)));
    const __m512i product = _mm512_mul_epi32(_mm512_cvtepi32_epi64(_mm256_add_epi32(sum, bias)), multiplier);
    const __m512i half = _mm512_sllv_epi64(one, _mm512_sub_epi64(shift, one));
    const __m512i value = _mm512_add_epi64(_mm512_srav_epi64(_mm512_add_epi64(product, half), shift), zero_point);
    const __m128i bytes = _mm512_cvtepi64_epi8(_mm512_min_epi64(_mm512_max_epi64(value, low), high));
    memcpy(out + j, &bytes, 8);
  }
#elif defined(FL_SIMD_AVX) && defined(__AVX2__)
  const __m256i one = _mm256_set1_epi64x(1), raise = _mm256_set1_epi64x(INT64_MIN), zero_point = _mm256_set1_epi64x(to->zero_point);
  const __m256i low = _mm256_set1_epi64x(to->low), high = _mm256_set1_epi64x(to->high);
  for (; j + 4 <= count; j += 4) {
    const __m128i bias = _mm_loadu_si128((const void *)(to->bias + first + j)), sum = _mm_loadu_si128((const void *)(sums + j));
    const __m256i multiplier = _mm256_cvtepi32_epi64(_mm_loadu_si128((const void *)(to->multiplier + first + j)));
    const __m256i shift = _mm256_cvtepi32_epi64(_mm_loadu_si128((const void *)(to->shift + first + j)));
    const __m256i product = _mm256_mul_epi32(_mm256_cvtepi32_epi64(_mm_add_epi32(sum, bias)), multiplier);
    const __m256i half = _mm256_sllv_epi64(one, _mm256_sub_epi64(shift, one));
    /* An arithmetic shift, which AVX2 lacks: of what is raised to be positive. */
    const __m256i raised = _mm256_srlv_epi64(_mm256_xor_si256(_mm256_add_epi64(product, half), raise), shift);
    __m256i value = _mm256_add_epi64(_mm256_sub_epi64(raised, _mm256_srlv_epi64(raise, shift)), zero_point);
    value = _mm256_blendv_epi8(value, low, _mm256_cmpgt_epi64(low, value));
    value = _mm256_blendv_epi8(value, high, _mm256_cmpgt_epi64(value, high));
    int64_t whole[4];
    _mm256_storeu_si256((void *)whole, value);
    for (size_t i = 0; i < 4; ++i) {
      out[j + i] = (uint8_t)whole[i];
    }
  }
#else
  (void)to, (void)sums, (void)first, (void)count, (void)out;
#endif
  return j;
}

void fl_requantize(const fl_requantization *to, const int32_t *sums, size_t first, size_t count, uint8_t *out) {
  for (size_t j = requantize_vectors(to, sums, first, count, out); j < count; ++j) {
    const size_t c = first + j;
    const int32_t whole = (int32_t)((uint32_t)sums[j] + (uint32_t)to->bias[c]);
    const int64_t scaled = ((int64_t)whole * to->multiplier[c] + ((int64_t)1 << (to->shift[c] - 1))) >> to->shift[c];
    const int64_t value = scaled + to->zero_point;
    out[j] = (uint8_t)(value < to->low ? to->low : value > to->high ? to->high : value);
  }
}

/* Four bytes of a row, of which those beyond k are zeros. */
FL_INLINE uint32_t quad_of(const uint8_t *row, size_t q, size_t k) {
  uint32_t quad = 0;
  const size_t left = k - q * FL_QUAD;
  if (left >= FL_QUAD) {
    memcpy(&quad, row + q * FL_QUAD, FL_QUAD);
  } else {
    memcpy(&quad, row + q * FL_QUAD, left);
  }
  return quad;
}

/* The sums of the products of `m` rows with one panel; m is a constant where this is inlined. */
FL_INLINE void sum_products(const fl_integer_product *p, const int8_t *panel, const uint8_t *rows, size_t stride, const size_t m,
                            int32_t sums[FL_QUAD_ROWS][FL_PANEL]) {
  const size_t quads = fl_quads(p->k);
#if defined(FL_QUAD_VECTOR)
  const uint32_t flip = p->is_signed ? 0x80808080u : 0;
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i c[FL_QUAD_ROWS], weights = _mm512_setzero_si512();
  FL_UNROLL for (size_t i = 0; i < m; ++i) { c[i] = _mm512_setzero_si512(); }
  for (size_t q = 0; q < quads; ++q) {
    const __m512i w = _mm512_loadu_si512(panel + q * FL_PANEL * FL_QUAD);
    /* The intrinsic makes GCC 12 spill the sums. */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(weights) : "v"(ones), "v"(w));
    FL_UNROLL for (size_t i = 0; i < m; ++i) {
      const __m512i a = _mm512_set1_epi32((int)(quad_of(rows + i * stride, q, p->k) ^ flip));
      __asm__("vpdpbusd %2, %1, %0" : "+v"(c[i]) : "v"(a), "v"(w));
    }
  }
  const __m512i more = p->is_signed ? _mm512_slli_epi32(weights, 7) : _mm512_setzero_si512();
  FL_UNROLL for (size_t i = 0; i < m; ++i) { _mm512_storeu_si512(sums[i], _mm512_sub_epi32(c[i], more)); }
#elif defined(__AVX2__)
  /* In 16 bits: two products at a time, four columns in a vector. */
  __m256i c[FL_QUAD_ROWS][4];
  FL_UNROLL for (size_t i = 0; i < 4 * m; ++i) { c[i / 4][i % 4] = _mm256_setzero_si256(); }
  for (size_t q = 0; q < quads; ++q) {
    __m256i w[4];
    FL_UNROLL for (size_t j = 0; j < 4; ++j) {
      w[j] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(panel + (q * FL_PANEL + 4 * j) * FL_QUAD)));
    }
    FL_UNROLL for (size_t i = 0; i < m; ++i) {
      const __m128i quad = _mm_set1_epi32((int)quad_of(rows + i * stride, q, p->k));
      const __m256i a = p->is_signed ? _mm256_cvtepi8_epi16(quad) : _mm256_cvtepu8_epi16(quad);
      FL_UNROLL for (size_t j = 0; j < 4; ++j) { c[i][j] = _mm256_add_epi32(c[i][j], _mm256_madd_epi16(a, w[j])); }
    }
  }
  FL_UNROLL for (size_t i = 0; i < m; ++i) {
    FL_UNROLL for (size_t j = 0; j < 4; j += 2) {
      const __m256i pairs = _mm256_hadd_epi32(c[i][j], c[i][j + 1]);
      _mm256_storeu_si256((void *)(sums[i] + 4 * j), _mm256_permute4x64_epi64(pairs, 0xD8));
    }
  }
#else
  memset(sums, 0, m * sizeof sums[0]);
  for (size_t q = 0; q < quads; ++q) {
    const int8_t *const w = panel + q * FL_PANEL * FL_QUAD;
    for (size_t i = 0; i < m; ++i) {
      const uint32_t quad = quad_of(rows + i * stride, q, p->k);
      uint8_t bytes[FL_QUAD];
      memcpy(bytes, &quad, sizeof bytes);
      for (size_t t = 0; t < FL_QUAD; ++t) {
        const int32_t x = p->is_signed ? (int8_t)bytes[t] : (int32_t)bytes[t];
        for (size_t j = 0; j < FL_PANEL; ++j) {
          sums[i][j] += x * w[FL_QUAD * j + t];
        }
      }
    }
  }
#endif
}

void fl_integer_product_sums(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, size_t column,
                             int32_t sums[FL_QUAD_ROWS][FL_PANEL]) {
  const int8_t *const panel = p->weight + column / FL_PANEL * (fl_quads(p->k) * FL_PANEL * FL_QUAD);
  if (m == FL_QUAD_ROWS) {
    sum_products(p, panel, rows, stride, FL_QUAD_ROWS, sums);
  }
  for (size_t r = 0; m < FL_QUAD_ROWS && r < m; ++r) {
    sum_products(p, panel, rows + r * stride, stride, 1, sums + r);
  }
}

void fl_integer_product_run(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, uint8_t *out, size_t out_stride) {
  for (size_t i = 0; i < m; i += FL_QUAD_ROWS) {
    const size_t count = m - i < FL_QUAD_ROWS ? m - i : FL_QUAD_ROWS;
    for (size_t j = 0; j < p->n; j += FL_PANEL) {
      int32_t sums[FL_QUAD_ROWS][FL_PANEL];
      fl_integer_product_sums(p, rows + i * stride, stride, count, j, sums);
      for (size_t r = 0; r < count; ++r) {
        fl_requantize(&p->to, sums[r], j, p->n - j < FL_PANEL ? p->n - j : FL_PANEL, out + (i + r) * out_stride + j);
      }
    }
  }
}
