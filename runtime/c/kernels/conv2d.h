/* Convolution of float images with dim order channels last. */
#ifndef FLAMBEAU_KERNELS_CONV2D_H
#define FLAMBEAU_KERNELS_CONV2D_H

#include "conv2d_operands.h"
#include "loops.h"

/* Returns the bytes of scratch memory that fl_conv2d_run asks for, for these sizes, or with `bound` for these and all smaller images and batches;
 * SIZE_MAX / 2 when they are too many. Depthwise convolution needs none. */
size_t fl_conv2d_scratch_size(const fl_conv2d *conv, int bound);
/* Returns the bytes without which fl_conv2d_run cannot do. It is faster with those of fl_conv2d_scratch_size, but a program may have been given what
 * the kernels of another processor need. */
size_t fl_conv2d_least_scratch(const fl_conv2d *conv);
/* Computes a convolution of one group. */
void fl_conv2d_run(const fl_context *context, const fl_conv2d *conv);

/* Stores the output size along one dimension and returns 1; returns 0 for invalid parameters, or when the kernel does not fit into the input. */
int fl_conv_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t *out);

/* Reads the input, argument 0, and from argument `at` on kernel_size, stride, padding, dilation, groups and out_channels, into `c` and `groups`. */
fl_status fl_conv2d_read(fl_context *context, fl_value *const *args, int at, fl_conv2d *c, int64_t *groups);

/* Returns whether a convolution is a matrix product of the pixels with the weight: kernel size 1, stride 1, no padding. */
int fl_conv2d_is_product(const fl_conv2d *c);

/* Returns whether a tensor has the dim order [0, 2, 3, 1], apart from dimensions of size 1. */
int fl_is_channels_last(const fl_tensor *t);

#endif
