/* Convolution with one filter per channel: out_channels == channels. */
#ifndef FLAMBEAU_KERNELS_DEPTHWISE_H
#define FLAMBEAU_KERNELS_DEPTHWISE_H

#include "conv2d_operands.h"
#include "divide.h"

/* Computes a convolution with `channels` groups, without scratch memory. The threads of `context` help; NULL: none do. */
void fl_conv2d_depthwise(const fl_context *context, const fl_conv2d *conv);

#endif
