/* Steps of discrete Fourier transforms of `lines` lines at once, in numbers of type REAL, which the file that includes this one defines.
 *
 * Number i of all lines is a packet: `lines` real parts, then `lines` imaginary parts. A transform takes one step for each factor of n, in
 * Stockham's order, which needs no permutation; the step of a prime factor p sums p products. `stride` is the distance between roots in their
 * table. In all steps `done` is the product of the factors before, and `apart` is n / (done * the step's factor). */
#include "fft_number.h"

/* Computes the step of a factor 4. `turn`, 1 or -1, is the imaginary part of the root of a quarter turn. In the first step all roots are 1. */
static inline __attribute__((always_inline)) void step_by_4(const REAL *from, REAL *to, const fl_fft_number *roots, size_t stride, size_t done,
                                                            size_t apart, REAL turn, const int is_first, const size_t lines) {
  const size_t next = apart * done * 2 * lines, far = done * 2 * lines;
  for (size_t c = 0; c < apart; ++c) {
    for (size_t i = 0; i < done; ++i) {
      const REAL *const x = from + (c * done + i) * 2 * lines;
      REAL *const y = to + (c * done * 4 + i) * 2 * lines;
      const fl_fft_number *const root = roots + i * apart * stride;
      const REAL u_re = (REAL)root[0].re, u_im = (REAL)root[0].im;
      const REAL v_re = (REAL)root[i * apart * stride].re, v_im = (REAL)root[i * apart * stride].im;
      const REAL w_re = (REAL)root[2 * i * apart * stride].re, w_im = (REAL)root[2 * i * apart * stride].im;
      FL_INDEPENDENT
      for (size_t l = 0; l < lines; ++l) {
        const size_t m = lines + l;
        const REAL a_re = x[l], a_im = x[m];
        REAL b_re = x[next + l], b_im = x[next + m], c_re = x[2 * next + l], c_im = x[2 * next + m];
        REAL d_re = x[3 * next + l], d_im = x[3 * next + m];
        if (!is_first) {
          const REAL b = u_re * b_re - u_im * b_im, c = v_re * c_re - v_im * c_im, d = w_re * d_re - w_im * d_im;
          b_im = u_re * b_im + u_im * b_re;
          c_im = v_re * c_im + v_im * c_re;
          d_im = w_re * d_im + w_im * d_re;
          b_re = b;
          c_re = c;
          d_re = d;
        }
        const REAL even_re = a_re + c_re, even_im = a_im + c_im, odd_re = a_re - c_re, odd_im = a_im - c_im;
        const REAL sum_re = b_re + d_re, sum_im = b_im + d_im, rest_re = -turn * (b_im - d_im), rest_im = turn * (b_re - d_re);
        y[l] = even_re + sum_re;
        y[m] = even_im + sum_im;
        y[far + l] = odd_re + rest_re;
        y[far + m] = odd_im + rest_im;
        y[2 * far + l] = even_re - sum_re;
        y[2 * far + m] = even_im - sum_im;
        y[3 * far + l] = odd_re - rest_re;
        y[3 * far + m] = odd_im - rest_im;
      }
    }
  }
}

/* Computes the step of a factor 5, whose roots of unity are 1, r, s and the conjugates of s and r. */
static inline __attribute__((always_inline)) void step_by_5(const REAL *from, REAL *to, const fl_fft_number *roots, size_t stride, size_t done,
                                                            size_t apart, const fl_fft_number r, const fl_fft_number s, const size_t lines) {
  const size_t next = apart * done * 2 * lines, far = done * 2 * lines;
  const REAL r_re = (REAL)r.re, r_im = (REAL)r.im, s_re = (REAL)s.re, s_im = (REAL)s.im;
  for (size_t c = 0; c < apart; ++c) {
    for (size_t i = 0; i < done; ++i) {
      const REAL *const x = from + (c * done + i) * 2 * lines;
      REAL *const y = to + (c * done * 5 + i) * 2 * lines;
      REAL root_re[5], root_im[5];
      for (size_t k = 1; k < 5; ++k) {
        root_re[k] = (REAL)roots[k * i * apart * stride].re;
        root_im[k] = (REAL)roots[k * i * apart * stride].im;
      }
      FL_INDEPENDENT
      for (size_t l = 0; l < lines; ++l) {
        const size_t m = lines + l;
        const REAL a_re = x[l], a_im = x[m];
        const REAL b_re = root_re[1] * x[next + l] - root_im[1] * x[next + m], b_im = root_re[1] * x[next + m] + root_im[1] * x[next + l];
        const REAL c_re = root_re[2] * x[2 * next + l] - root_im[2] * x[2 * next + m];
        const REAL c_im = root_re[2] * x[2 * next + m] + root_im[2] * x[2 * next + l];
        const REAL d_re = root_re[3] * x[3 * next + l] - root_im[3] * x[3 * next + m];
        const REAL d_im = root_re[3] * x[3 * next + m] + root_im[3] * x[3 * next + l];
        const REAL e_re = root_re[4] * x[4 * next + l] - root_im[4] * x[4 * next + m];
        const REAL e_im = root_re[4] * x[4 * next + m] + root_im[4] * x[4 * next + l];
        const REAL outer_re = b_re + e_re, outer_im = b_im + e_im, inner_re = c_re + d_re, inner_im = c_im + d_im;
        const REAL apart_re = b_re - e_re, apart_im = b_im - e_im, close_re = c_re - d_re, close_im = c_im - d_im;
        const REAL one_re = a_re + r_re * outer_re + s_re * inner_re, one_im = a_im + r_re * outer_im + s_re * inner_im;
        const REAL two_re = a_re + s_re * outer_re + r_re * inner_re, two_im = a_im + s_re * outer_im + r_re * inner_im;
        const REAL turn_re = r_im * apart_re + s_im * close_re, turn_im = r_im * apart_im + s_im * close_im;
        const REAL back_re = s_im * apart_re - r_im * close_re, back_im = s_im * apart_im - r_im * close_im;
        y[l] = a_re + outer_re + inner_re;
        y[m] = a_im + outer_im + inner_im;
        y[far + l] = one_re - turn_im;
        y[far + m] = one_im + turn_re;
        y[2 * far + l] = two_re - back_im;
        y[2 * far + m] = two_im + back_re;
        y[3 * far + l] = two_re + back_im;
        y[3 * far + m] = two_im - back_re;
        y[4 * far + l] = one_re + turn_im;
        y[4 * far + m] = one_im - turn_re;
      }
    }
  }
}

/* A step of a factor p. */
static inline __attribute__((always_inline)) void step_by(size_t p, const REAL *from, REAL *to, const fl_fft_number *roots, size_t stride,
                                                          size_t done, size_t n, const size_t lines) {
  const size_t apart = n / done / p;
  for (size_t c = 0; c < apart; ++c) {
    for (size_t i = 0; i < done * p; ++i) {
      const REAL *x = from + (c * done + i % done) * 2 * lines;
      REAL *const y = to + (c * done * p + i) * 2 * lines;
      const size_t step = i * apart;
      REAL re[LINES], im[LINES];
      for (size_t l = 0; l < lines; ++l) {
        re[l] = x[l];
        im[l] = x[lines + l];
      }
      for (size_t r = 1, at = step; r < p; ++r, at = at + step < n ? at + step : at + step - n) {
        const REAL root_re = (REAL)roots[at * stride].re, root_im = (REAL)roots[at * stride].im;
        x += apart * done * 2 * lines;
        for (size_t l = 0; l < lines; ++l) {
          re[l] += root_re * x[l] - root_im * x[lines + l];
          im[l] += root_re * x[lines + l] + root_im * x[l];
        }
      }
      for (size_t l = 0; l < lines; ++l) {
        y[l] = re[l];
        y[lines + l] = im[l];
      }
    }
  }
}

/* Transforms lines of n numbers, alternating between the arrays `from` and `to`. Returns the one that holds the result. */
static inline __attribute__((always_inline)) REAL *steps(REAL *from, REAL *to, const fl_fft_number *roots, size_t stride, size_t n,
                                                         const size_t lines) {
  size_t done = 1; /* `from` holds the transforms, each of length `done`, of the subsequences of every (n / done)-th number */
  size_t prime = 2;
  while (done < n) {
    const size_t left = n / done;
    size_t p = 4;
    if (left % 4 == 0) {
      const REAL turn = (REAL)roots[n / 4 * stride].im;
      if (done == 1) {
        step_by_4(from, to, roots, stride, 1, left / 4, turn, 1, lines);
      } else {
        step_by_4(from, to, roots, stride, done, left / 4, turn, 0, lines);
      }
    } else {
      while (left % prime != 0) {
        prime = prime * prime > left ? left : prime + 1;
      }
      p = prime;
    }
    if (p == 5) {
      step_by_5(from, to, roots, stride, done, left / 5, roots[n / 5 * stride], roots[n / 5 * 2 * stride], lines);
    } else if (p == 2) {
      step_by(2, from, to, roots, stride, done, n, lines);
    } else if (p == 3) {
      step_by(3, from, to, roots, stride, done, n, lines);
    } else if (p != 4) {
      step_by(p, from, to, roots, stride, done, n, lines);
    }
    done *= p;
    REAL *const swap = from;
    from = to;
    to = swap;
  }
  return from;
}

