/* Computes depthwise convolution, channels last, with vectors along the channels and several neighbouring pixels at a time. */
#include "depthwise.h"

/* The data for one row of the output. */
typedef struct row {
  const float *input;   /* the first pixel of the first input row within the image */
  const float *weight;  /* the weight of the kernel row at that input row */
  const float *bias;
  const float *addend;  /* the addend of this row of the output, or NULL */
  float *out;
  size_t rows;          /* number of kernel rows within the image */
  size_t columns;       /* kernel width */
  size_t channels, padded_channels;
  size_t line;          /* floats from an input row under the kernel to the next */
  size_t dilation;      /* floats from one tap to the next */
  size_t step;          /* floats from tap 0 of an output pixel to tap 0 of the next */
  float low, high;
} row;

FL_INLINE fl_vec load_some(const float *p, size_t n) { return n == FL_LANES ? fl_load(p) : fl_load_part(p, n); }

/* Adds the addend, applies the limits, and stores n channels at float `at` of the row. */
FL_INLINE void finish(const row r, fl_vec v, size_t at, size_t n) {
  if (r.addend) {
    v += load_some(r.addend + at, n);
  }
  v = fl_min_b(fl_set(r.high), fl_max_b(fl_set(r.low), v));
  if (n == FL_LANES) {
    fl_store(r.out + at, v);
  } else {
    fl_store_part(r.out + at, v, n);
  }
}

/* Computes `blocks` times `count` pixels from x on, whose taps [first, last) all lie within the image; `from` is the position of tap 0 of pixel x,
 * which may be outside. The row is passed by value, so that its members stay in registers when results are stored. */
FL_INLINE void pixels_any(const row r, size_t x, ptrdiff_t from, size_t first, size_t last, const int count, size_t blocks) {
  for (size_t c = 0; c < r.channels; c += FL_LANES) {
    const size_t n = r.channels - c < FL_LANES ? r.channels - c : FL_LANES;
    const fl_vec bias = r.bias ? load_some(r.bias + c, n) : fl_zero();
    for (size_t block = 0; block < blocks; ++block) {
      const ptrdiff_t start = from + (ptrdiff_t)(block * (size_t)count * r.step + c);
      fl_vec acc[4] = {bias, bias, bias, bias};
      for (size_t i = 0; i < r.rows; ++i) {
        for (size_t j = first; j < last; ++j) {
          fl_vec w = fl_load(r.weight + (i * r.columns + j) * r.padded_channels + c);
          FL_HOLD(w);
          const float *in = r.input + (start + (ptrdiff_t)(i * r.line + j * r.dilation));
          FL_UNROLL
          for (int t = 0; t < count; ++t) {
            acc[t] = fl_fma(load_some(in + (size_t)t * r.step, n), w, acc[t]);
          }
        }
      }
      FL_UNROLL
      for (int t = 0; t < count; ++t) {
        finish(r, acc[t], (x + block * (size_t)count + (size_t)t) * r.channels + c, n);
      }
    }
  }
}

static __attribute__((noinline)) void pixels_4(const row *r, size_t x, ptrdiff_t from, size_t first, size_t last, size_t blocks) {
  pixels_any(*r, x, from, first, last, 4, blocks);
}

static __attribute__((noinline)) void pixels_1(const row *r, size_t x, ptrdiff_t from, size_t first, size_t last, size_t blocks) {
  pixels_any(*r, x, from, first, last, 1, blocks);
}

/* Computes pixels of a 3 x 3 kernel without dilation, with whole vectors. The weights stay in registers, and each pixel of the input is loaded
 * once for all outputs that use it. Element e of a row of the input is under tap e - stride t of output t. */
FL_INLINE void pixels_3x3(const row r, size_t x, size_t from, const int stride, const int count, size_t blocks) {
  const size_t pixel = r.channels;
  for (size_t c = 0; c < pixel; c += FL_LANES) {
    fl_vec w[9];
    FL_UNROLL
    for (int i = 0; i < 9; ++i) {
      w[i] = fl_load(r.weight + (size_t)i * r.padded_channels + c);
    }
    const fl_vec bias = r.bias ? fl_load(r.bias + c) : fl_zero();
    const float *in = r.input + from + c;
    size_t at = x * pixel + c;
    for (size_t block = 0; block < blocks; ++block) {
      fl_vec acc[4] = {bias, bias, bias, bias};
      FL_UNROLL
      for (int i = 0; i < 3; ++i) {
        const float *line = in + (size_t)i * r.line;
        FL_UNROLL
        for (int e = 0; e < stride * (count - 1) + 3; ++e) {
          fl_vec v = fl_load(line);
          FL_HOLD(v);
          line += pixel;
          FL_UNROLL
          for (int t = 0; t < count; ++t) {
            const int tap = e - stride * t;
            if (tap >= 0 && tap < 3) {
              acc[t] = fl_fma(v, w[3 * i + tap], acc[t]);
            }
          }
        }
      }
      FL_UNROLL
      for (int t = 0; t < count; ++t) {
        finish(r, acc[t], at, FL_LANES);
        at += pixel;
      }
      in += (size_t)(count * stride) * pixel;
    }
  }
}

#define PIXELS_3X3(stride, count)                                                                                           \
  static __attribute__((noinline)) void pixels_3x3_##stride##_##count(const row *r, size_t x, size_t from, size_t blocks) { \
    pixels_3x3(*r, x, from, stride, count, blocks);                                                                         \
  }
/* Computes at most 4 neighbouring pixels of a 3 x 3 kernel at an edge of the image: `r.rows` rows of the kernel lie within it, and the elements
 * [first, last) of a row of the input. */
FL_INLINE void pixels_3x3_at_edge(const row r, size_t x, ptrdiff_t from, const int stride, size_t outs, int first, int last) {
  const size_t pixel = r.channels;
  for (size_t c = 0; c < pixel; c += FL_LANES) {
    const fl_vec bias = r.bias ? fl_load(r.bias + c) : fl_zero();
    fl_vec acc[4] = {bias, bias, bias, bias};
    for (size_t i = 0; i < r.rows; ++i) {
      const float *const line = r.input + (from + (ptrdiff_t)(i * r.line + c)), *const weight = r.weight + 3 * i * r.padded_channels + c;
      const fl_vec w[3] = {fl_load(weight), fl_load(weight + r.padded_channels), fl_load(weight + 2 * r.padded_channels)};
      FL_UNROLL
      for (int e = 0; e < stride * 3 + 3; ++e) {
        if (e >= first && e < last) {
          const fl_vec v = fl_load(line + (size_t)e * pixel);
          FL_UNROLL
          for (int t = 0; t < 4; ++t) {
            const int tap = e - stride * t;
            if (tap >= 0 && tap < 3) {
              acc[t] = fl_fma(v, w[tap], acc[t]);
            }
          }
        }
      }
    }
    FL_UNROLL
    for (size_t t = 0; t < 4; ++t) {
      if (t < outs) {
        finish(r, acc[t], (x + t) * pixel + c, FL_LANES);
      }
    }
  }
}

static __attribute__((noinline)) void pixels_3x3_at_edge_1(const row *r, size_t x, ptrdiff_t from, size_t outs, int first, int last) {
  pixels_3x3_at_edge(*r, x, from, 1, outs, first, last);
}

static __attribute__((noinline)) void pixels_3x3_at_edge_2(const row *r, size_t x, ptrdiff_t from, size_t outs, int first, int last) {
  pixels_3x3_at_edge(*r, x, from, 2, outs, first, last);
}

PIXELS_3X3(1, 4)
PIXELS_3X3(1, 2)
PIXELS_3X3(1, 1)
PIXELS_3X3(2, 4)
PIXELS_3X3(2, 2)
PIXELS_3X3(2, 1)

/* Whether a kernel is of 3 x 3 without dilation, and the channels are whole vectors. */
static int is_whole_3x3(const fl_conv2d *c) {
  return c->kernel_height == 3 && c->kernel_width == 3 && c->dilation_width == 1 && c->channels % FL_LANES == 0 &&
         (c->stride_width == 1 || c->stride_width == 2);
}

/* Computes the pixels [x, x + n), all of whose taps lie within the image. */
static void compute_inside(const fl_conv2d *c, const row *r, size_t x, size_t n) {
  const int whole_3x3 = r->rows == 3 && is_whole_3x3(c);
  while (n > 0) {
    const ptrdiff_t from = ((ptrdiff_t)(x * c->stride_width) - (ptrdiff_t)c->padding_width) * (ptrdiff_t)c->channels;
    const size_t width = n >= 4 ? 4 : n >= 2 && whole_3x3 ? 2 : 1;
    const size_t blocks = n / width;
    if (whole_3x3 && c->stride_width == 1) {
      (width == 4 ? pixels_3x3_1_4 : width == 2 ? pixels_3x3_1_2 : pixels_3x3_1_1)(r, x, (size_t)from, blocks);
    } else if (whole_3x3) {
      (width == 4 ? pixels_3x3_2_4 : width == 2 ? pixels_3x3_2_2 : pixels_3x3_2_1)(r, x, (size_t)from, blocks);
    } else if (width == 4) {
      pixels_4(r, x, from, 0, c->kernel_width, blocks);
    } else {
      pixels_1(r, x, from, 0, c->kernel_width, width * blocks);
    }
    x += width * blocks;
    n -= width * blocks;
  }
}

static void compute_row(const fl_conv2d *c, const row *r) {
  const size_t reach = (c->kernel_width - 1) * c->dilation_width;
  for (size_t x = 0; x < c->out_width;) {
    const ptrdiff_t start = (ptrdiff_t)(x * c->stride_width) - (ptrdiff_t)c->padding_width;
    /* `inside` is the number of outputs from x on whose taps all lie within the image. */
    const ptrdiff_t last = (ptrdiff_t)c->width - 1 - (ptrdiff_t)reach - start;
    const size_t inside = start < 0 || last < 0 ? 0 : (size_t)last / c->stride_width + 1;
    if (is_whole_3x3(c) && (inside == 0 || r->rows < 3)) {
      const size_t outs = c->out_width - x < 4 ? c->out_width - x : 4;
      const ptrdiff_t most = (ptrdiff_t)c->stride_width * 3 + 3, end = (ptrdiff_t)c->width - start;
      const int first = (int)(start >= 0 ? 0 : -start < most ? -start : most), last_inside = (int)(end < 0 ? 0 : end < most ? end : most);
      (c->stride_width == 1 ? pixels_3x3_at_edge_1 : pixels_3x3_at_edge_2)(r, x, start * (ptrdiff_t)c->channels, outs, first, last_inside);
      x += outs;
      continue;
    }
    if (inside > 0) {
      const size_t n = inside < c->out_width - x ? inside : c->out_width - x;
      compute_inside(c, r, x, n);
      x += n;
      continue;
    }
    size_t first = 0, end = c->kernel_width;
    while (first < end && start + (ptrdiff_t)(first * c->dilation_width) < 0) {
      ++first;
    }
    while (end > first && start + (ptrdiff_t)((end - 1) * c->dilation_width) >= (ptrdiff_t)c->width) {
      --end;
    }
    pixels_1(r, x, start * (ptrdiff_t)c->channels, first, end, 1);
    x += 1;
  }
}

/* Computes a row of the result. */
static void run_row(const void *work, size_t piece, void *scratch) {
  const fl_conv2d *const c = work;
  (void)scratch;
  const int clamped = c->activation == FL_ACTIVATION_RELU || c->activation == FL_ACTIVATION_RELU6;
  const size_t out_line = c->out_width * c->channels, n = piece / c->out_height, y = piece % c->out_height;
  row r = {0};
  r.bias = c->bias;
  r.columns = c->kernel_width;
  r.channels = c->channels;
  r.padded_channels = (c->channels + FL_PANEL - 1) / FL_PANEL * FL_PANEL;
  r.line = c->dilation_height * c->width * c->channels;
  r.dilation = c->dilation_width * c->channels;
  r.step = c->stride_width * c->channels;
  r.low = clamped ? 0.0f : -INFINITY;
  r.high = c->activation == FL_ACTIVATION_RELU6 ? 6.0f : INFINITY;
  const ptrdiff_t start = (ptrdiff_t)(y * c->stride_height) - (ptrdiff_t)c->padding_height;
  size_t first = 0, end = c->kernel_height;
  while (first < end && start + (ptrdiff_t)(first * c->dilation_height) < 0) {
    ++first;
  }
  while (end > first && start + (ptrdiff_t)((end - 1) * c->dilation_height) >= (ptrdiff_t)c->height) {
    --end;
  }
  const size_t in_row = end > first ? (size_t)(start + (ptrdiff_t)(first * c->dilation_height)) : 0;
  r.rows = end - first;
  r.input = c->input + (n * c->height + in_row) * c->width * c->channels;
  r.weight = c->weight + first * c->kernel_width * r.padded_channels;
  r.addend = c->addend ? c->addend + piece * out_line : NULL;
  r.out = c->out + piece * out_line;
  compute_row(c, &r);
  if (!clamped) {
    fl_activate(c->activation, r.out, out_line);
  }
}

void fl_conv2d_depthwise(const fl_context *context, const fl_conv2d *c) {
  const size_t rows = c->channels > 0 ? c->batch * c->out_height : 0;
  fl_divide(context, rows, 2 * rows * c->out_width * c->channels * c->kernel_height * c->kernel_width / FL_LANES, run_row, c);
}
