/* Views of tensors, and copies between them. */
#ifndef FLAMBEAU_KERNELS_STRIDED_H
#define FLAMBEAU_KERNELS_STRIDED_H

#include "nest.h"

/* A part of a tensor's storage, or its elements in another arrangement. Strides are in bytes, and may be 0 or negative. */
typedef struct fl_view {
  char *data;
  int64_t sizes[FL_MAX_DIMS];
  int64_t strides[FL_MAX_DIMS];
  uint8_t rank;
  uint8_t element; /* bytes of an element */
} fl_view;

/* Returns the view of all elements of a tensor. */
fl_view fl_view_of(const fl_tensor *tensor);
/* Stores the view of a tensor broadcast to `sizes`, of `rank` dimensions, in `view`. Fails if the tensor does not broadcast to them. */
fl_status fl_view_broadcast(fl_context *context, fl_view *view, const fl_tensor *tensor, uint8_t rank, const int32_t *sizes);
/* Copies elements between views of the same sizes and element size, which must not overlap unless they are the same view. The threads of `context`, which
 * may be NULL, divide large ones. */
void fl_view_copy(const fl_context *context, const fl_view *to, const fl_view *from);
/* Moves `index` and the pointer `at` to the next position, in logical order, of the outer `rank - inner` dimensions, and returns 1; returns 0 after
 * the last position. `index`, of FL_MAX_DIMS entries, starts as zeros. */
int fl_view_next(const fl_view *view, uint8_t inner, uint32_t *index, char **at);
/* Copies elements in logical (row-major) order between views of the same number of elements, whose shapes may differ. */
void fl_view_reshape(const fl_context *context, const fl_view *to, const fl_view *from);
/* Removes dimension `dim`, of size 1. */
void fl_view_drop_dim(fl_view *view, uint8_t dim);
/* Restricts a dimension to its entries [start, start + length). */
void fl_view_narrow(fl_view *view, uint8_t dim, int64_t start, int64_t length);
/* Restricts a dimension to one index, and removes it. A negative index counts from the end. Fails for an index out of range. */
fl_status fl_view_select(fl_context *context, fl_view *view, int64_t dim, int64_t index);
/* Stores the element at `element` in every place of a view. */
void fl_view_fill(const fl_view *to, const void *element);
/* Fills n contiguous elements of `element` bytes with the element at `from`. */
void fl_splat(size_t n, size_t element, void *to, const void *from);
/* Copies n elements of `element` bytes; strides are in bytes. */
void fl_copy_strided(size_t n, size_t element, char *to, int64_t to_stride, const char *from, int64_t from_stride);
/* Resizes `out`, which must have the type `dtype`, to the view's sizes. */
fl_status fl_resize_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);
/* Resizes `out` in the same way, and copies the view's elements to it. */
fl_status fl_copy_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);

static inline size_t fl_view_numel(const fl_view *view) {
  size_t n = 1;
  for (uint8_t i = 0; i < view->rank; ++i) {
    n *= (size_t)view->sizes[i];
  }
  return n;
}

#endif
