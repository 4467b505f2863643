/* Shared by the files of the core, and by nothing else. */
#ifndef FLAMBEAU_CORE_INTERNAL_H
#define FLAMBEAU_CORE_INTERNAL_H

#include "flambeau/kernel.h"

/* a * b; nonzero when it does not fit. */
static inline int fl_multiply(size_t a, size_t b, size_t *product) {
  if (a != 0 && b > SIZE_MAX / a) {
    return 1;
  }
  *product = a * b;
  return 0;
}

/* a + b; nonzero when it does not fit. */
static inline int fl_add(size_t a, size_t b, size_t *sum) {
  if (b > SIZE_MAX - a) {
    return 1;
  }
  *sum = a + b;
  return 0;
}

/* Strides from sizes and dim_order. */
void fl_set_strides(fl_tensor *t);

#endif
