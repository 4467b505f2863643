/* Transposed convolution of contiguous float32 of up to two spatial dimensions. */
#ifndef FLAMBEAU_KERNELS_TRANSPOSED_CONVOLUTION_H
#define FLAMBEAU_KERNELS_TRANSPOSED_CONVOLUTION_H

#include "convolution_operands.h"

/* Returns the bytes of scratch memory for these sizes and all smaller images. */
size_t fl_transposed_convolution_scratch(const fl_convolution *p);
/* Computes the convolution, whose leading spatial dimension has size 1. */
void fl_transposed_convolution(const fl_convolution *p, void *scratch);

#endif
