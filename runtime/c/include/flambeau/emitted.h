/* The parts of emitted programs: `flambeau compile --emit c` writes tables and calls in these words, and nothing reads a file at run time.
 *
 * An emitted program is static: its arenas, its scratch memory and the values that it changes are variables of its file, and its constants are
 * constants. One thread at a time may run it. The kernels are those of the library, with the same arguments as in the .pte.
 */
#ifndef FLAMBEAU_EMITTED_H
#define FLAMBEAU_EMITTED_H

#include <string.h>

#include "flambeau/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FL_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define FL_ALIGNED(bytes) _Alignas(bytes)
#endif

/* What an emitted program knows of its runs. */
typedef struct fl_emitted {
  fl_context context;   /* of the last call; after a failure, its message and numbers */
  fl_random random;     /* the position in the random numbers; init sets it to the start of those of seed 0 */
  void *scratch;        /* 64-byte aligned */
  size_t scratch_size;
  uint32_t instruction; /* the instruction that ran last, as the comments of the program number them */
  fl_status status;     /* of that instruction */
} fl_emitted;

/* Initialisers of values. Those of tensors and lists refer to constants, which nothing writes through them. */
#define FL_TENSOR_VALUE(address) {{(fl_tensor *)(address)}, FL_TENSOR, 0}
#define FL_NONE_VALUE {{NULL}, FL_NONE, 0}
#define FL_INT_VALUE(number) {{.integer = (number)}, FL_INT, 0}
#define FL_BOOLEAN_VALUE(truth) {{.boolean = (truth)}, FL_BOOLEAN, 0}
#define FL_DOUBLE_VALUE(number) {{.real = (number)}, FL_DOUBLE, 0}
#define FL_STRING_VALUE(text) {{.string = {(text), sizeof(text) - 1}}, FL_STRING, 0}
#define FL_LIST_VALUE(tag, items, count) {{.list = {(items), (count)}}, (tag), 0}

/* The address of a constant value, as calls take it. */
#define FL_CONSTANT(value) ((fl_value *)&(value))

/* Initialisers of tensors: of fixed sizes, and of sizes that may change up to `bounds`. */
#define FL_FIXED_TENSOR(data, sizes, strides, order, bytes, rank, dtype) \
  {(void *)(data), (int32_t *)(sizes), (int32_t *)(strides), (order), NULL, (bytes), (rank), (dtype), 0, 0}
#define FL_DYNAMIC_TENSOR(data, sizes, strides, order, bounds, bytes, rank, dtype) \
  {(void *)(data), (sizes), (strides), (order), (bounds), (bytes), (rank), (dtype), 1, 0}

/* The initialiser of a fl_emitted. */
#define FL_EMITTED(memory, bytes) {{NULL, 0, NULL, {0, 0}, 0, 0, NULL, NULL, NULL, NULL, 0}, {0, 0}, (memory), (bytes), 0, FL_OK}

/* Runs instruction `at`, a kernel. `over` is the operand in whose memory a dynamic out lies; NULL: none. Returns `program->status`. */
fl_status fl_emitted_call(fl_emitted *program, uint32_t at, fl_kernel_fn kernel, fl_value *const *args, size_t count, const fl_tensor *over);
/* Returns whether a condition, a bool or a tensor of bools, is false or has an element that is. */
int fl_emitted_is_false(const fl_value *condition);
/* Gives a dynamic input of `rank` dimensions its sizes. */
fl_status fl_emitted_resize(fl_emitted *program, const fl_value *input, const int32_t *sizes, uint8_t rank);

/* Sets a program back to the start of its random numbers. */
#define FL_RESET(program) ((void)((program).random.seed = 0, (program).random.counter = 0))

/* Whether a status is one of a failure. */
#define FL_FAILED(status) ((status) != FL_OK)

/* Gives `target` the value of `source`; a tensor keeps its storage. */
#define FL_MOVE(source, target) ((void)((target) = (source)))

/* Gives the bytes of all weights, and a tensor of weights its bytes, which nothing writes. */
#define FL_POINT(pointer, weights) ((void)((pointer) = (const uint8_t *)(weights)))
#define FL_PLACE(tensor, address) ((void)((tensor).data = (void *)(uintptr_t)(address)))

/* Statements of a method of the program `program`, which return at a failure. */
#define FL_CALL(program, at, kernel, args)                                                                                     \
  do {                                                                                                                         \
    if (fl_emitted_call(&(program), (at), (kernel), (args), sizeof(args) / sizeof((args)[0]), NULL) != FL_OK) {                \
      return (program).status;                                                                                                 \
    }                                                                                                                          \
  } while (0)
#define FL_CALL_OVER(program, at, kernel, args, operand)                                                                       \
  do {                                                                                                                         \
    if (fl_emitted_call(&(program), (at), (kernel), (args), sizeof(args) / sizeof((args)[0]), (args)[operand]->as.tensor) != FL_OK) { \
      return (program).status;                                                                                                 \
    }                                                                                                                          \
  } while (0)

#ifdef __cplusplus
}
#endif

#endif
