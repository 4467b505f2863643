/* Computes Fourier transforms of real lines of even size in float32: pairs of numbers are the complex numbers of a line of half the size. */
#include <math.h>
#include <string.h>

#define REAL float
#define LINES 16
#include "fft_steps.h"
#include "real_fft.h"

/* The numbers of each line that are moved into lanes, or out of lanes, at a time, so that few cache lines are in use. */
#define BLOCK 8

void fl_fft_turns(fl_fft_number *roots, size_t n, int forward) {
  const double sign = forward ? -1 : 1;
  /* The roots of an eighth of a turn, or of half a turn, give all other roots. */
  const int has_eighths = n % 8 == 0;
  for (size_t k = 0; k <= n / (has_eighths ? 8 : 2); ++k) {
    const double angle = 6.283185307179586476925 * (double)k / (double)n, x = cos(angle), y = sign * sin(angle);
    if (k < n) {
      roots[k] = (fl_fft_number){x, y};
      roots[k > 0 ? n - k : 0] = (fl_fft_number){x, k > 0 ? -y : y};
    }
    if (has_eighths) {
      const size_t quarter = n / 4;
      roots[quarter - k] = (fl_fft_number){sign * y, sign * x};
      roots[quarter + k] = (fl_fft_number){-sign * y, sign * x};
      roots[2 * quarter - k] = (fl_fft_number){-x, y};
      roots[2 * quarter + k] = (fl_fft_number){-x, -y};
      roots[3 * quarter - k] = (fl_fft_number){-sign * y, -sign * x};
      roots[3 * quarter + k] = (fl_fft_number){sign * y, -sign * x};
    }
  }
}

/* Computes the transform of real lines from the transform of their pairs, and writes it. `found` has `half` packets; `block` is scratch memory. */
static inline __attribute__((always_inline)) void write_lines(const float *found, const fl_fft_number *roots, size_t half, float scale,
                                                              float *const *out, float *block, size_t some, const size_t lines) {
  for (size_t first = 0; first <= half; first += BLOCK) {
    const size_t size = half + 1 - first < BLOCK ? half + 1 - first : BLOCK;
    for (size_t i = 0; i < size; ++i) {
      const size_t k = first + i;
      const float *const x = found + k % half * 2 * lines;
      const float *const y = found + (half - k) % half * 2 * lines;
      const float root_re = 0.5f * scale * (float)roots[k].re, root_im = 0.5f * scale * (float)roots[k].im;
      float *const to = block + i * 2 * lines;
      FL_INDEPENDENT
      for (size_t l = 0; l < lines; ++l) {
        const float even_re = x[l] + y[l], even_im = x[lines + l] - y[lines + l];
        const float odd_re = x[lines + l] + y[lines + l], odd_im = y[l] - x[l];
        to[2 * l] = 0.5f * scale * even_re + (root_re * odd_re - root_im * odd_im);
        to[2 * l + 1] = 0.5f * scale * even_im + (root_re * odd_im + root_im * odd_re);
      }
    }
    for (size_t l = 0; l < some; ++l) {
      for (size_t i = 0; i < size; ++i) {
        memcpy(out[l] + 2 * (first + i), block + (i * lines + l) * 2, 2 * sizeof(float));
      }
    }
  }
}

/* Transforms `some` lines, each in its own lane; the other lanes repeat the first line. */
static inline __attribute__((always_inline)) void transform_lines(const float *in, float *out, const fl_fft_number *roots, size_t n,
                                                                  float scale, float *packets, float *others, size_t some, const size_t lines) {
  const size_t half = n / 2;
  float *to[LINES];
  for (size_t l = 0; l < lines; ++l) {
    to[l] = out + (l < some ? l : 0) * (n + 2);
  }
  float *const block = others;
  for (size_t first = 0; first < half; first += BLOCK) {
    const size_t size = half - first < BLOCK ? half - first : BLOCK;
    for (size_t l = 0; l < lines; ++l) {
      const float *const line = in + (l < some ? l : 0) * n + 2 * first;
      for (size_t i = 0; i < size; ++i) {
        memcpy(block + (i * lines + l) * 2, line + 2 * i, 2 * sizeof(float));
      }
    }
    for (size_t i = 0; i < size; ++i) {
      float *const to_packet = packets + (first + i) * 2 * lines;
      const float *const from = block + i * 2 * lines;
      FL_INDEPENDENT
      for (size_t l = 0; l < lines; ++l) {
        to_packet[l] = from[2 * l];
        to_packet[lines + l] = from[2 * l + 1];
      }
    }
  }
  const float *const found = steps(packets, others, roots, 2, half, lines);
  write_lines(found, roots, half, scale, to, found == packets ? others : packets, some, lines);
}

static __attribute__((noinline)) void transform_many(const float *in, float *out, const fl_fft_number *roots, size_t n, float scale,
                                                     float *packets, float *others, size_t some) {
  transform_lines(in, out, roots, n, scale, packets, others, some, LINES);
}

static __attribute__((noinline)) void transform_one(const float *in, float *out, const fl_fft_number *roots, size_t n, float scale,
                                                    float *packets, float *others) {
  transform_lines(in, out, roots, n, scale, packets, others, 1, 1);
}

fl_status fl_real_fft_lines(fl_context *context, const fl_tensor *self, const fl_tensor *out, float scale) {
  const size_t n = (size_t)self->sizes[self->rank - 1];
  const size_t count = n > 0 ? fl_numel(self) / n : 0;
  FL_TAKE(fl_fft_number, roots, n);
  FL_TAKE(float, packets, (n + 2) * LINES);
  FL_TAKE(float, others, (n + 2) * LINES);
  fl_fft_turns(roots, n, 1);
  for (size_t first = 0; first < count;) {
    const size_t left = count - first;
    const size_t some = left >= LINES ? LINES : left >= 4 ? left : 1;
    const float *const in = (const float *)self->data + first * n;
    float *const to = (float *)out->data + first * (n + 2);
    if (some > 1) {
      transform_many(in, to, roots, n, scale, packets, others, some);
    } else {
      transform_one(in, to, roots, n, scale, packets, others);
    }
    first += some;
  }
  return FL_OK;
}
