/* Kernels of quantized_decomposed, which quantize and dequantize by scale and zero point, per tensor, per channel or per token (row). */
#include <math.h>

#include "optional.h"
#include "quantize.h"
#include "quantize.def"

/* The scales and zero points. Element i, in memory order, has those of index i / stride % count. */
typedef struct parameters {
  const fl_tensor *scales, *zero_points; /* NULL: one value for all */
  double scale;
  int64_t zero_point;
  size_t stride, count;
} parameters;

static size_t channel_of(const parameters *p, size_t i) { return i / p->stride % p->count; }

static __attribute__((noinline)) double scale_of(const parameters *p, size_t channel) {
  return p->scales ? fl_read_real(p->scales->dtype, p->scales->data, channel) : p->scale;
}

static __attribute__((noinline)) int64_t zero_point_of(const parameters *p, size_t channel) {
  if (!p->zero_points) {
    return p->zero_point;
  }
  const fl_tensor *t = p->zero_points;
  return fl_is_float(t->dtype) ? fl_i64_of_real(fl_read_real(t->dtype, t->data, channel)) : (int64_t)fl_read_integer(t->dtype, t->data, channel);
}

static int is_wide(const parameters *p) { return p->scales && p->scales->dtype == FL_FLOAT64; }

static __attribute__((noinline)) double inverse_of(const parameters *p, size_t channel) {
  return p->scales && !is_wide(p) ? (double)(1.0f / (float)scale_of(p, channel)) : 1.0 / scale_of(p, channel);
}

/* Stores the value of a Scalar, or of a tensor of one element. */
static fl_status read_one(fl_context *context, const fl_value *value, double *real, int64_t *integer) {
  const fl_tensor *t = fl_get_tensor(value);
  if (t) {
    FL_CHECK(context, fl_numel(t) == 1 && fl_dtype_size(t->dtype) > 0, "scale and zero point must have one element");
    *real = fl_read_real(t->dtype, t->data, 0);
    *integer = fl_is_float(t->dtype) ? fl_i64_of_real(*real) : (int64_t)fl_read_integer(t->dtype, t->data, 0);
    return FL_OK;
  }
  FL_CHECK(context, fl_get_real(value, real), "scale and zero point must be numbers");
  *integer = fl_i64_of_real(*real);
  (void)fl_get_int(value, integer);
  return FL_OK;
}

static fl_status one_for_all(fl_context *context, fl_value *const *args, const fl_tensor *input, parameters *p) {
  const size_t count = fl_numel(input);
  double real = 0;
  int64_t integer = 0;
  *p = (parameters){.stride = count > 0 ? count : 1, .count = 1};
  FL_TRY(read_one(context, args[1], &p->scale, &integer));
  return read_one(context, args[2], &real, &p->zero_point);
}

static fl_status one_for_each(fl_context *context, fl_value *const *args, size_t count, size_t stride, parameters *p) {
  FL_TENSOR_ARGUMENT(scales, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(zero_points, 2);
  FL_CHECK(context, fl_is_float(scales->dtype) && fl_numel(scales) == count && fl_is_contiguous(scales), "there must be one scale for each channel or row");
  FL_CHECK(context, !zero_points || (fl_numel(zero_points) == count && fl_is_contiguous(zero_points)),
           "there must be one zero point for each channel or row");
  *p = (parameters){scales, zero_points, 0, 0, stride > 0 ? stride : 1, count > 0 ? count : 1};
  return FL_OK;
}

static fl_status each_channel(fl_context *context, fl_value *const *args, const fl_tensor *input, parameters *p) {
  FL_INT_ARGUMENT(axis, 3);
  uint8_t d = 0;
  FL_CHECK(context, input->rank >= 1, "the input needs a dimension");
  FL_TRY(fl_wrap_dim(context, axis, input->rank, &d));
  return one_for_each(context, args, (size_t)input->sizes[d], (size_t)input->strides[d], p);
}

static fl_status each_row(fl_context *context, fl_value *const *args, const fl_tensor *input, parameters *p) {
  FL_CHECK(context, input->rank >= 1 && fl_is_contiguous(input), "the input must be contiguous and have a dimension");
  const size_t width = (size_t)input->sizes[input->rank - 1];
  return one_for_each(context, args, width > 0 ? fl_numel(input) / width : 0, width, p);
}

fl_status fl_quantized_range(fl_context *context, fl_value *const *args, int at, int8_t dtype, int64_t *range) {
  FL_CHECK(context, fl_get_int(args[at], &range[0]) && fl_get_int(args[at + 1], &range[1]) && range[0] <= range[1],
           "quant_min must be an integer not above quant_max");
  FL_CHECK(context, fl_is_integer(dtype) && dtype != FL_INT64 && dtype != FL_UINT64, "the quantized type must be an integer of at most 32 bits");
  const int is_signed = dtype == FL_INT8 || dtype == FL_INT16 || dtype == FL_INT32;
  const int64_t span = (int64_t)1 << (8 * fl_dtype_size(dtype));
  FL_CHECK(context, range[0] >= (is_signed ? -span / 2 : 0) && range[1] < (is_signed ? span / 2 : span),
           "quant_min and quant_max must lie within the quantized type");
  return FL_OK;
}

/* What is quantized or dequantized: a tensor of float32 from or to one of int8 or uint8. */
typedef struct job {
  const void *input;
  void *out;
  const int64_t *range; /* of integers that are written */
  int8_t integer;       /* the integers' type */
  uint8_t is_quantizing, is_shifted_first;
} job;

#define NUMBER float
#define PIECE 64
#define ROUNDING 0x1.8p23f
#define NAMED(name) float_##name
#include "quantize_pieces.h"
#undef NUMBER
#undef PIECE
#undef ROUNDING
#undef NAMED
#define NUMBER double
#define PIECE 32
#define ROUNDING 0x1.8p52
#define NAMED(name) double_##name
#include "quantize_pieces.h"

#define MOST_ZERO_POINT 1048576

/* Computes in pieces, and returns 1, if the types are those of a job and each zero point has up to 20 bits, so that all numbers near it are
 * exact. */
static int compute(const parameters *p, const job *job, int8_t real, size_t count) {
  if (real != FL_FLOAT32 || (job->integer != FL_INT8 && job->integer != FL_UINT8)) {
    return 0;
  }
  /* `p->count` is 1 where there are no zero points. */
  for (size_t i = 0; i < p->count && count > 0; ++i) {
    const int64_t zero = zero_point_of(p, i);
    if (zero < -MOST_ZERO_POINT || zero > MOST_ZERO_POINT) {
      return 0;
    }
  }
  if (count > 0) {
    (is_wide(p) ? double_compute_all : float_compute_all)(p, job, count);
  }
  return 1;
}

/* Quantizes a tensor. With `is_shifted_first`, adds the zero point before rounding. */
static fl_status quantize(fl_context *context, const fl_tensor *input, fl_tensor *out, const parameters *p, const int64_t *range, uint8_t is_shifted_first) {
  FL_CHECK(context, fl_is_float(input->dtype), "the input must be of a floating type");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out), "the result must be laid out as the input");
  const int wide = is_wide(p);
  const size_t count = fl_numel(input);
  if (compute(p, &(job){input->data, out->data, range, out->dtype, 1, is_shifted_first}, input->dtype, count)) {
    return FL_OK;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = channel_of(p, i);
    const double x = fl_read_real(input->dtype, input->data, i), zero = (double)zero_point_of(p, channel), inverse = inverse_of(p, channel);
    double v = wide ? x * inverse : (double)((float)x * (float)inverse);
    v = is_shifted_first ? nearbyint(wide ? v + zero : (double)((float)v + (float)zero)) : nearbyint(v) + zero;
    v = v < (double)range[0] ? (double)range[0] : v > (double)range[1] ? (double)range[1] : v;
    fl_write_integer(out->dtype, out->data, i, (uint64_t)fl_i64_of_real(v));
  }
  return FL_OK;
}

static fl_status dequantize(fl_context *context, const fl_tensor *input, fl_tensor *out, const parameters *p) {
  FL_CHECK(context, fl_is_integer(input->dtype) && fl_is_float(out->dtype), "the input must be of an integer type, and the result of a floating one");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out), "the result must be laid out as the input");
  const int wide = is_wide(p);
  const size_t count = fl_numel(input);
  if (compute(p, &(job){input->data, out->data, NULL, input->dtype, 0, 0}, out->dtype, count)) {
    return FL_OK;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = channel_of(p, i);
    const double x = fl_read_real(input->dtype, input->data, i) - (double)zero_point_of(p, channel), scale = scale_of(p, channel);
    fl_write_real(out->dtype, out->data, i, wide ? x * scale : (double)((float)x * (float)scale));
  }
  return FL_OK;
}

fl_status fl_quantize_per_tensor_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 6);
  parameters p;
  int64_t range[2];
  FL_TRY(one_for_all(context, args, input, &p));
  FL_TRY(fl_quantized_range(context, args, 3, out->dtype, range));
  return quantize(context, input, out, &p, range, 0);
}

fl_status fl_dequantize_per_tensor_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 7);
  parameters p;
  FL_TRY(one_for_all(context, args, input, &p));
  return dequantize(context, input, out, &p);
}

fl_status fl_quantize_per_channel_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 7);
  parameters p;
  int64_t range[2];
  FL_TRY(each_channel(context, args, input, &p));
  FL_TRY(fl_quantized_range(context, args, 4, out->dtype, range));
  return quantize(context, input, out, &p, range, 0);
}

fl_status fl_dequantize_per_channel_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 8);
  parameters p;
  FL_TRY(each_channel(context, args, input, &p));
  return dequantize(context, input, out, &p);
}

fl_status fl_quantize_per_token_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 6);
  parameters p;
  int64_t range[2];
  FL_TRY(each_row(context, args, input, &p));
  FL_TRY(fl_quantized_range(context, args, 3, out->dtype, range));
  return quantize(context, input, out, &p, range, 1);
}

fl_status fl_dequantize_per_token_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 7);
  parameters p;
  FL_TRY(each_row(context, args, input, &p));
  return dequantize(context, input, out, &p);
}
