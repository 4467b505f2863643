/* The transpose of a matrix of floats. */
#ifndef FLAMBEAU_KERNELS_TRANSPOSE_H
#define FLAMBEAU_KERNELS_TRANSPOSE_H

#include <stddef.h>

/* Writes the transpose of `rows` x `columns` floats: to[j * to_step + i] = from[i * from_step + j]. */
void fl_transpose(const float *from, size_t from_step, size_t rows, size_t columns, float *to, size_t to_step);

#endif
