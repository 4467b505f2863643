/* Convolution of contiguous planes with one filter per channel. */
#ifndef FLAMBEAU_KERNELS_DEPTHWISE_PLANES_H
#define FLAMBEAU_KERNELS_DEPTHWISE_PLANES_H

#include "conv2d_operands.h"
#include "divide.h"

/* Returns whether a row of the result needs few enough floats of the image, which are copied; planes.h has no such limit. */
int fl_conv2d_depthwise_planes_fits(const fl_conv2d *conv);
/* Returns the bytes of scratch memory for these sizes, or with `bound` for these and all smaller images that fit. */
size_t fl_conv2d_depthwise_planes_scratch(const fl_conv2d *conv, int bound);
/* Computes a convolution with `channels` groups. The weight is [channels][kernel pixels]; activation and addend are left out. */
void fl_conv2d_depthwise_planes(const fl_context *context, const fl_conv2d *conv);

#endif
