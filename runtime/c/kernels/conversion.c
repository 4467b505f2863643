/* Kernels that copy to the type and dim order of the output, and keep the shape. */
#include "loops.h"
#include "conversion.def"

/* Fails unless both tensors have one dtype, or real dtypes, which convert to each other. */
static fl_status check_types(fl_context *context, const fl_tensor *self, const fl_tensor *out) {
  FL_CHECK(context, self != NULL && out != NULL, "the input and the output must be tensors");
  FL_CHECK(context, self->dtype == out->dtype || (fl_dtype_size(self->dtype) > 0 && fl_dtype_size(out->dtype) > 0),
           "the input and the output must be of one type or of types that convert");
  return FL_OK;
}

static fl_status copy(fl_context *context, const fl_value *from, const fl_value *to) {
  const fl_tensor *self = fl_get_tensor(from);
  fl_tensor *out = fl_get_tensor(to);
  FL_TRY(check_types(context, self, out));
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

/* Copies the elements of src to a result with the shape and type of self. */
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
  fl_tensor *self = fl_get_tensor(args[0]);
  const fl_tensor *src = fl_get_tensor(args[1]);
  (void)count;
  FL_TRY(check_types(context, src, self));
  return fl_map_copy(context, self, src);
}
