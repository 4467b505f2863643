/* Kernels that keep one triangle of matrices. */
#include "loops.h"
#include "triangle.def"

/* Copies matrices, in the last two dimensions, with zeros on one side of a diagonal. */
static fl_status triangle(fl_context *context, fl_value *const *args, int lower) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(diagonal, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  static const uint64_t zero = 0;
  uint32_t index[FL_MAX_DIMS] = {0};
  FL_CHECK(context, self->rank >= 2, "the input needs two dimensions or more");
  const fl_view from = fl_view_of(self);
  FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  const fl_view to = fl_view_of(out);
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const uint8_t last = (uint8_t)(to.rank - 1);
  const int64_t columns = to.sizes[last];
  diagonal = diagonal < -INT32_MAX ? -INT32_MAX : diagonal > INT32_MAX ? INT32_MAX : diagonal;
  char *row = to.data;
  do {
    /* Row i keeps columns up to i + diagonal if `lower`, otherwise columns from i + diagonal on. */
    int64_t edge = (int64_t)index[last - 1] + diagonal + lower;
    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    const int64_t start = lower ? edge : 0;
    fl_copy_strided((size_t)((lower ? columns : edge) - start), to.element, row + start * to.strides[last], to.strides[last],
                    (const char *)&zero, 0);
  } while (fl_view_next(&to, 1, index, &row));
  return FL_OK;
}

fl_status fl_tril_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return triangle(context, args, 1);
}

fl_status fl_triu_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return triangle(context, args, 0);
}
