/* Rows of a table by number. */
#include "indexed.h"
#include "embedding.def"

fl_status fl_embedding_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(weight, 0);
  FL_TENSOR_ARGUMENT(indices, 1);
  FL_TENSOR_ARGUMENT(out, 5);
  uint32_t index[FL_MAX_DIMS] = {0};
  (void)count;
  FL_CHECK(context, weight->rank == 2, "the weight must have two dimensions");
  FL_CHECK(context, indices->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  FL_TRY(fl_check_indices(context, indices, 0, weight->sizes[0]));
  FL_TAKE(fl_view, rows, 1);
  FL_TAKE(fl_view, to, 1);
  *rows = fl_view_of(indices);
  *to = *rows;
  to->sizes[to->rank] = weight->sizes[1];
  ++to->rank;
  FL_TRY(fl_resize_out(context, out, to, weight->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  *to = fl_view_of(out);
  const int64_t row_stride = (int64_t)weight->strides[0] * to->element;
  const int64_t column_stride = (int64_t)weight->strides[1] * to->element;
  const uint8_t last = (uint8_t)(to->rank - 1);
  char *to_row = to->data;
  char *row = rows->data;
  uint32_t row_index[FL_MAX_DIMS] = {0};
  do {
    const char *source = (const char *)weight->data + fl_index_at(row, indices->dtype) * row_stride;
    fl_copy_strided((size_t)to->sizes[last], to->element, to_row, to->strides[last], source, column_stride);
    fl_view_next(rows, 0, row_index, &row);
  } while (fl_view_next(to, 1, index, &to_row));
  return FL_OK;
}
