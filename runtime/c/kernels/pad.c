/* Kernels that pad with a constant, a reflection or the edge. The list of amounts begins with the two of the last dimension. */
#include "loops.h"
#include "pad.def"

/* Stores the amounts of dimension d in before[d] and after[d], and the sizes of the result in `shape`. */
static fl_status read_amounts(fl_context *context, const fl_value *list, const fl_tensor *self, int64_t *before, int64_t *after,
                              fl_view *shape) {
  int64_t amounts[2 * FL_MAX_RANK];
  uint32_t number = 0;
  FL_CHECK(context, fl_get_ints(list, amounts, 2 * FL_MAX_RANK, &number) && number % 2 == 0, "the padding must be pairs of integers");
  FL_CHECK(context, number / 2 <= self->rank, "the padding has more dimensions than the input");
  *shape = fl_view_of(self);
  for (uint8_t d = 0; d < self->rank; ++d) {
    const uint32_t pair = 2u * (uint32_t)(self->rank - 1 - d);
    before[d] = pair < number ? amounts[pair] : 0;
    after[d] = pair < number ? amounts[pair + 1] : 0;
    FL_CHECK(context, before[d] >= -INT32_MAX && before[d] <= INT32_MAX && after[d] >= -INT32_MAX && after[d] <= INT32_MAX,
             "a padding amount is out of range");
    shape->sizes[d] += before[d] + after[d];
    FL_CHECK(context, shape->sizes[d] >= 0, "the padding removes more than the input has");
  }
  return FL_OK;
}

fl_status fl_constant_pad_nd_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 3);
  int64_t before[FL_MAX_RANK];
  int64_t after[FL_MAX_RANK];
  FL_TAKE(fl_view, from, 1);
  FL_TAKE(fl_view, to, 1);
  (void)count;
  FL_TRY(read_amounts(context, args[1], self, before, after, to));
  FL_TRY(fl_resize_out(context, out, to, self->dtype));
  FL_TRY(fl_fill_scalar(context, out, args[2]));
  *from = fl_view_of(self);
  *to = fl_view_of(out);
  for (uint8_t d = 0; d < self->rank; ++d) {
    /* A negative amount removes entries of the input. */
    const int64_t low = before[d] < 0 ? -before[d] : 0;
    const int64_t high = from->sizes[d] + (after[d] < 0 ? after[d] : 0);
    if (high <= low) {
      return FL_OK;
    }
    from->data += low * from->strides[d];
    to->data += (before[d] > 0 ? before[d] : 0) * to->strides[d];
    from->sizes[d] = to->sizes[d] = high - low;
  }
  fl_view_copy(context, to, from);
  return FL_OK;
}

/* Returns the input's index for index i of a padded dimension. */
static int64_t source_index(int64_t i, int64_t before, int64_t size, int reflect) {
  int64_t at = i - before;
  if (reflect) {
    at = at < 0 ? -at : at;
    return at >= size ? 2 * (size - 1) - at : at;
  }
  return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static fl_status pad_by_index(fl_context *context, fl_value *const *args, uint8_t dims, int reflect) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int64_t before[FL_MAX_RANK];
  int64_t after[FL_MAX_RANK];
  FL_TAKE(fl_view, from, 1);
  FL_TAKE(fl_view, to, 1);
  uint32_t index[FL_MAX_DIMS] = {0};
  FL_CHECK(context, self->rank == dims + 1 || self->rank == dims + 2,
           "the input must have a channel dimension and at most a batch dimension");
  FL_TRY(read_amounts(context, args[1], self, before, after, to));
  for (uint8_t d = 0; d < self->rank; ++d) {
    const int padded = d + dims >= self->rank;
    FL_CHECK(context, padded || (before[d] == 0 && after[d] == 0), "only the last dimensions are padded");
    FL_CHECK(context, !padded || self->sizes[d] > 0, "a padded dimension must not be empty");
    FL_CHECK(context, !padded || !reflect || (before[d] < self->sizes[d] && after[d] < self->sizes[d]),
             "a reflection must be smaller than the dimension");
  }
  FL_TRY(fl_resize_out(context, out, to, self->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  *from = fl_view_of(self);
  *to = fl_view_of(out);
  const uint8_t last = (uint8_t)(to->rank - 1);
  /* Columns [low, high) of a row are contiguous in the input. */
  const int64_t low = before[last] > 0 ? before[last] : 0;
  int64_t high = before[last] + from->sizes[last];
  high = high > to->sizes[last] ? to->sizes[last] : high < low ? low : high;
  char *row = to->data;
  do {
    const char *source = from->data;
    for (uint8_t d = 0; d < last; ++d) {
      source += from->strides[d] * source_index((int64_t)index[d], before[d], from->sizes[d], reflect);
    }
    for (int64_t j = 0; j < to->sizes[last]; ++j) {
      if (j == low && high > low) {
        fl_copy_strided((size_t)(high - low), to->element, row + low * to->strides[last], to->strides[last],
                        source + (low - before[last]) * from->strides[last], from->strides[last]);
        j = high - 1;
      } else {
        memcpy(row + j * to->strides[last], source + from->strides[last] * source_index(j, before[last], from->sizes[last], reflect),
               to->element);
      }
    }
  } while (fl_view_next(to, 1, index, &row));
  return FL_OK;
}

#define PAD(name, dims, reflect)                                                               \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    (void)count;                                                                               \
    return pad_by_index(context, args, dims, reflect);                                         \
  }
PAD(reflection_pad1d, 1, 1)
PAD(reflection_pad2d, 2, 1)
PAD(reflection_pad3d, 3, 1)
PAD(replication_pad1d, 1, 0)
PAD(replication_pad2d, 2, 0)
PAD(replication_pad3d, 3, 0)
