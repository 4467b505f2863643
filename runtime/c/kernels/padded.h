/* Parts of images that may reach beyond them. */
#ifndef FLAMBEAU_KERNELS_PADDED_H
#define FLAMBEAU_KERNELS_PADDED_H

#include "conv2d_operands.h"

/* Copies rows x columns pixels of image `input` from (row, column) on, which may be outside; pixels outside of the image are zeros. */
void fl_copy_padded(const fl_conv2d *c, const float *input, int64_t row, int64_t column, size_t rows, size_t columns, float *to);

#endif
