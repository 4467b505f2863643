#include "integer_products.h"

#if defined(FL_SIMD_AVX512)
/* Returns the parameters of the channels from `first` on that `mask` has. */
static fl_requantization_lanes lanes_of(const fl_requantization *to, size_t first, __mmask16 mask) {
  return fl_lanes_of_requantization(_mm512_maskz_loadu_epi32(mask, to->bias + first), _mm512_maskz_loadu_epi32(mask, to->multiplier + first),
                                    _mm512_mask_loadu_epi32(_mm512_set1_epi32(32), mask, to->shift + first), to->zero_point);
}
#endif

/* Requantizes with vectors, as fl_requantization_lanes says. Returns 0, and writes nothing, if this is not supported. */
static int requantize_vectors(const fl_requantization *to, int32_t (*sums)[FL_PANEL], size_t rows, size_t first, size_t count, uint8_t *out, size_t stride) {
#if defined(FL_SIMD_AVX512)
  if (!to->is_narrow) {
    return 0;
  }
  const __mmask16 mask = (__mmask16)((1u << count) - 1);
  const fl_requantization_lanes lanes = lanes_of(to, first, mask);
  const __m512i low = _mm512_set1_epi32(to->low), high = _mm512_set1_epi32(to->high);
  for (size_t r = 0; r < rows; ++r) {
    const __m512i value = fl_requantized_lanes(&lanes, _mm512_loadu_si512(sums[r]));
    const __m512i limited = _mm512_min_epi32(_mm512_max_epi32(value, low), high);
    if (count == FL_PANEL) {
      _mm_storeu_si128((void *)(out + r * stride), _mm512_cvtepi32_epi8(limited));
    } else {
      _mm512_mask_cvtepi32_storeu_epi8(out + r * stride, mask, limited);
    }
  }
  return 1;
#elif defined(__AVX2__)
  if (!to->is_narrow || count < FL_PANEL) {
    return 0;
  }
  const __m256i one = _mm256_set1_epi64x(1), zero_point = _mm256_set1_epi64x(to->zero_point), bytes = _mm256_set1_epi32(0xFF);
  const __m256i low = _mm256_set1_epi32(to->low), high = _mm256_set1_epi32(to->high);
  for (size_t j = 0; j < FL_PANEL; j += 8) {
    const __m256i bias = _mm256_loadu_si256((const void *)(to->bias + first + j));
    const __m256i multiplier = _mm256_loadu_si256((const void *)(to->multiplier + first + j));
    const __m256i shift = _mm256_loadu_si256((const void *)(to->shift + first + j));
    const __m256i odd_multiplier = _mm256_srli_epi64(multiplier, 32), last = _mm256_sub_epi32(shift, _mm256_set1_epi32(32));
    const __m256i shifts[2] = {_mm256_and_si256(shift, _mm256_set1_epi64x(UINT32_MAX)), _mm256_srli_epi64(shift, 32)};
    __m256i added[2];
    for (size_t i = 0; i < 2; ++i) {
      added[i] = _mm256_add_epi64(_mm256_srli_epi64(_mm256_sllv_epi64(one, shifts[i]), 1), _mm256_sllv_epi64(zero_point, shifts[i]));
    }
    for (size_t r = 0; r < rows; ++r) {
      const __m256i sum = _mm256_add_epi32(_mm256_loadu_si256((const void *)(sums[r] + j)), bias);
      const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(sum, multiplier), added[0]);
      const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(sum, 32), odd_multiplier), added[1]);
      const __m256i upper = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
      const __m256i value = _mm256_min_epi32(_mm256_max_epi32(_mm256_srav_epi32(upper, last), low), high);
      const __m256i whole = _mm256_and_si256(value, bytes);
      const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
      _mm_storel_epi64((void *)(out + r * stride + j), _mm_packus_epi16(words, words));
    }
  }
  return 1;
#else
  (void)to, (void)sums, (void)rows, (void)first, (void)count, (void)out, (void)stride;
  return 0;
#endif
}

void fl_requantize(const fl_requantization *to, int32_t (*sums)[FL_PANEL], size_t rows, size_t first, size_t count, uint8_t *out, size_t stride) {
  if (requantize_vectors(to, sums, rows, first, count, out, stride)) {
    return;
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < count; ++j) {
      const size_t c = first + j;
      const int32_t whole = (int32_t)((uint32_t)sums[r][j] + (uint32_t)to->bias[c]);
      const int64_t scaled = ((int64_t)whole * to->multiplier[c] + ((int64_t)1 << (to->shift[c] - 1))) >> to->shift[c];
      const int64_t value = scaled + to->zero_point;
      out[r * stride + j] = (uint8_t)(value < to->low ? to->low : value > to->high ? to->high : value);
    }
  }
}

/* Returns four bytes of a row, with zeros in place of those beyond k. */
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

#if defined(FL_QUAD_VECTOR) || defined(__AVX2__)
typedef int32_t loose_int32 __attribute__((aligned(1), may_alias));
#endif

#if defined(FL_QUAD_VECTOR)
/* Returns 128 times the sum of k int8. */
static int32_t raised_sum(const uint8_t *row, size_t k) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_setzero_si512();
  for (size_t i = 0; i < k; i += 64) {
    const __mmask64 mask = k - i < 64 ? ((__mmask64)1 << (k - i)) - 1 : ~(__mmask64)0;
    sum = _mm512_dpbusd_epi32(sum, ones, _mm512_maskz_loadu_epi8(mask, row + i));
  }
  return 128 * _mm512_reduce_add_epi32(sum);
}

/* Adds the products of quad `q` of m rows to c. Uses assembly, because the intrinsic makes GCC 12 spill the sums. */
FL_INLINE void add_quads(__m512i c[FL_QUAD_ROWS], __m512i w, const uint8_t *rows, size_t stride, size_t q, size_t k, const size_t m, const int is_signed) {
  const __m512i raised = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
  FL_UNROLL for (size_t i = 0; i < m; ++i) {
    const uint8_t *const row = rows + i * stride;
    if (k - q * FL_QUAD < FL_QUAD) {
      const __m512i a = _mm512_set1_epi32((int)quad_of(row, q, k));
      if (is_signed) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(c[i]) : "v"(raised), "v"(a));
      } else {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(c[i]) : "v"(a), "v"(w));
      }
    } else if (is_signed) {
      __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(c[i]) : "v"(raised), "m"(*(const loose_int32 *)(row + q * FL_QUAD)));
    } else {
      const __m512i a = _mm512_set1_epi32(*(const loose_int32 *)(row + q * FL_QUAD));
      __asm__("vpdpbusd %2, %1, %0" : "+v"(c[i]) : "v"(a), "v"(w));
    }
  }
}

/* Stores the sums of the products of m rows with one panel in c. */
FL_INLINE void add_all_quads(const fl_integer_product *p, const int8_t *panel, const uint8_t *rows, size_t stride, const size_t m, const int is_signed,
                             __m512i c[FL_QUAD_ROWS]) {
  const size_t whole = p->k / FL_QUAD;
  FL_UNROLL for (size_t i = 0; i < m; ++i) { c[i] = _mm512_setzero_si512(); }
  for (size_t q = 0; q < whole; ++q) {
    add_quads(c, _mm512_loadu_si512(panel + q * FL_PANEL * FL_QUAD), rows, stride, q, (q + 1) * FL_QUAD, m, is_signed);
  }
  if (whole < fl_quads(p->k)) {
    add_quads(c, _mm512_loadu_si512(panel + whole * FL_PANEL * FL_QUAD), rows, stride, whole, p->k, m, is_signed);
  }
}
#endif

#if defined(__AVX2__) && !defined(FL_QUAD_VECTOR)
/* Return the bytes 0 and 2 of each quad, or 1 and 3, in 16 bits. */
FL_INLINE __m256i even_bytes(__m256i quads, const int is_signed) {
  return is_signed ? _mm256_srai_epi16(_mm256_slli_epi16(quads, 8), 8) : _mm256_and_si256(quads, _mm256_set1_epi16(0xFF));
}
FL_INLINE __m256i odd_bytes(__m256i quads, const int is_signed) { return is_signed ? _mm256_srai_epi16(quads, 8) : _mm256_srli_epi16(quads, 8); }

/* Adds the products of quad `q` of m rows to c. Multiplies in 16 bits: two products of a column at a time, eight columns in a vector. */
FL_INLINE void add_quads(__m256i c[FL_QUAD_ROWS][2], const int8_t *w, const uint8_t *rows, size_t stride, size_t q, size_t k, const size_t m,
                         const int is_signed) {
  const __m256i left = _mm256_loadu_si256((const void *)w), right = _mm256_loadu_si256((const void *)(w + 32));
  const __m256i even[2] = {even_bytes(left, 1), even_bytes(right, 1)}, odd[2] = {odd_bytes(left, 1), odd_bytes(right, 1)};
  FL_UNROLL for (size_t i = 0; i < m; ++i) {
    const uint8_t *const row = rows + i * stride;
    const int32_t quad = k - q * FL_QUAD < FL_QUAD ? (int32_t)quad_of(row, q, k) : *(const loose_int32 *)(row + q * FL_QUAD);
    const __m256i a = _mm256_set1_epi32(quad), a_even = even_bytes(a, is_signed), a_odd = odd_bytes(a, is_signed);
    FL_UNROLL for (size_t j = 0; j < 2; ++j) {
      c[i][j] = _mm256_add_epi32(c[i][j], _mm256_madd_epi16(a_even, even[j]));
      c[i][j] = _mm256_add_epi32(c[i][j], _mm256_madd_epi16(a_odd, odd[j]));
    }
  }
}
#endif

/* Stores the sums of the products of `m` rows with one panel. m and is_signed are constants when inlined. `raised` comes from raised_sum. */
FL_INLINE void sum_products(const fl_integer_product *p, const int8_t *panel, const uint8_t *rows, size_t stride, const size_t m,
                            const int is_signed, const int32_t *raised, int32_t sums[FL_QUAD_ROWS][FL_PANEL]) {
  const size_t quads = fl_quads(p->k);
#if defined(FL_QUAD_VECTOR)
  __m512i c[FL_QUAD_ROWS];
  (void)quads;
  add_all_quads(p, panel, rows, stride, m, is_signed, c);
  FL_UNROLL for (size_t i = 0; i < m; ++i) { _mm512_storeu_si512(sums[i], _mm512_sub_epi32(c[i], _mm512_set1_epi32(raised[i]))); }
#elif defined(__AVX2__)
  (void)raised;
  const size_t whole = p->k / FL_QUAD;
  __m256i c[FL_QUAD_ROWS][2];
  FL_UNROLL for (size_t i = 0; i < 2 * m; ++i) { c[i / 2][i % 2] = _mm256_setzero_si256(); }
  for (size_t q = 0; q < whole; ++q) {
    add_quads(c, panel + q * FL_PANEL * FL_QUAD, rows, stride, q, (q + 1) * FL_QUAD, m, is_signed);
  }
  if (whole < quads) {
    add_quads(c, panel + whole * FL_PANEL * FL_QUAD, rows, stride, whole, p->k, m, is_signed);
  }
  FL_UNROLL for (size_t i = 0; i < 2 * m; ++i) { _mm256_storeu_si256((void *)(sums[i / 2] + i % 2 * 8), c[i / 2][i % 2]); }
#else
  (void)raised;
  memset(sums, 0, m * sizeof sums[0]);
  for (size_t q = 0; q < quads; ++q) {
    const int8_t *const w = panel + q * FL_PANEL * FL_QUAD;
    for (size_t i = 0; i < m; ++i) {
      const uint32_t quad = quad_of(rows + i * stride, q, p->k);
      uint8_t bytes[FL_QUAD];
      memcpy(bytes, &quad, sizeof bytes);
      for (size_t t = 0; t < FL_QUAD; ++t) {
        const int32_t x = is_signed ? (int8_t)bytes[t] : (int32_t)bytes[t];
        for (size_t j = 0; j < FL_PANEL; ++j) {
          sums[i][j] += x * w[FL_QUAD * j + t];
        }
      }
    }
  }
#endif
}

FL_INLINE void run_product(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, const int is_signed,
                           fl_take_sums *take, const void *taker) {
  const size_t size = fl_quads(p->k) * FL_PANEL * FL_QUAD;
  for (size_t i = 0; i < m; i += FL_QUAD_ROWS) {
    const size_t count = m - i < FL_QUAD_ROWS ? m - i : FL_QUAD_ROWS;
    const uint8_t *const from = rows + i * stride;
    int32_t raised[FL_QUAD_ROWS] = {0};
#if defined(FL_QUAD_VECTOR)
    for (size_t r = 0; is_signed && r < count; ++r) {
      raised[r] = raised_sum(from + r * stride, p->k);
    }
#endif
    for (size_t j = 0; j < p->n; j += FL_PANEL) {
      int32_t sums[FL_QUAD_ROWS][FL_PANEL];
      const int8_t *const panel = p->weight + j / FL_PANEL * size;
      if (count == FL_QUAD_ROWS) {
        sum_products(p, panel, from, stride, FL_QUAD_ROWS, is_signed, raised, sums);
      }
      for (size_t r = 0; count < FL_QUAD_ROWS && r < count;) {
        if (FL_QUAD_ROWS > 2 && count - r >= 2) {
          sum_products(p, panel, from + r * stride, stride, 2, is_signed, raised + r, sums + r);
          r += 2;
        } else {
          sum_products(p, panel, from + r * stride, stride, 1, is_signed, raised + r, sums + r);
          r += 1;
        }
      }
      take(taker, sums, i, count, j, p->n - j < FL_PANEL ? p->n - j : FL_PANEL);
    }
  }
}

void fl_integer_product_sums(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, fl_take_sums *take, const void *taker) {
  if (p->is_signed) {
    run_product(p, rows, stride, m, 1, take, taker);
  } else {
    run_product(p, rows, stride, m, 0, take, taker);
  }
}

typedef struct bytes {
  const fl_requantization *to;
  uint8_t *out;
  size_t stride;
} bytes;

static void take_bytes(const void *taker, int32_t (*sums)[FL_PANEL], size_t row, size_t rows, size_t column, size_t columns) {
  const bytes *const b = taker;
  fl_requantize(b->to, sums, rows, column, columns, b->out + row * b->stride + column, b->stride);
}

#if defined(FL_QUAD_VECTOR)
/* The rows that meet one panel after the other: what they take stays in the first cache, and a panel's parameters serve many of them. */
#define MOST_ROWS 64
#define BYTES_OF_ROWS 16384

/* Writes the results of `m` rows with one panel, from sums that stay in registers. m and is_signed are constants when inlined. Four rows are
 * narrowed together: packing takes four bytes of each row in turn, which a permutation puts in order. */
FL_INLINE void write_tile(const fl_integer_product *p, const int8_t *panel, const uint8_t *rows, size_t stride, const size_t m, const int is_signed,
                          const int32_t *raised, const fl_requantization_lanes *lanes, __mmask16 mask, uint8_t *out, size_t out_stride) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i c[FL_QUAD_ROWS];
  add_all_quads(p, panel, rows, stride, m, is_signed, c);
  FL_UNROLL for (size_t i = 0; i < m; i += 4) {
    __m512i values[4];
    FL_UNROLL for (size_t r = 0; r < 4; ++r) {
      const size_t row = i + r < m ? i + r : m - 1;
      values[r] = fl_requantized_lanes(lanes, is_signed ? _mm512_sub_epi32(c[row], _mm512_set1_epi32(raised[row])) : c[row]);
    }
    const __m512i bytes = _mm512_permutexvar_epi32(order, fl_limited_bytes(&p->to, values, is_signed));
    uint8_t *const to = out + i * out_stride;
    _mm_mask_storeu_epi8(to, mask, _mm512_castsi512_si128(bytes));
    if (i + 1 < m) {
      _mm_mask_storeu_epi8(to + out_stride, mask, _mm512_extracti32x4_epi32(bytes, 1));
      _mm_mask_storeu_epi8(to + 2 * out_stride, mask, _mm512_extracti32x4_epi32(bytes, 2));
      _mm_mask_storeu_epi8(to + 3 * out_stride, mask, _mm512_extracti32x4_epi32(bytes, 3));
    }
  }
}

FL_INLINE void run_narrow(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, const int is_signed, uint8_t *out, size_t out_stride) {
  const size_t size = fl_quads(p->k) * FL_PANEL * FL_QUAD, fitting = BYTES_OF_ROWS / (p->k + 1) / FL_QUAD_ROWS * FL_QUAD_ROWS;
  const size_t most = fitting < FL_QUAD_ROWS ? FL_QUAD_ROWS : fitting > MOST_ROWS ? MOST_ROWS : fitting;
  for (size_t first = 0; first < m; first += most) {
    const size_t count = m - first < most ? m - first : most;
    const uint8_t *const from = rows + first * stride;
    int32_t raised[MOST_ROWS];
    for (size_t r = 0; is_signed && r < count; ++r) {
      raised[r] = raised_sum(from + r * stride, p->k);
    }
    for (size_t j = 0; j < p->n; j += FL_PANEL) {
      const __mmask16 mask = (__mmask16)(p->n - j < FL_PANEL ? (1u << (p->n - j)) - 1 : UINT16_MAX);
      const fl_requantization_lanes lanes = lanes_of(&p->to, j, mask);
      const int8_t *const panel = p->weight + j / FL_PANEL * size;
      uint8_t *const to = out + first * out_stride + j;
      size_t r = 0;
      for (; r + FL_QUAD_ROWS <= count; r += FL_QUAD_ROWS) {
        write_tile(p, panel, from + r * stride, stride, FL_QUAD_ROWS, is_signed, raised + r, &lanes, mask, to + r * out_stride, out_stride);
      }
      for (; r < count; ++r) {
        write_tile(p, panel, from + r * stride, stride, 1, is_signed, raised + r, &lanes, mask, to + r * out_stride, out_stride);
      }
    }
  }
}

static __attribute__((noinline)) void run_narrow_signed(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, uint8_t *out,
                                                        size_t out_stride) {
  run_narrow(p, rows, stride, m, 1, out, out_stride);
}

static __attribute__((noinline)) void run_narrow_unsigned(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, uint8_t *out,
                                                          size_t out_stride) {
  run_narrow(p, rows, stride, m, 0, out, out_stride);
}
#endif

void fl_integer_product_rows(const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, uint8_t *out, size_t out_stride) {
#if defined(FL_QUAD_VECTOR)
  if (p->to.is_narrow) {
    (p->is_signed ? run_narrow_signed : run_narrow_unsigned)(p, rows, stride, m, out, out_stride);
    return;
  }
#endif
  const bytes b = {&p->to, out, out_stride};
  fl_integer_product_sums(p, rows, stride, m, take_bytes, &b);
}

/* A product in blocks of rows, and pieces of the panels of each. */
typedef struct division {
  const fl_integer_product *product;
  const uint8_t *rows;
  size_t stride, m;
  uint8_t *out;
  size_t out_stride, panels;
  size_t blocks, pieces;
} division;

static void run_part(const void *work, size_t piece, void *scratch) {
  const division *const d = work;
  const fl_range quads = fl_range_of((d->m + FL_QUAD_ROWS - 1) / FL_QUAD_ROWS, d->blocks, piece / d->pieces);
  const fl_range panels = fl_range_of(d->panels, d->pieces, piece % d->pieces);
  const size_t row = quads.begin * FL_QUAD_ROWS, end = quads.end * FL_QUAD_ROWS < d->m ? quads.end * FL_QUAD_ROWS : d->m;
  const size_t column = panels.begin * FL_PANEL;
  fl_integer_product part = *d->product;
  (void)scratch;
  part.n = (panels.end * FL_PANEL < part.n ? panels.end * FL_PANEL : part.n) - column;
  part.weight += column * fl_quads(part.k) * FL_QUAD;
  part.to.bias += column;
  part.to.multiplier += column;
  part.to.shift += column;
  fl_integer_product_rows(&part, d->rows + row * d->stride, d->stride, end - row, d->out + row * d->out_stride + column, d->out_stride);
}

void fl_integer_product_run(const fl_context *context, const fl_integer_product *p, const uint8_t *rows, size_t stride, size_t m, uint8_t *out,
                            size_t out_stride) {
  division d = {p, rows, stride, m, out, out_stride, (p->n + FL_PANEL - 1) / FL_PANEL, 1, 1};
  const size_t quads = (m + FL_QUAD_ROWS - 1) / FL_QUAD_ROWS, operations = fl_costly_rows(m) * p->n * p->k / FL_PANEL, wanted = fl_pieces(context, operations);
  if (quads == 0 || d.panels == 0) {
    return;
  }
  d.blocks = quads < wanted ? quads : wanted;
  d.pieces = (wanted + d.blocks - 1) / d.blocks;
  d.pieces = d.pieces < d.panels ? d.pieces : d.panels;
  fl_divide(context, d.blocks * d.pieces, operations, run_part, &d);
}
