/* Matrix products of floats: C = activation(A B + bias + addend), with B packed and the rows of A read where they lie.
 *
 * Packed B is [ceil(n / 16)][k][16]: panel p holds columns 16 p .. 16 p + 15 of B, zero beyond n. The format is the same for every
 * instruction set, so that a compiler may pack weights ahead of time. Nothing needs to be aligned beyond a float; 64 bytes is fastest.
 *
 * A row of A may consist of several segments of equal depth, each anywhere in memory: a convolution passes one segment per kernel row and so
 * needs no im2col.
 */
#ifndef FLAMBEAU_KERNELS_GEMM_H
#define FLAMBEAU_KERNELS_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "simd.h"

#define FL_PANEL 16

typedef enum fl_activation {
#define FL_ACTIVATION(NAME, name, expression) FL_ACTIVATION_##NAME,
#include "epilogue.def"
#undef FL_ACTIVATION
} fl_activation;

/* The message for what is not an activation; it lists the names. */
extern const char fl_not_an_activation[];

/* Nonzero when `name` is an activation ("none", "relu", "gelu_tanh", ...). */
int fl_activation_from_name(const char *name, size_t length, fl_activation *out);

/* x = activation(x), in place. */
void fl_activate(fl_activation activation, float *x, size_t n);

typedef struct fl_gemm {
  size_t n;                 /* columns of B and C */
  size_t segments;          /* of a row of A; k = segments * depth */
  size_t depth;             /* floats in a segment */
  const float *b;           /* packed */
  const float *bias;        /* n floats, or NULL */
  fl_activation activation;
  int accumulate;           /* C = activation(C + A B + bias + addend) */
} fl_gemm;

/* Floats that packed B takes. */
static inline size_t fl_packed_size(size_t k, size_t n) { return (n + FL_PANEL - 1) / FL_PANEL * FL_PANEL * k; }

/* packed = B, where B[i][j] is b[i * stride_k + j * stride_n]. */
void fl_pack_b(const float *b, size_t k, size_t n, size_t stride_k, size_t stride_n, float *packed);

/* m rows; rows[s * m + i] is segment s of row i. `addend` may be NULL; it may be `c` itself (with the same row stride), else it must not
 * overlap C. Best called with FL_GEMM_ROWS rows or fewer, so that they stay in cache while the columns go by. */
void fl_gemm_rows(const fl_gemm *g, const float *const *rows, size_t m, float *c, size_t c_stride, const float *addend, size_t addend_stride);
#define FL_GEMM_ROWS 192

/* The same for A of one segment per row, `a_stride` floats apart. Any m. */
void fl_gemm_dense(const fl_gemm *g, const float *a, size_t a_stride, size_t m, float *c, size_t c_stride, const float *addend,
                   size_t addend_stride);

FL_INLINE fl_vec fl_gelu(fl_vec x) { return fl_set(0.5f) * x * (fl_set(1.0f) + fl_erf(x * fl_set(0.70710678118654752f))); }

FL_INLINE fl_vec fl_gelu_tanh(fl_vec x) {
  fl_vec inner = fl_set(0.79788456080286536f) * fl_fma(x * x * x, fl_set(0.044715f), x);
  return fl_set(0.5f) * x * (fl_set(1.0f) + fl_tanh(inner));
}

#endif
