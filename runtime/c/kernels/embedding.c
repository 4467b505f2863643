/* Kernels that look up rows of a table; rows of quantized tables become floats. */
#include "element.h"
#include "indexed.h"
#include "optional.h"
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

/* Returns number `column` of a row. A byte holds one number of 8 bits, two of 4 bits (the high one first), or four of 2 bits (the low one
 * first). */
static int64_t packed_at(const fl_tensor *weight, size_t row_start, size_t column, unsigned bits) {
  if (bits == 8) {
    return (int64_t)fl_read_integer(weight->dtype, weight->data, row_start + column);
  }
  const size_t per_byte = 8 / bits, place = column % per_byte;
  const unsigned shift = (unsigned)(bits == 4 ? 1 - place : place) * bits;
  const unsigned byte = ((const uint8_t *)weight->data)[row_start + column / per_byte];
  return (int64_t)(byte >> shift & ((1u << bits) - 1)) - (1 << (bits - 1));
}

static fl_status quantized_embedding(fl_context *context, fl_value *const *args, unsigned bits, fl_tensor *out) {
  FL_TENSOR_ARGUMENT(weight, 0);
  FL_TENSOR_ARGUMENT(scales, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(zero_points, 2);
  FL_TENSOR_ARGUMENT(indices, 5);
  int32_t sizes[FL_MAX_RANK];
  FL_CHECK(context, weight->rank == 2 && (weight->dtype == FL_UINT8 || (bits == 8 && weight->dtype == FL_INT8)), "the weight must be a matrix of bytes");
  FL_CHECK(context, (scales->rank == 1 || scales->rank == 2) && scales->sizes[0] == weight->sizes[0] && fl_is_float(scales->dtype),
           "there must be one scale for each row of the weight, or for each group of neighbours there");
  FL_CHECK(context, !zero_points || (fl_same_sizes(zero_points, scales) && zero_points->dtype == scales->dtype), "the zero points must be like the scales");
  FL_CHECK(context, fl_is_contiguous(weight) && fl_is_contiguous(scales) && fl_is_contiguous(indices) && (!zero_points || fl_is_contiguous(zero_points)),
           "the operands must be contiguous");
  FL_CHECK(context, indices->rank < FL_MAX_RANK && fl_is_float(out->dtype), "the result must be of a floating type and have at most 16 dimensions");
  const size_t bytes = (size_t)weight->sizes[1], columns = bytes * 8 / bits, groups = scales->rank == 2 ? (size_t)scales->sizes[1] : 1;
  FL_CHECK(context, groups > 0 && columns % groups == 0 && columns <= INT32_MAX, "the groups of a row must be of one size");
  FL_TRY(fl_check_indices(context, indices, 0, weight->sizes[0]));
  memcpy(sizes, indices->sizes, indices->rank * sizeof *sizes);
  sizes[indices->rank] = (int32_t)columns;
  FL_TRY(fl_resize(context, out, sizes, (uint8_t)(indices->rank + 1)));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  const size_t count = fl_numel(indices), width = columns / groups;
  for (size_t i = 0; i < count; ++i) {
    const size_t row = (size_t)fl_index_at((const char *)indices->data + i * fl_dtype_size(indices->dtype), indices->dtype);
    for (size_t c = 0; c < columns; ++c) {
      const size_t group = row * groups + c / width;
      const float zero = zero_points ? (float)fl_read_real(zero_points->dtype, zero_points->data, group) : 0.0f;
      const float x = (float)packed_at(weight, row * bytes, c, bits) - zero;
      fl_write_real(out->dtype, out->data, i * columns + c, (double)(x * (float)fl_read_real(scales->dtype, scales->data, group)));
    }
  }
  return FL_OK;
}

/* Defines a kernel. `at` is the index of the out; an argument for its dtype, if any, comes before it. */
#define EMBEDDING(name, bits, at)                                                        \
  fl_status fl_embedding_##name##_out(fl_context *context, fl_value *const *args, size_t count) { \
    FL_TENSOR_ARGUMENT(out, at);                                                         \
    (void)count;                                                                         \
    return quantized_embedding(context, args, bits, out);                                \
  }
EMBEDDING(2bit, 2, 6)
EMBEDDING(4bit, 4, 6)
EMBEDDING(byte, 8, 6)
EMBEDDING(2bit_dtype, 2, 7)
EMBEDDING(4bit_dtype, 4, 7)
EMBEDDING(byte_dtype, 8, 7)
