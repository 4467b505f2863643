/* Kernels that make tensors from sizes and numbers. */
#include <math.h>

#include "loops.h"
#include "creation.def"

static const fl_value zero = {.as = {.integer = 0}, .tag = FL_INT};
static const fl_value one = {.as = {.integer = 1}, .tag = FL_INT};

static fl_status get_out(fl_context *context, const fl_value *value, fl_tensor **out) {
  *out = fl_get_tensor(value);
  FL_CHECK(context, *out != NULL && fl_dtype_size((*out)->dtype) > 0, "the output must be a tensor of a known type");
  return FL_OK;
}

/* Resizes the output to a list of sizes, and fills it with a Scalar, unless `scalar` is NULL. */
static fl_status fill_sizes(fl_context *context, const fl_value *size, const fl_value *scalar, const fl_value *output) {
  int64_t sizes[FL_MAX_RANK];
  int32_t narrow[FL_MAX_RANK];
  uint32_t rank = 0;
  fl_tensor *out;
  out = fl_get_tensor(output);
  FL_CHECK(context, out != NULL, "the output must be a tensor");
  FL_CHECK(context, fl_get_ints(size, sizes, FL_MAX_RANK, &rank), "the size must be a list of at most 16 integers");
  for (uint32_t d = 0; d < rank; ++d) {
    FL_CHECK(context, sizes[d] >= 0 && sizes[d] <= INT32_MAX, "a size is out of range");
    narrow[d] = (int32_t)sizes[d];
  }
  FL_TRY(fl_resize(context, out, narrow, (uint8_t)rank));
  return scalar != NULL ? fl_fill_scalar(context, out, scalar) : FL_OK;
}

/* Resizes the output to the sizes of a tensor, and fills it in the same way. */
static fl_status fill_like(fl_context *context, const fl_value *like, const fl_value *scalar, const fl_value *output) {
  const fl_tensor *self = fl_get_tensor(like);
  fl_tensor *out;
  out = fl_get_tensor(output);
  FL_CHECK(context, out != NULL, "the output must be a tensor");
  FL_CHECK(context, self != NULL, "the first argument must be a tensor");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  return scalar != NULL ? fl_fill_scalar(context, out, scalar) : FL_OK;
}

#define CREATE(name, expression)                                                               \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    (void)count;                                                                               \
    return (expression);                                                                       \
  }
CREATE(empty, fill_sizes(context, args[0], NULL, args[2]))
CREATE(empty_like, fill_like(context, args[0], NULL, args[2]))
CREATE(full, fill_sizes(context, args[0], args[1], args[2]))
CREATE(full_like, fill_like(context, args[0], args[1], args[3]))
CREATE(new_full, fill_sizes(context, args[1], args[2], args[3]))
CREATE(new_ones, fill_sizes(context, args[1], &one, args[2]))
CREATE(new_zeros, fill_sizes(context, args[1], &zero, args[2]))
CREATE(ones, fill_sizes(context, args[0], &one, args[1]))
CREATE(ones_like, fill_like(context, args[0], &one, args[2]))
CREATE(zeros, fill_sizes(context, args[0], &zero, args[1]))
CREATE(zeros_like, fill_like(context, args[0], &zero, args[2]))

fl_status fl_scalar_tensor_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_tensor *out;
  (void)count;
  FL_TRY(get_out(context, args[1], &out));
  FL_TRY(fl_resize(context, out, NULL, 0));
  return fl_fill_scalar(context, out, args[0]);
}

fl_status fl_fill_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  (void)count;
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  if (args[1]->tag != FL_TENSOR) {
    return fl_fill_scalar(context, out, args[1]);
  }
  FL_TENSOR_ARGUMENT(value, 1);
  FL_CHECK(context, value->rank == 0, "the value must have no dimensions");
  return fl_map_copy(context, out, value);
}

/* The n elements start + i * step; from element `turn` on they are computed as end - (n - 1 - i) * step. */
typedef struct ramp {
  int is_integer;
  int64_t start_integer, step_integer;
  double start, step, end;
  size_t n, turn;
} ramp;

static fl_status write_ramp(fl_context *context, fl_tensor *out, const ramp *r) {
  fl_buffer buffer = fl_buffer_for_writing(r->is_integer ? FL_COMPUTE_I64 : FL_COMPUTE_F64, out->dtype);
  FL_CHECK(context, r->n <= INT32_MAX, "the result would have a dimension out of range");
  const int32_t size = (int32_t)r->n;
  FL_TRY(fl_resize(context, out, &size, 1));
  const size_t element = fl_dtype_size(out->dtype);
  FL_TRY(fl_buffer_take(context, &buffer, FL_BLOCK, 1));
  for (size_t i = 0; i < r->n; i += FL_BLOCK) {
    const size_t m = r->n - i < FL_BLOCK ? r->n - i : FL_BLOCK;
    int64_t *integers = (int64_t *)(void *)buffer.computed;
    double *reals = (double *)(void *)buffer.computed;
    for (size_t j = 0; j < m; ++j) {
      const size_t at = i + j;
      if (r->is_integer) {
        integers[j] = (int64_t)((uint64_t)r->start_integer + (uint64_t)at * (uint64_t)r->step_integer);
      } else {
        reals[j] = at < r->turn ? r->start + (double)at * r->step : r->end - (double)(r->n - 1 - at) * r->step;
      }
    }
    fl_buffer_write(&buffer, m, buffer.computed, (char *)out->data + i * element, (int64_t)element);
  }
  return FL_OK;
}

/* Returns the number of steps from start to before end; -1 when the step leads away from end, or there are too many steps. */
static int64_t count_steps(int64_t start, int64_t end, int64_t step) {
  if (step > 0 ? end < start : end > start) {
    return -1;
  }
  const uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
  const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  const uint64_t n = span / stride + (span % stride != 0);
  return n <= INT32_MAX ? (int64_t)n : -1;
}

static fl_status arange(fl_context *context, const fl_value *from, const fl_value *to, const fl_value *by, const fl_value *output) {
  ramp r = {.is_integer = 1};
  double start;
  double end;
  int64_t end_integer = 0;
  fl_tensor *out;
  FL_TRY(get_out(context, output, &out));
  FL_CHECK(context, fl_get_real(from, &start) && fl_get_real(to, &end) && fl_get_real(by, &r.step), "start, end and step must be numbers");
  FL_CHECK(context, isfinite(start) && isfinite(end) && isfinite(r.step) && r.step != 0.0,
           "start, end and step must be finite, and step not 0");
  r.start = start;
  r.is_integer = fl_get_int(from, &r.start_integer) && fl_get_int(to, &end_integer) && fl_get_int(by, &r.step_integer);
  const double steps = ceil((end - start) / r.step);
  int64_t n = steps >= 0.0 && steps <= INT32_MAX ? (int64_t)steps : -1;
  if (r.is_integer) {
    n = count_steps(r.start_integer, end_integer, r.step_integer);
  }
  if (!fl_is_float(out->dtype) && !r.is_integer) {
    /* ATen casts the numbers to an integer type first; only for int64 it counts the elements after the cast. */
    r.is_integer = 1;
    r.start_integer = fl_i64_of_real(start);
    r.step_integer = fl_i64_of_real(r.step);
    if (out->dtype == FL_INT64) {
      FL_CHECK(context, r.step_integer != 0, "the step of int64 must be an integer other than 0");
      n = count_steps(r.start_integer, fl_i64_of_real(end), r.step_integer);
    }
  }
  FL_CHECK(context, n >= 0, "the bounds are inconsistent with the step's sign, or too far apart");
  r.n = (size_t)n;
  r.turn = r.n;
  return write_ramp(context, out, &r);
}

fl_status fl_arange_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return arange(context, &zero, args[0], &one, args[1]);
}

fl_status fl_arange_start_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return arange(context, args[0], args[1], args[2], args[3]);
}

/* Returns a bound converted to the element type: integers have no fraction, and bytes wrap around. */
static double bound_of(double x, int8_t dtype) {
  const double whole = trunc(x);
  return fl_is_float(dtype) || dtype == FL_BOOL ? x : dtype == FL_UINT8 ? whole - 256.0 * floor(whole / 256.0) : whole;
}

/* Computes the second half of the elements from the end, so that both ends are exact. */
fl_status fl_linspace_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_REAL_ARGUMENT(start, 0);
  FL_REAL_ARGUMENT(end, 1);
  FL_INT_ARGUMENT(steps, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, steps >= 0 && steps <= INT32_MAX, "the number of steps is out of range");
  start = bound_of(start, out->dtype);
  end = bound_of(end, out->dtype);
  const ramp r = {.start = start, .end = end, .step = steps > 1 ? (end - start) / (double)(steps - 1) : 0.0, .n = (size_t)steps,
                  .turn = steps > 1 ? (size_t)steps / 2 : (size_t)steps};
  return write_ramp(context, out, &r);
}

static fl_status eye(fl_context *context, const fl_value *rows, const fl_value *columns, const fl_value *output) {
  int64_t sizes[2];
  fl_tensor *out;
  FL_TRY(get_out(context, output, &out));
  FL_CHECK(context, fl_get_int(rows, &sizes[0]) && fl_get_int(columns, &sizes[1]), "the sizes must be integers");
  FL_CHECK(context, sizes[0] >= 0 && sizes[0] <= INT32_MAX && sizes[1] >= 0 && sizes[1] <= INT32_MAX, "a size is out of range");
  const int32_t narrow[2] = {(int32_t)sizes[0], (int32_t)sizes[1]};
  FL_TRY(fl_resize(context, out, narrow, 2));
  FL_TRY(fl_fill_scalar(context, out, &zero));
  _Alignas(8) unsigned char element[8];
  (void)fl_scalar_element(&one, out->dtype, element);
  fl_view view = fl_view_of(out);
  view.rank = 1;
  view.sizes[0] = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
  view.strides[0] += view.strides[1];
  fl_view_fill(&view, element);
  return FL_OK;
}

fl_status fl_eye_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return eye(context, args[0], args[0], args[1]);
}

fl_status fl_eye_m_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return eye(context, args[0], args[1], args[2]);
}
