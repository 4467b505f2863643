/* Computes transposed convolution as a product, [pixels, in channels] by [in channels, out channels and taps], whose rows are added where the taps of
 * a pixel lie in the result. */
#include "transposed_convolution.h"

#include "gemm.h"
#include "scratch.h"
#include "transpose.h"

/* The most floats of the weight that are packed at a time, and of products: both stay in the second-level cache. At least one output channel and
 * LEAST_PIXELS pixels are computed at a time. */
#define WEIGHT_FLOATS 32768
#define PRODUCT_FLOATS 16384
#define LEAST_PIXELS 8

/* The sizes of the parts that are computed at a time. */
typedef struct cut {
  size_t channels, outs, taps; /* of a group */
  size_t step, pixels;         /* output channels and pixels at a time */
  size_t weight;               /* floats of the packed weight */
} cut;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }
static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 16 / a ? SIZE_MAX / 16 : a * b; }

static cut cut_of(const fl_convolution *p) {
  cut t = {.channels = p->in_channels / p->groups, .outs = p->out_channels / p->groups, .taps = p->kernel[1] * p->kernel[2]};
  t.step = most(1, least(t.outs, WEIGHT_FLOATS / most(1, times(t.channels, t.taps))));
  t.pixels = least(p->in[1] * p->in[2], most(LEAST_PIXELS, PRODUCT_FLOATS / most(1, times(t.step, t.taps))));
  t.weight = times(t.channels, (times(t.step, t.taps) + FL_PANEL - 1) / FL_PANEL * FL_PANEL);
  return t;
}

size_t fl_transposed_convolution_scratch(const fl_convolution *p) {
  const cut t = cut_of(p);
  return FL_TAKEN(float, t.weight) + FL_TAKEN(float, times(t.pixels, t.channels)) + FL_TAKEN(float, times(t.pixels, times(t.step, t.taps)));
}

/* The taps [first, end) of a dimension whose places lie within the result, which has `size` places; tap k lies at start + k * dilation. */
typedef struct span {
  size_t first, end;
} span;

static span inside(ptrdiff_t start, size_t taps, size_t dilation, size_t size) {
  span s = {0, taps};
  while (s.first < taps && start + (ptrdiff_t)(s.first * dilation) < 0) {
    ++s.first;
  }
  while (s.end > s.first && start + (ptrdiff_t)((s.end - 1) * dilation) >= (ptrdiff_t)size) {
    --s.end;
  }
  return s;
}

/* Adds the products of one pixel to the planes of `outs` output channels. */
static void add_pixel(const fl_convolution *p, size_t pixel, const float *products, size_t outs, float *out) {
  const size_t y = pixel / p->in[2], x = pixel % p->in[2], area = p->out_size[1] * p->out_size[2], dilation = p->dilation[2];
  const ptrdiff_t top = (ptrdiff_t)(y * p->stride[1]) - (ptrdiff_t)p->padding[1], left = (ptrdiff_t)(x * p->stride[2]) - (ptrdiff_t)p->padding[2];
  const span rows = inside(top, p->kernel[1], p->dilation[1], p->out_size[1]), columns = inside(left, p->kernel[2], dilation, p->out_size[2]);
  for (size_t o = 0; o < outs; ++o, out += area, products += p->kernel[1] * p->kernel[2]) {
    for (size_t i = rows.first; i < rows.end; ++i) {
      const float *const from = products + i * p->kernel[2];
      float *const to = out + (top + (ptrdiff_t)(i * p->dilation[1])) * (ptrdiff_t)p->out_size[2] + left;
      size_t j = columns.first;
      for (; dilation == 1 && j + FL_LANES <= columns.end; j += FL_LANES) {
        fl_store(to + j, fl_load(to + j) + fl_load(from + j));
      }
      for (; j < columns.end; ++j) {
        to[j * dilation] += from[j];
      }
    }
  }
}

static void fill(const fl_convolution *p, size_t first, size_t outs, float *out) {
  const size_t area = p->out_size[1] * p->out_size[2];
  for (size_t o = 0; o < outs; ++o, out += area) {
    const float bias = p->bias ? ((const float *)p->bias->data)[first + o] : 0.0f;
    for (size_t i = 0; i < area; ++i) {
      out[i] = bias;
    }
  }
}

void fl_transposed_convolution(const fl_convolution *p, void *scratch) {
  const cut t = cut_of(p);
  const size_t in_area = p->in[1] * p->in[2], out_area = p->out_size[1] * p->out_size[2];
  float *const weight = scratch, *const rows = weight + FL_TAKEN(float, t.weight) / sizeof(float);
  float *const products = rows + FL_TAKEN(float, t.pixels *t.channels) / sizeof(float);
  for (size_t g = 0; g < p->groups; ++g) {
    for (size_t o = 0; o < t.outs; o += t.step) {
      const size_t outs = least(t.step, t.outs - o), n = outs * t.taps, first = g * t.outs + o;
      fl_pack_b((const float *)p->weight->data + (g * t.channels * t.outs + o) * t.taps, t.channels, n, t.outs * t.taps, 1, weight);
      const fl_gemm product = {n, 1, t.channels, weight, NULL, FL_ACTIVATION_NONE, 0, NULL};
      for (size_t b = 0; b < p->batch; ++b) {
        const float *const image = (const float *)p->input->data + (b * p->in_channels + g * t.channels) * in_area;
        float *const out = (float *)p->out->data + (b * p->out_channels + first) * out_area;
        fill(p, first, outs, out);
        for (size_t pixel = 0; pixel < in_area; pixel += t.pixels) {
          const size_t count = least(t.pixels, in_area - pixel);
          fl_transpose(image + pixel, in_area, t.channels, count, rows, t.channels);
          fl_gemm_dense(NULL, &product, rows, t.channels, count, products, n, NULL, 0);
          for (size_t i = 0; i < count; ++i) {
            add_pixel(p, pixel + i, products + i * n, outs, out);
          }
        }
      }
    }
  }
}
