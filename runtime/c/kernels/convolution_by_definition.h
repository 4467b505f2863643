/* Convolutions of any kind, computed by their definition. */
#ifndef FLAMBEAU_KERNELS_CONVOLUTION_BY_DEFINITION_H
#define FLAMBEAU_KERNELS_CONVOLUTION_BY_DEFINITION_H

#include "convolution_operands.h"

/* Stores the strides of a tensor's spatial dimensions, in elements, in `strides`, which has FL_SPATIAL entries. */
void fl_convolution_strides(const fl_tensor *tensor, size_t *strides);
/* Computes a convolution. */
void fl_convolution_by_definition(const fl_convolution *p);

#endif
