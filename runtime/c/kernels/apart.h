/* Floats that lie some places apart. */
#ifndef FLAMBEAU_KERNELS_APART_H
#define FLAMBEAU_KERNELS_APART_H

#include "simd.h"

#if defined(__has_builtin) && FL_LANES > 1
#if __has_builtin(__builtin_shufflevector)
#define FL_SHUFFLE 1
#endif
#endif

#ifdef FL_SHUFFLE
typedef float fl_quad __attribute__((vector_size(16)));

FL_INLINE fl_quad fl_load_quad(const float *p) {
  fl_quad v;
  memcpy(&v, p, sizeof v);
  return v;
}
#endif

/* Return every second float of two vectors, from the first on, and from the second on. */
FL_INLINE fl_vec fl_even(fl_vec a, fl_vec b) {
#if defined(FL_SHUFFLE) && FL_LANES == 16
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(FL_SHUFFLE) && FL_LANES == 8
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#elif defined(FL_SHUFFLE)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#else
  fl_vec v;
  FL_UNROLL
  for (int i = 0; i < FL_LANES; ++i) {
    v[i] = 2 * i < FL_LANES ? a[2 * i % FL_LANES] : b[2 * i % FL_LANES];
  }
  return v;
#endif
}

FL_INLINE fl_vec fl_odd(fl_vec a, fl_vec b) {
#if defined(FL_SHUFFLE) && FL_LANES == 16
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(FL_SHUFFLE) && FL_LANES == 8
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#elif defined(FL_SHUFFLE)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
  fl_vec v;
  FL_UNROLL
  for (int i = 0; i < FL_LANES; ++i) {
    v[i] = 2 * i + 1 < FL_LANES ? a[(2 * i + 1) % FL_LANES] : b[(2 * i + 1) % FL_LANES];
  }
  return v;
#endif
}

/* Returns FL_LANES floats that are `step` apart, and reads none behind the last. */
FL_INLINE fl_vec fl_load_apart(const float *from, size_t step) {
  if (step == 1) {
    return fl_load(from);
  }
#ifdef FL_SHUFFLE
  if (step == 2) {
#if FL_LANES == 16
    return __builtin_shufflevector(fl_load(from), fl_load(from + 15), 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
#elif FL_LANES == 8
    return __builtin_shufflevector(fl_load(from), fl_load(from + 7), 0, 2, 4, 6, 9, 11, 13, 15);
#else
    return __builtin_shufflevector(fl_load(from), fl_load(from + 3), 0, 2, 5, 7);
#endif
  }
#endif
  fl_vec v = fl_zero();
  FL_UNROLL
  for (int u = 0; u < FL_LANES; ++u) {
    v[u] = from[(size_t)u * step];
  }
  return v;
}

/* Copies n floats that are `step` apart, and reads none behind the last. */
static inline void fl_copy_apart(float *to, const float *from, size_t n, size_t step) {
  size_t i = 0;
#ifdef FL_SHUFFLE
  for (; step == 2 && i + 4 <= n; i += 4) {
    const fl_quad v = __builtin_shufflevector(fl_load_quad(from + 2 * i), fl_load_quad(from + 2 * i + 3), 0, 2, 5, 7);
    memcpy(to + i, &v, sizeof v);
  }
#endif
  for (; i < n; ++i) {
    to[i] = from[i * step];
  }
}

#endif
