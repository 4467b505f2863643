/* Transforms of lines of real numbers, and the roots of unity of all transforms. */
#ifndef FLAMBEAU_KERNELS_REAL_FFT_H
#define FLAMBEAU_KERNELS_REAL_FFT_H

#include "fft_number.h"

/* The n roots of unity, from 1 on, against the clock if `forward`. */
void fl_fft_turns(fl_fft_number *roots, size_t n, int forward);

/* Transforms the lines of real numbers along the last dimension of a contiguous float32 tensor. Their size is even, and its prime factors are
 * small; `out` has half of each line's numbers and one more. Takes 144 bytes of scratch memory for each number of a line, and 448. */
fl_status fl_real_fft_lines(fl_context *context, const fl_tensor *self, const fl_tensor *out, float scale);

#endif
