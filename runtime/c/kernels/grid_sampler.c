/* aten::grid_sampler_2d: samples an image at the positions of a grid, in [-1, 1] from edge to edge. */
#include <math.h>

#include "loops.h"
#include "optional.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
  const fl_tensor *input;
  int mode, padding, align_corners;
  size_t n, c; /* image and channel of the current plane */
} sampler;

/* Rounds a result as ATen's vectors do: to float, except for float64. */
static double step(const sampler *s, double x) { return s->input->dtype == FL_FLOAT64 ? x : (double)(float)x; }

/* Returns x reflected into [low, low + span] at both ends. */
static double reflect(const sampler *s, double x, double low, double span) {
  if (!(span > 0)) {
    return 0;
  }
  const double there = fabs(step(s, x - low)), turns = trunc(step(s, there / (2 * span)));
  const double extra = step(s, there - step(s, turns * (2 * span))), back = step(s, 2 * span - extra);
  return step(s, (extra < back ? extra : back) + low);
}

static double clip(double x, int32_t size) { return x > 0 ? (x < size - 1 ? x : size - 1) : 0; }

static double into_image(const sampler *s, double x, int32_t size) {
  if (s->padding == REFLECTION) {
    x = s->align_corners ? reflect(s, x, 0, (double)size - 1) : reflect(s, x, -0.5, (double)size);
  }
  return s->padding == ZEROS ? x : clip(x, size);
}

static double unnormalize(const sampler *s, double x, int32_t size) {
  x = step(s, x + 1);
  return s->align_corners ? step(s, x * (((double)size - 1) / 2)) : step(s, step(s, x * ((double)size / 2)) - 0.5);
}

/* Returns the pixel at integer coordinates; 0 outside the image, and for NaN. */
static double pixel(const sampler *s, double y, double x) {
  const fl_tensor *t = s->input;
  if (!(y >= 0 && y < t->sizes[2] && x >= 0 && x < t->sizes[3])) {
    return 0;
  }
  return fl_read_real(t->dtype, t->data,
                      s->n * (size_t)t->strides[0] + s->c * (size_t)t->strides[1] + (size_t)y * (size_t)t->strides[2] +
                          (size_t)x * (size_t)t->strides[3]);
}

/* Stores the weights of cubic convolution with a = -0.75: of the four neighbours of a point at `t` between the middle two. */
static void cubic_weights(double t, double *w) {
  const double a = -0.75;
  for (int i = 0; i < 4; ++i) {
    const double x = fabs(t - (double)(i - 1));
    w[i] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }
}

static double sample(const sampler *s, double y, double x) {
  const int32_t height = s->input->sizes[2], width = s->input->sizes[3];
  y = unnormalize(s, y, height);
  x = unnormalize(s, x, width);
  if (s->mode == BICUBIC) {
    double wy[4], wx[4], sum = 0;
    cubic_weights(y - floor(y), wy);
    cubic_weights(x - floor(x), wx);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        sum += wy[i] * wx[j] * pixel(s, into_image(s, floor(y) + i - 1, height), into_image(s, floor(x) + j - 1, width));
      }
    }
    return sum;
  }
  y = into_image(s, y, height);
  x = into_image(s, x, width);
  if (s->mode == NEAREST) {
    return pixel(s, nearbyint(y), nearbyint(x));
  }
  const double y0 = floor(y), x0 = floor(x), v = y - y0, h = x - x0;
  const double top = pixel(s, y0, x0) * (1 - h) + pixel(s, y0, x0 + 1) * h;
  const double bottom = pixel(s, y0 + 1, x0) * (1 - h) + pixel(s, y0 + 1, x0 + 1) * h;
  return top * (1 - v) + bottom * v;
}

fl_status fl_grid_sampler_2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(grid, 1);
  FL_INT_ARGUMENT(mode, 2);
  FL_INT_ARGUMENT(padding, 3);
  FL_INT_ARGUMENT(align_corners, 4);
  FL_TENSOR_ARGUMENT(out, 5);
  FL_CHECK(context, input->rank == 4 && grid->rank == 4 && grid->sizes[3] == 2 && grid->sizes[0] == input->sizes[0],
           "the input must have 4 dimensions, and the grid the shape [batch, height, width, 2]");
  FL_CHECK(context, fl_is_float(input->dtype) && input->dtype == grid->dtype && input->dtype == out->dtype,
           "input, grid and result must have one floating type");
  FL_CHECK(context, mode >= BILINEAR && mode <= BICUBIC, "interpolation_mode must be 0 (bilinear), 1 (nearest) or 2 (bicubic)");
  FL_CHECK(context, padding >= ZEROS && padding <= REFLECTION, "padding_mode must be 0 (zeros), 1 (border) or 2 (reflection)");
  FL_CHECK(context, input->sizes[2] >= 1 && input->sizes[3] >= 1, "the image must not be empty");
  const int32_t sizes[4] = {input->sizes[0], input->sizes[1], grid->sizes[1], grid->sizes[2]};
  FL_TRY(fl_resize(context, out, sizes, 4));
  sampler s = {input, (int)mode, (int)padding, align_corners != 0, 0, 0};
  for (s.n = 0; s.n < (size_t)sizes[0]; ++s.n) {
    for (size_t i = 0; i < (size_t)sizes[2]; ++i) {
      for (size_t j = 0; j < (size_t)sizes[3]; ++j) {
        const size_t at = s.n * (size_t)grid->strides[0] + i * (size_t)grid->strides[1] + j * (size_t)grid->strides[2];
        const double x = fl_read_real(grid->dtype, grid->data, at);
        const double y = fl_read_real(grid->dtype, grid->data, at + (size_t)grid->strides[3]);
        for (s.c = 0; s.c < (size_t)sizes[1]; ++s.c) {
          fl_write_real(out->dtype, out->data,
                        s.n * (size_t)out->strides[0] + s.c * (size_t)out->strides[1] + i * (size_t)out->strides[2] +
                            j * (size_t)out->strides[3],
                        sample(&s, y, x));
        }
      }
    }
  }
  return FL_OK;
}
