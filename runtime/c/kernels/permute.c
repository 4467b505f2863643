/* Kernels that reorder dimensions. Each describes its input as a strided view of the output's shape, and copies it. */
#include "loops.h"
#include "permute.def"

fl_status fl_permute_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(dims, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint32_t seen = 0;
  (void)count;
  const fl_view own = fl_view_of(self);
  fl_view from = own;
  FL_CHECK(context, number == self->rank, "permute needs each dimension once");
  for (uint8_t d = 0; d < self->rank; ++d) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[d], self->rank, &at));
    FL_CHECK(context, (seen >> at & 1u) == 0, "permute needs each dimension once");
    seen |= 1u << at;
    from.sizes[d] = own.sizes[at];
    from.strides[d] = own.strides[at];
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

static void exchange_dims(fl_view *view, uint8_t a, uint8_t b) {
  const int64_t size = view->sizes[a];
  const int64_t stride = view->strides[a];
  view->sizes[a] = view->sizes[b];
  view->strides[a] = view->strides[b];
  view->sizes[b] = size;
  view->strides[b] = stride;
}

fl_status fl_transpose_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim0, 1);
  FL_INT_ARGUMENT(dim1, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  uint8_t a;
  uint8_t b;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim0, self->rank, &a));
  FL_TRY(fl_wrap_dim(context, dim1, self->rank, &b));
  fl_view from = fl_view_of(self);
  if (self->rank > 0) {
    exchange_dims(&from, a, b);
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_t_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 1);
  (void)count;
  FL_CHECK(context, self->rank <= 2, "t takes at most two dimensions");
  fl_view from = fl_view_of(self);
  if (self->rank == 2) {
    exchange_dims(&from, 0, 1);
  }
  return fl_copy_out(context, out, &from, self->dtype);
}
