/* The operands and sizes of a convolution of float images with dim order channels last. */
#ifndef FLAMBEAU_KERNELS_CONV2D_OPERANDS_H
#define FLAMBEAU_KERNELS_CONV2D_OPERANDS_H

#include "gemm.h"

typedef struct fl_conv2d {
  size_t batch, height, width, channels;
  size_t out_height, out_width, out_channels;
  size_t kernel_height, kernel_width;
  size_t stride_height, stride_width;
  size_t padding_height, padding_width;
  size_t dilation_height, dilation_width;
  const float *input;
  const float *weight; /* packed B of k = kernel_height kernel_width channels (gemm.h); depthwise: [kernel pixels][ceil(channels / 16) 16] */
  const float *bias;   /* out_channels floats, or NULL */
  const float *addend; /* floats of out's shape that are added to the result, or NULL; may be `out` */
  float *out;
  fl_activation activation;
  int8_t tile; /* the side of the tiles of Winograd's algorithm; 0: none; FL_BEST_TILE: what is fastest by its rule */
} fl_conv2d;

enum { FL_BEST_TILE = -1 };

#endif
