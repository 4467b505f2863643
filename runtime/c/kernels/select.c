/* Kernels that copy a part of a tensor, or replace it in a copy of the tensor. */
#include "loops.h"
#include "select.def"

/* Declares a tensor argument whose elements are only moved, so that it may be complex. */
#define FL_MOVED_ARGUMENT(name, i)          \
  fl_tensor *name = fl_get_tensor(args[i]); \
  FL_CHECK(context, name != NULL, "argument " #i " must be a tensor")

/* Restricts a view to Python's slice of a dimension; None means the end of the dimension. */
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
  fl_view_narrow(view, at, start, span / step + (span % step != 0));
  /* The stride of a single element is not used; the condition keeps it from overflow. */
  view->strides[at] = view->sizes[at] > 1 ? view->strides[at] * step : view->strides[at];
  return FL_OK;
}

fl_status fl_select_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_MOVED_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_INT_ARGUMENT(index, 2);
  FL_MOVED_ARGUMENT(out, 3);
  (void)count;
  fl_view from = fl_view_of(self);
  FL_TRY(fl_view_select(context, &from, dim, index));
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
  FL_CHECK_NUMBERS(context, start >= -size && start <= size, "the start % is out of range for a dimension of % entries", start, size);
  start += start < 0 ? size : 0;
  FL_CHECK_NUMBERS(context, length >= 0 && length <= size - start, "the length % is out of range: % entries follow the start", length, size - start);
  fl_view from = fl_view_of(self);
  fl_view_narrow(&from, at, start, length);
  return fl_copy_out(context, out, &from, self->dtype);
}

/* Copies a strided view of self, whose strides and offset are in elements of self's storage. */
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
  if (self->rank == 0) { /* counts as one dimension of one element */
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

/* ---- replaced in a copy ---- */

/* Copies self to out, and then src to `part`, a view of out with the shape of src. */
static fl_status replace(fl_context *context, fl_tensor *out, const fl_tensor *self, const fl_tensor *src, const fl_view *part) {
  FL_CHECK(context, src->dtype == self->dtype, "the source must have self's type");
  FL_CHECK(context, src->rank == part->rank, "the source must have the shape of the part it replaces");
  for (uint8_t d = 0; d < part->rank; ++d) {
    FL_CHECK(context, src->sizes[d] == part->sizes[d], "the source must have the shape of the part it replaces");
  }
  const fl_view all = fl_view_of(self);
  FL_TRY(fl_copy_out(context, out, &all, self->dtype));
  const fl_view from = fl_view_of(src);
  fl_view_copy(context, part, &from);
  return FL_OK;
}

fl_status fl_slice_scatter_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_MOVED_ARGUMENT(self, 0);
  FL_MOVED_ARGUMENT(src, 1);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(step, 5);
  FL_MOVED_ARGUMENT(out, 6);
  (void)count;
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  fl_view part = fl_view_of(out);
  FL_TRY(slice(context, &part, dim, args[3], args[4], step));
  return replace(context, out, self, src, &part);
}

fl_status fl_select_scatter_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_MOVED_ARGUMENT(self, 0);
  FL_MOVED_ARGUMENT(src, 1);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(index, 3);
  FL_MOVED_ARGUMENT(out, 4);
  (void)count;
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  fl_view part = fl_view_of(out);
  FL_TRY(fl_view_select(context, &part, dim, index));
  return replace(context, out, self, src, &part);
}

/* Copies `src` to entry `index` of the first dimension of `self`, which then ends after this entry. */
fl_status fl_et_copy_index(fl_context *context, fl_value *const *args, size_t count) {
  int32_t sizes[FL_MAX_RANK];
  FL_CHECK(context, count >= 3, "et_copy_index takes a tensor, a source and an index");
  fl_tensor *self = fl_get_tensor(args[0]);
  const fl_tensor *src = fl_get_tensor(args[1]);
  FL_INT_ARGUMENT(index, 2);
  FL_CHECK(context, self != NULL && src != NULL, "the first two arguments must be tensors");
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
  FL_TRY(fl_view_select(context, &part, 0, index));
  fl_view_copy(context, &part, &from);
  return FL_OK;
}
