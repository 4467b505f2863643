/* Extrema of rows of floats, computed with vectors. */
#ifndef FLAMBEAU_KERNELS_ROWS_H
#define FLAMBEAU_KERNELS_ROWS_H

#include "simd.h"

/* Defines a function that returns the largest (or smallest) of `start` and n floats; NaN when any of them is NaN. */
#define FL_ROW_EXTREMUM(name, choose, comparison)                                   \
  FL_INLINE float name(size_t n, const float *x, float start) {                     \
    fl_vec m[4] = {fl_set(start), fl_set(start), fl_set(start), fl_set(start)};     \
    fl_ivec nan = {0};                                                              \
    float lanes[FL_LANES];                                                          \
    int32_t nan_lanes[FL_LANES];                                                    \
    size_t i = 0;                                                                   \
    for (; i + 4 * FL_LANES <= n; i += 4 * FL_LANES) {                              \
      FL_UNROLL                                                                     \
      for (size_t k = 0; k < 4; ++k) {                                              \
        const fl_vec v = fl_load(x + i + k * FL_LANES);                             \
        m[k] = choose(v, m[k]);                                                     \
        nan |= (fl_ivec)(v != v);                                                   \
      }                                                                             \
    }                                                                               \
    for (; i + FL_LANES <= n; i += FL_LANES) {                                      \
      const fl_vec v = fl_load(x + i);                                              \
      m[0] = choose(v, m[0]);                                                       \
      nan |= (fl_ivec)(v != v);                                                     \
    }                                                                               \
    fl_store(lanes, choose(choose(m[0], m[1]), choose(m[2], m[3])));                \
    memcpy(nan_lanes, &nan, sizeof nan);                                            \
    int32_t any_nan = 0;                                                            \
    for (size_t j = 0; j < FL_LANES; ++j) {                                         \
      any_nan |= nan_lanes[j];                                                      \
    }                                                                               \
    FL_UNROLL                                                                       \
    for (size_t half = FL_LANES / 2; half > 0; half /= 2) {                         \
      FL_UNROLL                                                                     \
      for (size_t j = 0; j < half; ++j) {                                           \
        lanes[j] = lanes[j] comparison lanes[j + half] ? lanes[j] : lanes[j + half]; \
      }                                                                             \
    }                                                                               \
    float best = lanes[0];                                                          \
    for (; i < n; ++i) {                                                            \
      best = x[i] comparison best ? x[i] : best;                                    \
      any_nan |= x[i] != x[i];                                                      \
    }                                                                               \
    return any_nan != 0 || start != start ? NAN : best;                             \
  }
FL_ROW_EXTREMUM(fl_row_max, fl_max_b, >)
FL_ROW_EXTREMUM(fl_row_min, fl_min_b, <)

#endif
