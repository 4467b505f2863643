/* Iteration over tensors: element-by-element computing with broadcasting and conversion, lines.
 *
 * In-place use: an elementwise kernel may be given an out whose storage is exactly that of an input of the same type, sizes and dim order.
 */
#ifndef FLAMBEAU_KERNELS_LOOPS_H
#define FLAMBEAU_KERNELS_LOOPS_H

#include "arguments.h"
#include "nest.h"
#include "scratch.h"
#include "strided.h"

/* Elements that are converted at a time, at most, and the bytes that they may take together. */
#define FL_BLOCK 256
#define FL_BLOCKS_BYTES 4096
_Static_assert(FL_BLOCK * (8 + FL_COMPUTE_BYTES) <= FL_BLOCKS_BYTES, "one operand of the widest types has whole blocks");

/* Loops of one body do not depend on each other: an out may be the very storage of an input. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that calls the C library stays scalar, as it should */
#define FL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FL_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Scratch memory of kernels that convert elements in blocks, and of kernels that hold up to four views and a nest. */
size_t fl_blocks_scratch(fl_value *const *args, size_t count);
size_t fl_views_scratch(fl_value *const *args, size_t count);

/* ---- elements in blocks ---- */

/* Elements of one operand on their way to or from a computing type. */
typedef struct fl_buffer {
  unsigned char *raw;      /* a block of elements as they are stored */
  unsigned char *computed; /* a block of elements of the computing type */
  fl_convert_fn convert;   /* NULL: the element type is the computing type */
  size_t element;          /* bytes of an element as it is stored */
  size_t width;            /* bytes of an element of the computing type */
} fl_buffer;

/* Without blocks, which one that reads or writes directly does not need. */
fl_buffer fl_buffer_for_reading(int8_t from, fl_compute to);
fl_buffer fl_buffer_for_writing(fl_compute from, int8_t to);
/* Takes scratch memory for blocks of n elements, the raw one for elements that do not stand side by side. */
fl_status fl_buffer_take(fl_context *context, fl_buffer *buffer, size_t n, int with_raw);
/* The length of blocks that take so many bytes for each of their elements. */
size_t fl_block_length(size_t bytes);

/* True when n elements, `stride` bytes apart, need no buffer. */
static inline int fl_is_direct(const fl_buffer *buffer, size_t n, int64_t stride) {
  return buffer->convert == NULL && (n <= 1 || stride == (int64_t)buffer->element);
}

/* n elements, `stride` bytes apart, as computing elements side by side; at most a block unless direct. */
const void *fl_buffer_read(fl_buffer *buffer, size_t n, const char *from, int64_t stride);
/* Writes n computing elements, which may be buffer->computed, as elements `stride` bytes apart; at most a block unless direct. */
void fl_buffer_write(fl_buffer *buffer, size_t n, const void *computed, char *to, int64_t stride);

/* ---- lines: the elements along one dimension ---- */

/* Every position of the other dimensions, for operands of one shape. A zero-dimensional tensor is one line of one element. */
typedef struct fl_lines {
  fl_nest nest;                     /* over the other dimensions; step it with `inner` 0 */
  size_t length;
  int64_t strides[FL_MAX_OPERANDS]; /* bytes along the line */
} fl_lines;

/* The operands must have the sizes of the first one but for dimension `dim`; the length is the first one's. */
void fl_lines_of(fl_lines *lines, const fl_tensor *const *operands, uint8_t count, uint8_t dim);

/* ---- elementwise ---- */

/* A Scalar parameter, exact in either reading. */
typedef struct fl_parameter {
  double real;
  int64_t integer;
} fl_parameter;

/* The work on n elements that stand side by side: inputs of the computing types, out of the result type. */
typedef void (*fl_span_fn)(size_t n, void *out, const void *const *in, const fl_parameter *parameters);

typedef struct fl_map {
  fl_span_fn span;
  fl_compute in[FL_MAX_OPERANDS - 1]; /* type of each input */
  fl_compute result;
  int8_t common; /* the type ATen computes integers in, to wrap to when out is wider; -1: none */
  const fl_parameter *parameters;
} fl_map;

/* The value as a tensor: itself, or a Scalar as a zero-dimensional one held in `storage`; NULL for other kinds. */
typedef struct fl_scalar_tensor {
  fl_tensor tensor;
  union {
    double real;
    int64_t integer;
    uint8_t boolean;
  } value;
} fl_scalar_tensor;
const fl_tensor *fl_operand(const fl_value *value, fl_scalar_tensor *storage);
/* The same; a single integer that does not count in the promotion to the integer type `common` wraps around in that type, as in ATen. */
const fl_tensor *fl_operand_as(const fl_value *value, int8_t common, fl_scalar_tensor *storage);
/* Adds an operand (tensor or Scalar) to a promotion. */
void fl_promotion_operand(fl_promotion *promotion, const fl_value *value, const fl_tensor *tensor);

/* The shape that the inputs broadcast to; `sizes` has FL_MAX_RANK. */
fl_status fl_broadcast_shape(fl_context *context, int32_t *sizes, uint8_t *rank, const fl_tensor *const *in, size_t count);
/* Resizes out to it. */
fl_status fl_broadcast_out(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count);
/* out[i] = span(in[0][i], …), the inputs broadcast to out's sizes (checked) and converted. At most three inputs. */
fl_status fl_map_run(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count, const fl_map *map);
/* out = input, broadcast and converted. */
fl_status fl_map_copy(fl_context *context, fl_tensor *out, const fl_tensor *in);
/* Writes the Scalar as one element of the type; returns 0 when it is not a Scalar. */
int fl_scalar_element(const fl_value *scalar, int8_t dtype, void *element);
/* out[i] = a Scalar. */
fl_status fl_fill_scalar(fl_context *context, fl_tensor *out, const fl_value *scalar);

#endif
