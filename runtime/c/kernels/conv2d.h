/* Convolution of float images stored channels last. */
#ifndef FLAMBEAU_KERNELS_CONV2D_H
#define FLAMBEAU_KERNELS_CONV2D_H

#include "conv2d_operands.h"
#include "loops.h"

/* Bytes of scratch memory; depthwise convolution needs none. Uses the sizes only; with `bound`, enough for every smaller image and batch
 * too. SIZE_MAX / 2 when it is out of all bounds. */
size_t fl_conv2d_scratch_size(const fl_conv2d *conv, int bound);
void fl_conv2d_run(const fl_conv2d *conv, void *scratch);

/* Output size along one dimension. Returns 0 for parameters that make no sense, or an empty result where the input is not. */
int fl_conv_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t *out);

/* Reads the input, and from argument `at` on kernel_size, stride, padding, dilation, groups and out_channels. */
fl_status fl_conv2d_read(fl_context *context, fl_value *const *args, int at, fl_conv2d *c, int64_t *groups);

/* True where every pixel is a row of a matrix, times the weight: a kernel of one pixel that steps by one and needs no padding. */
int fl_conv2d_is_product(const fl_conv2d *c);

/* True of the dim order [0, 2, 3, 1], size-1 dimensions anywhere. */
int fl_is_channels_last(const fl_tensor *t);

#endif
