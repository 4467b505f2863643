/* Kernels that reorder elements along dimensions: flip, roll. */
#include "loops.h"
#include "flip.def"

fl_status fl_flip_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(dims, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint32_t seen = 0;
  (void)count;
  fl_view from = fl_view_of(self);
  const int empty = fl_numel(self) == 0;
  for (uint32_t i = 0; i < number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], self->rank, &at));
    FL_CHECK(context, (seen >> at & 1u) == 0, "flip takes each dimension at most once");
    seen |= 1u << at;
    if (self->rank > 0 && !empty) {
      from.data += from.strides[at] * (from.sizes[at] - 1);
      from.strides[at] = -from.strides[at];
    }
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

/* Returns element `i` of a view, in logical order. */
static char *element_at(const fl_view *view, size_t i) {
  char *at = view->data;
  for (int d = (int)view->rank - 1; d >= 0; --d) {
    at += view->strides[d] * (int64_t)(i % (size_t)view->sizes[d]);
    i /= (size_t)view->sizes[d];
  }
  return at;
}

fl_status fl_roll_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(shifts, shift_number, 1);
  FL_INTS_ARGUMENT(dims, dim_number, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  int64_t offset[FL_MAX_RANK] = {0};
  (void)count;
  FL_CHECK(context, shift_number > 0 && (dim_number == shift_number || (dim_number == 0 && shift_number == 1)),
           "roll needs as many shifts as dimensions");
  FL_TAKE(fl_view, views, 4);
  fl_view *const from = &views[0];
  fl_view *const to = &views[1];
  fl_view *const source = &views[2];
  fl_view *const target = &views[3];
  *from = fl_view_of(self);
  FL_TRY(fl_resize_out(context, out, from, self->dtype));
  *to = fl_view_of(out);
  const size_t n = fl_numel(self);
  if (n == 0) {
    return FL_OK;
  }
  if (dim_number == 0) {
    const size_t shift = (size_t)((shifts[0] % (int64_t)n + (int64_t)n) % (int64_t)n);
    for (size_t i = 0; i < n; ++i) {
      memcpy(element_at(to, (i + shift) % n), element_at(from, i), to->element);
    }
    return FL_OK;
  }
  uint32_t rolled = 0;
  for (uint32_t i = 0; i < dim_number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], self->rank, &at));
    const int64_t size = self->rank > 0 ? from->sizes[at] : 1;
    offset[at] = (offset[at] + (shifts[i] % size + size)) % size;
    rolled |= offset[at] != 0 ? 1u << at : 0u;
  }
  /* Each rolled dimension consists of two runs; a bit of `piece` chooses the run. */
  for (uint32_t piece = rolled;; piece = (piece - 1) & rolled) {
    *source = *from;
    *target = *to;
    for (uint8_t d = 0; d < from->rank; ++d) {
      const int64_t shift = offset[d];
      if ((piece >> d & 1u) != 0) {
        source->data += source->strides[d] * (from->sizes[d] - shift);
        source->sizes[d] = target->sizes[d] = shift;
      } else if (shift != 0) {
        target->data += target->strides[d] * shift;
        source->sizes[d] = target->sizes[d] = from->sizes[d] - shift;
      }
    }
    fl_view_copy(context, target, source);
    if (piece == 0) {
      return FL_OK;
    }
  }
}
