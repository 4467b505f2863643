/* Kernels that move elements between channels and pixels. */
#include "loops.h"
#include "pixel_shuffle.def"

/* Copies between [..., C * f * f, H, W] and [..., C, H * f, W * f], both viewed as [..., C, H, f, W, f]. */
static fl_status pixels(fl_context *context, fl_value *const *args, int shuffle) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(factor, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_CHECK(context, self->rank >= 3 && self->rank <= FL_MAX_RANK, "the input needs three dimensions or more");
  FL_CHECK(context, factor > 0 && factor <= 32767, "the factor must be positive");
  const uint8_t batch = (uint8_t)(self->rank - 3);
  FL_TAKE(fl_view, views, 4);
  fl_view *const own = &views[0];
  fl_view *const result = &views[1];
  fl_view *const from = &views[2];
  fl_view *const to = &views[3];
  *own = fl_view_of(self);
  *result = *own;
  const int64_t square = factor * factor;
  if (shuffle) {
    FL_CHECK(context, own->sizes[batch] % square == 0, "the channels must be a multiple of the factor's square");
    result->sizes[batch] /= square;
    result->sizes[batch + 1] *= factor;
    result->sizes[batch + 2] *= factor;
  } else {
    FL_CHECK(context, own->sizes[batch + 1] % factor == 0 && own->sizes[batch + 2] % factor == 0,
             "height and width must be multiples of the factor");
    result->sizes[batch] *= square;
    result->sizes[batch + 1] /= factor;
    result->sizes[batch + 2] /= factor;
  }
  FL_TRY(fl_resize_out(context, out, result, self->dtype));
  *result = fl_view_of(out);
  const fl_view *deep = shuffle ? own : result; /* the side with more channels */
  const fl_view *wide = shuffle ? result : own; /* the side with more pixels */
  *from = *own;
  *to = *result;
  from->rank = to->rank = (uint8_t)(batch + 5);
  for (int side = 0; side < 2; ++side) {
    fl_view *view = side == 0 ? from : to;
    const int is_deep = (side == 0) == (shuffle != 0);
    const int64_t *strides = is_deep ? deep->strides : wide->strides;
    const int64_t channel = strides[batch];
    const int64_t row = strides[batch + 1];
    const int64_t column = strides[batch + 2];
    view->sizes[batch] = wide->sizes[batch];
    view->sizes[batch + 1] = deep->sizes[batch + 1];
    view->sizes[batch + 2] = factor;
    view->sizes[batch + 3] = deep->sizes[batch + 2];
    view->sizes[batch + 4] = factor;
    view->strides[batch] = is_deep ? channel * square : channel;
    view->strides[batch + 1] = is_deep ? row : row * factor;
    view->strides[batch + 2] = is_deep ? channel * factor : row;
    view->strides[batch + 3] = is_deep ? column : column * factor;
    view->strides[batch + 4] = is_deep ? channel : column;
  }
  fl_view_copy(context, to, from);
  return FL_OK;
}

fl_status fl_pixel_shuffle_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return pixels(context, args, 1);
}

fl_status fl_pixel_unshuffle_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return pixels(context, args, 0);
}
