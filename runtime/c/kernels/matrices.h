/* Matrices in the last two dimensions of a batch, read and written in double precision. */
#ifndef FLAMBEAU_KERNELS_MATRICES_H
#define FLAMBEAU_KERNELS_MATRICES_H

#include <math.h>

#include "element.h"
#include "loops.h"

typedef struct fl_matrices {
  const fl_tensor *tensor;
  size_t rows, columns;
  size_t count; /* number of matrices */
} fl_matrices;

/* Stores the matrices of an argument in `matrices`. The argument must be contiguous, of float16, bfloat16, float32 or float64. */
static inline fl_status fl_matrices_of(fl_context *context, const fl_tensor *tensor, fl_matrices *matrices) {
  FL_CHECK(context, tensor != NULL && tensor->rank >= 2, "an argument must hold matrices, which have 2 dimensions");
  FL_CHECK(context, tensor->dtype == FL_FLOAT32 || tensor->dtype == FL_FLOAT64 || tensor->dtype == FL_FLOAT16 || tensor->dtype == FL_BFLOAT16,
           "matrices must be of a floating-point type");
  FL_CHECK(context, fl_is_contiguous(tensor), "matrices must be contiguous");
  matrices->tensor = tensor;
  matrices->rows = (size_t)tensor->sizes[tensor->rank - 2];
  matrices->columns = (size_t)tensor->sizes[tensor->rank - 1];
  matrices->count = 1;
  for (uint8_t d = 0; d + 2 < tensor->rank; ++d) {
    matrices->count *= (size_t)tensor->sizes[d];
  }
  return FL_OK;
}

/* Returns the bytes of `copies` matrices of doubles, of the size of the argument's; SIZE_MAX if they do not fit in size_t, 0 if the argument
 * has no matrices. For a fl_scratch_fn. */
static inline size_t fl_matrices_room(const fl_value *argument, size_t copies) {
  const fl_tensor *tensor = fl_get_tensor(argument);
  if (tensor == NULL || tensor->rank < 2) {
    return 0;
  }
  const size_t rows = (size_t)tensor->sizes[tensor->rank - 2];
  return fl_scratch_bytes(rows * (size_t)tensor->sizes[tensor->rank - 1], copies * sizeof(double));
}

/* Copy n elements of a tensor, from element `at` on, to an array of doubles, and back. */
static inline void fl_read_reals(const fl_tensor *tensor, size_t at, size_t n, double *to) {
  for (size_t i = 0; i < n; ++i) {
    to[i] = fl_read_real(tensor->dtype, tensor->data, at + i);
  }
}

static inline void fl_write_reals(fl_tensor *tensor, size_t at, size_t n, const double *from) {
  for (size_t i = 0; i < n; ++i) {
    fl_write_real(tensor->dtype, tensor->data, at + i, from[i]);
  }
}

/* Resizes an output, which must have type `dtype`, to the batch sizes of `like`, followed by the `count` sizes `own`. */
static inline fl_status fl_resize_batch(fl_context *context, fl_tensor *out, const fl_tensor *like, int8_t dtype, const size_t *own,
                                        uint8_t count) {
  int32_t sizes[FL_MAX_RANK];
  const uint8_t batch = (uint8_t)(like->rank - 2);
  FL_CHECK(context, out != NULL && out->dtype == dtype, "an output has another type than the operator gives");
  for (uint8_t d = 0; d < batch; ++d) {
    sizes[d] = like->sizes[d];
  }
  for (uint8_t d = 0; d < count; ++d) {
    sizes[batch + d] = (int32_t)own[d];
  }
  FL_TRY(fl_resize(context, out, sizes, (uint8_t)(batch + count)));
  FL_CHECK(context, fl_is_contiguous(out), "an output of matrices must be contiguous");
  return FL_OK;
}

/* Returns the index of the matrix of `operand` that broadcasting puts at matrix `place` of `batch`. Both tensors have two matrix dimensions. */
static inline size_t fl_broadcast_place(const fl_tensor *batch, size_t place, const fl_tensor *operand) {
  size_t found = 0;
  size_t step = 1;
  for (uint8_t back = 3; back <= batch->rank; ++back) {
    const size_t size = (size_t)batch->sizes[batch->rank - back];
    if (back <= operand->rank) {
      const size_t own = (size_t)operand->sizes[operand->rank - back];
      found += own == 1 ? 0 : place % size * step;
      step *= own;
    }
    place /= size;
  }
  return found;
}

/* Resizes an output to matrices of the sizes of `b`, one for each place of the batch to which both operands broadcast. */
static inline fl_status fl_resize_broadcast_batch(fl_context *context, fl_tensor *out, const fl_matrices *a, const fl_matrices *b) {
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank = 0;
  fl_tensor batches[2] = {*a->tensor, *b->tensor};
  FL_CHECK(context, out != NULL && out->dtype == b->tensor->dtype && a->tensor->dtype == b->tensor->dtype, "the tensors must be of one type");
  batches[0].rank = (uint8_t)(batches[0].rank - 2);
  batches[1].rank = (uint8_t)(batches[1].rank - 2);
  FL_TRY(fl_broadcast_shape(context, sizes, &rank, (const fl_tensor *const[]){&batches[0], &batches[1]}, 2));
  FL_CHECK(context, rank + 2 <= FL_MAX_RANK, "the result has too many dimensions");
  sizes[rank] = (int32_t)b->rows;
  sizes[rank + 1] = (int32_t)b->columns;
  FL_TRY(fl_resize(context, out, sizes, (uint8_t)(rank + 2)));
  FL_CHECK(context, fl_is_contiguous(out), "an output of matrices must be contiguous");
  return FL_OK;
}

#endif
