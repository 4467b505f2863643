/* Matrix products of floats: C = activation(A B + bias + addend), with B packed and A in its own memory.
 *
 * Packed B is [ceil(n / 16)][k][16]: panel p holds columns 16 p .. 16 p + 15 of B, zero beyond n. The format is the same for every
 * instruction set, so that a compiler may pack weights ahead of time. Matrices need only the alignment of a float; 64 bytes are fastest.
 *
 * A row of A may consist of several segments of equal depth, each anywhere in memory: a convolution passes one segment per kernel row, and
 * therefore needs no im2col.
 */
#ifndef FLAMBEAU_KERNELS_GEMM_H
#define FLAMBEAU_KERNELS_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "divide.h"
#include "simd.h"

#define FL_PANEL 16

typedef enum fl_activation {
#define FL_ACTIVATION(NAME, name, expression) FL_ACTIVATION_##NAME,
#include "epilogue.def"
#undef FL_ACTIVATION
} fl_activation;

/* The message for a name that is no activation; it lists the names. */
extern const char fl_not_an_activation[];

/* Stores the activation with that name ("none", "relu", "gelu_tanh", ...) in `out` and returns nonzero; returns 0 for other names. */
int fl_activation_from_name(const char *name, size_t length, fl_activation *out);

/* Replaces n floats x by activation(x). */
void fl_activate(fl_activation activation, float *x, size_t n);

/* A product, without A and C. */
typedef struct fl_gemm {
  size_t n;                 /* columns of B and C */
  size_t segments;          /* segments in a row of A; k = segments * depth */
  size_t depth;             /* floats in a segment */
  const float *b;           /* packed */
  const float *bias;        /* n floats, or NULL */
  fl_activation activation;
  int accumulate;           /* 1: C = activation(C + A B + bias + addend) */
  const float *row_bias;    /* a number for each row of C, which is added to the row, or NULL */
} fl_gemm;

/* Returns the number of floats in packed B of k rows and n columns. */
static inline size_t fl_packed_size(size_t k, size_t n) { return (n + FL_PANEL - 1) / FL_PANEL * FL_PANEL * k; }

/* Packs B, whose element B[i][j] is b[i * stride_k + j * stride_n]. */
void fl_pack_b(const float *b, size_t k, size_t n, size_t stride_k, size_t stride_n, float *packed);

/* Returns the columns of C in a piece, of `pieces` that may be empty. Columns that lie in one tile lie in one piece, so results are those of the
 * whole product. */
fl_range fl_gemm_columns(const fl_gemm *g, size_t pieces, size_t piece);
/* Returns the number of pieces into which the columns can be cut, at most `wanted` and at least 1. */
size_t fl_gemm_pieces(const fl_gemm *g, size_t wanted);

/* Computes these columns of m rows of C. rows[s * m + i] is segment s of row i of A; strides are in floats. `addend` may be NULL, or `c` itself with the same row
 * stride; otherwise it must not overlap C. At most FL_GEMM_ROWS rows per call stay in cache for all columns, and are fastest. */
void fl_gemm_rows(const fl_gemm *g, fl_range columns, const float *const *rows, size_t m, float *c, size_t c_stride, const float *addend,
                  size_t addend_stride);
#define FL_GEMM_ROWS 192

/* Computes these columns of m rows of C, with rows of A `a_stride` floats apart. */
void fl_gemm_dense_columns(const fl_gemm *g, fl_range columns, const float *a, size_t a_stride, size_t m, float *c, size_t c_stride);

/* Computes m rows of C for an A of one segment per row, `a_stride` floats apart. Is fast for any m. The threads of `context` help; NULL: none do. */
void fl_gemm_dense(const fl_context *context, const fl_gemm *g, const float *a, size_t a_stride, size_t m, float *c, size_t c_stride,
                   const float *addend, size_t addend_stride);

#endif
