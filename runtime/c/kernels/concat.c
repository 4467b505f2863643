/* Kernels that join several tensors. */
#include "loops.h"
#include "concat.def"

/* Stores tensor i of a list in `tensor`, and checks it. */
static fl_status input(fl_context *context, const fl_value *list, uint32_t i, const fl_tensor **tensor) {
  fl_value *const *items = list->as.list.items;
  *tensor = items[i] != NULL ? fl_get_tensor(items[i]) : NULL;
  FL_CHECK(context, *tensor != NULL && fl_dtype_size((*tensor)->dtype) > 0, "each input must be a tensor of a known type");
  return FL_OK;
}

/* Returns the part [start, start + size) of out's dimension `dim` as a tensor, whose sizes are stored in `sizes`. */
static fl_tensor part_of(const fl_tensor *out, uint8_t dim, int32_t start, int32_t size, int32_t *sizes) {
  fl_tensor part = *out;
  memcpy(sizes, out->sizes, out->rank * sizeof *sizes);
  sizes[dim] = size;
  part.sizes = sizes;
  if (fl_numel(out) > 0) {
    part.data = (char *)out->data + (int64_t)start * out->strides[dim] * (int64_t)fl_dtype_size(out->dtype);
  }
  return part;
}

/* Returns whether `cat` skips a tensor, as ATen does with empty one-dimensional tensors, for any rank of the other tensors. */
static int is_skipped(const fl_tensor *tensor) { return tensor->rank == 1 && tensor->sizes[0] == 0; }

fl_status fl_cat_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK] = {0};
  int64_t total = 0;
  uint8_t at = 0;
  const fl_tensor *first = NULL;
  (void)count;
  FL_CHECK(context, args[0]->tag == FL_TENSOR_LIST && args[0]->as.list.count > 0, "cat needs a list of tensors");
  const uint32_t number = args[0]->as.list.count;
  for (uint32_t i = 0; i < number; ++i) {
    const fl_tensor *tensor;
    FL_TRY(input(context, args[0], i, &tensor));
    if (!fl_can_cast(tensor->dtype, out->dtype)) {
      return FL_FAIL(context, FL_INVALID_TYPE, "an input's type does not convert to the output's");
    }
    if (is_skipped(tensor)) {
      continue;
    }
    if (first == NULL) {
      first = tensor;
      FL_CHECK(context, tensor->rank > 0, "cat needs at least one dimension");
      FL_TRY(fl_wrap_dim(context, dim, tensor->rank, &at));
      memcpy(sizes, tensor->sizes, tensor->rank * sizeof *sizes);
    }
    FL_CHECK(context, tensor->rank == first->rank, "the inputs must have one number of dimensions");
    for (uint8_t d = 0; d < tensor->rank; ++d) {
      FL_CHECK(context, d == at || tensor->sizes[d] == sizes[d], "the inputs' sizes must agree but for the joined dimension");
    }
    total += tensor->sizes[at];
  }
  FL_CHECK(context, total <= INT32_MAX, "the joined dimension is too large");
  sizes[at] = (int32_t)total;
  FL_TRY(fl_resize(context, out, sizes, first != NULL ? first->rank : 1));
  int32_t start = 0;
  for (uint32_t i = 0; i < number; ++i) {
    const fl_tensor *tensor;
    int32_t part_sizes[FL_MAX_RANK];
    FL_TRY(input(context, args[0], i, &tensor));
    if (!is_skipped(tensor)) {
      fl_tensor part = part_of(out, at, start, tensor->sizes[at], part_sizes);
      FL_TRY(fl_map_copy(context, &part, tensor));
      start += tensor->sizes[at];
    }
  }
  return FL_OK;
}

fl_status fl_stack_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK] = {0};
  const fl_tensor *first;
  uint8_t at;
  (void)count;
  FL_CHECK(context, args[0]->tag == FL_TENSOR_LIST && args[0]->as.list.count > 0, "stack needs a list of tensors");
  const uint32_t number = args[0]->as.list.count;
  FL_TRY(input(context, args[0], 0, &first));
  FL_CHECK(context, first->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  const uint8_t rank = (uint8_t)(first->rank + 1);
  FL_TRY(fl_wrap_dim(context, dim, rank, &at));
  for (uint32_t i = 0; i < number; ++i) {
    const fl_tensor *tensor;
    FL_TRY(input(context, args[0], i, &tensor));
    FL_CHECK(context, fl_same_sizes(tensor, first), "the inputs must have one shape");
    if (!fl_can_cast(tensor->dtype, out->dtype)) {
      return FL_FAIL(context, FL_INVALID_TYPE, "an input's type does not convert to the output's");
    }
  }
  FL_CHECK(context, number <= INT32_MAX, "there are too many inputs");
  for (uint8_t d = 0; d < rank; ++d) {
    sizes[d] = d == at ? (int32_t)number : first->sizes[d - (d > at)];
  }
  FL_TRY(fl_resize(context, out, sizes, rank));
  for (uint32_t i = 0; i < number; ++i) {
    const fl_tensor *tensor;
    int32_t part_sizes[FL_MAX_RANK];
    int32_t part_strides[FL_MAX_RANK];
    FL_TRY(input(context, args[0], i, &tensor));
    fl_tensor part = part_of(out, at, (int32_t)i, 1, part_sizes);
    for (uint8_t d = 0; d + 1 < rank; ++d) {
      part_sizes[d] = out->sizes[d + (d >= at)];
      part_strides[d] = out->strides[d + (d >= at)];
    }
    part.strides = part_strides;
    part.rank = (uint8_t)(rank - 1);
    FL_TRY(fl_map_copy(context, &part, tensor));
  }
  return FL_OK;
}
