/* The arguments of convolutions; the kernels of their gradients share this file. */
#ifndef FLAMBEAU_KERNELS_CONVOLUTION_H
#define FLAMBEAU_KERNELS_CONVOLUTION_H

#include "convolution_by_definition.h"

/* Reads and checks the arguments of aten::convolution.out. Stores the sizes that the result must have in `sizes`; does not resize the result. */
fl_status fl_convolution_read(fl_context *context, fl_value *const *args, fl_convolution *p, int32_t *sizes);

#endif
