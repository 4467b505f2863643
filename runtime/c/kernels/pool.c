/* Kernels of pooling over the last two dimensions: average, maximum with indices, adaptive average. */
#include "apart.h"
#include "divide.h"
#include "loops.h"
#include "optional.h"

/* A tensor [N, C, H, W] or [C, H, W] of any dim order. */
typedef struct image {
  fl_tensor *tensor;
  size_t batch, channels;
  int64_t size[2];
  size_t batch_stride, channel_stride, stride[2];
} image;

static int image_of(fl_tensor *t, image *out) {
  if (t->rank < 3 || t->rank > 4) {
    return 0;
  }
  const uint8_t d = (uint8_t)(t->rank - 3);
  *out = (image){t,
                 d == 1 ? (size_t)t->sizes[0] : 1,
                 (size_t)t->sizes[d],
                 {t->sizes[d + 1], t->sizes[d + 2]},
                 d == 1 ? (size_t)t->strides[0] : 0,
                 (size_t)t->strides[d],
                 {(size_t)t->strides[d + 1], (size_t)t->strides[d + 2]}};
  return 1;
}

static fl_status resize_like(fl_context *context, fl_tensor *out, const fl_tensor *input, int64_t height, int64_t width) {
  int32_t sizes[4];
  FL_CHECK(context, height <= INT32_MAX && width <= INT32_MAX, "the result is too large");
  memcpy(sizes, input->sizes, (size_t)(input->rank - 2) * sizeof(int32_t));
  sizes[input->rank - 2] = (int32_t)height;
  sizes[input->rank - 1] = (int32_t)width;
  return fl_resize(context, out, sizes, input->rank);
}

typedef struct window {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  int64_t out[2];
} window;

/* Reads a list of two integers, of one for both dimensions, or of none if `otherwise` has the default, into `pair`. */
static fl_status read_pair(fl_context *context, const fl_value *value, const int64_t *otherwise, int64_t *pair) {
  uint32_t count = 0;
  FL_CHECK(context, fl_get_ints(value, pair, 2, &count) && (count > 0 || otherwise), "kernel_size, stride, padding and dilation must be lists of one or two integers");
  if (count == 0) {
    memcpy(pair, otherwise, 2 * sizeof(int64_t));
  } else if (count == 1) {
    pair[1] = pair[0];
  }
  return FL_OK;
}

static fl_status output_size(fl_context *context, const image *in, int ceil_mode, window *w) {
  for (int i = 0; i < 2; ++i) {
    const int64_t limit = INT32_MAX;
    FL_CHECK(context,
             w->kernel[i] >= 1 && w->kernel[i] <= limit && w->stride[i] >= 1 && w->stride[i] <= limit && w->dilation[i] >= 1 && w->dilation[i] <= limit,
             "kernel size, stride and dilation must be positive");
    FL_CHECK(context, in->size[i] >= 1, "the input's last two dimensions must not be empty");
    FL_CHECK(context, w->padding[i] >= 0 && w->padding[i] <= w->kernel[i] / 2, "padding must be between 0 and half of the kernel size");
    const int64_t room = in->size[i] + 2 * w->padding[i] - w->dilation[i] * (w->kernel[i] - 1) - 1;
    FL_CHECK(context, room >= 0 || (ceil_mode && room + w->stride[i] - 1 >= 0), "the kernel is larger than the padded input");
    w->out[i] = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if (ceil_mode && (w->out[i] - 1) * w->stride[i] >= in->size[i] + w->padding[i]) {
      --w->out[i]; /* a window must start within the input or its left padding */
    }
    FL_CHECK(context, w->out[i] >= 1, "the result would be empty");
  }
  return FL_OK;
}

/* Returns the column from which FL_LANES windows lie in the image with their whole width: `x`, or one before it where x is among the last of
 * them; -1 if x is among none. */
static int64_t lanes_from(const image *in, const window *w, int64_t x) {
  const int64_t room = in->size[1] + w->padding[1] - (w->kernel[1] - 1) * w->dilation[1] - 1, ends = room >= 0 ? room / w->stride[1] + 1 : 0;
  const int64_t end = ends < w->out[1] ? ends : w->out[1], first = (w->padding[1] + w->stride[1] - 1) / w->stride[1];
  return x < first || x >= end || end - first < FL_LANES ? -1 : x < end - FL_LANES ? x : end - FL_LANES;
}

/* The channels whose sums are formed beside each other, which hides the latency of additions. */
#define CHAINS 8

/* Writes the average over rows [y0, y1) and columns [x0, x1) of each channel of image n to output pixel (y, x). */
static void average(const image *in, const image *out, size_t n, size_t y, size_t x, int64_t y0, int64_t y1, int64_t x0, int64_t x1,
                    int64_t divisor) {
  const size_t start = n * in->batch_stride, to = n * out->batch_stride + y * out->stride[0] + x * out->stride[1];
  size_t c = 0;
  if (fl_is(in->tensor->dtype, FL_FLOAT32) && in->channel_stride == 1 && out->channel_stride == 1) {
    const fl_vec scale = fl_set((float)divisor);
    for (; c + FL_LANES <= in->channels; c += FL_LANES) {
      fl_vec sum = fl_zero();
      for (int64_t i = y0; i < y1; ++i) {
        for (int64_t j = x0; j < x1; ++j) {
          sum += fl_load((const float *)in->tensor->data + start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1] + c);
        }
      }
      fl_store((float *)out->tensor->data + to + c, sum / scale);
    }
  }
  for (; c < in->channels && !fl_is_real(in->tensor->dtype); ++c) {
    uint64_t sum = 0;
    for (int64_t i = y0; i < y1; ++i) {
      for (int64_t j = x0; j < x1; ++j) {
        sum += (uint64_t)fl_read_integer(in->tensor->dtype, in->tensor->data,
                                         start + c * in->channel_stride + (size_t)i * in->stride[0] + (size_t)j * in->stride[1]);
      }
    }
    /* The smallest integer has no quotient by -1. */
    const int64_t mean = divisor == -1 ? (int64_t)(0 - sum) : (int64_t)sum / divisor;
    fl_write_integer(out->tensor->dtype, out->tensor->data, to + c * out->channel_stride, (uint64_t)mean);
  }
  for (; fl_is(in->tensor->dtype, FL_FLOAT32) && c + CHAINS <= in->channels; c += CHAINS) {
    double sums[CHAINS] = {0};
    for (int64_t i = y0; i < y1; ++i) {
      for (int64_t j = x0; j < x1; ++j) {
        const float *const from = (const float *)in->tensor->data + start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1];
        FL_UNROLL
        for (size_t u = 0; u < CHAINS; ++u) {
          sums[u] += (double)from[(c + u) * in->channel_stride];
        }
      }
    }
    for (size_t u = 0; u < CHAINS; ++u) {
      ((float *)out->tensor->data)[to + (c + u) * out->channel_stride] = (float)(sums[u] / (double)divisor);
    }
  }
  for (; c < in->channels; ++c) {
    double sum = 0;
    for (int64_t i = y0; i < y1; ++i) {
      for (int64_t j = x0; j < x1; ++j) {
        sum += fl_read_real(in->tensor->dtype, in->tensor->data,
                            start + c * in->channel_stride + (size_t)i * in->stride[0] + (size_t)j * in->stride[1]);
      }
    }
    fl_write_real(out->tensor->dtype, out->tensor->data, to + c * out->channel_stride, sum / (double)divisor);
  }
}

/* The most elements of a window whose sum is precise enough in floats. */
#define LARGEST_WINDOW 64

/* Averages of windows, a row of the result in each piece. */
typedef struct averages {
  image in, out;
  window w;
  int64_t divisor; /* 0: the number of elements */
  int counts_padding;
  int is_by_lanes; /* of floats whose rows are contiguous, and small windows */
} averages;

/* Writes the averages of FL_LANES windows of one shape and of whole width, beside each other in rows of floats, of each channel of image n. */
static void average_lanes(const averages *a, size_t n, size_t y, size_t x, int64_t y0, int64_t y1, int64_t x0, int64_t divisor) {
  const image *const in = &a->in, *const out = &a->out;
  for (size_t c = 0; c < in->channels; ++c) {
    const float *const from = (const float *)in->tensor->data + n * in->batch_stride + c * in->channel_stride;
    fl_vec sum = fl_zero();
    for (int64_t i = y0; i < y1; ++i) {
      for (int64_t j = x0; j < x0 + a->w.kernel[1]; ++j) {
        sum += fl_load_apart(from + (size_t)i * in->stride[0] + (size_t)j, (size_t)a->w.stride[1]);
      }
    }
    fl_store((float *)out->tensor->data + n * out->batch_stride + c * out->channel_stride + y * out->stride[0] + x, sum / fl_set((float)divisor));
  }
}

static void run_averages(const void *work, size_t piece, void *scratch) {
  const averages *const a = work;
  const window *const w = &a->w;
  const int64_t y = (int64_t)(piece % (size_t)w->out[0]);
  (void)scratch;
  for (int64_t at = 0, next; at < w->out[1]; at = next) {
    const int64_t lanes = a->is_by_lanes ? lanes_from(&a->in, w, at) : -1, x = lanes < 0 ? at : lanes;
    int64_t from[2] = {y * w->stride[0] - w->padding[0], x * w->stride[1] - w->padding[1]}, to[2], size = 1, inside = 1;
    for (int i = 0; i < 2; ++i) {
      to[i] = from[i] + w->kernel[i] < a->in.size[i] + w->padding[i] ? from[i] + w->kernel[i] : a->in.size[i] + w->padding[i];
      size *= to[i] - from[i];
      from[i] = from[i] < 0 ? 0 : from[i];
      to[i] = to[i] < a->in.size[i] ? to[i] : a->in.size[i];
      inside *= to[i] > from[i] ? to[i] - from[i] : 0;
    }
    const int64_t by = a->divisor != 0 ? a->divisor : a->counts_padding ? size : inside;
    next = x + (lanes < 0 ? 1 : FL_LANES);
    if (lanes < 0) {
      average(&a->in, &a->out, piece / (size_t)w->out[0], (size_t)y, (size_t)x, from[0], to[0], from[1], to[1], inside > 0 ? by : 1);
    } else {
      average_lanes(a, piece / (size_t)w->out[0], (size_t)y, (size_t)x, from[0], to[0], from[1], inside > 0 ? by : 1);
    }
  }
}

fl_status fl_avg_pool2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_INT_ARGUMENT(ceil_mode, 4);
  FL_INT_ARGUMENT(count_padding, 5);
  int64_t divisor = 0;
  FL_CHECK(context, fl_is_none(args[6]) || (fl_get_int(args[6], &divisor) && divisor != 0), "divisor_override must be an integer other than 0");
  FL_TENSOR_ARGUMENT(out_tensor, 7);
  image in, out;
  window w = {.dilation = {1, 1}};
  FL_CHECK(context, image_of(input, &in), "the input must have 3 or 4 dimensions");
  FL_CHECK(context, (fl_is_float(input->dtype) || input->dtype == FL_INT64) && input->dtype == out_tensor->dtype,
           "the input must be of a floating type or int64, and the result of the same");
  FL_TRY(read_pair(context, args[1], NULL, w.kernel));
  FL_TRY(read_pair(context, args[2], w.kernel, w.stride));
  FL_TRY(read_pair(context, args[3], NULL, w.padding));
  FL_TRY(output_size(context, &in, ceil_mode != 0, &w));
  FL_TRY(resize_like(context, out_tensor, input, w.out[0], w.out[1]));
  (void)image_of(out_tensor, &out);
  const int is_by_lanes = fl_is(input->dtype, FL_FLOAT32) && in.stride[1] == 1 && out.stride[1] == 1 && in.channel_stride != 1 &&
                          w.kernel[0] * w.kernel[1] <= LARGEST_WINDOW && w.stride[1] <= LARGEST_WINDOW;
  const averages work = {in, out, w, divisor, count_padding != 0, is_by_lanes};
  fl_divide(context, in.batch * (size_t)w.out[0], fl_numel(out_tensor) * (size_t)(w.kernel[0] * w.kernel[1]), run_averages, &work);
  return FL_OK;
}

fl_status fl_adaptive_avg_pool2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out_tensor, 2);
  image in, out;
  int64_t size[2];
  FL_CHECK(context, image_of(input, &in), "the input must have 3 or 4 dimensions");
  FL_CHECK(context, fl_is_float(input->dtype) && input->dtype == out_tensor->dtype, "the input must be of a floating type, and the result of the same");
  FL_TRY(read_pair(context, args[1], NULL, size));
  FL_CHECK(context, size[0] >= 0 && size[1] >= 0, "output_size must not be negative");
  FL_CHECK(context, in.size[0] > 0 && in.size[1] > 0, "the input's last two dimensions must not be empty");
  FL_TRY(resize_like(context, out_tensor, input, size[0], size[1]));
  (void)image_of(out_tensor, &out);
  for (size_t n = 0; n < in.batch; ++n) {
    for (int64_t y = 0; y < size[0]; ++y) {
      for (int64_t x = 0; x < size[1]; ++x) {
        const int64_t at[2] = {y, x};
        int64_t from[2], to[2];
        for (int i = 0; i < 2; ++i) {
          from[i] = at[i] * in.size[i] / size[i];
          to[i] = ((at[i] + 1) * in.size[i] + size[i] - 1) / size[i];
        }
        average(&in, &out, n, (size_t)y, (size_t)x, from[0], to[0], from[1], to[1], (to[0] - from[0]) * (to[1] - from[1]));
      }
    }
  }
  return FL_OK;
}

/* The position of a window along each axis; its elements [first, end) are in the image. */
typedef struct range {
  int64_t first[2], end[2], step[2];
} range;

static void range_of(const image *in, const window *w, int axis, int64_t at, range *r) {
  const int64_t start = at * w->stride[axis] - w->padding[axis];
  const int64_t step = w->dilation[axis];
  const int64_t before = start < 0 ? (step - 1 - start) / step : 0;
  const int64_t end = start + w->kernel[axis] * step;
  r->first[axis] = start + before * step;
  r->end[axis] = end < in->size[axis] ? end : in->size[axis];
  r->step[axis] = step;
}

/* Stores the offset of a window's largest element (or last NaN), and its index within the plane, and returns 1; returns 0 when the window, through
 * dilation, has no element in the image. */
static int maximum(const image *in, size_t start, const range *r, size_t *offset, int64_t *index) {
  const float *const floats = fl_is(in->tensor->dtype, FL_FLOAT32) ? in->tensor->data : NULL;
  const int real = fl_is_float(in->tensor->dtype);
  double best = 0;
  int64_t best_integer = 0;
  int found = 0;
  for (int64_t i = r->first[0]; i < r->end[0]; i += r->step[0]) {
    for (int64_t j = r->first[1]; j < r->end[1]; j += r->step[1]) {
      const size_t at = start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1];
      const double v = floats ? (double)floats[at] : real ? fl_read_real(in->tensor->dtype, in->tensor->data, at) : 0.0;
      const int64_t v_integer = real ? 0 : (int64_t)fl_read_integer(in->tensor->dtype, in->tensor->data, at);
      if (!found || v > best || v != v || v_integer > best_integer) {
        found = 1;
        best = v;
        best_integer = v_integer;
        *offset = at;
        *index = i * in->size[1] + j;
      }
    }
  }
  return found;
}

/* Writes the result of a window without elements: the lowest value, and the index that ATen gives. */
static void write_lowest(const image *in, const image *out, size_t to, const range *r, int64_t *index) {
  const int8_t dtype = out->tensor->dtype;
  const int is_signed = dtype == FL_INT8 || dtype == FL_INT16 || dtype == FL_INT32 || dtype == FL_INT64;
  *index = r->first[0] * in->size[1] + r->first[1];
  if (fl_is_float(dtype)) {
    fl_write_real(dtype, out->tensor->data, to, -INFINITY);
  } else {
    fl_write_integer(dtype, out->tensor->data, to, is_signed ? UINT64_MAX << (8 * fl_dtype_size(dtype) - 1) : 0);
  }
}

/* The place for an index; NULL where there are none. */
static int64_t *index_at(const image *places, size_t place) { return places->tensor == NULL ? NULL : (int64_t *)places->tensor->data + place; }

/* Computes the maxima of FL_LANES windows as `maximum_of_lanes` does, without the indices. */
static void best_of_lanes(const image *in, size_t start, const range *r, size_t apart, float *best_out) {
  fl_vec best = fl_set(-INFINITY);
  for (int64_t i = r->first[0]; i < r->end[0]; i += r->step[0]) {
    for (int64_t j = r->first[1]; j < r->end[1]; j += r->step[1]) {
      const fl_vec v = fl_load_apart((const float *)in->tensor->data + start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1], apart);
      best = fl_select((fl_ivec)(v > best) | (fl_ivec)(v != v), v, best);
    }
  }
  fl_store(best_out, best);
}

/* Computes the maxima and indices of FL_LANES windows of one shape, with elements in the image, `apart` from each other in memory and `further` in
 * their indices: those of contiguous channels, or of neighbours in a row. */
static void maximum_of_lanes(const image *in, size_t start, const range *r, size_t apart, int32_t further, float *best_out, int64_t *index_out,
                             size_t index_stride) {
  if (index_out == NULL) {
    best_of_lanes(in, start, r, apart, best_out);
    return;
  }
  fl_vec best = fl_set(-INFINITY);
  fl_ivec index = fl_iset(0), lanes;
  int found = 0;
  for (int u = 0; u < FL_LANES; ++u) {
    lanes[u] = u * further;
  }
  for (int64_t i = r->first[0]; i < r->end[0]; i += r->step[0]) {
    for (int64_t j = r->first[1]; j < r->end[1]; j += r->step[1]) {
      const float *const from = (const float *)in->tensor->data + start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1];
      const fl_vec v = fl_load_apart(from, apart);
      const fl_ivec better = found ? (fl_ivec)(v > best) | (fl_ivec)(v != v) : fl_iset(-1);
      best = fl_select(better, v, best);
      index = (better & (lanes + fl_iset((int32_t)(i * in->size[1] + j)))) | (~better & index);
      found = 1;
    }
  }
  fl_store(best_out, best);
  for (int u = 0; u < FL_LANES; ++u) {
    index_out[(size_t)u * index_stride] = index[u];
  }
}

#define BYTE_LANES 32

/* Computes the maxima and indices of BYTE_LANES channels of bytes; int8 are compared with their sign bit flipped. */
static __attribute__((noinline)) void maximum_of_bytes(const image *in, size_t start, const range *r, uint8_t *best_out, int64_t *index_out, size_t index_stride) {
  const uint8_t flip = in->tensor->dtype == FL_INT8 ? 0x80 : 0;
  uint8_t best[BYTE_LANES] = {0}, is_better[BYTE_LANES];
  int32_t index[BYTE_LANES];
  for (size_t u = 0; u < BYTE_LANES; ++u) {
    index[u] = (int32_t)(r->first[0] * in->size[1] + r->first[1]);
  }
  for (int64_t i = r->first[0]; i < r->end[0]; i += r->step[0]) {
    for (int64_t j = r->first[1]; j < r->end[1]; j += r->step[1]) {
      const uint8_t *const v = (const uint8_t *)in->tensor->data + start + (size_t)i * in->stride[0] + (size_t)j * in->stride[1];
      const int32_t at = (int32_t)(i * in->size[1] + j);
      FL_INDEPENDENT for (size_t u = 0; u < BYTE_LANES; ++u) {
        const uint8_t value = v[u] ^ flip;
        is_better[u] = value > best[u];
        best[u] = value > best[u] ? value : best[u];
      }
      if (index_out != NULL) {
        FL_INDEPENDENT for (size_t u = 0; u < BYTE_LANES; ++u) {
          index[u] = is_better[u] ? at : index[u];
        }
      }
    }
  }
  for (size_t u = 0; u < BYTE_LANES; ++u) {
    best_out[u] = best[u] ^ flip;
  }
  for (size_t u = 0; index_out != NULL && u < BYTE_LANES; ++u) {
    index_out[u * index_stride] = index[u];
  }
}

/* The memory of the element at a place of an image of `element` bytes an element. */
static char *at_place(const image *to, size_t place, size_t element) { return (char *)to->tensor->data + place * element; }

/* Computes the maximum and the index of one window of a channel, which lies at `start`. */
static void maximum_of_window(const image *in, const image *out, const range *r, size_t start, size_t to, int64_t *index_out) {
  const size_t element = fl_dtype_size(in->tensor->dtype);
  size_t from = 0;
  int64_t index = 0;
  if (maximum(in, start, r, &from, &index)) {
    memcpy(at_place(out, to, element), at_place(in, from, element), element);
  } else {
    write_lowest(in, out, to, r, &index);
  }
  if (index_out != NULL) {
    *index_out = index;
  }
}

/* Computes the maxima and indices of a channel whose rows are contiguous, which lie at `start`, `to` and `place`. */
static void maximum_of_plane(const image *in, const image *out, const image *places, const window *w, size_t start, size_t to, size_t place) {
  const int is_small = fl_is(in->tensor->dtype, FL_FLOAT32) && in->size[0] * in->size[1] <= INT32_MAX && w->stride[1] * FL_LANES <= INT32_MAX;
  range r;
  for (int64_t y = 0; y < w->out[0]; ++y) {
    range_of(in, w, 0, y, &r);
    for (int64_t next = 0; next < w->out[1];) {
      const int64_t lanes = is_small && r.first[0] < r.end[0] ? lanes_from(in, w, next) : -1, x = lanes < 0 ? next : lanes;
      const size_t at = to + (size_t)y * out->stride[0] + (size_t)x;
      int64_t *const index = index_at(places, place + (size_t)y * places->stride[0] + (size_t)x * places->stride[1]);
      range_of(in, w, 1, x, &r);
      if (lanes < 0) {
        maximum_of_window(in, out, &r, start, at, index);
        next = x + 1;
      } else {
        maximum_of_lanes(in, start, &r, (size_t)w->stride[1], (int32_t)w->stride[1], (float *)out->tensor->data + at, index, places->stride[1]);
        next = x + FL_LANES;
      }
    }
  }
}

/* Maxima of windows: a plane in each piece where the elements of its rows lie side by side, else a row of the result. */
typedef struct maxima {
  image in, out, places;
  window w;
  int is_by_planes, floats, bytes;
} maxima;

static void run_maxima(const void *work, size_t piece, void *scratch) {
  const maxima *const m = work;
  const image *const in = &m->in, *const out = &m->out, *const places = &m->places;
  range r;
  (void)scratch;
  if (m->is_by_planes) {
    const size_t n = piece / in->channels, c = piece % in->channels;
    maximum_of_plane(in, out, places, &m->w, n * in->batch_stride + c * in->channel_stride, n * out->batch_stride + c * out->channel_stride,
                     n * places->batch_stride + c * places->channel_stride);
    return;
  }
  const size_t n = piece / (size_t)m->w.out[0], y = piece % (size_t)m->w.out[0];
  range_of(in, &m->w, 0, (int64_t)y, &r);
  for (int64_t x = 0; x < m->w.out[1]; ++x) {
    range_of(in, &m->w, 1, x, &r);
    const size_t to = n * out->batch_stride + y * out->stride[0] + (size_t)x * out->stride[1];
    const size_t place = n * places->batch_stride + y * places->stride[0] + (size_t)x * places->stride[1];
    size_t c = 0;
    for (; m->bytes && c + BYTE_LANES <= in->channels; c += BYTE_LANES) {
      maximum_of_bytes(in, n * in->batch_stride + c, &r, (uint8_t *)out->tensor->data + to + c, index_at(places, place + c * places->channel_stride),
                       places->channel_stride);
    }
    for (; m->floats && c + FL_LANES <= in->channels; c += FL_LANES) {
      maximum_of_lanes(in, n * in->batch_stride + c, &r, 1, 0, (float *)out->tensor->data + to + c, index_at(places, place + c * places->channel_stride),
                       places->channel_stride);
    }
    for (; c < in->channels; ++c) {
      maximum_of_window(in, out, &r, n * in->batch_stride + c * in->channel_stride, to + c * out->channel_stride,
                        index_at(places, place + c * places->channel_stride));
    }
  }
}

/* Computes the maxima of windows, and their indices unless that is NULL. */
static fl_status max_pool(fl_context *context, fl_value *const *args, fl_tensor *indices) {
  FL_TENSOR_ARGUMENT(input, 0);
  FL_INT_ARGUMENT(ceil_mode, 5);
  FL_TENSOR_ARGUMENT(out_tensor, 6);
  maxima m = {0};
  FL_CHECK(context, image_of(input, &m.in), "the input must have 3 or 4 dimensions");
  FL_CHECK(context, input->dtype == out_tensor->dtype && input->dtype != FL_BOOL, "the result must have the input's dtype, a number");
  FL_CHECK(context, indices == NULL || indices->dtype == FL_INT64, "the indices must be of int64");
  FL_TRY(read_pair(context, args[1], NULL, m.w.kernel));
  FL_TRY(read_pair(context, args[2], m.w.kernel, m.w.stride));
  FL_TRY(read_pair(context, args[3], NULL, m.w.padding));
  FL_TRY(read_pair(context, args[4], NULL, m.w.dilation));
  FL_TRY(output_size(context, &m.in, ceil_mode != 0, &m.w));
  FL_TRY(resize_like(context, out_tensor, input, m.w.out[0], m.w.out[1]));
  (void)image_of(out_tensor, &m.out);
  if (indices != NULL) {
    FL_TRY(resize_like(context, indices, input, m.w.out[0], m.w.out[1]));
    (void)image_of(indices, &m.places);
  }
  const image *const in = &m.in, *const out = &m.out;
  const int vectors = in->channel_stride == 1 && out->channel_stride == 1 && in->size[0] * in->size[1] <= INT32_MAX && m.w.dilation[0] == 1 && m.w.dilation[1] == 1;
  m.floats = vectors && fl_is(input->dtype, FL_FLOAT32);
  m.bytes = vectors && (input->dtype == FL_INT8 || input->dtype == FL_UINT8);
  m.is_by_planes = in->channel_stride != 1 && in->stride[1] == 1 && out->stride[1] == 1;
  const size_t operations = fl_numel(out_tensor) * (size_t)(m.w.kernel[0] * m.w.kernel[1]);
  fl_divide(context, in->batch * (m.is_by_planes ? in->channels : (size_t)m.w.out[0]), operations, run_maxima, &m);
  return FL_OK;
}

fl_status fl_max_pool2d_with_indices_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(indices, 7);
  return max_pool(context, args, indices);
}

fl_status fl_max_pool2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return max_pool(context, args, NULL);
}
