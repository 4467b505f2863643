/* Views of tensors, and copies between them. */
#ifndef FLAMBEAU_KERNELS_STRIDED_H
#define FLAMBEAU_KERNELS_STRIDED_H

#include "nest.h"

/* A part of a tensor's storage, or the same elements in another arrangement. Strides in bytes, possibly 0 or negative. */
typedef struct fl_view {
  char *data;
  int64_t sizes[FL_MAX_DIMS];
  int64_t strides[FL_MAX_DIMS];
  uint8_t rank;
  uint8_t element; /* bytes */
} fl_view;

fl_view fl_view_of(const fl_tensor *tensor);
/* The tensor's elements over the sizes that it must broadcast to. */
fl_status fl_view_broadcast(fl_context *context, fl_view *view, const fl_tensor *tensor, uint8_t rank, const int32_t *sizes);
/* Copies element by element; both have the same sizes and element size and do not overlap (unless they are the same view). */
void fl_view_copy(const fl_view *to, const fl_view *from);
/* Steps the outer `rank - inner` dimensions in logical order; `index` starts as zeros. Returns 0 after the last position. */
int fl_view_next(const fl_view *view, uint8_t inner, uint32_t *index, char **at);
/* Copies in logical (row-major) order between views of the same number of elements and possibly other shapes. */
void fl_view_reshape(const fl_view *to, const fl_view *from);
/* Takes a dimension of size 1 away. */
void fl_view_drop_dim(fl_view *view, uint8_t dim);
/* Keeps [start, start + length) of a dimension. */
void fl_view_narrow(fl_view *view, uint8_t dim, int64_t start, int64_t length);
/* Keeps one index of a dimension, which goes away; a negative index counts from the end. */
fl_status fl_view_select(fl_context *context, fl_view *view, int64_t dim, int64_t index);
/* Repeats one element of `element` bytes. */
void fl_view_fill(const fl_view *to, const void *element);
/* Fills n elements of `element` bytes with the one at `from`. */
void fl_splat(size_t n, size_t element, void *to, const void *from);
/* n elements of `element` bytes between strided places. */
void fl_copy_strided(size_t n, size_t element, char *to, int64_t to_stride, const char *from, int64_t from_stride);
/* Resizes out to the view's sizes; it must have the given type. */
fl_status fl_resize_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);
/* The same, and copies. */
fl_status fl_copy_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype);

static inline size_t fl_view_numel(const fl_view *view) {
  size_t n = 1;
  for (uint8_t i = 0; i < view->rank; ++i) {
    n *= (size_t)view->sizes[i];
  }
  return n;
}

#endif
