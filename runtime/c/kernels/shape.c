/* Kernels that copy elements to another shape or order. Each describes its input as a strided view of the output's shape, and copies it. */
#include "loops.h"
#include "shape.def"

/* Reads a target shape, in which one size may be -1, into `sizes` and `rank`. Fails unless it has `numel` elements. */
static fl_status target_sizes(fl_context *context, const fl_value *value, size_t numel, int32_t *sizes, uint8_t *rank) {
  int64_t given[FL_MAX_RANK];
  uint32_t number = 0;
  int inferred = -1;
  size_t product = 1;
  FL_CHECK(context, fl_get_ints(value, given, FL_MAX_RANK, &number), "the size must be a list of at most 16 integers");
  for (uint32_t d = 0; d < number; ++d) {
    if (given[d] == -1 && inferred < 0) {
      inferred = (int)d;
      continue;
    }
    FL_CHECK(context, given[d] >= 0 && given[d] <= INT32_MAX, "a size is out of range");
    sizes[d] = (int32_t)given[d];
    FL_CHECK(context, given[d] == 0 || product <= SIZE_MAX / (size_t)given[d], "the size does not hold the input's elements");
    product *= (size_t)given[d];
  }
  if (inferred >= 0) {
    FL_CHECK(context, product > 0 && numel % product == 0 && numel / product <= INT32_MAX, "the size does not hold the input's elements");
    sizes[inferred] = (int32_t)(numel / product);
    product = numel;
  }
  FL_CHECK(context, product == numel, "the size does not hold the input's elements");
  *rank = (uint8_t)number;
  return FL_OK;
}

static fl_status reshape_to(fl_context *context, fl_tensor *out, const fl_tensor *self, const int32_t *sizes, uint8_t rank) {
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(fl_resize(context, out, sizes, rank));
  const fl_view from = fl_view_of(self);
  const fl_view to = fl_view_of(out);
  fl_view_reshape(context, &to, &from);
  return FL_OK;
}

fl_status fl_view_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  (void)count;
  FL_TRY(target_sizes(context, args[1], fl_numel(self), sizes, &rank));
  return reshape_to(context, out, self, sizes, rank);
}

/* Makes out a view of self's storage with the given sizes, without a copy. */
fl_status fl_et_view(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  (void)count;
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_CHECK(context, fl_is_contiguous(self) && fl_is_contiguous(out), "a view needs contiguous tensors");
  FL_TRY(target_sizes(context, args[1], fl_numel(self), sizes, &rank));
  out->capacity = self->capacity;
  FL_TRY(fl_resize(context, out, sizes, rank));
  out->data = self->data;
  return FL_OK;
}

static fl_status squeeze(fl_context *context, fl_tensor *out, const fl_tensor *self, uint32_t dropped) {
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank = 0;
  for (uint8_t d = 0; d < self->rank; ++d) {
    if ((dropped >> d & 1u) == 0 || self->sizes[d] != 1) {
      sizes[rank++] = self->sizes[d];
    }
  }
  return reshape_to(context, out, self, sizes, rank);
}

fl_status fl_squeeze_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 1);
  (void)count;
  return squeeze(context, out, self, UINT32_MAX);
}

fl_status fl_squeeze_copy_dim_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  return squeeze(context, out, self, 1u << at);
}

fl_status fl_squeeze_copy_dims_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(dims, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint32_t dropped = 0;
  (void)count;
  for (uint32_t i = 0; i < number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], self->rank, &at));
    dropped |= 1u << at;
  }
  return squeeze(context, out, self, dropped);
}

fl_status fl_unsqueeze_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t at;
  (void)count;
  FL_CHECK(context, self->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  FL_TRY(fl_wrap_dim(context, dim, (uint8_t)(self->rank + 1), &at));
  for (uint8_t d = 0; d <= self->rank; ++d) {
    sizes[d] = d == at ? 1 : self->sizes[d - (d > at)];
  }
  return reshape_to(context, out, self, sizes, (uint8_t)(self->rank + 1));
}

fl_status fl_expand_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(sizes, number, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, number >= self->rank, "expand cannot remove dimensions");
  const fl_view own = fl_view_of(self);
  fl_view from = own;
  from.rank = (uint8_t)number;
  for (uint8_t d = 0; d < from.rank; ++d) {
    const int i = (int)d - (int)(from.rank - self->rank);
    const int64_t size = i >= 0 ? own.sizes[i] : 1;
    FL_CHECK(context, sizes[d] == size || (size == 1 && sizes[d] >= 0) || (sizes[d] == -1 && i >= 0),
             "the shape does not expand to the size");
    from.sizes[d] = sizes[d] == -1 ? size : sizes[d];
    from.strides[d] = size == 1 ? 0 : own.strides[i];
  }
  return fl_copy_out(context, out, &from, self->dtype);
}
