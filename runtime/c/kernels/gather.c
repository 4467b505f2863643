/* Elements and rows picked, or placed, by one tensor of indices. Every index is checked before anything is written. */
#include "loops.h"

#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *, fl_value *const *, size_t);
#include "gather.def"
#undef FL_KERNEL

static fl_status check_index_type(fl_context *context, const fl_tensor *index) {
  FL_CHECK(context, index->dtype == FL_INT64 || index->dtype == FL_INT32, "the indices must be of int64 or int32");
  return FL_OK;
}

/* Fails unless every index lies in [low, size). */
static fl_status check_indices(fl_context *context, const fl_tensor *index, int64_t low, int64_t size) {
  FL_TRY(check_index_type(context, index));
  const size_t n = fl_numel(index);
  const size_t element = fl_dtype_size(index->dtype);
  for (size_t i = 0; i < n; ++i) { /* the order does not matter, so the storage is read as it lies */
    const int64_t at = fl_index_at((const char *)index->data + i * element, index->dtype);
    FL_CHECK(context, at >= low && at < size, "an index is out of range");
  }
  return FL_OK;
}

/* Rows of `source` along dimension `dim` by a list of indices into dimension `dim` of out: one strided copy for each. */
static void take_rows(fl_view to, fl_view from, uint8_t dim, const fl_view *index, int8_t index_dtype) {
  const int64_t n = to.sizes[dim];
  const int64_t to_stride = to.strides[dim];
  const int64_t from_stride = from.strides[dim];
  char *const to_data = to.data;
  char *const from_data = from.data;
  to.sizes[dim] = from.sizes[dim] = 1;
  for (int64_t i = 0; i < n; ++i) {
    to.data = to_data + i * to_stride;
    from.data = from_data + fl_index_at(index->data + (index->rank > 0 ? i * index->strides[0] : 0), index_dtype) * from_stride;
    fl_view_copy(&to, &from);
  }
}

fl_status fl_index_select_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  uint8_t axis;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  FL_CHECK(context, index->rank <= 1, "the indices must have one dimension");
  FL_TRY(check_indices(context, index, 0, self->rank > 0 ? self->sizes[axis] : 1));
  fl_view shape = fl_view_of(self);
  const int64_t number = index->rank > 0 ? index->sizes[0] : 1;
  if (self->rank > 0) {
    shape.sizes[axis] = number;
  }
  FL_CHECK(context, self->rank > 0 || number == 1, "a zero-dimensional input takes one index");
  FL_TRY(fl_resize_out(context, out, &shape, self->dtype));
  const fl_view from = fl_view_of(self);
  const fl_view to = fl_view_of(out);
  const fl_view indices = fl_view_of(index);
  if (self->rank == 0) {
    fl_view_copy(&to, &from);
  } else if (fl_numel(out) > 0) {
    take_rows(to, from, axis, &indices, index->dtype);
  }
  return FL_OK;
}

fl_status fl_embedding_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(weight, 0);
  FL_TENSOR_ARGUMENT(indices, 1);
  FL_TENSOR_ARGUMENT(out, 5);
  size_t index[FL_MAX_DIMS] = {0};
  (void)count;
  FL_CHECK(context, weight->rank == 2, "the weight must have two dimensions");
  FL_CHECK(context, indices->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  FL_TRY(check_indices(context, indices, 0, weight->sizes[0]));
  fl_view shape = fl_view_of(indices);
  const fl_view rows = shape;
  shape.sizes[shape.rank] = weight->sizes[1];
  ++shape.rank;
  FL_TRY(fl_resize_out(context, out, &shape, weight->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const fl_view from = fl_view_of(weight);
  const fl_view to = fl_view_of(out);
  const uint8_t last = (uint8_t)(to.rank - 1);
  char *to_row = to.data;
  char *row = rows.data;
  size_t row_index[FL_MAX_DIMS] = {0};
  do {
    const char *source = from.data + fl_index_at(row, indices->dtype) * from.strides[0];
    fl_copy_strided((size_t)to.sizes[last], to.element, to_row, to.strides[last], source, from.strides[1]);
    fl_view_next(&rows, 0, row_index, &row);
  } while (fl_view_next(&to, 1, index, &to_row));
  return FL_OK;
}

/* Index tensors of gather and scatter: as many dimensions as self and none larger, but for the one they index. */
static fl_status check_shape(fl_context *context, const fl_tensor *index, const fl_tensor *self, uint8_t axis) {
  const uint8_t index_rank = index->rank > 0 ? index->rank : 1;
  const uint8_t self_rank = self->rank > 0 ? self->rank : 1;
  FL_CHECK(context, index_rank == self_rank, "the indices must have as many dimensions as the input");
  for (uint8_t d = 0; d < index->rank && d < self->rank; ++d) {
    FL_CHECK(context, d == axis || index->sizes[d] <= self->sizes[d], "the indices must not be larger than the input");
  }
  return FL_OK;
}

/* The view with at least one dimension. */
static fl_view at_least_1d(const fl_tensor *tensor) {
  fl_view view = fl_view_of(tensor);
  if (view.rank == 0) {
    view.rank = 1;
    view.sizes[0] = 1;
    view.strides[0] = view.element;
  }
  return view;
}

/* What to do with the element of `indexed` that an index names and the element of `aligned` at the index's own place. */
typedef void (*visit_fn)(char *indexed, char *aligned, int8_t dtype);

static void visit_indices(const fl_view *index, int8_t index_dtype, const fl_view *indexed, const fl_view *aligned, uint8_t axis, visit_fn visit,
                          int8_t dtype) {
  size_t position[FL_MAX_DIMS] = {0};
  fl_nest nest = {.rank = index->rank, .operands = 3};
  char *at[3] = {index->data, indexed->data, aligned->data};
  for (uint8_t d = 0; d < index->rank; ++d) {
    nest.sizes[d] = (size_t)index->sizes[d];
    nest.strides[0][d] = index->strides[d];
    nest.strides[1][d] = d == axis ? 0 : indexed->strides[d];
    nest.strides[2][d] = aligned->strides[d];
  }
  do {
    visit(at[1] + fl_index_at(at[0], index_dtype) * indexed->strides[axis], at[2], dtype);
  } while (fl_nest_next(&nest, 0, position, at));
}

#define PICK(T)                                                      \
  static void pick_##T(char *indexed, char *aligned, int8_t dtype) { \
    (void)dtype;                                                     \
    memcpy(aligned, indexed, sizeof(T));                             \
  }                                                                  \
  static void put_##T(char *indexed, char *aligned, int8_t dtype) {  \
    (void)dtype;                                                     \
    memcpy(indexed, aligned, sizeof(T));                             \
  }
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)

static visit_fn by_size(size_t element, const visit_fn *functions) {
  return functions[element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3];
}

fl_status fl_gather_out(fl_context *context, fl_value *const *args, size_t count) {
  static const visit_fn picks[] = {pick_uint8_t, pick_uint16_t, pick_uint32_t, pick_uint64_t};
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t axis;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  if (fl_numel(index) > 0) {
    FL_TRY(check_shape(context, index, self, axis));
  }
  FL_TRY(check_indices(context, index, 0, self->rank > 0 ? self->sizes[axis] : 1));
  const fl_view shape = fl_view_of(index);
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(fl_resize_out(context, out, &shape, self->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const fl_view indices = at_least_1d(index);
  const fl_view from = at_least_1d(self);
  const fl_view to = at_least_1d(out);
  visit_indices(&indices, index->dtype, &from, &to, axis, by_size(from.element, picks), self->dtype);
  return FL_OK;
}

/* out = self, after all checks of a scatter. */
static fl_status start_scatter(fl_context *context, const fl_tensor *self, int64_t dim, const fl_tensor *index, fl_tensor *out, uint8_t *axis) {
  FL_TRY(fl_wrap_dim(context, dim, self->rank, axis));
  if (fl_numel(index) > 0) {
    FL_TRY(check_shape(context, index, self, *axis));
  }
  FL_TRY(check_indices(context, index, 0, self->rank > 0 ? self->sizes[*axis] : 1));
  const fl_view from = fl_view_of(self);
  return fl_copy_out(context, out, &from, self->dtype);
}

static fl_status check_source(fl_context *context, const fl_tensor *src, const fl_tensor *index, const fl_tensor *self) {
  FL_CHECK(context, src->dtype == self->dtype, "the source must have self's type");
  if (fl_numel(index) == 0) {
    return FL_OK;
  }
  FL_CHECK(context, (src->rank > 0 ? src->rank : 1) == (index->rank > 0 ? index->rank : 1), "the source must have as many dimensions as the indices");
  for (uint8_t d = 0; d < index->rank; ++d) {
    FL_CHECK(context, index->sizes[d] <= (src->rank > 0 ? src->sizes[d] : 1), "the source must be as large as the indices");
  }
  return FL_OK;
}

fl_status fl_scatter_src_out(fl_context *context, fl_value *const *args, size_t count) {
  static const visit_fn puts[] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(src, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t axis;
  (void)count;
  FL_TRY(check_source(context, src, index, self));
  FL_TRY(start_scatter(context, self, dim, index, out, &axis));
  if (fl_numel(index) > 0) {
    const fl_view indices = at_least_1d(index);
    const fl_view from = at_least_1d(src);
    const fl_view to = at_least_1d(out);
    visit_indices(&indices, index->dtype, &to, &from, axis, by_size(to.element, puts), self->dtype);
  }
  return FL_OK;
}

fl_status fl_scatter_value_out(fl_context *context, fl_value *const *args, size_t count) {
  static const visit_fn puts[] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
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
    const fl_view indices = at_least_1d(index);
    const fl_view to = at_least_1d(out);
    fl_view from = indices;
    from.data = element;
    memset(from.strides, 0, sizeof from.strides);
    visit_indices(&indices, index->dtype, &to, &from, axis, by_size(to.element, puts), self->dtype);
  }
  return FL_OK;
}

/* Adds in the computing type. */
static void add_element(char *indexed, char *aligned, int8_t dtype) {
  union {
    float f32;
    double f64;
    int64_t i64;
  } x, y;
  const fl_compute type = fl_compute_of(dtype);
  const fl_convert_fn widen = fl_widen(dtype, type);
  const fl_convert_fn narrow = fl_narrow(type, dtype);
  const size_t element = fl_dtype_size(dtype);
  if (widen != NULL) {
    widen(1, &x, indexed);
    widen(1, &y, aligned);
  } else {
    memcpy(&x, indexed, element);
    memcpy(&y, aligned, element);
  }
  if (type == FL_COMPUTE_F32) {
    x.f32 += y.f32;
  } else if (type == FL_COMPUTE_F64) {
    x.f64 += y.f64;
  } else {
    x.i64 = (int64_t)((uint64_t)x.i64 + (uint64_t)y.i64);
  }
  if (narrow != NULL) {
    narrow(1, indexed, &x);
  } else {
    memcpy(indexed, &x, element);
  }
}

fl_status fl_scatter_add_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(src, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t axis;
  (void)count;
  FL_TRY(check_source(context, src, index, self));
  FL_TRY(start_scatter(context, self, dim, index, out, &axis));
  if (fl_numel(index) > 0) {
    const fl_view indices = at_least_1d(index);
    const fl_view from = at_least_1d(src);
    const fl_view to = at_least_1d(out);
    visit_indices(&indices, index->dtype, &to, &from, axis, add_element, self->dtype);
  }
  return FL_OK;
}
