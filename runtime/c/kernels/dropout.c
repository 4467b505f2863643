/* aten::native_dropout, without training: the input and a mask of ones. */
#include "loops.h"

fl_status fl_native_dropout_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_REAL_ARGUMENT(probability, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  FL_TENSOR_ARGUMENT(mask, 4);
  int64_t train = 1;
  FL_CHECK(context, fl_is_none(args[2]) || fl_get_int(args[2], &train), "train must be a bool or None");
  FL_CHECK(context, probability >= 0 && probability <= 1, "the probability must be between 0 and 1");
  FL_CHECK(context, !train || probability == 0, "dropout is not supported in training");
  FL_CHECK(context, input->dtype == out->dtype && mask->dtype == FL_BOOL, "the result must have the input's dtype, and the mask be of bool");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_TRY(fl_resize(context, mask, input->sizes, input->rank));
  memset(mask->data, 1, fl_numel(mask));
  return fl_map_copy(context, out, input);
}
