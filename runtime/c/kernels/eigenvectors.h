/* A matrix that is similar to a triangular one but for blocks of two rows: h = vᵀ a v, with the eigenvalues. */
#ifndef FLAMBEAU_KERNELS_EIGENVECTORS_H
#define FLAMBEAU_KERNELS_EIGENVECTORS_H

#include "spectral.h"

typedef struct fl_schur {
  ptrdiff_t n;
  double *h, *v;
  double *re, *im; /* of the eigenvalues: of two conjugate ones, the one above the real axis comes first */
  double norm;     /* of the Hessenberg matrix */
} fl_schur;

#define H(f, i, j) ((f)->h[(i) * (f)->n + (j)])
#define V(f, i, j) ((f)->v[(i) * (f)->n + (j)])

/* Makes v the eigenvectors, in columns: the real and then the imaginary parts of the first of two conjugate ones. h is overwritten. */
void fl_find_eigenvectors(const fl_schur *f);

#endif
