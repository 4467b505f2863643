/* Convolution of contiguous float planes in groups of few channels, depthwise among them. */
#ifndef FLAMBEAU_KERNELS_PLANES_H
#define FLAMBEAU_KERNELS_PLANES_H

#include "conv2d_operands.h"
#include "divide.h"

/* Returns the bytes of scratch memory that fl_conv2d_planes needs for these sizes and all smaller images; SIZE_MAX / 2 when they are too many. */
size_t fl_conv2d_planes_scratch(const fl_conv2d *conv, size_t groups);
/* Computes a convolution without addend and activation. Input and result are contiguous, and so is the weight, which is not packed:
 * [out_channels][channels / groups][kernel height][kernel width]. */
void fl_conv2d_planes(const fl_context *context, const fl_conv2d *conv, size_t groups);

#endif
