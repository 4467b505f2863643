/* Convolutions of any kind, computed by their definition; the kernels of their gradients share this file. */
#ifndef FLAMBEAU_KERNELS_CONVOLUTION_H
#define FLAMBEAU_KERNELS_CONVOLUTION_H

#include "convolution_operands.h"

/* Reads and checks the arguments of aten::convolution.out. Stores the sizes that the result must have in `sizes`; does not resize the result. */
fl_status fl_convolution_read(fl_context *context, fl_value *const *args, fl_convolution *p, int32_t *sizes);
/* Stores the strides of a tensor's spatial dimensions, in elements, in `strides`, which has FL_SPATIAL entries. */
void fl_convolution_strides(const fl_tensor *tensor, size_t *strides);
/* Computes a convolution. */
void fl_convolution_by_definition(const fl_convolution *p);

#endif
