/* Helpers of gathers and scatters, which have a tensor of indices into one dimension, one index for each element. */
#ifndef FLAMBEAU_KERNELS_INDEXED_H
#define FLAMBEAU_KERNELS_INDEXED_H

#include "loops.h"

/* Fails unless the indices are of int64 or int32. */
static inline fl_status fl_check_index_type(fl_context *context, const fl_tensor *index) {
  FL_CHECK(context, index->dtype == FL_INT64 || index->dtype == FL_INT32, "the indices must be of int64 or int32");
  return FL_OK;
}

/* Fails unless every index lies in [low, size). */
static inline fl_status fl_check_indices(fl_context *context, const fl_tensor *index, int64_t low, int64_t size) {
  FL_TRY(fl_check_index_type(context, index));
  const size_t n = fl_numel(index);
  const size_t element = fl_dtype_size(index->dtype);
  for (size_t i = 0; i < n; ++i) { /* in memory order, since any order will do */
    const int64_t at = fl_index_at((const char *)index->data + i * element, index->dtype);
    FL_CHECK_NUMBERS(context, at >= low && at < size, "index % is out of range for % entries", at, size);
  }
  return FL_OK;
}

/* Fails unless the index tensor of a gather or scatter has as many dimensions as `self`, none of them larger, except dimension `axis`. */
static inline fl_status fl_check_index_shape(fl_context *context, const fl_tensor *index, const fl_tensor *self, uint8_t axis) {
  const uint8_t index_rank = index->rank > 0 ? index->rank : 1;
  const uint8_t self_rank = self->rank > 0 ? self->rank : 1;
  FL_CHECK(context, index_rank == self_rank, "the indices must have as many dimensions as the input");
  for (uint8_t d = 0; d < index->rank && d < self->rank; ++d) {
    FL_CHECK(context, d == axis || index->sizes[d] <= self->sizes[d], "the indices must not be larger than the input");
  }
  return FL_OK;
}

/* Returns the view of a tensor, with one dimension of size 1 if the tensor has none. */
static inline fl_view fl_view_at_least_1d(const fl_tensor *tensor) {
  fl_view view = fl_view_of(tensor);
  if (view.rank == 0) {
    view.rank = 1;
    view.sizes[0] = 1;
    view.strides[0] = view.element;
  }
  return view;
}

/* Returns a view of the sizes of `shape`, all of whose elements are the element at `data`. */
static inline fl_view fl_view_repeating(const fl_view *shape, void *data) {
  fl_view view = *shape;
  view.data = data;
  memset(view.strides, 0, sizeof view.strides);
  return view;
}

/* A row of index elements, with the places in two other tensors that each element belongs to. Strides are in bytes. */
typedef struct fl_indexed_row {
  const char *index;
  int64_t index_stride;
  char *indexed; /* place of the first element in the indexed tensor, at index 0 */
  int64_t indexed_stride;
  int64_t axis_stride; /* from an index to the next, in the indexed tensor */
  char *aligned; /* place of the first element in the tensor that has the index tensor's shape */
  int64_t aligned_stride;
  int8_t index_dtype;
  int8_t dtype;
} fl_indexed_row;

typedef void (*fl_visit_fn)(size_t n, const fl_indexed_row *row);

/* Runs `body` for each of the n elements of a row; in it, `indexed` and `aligned` point to the element's places in the two tensors. */
#define FL_VISIT_ROW(body)                                                                                              \
  for (size_t i = 0; i < n; ++i) {                                                                                      \
    char *const indexed = row->indexed + (int64_t)i * row->indexed_stride +                                             \
                          fl_index_at(row->index + (int64_t)i * row->index_stride, row->index_dtype) * row->axis_stride; \
    char *const aligned = row->aligned + (int64_t)i * row->aligned_stride;                                              \
    body;                                                                                                               \
  }

/* Calls `visit` for each row of the index tensor, in logical order. */
static inline fl_status fl_visit_indices(fl_context *context, const fl_view *index, int8_t index_dtype, const fl_view *indexed, const fl_view *aligned, uint8_t axis,
                                    fl_visit_fn visit, int8_t dtype) {
  uint32_t position[FL_MAX_DIMS] = {0};
  const fl_mark mark = fl_mark_scratch(context);
  FL_TAKE(fl_nest, nest, 1);
  char *at[3] = {index->data, indexed->data, aligned->data};
  const uint8_t last = (uint8_t)(index->rank - 1);
  nest->rank = index->rank;
  nest->operands = 3;
  for (uint8_t d = 0; d < index->rank; ++d) {
    nest->sizes[d] = (uint32_t)index->sizes[d];
    nest->strides[0][d] = index->strides[d];
    nest->strides[1][d] = d == axis ? 0 : indexed->strides[d];
    nest->strides[2][d] = aligned->strides[d];
  }
  fl_indexed_row row = {.index_stride = nest->strides[0][last], .indexed_stride = nest->strides[1][last],
                        .aligned_stride = nest->strides[2][last],
                        .axis_stride = indexed->strides[axis], .index_dtype = index_dtype, .dtype = dtype};
  do {
    row.index = at[0];
    row.indexed = at[1];
    row.aligned = at[2];
    visit(nest->sizes[last], &row);
  } while (fl_nest_next(nest, 1, position, at));
  fl_release(context, mark);
  return FL_OK;
}

/* Returns the function for elements of `element` bytes from `functions`, which are for 1, 2, 4 and 8 bytes. */
static inline fl_visit_fn fl_visit_by_size(size_t element, const fl_visit_fn *functions) {
  return functions[element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3];
}

#endif
