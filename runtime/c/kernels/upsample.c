/* Kernels that resize images: nearest neighbour, bilinear, and bilinear with antialiasing. They compute as ATen: in float, or double for float64. */
#include <math.h>

#include "divide.h"
#include "loops.h"
#include "optional.h"

static double rounded(int8_t dtype, double x) { return dtype == FL_FLOAT64 ? x : (double)(float)x; }

/* Stores the two output sizes, from output_size or from the scale factors, and the scales, 0 if they are not given. */
static fl_status read_sizes(fl_context *context, const fl_tensor *input, const fl_value *size, const fl_value *factors, int64_t *out, double *scale) {
  scale[0] = scale[1] = 0;
  if (!fl_is_none(factors)) {
    FL_CHECK(context, factors->tag == FL_DOUBLE_LIST && factors->as.list.count == 2, "scale_factors must be a list of two numbers");
    memcpy(scale, factors->as.list.items, 2 * sizeof(double));
    FL_CHECK(context, scale[0] > 0 && scale[1] > 0, "scale_factors must be positive");
  }
  FL_CHECK(context, fl_is_none(size) != fl_is_none(factors), "exactly one of output_size and scale_factors must be given");
  if (fl_is_none(size)) {
    for (int i = 0; i < 2; ++i) {
      const double x = (double)input->sizes[i + 2] * scale[i];
      FL_CHECK(context, x < 2147483648.0, "the result is too large");
      out[i] = (int64_t)x;
    }
    return FL_OK;
  }
  uint32_t count = 0;
  FL_CHECK(context, fl_get_ints(size, out, 2, &count) && count == 2, "output_size must be a list of two integers");
  return FL_OK;
}

static fl_status prepare(fl_context *context, const fl_tensor *input, fl_tensor *out, const int64_t *size) {
  FL_CHECK(context, input->dtype == out->dtype, "the result must have the input's dtype");
  FL_CHECK(context, size[0] >= 1 && size[1] >= 1 && size[0] <= INT32_MAX && size[1] <= INT32_MAX, "the output size must be positive");
  FL_CHECK(context, input->sizes[2] >= 1 && input->sizes[3] >= 1, "the input's last two dimensions must not be empty");
  const int32_t sizes[4] = {input->sizes[0], input->sizes[1], (int32_t)size[0], (int32_t)size[1]};
  return fl_resize(context, out, sizes, 4);
}

static size_t offset(const fl_tensor *t, size_t n, size_t c, size_t y, size_t x) {
  return n * (size_t)t->strides[0] + c * (size_t)t->strides[1] + y * (size_t)t->strides[2] + x * (size_t)t->strides[3];
}

/* Returns the input position whose value output position `at` gets. */
static size_t nearest(int64_t at, int64_t in, int64_t out, double scale) {
  if (in == out) {
    return (size_t)at;
  }
  if (out == 2 * in) {
    return (size_t)at / 2;
  }
  const float step = scale > 0 ? (float)(1.0 / scale) : (float)in / (float)out;
  const int64_t place = (int64_t)floorf((float)at * step);
  return (size_t)(place < in - 1 ? place : in - 1);
}

/* Columns of a result whose places in the input are found at once, for all channels. */
#define COLUMNS 32

/* A resize, whose pieces are rows of the result in all channels of an image. */
typedef struct resize {
  const fl_tensor *input, *out;
  int64_t size[2];
  double scale[2];
  double step[2];
  int align_corners;
} resize;

#define COPY_COLUMNS(T)                                             \
  for (size_t i = 0; i < n; ++i) {                                  \
    memcpy(to + i * step, from + places[i], sizeof(T));             \
  }

/* Copies `n` elements of `element` bytes, from the places to every `step` bytes. */
static void copy_columns(size_t n, size_t element, char *to, size_t step, const char *from, const size_t *places) {
  switch (element) {
    case 1:
      COPY_COLUMNS(uint8_t)
      break;
    case 2:
      COPY_COLUMNS(uint16_t)
      break;
    case 4:
      COPY_COLUMNS(uint32_t)
      break;
    default:
      COPY_COLUMNS(uint64_t)
  }
}

static void resize_nearest(const void *work, size_t piece, void *scratch) {
  const resize *const r = work;
  const fl_tensor *const input = r->input, *const out = r->out;
  const size_t element = fl_dtype_size(input->dtype), channels = (size_t)input->sizes[1];
  const size_t n = piece / (size_t)r->size[0], y = piece % (size_t)r->size[0], from_y = nearest((int64_t)y, input->sizes[2], r->size[0], r->scale[0]);
  size_t places[COLUMNS];
  (void)scratch;
  for (int64_t x = 0; x < r->size[1]; x += COLUMNS) {
    const size_t columns = (size_t)(r->size[1] - x < COLUMNS ? r->size[1] - x : COLUMNS);
    for (size_t i = 0; i < columns; ++i) {
      places[i] = nearest(x + (int64_t)i, input->sizes[3], r->size[1], r->scale[1]) * (size_t)input->strides[3] * element;
    }
    if (input->strides[1] == 1 && out->strides[1] == 1) { /* contiguous channels are copied at once */
      for (size_t i = 0; i < columns; ++i) {
        memcpy((char *)out->data + offset(out, n, 0, y, (size_t)x + i) * element,
               (const char *)input->data + offset(input, n, 0, from_y, 0) * element + places[i], channels * element);
      }
      continue;
    }
    for (size_t c = 0; c < channels; ++c) {
      copy_columns(columns, element, (char *)out->data + offset(out, n, c, y, (size_t)x) * element, (size_t)out->strides[3] * element,
                   (const char *)input->data + offset(input, n, c, from_y, 0) * element, places);
    }
  }
}

fl_status fl_upsample_nearest2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 3);
  resize r = {.input = input, .out = out};
  FL_CHECK(context, input->rank == 4, "the input must have 4 dimensions");
  FL_TRY(read_sizes(context, input, args[1], args[2], r.size, r.scale));
  FL_TRY(prepare(context, input, out, r.size));
  fl_divide(context, (size_t)input->sizes[0] * (size_t)r.size[0], fl_numel(out), resize_nearest, &r);
  return FL_OK;
}

/* Returns the distance in the input of two neighbouring output positions. */
static double step_of(int8_t dtype, int64_t in, int64_t out, int align_corners, double scale) {
  if (align_corners) {
    return out > 1 ? rounded(dtype, (double)(in - 1) / (double)(out - 1)) : 0.0;
  }
  return rounded(dtype, scale > 0 && in != out ? 1.0 / scale : (double)in / (double)out); /* as in ATen, for any scale */
}

/* The two input neighbours of an output position, and the weight of the second. */
typedef struct blend {
  size_t first, second;
  double share;
} blend;

static blend blend_of(int8_t dtype, int64_t at, int64_t in, double step, int align_corners) {
  double x = align_corners ? step * (double)at : step * ((double)at + 0.5) - 0.5;
  x = rounded(dtype, x < 0 ? 0 : x);
  const int64_t place = (int64_t)x;
  const int64_t first = place < in - 1 ? place : in - 1;
  const double share = x - (double)first;
  return (blend){(size_t)first, (size_t)(first < in - 1 ? first + 1 : first), share < 0 ? 0 : share > 1 ? 1 : share};
}

/* Blends `n` floats of each of two rows, whose neighbours lie at the places, to every `step` elements. */
static void blend_columns(size_t n, float *to, size_t step, const float *top, const float *bottom, const size_t *first, const size_t *second,
                          const float *shares, float share) {
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) {
    const float upper = top[first[i]] * (1 - shares[i]) + top[second[i]] * shares[i];
    const float lower = bottom[first[i]] * (1 - shares[i]) + bottom[second[i]] * shares[i];
    to[i * step] = upper * (1 - share) + lower * share;
  }
}

/* Blends the neighbours of one pixel in contiguous channels. */
static void blend_channels(size_t n, float *to, const float *const *corners, float across, float down) {
  FL_INDEPENDENT for (size_t c = 0; c < n; ++c) {
    const float upper = corners[0][c] * (1 - across) + corners[1][c] * across;
    const float lower = corners[2][c] * (1 - across) + corners[3][c] * across;
    to[c] = upper * (1 - down) + lower * down;
  }
}

static void resize_floats(const resize *r, size_t n, size_t y) {
  const fl_tensor *const input = r->input, *const out = r->out;
  const blend v = blend_of(FL_FLOAT32, (int64_t)y, input->sizes[2], r->step[0], r->align_corners);
  const float *const data = input->data;
  size_t first[COLUMNS], second[COLUMNS];
  float shares[COLUMNS];
  for (int64_t x = 0; x < r->size[1]; x += COLUMNS) {
    const size_t columns = (size_t)(r->size[1] - x < COLUMNS ? r->size[1] - x : COLUMNS);
    for (size_t i = 0; i < columns; ++i) {
      const blend h = blend_of(FL_FLOAT32, x + (int64_t)i, input->sizes[3], r->step[1], r->align_corners);
      first[i] = h.first * (size_t)input->strides[3];
      second[i] = h.second * (size_t)input->strides[3];
      shares[i] = (float)h.share;
    }
    if (input->strides[1] == 1 && out->strides[1] == 1) {
      const float *const top = data + offset(input, n, 0, v.first, 0), *const bottom = data + offset(input, n, 0, v.second, 0);
      for (size_t i = 0; i < columns; ++i) {
        const float *const corners[4] = {top + first[i], top + second[i], bottom + first[i], bottom + second[i]};
        blend_channels((size_t)input->sizes[1], (float *)out->data + offset(out, n, 0, y, (size_t)x + i), corners, shares[i], (float)v.share);
      }
      continue;
    }
    for (size_t c = 0; c < (size_t)input->sizes[1]; ++c) {
      blend_columns(columns, (float *)out->data + offset(out, n, c, y, (size_t)x), (size_t)out->strides[3], data + offset(input, n, c, v.first, 0),
                    data + offset(input, n, c, v.second, 0), first, second, shares, (float)v.share);
    }
  }
}

static void resize_bilinear(const void *work, size_t piece, void *scratch) {
  const resize *const r = work;
  const fl_tensor *const input = r->input, *const out = r->out;
  const int8_t dtype = input->dtype;
  const size_t n = piece / (size_t)r->size[0], y = piece % (size_t)r->size[0];
  (void)scratch;
  if (fl_is(dtype, FL_FLOAT32)) {
    resize_floats(r, n, y);
    return;
  }
  const blend v = blend_of(dtype, (int64_t)y, input->sizes[2], r->step[0], r->align_corners);
  for (int64_t x = 0; x < r->size[1]; ++x) {
    const blend h = blend_of(dtype, x, input->sizes[3], r->step[1], r->align_corners);
    for (size_t c = 0; c < (size_t)input->sizes[1]; ++c) {
      const double a = fl_read_real(dtype, input->data, offset(input, n, c, v.first, h.first));
      const double b = fl_read_real(dtype, input->data, offset(input, n, c, v.first, h.second));
      const double d = fl_read_real(dtype, input->data, offset(input, n, c, v.second, h.first));
      const double e = fl_read_real(dtype, input->data, offset(input, n, c, v.second, h.second));
      const double top = a * (1 - h.share) + b * h.share, bottom = d * (1 - h.share) + e * h.share;
      fl_write_real(dtype, out->data, offset(out, n, c, y, (size_t)x), top * (1 - v.share) + bottom * v.share);
    }
  }
}

fl_status fl_upsample_bilinear2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_INT_ARGUMENT(align_corners, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  resize r = {.input = input, .out = out, .align_corners = align_corners != 0};
  FL_CHECK(context, input->rank == 4 && fl_is_float(input->dtype), "the input must have 4 dimensions and a floating type");
  FL_TRY(read_sizes(context, input, args[1], args[3], r.size, r.scale));
  FL_TRY(prepare(context, input, out, r.size));
  for (int i = 0; i < 2; ++i) {
    r.step[i] = step_of(input->dtype, input->sizes[i + 2], r.size[i], r.align_corners, r.scale[i]);
  }
  fl_divide(context, (size_t)input->sizes[0] * (size_t)r.size[0], 8 * fl_numel(out), resize_bilinear, &r);
  return FL_OK;
}

/* The input positions that an output position averages: a triangle as wide as the step, at least 1. */
typedef struct triangle {
  int64_t first, count;
  double center, inverse, total;
} triangle;

static double weight_of(const triangle *t, int64_t i) {
  const double x = fabs(((double)(t->first + i) - t->center + 0.5) * t->inverse);
  return x < 1 ? 1 - x : 0;
}

static triangle triangle_of(int8_t dtype, int64_t at, int64_t in, double step) {
  const double support = step >= 1 ? step : 1;
  triangle t = {.center = rounded(dtype, step * ((double)at + 0.5)), .inverse = step >= 1 ? 1 / step : 1};
  const int64_t first = (int64_t)(t.center - support + 0.5), end = (int64_t)(t.center + support + 0.5);
  t.first = first > 0 ? first : 0;
  t.count = (end < in ? end : in) - t.first;
  for (int64_t i = 0; i < t.count; ++i) {
    t.total += weight_of(&t, i);
  }
  return t;
}

fl_status fl_upsample_bilinear2d_aa_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_INT_ARGUMENT(align_corners, 2);
  FL_TENSOR_ARGUMENT(out, 5);
  int64_t size[2];
  double scale[2] = {0, 0};
  uint32_t sizes = 0;
  FL_CHECK(context, input->rank == 4 && fl_is_float(input->dtype), "the input must have 4 dimensions and a floating type");
  FL_CHECK(context, fl_get_ints(args[1], size, 2, &sizes) && sizes == 2, "output_size must be a list of two integers");
  for (int i = 0; i < 2; ++i) {
    FL_CHECK(context, fl_is_none(args[3 + i]) || fl_get_real(args[3 + i], &scale[i]), "a scale must be a number or None");
    scale[i] = scale[i] > 0 ? scale[i] : 0; /* a scale that is not positive is ignored */
    FL_CHECK(context, scale[i] == 0 || scale[i] > 1e-9, "a scale must not be smaller than 1e-9");
  }
  FL_TRY(prepare(context, input, out, size));
  const int8_t dtype = input->dtype;
  const double step_y = step_of(dtype, input->sizes[2], size[0], align_corners != 0, scale[0]);
  const double step_x = step_of(dtype, input->sizes[3], size[1], align_corners != 0, scale[1]);
  for (int64_t y = 0; y < size[0]; ++y) {
    const triangle v = triangle_of(dtype, y, input->sizes[2], step_y);
    for (int64_t x = 0; x < size[1]; ++x) {
      const triangle h = triangle_of(dtype, x, input->sizes[3], step_x);
      for (size_t plane = 0; plane < (size_t)input->sizes[0] * (size_t)input->sizes[1]; ++plane) {
        const size_t n = plane / (size_t)input->sizes[1], c = plane % (size_t)input->sizes[1];
        double sum = 0;
        for (int64_t i = 0; i < v.count; ++i) {
          double row = 0;
          for (int64_t j = 0; j < h.count; ++j) {
            row += weight_of(&h, j) * fl_read_real(dtype, input->data, offset(input, n, c, (size_t)(v.first + i), (size_t)(h.first + j)));
          }
          sum += weight_of(&v, i) * row;
        }
        const double total = v.total * h.total;
        fl_write_real(dtype, out->data, offset(out, n, c, (size_t)y, (size_t)x), total != 0 ? sum / total : 0.0);
      }
    }
  }
  return FL_OK;
}
