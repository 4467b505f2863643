/* Kernels of batch normalisation: each channel is scaled and shifted by running statistics, or by those of the batch. */
#include <math.h>

#include "loops.h"
#include "optional.h"

/* The loops over a tensor [N, C, ...] of any dim order. */
typedef struct planes {
  size_t batch, channels, area;      /* area: number of elements in the remaining dimensions */
  size_t batch_stride, channel_stride;
  int together;                      /* 1: the remaining dimensions are one run of stride `step` */
  size_t step;
} planes;

static planes planes_of(const fl_tensor *t) {
  planes p = {(size_t)t->sizes[0], (size_t)t->sizes[1], 1, (size_t)t->strides[0], (size_t)t->strides[1], 1, 1};
  for (uint8_t d = t->rank; d-- > 2;) {
    if (t->sizes[d] == 1) {
      continue;
    }
    if (p.area == 1) {
      p.step = (size_t)t->strides[d];
    }
    p.together = p.together && (size_t)t->strides[d] == p.step * p.area;
    p.area *= (size_t)t->sizes[d];
  }
  return p;
}

/* Returns the offset of element `i` of the remaining dimensions. */
static size_t place(const fl_tensor *t, const planes *p, size_t i) {
  if (p->together) {
    return i * p->step;
  }
  size_t at = 0;
  for (uint8_t d = t->rank; d-- > 2;) {
    at += i % (size_t)t->sizes[d] * (size_t)t->strides[d];
    i /= (size_t)t->sizes[d];
  }
  return at;
}

static double parameter(const fl_tensor *t, size_t channel, double otherwise) {
  return t ? fl_read_real(t->dtype, t->data, channel) : otherwise;
}

/* Normalises one channel of all images. */
static void apply(const fl_tensor *in, fl_tensor *out, const planes *p, size_t channel, double mean, double scale, double shift) {
  const planes q = planes_of(out);
  for (size_t n = 0; n < p->batch; ++n) {
    const size_t from = n * p->batch_stride + channel * p->channel_stride;
    const size_t to = n * q.batch_stride + channel * q.channel_stride;
    if (fl_is(in->dtype, FL_FLOAT32) && p->together && q.together) {
      const float *x = (const float *)in->data + from;
      float *y = (float *)out->data + to;
      const float m = (float)mean, s = (float)scale, b = (float)shift;
      if (p->step == 1 && q.step == 1) {
        for (size_t i = 0; i < p->area; ++i) {
          y[i] = (x[i] - m) * s + b;
        }
      } else {
        for (size_t i = 0; i < p->area; ++i) {
          y[i * q.step] = (x[i * p->step] - m) * s + b;
        }
      }
      continue;
    }
    for (size_t i = 0; i < p->area; ++i) {
      const double x = fl_read_real(in->dtype, in->data, from + place(in, p, i));
      fl_write_real(out->dtype, out->data, to + place(out, &q, i), (x - mean) * scale + shift);
    }
  }
}

static void statistics(const fl_tensor *in, const planes *p, size_t channel, double *mean, double *variance) {
  const double n = (double)(p->batch * p->area);
  double sum = 0, squares = 0;
  *mean = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t b = 0; b < p->batch; ++b) {
      const size_t from = b * p->batch_stride + channel * p->channel_stride;
      for (size_t i = 0; i < p->area; ++i) {
        const double x = fl_read_real(in->dtype, in->data, from + place(in, p, i)) - *mean;
        sum += x;
        squares += x * x;
      }
    }
    if (pass == 0) {
      *mean = sum / n;
      squares = 0;
    }
  }
  *variance = squares / n;
}

/* The arguments of all variants. running_* is NULL to use the batch's statistics, which are written to saved_*. */
typedef struct batch_norm {
  fl_tensor *input, *weight, *bias, *running_mean, *running_var, *out, *saved_mean, *saved_scale;
  double momentum, eps;
  int training;
} batch_norm;

static int is_per_channel(const fl_tensor *t, const fl_tensor *input) {
  return !t || (t->rank == 1 && t->sizes[0] == input->sizes[1] && fl_is_float(t->dtype));
}

static fl_status run(fl_context *context, const batch_norm *b) {
  FL_CHECK(context, b->input->rank >= 2, "the input needs at least two dimensions");
  FL_CHECK(context, fl_is_float(b->input->dtype) && b->out->dtype == b->input->dtype, "the input must be of a floating type, and the result of the same");
  FL_CHECK(context, is_per_channel(b->weight, b->input) && is_per_channel(b->bias, b->input) && is_per_channel(b->running_mean, b->input) &&
                        is_per_channel(b->running_var, b->input),
           "weight, bias and running statistics must have one value of a floating type for each channel");
  FL_TRY(fl_resize(context, b->out, b->input->sizes, b->input->rank));
  /* Without training nothing is saved. */
  const int32_t saved = b->training ? b->input->sizes[1] : 0;
  FL_TRY(fl_resize(context, b->saved_mean, &saved, 1));
  FL_TRY(fl_resize(context, b->saved_scale, &saved, 1));
  if (b->training) {
    FL_CHECK(context, fl_is_float(b->saved_mean->dtype) && fl_is_float(b->saved_scale->dtype), "saved statistics must be of a floating type");
  }
  const planes p = planes_of(b->input);
  for (size_t c = 0; c < p.channels; ++c) {
    double mean, variance;
    if (b->training) {
      statistics(b->input, &p, c, &mean, &variance);
      const double n = (double)(p.batch * p.area);
      fl_write_real(b->saved_mean->dtype, b->saved_mean->data, c, mean);
      fl_write_real(b->saved_scale->dtype, b->saved_scale->data, c, 1.0 / sqrt(variance + b->eps));
      if (b->running_mean) {
        fl_tensor *const m = b->running_mean, *const v = b->running_var;
        fl_write_real(m->dtype, m->data, c, (1 - b->momentum) * parameter(m, c, 0) + b->momentum * mean);
        fl_write_real(v->dtype, v->data, c, (1 - b->momentum) * parameter(v, c, 0) + b->momentum * variance * n / (n - 1));
      }
    } else {
      mean = parameter(b->running_mean, c, 0);
      variance = parameter(b->running_var, c, 0);
    }
    apply(b->input, b->out, &p, c, mean, parameter(b->weight, c, 1) / sqrt(variance + b->eps), parameter(b->bias, c, 0));
  }
  return FL_OK;
}

fl_status fl_batch_norm_no_training_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_TENSOR_ARGUMENT(running_mean, 3);
  FL_TENSOR_ARGUMENT(running_var, 4);
  FL_REAL_ARGUMENT(eps, 6);
  FL_TENSOR_ARGUMENT(out, 7);
  FL_TENSOR_ARGUMENT(saved_mean, 8);
  FL_TENSOR_ARGUMENT(saved_scale, 9);
  const batch_norm b = {input, weight, bias, running_mean, running_var, out, saved_mean, saved_scale, 0, eps, 0};
  return run(context, &b);
}

fl_status fl_batch_norm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_TENSOR_ARGUMENT(running_mean, 3);
  FL_TENSOR_ARGUMENT(running_var, 4);
  FL_INT_ARGUMENT(training, 5);
  FL_REAL_ARGUMENT(momentum, 6);
  FL_REAL_ARGUMENT(eps, 7);
  FL_TENSOR_ARGUMENT(out, 8);
  FL_TENSOR_ARGUMENT(saved_mean, 9);
  FL_TENSOR_ARGUMENT(saved_scale, 10);
  const batch_norm b = {input, weight, bias, running_mean, running_var, out, saved_mean, saved_scale, momentum, eps, training != 0};
  return run(context, &b);
}

fl_status fl_batch_norm_no_stats_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_OPTIONAL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_INT_ARGUMENT(training, 3);
  FL_REAL_ARGUMENT(eps, 5);
  FL_TENSOR_ARGUMENT(out, 6);
  FL_TENSOR_ARGUMENT(saved_mean, 7);
  FL_TENSOR_ARGUMENT(saved_scale, 8);
  FL_CHECK(context, training != 0, "without running statistics only training mode has a meaning");
  const batch_norm b = {input, weight, bias, NULL, NULL, out, saved_mean, saved_scale, 0, eps, 1};
  return run(context, &b);
}
