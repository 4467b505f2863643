/* Iteration over tensors: elementwise functions with broadcasting and conversion, and lines along one dimension.
 *
 * In-place use: an elementwise kernel may be given an out whose storage is exactly that of an input of the same type, sizes and dim order.
 */
#ifndef FLAMBEAU_KERNELS_LOOPS_H
#define FLAMBEAU_KERNELS_LOOPS_H

#include "arguments.h"
#include "nest.h"
#include "operands.h"
#include "scratch.h"
#include "strided.h"

/* The most elements that are converted at a time, and the most bytes that the blocks of all operands take together. */
#define FL_BLOCK 256
#define FL_BLOCKS_BYTES 4096
_Static_assert(FL_BLOCK * (8 + FL_COMPUTE_BYTES) <= FL_BLOCKS_BYTES, "one operand of the widest types has whole blocks");

/* Declares that the rounds of the next loop are independent, which the compiler cannot prove because an out may lie on an input. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that calls the C library stays scalar, and needs no warning */
#define FL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FL_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Return the scratch memory of kernels that convert elements in blocks, and of kernels that hold up to four views and a nest. */
size_t fl_blocks_scratch(fl_value *const *args, size_t count);
size_t fl_views_scratch(fl_value *const *args, size_t count);
/* Return the scratch memory of kernels that call fl_map_run once, with their first one, two or three arguments. */
size_t fl_unary_scratch(fl_value *const *args, size_t count);
size_t fl_binary_scratch(fl_value *const *args, size_t count);
size_t fl_ternary_scratch(fl_value *const *args, size_t count);

/* ---- elements in blocks ---- */

/* The conversion of one operand's elements to or from a computing type. */
typedef struct fl_buffer {
  unsigned char *raw;      /* a block of elements of the element type */
  unsigned char *computed; /* a block of elements of the computing type */
  fl_convert_fn convert;   /* NULL: the element type is the computing type */
  size_t element;          /* bytes of an element of the element type */
  size_t width;            /* bytes of an element of the computing type */
} fl_buffer;

/* Return a buffer without blocks, which suffices if fl_is_direct holds; otherwise call fl_buffer_take. */
fl_buffer fl_buffer_for_reading(int8_t from, fl_compute to);
fl_buffer fl_buffer_for_writing(fl_compute from, int8_t to);
/* Takes scratch memory for blocks of n elements; `with_raw` takes the raw block too, for elements that are not contiguous. */
fl_status fl_buffer_take(fl_context *context, fl_buffer *buffer, size_t n, int with_raw);
/* Returns the number of elements in a block, when all blocks together take `bytes` bytes per element. */
size_t fl_block_length(size_t bytes);

/* Returns whether n elements, `stride` bytes apart, need neither a conversion nor a copy. */
static inline int fl_is_direct(const fl_buffer *buffer, size_t n, int64_t stride) {
  return buffer->convert == NULL && (n <= 1 || stride == (int64_t)buffer->element);
}

/* Returns n elements, `stride` bytes apart, as contiguous elements of the computing type. n is at most a block, unless fl_is_direct holds. */
const void *fl_buffer_read(fl_buffer *buffer, size_t n, const char *from, int64_t stride);
/* Writes n contiguous elements of the computing type, which may be buffer->computed, `stride` bytes apart. n is at most a block, unless
 * fl_is_direct holds. */
void fl_buffer_write(fl_buffer *buffer, size_t n, const void *computed, char *to, int64_t stride);

/* ---- lines: the elements along one dimension ---- */

/* The lines of several operands of one shape: one line for every position in the other dimensions. A zero-dimensional tensor is one line
 * of one element. */
typedef struct fl_lines {
  fl_nest nest;                     /* the other dimensions; step it with `inner` 0 */
  size_t length;                    /* elements of a line of operand 0 */
  int64_t strides[FL_MAX_OPERANDS]; /* bytes from an element of a line to the next, for each operand */
} fl_lines;

/* Fills `lines` with the lines along dimension `dim`. All operands must have the sizes of operand 0, except in `dim`. */
void fl_lines_of(fl_lines *lines, const fl_tensor *const *operands, uint8_t count, uint8_t dim);

/* ---- elementwise ---- */

/* A Scalar parameter, as a real number and as an integer, both exact if the Scalar has that kind. */
typedef struct fl_parameter {
  double real;
  int64_t integer;
} fl_parameter;

/* Computes n contiguous elements of `out`, which has the result type, from the inputs, which have their computing types. */
typedef void (*fl_span_fn)(size_t n, void *out, const void *const *in, const fl_parameter *parameters);

/* An elementwise function. */
typedef struct fl_map {
  fl_span_fn span;
  fl_compute in[FL_MAX_OPERANDS - 1]; /* computing type of each input */
  fl_compute result;
  int8_t common; /* the integer dtype in which ATen computes, to which results wrap when out is wider; -1: none */
  const fl_parameter *parameters;
} fl_map;

/* Computes out[i] = span(in[0][i], …) of at most three inputs, which are broadcast to out's sizes and converted. Fails if they do not fit. */
fl_status fl_map_run(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count, const fl_map *map);
/* Copies `in` to `out`, broadcast to its sizes and converted. */
fl_status fl_map_copy(fl_context *context, fl_tensor *out, const fl_tensor *in);
/* Writes a Scalar as one element of `dtype`, and returns 1; returns 0 when the value is no Scalar. */
int fl_scalar_element(const fl_value *scalar, int8_t dtype, void *element);
/* Fills `out` with a Scalar, converted to its type. */
fl_status fl_fill_scalar(fl_context *context, fl_tensor *out, const fl_value *scalar);

#endif
