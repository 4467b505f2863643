/* Kernels that select elements or rows by one tensor of indices. They check every index before they write. */
#include "indexed.h"
#include "gather.def"

/* Copies the slice of `from` along dimension `dim` at each index of a list to the next slice of `to`. */
static void take_rows(const fl_context *context, fl_view *to, fl_view *from, uint8_t dim, const fl_tensor *index) {
  const int64_t n = to->sizes[dim];
  const int64_t element = (int64_t)fl_dtype_size(index->dtype);
  const int64_t to_stride = to->strides[dim];
  const int64_t from_stride = from->strides[dim];
  char *const to_data = to->data;
  char *const from_data = from->data;
  to->sizes[dim] = from->sizes[dim] = 1;
  for (int64_t i = 0; i < n; ++i) {
    to->data = to_data + i * to_stride;
    from->data = from_data + fl_index_at((const char *)index->data + (index->rank > 0 ? i * index->strides[0] * element : 0), index->dtype) * from_stride;
    fl_view_copy(context, to, from);
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
  FL_TRY(fl_check_indices(context, index, 0, self->rank > 0 ? self->sizes[axis] : 1));
  FL_TAKE(fl_view, from, 1);
  FL_TAKE(fl_view, to, 1);
  *from = fl_view_of(self);
  *to = *from;
  const int64_t number = index->rank > 0 ? index->sizes[0] : 1;
  if (self->rank > 0) {
    to->sizes[axis] = number;
  }
  FL_CHECK(context, self->rank > 0 || number == 1, "a zero-dimensional input takes one index");
  FL_TRY(fl_resize_out(context, out, to, self->dtype));
  *to = fl_view_of(out);
  if (self->rank == 0) {
    fl_view_copy(context, to, from);
  } else if (fl_numel(out) > 0) {
    take_rows(context, to, from, axis, index);
  }
  return FL_OK;
}

#define PICK(T)                                                \
  static void pick_##T(size_t n, const fl_indexed_row *row) {  \
    FL_VISIT_ROW(memcpy(aligned, indexed, sizeof(T)))          \
  }
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)

fl_status fl_gather_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_visit_fn picks[] = {pick_uint8_t, pick_uint16_t, pick_uint32_t, pick_uint64_t};
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(index, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  uint8_t axis;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  if (fl_numel(index) > 0) {
    FL_TRY(fl_check_index_shape(context, index, self, axis));
  }
  FL_TRY(fl_check_indices(context, index, 0, self->rank > 0 ? self->sizes[axis] : 1));
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(fl_resize(context, out, index->sizes, index->rank));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  FL_TAKE(fl_view, views, 3);
  views[0] = fl_view_at_least_1d(index);
  views[1] = fl_view_at_least_1d(self);
  views[2] = fl_view_at_least_1d(out);
  return fl_visit_indices(context, &views[0], index->dtype, &views[1], &views[2], axis, fl_visit_by_size(views[1].element, picks), self->dtype);
}
