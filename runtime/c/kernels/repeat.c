/* Kernels that repeat a tensor, or its elements. */
#include "loops.h"
#include "repeat.def"

fl_status fl_repeat_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(repeats, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  (void)count;
  FL_CHECK(context, number >= self->rank, "repeat needs a count for each dimension");
  FL_TAKE(fl_view, views, 3);
  fl_view *const from = &views[0];
  fl_view *const to = &views[1];
  fl_view *const part = &views[2];
  *from = fl_view_of(self);
  *to = *from;
  to->rank = (uint8_t)number;
  for (uint8_t d = 0; d < to->rank; ++d) {
    const int i = (int)d - (int)(to->rank - self->rank);
    FL_CHECK(context, repeats[d] >= 0 && repeats[d] <= INT32_MAX, "repeat's counts must not be negative");
    to->sizes[d] = repeats[d] * (i >= 0 ? from->sizes[i] : 1);
  }
  FL_TRY(fl_resize_out(context, out, to, self->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  /* Copies the tensor once; then, along each dimension, copies the filled part after itself until the dimension is full. */
  int32_t sizes[FL_MAX_RANK];
  *to = fl_view_of(out);
  *part = *to;
  for (uint8_t d = 0; d < to->rank; ++d) {
    part->sizes[d] /= repeats[d];
    sizes[d] = (int32_t)part->sizes[d];
  }
  FL_TRY(fl_view_broadcast(context, from, self, to->rank, sizes));
  fl_view_copy(context, part, from);
  for (uint8_t d = to->rank; d-- > 0;) {
    int64_t n = 0;
    for (int64_t done = 1; done < repeats[d]; done += n) {
      n = done < repeats[d] - done ? done : repeats[d] - done;
      part->sizes[d] = n * sizes[d];
      *from = *part;
      part->data += done * sizes[d] * part->strides[d];
      fl_view_copy(context, part, from);
      part->data = to->data;
    }
    part->sizes[d] = to->sizes[d];
  }
  return FL_OK;
}

fl_status fl_repeat_interleave_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(repeats, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int64_t total = 0;
  int64_t expected = 0;
  (void)count;
  FL_CHECK(context, repeats->rank == 1 && (repeats->dtype == FL_INT64 || repeats->dtype == FL_INT32),
           "the repeats must be a one-dimensional tensor of int64 or int32");
  FL_CHECK(context, out->dtype == repeats->dtype, "the output must have the type of the repeats");
  const size_t element = fl_dtype_size(repeats->dtype);
  const char *at = repeats->data;
  for (int32_t i = 0; i < repeats->sizes[0]; ++i) {
    const int64_t times = fl_index_at(at + (size_t)i * element, repeats->dtype);
    FL_CHECK_NUMBERS(context, times >= 0 && times <= INT32_MAX - total, "the repeats must not be negative, and their sum at most 2147483647: % comes after a sum of %", times, total);
    total += times;
  }
  FL_CHECK_NUMBERS(context, fl_is_none(args[1]) || (fl_get_int(args[1], &expected) && expected == total),
           "output_size must be the sum of the repeats, %, or none", total, 0);
  const int32_t size = (int32_t)total;
  FL_TRY(fl_resize(context, out, &size, 1));
  char *to = out->data;
  for (int32_t i = 0; i < repeats->sizes[0]; ++i) {
    const int64_t wide = i;
    const int64_t times = fl_index_at(at + (size_t)i * element, repeats->dtype);
    if (times > 0) {
      fl_splat((size_t)times, element, to, repeats->dtype == FL_INT64 ? (const void *)&wide : (const void *)&i);
      to += (size_t)times * element;
    }
  }
  return FL_OK;
}
