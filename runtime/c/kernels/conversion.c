/* Copies that keep the shape: to another type or dim order, both of which the output states. */
#include "loops.h"
#include "conversion.def"

static fl_status copy(fl_context *context, const fl_value *from, const fl_value *to) {
  const fl_tensor *self = fl_get_tensor(from);
  fl_tensor *out = fl_get_tensor(to);
  FL_CHECK(context, self != NULL && out != NULL, "the input and the output must be tensors");
  if (self->dtype == out->dtype && fl_dtype_size(self->dtype) == 0) {
    /* No kernel computes with this type, and bytes are bytes. */
    FL_TRY(fl_resize(context, out, self->sizes, self->rank));
    FL_CHECK(context, fl_same_order(self, out), "tensors of this type are copied in one layout only");
    memmove(out->data, self->data, fl_numel(self) * fl_element_size(self->dtype));
    return FL_OK;
  }
  FL_CHECK(context, fl_dtype_size(self->dtype) > 0 && fl_dtype_size(out->dtype) > 0, "the input and the output must be of known types");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  return fl_map_copy(context, out, self);
}

fl_status fl_to_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return copy(context, args[0], args[3]);
}

fl_status fl_clone_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return copy(context, args[0], args[2]);
}

fl_status fl_alias_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return copy(context, args[0], args[1]);
}

/* The shape and type of self with the elements of src. */
fl_status fl_copy_from_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(src, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, out->dtype == self->dtype, "the output must have self's type");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  return fl_map_copy(context, out, src);
}

fl_status fl_copy_in_place(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(src, 1);
  (void)count;
  return fl_map_copy(context, self, src);
}
