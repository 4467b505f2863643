/* Convolutions of any kind, computed by their definition; the kernels of their gradients share this file. */
#ifndef FLAMBEAU_KERNELS_CONVOLUTION_H
#define FLAMBEAU_KERNELS_CONVOLUTION_H

#include "flambeau/kernel.h"

#define FL_SPATIAL 3

/* A convolution with three spatial dimensions; a convolution with fewer has leading dimensions of size 1. Strides are in elements. */
typedef struct fl_convolution {
  fl_tensor *input, *weight, *bias, *out;
  size_t batch, in_channels, out_channels, groups;
  size_t in[FL_SPATIAL], out_size[FL_SPATIAL], kernel[FL_SPATIAL];
  size_t stride[FL_SPATIAL], padding[FL_SPATIAL], dilation[FL_SPATIAL];
  size_t in_stride[FL_SPATIAL], weight_stride[FL_SPATIAL], out_stride[FL_SPATIAL];
  int transposed;
} fl_convolution;

/* Reads and checks the arguments of aten::convolution.out. Stores the sizes that the result must have in `sizes`; does not resize the result. */
fl_status fl_convolution_read(fl_context *context, fl_value *const *args, fl_convolution *p, int32_t *sizes);
/* Stores the strides of a tensor's spatial dimensions, in elements, in `strides`, which has FL_SPATIAL entries. */
void fl_convolution_strides(const fl_tensor *tensor, size_t *strides);
/* Computes a convolution. */
void fl_convolution_by_definition(const fl_convolution *p);

#endif
