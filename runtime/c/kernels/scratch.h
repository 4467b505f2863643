/* Divides the scratch memory of a kernel into pieces, for data that are too large for the stack. */
#ifndef FLAMBEAU_KERNELS_SCRATCH_H
#define FLAMBEAU_KERNELS_SCRATCH_H

#include "dtype.h"

/* Returns a piece of scratch memory of `bytes` bytes, aligned to 64; NULL when too little is left. */
static inline void *fl_take(fl_context *context, size_t bytes) {
  const size_t whole = (bytes + 63) / 64 * 64;
  if (whole == 0) {
    return context; /* any address but NULL, which is what a caller may give for no memory */
  }
  if (context->scratch_size < whole) {
    return NULL;
  }
  char *const piece = context->scratch;
  context->scratch = piece + whole;
  context->scratch_size -= whole;
  return piece;
}

/* Declares a pointer to a piece for `number` elements of a type; the function fails when too little scratch memory is left. */
#define FL_TAKE(type, name, number)                                      \
  type *const name = fl_take(context, (size_t)(number) * sizeof(type));  \
  if (name == NULL) {                                                    \
    return FL_FAIL(context, FL_OUT_OF_MEMORY, "the kernel was given too little scratch memory"); \
  }

/* The state of the scratch memory before a function took pieces. fl_release frees these pieces, so that a kernel can call it several times. */
typedef struct fl_mark {
  void *scratch;
  size_t scratch_size;
} fl_mark;

static inline fl_mark fl_mark_scratch(const fl_context *context) { return (fl_mark){context->scratch, context->scratch_size}; }

static inline void fl_release(fl_context *context, fl_mark mark) {
  context->scratch = mark.scratch;
  context->scratch_size = mark.scratch_size;
}

/* The bytes that fl_take uses for `number` elements of a type. */
#define FL_TAKEN(type, number) (((number) * sizeof(type) + 63) / 64 * 64)

#endif
