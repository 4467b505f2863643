/* Kernel that chooses elements by a condition. */
#include "spans.h"
#include "where.def"

fl_status fl_where_out(fl_context *context, fl_value *const *args, size_t count) {
  int8_t common;
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_TRY(fl_promoted_type(context, args + 1, 2, 1, &common));
  return fl_where_run(context, args[0], args[1], args[2], common, out);
}
