/* Eigenvectors from a real Schur decomposition: h = vᵀ a v is triangular, except for blocks of two rows for conjugate eigenvalues. */
#ifndef FLAMBEAU_KERNELS_EIGENVECTORS_H
#define FLAMBEAU_KERNELS_EIGENVECTORS_H

#include "spectral.h"

typedef struct fl_schur {
  ptrdiff_t n;     /* rows of the matrices */
  double *h, *v;   /* n x n, row-major */
  double *re, *im; /* parts of the n eigenvalues; of two conjugate ones, the one with the positive imaginary part comes first */
  double norm;     /* norm of the Hessenberg matrix */
} fl_schur;

#define H(f, i, j) ((f)->h[(i) * (f)->n + (j)])
#define V(f, i, j) ((f)->v[(i) * (f)->n + (j)])

/* Writes the eigenvectors to the columns of v; two columns of conjugate eigenvalues hold the real and the imaginary parts of the first
 * one's vector. Overwrites h. */
void fl_find_eigenvectors(const fl_schur *f);

#endif
