/* Kernels of extrema and their indices. Of equal elements the first counts; the first NaN takes precedence over all numbers. */
#include "loops.h"
#include "extremum.def"

typedef struct best {
  double real;
  int64_t integer;
  int64_t index; /* -1: no element yet */
} best;

/* Defines a function that searches n elements, the first of which has index `from`. */
#define SEARCH(name, T, field, comparison, is_nan)                                             \
  static void name(best *found, size_t n, const void *elements, int64_t from) {                \
    const T *x = elements;                                                                     \
    T value = (T)found->field;                                                                 \
    int64_t index = found->index;                                                              \
    if (index >= 0 && (is_nan)) {                                                              \
      return;                                                                                  \
    }                                                                                          \
    for (size_t i = 0; i < n; ++i) {                                                           \
      if (index < 0 || !(x[i] comparison value)) {                                             \
        value = x[i];                                                                          \
        index = from + (int64_t)i;                                                             \
        if (is_nan) {                                                                          \
          break;                                                                               \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
    found->field = value;                                                                      \
    found->index = index;                                                                      \
  }
SEARCH(largest_f32, float, real, <=, value != value)
SEARCH(largest_f64, double, real, <=, value != value)
SEARCH(largest_i64, int64_t, integer, <=, 0)
SEARCH(smallest_f32, float, real, >=, value != value)
SEARCH(smallest_f64, double, real, >=, value != value)
SEARCH(smallest_i64, int64_t, integer, >=, 0)

typedef void (*search_fn)(best *, size_t, const void *, int64_t);
static const search_fn searches[2][3] = {{smallest_f32, smallest_f64, smallest_i64}, {largest_f32, largest_f64, largest_i64}};

static void search_line(fl_buffer *buffer, search_fn search, best *found, size_t n, const char *from, int64_t stride, int64_t index) {
  const size_t step = fl_is_direct(buffer, n, stride) ? n : FL_BLOCK;
  for (size_t i = 0; i < n; i += step) {
    const size_t m = n - i < step ? n - i : step;
    search(found, m, fl_buffer_read(buffer, m, from + (int64_t)i * stride, stride), index + (int64_t)i);
  }
}

/* Stores the sizes of `self` without dimension `dim`, or with it as 1 if `keepdim`, in `sizes`. Returns the rank. */
static uint8_t reduced_sizes(const fl_tensor *self, uint8_t dim, int keepdim, int32_t *sizes) {
  uint8_t rank = 0;
  for (uint8_t d = 0; d < self->rank; ++d) {
    if (d != dim || keepdim) {
      sizes[rank++] = d == dim ? 1 : self->sizes[d];
    }
  }
  return rank;
}

/* An out with a dimension of size 1 in place of the reduced dimension, so that it has the input's rank. */
typedef struct aligned {
  fl_tensor tensor;
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
} aligned;

static const fl_tensor *align(aligned *a, const fl_tensor *out, const fl_tensor *self, uint8_t dim, int keepdim) {
  a->tensor = *out;
  a->tensor.rank = self->rank;
  a->tensor.sizes = a->sizes;
  a->tensor.strides = a->strides;
  for (uint8_t d = 0; d < self->rank; ++d) {
    const uint8_t source = (uint8_t)(d - (!keepdim && d > dim));
    a->sizes[d] = d == dim ? 1 : out->sizes[source];
    a->strides[d] = d == dim ? 0 : out->strides[source];
  }
  return &a->tensor;
}

/* Computes extrema and their indices along one dimension. `values` and `indices` have been resized, and may be NULL. */
static fl_status along_dim(fl_context *context, const fl_tensor *self, uint8_t dim, int keepdim, int largest, fl_tensor *values, fl_tensor *indices) {
  const fl_mark mark = fl_mark_scratch(context);
  FL_TAKE(aligned, storage, 2);
  FL_TAKE(fl_lines, lines, 1);
  uint32_t index[FL_MAX_DIMS] = {0};
  const fl_compute type = fl_compute_of(self->dtype);
  const search_fn search = searches[largest][type];
  const fl_tensor *operands[3] = {self, NULL, NULL};
  char *at[3] = {self->data, NULL, NULL};
  uint8_t number = 1;
  const uint8_t value_at = values != NULL ? number++ : 0;
  const uint8_t index_at = indices != NULL ? number++ : 0;
  if (fl_numel(values != NULL ? values : indices) == 0) {
    fl_release(context, mark);
    return FL_OK;
  }
  if (values != NULL) {
    operands[value_at] = align(&storage[0], values, self, dim, keepdim);
    at[value_at] = values->data;
  }
  if (indices != NULL) {
    operands[index_at] = align(&storage[1], indices, self, dim, keepdim);
    at[index_at] = indices->data;
  }
  fl_lines_of(lines, operands, number, dim);
  const int64_t stride = self->rank > 0 ? lines->strides[0] : 0;
  fl_buffer buffer = fl_buffer_for_reading(self->dtype, type);
  FL_TRY(fl_buffer_take(context, &buffer, FL_BLOCK, 1));
  do {
    best found = {0.0, 0, -1};
    search_line(&buffer, search, &found, lines->length, at[0], stride, 0);
    if (values != NULL) {
      memcpy(at[value_at], at[0] + found.index * stride, buffer.element);
    }
    if (indices != NULL) {
      memcpy(at[index_at], &found.index, sizeof found.index);
    }
  } while (fl_nest_next(&lines->nest, 0, index, at));
  fl_release(context, mark);
  return FL_OK;
}

static fl_status check_input(fl_context *context, const fl_tensor *self, uint8_t dim) {
  FL_CHECK(context, self->dtype != FL_UINT64, "extrema are not defined on uint64");
  FL_CHECK(context, self->rank == 0 || self->sizes[dim] > 0, "an extremum of no elements is not defined");
  return FL_OK;
}

/* Computes values and indices along a dimension; `args` are self, dim, keepdim, values, indices. */
static fl_status extremum_dim(fl_context *context, fl_value *const *args, int largest) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(keepdim, 2);
  FL_TENSOR_ARGUMENT(values, 3);
  FL_TENSOR_ARGUMENT(indices, 4);
  int32_t sizes[FL_MAX_RANK];
  uint8_t at;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_TRY(check_input(context, self, at));
  FL_CHECK(context, values->dtype == self->dtype && indices->dtype == FL_INT64,
           "the values must be of the input's type and the indices int64");
  const uint8_t rank = reduced_sizes(self, at, keepdim != 0, sizes);
  FL_TRY(fl_resize(context, values, sizes, rank));
  FL_TRY(fl_resize(context, indices, sizes, rank));
  return along_dim(context, self, at, keepdim != 0, largest, values, indices);
}

fl_status fl_max_dim_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum_dim(context, args, 1);
}

fl_status fl_min_dim_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum_dim(context, args, 0);
}

/* Stores the extremum of all elements, and its index in logical order, in `found`. */
static fl_status search_all(fl_context *context, const fl_tensor *self, int largest, best *found) {
  const fl_compute type = fl_compute_of(self->dtype);
  const fl_view view = fl_view_of(self);
  const size_t n = view.rank > 0 ? (size_t)view.sizes[view.rank - 1] : 1;
  const int64_t stride = view.rank > 0 ? view.strides[view.rank - 1] : 0;
  uint32_t index[FL_MAX_DIMS] = {0};
  fl_buffer buffer = fl_buffer_for_reading(self->dtype, type);
  int64_t first = 0;
  char *row = view.data;
  const fl_mark mark = fl_mark_scratch(context);
  *found = (best){0.0, 0, -1};
  FL_TRY(fl_buffer_take(context, &buffer, FL_BLOCK, 1));
  do {
    search_line(&buffer, searches[largest][type], found, n, row, stride, first);
    first += (int64_t)n;
  } while (fl_view_next(&view, 1, index, &row));
  fl_release(context, mark);
  return FL_OK;
}

static fl_status index_of_extremum(fl_context *context, fl_value *const *args, int largest) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(keepdim, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  int32_t sizes[FL_MAX_RANK];
  FL_CHECK(context, out->dtype == FL_INT64, "the output must be of int64");
  if (!fl_is_none(args[1])) {
    FL_INT_ARGUMENT(dim, 1);
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
    FL_TRY(check_input(context, self, at));
    const uint8_t rank = reduced_sizes(self, at, keepdim != 0, sizes);
    FL_TRY(fl_resize(context, out, sizes, rank));
    return along_dim(context, self, at, keepdim != 0, largest, NULL, out);
  }
  FL_CHECK(context, fl_numel(self) > 0 && self->dtype != FL_UINT64, "an extremum of no elements, or of uint64, is not defined");
  for (uint8_t d = 0; d < self->rank; ++d) {
    sizes[d] = 1;
  }
  FL_TRY(fl_resize(context, out, sizes, keepdim != 0 ? self->rank : 0));
  best found;
  FL_TRY(search_all(context, self, largest, &found));
  memcpy(out->data, &found.index, sizeof found.index);
  return FL_OK;
}

fl_status fl_argmax_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return index_of_extremum(context, args, 1);
}

fl_status fl_argmin_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return index_of_extremum(context, args, 0);
}

fl_status fl_aminmax_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(keepdim, 2);
  FL_TENSOR_ARGUMENT(smallest, 3);
  FL_TENSOR_ARGUMENT(largest, 4);
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank = keepdim != 0 ? self->rank : 0;
  uint8_t at = 0;
  const int all = fl_is_none(args[1]);
  (void)count;
  FL_CHECK(context, smallest->dtype == self->dtype && largest->dtype == self->dtype, "the outputs must be of the input's type");
  if (!all) {
    FL_INT_ARGUMENT(dim, 1);
    FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
    rank = reduced_sizes(self, at, keepdim != 0, sizes);
  } else {
    for (uint8_t d = 0; d < self->rank; ++d) {
      sizes[d] = 1;
    }
  }
  FL_TRY(check_input(context, self, at));
  FL_CHECK(context, !all || fl_numel(self) > 0, "an extremum of no elements is not defined");
  FL_TRY(fl_resize(context, smallest, sizes, rank));
  FL_TRY(fl_resize(context, largest, sizes, rank));
  if (!all) {
    FL_TRY(along_dim(context, self, at, keepdim != 0, 0, smallest, NULL));
    return along_dim(context, self, at, keepdim != 0, 1, largest, NULL);
  }
  for (int k = 0; k < 2; ++k) {
    best found;
    FL_TRY(search_all(context, self, k, &found));
    const fl_compute type = fl_compute_of(self->dtype);
    fl_buffer buffer = fl_buffer_for_writing(type == FL_COMPUTE_I64 ? FL_COMPUTE_I64 : FL_COMPUTE_F64, self->dtype);
    fl_buffer_write(&buffer, 1, type == FL_COMPUTE_I64 ? (const void *)&found.integer : (const void *)&found.real,
                    k == 0 ? smallest->data : largest->data, 0);
  }
  return FL_OK;
}
