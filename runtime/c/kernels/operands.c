/* Implements operands.h. */
#include "operands.h"

#include "arguments.h"

const fl_tensor *fl_operand(const fl_value *value, fl_scalar_tensor *storage) {
  if (value->tag == FL_TENSOR) {
    return fl_dtype_size(value->as.tensor->dtype) > 0 ? value->as.tensor : NULL;
  }
  memset(storage, 0, sizeof *storage);
  storage->tensor.data = &storage->value;
  storage->tensor.capacity = sizeof storage->value;
  switch (value->tag) {
    case FL_DOUBLE:
      storage->value.real = value->as.real;
      storage->tensor.dtype = FL_FLOAT64;
      return &storage->tensor;
    case FL_INT:
      storage->value.integer = value->as.integer;
      storage->tensor.dtype = FL_INT64;
      return &storage->tensor;
    case FL_BOOLEAN:
      storage->value.boolean = value->as.boolean;
      storage->tensor.dtype = FL_BOOL;
      return &storage->tensor;
    default:
      return NULL;
  }
}

const fl_tensor *fl_operand_as(const fl_value *value, int8_t common, fl_scalar_tensor *storage) {
  const fl_tensor *tensor = fl_operand(value, storage);
  if (tensor == NULL || tensor->rank > 0 || !fl_is_integer(common) || !fl_is_integer(tensor->dtype) || tensor->dtype == common) {
    return tensor;
  }
  int64_t integer = 0;
  const fl_convert_fn widen = fl_widen(tensor->dtype, FL_COMPUTE_I64);
  const fl_convert_fn narrow = fl_narrow(FL_COMPUTE_I64, common);
  if (widen == NULL) {
    memcpy(&integer, tensor->data, sizeof integer);
  } else {
    widen(1, &integer, tensor->data);
  }
  memset(storage, 0, sizeof *storage);
  storage->value.integer = integer;
  if (narrow != NULL) {
    narrow(1, &storage->value, &integer);
  }
  storage->tensor.data = &storage->value;
  storage->tensor.capacity = sizeof storage->value;
  storage->tensor.dtype = common;
  return &storage->tensor;
}

void fl_promotion_operand(fl_promotion *promotion, const fl_value *value, const fl_tensor *tensor) {
  if (value->tag == FL_TENSOR) {
    fl_promotion_tensor(promotion, tensor);
  } else {
    fl_promotion_scalar(promotion, tensor->dtype);
  }
}

fl_status fl_broadcast_shape(fl_context *context, int32_t *sizes, uint8_t *rank, const fl_tensor *const *in, size_t count) {
  *rank = 0;
  for (size_t k = 0; k < count; ++k) {
    *rank = in[k]->rank > *rank ? in[k]->rank : *rank;
  }
  for (uint8_t d = 0; d < *rank; ++d) {
    sizes[d] = 1;
    for (size_t k = 0; k < count; ++k) {
      int i = (int)d - (int)(*rank - in[k]->rank);
      int32_t size = i >= 0 ? in[k]->sizes[i] : 1;
      FL_CHECK_NUMBERS(context, size == 1 || sizes[d] == 1 || size == sizes[d], "the inputs' shapes do not broadcast to one: sizes % and %", sizes[d], size);
      sizes[d] = size == 1 ? sizes[d] : size;
    }
  }
  return FL_OK;
}

fl_status fl_broadcast_out(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count) {
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  FL_TRY(fl_broadcast_shape(context, sizes, &rank, in, count));
  return fl_resize(context, out, sizes, rank);
}
