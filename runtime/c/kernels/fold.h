/* Reductions over any dimensions. Sums are kept in double or int64_t; a reduction folds rows of the input into such accumulators. */
#ifndef FLAMBEAU_KERNELS_FOLD_H
#define FLAMBEAU_KERNELS_FOLD_H

#include "loops.h"

typedef union fl_accumulator {
  double real;      /* for the computing types float and double */
  int64_t integer;  /* for int64_t and bool */
} fl_accumulator;

/* Folds n elements that stand side by side into one accumulator. `origin` is what the second of two passes measures from. */
typedef void (*fl_fold_row_fn)(size_t n, fl_accumulator *accumulator, const void *x, const fl_accumulator *origin);
/* Folds element i into accumulator i. */
typedef void (*fl_fold_lanes_fn)(size_t n, fl_accumulator *accumulators, const void *x, const fl_accumulator *origins);

typedef struct fl_fold {
  fl_fold_row_fn row;
  fl_fold_lanes_fn lanes;
} fl_fold;

/* A reduction: one pass over the input, or two, of which the first is a sum and the second sees its mean as origin; then `finish`. */
typedef struct fl_reduction {
  const fl_fold *folds;         /* per computing type: float, double, int64_t, bool */
  const fl_fold *second;        /* the same; NULL: one pass */
  fl_accumulator start[2];      /* for the real types and for the integer types */
  /* Turns the accumulators of n outputs, each of `count` elements, into results in place; NULL: they are the results. */
  void (*finish)(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters);
  const fl_parameter *parameters;
  fl_compute type;              /* the computing type of the input */
} fl_reduction;

/* The dimensions that a `dim` argument names (a list, an integer or none; an empty list and none: all) as a set of bits. */
fl_status fl_reduced_dims(fl_context *context, const fl_value *dim, uint8_t rank, uint32_t *reduced);
/* Resizes out to the input's sizes without the reduced dimensions, which stay as 1 with keepdim. */
fl_status fl_reduced_out(fl_context *context, fl_tensor *out, const fl_tensor *in, uint32_t reduced, int keepdim);
/* Reduces; out has been resized. With `first_out`, resized too, the mean that the first of two passes gave is written there. */
fl_status fl_reduce_run(fl_context *context, fl_tensor *out, fl_tensor *first_out, const fl_tensor *in, uint32_t reduced, int keepdim,
                        const fl_reduction *reduction);
/* Elements folded into each output. */
size_t fl_reduced_count(const fl_tensor *in, uint32_t reduced);

#endif
