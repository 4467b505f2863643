/* Operands of elementwise kernels: tensors and Scalars, and the shape to which they broadcast. */
#ifndef FLAMBEAU_KERNELS_OPERANDS_H
#define FLAMBEAU_KERNELS_OPERANDS_H

#include "dtype.h"

/* The storage of a Scalar as a zero-dimensional tensor. */
typedef struct fl_scalar_tensor {
  fl_tensor tensor;
  union {
    double real;
    int64_t integer;
    uint8_t boolean;
  } value;
} fl_scalar_tensor;
/* Returns the tensor of a value, or a Scalar as a zero-dimensional tensor in `storage`; NULL for other kinds. */
const fl_tensor *fl_operand(const fl_value *value, fl_scalar_tensor *storage);
/* Returns the same, but a Scalar or zero-dimensional integer that has no part in the promotion to the integer type `common` wraps around in
 * that type, as in ATen. */
const fl_tensor *fl_operand_as(const fl_value *value, int8_t common, fl_scalar_tensor *storage);
/* Adds an operand to a promotion: `value`, a tensor or Scalar, of which fl_operand gave `tensor`. */
void fl_promotion_operand(fl_promotion *promotion, const fl_value *value, const fl_tensor *tensor);

/* Stores the shape that the inputs broadcast to in `sizes`, which has FL_MAX_RANK entries, and in `rank`. Fails if they do not broadcast. */
fl_status fl_broadcast_shape(fl_context *context, int32_t *sizes, uint8_t *rank, const fl_tensor *const *in, size_t count);
/* Resizes `out` to the shape that the inputs broadcast to. */
fl_status fl_broadcast_out(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count);

#endif
