/* Iteration over tensors: loop nests with strides, element-by-element computing with broadcasting and conversion, strided copies.
 *
 * In-place use: an elementwise kernel may be given an out whose storage is exactly that of an input of the same type, sizes and dim order.
 */
#ifndef FLAMBEAU_KERNELS_LOOPS_H
#define FLAMBEAU_KERNELS_LOOPS_H

#include "dtype.h"

/* Some views split two dimensions of a tensor. */
#define FL_MAX_DIMS (FL_MAX_RANK + 2)
#define FL_MAX_OPERANDS 4
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

#define FL_TENSOR_ARGUMENT(name, i)                                                 \
  fl_tensor *name = fl_get_tensor(args[i]);                                         \
  FL_CHECK(context, name != NULL && fl_dtype_size(name->dtype) > 0, "argument " #i " must be a tensor of a known type")
#define FL_INT_ARGUMENT(name, i) \
  int64_t name = 0;              \
  FL_CHECK(context, fl_get_int(args[i], &name), "argument " #i " must be an integer")
#define FL_REAL_ARGUMENT(name, i) \
  double name = 0;                \
  FL_CHECK(context, fl_get_real(args[i], &name), "argument " #i " must be a number")
#define FL_INTS_ARGUMENT(name, number, i)   \
  int64_t name[FL_MAX_RANK];                \
  uint32_t number = 0;                      \
  FL_CHECK(context, fl_get_ints(args[i], name, FL_MAX_RANK, &number), "argument " #i " must be a list of at most 16 integers")
#define FL_TRY(expression)           \
  do {                               \
    fl_status try_ = (expression);   \
    if (try_ != FL_OK) {             \
      return try_;                   \
    }                                \
  } while (0)

/* Wraps a possibly negative dimension; fails outside [-rank, rank), where rank 0 counts as 1. */
static inline fl_status fl_wrap_dim(fl_context *context, int64_t dim, uint8_t rank, uint8_t *wrapped) {
  int64_t count = rank > 0 ? rank : 1;
  FL_CHECK_NUMBERS(context, dim >= -count && dim < count, "dimension % is out of range for % dimensions", dim, rank);
  *wrapped = (uint8_t)(dim < 0 ? dim + count : dim);
  return FL_OK;
}

/* ---- working memory ---- */

/* What is too large for the stack stands in scratch memory. A piece is aligned to 64 bytes; NULL when there is not enough left. */
static inline void *fl_take(fl_context *context, size_t bytes) {
  const size_t whole = (bytes + 63) / 64 * 64;
  if (context->scratch_size < whole) {
    return NULL;
  }
  char *const piece = context->scratch;
  context->scratch = piece + whole;
  context->scratch_size -= whole;
  return piece;
}

/* Declares a pointer to working memory for `number` of a type. */
#define FL_TAKE(type, name, number)                                      \
  type *const name = fl_take(context, (size_t)(number) * sizeof(type));  \
  if (name == NULL) {                                                    \
    return FL_FAIL(context, FL_OUT_OF_MEMORY, "the kernel was given too little scratch memory"); \
  }

/* For a function that is called several times by one kernel: what it took is free again. */
typedef struct fl_mark {
  void *scratch;
  size_t scratch_size;
} fl_mark;

static inline fl_mark fl_mark_scratch(const fl_context *context) { return (fl_mark){context->scratch, context->scratch_size}; }

static inline void fl_release(fl_context *context, fl_mark mark) {
  context->scratch = mark.scratch;
  context->scratch_size = mark.scratch_size;
}

/* Bytes that fl_take uses for `number` of a type. */
#define FL_TAKEN(type, number) (((number) * sizeof(type) + 63) / 64 * 64)

/* Scratch memory of kernels that convert elements in blocks, and of kernels that hold up to four views and a nest. */
size_t fl_blocks_scratch(fl_value *const *args, size_t count);
size_t fl_views_scratch(fl_value *const *args, size_t count);

/* ---- loop nests ---- */

/* Loops over several operands at once. Strides are in bytes; operand 0 is the one written. */
typedef struct fl_nest {
  uint32_t sizes[FL_MAX_DIMS]; /* a tensor has at most 2^31 - 1 elements */
  int64_t strides[FL_MAX_OPERANDS][FL_MAX_DIMS];
  uint8_t rank;
  uint8_t operands;
} fl_nest;

/* Adds an innermost dimension. Strides: one per operand. */
void fl_nest_push(fl_nest *nest, size_t size, const int64_t *strides);
/* Drops dimensions of size 1, orders the rest by the strides of operand `key` (largest outermost), merges those that make one run. */
void fl_nest_simplify(fl_nest *nest, uint8_t key);
/* Steps the outer `rank - inner` dimensions; `index` starts as zeros. Returns 0 after the last position. */
int fl_nest_next(const fl_nest *nest, uint8_t inner, uint32_t *index, char **at);

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

/* ---- strided copies ---- */

/* A part of a tensor's storage, or the same elements in another arrangement. Strides in bytes, possibly 0 or negative. */
typedef struct fl_view {
  char *data;
  int64_t sizes[FL_MAX_DIMS];
  int64_t strides[FL_MAX_DIMS];
  uint8_t rank;
  uint8_t element; /* bytes */
} fl_view;

fl_view fl_view_of(const fl_tensor *tensor);
/* The tensor's elements over the sizes that it must broadcast to. */
fl_status fl_view_broadcast(fl_context *context, fl_view *view, const fl_tensor *tensor, uint8_t rank, const int32_t *sizes);
/* Copies element by element; both have the same sizes and element size and do not overlap (unless they are the same view). */
void fl_view_copy(const fl_view *to, const fl_view *from);
/* Steps the outer `rank - inner` dimensions in logical order; `index` starts as zeros. Returns 0 after the last position. */
int fl_view_next(const fl_view *view, uint8_t inner, uint32_t *index, char **at);
/* Copies in logical (row-major) order between views of the same number of elements and possibly other shapes. */
void fl_view_reshape(const fl_view *to, const fl_view *from);
/* Takes a dimension of size 1 away. */
void fl_view_drop_dim(fl_view *view, uint8_t dim);
/* Keeps [start, start + length) of a dimension. */
void fl_view_narrow(fl_view *view, uint8_t dim, int64_t start, int64_t length);
/* Keeps one index of a dimension, which goes away; a negative index counts from the end. */
fl_status fl_view_select(fl_context *context, fl_view *view, int64_t dim, int64_t index);
/* Repeats one element of `element` bytes. */
void fl_view_fill(const fl_view *to, const void *element);
/* Fills n elements of `element` bytes with the one at `from`. */
void fl_splat(size_t n, size_t element, void *to, const void *from);
/* n elements of `element` bytes between strided places. */
void fl_copy_strided(size_t n, size_t element, char *to, int64_t to_stride, const char *from, int64_t from_stride);
/* Resizes out to the view's sizes; it must have the given type. */
fl_status fl_resize_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);
/* The same, and copies. */
fl_status fl_copy_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);

static inline size_t fl_view_numel(const fl_view *view) {
  size_t n = 1;
  for (uint8_t i = 0; i < view->rank; ++i) {
    n *= (size_t)view->sizes[i];
  }
  return n;
}

/* Reads an index element; the dtype must be int64 or int32. */
static inline int64_t fl_index_at(const void *data, int8_t dtype) {
  if (dtype == FL_INT64) {
    int64_t x;
    memcpy(&x, data, sizeof x);
    return x;
  }
  int32_t x;
  memcpy(&x, data, sizeof x);
  return x;
}

#endif
