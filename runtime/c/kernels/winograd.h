/* Convolution of float images with kernels of 3 x 3, channels last or planes, by fewer multiplications than the definition has: Winograd's algorithm. */
#ifndef FLAMBEAU_KERNELS_WINOGRAD_H
#define FLAMBEAU_KERNELS_WINOGRAD_H

#include "conv2d_operands.h"

/* Returns the bytes of scratch memory that fl_winograd_run needs; 0 when it does not compute such a convolution, or no sooner than the definition.
 * With `bound` they suffice for smaller images and batches too. */
size_t fl_winograd_scratch(const fl_conv2d *conv, int bound);
/* Computes a convolution; the scratch memory of `context` has the bytes of fl_winograd_scratch, which are not 0. */
void fl_winograd_run(const fl_context *context, const fl_conv2d *conv);

/* The same for contiguous planes and a weight that is not packed: [out_channels][channels][3][3]. */
size_t fl_winograd_planes_scratch(const fl_conv2d *conv, int bound);
void fl_winograd_planes_run(const fl_context *context, const fl_conv2d *conv);

#endif
