/* Kernels of diagonals of two dimensions. */
#include "loops.h"
#include "diagonal.def"

/* Copies the diagonal of two dimensions, which becomes the last dimension. */
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
  fl_view_drop_dim(&from, a > b ? a : b);
  fl_view_drop_dim(&from, a > b ? b : a);
  from.sizes[from.rank] = length;
  from.strides[from.rank] = stride;
  ++from.rank;
  return fl_copy_out(context, out, &from, self->dtype);
}
