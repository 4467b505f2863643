/* Kernels of layer, RMS and group normalisation, whose statistics are over runs of contiguous elements. */
#include <math.h>

#include "divide.h"
#include "loops.h"
#include "optional.h"

/* Sums `term` over a row in four accumulators, which hides the latency and reduces rounding errors. */
#define REDUCE(result, term)                                                        \
  do {                                                                              \
    fl_vec sum_[4] = {fl_zero(), fl_zero(), fl_zero(), fl_zero()};                  \
    size_t i_ = 0;                                                                  \
    for (; i_ + 4 * FL_LANES <= n; i_ += 4 * FL_LANES) {                            \
      FL_UNROLL                                                                     \
      for (int u_ = 0; u_ < 4; ++u_) {                                              \
        const fl_vec v = fl_load(x + i_ + (size_t)(u_ * FL_LANES));                 \
        sum_[u_] += (term);                                                         \
      }                                                                             \
    }                                                                               \
    for (; i_ + FL_LANES <= n; i_ += FL_LANES) {                                    \
      const fl_vec v = fl_load(x + i_);                                             \
      sum_[0] += (term);                                                            \
    }                                                                               \
    (result) = fl_sum((sum_[0] + sum_[1]) + (sum_[2] + sum_[3]));                   \
    for (; i_ < n; ++i_) {                                                          \
      const fl_vec v = fl_set(x[i_]);                                               \
      (result) += (term)[0];                                                        \
    }                                                                               \
  } while (0)

static float mean_of(const float *x, size_t n) {
  float sum;
  REDUCE(sum, v);
  return sum / (float)n;
}

/* Returns the mean of (x - center)^2 over n floats. */
static float mean_square(const float *x, size_t n, float center) {
  const fl_vec c = fl_set(center);
  float sum;
  REDUCE(sum, (v - c) * (v - c));
  return sum / (float)n;
}

/* Computes out = (x - mean) scale weight + bias for n floats. weight and bias may be NULL; out may be x. */
static void apply_row(const float *x, size_t n, float mean, float scale, const float *weight, const float *bias, float *out) {
  const fl_vec m = fl_set(mean), s = fl_set(scale);
  size_t i = 0;
  for (; i + FL_LANES <= n; i += FL_LANES) {
    fl_vec v = (fl_load(x + i) - m) * s;
    v = weight ? v * fl_load(weight + i) : v;
    v = bias ? v + fl_load(bias + i) : v;
    fl_store(out + i, v);
  }
  for (; i < n; ++i) {
    float v = (x[i] - mean) * scale;
    v = weight ? v * weight[i] : v;
    out[i] = bias ? v + bias[i] : v;
  }
}

static void add_row(const float *a, const float *b, size_t n, float *out) {
  size_t i = 0;
  for (; i + FL_LANES <= n; i += FL_LANES) {
    fl_store(out + i, fl_load(a + i) + fl_load(b + i));
  }
  for (; i < n; ++i) {
    out[i] = a[i] + b[i];
  }
}

/* Stores the number of rows, and of normalised elements in each. Checks the shapes and types of the parameters. */
static fl_status split_rows(fl_context *context, const fl_tensor *input, const fl_value *shape, const fl_tensor *weight, const fl_tensor *bias,
                            size_t *rows, size_t *n) {
  int64_t sizes[FL_MAX_RANK];
  uint32_t rank = 0;
  FL_CHECK(context, fl_get_ints(shape, sizes, FL_MAX_RANK, &rank), "normalized_shape must be a list of at most 16 integers");
  FL_CHECK(context, rank >= 1 && rank <= input->rank, "normalized_shape must have between one and the input's number of dimensions");
  const uint8_t outer = (uint8_t)(input->rank - rank);
  *rows = 1;
  *n = 1;
  for (uint8_t d = 0; d < input->rank; ++d) {
    if (d < outer) {
      *rows *= (size_t)input->sizes[d];
      continue;
    }
    FL_CHECK(context, sizes[d - outer] == input->sizes[d], "normalized_shape must be the input's last sizes");
    *n *= (size_t)input->sizes[d];
  }
  FL_CHECK(context, fl_is_contiguous(input), "the input must be contiguous");
  FL_CHECK(context, !weight || (fl_numel(weight) == *n && weight->dtype == input->dtype && fl_is_contiguous(weight)),
           "the weight must have the normalized shape and the input's dtype");
  FL_CHECK(context, !bias || (fl_numel(bias) == *n && bias->dtype == input->dtype && fl_is_contiguous(bias)),
           "the bias must have the normalized shape and the input's dtype");
  return FL_OK;
}

/* Normalisations of rows. */
typedef struct normalisation {
  const fl_tensor *input, *addend, *weight, *bias;
  fl_tensor *out, *mean, *scale;
  size_t rows, n, pieces;
  double eps;
  int rms;
} normalisation;

static void run_fused(const void *work, size_t piece, void *scratch) {
  const normalisation *const w = work;
  const fl_range rows = fl_range_of(w->rows, w->pieces, piece);
  const size_t n = w->n;
  (void)scratch;
  for (size_t i = rows.begin; i < rows.end; ++i) {
    const float *x = (const float *)w->input->data + i * n;
    float *y = (float *)w->out->data + i * n;
    if (w->addend) {
      add_row(x, (const float *)w->addend->data + i * n, n, y);
      x = y;
    }
    const float mean = w->rms ? 0.0f : mean_of(x, n);
    const float scale = 1.0f / sqrtf(mean_square(x, n, mean) + (float)w->eps);
    apply_row(x, n, mean, scale, w->weight ? w->weight->data : NULL, w->bias ? w->bias->data : NULL, y);
  }
}

/* Divides rows among threads. */
static void run_rows(const fl_context *context, normalisation *w, fl_piece_fn run) {
  const size_t operations = 3 * w->rows * w->n, wanted = fl_pieces(context, operations);
  w->pieces = w->rows < wanted ? w->rows : wanted;
  fl_divide(context, w->pieces, operations, run, w);
}

static fl_status fused_norm(fl_context *context, fl_value *const *args, int rms) {
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(addend, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 3);
  fl_tensor *bias = rms ? NULL : fl_get_tensor(args[4]);
  FL_CHECK(context, rms || bias || fl_is_none(args[4]), "argument 4 must be a tensor or None");
  double eps = 0;
  FL_CHECK(context, fl_get_real(args[rms ? 4 : 5], &eps), "eps must be a number");
  fl_tensor *out = fl_get_tensor(args[rms ? 5 : 6]);
  FL_CHECK(context, out != NULL, "the result must be a tensor");
  FL_CHECK(context, input->dtype == FL_FLOAT32 && out->dtype == FL_FLOAT32, "only float32 is supported");
  size_t rows, n;
  FL_TRY(split_rows(context, input, args[2], weight, bias, &rows, &n));
  FL_CHECK(context, !addend || (addend->dtype == FL_FLOAT32 && fl_same_sizes(addend, input) && fl_is_contiguous(addend)),
           "the addend must have the input's shape");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  normalisation work = {.input = input, .addend = addend, .weight = weight, .bias = bias, .out = out, .rows = rows, .n = n, .eps = eps, .rms = rms};
  run_rows(context, &work, run_fused);
  return FL_OK;
}

fl_status fl_fused_layer_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return fused_norm(context, args, 0);
}

fl_status fl_fused_rms_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return fused_norm(context, args, 1);
}

/* Stores the mean and 1 / sqrt(variance + eps) of n elements from `start` on, for any element type. */
static void statistics_any(const fl_tensor *t, size_t start, size_t n, double eps, double *mean, double *scale) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += fl_read_real(t->dtype, t->data, start + i);
  }
  *mean = sum / (double)n;
  for (size_t i = 0; i < n; ++i) {
    const double x = fl_read_real(t->dtype, t->data, start + i) - *mean;
    squares += x * x;
  }
  const double variance = squares / (double)n;
  /* PyTorch computes the variance of narrower types as a float, which may be infinite. */
  *scale = 1.0 / sqrt((t->dtype == FL_FLOAT64 ? variance : (double)(float)variance) + eps);
}

static void run_native(const void *work, size_t piece, void *scratch) {
  const normalisation *const w = work;
  const fl_range rows = fl_range_of(w->rows, w->pieces, piece);
  const size_t n = w->n;
  (void)scratch;
  for (size_t i = rows.begin; i < rows.end; ++i) {
    double mean, scale;
    if (fl_is(w->input->dtype, FL_FLOAT32)) {
      const float *x = (const float *)w->input->data + i * n;
      const float center = mean_of(x, n), factor = 1.0f / sqrtf(mean_square(x, n, center) + (float)w->eps);
      apply_row(x, n, center, factor, w->weight ? w->weight->data : NULL, w->bias ? w->bias->data : NULL, (float *)w->out->data + i * n);
      mean = (double)center;
      scale = (double)factor;
    } else {
      statistics_any(w->input, i * n, n, w->eps, &mean, &scale);
      for (size_t j = 0; j < n; ++j) {
        double x = (fl_read_real(w->input->dtype, w->input->data, i * n + j) - mean) * scale;
        x = w->weight ? x * fl_read_real(w->weight->dtype, w->weight->data, j) : x;
        x = w->bias ? x + fl_read_real(w->bias->dtype, w->bias->data, j) : x;
        fl_write_real(w->out->dtype, w->out->data, i * n + j, x);
      }
    }
    fl_write_real(w->mean->dtype, w->mean->data, i, mean);
    fl_write_real(w->scale->dtype, w->scale->data, i, scale);
  }
}

fl_status fl_native_layer_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 2);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 3);
  FL_REAL_ARGUMENT(eps, 4);
  FL_TENSOR_ARGUMENT(out, 5);
  FL_TENSOR_ARGUMENT(mean_out, 6);
  FL_TENSOR_ARGUMENT(scale_out, 7);
  FL_CHECK(context, fl_is_float(input->dtype) && out->dtype == input->dtype, "the input must be of a floating type, and the result of the same");
  FL_CHECK(context, fl_is_float(mean_out->dtype) && fl_is_float(scale_out->dtype), "the mean and rstd must be of a floating type");
  size_t rows, n;
  FL_TRY(split_rows(context, input, args[1], weight, bias, &rows, &n));
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  int32_t sizes[FL_MAX_RANK];
  size_t product = 1;
  for (uint8_t d = 0; d < input->rank; ++d) {
    /* The product of the leading dimensions is `rows`; the others become 1. */
    const int leading = d < input->rank - args[1]->as.list.count;
    sizes[d] = leading ? input->sizes[d] : 1;
    product *= (size_t)sizes[d];
  }
  FL_CHECK(context, product == rows, "normalized_shape must be the input's last sizes");
  FL_TRY(fl_resize(context, mean_out, sizes, input->rank));
  FL_TRY(fl_resize(context, scale_out, sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(out) && fl_is_contiguous(mean_out) && fl_is_contiguous(scale_out), "the results must be contiguous");
  normalisation work = {.input = input, .weight = weight, .bias = bias, .out = out, .mean = mean_out, .scale = scale_out, .rows = rows, .n = n, .eps = eps};
  run_rows(context, &work, run_native);
  return FL_OK;
}

/* Normalisations of groups of channels. */
typedef struct group_normalisation {
  const fl_tensor *input, *weight, *bias;
  fl_tensor *out, *mean, *scale;
  size_t groups, width, pixels;
  double eps;
} group_normalisation;

static void run_group(const void *work, size_t i, void *scratch) {
  const group_normalisation *const g = work;
  const size_t pixels = g->pixels, n = g->width * pixels;
  double mean = 0, scale = 0;
  (void)scratch;
  if (fl_is(g->input->dtype, FL_FLOAT32)) {
    const float *x = (const float *)g->input->data + i * n;
    mean = (double)mean_of(x, n);
    scale = (double)(1.0f / sqrtf(mean_square(x, n, (float)mean) + (float)g->eps));
  } else {
    statistics_any(g->input, i * n, n, g->eps, &mean, &scale);
  }
  for (size_t j = 0; j < g->width; ++j) {
    const size_t channel = i % g->groups * g->width + j, at = i * n + j * pixels;
    const double w = g->weight ? fl_read_real(g->weight->dtype, g->weight->data, channel) : 1.0;
    const double b = g->bias ? fl_read_real(g->bias->dtype, g->bias->data, channel) : 0.0;
    for (size_t p = 0; p < pixels; ++p) {
      if (fl_is(g->input->dtype, FL_FLOAT32)) {
        ((float *)g->out->data)[at + p] = (((const float *)g->input->data)[at + p] - (float)mean) * (float)(scale * w) + (float)b;
      } else {
        fl_write_real(g->out->dtype, g->out->data, at + p, (fl_read_real(g->input->dtype, g->input->data, at + p) - mean) * scale * w + b);
      }
    }
  }
  fl_write_real(g->mean->dtype, g->mean->data, i, mean);
  fl_write_real(g->scale->dtype, g->scale->data, i, scale);
}

fl_status fl_native_group_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_INT_ARGUMENT(batch, 3);
  FL_INT_ARGUMENT(channels, 4);
  FL_INT_ARGUMENT(area, 5);
  FL_INT_ARGUMENT(groups, 6);
  FL_REAL_ARGUMENT(eps, 7);
  FL_TENSOR_ARGUMENT(out, 8);
  FL_TENSOR_ARGUMENT(mean_out, 9);
  FL_TENSOR_ARGUMENT(scale_out, 10);
  FL_CHECK(context, fl_is_float(input->dtype) && out->dtype == input->dtype, "the input must be of a floating type, and the result of the same");
  FL_CHECK(context, fl_is_float(mean_out->dtype) && fl_is_float(scale_out->dtype), "the mean and rstd must be of a floating type");
  FL_CHECK(context, input->rank >= 2 && batch == input->sizes[0] && channels == input->sizes[1], "N and C must be the input's first two sizes");
  const size_t planes = (size_t)batch * (size_t)channels;
  FL_CHECK(context, area >= 0 && (planes == 0 || (size_t)area == fl_numel(input) / planes), "N x C x HxW must be the input's number of elements");
  FL_CHECK(context, groups > 0 && channels % groups == 0, "the channels must divide into the groups");
  FL_CHECK(context, !weight || ((int64_t)fl_numel(weight) == channels && weight->dtype == input->dtype && fl_is_contiguous(weight)),
           "the weight must have one value for each channel");
  FL_CHECK(context, !bias || ((int64_t)fl_numel(bias) == channels && bias->dtype == input->dtype && fl_is_contiguous(bias)),
           "the bias must have one value for each channel");
  FL_CHECK(context, groups <= INT32_MAX, "there are too many groups");
  const int32_t sizes[2] = {(int32_t)batch, (int32_t)groups};
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_TRY(fl_resize(context, mean_out, sizes, 2));
  FL_TRY(fl_resize(context, scale_out, sizes, 2));
  FL_CHECK(context, fl_is_contiguous(input) && fl_is_contiguous(out) && fl_is_contiguous(mean_out) && fl_is_contiguous(scale_out),
           "the input and the results must be contiguous");
  const group_normalisation work = {.input = input, .weight = weight, .bias = bias, .out = out, .mean = mean_out, .scale = scale_out,
                                    .groups = (size_t)groups, .width = (size_t)(channels / groups), .pixels = (size_t)area, .eps = eps};
  fl_divide(context, (size_t)(batch * groups), 3 * fl_numel(out), run_group, &work);
  return FL_OK;
}
