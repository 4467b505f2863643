/* Kernels that fill, select, replace or find the elements where a mask is true. */
#include "spans.h"
#include "mask.def"

fl_status fl_masked_fill_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(mask, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, mask->dtype == FL_BOOL, "the mask must be a tensor of bool");
  FL_CHECK(context, args[2]->tag != FL_TENSOR || args[2]->as.tensor->rank == 0, "the value must have no dimensions");
  return fl_where_run(context, args[1], args[2], args[0], self->dtype, out);
}

/* Stores views of two tensors over the shape to which they broadcast. */
static fl_status broadcast_two(fl_context *context, const fl_tensor *a, const fl_tensor *b, fl_view *a_view, fl_view *b_view) {
  const fl_tensor *const both[2] = {a, b};
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  FL_TRY(fl_broadcast_shape(context, sizes, &rank, both, 2));
  FL_TRY(fl_view_broadcast(context, a_view, a, rank, sizes));
  return fl_view_broadcast(context, b_view, b, rank, sizes);
}

static int64_t count_true(const fl_view *mask) {
  uint32_t index[FL_MAX_DIMS] = {0};
  int64_t number = 0;
  char *at = mask->data;
  if (fl_view_numel(mask) == 0) {
    return 0;
  }
  do {
    number += *at != 0;
  } while (fl_view_next(mask, 0, index, &at));
  return number;
}

fl_status fl_masked_select_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(mask, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_TAKE(fl_view, views, 2);
  fl_view *const from = &views[0];
  fl_view *const truths = &views[1];
  uint32_t from_index[FL_MAX_DIMS] = {0};
  uint32_t mask_index[FL_MAX_DIMS] = {0};
  (void)count;
  FL_CHECK(context, mask->dtype == FL_BOOL, "the mask must be a tensor of bool");
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(broadcast_two(context, self, mask, from, truths));
  const int64_t number = count_true(truths);
  FL_CHECK_NUMBERS(context, number <= INT32_MAX, "% elements are selected; at most % are possible", number, INT32_MAX);
  const int32_t size = (int32_t)number;
  FL_TRY(fl_resize(context, out, &size, 1));
  if (number == 0) {
    return FL_OK;
  }
  const size_t element = from->element;
  char *to = out->data;
  char *at = from->data;
  char *truth = truths->data;
  do {
    if (*truth != 0) {
      memcpy(to, at, element);
      to += element;
    }
    fl_view_next(from, 0, from_index, &at);
  } while (fl_view_next(truths, 0, mask_index, &truth));
  return FL_OK;
}

fl_status fl_masked_scatter_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(mask, 1);
  FL_TENSOR_ARGUMENT(source, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  FL_TAKE(fl_view, views, 4);
  fl_view *const from = &views[0];
  fl_view *const truths = &views[1];
  uint32_t out_index[FL_MAX_DIMS] = {0};
  uint32_t mask_index[FL_MAX_DIMS] = {0};
  uint32_t source_index[FL_MAX_DIMS] = {0};
  (void)count;
  FL_CHECK(context, mask->dtype == FL_BOOL, "the mask must be a tensor of bool");
  FL_CHECK(context, source->dtype == self->dtype, "the source must have self's type");
  FL_TRY(broadcast_two(context, self, mask, from, truths));
  FL_CHECK(context, count_true(truths) <= (int64_t)fl_numel(source), "the source has too few elements for the mask");
  FL_TRY(fl_copy_out(context, out, from, self->dtype));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  fl_view *const to = &views[2];
  fl_view *const elements = &views[3];
  *to = fl_view_of(out);
  *elements = fl_view_of(source);
  char *at = to->data;
  char *truth = truths->data;
  char *element = elements->data;
  do {
    if (*truth != 0) {
      memcpy(at, element, to->element);
      fl_view_next(elements, 0, source_index, &element);
    }
    fl_view_next(to, 0, out_index, &at);
  } while (fl_view_next(truths, 0, mask_index, &truth));
  return FL_OK;
}

/* Returns whether the element at `at` is not zero. */
static int is_nonzero(const char *at, int8_t dtype) {
  uint8_t truth = 0;
  const fl_convert_fn convert = fl_widen(dtype, FL_COMPUTE_BOOL);
  if (convert != NULL) {
    convert(1, &truth, at);
    return truth;
  }
  return *at != 0;
}

fl_status fl_nonzero_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 1);
  (void)count;
  FL_CHECK(context, out->dtype == FL_INT64, "the output must be of int64");
  FL_CHECK(context, fl_is_contiguous(out), "the output must be contiguous");
  const fl_view from = fl_view_of(self);
  int64_t *to = NULL;
  int64_t number = 0;
  /* The first round counts the elements and resizes the out; the second writes them. */
  for (int writing = 0; writing < 2; ++writing) {
    uint32_t index[FL_MAX_DIMS] = {0};
    char *at = from.data;
    if (writing) {
      FL_CHECK_NUMBERS(context, number <= INT32_MAX, "% elements are not zero; at most % are possible", number, INT32_MAX);
      const int32_t sizes[2] = {(int32_t)number, self->rank};
      FL_TRY(fl_resize(context, out, sizes, 2));
      to = out->data;
    }
    if (fl_numel(self) == 0 || (writing && number == 0)) {
      continue;
    }
    do {
      if (!is_nonzero(at, self->dtype)) {
        continue;
      }
      if (!writing) {
        ++number;
        continue;
      }
      for (uint8_t d = 0; d < from.rank; ++d) {
        *to++ = (int64_t)index[d];
      }
    } while (fl_view_next(&from, 0, index, &at));
  }
  return FL_OK;
}
