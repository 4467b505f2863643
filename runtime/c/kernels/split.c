/* Kernels that split a tensor along a dimension. */
#include "loops.h"
#include "split.def"

static fl_status list_tensor(fl_context *context, const fl_value *list, uint32_t i, fl_tensor **tensor) {
  fl_value *const *items = list->as.list.items;
  *tensor = items[i] != NULL ? fl_get_tensor(items[i]) : NULL;
  FL_CHECK(context, *tensor != NULL, "each output must be a tensor");
  return FL_OK;
}

fl_status fl_split_with_sizes_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 2);
  uint8_t at;
  int64_t start = 0;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, args[1]->tag == FL_INT_LIST && args[3]->tag == FL_TENSOR_LIST, "split needs a list of sizes and a list of outputs");
  FL_CHECK(context, self->rank > 0 && args[1]->as.list.count == args[3]->as.list.count, "split needs one output for each size");
  const fl_view own = fl_view_of(self);
  fl_value *const *sizes = args[1]->as.list.items;
  for (uint32_t i = 0; i < args[1]->as.list.count; ++i) {
    int64_t size = 0;
    FL_CHECK(context, fl_get_int(sizes[i], &size) && size >= 0 && size <= own.sizes[at] - start,
             "the sizes must add up to the dimension's");
    start += size;
  }
  FL_CHECK(context, start == own.sizes[at], "the sizes must add up to the dimension's");
  start = 0;
  for (uint32_t i = 0; i < args[1]->as.list.count; ++i) {
    fl_tensor *out;
    int64_t size = 0;
    fl_view from = own;
    FL_TRY(list_tensor(context, args[3], i, &out));
    (void)fl_get_int(sizes[i], &size);
    fl_view_narrow(&from, at, start, size);
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
    start += size;
  }
  return FL_OK;
}

fl_status fl_split_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(split, 1);
  FL_INT_ARGUMENT(dim, 2);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, args[3]->tag == FL_TENSOR_LIST, "split needs a list of outputs");
  FL_CHECK(context, self->rank > 0 && split >= 0 && (split > 0 || self->sizes[at] == 0), "the split size must be positive");
  const fl_view own = fl_view_of(self);
  const int64_t size = own.sizes[at];
  const int64_t parts = split == 0 || size == 0 ? 1 : size / split + (size % split != 0);
  FL_CHECK(context, parts == args[3]->as.list.count, "split needs one output for each part");
  for (uint32_t i = 0; i < parts; ++i) {
    fl_tensor *out;
    fl_view from = own;
    const int64_t start = i * split;
    FL_TRY(list_tensor(context, args[3], i, &out));
    fl_view_narrow(&from, at, start, size - start < split ? size - start : split);
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  }
  return FL_OK;
}

fl_status fl_unbind_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, self->rank > 0 && args[2]->tag == FL_TENSOR_LIST && args[2]->as.list.count == (uint32_t)self->sizes[at],
           "unbind needs one output for each index");
  for (uint32_t i = 0; i < args[2]->as.list.count; ++i) {
    fl_tensor *out;
    fl_view from = fl_view_of(self);
    FL_TRY(list_tensor(context, args[2], i, &out));
    FL_TRY(fl_view_select(context, &from, at, i));
    FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  }
  return FL_OK;
}
