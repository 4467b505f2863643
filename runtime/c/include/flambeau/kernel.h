/* The interface for authors of kernels.
 *
 * A kernel is one function per operator. It receives every argument of the operator's out-variant schema in schema order, then the outs
 * again (one out: the same value twice; several: a FL_TENSOR_LIST of them), which is the calling convention of the .pte format.
 * fl_kernel.access declares the kind of each argument, and which arguments the kernel writes. The executor relies on it: it refuses a program
 * that passes a value of another kind, and a call that could write to a constant, or over an operand.
 * A kernel allocates memory only from the scratch memory that its own `scratch` function asked for; data that would take more than 1 kB of
 * stack belong there. A kernel keeps no state, and checks all conditions on shapes and dtypes before it writes. It reports failures with
 * FL_FAIL; the user reads this text, followed by the arguments of the call. FL_FAIL_NUMBERS adds numbers that the arguments do not show, such
 * as an index that a tensor holds.
 */
#ifndef FLAMBEAU_KERNEL_H
#define FLAMBEAU_KERNEL_H

#include "flambeau/status.h"
#include "flambeau/threads.h"
#include "flambeau/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The position of a method in its random numbers: Philox 4x32-10 with `seed` as key; `counter` is the number of the next block of four words. */
typedef struct fl_random {
  uint64_t seed;
  uint64_t counter;
} fl_random;

/* The context of one call. The call may change it; the next call gets the whole scratch memory again. */
typedef struct fl_context {
  void *scratch;         /* 64-byte aligned; at least as large as the `scratch` function asked for */
  size_t scratch_size;
  const char *message;   /* static text of the first failure */
  int64_t numbers[2];    /* the numbers that replace the first % of the text and the second */
  uint8_t has_numbers;   /* 0: each % of the text stays */
  uint8_t is_condition;  /* 1: the text is a condition of the program that does not hold; with numbers, the first is the value found */
  const fl_tensor *over; /* the operand in whose memory a dynamic out lies, which must have the operand's sizes; NULL: none */
  fl_random *random;     /* the method's position; a kernel adds the blocks that it draws to `counter`. NULL outside of a method */
  const fl_threads *threads; /* those that help; NULL: none */
  void *slices;          /* with threads: scratch memory of as many bytes for each of them as the method needs; `scratch` is in the first */
  size_t slice_size;
} fl_context;

/* Computes an operator of `count` arguments. */
typedef fl_status (*fl_kernel_fn)(fl_context *context, fl_value *const *args, size_t count);

/* Returns the bytes of scratch memory that a call with these arguments needs, or SIZE_MAX if they do not fit in size_t. Called at load with the
 * upper bounds of the sizes, without data pointers and with at most the first 16 items of each list; and before each call with the actual
 * sizes. A call that needs more than the result at load is refused. */
typedef size_t (*fl_scratch_fn)(fl_value *const *args, size_t count);

/* A kernel of an operator. */
typedef struct fl_kernel {
  const char *name;      /* "aten::add.out" */
  fl_kernel_fn run;
  fl_scratch_fn scratch; /* NULL: none */
  /* A letter for each argument of a call, including the outs that the call returns. Loading refuses a program that passes a value of another kind.
   * Read:
   *   t  a tensor
   *   i  a tensor; an out of the same type, sizes and layout may lie in its memory, because the kernel reads each element before it writes its place
   *   n  a number: an integer, a real or a truth value; an instruction may have changed it
   *   c  a string
   *   l  a list of integers (d: of reals, b: of truth values, k: of tensors, o: of tensors and None)
   *   r  a value of any kind, which the kernel checks
   * Written:
   *   w  a tensor, or list of tensors, that is written; the last of several at the end is the value that the call returns
   *   v  a tensor that becomes a view of argument 0
   *   s  a number that is written
   * A capital letter also admits None. A * at the end admits any further arguments, which are not checked. */
  const char *access;
} fl_kernel;

/* A table of kernels sorted by name (strcmp order). Of several tables of a method, the first that has an operator's name is used. */
typedef struct fl_kernel_table {
  const fl_kernel *kernels;
  size_t count;
} fl_kernel_table;

/* Returns the table of all kernels that this library was built with; of several levels of the processor's instruction set, those of the best. */
FL_API const fl_kernel_table *fl_builtin_kernels(void);
/* Returns the kernels of level `index`, the best first, among those that the library has and this processor executes, and stores its name in
 * `level`, unless that is NULL: "x86-64-v4", "aarch64". The last is the one that the library as a whole was compiled for, which may be "". NULL:
 * there are no more. */
FL_API const fl_kernel_table *fl_kernels_of_level(uint32_t index, const char **level);

/* FL_FAIL sets the text of a failure and evaluates to `status`; FL_FAIL_NUMBERS also sets the numbers for its first and second %. FL_CHECK and
 * FL_CHECK_NUMBERS return with FL_INVALID_ARGUMENT from a kernel, in the same way, unless `condition` holds. */
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

/* Returns the number of elements of a tensor. It fits in size_t, because the sizes were checked at load. */
static inline size_t fl_numel(const fl_tensor *t) {
  size_t n = 1;
  for (uint8_t i = 0; i < t->rank; ++i) {
    n *= (size_t)t->sizes[i];
  }
  return n;
}

/* Returns count * size for a fl_scratch_fn; SIZE_MAX when the product does not fit. */
static inline size_t fl_scratch_bytes(size_t count, size_t size) { return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size; }

/* The dtypes with which kernels compute, as bits (1 << dtype), and float32. A build for some programs defines those of the programs, and its
 * kernels have no code for others: FLAMBEAU_DTYPES. */
#ifndef FL_DTYPES
#define FL_DTYPES 0xffffffffu
#endif

/* Returns whether kernels of this build take a dtype. */
static inline int fl_has(int8_t dtype) {
  return FL_DTYPES == 0xffffffffu || dtype == FL_FLOAT32 || (dtype >= 0 && dtype < 32 && (FL_DTYPES >> dtype & 1u) != 0);
}

/* Returns the bytes of one element of a dtype that kernels of this build compute with; 0 for any other dtype, such as a complex one. */
static inline size_t fl_dtype_size(int8_t dtype) {
  switch (dtype) {
#define FL_COMPLEX_TYPE(...)
#define FL_SCALAR_TYPE(constant, number, bytes, ...) case FL_##constant: return fl_has(FL_##constant) ? bytes : 0;
#include "flambeau/scalar_types.def"
    default: return 0;
  }
}

/* Returns the bytes of one element of any dtype; 0 for a dtype that this runtime does not know. */
static inline size_t fl_element_size(int8_t dtype) {
  switch (dtype) {
#define FL_SCALAR_TYPE(constant, number, bytes, ...) case FL_##constant: return bytes;
#include "flambeau/scalar_types.def"
    default: return 0;
  }
}

/* Returns nonzero when the memory order is the logical order, apart from dimensions of size 1. */
FL_API int fl_is_contiguous(const fl_tensor *t);
/* Returns nonzero when two tensors have the same rank and lay their elements out in the same order, apart from dimensions of size 1. */
FL_API int fl_same_order(const fl_tensor *a, const fl_tensor *b);
/* Returns nonzero when two tensors have the same rank and sizes. */
FL_API int fl_same_sizes(const fl_tensor *a, const fl_tensor *b);
/* Gives `t` new sizes and recomputes its strides. A fixed tensor admits only its own sizes; a dynamic tensor admits the same rank and sizes up to
 * its bounds. Other sizes fail. */
FL_API fl_status fl_resize(fl_context *context, fl_tensor *t, const int32_t *sizes, uint8_t rank);

/* Read an argument: each function stores it in `out` and returns 1; or returns 0, with `out` unchanged, when the value has another kind. */
FL_API int fl_get_int(const fl_value *v, int64_t *out);      /* of FL_INT, FL_BOOLEAN */
FL_API int fl_get_real(const fl_value *v, double *out);      /* of FL_DOUBLE, FL_INT, FL_BOOLEAN */
FL_API int fl_get_ints(const fl_value *v, int64_t *out, uint32_t capacity, uint32_t *count); /* of FL_INT_LIST, at most `capacity` items */
/* Returns the tensor of an argument; NULL for another kind of value, and for a dtype that this build does not have. */
static inline fl_tensor *fl_get_tensor(const fl_value *v) { return v->tag == FL_TENSOR && fl_has(v->as.tensor->dtype) ? v->as.tensor : NULL; }
/* Returns nonzero when an argument is None. */
static inline int fl_is_none(const fl_value *v) { return v->tag == FL_NONE; }

#ifdef __cplusplus
}
#endif

#endif
