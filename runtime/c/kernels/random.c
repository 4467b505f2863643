/* Dropout. */
#include "loops.h"
#include "random.def"

/* Outside training: the input, and a mask of ones. Kernels keep no state to draw random numbers from. */
fl_status fl_native_dropout_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_REAL_ARGUMENT(p, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  FL_TENSOR_ARGUMENT(mask, 4);
  static const fl_value one = {.as = {.integer = 1}, .tag = FL_INT};
  int64_t train = 1;
  (void)count;
  FL_CHECK(context, fl_is_none(args[2]) || fl_get_int(args[2], &train), "train must be a bool or none");
  if (train != 0 && p != 0.0) {
    return FL_FAIL(context, FL_NOT_SUPPORTED, "dropout in training needs random numbers; export the model in eval mode");
  }
  FL_CHECK(context, out->dtype == self->dtype && mask->dtype == FL_BOOL, "the output must have the input's type and the mask be of bool");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  FL_TRY(fl_resize(context, mask, self->sizes, self->rank));
  FL_TRY(fl_map_copy(context, out, self));
  return fl_fill_scalar(context, mask, &one);
}
