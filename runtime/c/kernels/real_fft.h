/* Fourier transforms of lines of real numbers, and the roots of unity of all transforms. */
#ifndef FLAMBEAU_KERNELS_REAL_FFT_H
#define FLAMBEAU_KERNELS_REAL_FFT_H

#include "fft_number.h"

/* Writes the n-th roots of unity to `roots`: root k is e^(-2 pi i k / n) if `forward`, otherwise e^(2 pi i k / n). */
void fl_fft_turns(fl_fft_number *roots, size_t n, int forward);

/* Transforms the lines along the last dimension of a contiguous float32 tensor, and multiplies the results by `scale`. The size n of a line is even,
 * and its prime factors are small; a line of `out` has n / 2 + 1 complex numbers. Takes 144 n + 448 bytes of scratch memory. */
fl_status fl_real_fft_lines(fl_context *context, const fl_tensor *self, const fl_tensor *out, float scale);

#endif
