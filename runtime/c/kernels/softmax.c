/* Kernels of softmax and its logarithm along a dimension, which subtract the largest element first. */
#include <math.h>

#include "divide.h"
#include "loops.h"
#include "rows.h"
#include "softmax.def"

/* ---- float ---- */

/* Returns the sum of e^(x - largest) over n floats, and writes the terms to y unless it is NULL. */
static float exp_sum_f32(size_t n, float *y, const float *x, float largest) {
  const fl_vec m = fl_set(largest);
  fl_vec sum = fl_zero();
  size_t i = 0;
  for (; i + FL_LANES <= n; i += FL_LANES) {
    const fl_vec e = fl_exp(fl_load(x + i) - m);
    sum += e;
    if (y != NULL) {
      fl_store(y + i, e);
    }
  }
  if (i < n) {
    const fl_vec e = fl_exp(fl_load_part(x + i, n - i) - m);
    float tail[FL_LANES];
    fl_store(tail, e);
    sum += fl_load_part(tail, n - i);
    if (y != NULL) {
      fl_store_part(y + i, e, n - i);
    }
  }
  return fl_sum(sum);
}

static void scale_f32(size_t n, float *y, float factor) {
  for (size_t i = 0; i < n; ++i) {
    y[i] *= factor;
  }
}

/* ---- double ---- */

static double max_f64(size_t n, const double *x, double largest) {
  for (size_t i = 0; i < n; ++i) {
    largest = x[i] > largest || x[i] != x[i] ? x[i] : largest;
  }
  return largest;
}

static double exp_sum_f64(size_t n, const double *x, double largest) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) {
    sum += exp(x[i] - largest);
  }
  return sum;
}

/* Writes the results of n elements of a line with the given largest element and sum of e^(x - largest). */
static void results(size_t n, void *out, const void *in, fl_compute type, double largest, double sum, int logarithm) {
  if (type == FL_COMPUTE_F32) {
    float *y = out;
    const float *x = in;
    const float m = (float)largest;
    if (logarithm) {
      const float log_sum = (float)log(sum);
      for (size_t i = 0; i < n; ++i) {
        y[i] = (x[i] - m) - log_sum;
      }
    } else {
      (void)exp_sum_f32(n, y, x, m);
      scale_f32(n, y, (float)(1.0 / sum));
    }
    return;
  }
  double *y = out;
  const double *x = in;
  const double log_sum = log(sum);
  for (size_t i = 0; i < n; ++i) {
    y[i] = logarithm ? (x[i] - largest) - log_sum : exp(x[i] - largest) / sum;
  }
}

/* Computes one line whose elements need a conversion or are not contiguous, in three passes over blocks. */
static void line(fl_buffer *reading, fl_buffer *writing, fl_compute type, size_t block, size_t length, char *to, int64_t to_stride, const char *from,
                 int64_t from_stride, int logarithm) {
  double largest = -INFINITY;
  double sum = 0.0;
  for (int pass = 0; pass < 3; ++pass) {
    for (size_t i = 0; i < length; i += block) {
      const size_t n = length - i < block ? length - i : block;
      const void *x = fl_buffer_read(reading, n, from + (int64_t)i * from_stride, from_stride);
      if (pass == 0) {
        largest = type == FL_COMPUTE_F32 ? (double)fl_row_max(n, x, (float)largest) : max_f64(n, x, largest);
      } else if (pass == 1) {
        sum += type == FL_COMPUTE_F32 ? (double)exp_sum_f32(n, NULL, x, (float)largest) : exp_sum_f64(n, x, largest);
      } else {
        results(n, writing->computed, x, type, largest, sum, logarithm);
        fl_buffer_write(writing, n, writing->computed, to + (int64_t)i * to_stride, to_stride);
      }
    }
  }
}

typedef struct side_by_side {
  float largest[FL_BLOCK];
  float exponentials[FL_BLOCK];
  double sum[FL_BLOCK];
} side_by_side;

/* Computes n adjacent lines (at most FL_BLOCK) of `length` elements, a stride apart; every pass goes along the rows. */
static void lines_side_by_side(side_by_side *work, size_t n, size_t length, char *to, int64_t to_stride, const char *from, int64_t from_stride,
                               int logarithm) {
  float *const largest = work->largest;
  float *const exponentials = work->exponentials;
  double *const sum = work->sum;
  for (size_t i = 0; i < n; ++i) {
    largest[i] = -INFINITY;
    sum[i] = 0.0;
  }
  for (size_t k = 0; k < length; ++k) {
    const float *x = (const float *)(const void *)(from + (int64_t)k * from_stride);
    for (size_t i = 0; i < n; ++i) {
      largest[i] = x[i] > largest[i] || x[i] != x[i] ? x[i] : largest[i];
    }
  }
  for (size_t k = 0; k < length; ++k) {
    const float *x = (const float *)(const void *)(from + (int64_t)k * from_stride);
    float *y = (float *)(void *)(to + (int64_t)k * to_stride);
    for (size_t i = 0; i < n; i += FL_LANES) {
      const size_t rest = n - i < FL_LANES ? n - i : FL_LANES;
      const fl_vec distance = fl_load_part(x + i, rest) - fl_load_part(largest + i, rest);
      const fl_vec e = fl_exp(distance);
      fl_store_part(exponentials + i, e, rest);
      fl_store_part(y + i, logarithm ? distance : e, rest);
    }
    for (size_t i = 0; i < n; ++i) {
      sum[i] += (double)exponentials[i];
    }
  }
  float *const scale = largest; /* no longer needed */
  for (size_t i = 0; i < n; ++i) {
    scale[i] = (float)(logarithm ? log(sum[i]) : 1.0 / sum[i]);
  }
  for (size_t k = 0; k < length; ++k) {
    float *y = (float *)(void *)(to + (int64_t)k * to_stride);
    for (size_t i = 0; i < n; ++i) {
      y[i] = logarithm ? y[i] - scale[i] : y[i] * scale[i];
    }
  }
}

size_t fl_softmax_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]), *out = fl_get_tensor(args[3]);
  int64_t dim = 0;
  if (self && out && self->rank > 0 && out->rank == self->rank && fl_is(self->dtype, FL_FLOAT32) && fl_is(out->dtype, FL_FLOAT32) && fl_get_int(args[1], &dim)) {
    dim += dim < 0 ? self->rank : 0;
    if (dim == self->dim_order[self->rank - 1] && dim == out->dim_order[self->rank - 1]) {
      return FL_TAKEN(fl_lines, 1);
    }
  }
  return fl_blocks_scratch(args, count);
}

/* Lines of floats that lie where they are read and written; the outermost loop over them is divided. */
typedef struct direct_lines {
  const fl_lines *lines;
  char *from, *to;
  size_t count, pieces;
  int logarithm;
} direct_lines;

static void run_direct(const void *work, size_t piece, void *scratch) {
  const direct_lines *const w = work;
  const fl_lines *const lines = w->lines;
  const fl_range range = fl_range_of(w->count, w->pieces, piece);
  const int64_t begin = (int64_t)range.begin;
  uint32_t index[FL_MAX_DIMS] = {(uint32_t)range.begin};
  char *at[2] = {w->from + (begin > 0 ? begin * lines->nest.strides[0][0] : 0), w->to + (begin > 0 ? begin * lines->nest.strides[1][0] : 0)};
  (void)scratch;
  do {
    const float *x = (const float *)(const void *)at[0];
    float *y = (float *)(void *)at[1];
    const float largest = fl_row_max(lines->length, x, -INFINITY);
    if (w->logarithm) {
      results(lines->length, y, x, FL_COMPUTE_F32, (double)largest, (double)exp_sum_f32(lines->length, NULL, x, largest), 1);
    } else {
      scale_f32(lines->length, y, 1.0f / exp_sum_f32(lines->length, y, x, largest));
    }
  } while (fl_nest_next(&lines->nest, 0, index, at) && index[0] < range.end);
}

/* Computes softmax, or its logarithm, with the arguments self, dim, half_to_float, out. */
static fl_status softmax(fl_context *context, fl_value *const *args, int logarithm) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  uint32_t index[FL_MAX_DIMS] = {0};
  uint8_t axis;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  FL_CHECK(context, fl_is_float(self->dtype) && fl_is_float(out->dtype), "softmax takes and gives floating types");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const fl_tensor *operands[2] = {self, out};
  char *at[2] = {self->data, out->data};
  FL_TAKE(fl_lines, lines, 1);
  fl_lines_of(lines, operands, 2, axis);
  const fl_compute type = fl_compute_of(self->dtype);
  fl_buffer reading = fl_buffer_for_reading(self->dtype, type);
  fl_buffer writing = fl_buffer_for_writing(type, out->dtype);
  const int direct = type == FL_COMPUTE_F32 && fl_is_direct(&reading, lines->length, lines->strides[0]) &&
                     fl_is_direct(&writing, lines->length, lines->strides[1]);
  const uint8_t last = (uint8_t)(lines->nest.rank - 1); /* unused if there is no other dimension */
  if (!direct && lines->nest.rank > 0 && fl_is(self->dtype, FL_FLOAT32) && fl_is(out->dtype, FL_FLOAT32) && lines->nest.strides[0][last] == 4 &&
      lines->nest.strides[1][last] == 4) {
    FL_TAKE(side_by_side, work, 1);
    do {
      for (size_t i = 0; i < lines->nest.sizes[last]; i += FL_BLOCK) {
        const size_t n = lines->nest.sizes[last] - i < FL_BLOCK ? lines->nest.sizes[last] - i : FL_BLOCK;
        lines_side_by_side(work, n, lines->length, at[1] + i * 4, lines->strides[1], at[0] + i * 4, lines->strides[0], logarithm);
      }
    } while (fl_nest_next(&lines->nest, 1, index, at));
    return FL_OK;
  }
  if (direct) {
    direct_lines work = {.lines = lines, .from = at[0], .to = at[1], .count = lines->nest.rank > 0 ? lines->nest.sizes[0] : 1, .logarithm = logarithm};
    const size_t operations = 2 * fl_numel(out), wanted = fl_pieces(context, operations);
    work.pieces = work.count < wanted ? work.count : wanted;
    fl_divide(context, work.pieces, operations, run_direct, &work);
    return FL_OK;
  }
  const size_t block = fl_block_length(reading.element + reading.width + writing.element + writing.width);
  FL_TRY(fl_buffer_take(context, &reading, block, 1));
  FL_TRY(fl_buffer_take(context, &writing, block, 1));
  do {
    line(&reading, &writing, type, block, lines->length, at[1], lines->strides[1], at[0], lines->strides[0], logarithm);
  } while (fl_nest_next(&lines->nest, 0, index, at));
  return FL_OK;
}

fl_status fl_softmax_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return softmax(context, args, 0);
}

fl_status fl_log_softmax_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return softmax(context, args, 1);
}
