/* Kernels that copy complex tensors to real ones with a last dimension of 2, and back. The bytes are the same. */
#include "loops.h"
#include "complex.def"

/* Returns the dtype of the parts of a complex dtype; -1 for any other dtype. */
static int8_t part_of(int8_t dtype) { return dtype == FL_COMPLEX64 ? FL_FLOAT32 : dtype == FL_COMPLEX128 ? FL_FLOAT64 : -1; }

static fl_status move(fl_context *context, fl_tensor *out, const fl_tensor *self) {
  FL_CHECK(context, fl_is_contiguous(self) && fl_is_contiguous(out), "the input and the output must be contiguous");
  const size_t bytes = fl_numel(self) * fl_element_size(self->dtype);
  if (bytes > 0 && out->data != self->data) {
    memmove(out->data, self->data, bytes);
  }
  return FL_OK;
}

fl_status fl_view_as_real_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  FL_TENSOR_ARGUMENT(out, 1);
  int32_t sizes[FL_MAX_RANK];
  (void)count;
  FL_CHECK(context, self != NULL && part_of(self->dtype) == out->dtype, "the input must be complex, and the output of the type of its parts");
  FL_CHECK(context, self->rank < FL_MAX_RANK, "the input must have at most 15 dimensions");
  for (uint8_t d = 0; d < self->rank; ++d) {
    sizes[d] = self->sizes[d];
  }
  sizes[self->rank] = 2;
  FL_TRY(fl_resize(context, out, sizes, (uint8_t)(self->rank + 1)));
  return move(context, out, self);
}

fl_status fl_view_as_complex_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  fl_tensor *out = fl_get_tensor(args[1]);
  (void)count;
  FL_CHECK(context, out != NULL && part_of(out->dtype) == self->dtype, "the output must be complex, and the input of the type of its parts");
  FL_CHECK(context, self->rank > 0 && self->sizes[self->rank - 1] == 2, "the input's last dimension must have size 2");
  FL_TRY(fl_resize(context, out, self->sizes, (uint8_t)(self->rank - 1)));
  return move(context, out, self);
}
