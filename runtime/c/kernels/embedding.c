/* Rows of a table by number. */
#include "indexed.h"
#include "embedding.def"

fl_status fl_embedding_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(weight, 0);
  FL_TENSOR_ARGUMENT(indices, 1);
  FL_TENSOR_ARGUMENT(out, 5);
  size_t index[FL_MAX_DIMS] = {0};
  (void)count;
  FL_CHECK(context, weight->rank == 2, "the weight must have two dimensions");
  FL_CHECK(context, indices->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  FL_TRY(fl_check_indices(context, indices, 0, weight->sizes[0]));
  fl_view shape = fl_view_of(indices);
  const fl_view rows = shape;
  shape.sizes[shape.rank] = weight->sizes[1];
  ++shape.rank;
  FL_TRY(fl_resize_out(context, out, &shape, weight->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const fl_view from = fl_view_of(weight);
  const fl_view to = fl_view_of(out);
  const uint8_t last = (uint8_t)(to.rank - 1);
  char *to_row = to.data;
  char *row = rows.data;
  size_t row_index[FL_MAX_DIMS] = {0};
  do {
    const char *source = from.data + fl_index_at(row, indices->dtype) * from.strides[0];
    fl_copy_strided((size_t)to.sizes[last], to.element, to_row, to.strides[last], source, from.strides[1]);
    fl_view_next(&rows, 0, row_index, &row);
  } while (fl_view_next(&to, 1, index, &to_row));
  return FL_OK;
}
