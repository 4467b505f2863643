/* Matrix products of 8-bit integers, and the requantization of their sums to 8-bit integers.
 *
 * A packed weight is [ceil(n / 16)][ceil(k / 4)][16][4]: four factors of a column are contiguous, because processors add four products at once.
 * VNNI multiplies unsigned bytes by signed bytes: it gets rows of int8 with 128 added, and the surplus is subtracted from the sums at the end.
 */
#ifndef FLAMBEAU_KERNELS_INTEGER_PRODUCTS_H
#define FLAMBEAU_KERNELS_INTEGER_PRODUCTS_H

#include "gemm.h"
#include "loops.h"

#define FL_QUAD 4
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(FL_SIMD_AVX512)
#define FL_QUAD_VECTOR 1
#endif

/* The rows of a tile, for which the sums fit into registers. */
#if defined(FL_QUAD_VECTOR)
#define FL_QUAD_ROWS 8
#elif defined(__AVX2__)
#define FL_QUAD_ROWS 4
#else
#define FL_QUAD_ROWS 1
#endif

/* The requantization of sums: result = clamp(((sum + bias) * multiplier + 2^(shift - 1) >> shift) + zero_point, low, high), per channel. */
typedef struct fl_requantization {
  const int32_t *bias, *multiplier, *shift;
  int32_t zero_point, low, high;
  int is_narrow; /* fl_is_narrow holds for every shift */
} fl_requantization;

#if defined(FL_SIMD_AVX512)
/* The requantization of the sums of sixteen channels, with vectors that multiply every second lane in 64 bits. Because no shift is below 32, the
 * upper half of the shifted number holds the result; because none is above 54, the zero point is added before the shift. */
typedef struct fl_requantization_lanes {
  __m512i bias, multiplier, odd_multiplier, added, odd_added, shift; /* the last 32 bits of the shift */
} fl_requantization_lanes;

FL_INLINE fl_requantization_lanes fl_lanes_of_requantization(__m512i bias, __m512i multiplier, __m512i shift, int32_t zero_point) {
  const __m512i even = _mm512_and_si512(shift, _mm512_set1_epi64(UINT32_MAX)), odd = _mm512_srli_epi64(shift, 32);
  const __m512i one = _mm512_set1_epi64(1), zero = _mm512_set1_epi64(zero_point);
  return (fl_requantization_lanes){
      bias,
      multiplier,
      _mm512_srli_epi64(multiplier, 32),
      _mm512_add_epi64(_mm512_srli_epi64(_mm512_sllv_epi64(one, even), 1), _mm512_sllv_epi64(zero, even)),
      _mm512_add_epi64(_mm512_srli_epi64(_mm512_sllv_epi64(one, odd), 1), _mm512_sllv_epi64(zero, odd)),
      _mm512_sub_epi32(shift, _mm512_set1_epi32(32)),
  };
}

/* Returns the results, before they are limited. */
FL_INLINE __m512i fl_requantized_lanes(const fl_requantization_lanes *to, __m512i sums) {
  const __m512i sum = _mm512_add_epi32(sums, to->bias);
  const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(sum, to->multiplier), to->added);
  const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(sum, 32), to->odd_multiplier), to->odd_added);
  return _mm512_srav_epi32(_mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)_MM_SHUFFLE(3, 3, 1, 1)), to->shift);
}

#if defined(__AVX512BW__)
/* Returns the limited results of four vectors as bytes: four of each vector in turn. Packing limits to the range of the type first. */
FL_INLINE __m512i fl_limited_bytes(const fl_requantization *to, const __m512i values[4], const int is_signed) {
  const __m512i low = _mm512_set1_epi8((char)to->low), high = _mm512_set1_epi8((char)to->high);
  const __m512i words = _mm512_packs_epi32(values[0], values[1]), next = _mm512_packs_epi32(values[2], values[3]);
  if (is_signed) {
    return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(words, next), low), high);
  }
  return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(words, next), low), high);
}
#endif
#endif

#define FL_MOST_SHIFT 61
/* Returns whether the vector code can shift by this. */
static inline int fl_is_narrow(int64_t shift) { return shift >= 32 && shift <= 54; }

/* A product of rows of k bytes with a weight of n columns. */
typedef struct fl_integer_product {
  size_t n, k;
  const int8_t *weight; /* packed */
  int is_signed;        /* 1: rows are of int8; 0: of uint8 */
  fl_requantization to;
} fl_integer_product;

/* Returns the number of groups of four that k factors take. */
static inline size_t fl_quads(size_t k) { return (k + FL_QUAD - 1) / FL_QUAD; }

/* Writes the sums of `rows` rows, for `count` channels from channel `first` on, as bytes to `out`, whose rows are `stride` bytes apart. */
void fl_requantize(const fl_requantization *to, int32_t (*sums)[FL_PANEL], size_t rows, size_t first, size_t count, uint8_t *out, size_t stride);

/* The most products in a sum that cannot exceed int32. */
#define FL_MOST_PRODUCTS 65536

/* Returns whether a tensor has the shape and the layout of a packed weight of k rows and n columns. */
static inline int fl_is_packed_integers(const fl_tensor *weight, size_t n, size_t k) {
  return k <= FL_MOST_PRODUCTS && weight->rank == 4 && (size_t)weight->sizes[0] == (n + FL_PANEL - 1) / FL_PANEL &&
         (size_t)weight->sizes[1] == fl_quads(k) && weight->sizes[2] == FL_PANEL && weight->sizes[3] == FL_QUAD && fl_is_contiguous(weight);
}

/* Receives the sums of one tile: of `rows` rows from `row` on, and of `columns` columns from `column` on. */
typedef void fl_take_sums(const void *taker, int32_t (*sums)[FL_PANEL], size_t row, size_t rows, size_t column, size_t columns);

/* Multiplies m rows, `stride` bytes apart, with the weight, and calls `take` with `taker` and the sums of each tile. */
void fl_integer_product_sums(const fl_integer_product *product, const uint8_t *rows, size_t stride, size_t m, fl_take_sums *take, const void *taker);

/* Multiplies m rows with the weight, and writes the requantized results to `out`, whose rows are `out_stride` bytes apart. */
void fl_integer_product_rows(const fl_integer_product *product, const uint8_t *rows, size_t stride, size_t m, uint8_t *out, size_t out_stride);

/* As fl_integer_product_rows, with the threads of `context`. */
void fl_integer_product_run(const fl_context *context, const fl_integer_product *product, const uint8_t *rows, size_t stride, size_t m, uint8_t *out,
                            size_t out_stride);

#endif
