/* Kernels that write elements to the places of one tensor of indices. They check every index before they write. If several sources have the same
 * place, the last in logical order is kept. */
#include <math.h>

#include "indexed.h"
#include "scatter.def"

size_t fl_scatter_reduce_scratch(fl_value *const *args, size_t count);

#define PUT(T)                                                \
  static void put_##T(size_t n, const fl_indexed_row *row) {  \
    FL_VISIT_ROW(memcpy(indexed, aligned, sizeof(T)))         \
  }
PUT(uint8_t)
PUT(uint16_t)
PUT(uint32_t)
PUT(uint64_t)

/* Copies self to out, after all checks of a scatter. */
static fl_status start_scatter(fl_context *context, const fl_tensor *self, int64_t dim, const fl_tensor *index, fl_tensor *out,
                               uint8_t *axis) {
  FL_TRY(fl_wrap_dim(context, dim, self->rank, axis));
  if (fl_numel(index) > 0) {
    FL_TRY(fl_check_index_shape(context, index, self, *axis));
  }
  FL_TRY(fl_check_indices(context, index, 0, self->rank > 0 ? self->sizes[*axis] : 1));
  const fl_view from = fl_view_of(self);
  return fl_copy_out(context, out, &from, self->dtype);
}

static fl_status check_source(fl_context *context, const fl_tensor *src, const fl_tensor *index, const fl_tensor *self) {
  FL_CHECK(context, src->dtype == self->dtype, "the source must have self's type");
  if (fl_numel(index) == 0) {
    return FL_OK;
  }
  FL_CHECK(context, (src->rank > 0 ? src->rank : 1) == (index->rank > 0 ? index->rank : 1),
           "the source must have as many dimensions as the indices");
  for (uint8_t d = 0; d < index->rank; ++d) {
    FL_CHECK(context, index->sizes[d] <= (src->rank > 0 ? src->sizes[d] : 1), "the source must be as large as the indices");
  }
  return FL_OK;
}

/* Visits the sources with the function of `by_size` for their element size, or with `visit`. */
static fl_status scatter_sources(fl_context *context, fl_value *const *args, const fl_visit_fn *by_size, fl_visit_fn visit) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(src, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t axis;
  FL_TRY(check_source(context, src, index, self));
  FL_TRY(start_scatter(context, self, dim, index, out, &axis));
  if (fl_numel(index) > 0) {
    FL_TAKE(fl_view, views, 3);
    views[0] = fl_view_at_least_1d(index);
    views[1] = fl_view_at_least_1d(out);
    views[2] = fl_view_at_least_1d(src);
    return fl_visit_indices(context, &views[0], index->dtype, &views[1], &views[2], axis,
                            by_size != NULL ? fl_visit_by_size(views[1].element, by_size) : visit, self->dtype);
  }
  return FL_OK;
}

fl_status fl_scatter_src_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_visit_fn puts[] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
  (void)count;
  return scatter_sources(context, args, puts, NULL);
}

fl_status fl_scatter_value_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_visit_fn puts[] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  _Alignas(8) char element[8];
  uint8_t axis;
  (void)count;
  FL_CHECK(context, fl_scalar_element(args[3], self->dtype, element), "the value must be a number");
  FL_TRY(start_scatter(context, self, dim, index, out, &axis));
  if (fl_numel(index) > 0) {
    FL_TAKE(fl_view, views, 3);
    views[0] = fl_view_at_least_1d(index);
    views[1] = fl_view_at_least_1d(out);
    views[2] = fl_view_repeating(&views[0], element);
    return fl_visit_indices(context, &views[0], index->dtype, &views[1], &views[2], axis, fl_visit_by_size(views[1].element, puts), self->dtype);
  }
  return FL_OK;
}

/* ---- combined with the element at the place ---- */

typedef union number {
  float f32;
  double f64;
  int64_t i64;
} number;

/* Read an element in its computing type, and write it back. */
static number read_number(const char *at, fl_compute type, int8_t dtype) {
  const fl_convert_fn widen = fl_widen(dtype, type);
  number x = {.i64 = 0};
  if (widen != NULL) {
    widen(1, &x, at);
  } else {
    memcpy(&x, at, fl_dtype_size(dtype));
  }
  return x;
}

static void write_number(char *at, number x, fl_compute type, int8_t dtype) {
  const fl_convert_fn narrow = fl_narrow(type, dtype);
  if (narrow != NULL) {
    narrow(1, at, &x);
  } else {
    memcpy(at, &x, fl_dtype_size(dtype));
  }
}

/* Defines a function that combines two elements x and y in their computing type. */
#define COMBINE(name, real_expression, integer_expression)                       \
  static number name##_numbers(number a, number b, fl_compute type) {            \
    if (type == FL_COMPUTE_F32) {                                                \
      const float x = a.f32;                                                     \
      const float y = b.f32;                                                     \
      a.f32 = (real_expression);                                                 \
    } else if (type == FL_COMPUTE_F64) {                                         \
      const double x = a.f64;                                                    \
      const double y = b.f64;                                                    \
      a.f64 = (real_expression);                                                 \
    } else {                                                                     \
      const int64_t x = a.i64;                                                   \
      const int64_t y = b.i64;                                                   \
      a.i64 = (integer_expression);                                              \
    }                                                                            \
    return a;                                                                    \
  }                                                                              \
  static void name(size_t n, const fl_indexed_row *row) {                        \
    const int8_t dtype = row->dtype;                                             \
    if (fl_is(dtype, FL_FLOAT32)) {                                              \
      float x, y;                                                                \
      FL_VISIT_ROW((memcpy(&x, indexed, sizeof x), memcpy(&y, aligned, sizeof y), x = (real_expression), memcpy(indexed, &x, sizeof x))) \
      return;                                                                    \
    }                                                                            \
    const fl_compute type = fl_compute_of(dtype);                                \
    FL_VISIT_ROW(write_number(                                                   \
        indexed, name##_numbers(read_number(indexed, type, dtype), read_number(aligned, type, dtype), type), type, dtype)) \
  }

COMBINE(add, x + y, fl_wrap_add(x, y))
COMBINE(multiply, x *y, fl_wrap_mul(x, y))
COMBINE(largest, x > y || x != x ? x : y, x > y ? x : y)
COMBINE(smallest, x < y || x != x ? x : y, x < y ? x : y)

fl_status fl_scatter_add_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return scatter_sources(context, args, NULL, add);
}

typedef struct reduction {
  const char *name;
  fl_visit_fn combine;
  double start; /* initial value if the element of self does not count */
} reduction;

/* Stores the smallest or the largest number of an integer type in `element`. */
static void integer_limit(int8_t dtype, int smallest_one, void *element) {
  const unsigned bits = (unsigned)(8 * fl_dtype_size(dtype));
  const int has_sign = dtype >= FL_INT8 && dtype <= FL_INT64;
  const uint64_t sign = has_sign ? (uint64_t)1 << (bits - 1) : 0;
  const uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  const fl_value value = {.as = {.integer = (int64_t)(smallest_one ? sign : all ^ sign)}, .tag = FL_INT};
  (void)fl_scalar_element(&value, dtype, element);
}

/* Returns the scratch memory for a count per element of the output, which a mean needs. */
size_t fl_scatter_reduce_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  const size_t counts = self != NULL ? fl_scratch_bytes(fl_numel(self), sizeof(int64_t)) : 0;
  return counts > SIZE_MAX / 2 ? SIZE_MAX : counts + 64 + fl_views_scratch(args, count);
}

/* Divides every element by its count, rounding integers down. */
static void divide_by_counts(fl_tensor *out, const int64_t *counts) {
  const size_t element = fl_dtype_size(out->dtype);
  const size_t n = fl_numel(out);
  const fl_compute type = fl_compute_of(out->dtype);
  for (size_t i = 0; i < n; ++i) {
    if (counts[i] <= 1) {
      continue;
    }
    char *at = (char *)out->data + i * element;
    number x = read_number(at, type, out->dtype);
    if (type == FL_COMPUTE_F32) {
      x.f32 /= (float)counts[i];
    } else if (type == FL_COMPUTE_F64) {
      x.f64 /= (double)counts[i];
    } else {
      x.i64 = x.i64 / counts[i] - (x.i64 % counts[i] != 0 && x.i64 < 0);
    }
    write_number(at, x, type, out->dtype);
  }
}

fl_status fl_scatter_reduce_out(fl_context *context, fl_value *const *args, size_t count) {
  static const reduction reductions[] = {{"sum", add, 0.0},
                                         {"mean", add, 0.0},
                                         {"prod", multiply, 1.0},
                                         {"amax", largest, -INFINITY},
                                         {"amin", smallest, INFINITY}};
  static const fl_visit_fn puts[] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(src, 3);
  FL_INT_ARGUMENT(include_self, 5);
  FL_TENSOR_ARGUMENT(out, 6);
  const reduction *chosen = NULL;
  uint8_t axis;
  (void)count;
  FL_CHECK(context, args[4]->tag == FL_STRING, "the reduction must be a string");
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i) {
    chosen = strcmp(args[4]->as.string.data, reductions[i].name) == 0 ? &reductions[i] : chosen;
  }
  FL_CHECK(context, chosen != NULL, "the reduction must be sum, mean, prod, amax or amin");
  const int is_mean = strcmp(chosen->name, "mean") == 0;
  FL_TRY(check_source(context, src, index, self));
  FL_CHECK(context, (self->dtype != FL_BOOL || !is_mean) && self->dtype != FL_UINT64, "the reduction is not defined on this type");
  FL_TRY(start_scatter(context, self, dim, index, out, &axis));
  if (fl_numel(index) == 0) {
    return FL_OK;
  }
  FL_TAKE(fl_view, views, 4);
  fl_view *const indices = &views[0];
  fl_view *const from = &views[1];
  fl_view *const to = &views[2];
  fl_view *const other = &views[3];
  *indices = fl_view_at_least_1d(index);
  *from = fl_view_at_least_1d(src);
  *to = fl_view_at_least_1d(out);
  if (!include_self) {
    _Alignas(8) char element[8];
    const fl_value start = {.as = {.real = chosen->start}, .tag = FL_DOUBLE};
    (void)fl_scalar_element(&start, self->dtype, element);
    if (!fl_is_float(self->dtype) && (chosen->combine == largest || chosen->combine == smallest)) {
      integer_limit(self->dtype, chosen->combine == largest, element);
    }
    *other = fl_view_repeating(indices, element);
    FL_TRY(fl_visit_indices(context, indices, index->dtype, to, other, axis, fl_visit_by_size(to->element, puts), self->dtype));
  }
  FL_TRY(fl_visit_indices(context, indices, index->dtype, to, from, axis, chosen->combine, self->dtype));
  if (is_mean) {
    /* The counts have the layout of the output. */
    const size_t n = fl_numel(out);
    FL_TAKE(int64_t, counts, n);
    int64_t one = 1;
    for (size_t i = 0; i < n; ++i) {
      counts[i] = include_self ? 1 : 0;
    }
    *other = fl_view_repeating(indices, &one);
    for (uint8_t d = 0; d < to->rank; ++d) {
      to->strides[d] = to->strides[d] / (int64_t)to->element * (int64_t)sizeof(int64_t);
    }
    to->data = (char *)counts;
    FL_TRY(fl_visit_indices(context, indices, index->dtype, to, other, axis, add, FL_INT64));
    divide_by_counts(out, counts);
  }
  return FL_OK;
}
