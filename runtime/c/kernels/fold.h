/* Reductions over any dimensions, which fold rows of the input into accumulators of double or int64_t. */
#ifndef FLAMBEAU_KERNELS_FOLD_H
#define FLAMBEAU_KERNELS_FOLD_H

#include "loops.h"

typedef union fl_accumulator {
  double real;      /* for the computing types float and double */
  int64_t integer;  /* for int64_t and bool */
} fl_accumulator;

/* Folds n contiguous elements into one accumulator. `origin` is the mean in the second of two passes, otherwise 0. */
typedef void (*fl_fold_row_fn)(size_t n, fl_accumulator *accumulator, const void *x, const fl_accumulator *origin);
/* Folds element i into accumulator i, for n elements. */
typedef void (*fl_fold_lanes_fn)(size_t n, fl_accumulator *accumulators, const void *x, const fl_accumulator *origins);

typedef struct fl_fold {
  fl_fold_row_fn row;
  fl_fold_lanes_fn lanes;
} fl_fold;

/* A reduction in one or two passes over the input, followed by `finish`. Of two passes, the first is a sum, and the second gets its mean as
 * origin. */
typedef struct fl_reduction {
  const fl_fold *folds;         /* the pass's function for each computing type: float, double, int64_t, bool */
  const fl_fold *second;        /* those of the second pass; NULL: there is one pass */
  fl_accumulator start[2];      /* initial accumulator for the real types, and for the integer types */
  /* Converts the accumulators of n outputs, each of `count` elements, to results in place; NULL: the accumulators are the results. */
  void (*finish)(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters);
  const fl_parameter *parameters;
  fl_compute type;              /* the computing type of the input */
} fl_reduction;

/* Stores the dimensions of a `dim` argument (a list, an integer or None) as a set of bits in `reduced`. An empty list or None gives all. */
fl_status fl_reduced_dims(fl_context *context, const fl_value *dim, uint8_t rank, uint32_t *reduced);
/* Resizes out to the input's sizes without the reduced dimensions, or with `keepdim` to the sizes in which they are 1. */
fl_status fl_reduced_out(fl_context *context, fl_tensor *out, const fl_tensor *in, uint32_t reduced, int keepdim);
/* Computes the reduction into `out`. Unless `first_out` is NULL, writes the mean of the first of two passes to it. Both have been resized. */
fl_status fl_reduce_run(fl_context *context, fl_tensor *out, fl_tensor *first_out, const fl_tensor *in, uint32_t reduced, int keepdim,
                        const fl_reduction *reduction);
/* Returns the number of elements that are folded into each output. */
size_t fl_reduced_count(const fl_tensor *in, uint32_t reduced);

#endif
