/* Products of 8-bit integers, and how their sums become 8-bit integers again.
 *
 * A packed weight is [ceil(n / 16)][ceil(k / 4)][16][4]: four products of a column lie side by side, because processors add four at once.
 * Bytes of int8 are read as unsigned ones with `flip` 0x80, which makes 128 more of each; that is subtracted from the sums at the end.
 */
#ifndef FLAMBEAU_KERNELS_INTEGER_PRODUCTS_H
#define FLAMBEAU_KERNELS_INTEGER_PRODUCTS_H

#include "gemm.h"

#define FL_QUAD 4
/* Rows of a tile. */
#define FL_QUAD_ROWS 8

/* How sums become results: clamp(((sum + bias) * multiplier + 2^(shift - 1) >> shift) + zero_point, low, high), for each channel. */
typedef struct fl_requantization {
  const int32_t *bias, *multiplier, *shift;
  int32_t zero_point, low, high;
} fl_requantization;

typedef struct fl_integer_product {
  size_t n, k;
  const int8_t *weight; /* packed */
  uint8_t flip;         /* 0x80 for rows of int8, 0 for uint8 */
  fl_requantization to;
} fl_integer_product;

static inline size_t fl_quads(size_t k) { return (k + FL_QUAD - 1) / FL_QUAD; }

/* The sums of `count` channels from channel `first` on, as bytes. */
void fl_requantize(const fl_requantization *to, const int32_t *sums, size_t first, size_t count, uint8_t *out);

/* m rows of k bytes each, `stride` bytes apart, times the weight; results are `out_stride` bytes apart. */
void fl_integer_product_run(const fl_integer_product *product, const uint8_t *rows, size_t stride, size_t m, uint8_t *out, size_t out_stride);

#endif
