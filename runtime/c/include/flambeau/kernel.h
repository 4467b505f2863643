/* The interface for authors of kernels.
 *
 * A kernel is one function per operator. It receives every argument of the operator's out-variant schema in schema order, then the outs
 * again (one out: the same value twice; several: a FL_TENSOR_LIST of them), which is the calling convention of the .pte format.
 * What each argument is, and which of them a kernel writes, stands in its table, and the executor relies on it: a program that passes a value of
 * another kind is refused, and so is a call that could write to a constant, or over an operand.
 * A kernel may not allocate, except from the scratch memory that its own `scratch` function asked for, where everything stands that would
 * take a function more than 1 kB of stack; may not keep state; must check what depends on shapes and dtypes before it writes; and reports failures with FL_FAIL, whose text is what the user reads, followed by the
 * arguments of the call. FL_FAIL_NUMBERS adds numbers that the arguments do not show, such as an index that a tensor holds.
 */
#ifndef FLAMBEAU_KERNEL_H
#define FLAMBEAU_KERNEL_H

#include "flambeau/status.h"
#include "flambeau/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a method stands in its random numbers: those of Philox 4x32-10 whose key is the seed, in blocks of four words that count up. */
typedef struct fl_random {
  uint64_t seed;
  uint64_t counter;
} fl_random;

/* Passed to each call, which may change it: the next call gets all of the scratch memory again. */
typedef struct fl_context {
  void *scratch;         /* `scratch` bytes, 64-byte aligned; NULL when the kernel asked for none */
  size_t scratch_size;
  const char *message;   /* static text of the first failure */
  int64_t numbers[2];    /* what stands for the first % of the text and for the second */
  uint8_t has_numbers;   /* 0: a % stands for itself */
  uint8_t is_condition;  /* the text is the program's own, of what must hold; with numbers, the first is what was found instead */
  const fl_tensor *over; /* the operand in whose memory a dynamic out lies, and whose sizes it must have; NULL: none */
  fl_random *random;     /* the method's; a kernel that draws counts the blocks it takes. NULL outside of a method */
} fl_context;

typedef fl_status (*fl_kernel_fn)(fl_context *context, fl_value *const *args, size_t count);

/* Bytes of scratch memory that a call with these arguments (data pointers not yet set) needs. Called at load with the upper bounds of
 * the sizes, and before each call with the sizes then: a call that needs more than what was asked for at load is refused. SIZE_MAX: too many.
 * At load, a list has at most its first 16 items. */
typedef size_t (*fl_scratch_fn)(fl_value *const *args, size_t count);

typedef struct fl_kernel {
  const char *name;      /* "aten::add.out" */
  fl_kernel_fn run;
  fl_scratch_fn scratch; /* NULL: none */
  /* A letter for each argument of a call, returns included. A program that passes a value of another kind is refused when it is loaded.
   * What is read:
   *   t  a tensor
   *   i  a tensor; an out of the same type, sizes and layout may take its memory, as the kernel reads each element before it writes there
   *   n  a number: an integer, a real or a truth value, each of which an instruction may have made another one
   *   c  a string
   *   l  a list of integers (d: of reals, b: of truth values, k: of tensors, o: of tensors and None)
   *   r  a value of any kind, which the kernel checks
   * What is written:
   *   w  a tensor, or list of tensors, that is written; the last of several at the end is what the call returns
   *   v  a tensor that becomes a view of argument 0
   *   s  a number, which is replaced
   * A capital: the same, or None. At the end, * stands for any further arguments, which are not looked at. */
  const char *access;
} fl_kernel;

/* A table of kernels sorted by name (strcmp order). Several may be given to a method; the first that has the name wins. */
typedef struct fl_kernel_table {
  const fl_kernel *kernels;
  size_t count;
} fl_kernel_table;

/* Every kernel that this library was built with. */
FL_API const fl_kernel_table *fl_builtin_kernels(void);

#define FL_FAIL(context, status, text) ((context)->message = (text), (status))
#define FL_FAIL_NUMBERS(context, status, text, first, second)                                                        \
  ((context)->numbers[0] = (first), (context)->numbers[1] = (second), (context)->has_numbers = 1, FL_FAIL(context, status, text))
#define FL_CHECK(context, condition, text)                        \
  do {                                                            \
    if (!(condition)) {                                           \
      return FL_FAIL((context), FL_INVALID_ARGUMENT, (text));     \
    }                                                             \
  } while (0)
#define FL_CHECK_NUMBERS(context, condition, text, first, second)                             \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      return FL_FAIL_NUMBERS((context), FL_INVALID_ARGUMENT, (text), (first), (second));      \
    }                                                                                         \
  } while (0)

/* Number of elements; sizes were checked at load to keep this within size_t. */
static inline size_t fl_numel(const fl_tensor *t) {
  size_t n = 1;
  for (uint8_t i = 0; i < t->rank; ++i) {
    n *= (size_t)t->sizes[i];
  }
  return n;
}

/* count * size for a fl_scratch_fn: SIZE_MAX when that does not fit. */
static inline size_t fl_scratch_bytes(size_t count, size_t size) { return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size; }

/* Bytes of one element of the dtypes that kernels compute with; 0 for another one, such as a complex one. */
static inline size_t fl_dtype_size(int8_t dtype) {
  switch (dtype) {
#define FL_COMPLEX_TYPE(...)
#define FL_SCALAR_TYPE(constant, number, bytes, ...) case FL_##constant: return bytes;
#include "flambeau/scalar_types.def"
    default: return 0;
  }
}

/* Bytes of one element of any dtype; 0 for one that this runtime does not know. */
static inline size_t fl_element_size(int8_t dtype) {
  switch (dtype) {
#define FL_SCALAR_TYPE(constant, number, bytes, ...) case FL_##constant: return bytes;
#include "flambeau/scalar_types.def"
    default: return 0;
  }
}

/* True when the memory order is the logical order (size-1 dimensions may stand anywhere). */
FL_API int fl_is_contiguous(const fl_tensor *t);
/* True when two tensors of one rank lay their elements out in the same order (size-1 dimensions ignored). */
FL_API int fl_same_order(const fl_tensor *a, const fl_tensor *b);
FL_API int fl_same_sizes(const fl_tensor *a, const fl_tensor *b);
/* Gives `t` new sizes and recomputes its strides. A fixed tensor admits only its own sizes; a dynamic one, the same rank and no dimension over its bound. */
FL_API fl_status fl_resize(fl_context *context, fl_tensor *t, const int32_t *sizes, uint8_t rank);

/* Arguments. Each returns nonzero and leaves `out` alone when the value is of another kind. */
FL_API int fl_get_int(const fl_value *v, int64_t *out);      /* FL_INT, FL_BOOLEAN */
FL_API int fl_get_real(const fl_value *v, double *out);      /* a Scalar as a number: FL_DOUBLE, FL_INT, FL_BOOLEAN */
FL_API int fl_get_ints(const fl_value *v, int64_t *out, uint32_t capacity, uint32_t *count); /* FL_INT_LIST */
static inline fl_tensor *fl_get_tensor(const fl_value *v) { return v->tag == FL_TENSOR ? v->as.tensor : NULL; }
static inline int fl_is_none(const fl_value *v) { return v->tag == FL_NONE; }

#ifdef __cplusplus
}
#endif

#endif
