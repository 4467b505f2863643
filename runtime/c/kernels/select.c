/* Parts of a tensor: copied out, or replaced in a copy. */
#include "loops.h"

#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *, fl_value *const *, size_t);
#include "select.def"
#undef FL_KERNEL

static void drop_dim(fl_view *view, uint8_t dim) {
  for (uint8_t d = dim; d + 1 < view->rank; ++d) {
    view->sizes[d] = view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
  }
  --view->rank;
}

/* Keeps [start, start + length) of a dimension. */
static void narrow(fl_view *view, uint8_t dim, int64_t start, int64_t length) {
  if (length > 0) {
    view->data += start * view->strides[dim];
  }
  view->sizes[dim] = length;
}

/* One index of a dimension, which goes away; a negative index counts from the end. */
static fl_status select_index(fl_context *context, fl_view *view, int64_t dim, int64_t index) {
  uint8_t at;
  FL_CHECK(context, view->rank > 0, "select needs at least one dimension");
  FL_TRY(fl_wrap_dim(context, dim, view->rank, &at));
  const int64_t size = view->sizes[at];
  FL_CHECK(context, index >= -size && index < size, "the index is out of range");
  narrow(view, at, index < 0 ? index + size : index, 1);
  drop_dim(view, at);
  return FL_OK;
}

/* Python's slice of a dimension; none stands for the ends. */
static fl_status slice(fl_context *context, fl_view *view, int64_t dim, const fl_value *from, const fl_value *to, int64_t step) {
  uint8_t at;
  int64_t start = 0;
  int64_t end = INT64_MAX;
  FL_CHECK(context, view->rank > 0, "slice needs at least one dimension");
  FL_TRY(fl_wrap_dim(context, dim, view->rank, &at));
  FL_CHECK(context, fl_is_none(from) || fl_get_int(from, &start), "the start must be an integer or none");
  FL_CHECK(context, fl_is_none(to) || fl_get_int(to, &end), "the end must be an integer or none");
  FL_CHECK(context, step > 0, "the step must be positive");
  const int64_t size = view->sizes[at];
  start = start < -size ? 0 : start < 0 ? start + size : start > size ? size : start;
  end = end < -size ? 0 : end < 0 ? end + size : end > size ? size : end;
  const int64_t span = end > start ? end - start : 0;
  narrow(view, at, start, span / step + (span % step != 0));
  /* With one element left the stride is not used; this keeps it within range. */
  view->strides[at] = view->sizes[at] > 1 ? view->strides[at] * step : view->strides[at];
  return FL_OK;
}

fl_status fl_select_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  fl_view from = fl_view_of(self);
  FL_TRY(select_index(context, &from, dim, index));
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_slice_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(step, 4);
  FL_TENSOR_ARGUMENT(out, 5);
  (void)count;
  fl_view from = fl_view_of(self);
  FL_TRY(slice(context, &from, dim, args[2], args[3], step));
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_narrow_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(start, 2);
  FL_INT_ARGUMENT(length, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t at;
  (void)count;
  FL_CHECK(context, self->rank > 0, "narrow needs at least one dimension");
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  const int64_t size = self->sizes[at];
  FL_CHECK(context, start >= -size && start <= size, "the start is out of range");
  start += start < 0 ? size : 0;
  FL_CHECK(context, length >= 0 && length <= size - start, "the length is out of range");
  fl_view from = fl_view_of(self);
  narrow(&from, at, start, length);
  return fl_copy_out(context, out, &from, self->dtype);
}

/* The diagonal of two dimensions becomes the last one. */
fl_status fl_diagonal_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(offset, 1);
  FL_INT_ARGUMENT(dim1, 2);
  FL_INT_ARGUMENT(dim2, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t a;
  uint8_t b;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim1, self->rank, &a));
  FL_TRY(fl_wrap_dim(context, dim2, self->rank, &b));
  FL_CHECK(context, a != b, "a diagonal needs two different dimensions");
  fl_view from = fl_view_of(self);
  const int64_t rows = from.sizes[a];
  const int64_t columns = from.sizes[b];
  const int64_t stride = from.strides[a] + from.strides[b];
  offset = offset > INT32_MAX ? INT32_MAX : offset < -INT32_MAX ? -INT32_MAX : offset;
  int64_t length = offset >= 0 ? (rows < columns - offset ? rows : columns - offset) : (rows + offset < columns ? rows + offset : columns);
  length = length < 0 ? 0 : length;
  if (length > 0) {
    from.data += offset >= 0 ? offset * from.strides[b] : -offset * from.strides[a];
  }
  drop_dim(&from, a > b ? a : b);
  drop_dim(&from, a > b ? b : a);
  from.sizes[from.rank] = length;
  from.strides[from.rank] = stride;
  ++from.rank;
  return fl_copy_out(context, out, &from, self->dtype);
}

/* Strides and offset count elements of self's storage. */
fl_status fl_as_strided_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(sizes, number, 1);
  FL_INTS_ARGUMENT(strides, stride_number, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  int64_t offset = 0;
  (void)count;
  FL_CHECK(context, fl_is_none(args[3]) || fl_get_int(args[3], &offset), "the storage offset must be an integer or none");
  FL_CHECK(context, number == stride_number, "there must be a stride for each size");
  fl_view from = fl_view_of(self);
  from.rank = (uint8_t)number;
  int64_t last = offset;
  int empty = 0;
  FL_CHECK(context, offset >= 0 && offset <= INT32_MAX, "the storage offset is out of range");
  for (uint8_t d = 0; d < from.rank; ++d) {
    FL_CHECK(context, sizes[d] >= 0 && sizes[d] <= INT32_MAX && strides[d] >= 0 && strides[d] <= INT32_MAX,
             "a size or stride is out of range");
    from.sizes[d] = sizes[d];
    from.strides[d] = strides[d] * from.element;
    empty |= sizes[d] == 0;
    last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
    FL_CHECK(context, last <= INT64_MAX / 2, "the strides reach beyond the input");
  }
  FL_CHECK(context, empty || last < (int64_t)fl_numel(self), "the strides reach beyond the input");
  if (!empty) {
    from.data += offset * from.element;
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_unfold_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(size, 2);
  FL_INT_ARGUMENT(step, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, step > 0, "the step must be positive");
  fl_view from = fl_view_of(self);
  if (self->rank == 0) { /* one dimension of one element */
    from.rank = 1;
    from.sizes[0] = 1;
    from.strides[0] = from.element;
  }
  FL_CHECK(context, size >= 0 && size <= from.sizes[at], "the window must not be larger than the dimension");
  const int64_t stride = from.strides[at];
  from.sizes[at] = (from.sizes[at] - size) / step + 1;
  from.strides[at] = from.sizes[at] > 1 ? stride * step : stride;
  if (self->rank == 0) {
    from.sizes[0] = size;
  } else {
    from.sizes[from.rank] = size;
    from.strides[from.rank] = stride;
    ++from.rank;
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

/* ---- into several outs ---- */

static fl_status list_tensor(fl_context *context, const fl_value *list, uint32_t i, fl_tensor **tensor) {
  fl_value *const *items = list->as.list.items;
  *tensor = items[i] != NULL ? fl_get_tensor(items[i]) : NULL;
  FL_CHECK(context, *tensor != NULL, "each output must be a tensor");
  return FL_OK;
}

fl_status fl_split_with_sizes_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 2);
  uint8_t at;
  int64_t start = 0;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, args[1]->tag == FL_INT_LIST && args[3]->tag == FL_TENSOR_LIST, "split needs a list of sizes and a list of outputs");
  FL_CHECK(context, self->rank > 0 && args[1]->as.list.count == args[3]->as.list.count, "split needs one output for each size");
  const fl_view own = fl_view_of(self);
  fl_value *const *sizes = args[1]->as.list.items;
  for (uint32_t i = 0; i < args[1]->as.list.count; ++i) {
    int64_t size = 0;
    FL_CHECK(context, fl_get_int(sizes[i], &size) && size >= 0 && size <= own.sizes[at] - start,
             "the sizes must add up to the dimension's");
    start += size;
  }
  FL_CHECK(context, start == own.sizes[at], "the sizes must add up to the dimension's");
  start = 0;
  for (uint32_t i = 0; i < args[1]->as.list.count; ++i) {
    fl_tensor *out;
    int64_t size = 0;
    fl_view from = own;
    FL_TRY(list_tensor(context, args[3], i, &out));
    (void)fl_get_int(sizes[i], &size);
    narrow(&from, at, start, size);
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
    start += size;
  }
  return FL_OK;
}

fl_status fl_split_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(split, 1);
  FL_INT_ARGUMENT(dim, 2);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, args[3]->tag == FL_TENSOR_LIST, "split needs a list of outputs");
  FL_CHECK(context, self->rank > 0 && split >= 0 && (split > 0 || self->sizes[at] == 0), "the split size must be positive");
  const fl_view own = fl_view_of(self);
  const int64_t size = own.sizes[at];
  const int64_t parts = split == 0 || size == 0 ? 1 : size / split + (size % split != 0);
  FL_CHECK(context, parts == args[3]->as.list.count, "split needs one output for each part");
  for (uint32_t i = 0; i < parts; ++i) {
    fl_tensor *out;
    fl_view from = own;
    const int64_t start = i * split;
    FL_TRY(list_tensor(context, args[3], i, &out));
    narrow(&from, at, start, size - start < split ? size - start : split);
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  }
  return FL_OK;
}

fl_status fl_unbind_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, self->rank > 0 && args[2]->tag == FL_TENSOR_LIST && args[2]->as.list.count == (uint32_t)self->sizes[at],
           "unbind needs one output for each index");
  for (uint32_t i = 0; i < args[2]->as.list.count; ++i) {
    fl_tensor *out;
    fl_view from = fl_view_of(self);
    FL_TRY(list_tensor(context, args[2], i, &out));
    FL_TRY(select_index(context, &from, at, i));
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  }
  return FL_OK;
}

/* ---- replaced in a copy ---- */

/* out = self, then the part `part` (a view of out) = src, of the part's shape. */
static fl_status replace(fl_context *context, fl_tensor *out, const fl_tensor *self, const fl_tensor *src, const fl_view *part) {
  FL_CHECK(context, src->dtype == self->dtype, "the source must have self's type");
  FL_CHECK(context, src->rank == part->rank, "the source must have the shape of the part it replaces");
  for (uint8_t d = 0; d < part->rank; ++d) {
    FL_CHECK(context, src->sizes[d] == part->sizes[d], "the source must have the shape of the part it replaces");
  }
  const fl_view all = fl_view_of(self);
  FL_TRY(fl_copy_out(context, out, &all, self->dtype));
  const fl_view from = fl_view_of(src);
  fl_view_copy(part, &from);
  return FL_OK;
}

fl_status fl_slice_scatter_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(src, 1);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(step, 5);
  FL_TENSOR_ARGUMENT(out, 6);
  (void)count;
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  fl_view part = fl_view_of(out);
  FL_TRY(slice(context, &part, dim, args[3], args[4], step));
  return replace(context, out, self, src, &part);
}

fl_status fl_select_scatter_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(src, 1);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(index, 3);
  FL_TENSOR_ARGUMENT(out, 4);
  (void)count;
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  fl_view part = fl_view_of(out);
  FL_TRY(select_index(context, &part, dim, index));
  return replace(context, out, self, src, &part);
}

/* Puts `src` at `index` of the first dimension of `self`, which ends there then. */
fl_status fl_et_copy_index(fl_context *context, fl_value *const *args, size_t count) {
  int32_t sizes[FL_MAX_RANK];
  FL_CHECK(context, count >= 3, "et_copy_index takes a tensor, a source and an index");
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(src, 1);
  FL_INT_ARGUMENT(index, 2);
  FL_CHECK(context, src->rank + 1 == self->rank && src->dtype == self->dtype, "the source must be one row of the tensor");
  FL_CHECK(context, index >= 0 && index < INT32_MAX, "the index is out of range");
  FL_CHECK(context, fl_is_contiguous(self), "the tensor must be contiguous");
  sizes[0] = self->dynamic ? (int32_t)(index + 1) : self->sizes[0];
  FL_CHECK(context, index < sizes[0], "the index is out of range");
  for (uint8_t d = 1; d < self->rank; ++d) {
    FL_CHECK(context, self->dynamic || src->sizes[d - 1] == self->sizes[d], "the source must be one row of the tensor");
    sizes[d] = src->sizes[d - 1];
  }
  FL_TRY(fl_resize(context, self, sizes, self->rank));
  fl_view part = fl_view_of(self);
  const fl_view from = fl_view_of(src);
  FL_TRY(select_index(context, &part, 0, index));
  fl_view_copy(&part, &from);
  return FL_OK;
}
