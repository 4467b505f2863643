/* Depthwise convolution, channels last: vectors along the channels, several neighbouring pixels at a time. */
#include "conv2d.h"

/* What one row of the output needs. */
typedef struct row {
  const float *input;   /* the image's first pixel in the first input row that counts */
  const float *weight;  /* of the first kernel row that counts */
  const float *bias;
  const float *addend;  /* of this row of the output, or NULL */
  float *out;
  size_t rows;          /* kernel rows that fall within the image */
  size_t columns;       /* kernel width */
  size_t channels, padded_channels;
  size_t line;          /* floats from one of these input rows to the next */
  size_t dilation;      /* floats from one tap to the next */
  float low, high;
} row;

FL_INLINE fl_vec load_some(const float *p, size_t n) { return n == FL_LANES ? fl_load(p) : fl_load_part(p, n); }

/* Adds bias and addend, clamps and stores. `at` is relative to the row. */
FL_INLINE void finish(const row *r, fl_vec v, size_t at, size_t channel, size_t n) {
  if (r->bias) {
    v += load_some(r->bias + channel, n);
  }
  if (r->addend) {
    v += load_some(r->addend + at, n);
  }
  v = fl_min_b(fl_set(r->high), fl_max_b(fl_set(r->low), v));
  if (n == FL_LANES) {
    fl_store(r->out + at, v);
  } else {
    fl_store_part(r->out + at, v, n);
  }
}

/* `count` pixels from x on, all of whose taps [first, last) lie within the image; `from` is tap 0 of pixel x, possibly a place outside it. */
FL_INLINE void pixels_any(const row *r, size_t x, ptrdiff_t from, size_t step, size_t first, size_t last, const int count) {
  for (size_t c = 0; c < r->channels; c += FL_LANES) {
    const size_t n = r->channels - c < FL_LANES ? r->channels - c : FL_LANES;
    fl_vec acc[4];
    FL_UNROLL
    for (int t = 0; t < count; ++t) {
      acc[t] = fl_zero();
    }
    for (size_t i = 0; i < r->rows; ++i) {
      for (size_t j = first; j < last; ++j) {
        const fl_vec w = fl_load(r->weight + (i * r->columns + j) * r->padded_channels + c);
        const ptrdiff_t at = from + (ptrdiff_t)(i * r->line + j * r->dilation + c);
        FL_UNROLL
        for (int t = 0; t < count; ++t) {
          acc[t] = fl_fma(load_some(r->input + at + (ptrdiff_t)((size_t)t * step), n), w, acc[t]);
        }
      }
    }
    FL_UNROLL
    for (int t = 0; t < count; ++t) {
      finish(r, acc[t], (x + (size_t)t) * r->channels + c, c, n);
    }
  }
}

static __attribute__((noinline)) void pixels_4(const row *r, size_t x, ptrdiff_t from, size_t step, size_t first, size_t last) {
  pixels_any(r, x, from, step, first, last, 4);
}

static __attribute__((noinline)) void pixels_1(const row *r, size_t x, ptrdiff_t from, size_t step, size_t first, size_t last) {
  pixels_any(r, x, from, step, first, last, 1);
}

/* 3 x 3 without dilation, whole vectors: the weights stay in registers, and a pixel of the input is loaded once for all the outputs that
 * it falls into. Element x of a row of the input is under tap x - stride t of output t. */
FL_INLINE size_t pixels_3x3(const row *r, size_t x, size_t from, const int stride, const int count) {
  const float *in = r->input + from;
  const size_t pixel = r->channels;
  size_t c = 0;
  for (; c + FL_LANES <= r->channels; c += FL_LANES) {
    fl_vec acc[4];
    FL_UNROLL
    for (int t = 0; t < count; ++t) {
      acc[t] = fl_zero();
    }
    FL_UNROLL
    for (int i = 0; i < 3; ++i) {
      const float *line = in + (size_t)i * r->line + c;
      const float *weight = r->weight + (size_t)(3 * i) * r->padded_channels + c;
      const fl_vec w[3] = {fl_load(weight), fl_load(weight + r->padded_channels), fl_load(weight + 2 * r->padded_channels)};
      FL_UNROLL
      for (int e = 0; e < stride * (count - 1) + 3; ++e) {
        const fl_vec v = fl_load(line + (size_t)e * pixel);
        FL_UNROLL
        for (int t = 0; t < count; ++t) {
          const int tap = e - stride * t;
          if (tap >= 0 && tap < 3) {
            acc[t] = fl_fma(v, w[tap], acc[t]);
          }
        }
      }
    }
    FL_UNROLL
    for (int t = 0; t < count; ++t) {
      finish(r, acc[t], (x + (size_t)t) * pixel + c, c, FL_LANES);
    }
  }
  return c;
}

static __attribute__((noinline)) void pixels_3x3_stride_1(const row *r, size_t x, size_t from) { (void)pixels_3x3(r, x, from, 1, 4); }
static __attribute__((noinline)) void pixels_3x3_stride_2(const row *r, size_t x, size_t from) { (void)pixels_3x3(r, x, from, 2, 2); }

static void compute_row(const fl_conv2d *c, const row *r) {
  const ptrdiff_t pixel = (ptrdiff_t)c->channels;
  const size_t step = c->stride_width * c->channels;
  const size_t reach = (c->kernel_width - 1) * c->dilation_width;
  const int whole_3x3 = r->rows == 3 && c->kernel_width == 3 && c->dilation_width == 1 && c->channels % FL_LANES == 0;
  for (size_t x = 0; x < c->out_width;) {
    const ptrdiff_t start = (ptrdiff_t)(x * c->stride_width) - (ptrdiff_t)c->padding_width;
    /* How many outputs from x on have all their taps within the image. */
    const ptrdiff_t last = (ptrdiff_t)c->width - 1 - (ptrdiff_t)reach - start;
    const size_t inside = start < 0 || last < 0 ? 0 : (size_t)last / c->stride_width + 1;
    const size_t left = inside < c->out_width - x ? inside : c->out_width - x;
    if (left >= 4 && whole_3x3 && c->stride_width == 1) {
      pixels_3x3_stride_1(r, x, (size_t)(start * pixel));
      x += 4;
    } else if (left >= 2 && whole_3x3 && c->stride_width == 2) {
      pixels_3x3_stride_2(r, x, (size_t)(start * pixel));
      x += 2;
    } else if (left >= 4) {
      pixels_4(r, x, start * pixel, step, 0, c->kernel_width);
      x += 4;
    } else {
      size_t first = 0, end = c->kernel_width;
      while (first < end && start + (ptrdiff_t)(first * c->dilation_width) < 0) {
        ++first;
      }
      while (end > first && start + (ptrdiff_t)((end - 1) * c->dilation_width) >= (ptrdiff_t)c->width) {
        --end;
      }
      pixels_1(r, x, start * pixel, step, first, end);
      x += 1;
    }
  }
}

void fl_conv2d_depthwise(const fl_conv2d *c) {
  if (c->batch == 0 || c->channels == 0) {
    return;
  }
  const int clamped = c->activation == FL_ACTIVATION_RELU || c->activation == FL_ACTIVATION_RELU6;
  const size_t out_line = c->out_width * c->channels;
  row r = {0};
  r.bias = c->bias;
  r.columns = c->kernel_width;
  r.channels = c->channels;
  r.padded_channels = (c->channels + FL_PANEL - 1) / FL_PANEL * FL_PANEL;
  r.line = c->dilation_height * c->width * c->channels;
  r.dilation = c->dilation_width * c->channels;
  r.low = clamped ? 0.0f : -INFINITY;
  r.high = c->activation == FL_ACTIVATION_RELU6 ? 6.0f : INFINITY;
  for (size_t n = 0; n < c->batch; ++n) {
    for (size_t y = 0; y < c->out_height; ++y) {
      const ptrdiff_t start = (ptrdiff_t)(y * c->stride_height) - (ptrdiff_t)c->padding_height;
      size_t first = 0, end = c->kernel_height;
      while (first < end && start + (ptrdiff_t)(first * c->dilation_height) < 0) {
        ++first;
      }
      while (end > first && start + (ptrdiff_t)((end - 1) * c->dilation_height) >= (ptrdiff_t)c->height) {
        --end;
      }
      const size_t in_row = end > first ? (size_t)(start + (ptrdiff_t)(first * c->dilation_height)) : 0;
      const size_t at = (n * c->out_height + y) * out_line;
      r.rows = end - first;
      r.input = c->input + (n * c->height + in_row) * c->width * c->channels;
      r.weight = c->weight + first * c->kernel_width * r.padded_channels;
      r.addend = c->addend ? c->addend + at : NULL;
      r.out = c->out + at;
      compute_row(c, &r);
      if (!clamped) {
        fl_activate(c->activation, r.out, out_line);
      }
    }
  }
}
