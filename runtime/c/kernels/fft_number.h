/* A complex number of a transform. */
#ifndef FLAMBEAU_KERNELS_FFT_NUMBER_H
#define FLAMBEAU_KERNELS_FFT_NUMBER_H

#include "loops.h"

typedef struct fl_fft_number {
  double re, im;
} fl_fft_number;

#endif
