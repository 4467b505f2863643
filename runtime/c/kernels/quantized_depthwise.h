/* Depthwise convolution of 8-bit integers, stored channels last. */
#ifndef FLAMBEAU_KERNELS_QUANTIZED_DEPTHWISE_H
#define FLAMBEAU_KERNELS_QUANTIZED_DEPTHWISE_H

#include "conv2d_operands.h"
#include "integer_products.h"

/* A convolution in blocks of pixels of an image, some of them in each piece. */
typedef struct fl_quantized_convolution {
  const fl_conv2d *c;
  const fl_integer_product *product; /* of depthwise convolution: k is the places of the kernel, and the weight is [k][channels] */
  const uint8_t *input;
  uint8_t zero;
  uint8_t *out;
  size_t pixels, rows, blocks, pieces; /* pixels of an image and of a block, blocks of an image, and pieces of all; rows of depthwise: FL_QUAD_ROWS */
  void *prepared;                /* what fl_prepare_quantized_depthwise wrote */
} fl_quantized_convolution;

/* Returns the bytes of scratch memory for all of this. */
size_t fl_quantized_depthwise_scratch_size(const fl_conv2d *c);

/* Orders the weight and the parameters as the processor's vectors take them, in scratch memory of `context`. */
fl_status fl_prepare_quantized_depthwise(fl_context *context, fl_quantized_convolution *work);

/* Computes a piece of a prepared convolution, as fl_divide calls it. */
void fl_quantized_depthwise_piece(const void *work, size_t piece, void *scratch);

#endif
