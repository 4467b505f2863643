/* The operands and sizes of a convolution of any kind. */
#ifndef FLAMBEAU_KERNELS_CONVOLUTION_OPERANDS_H
#define FLAMBEAU_KERNELS_CONVOLUTION_OPERANDS_H

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

#endif
