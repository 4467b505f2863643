/* The same elements in another shape or order. Each kernel describes its input as a strided view of the output's shape and copies. */
#include "loops.h"

#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *, fl_value *const *, size_t);
#include "shape.def"
#undef FL_KERNEL

/* Reads a target shape in which one size may be -1; its product must be the number of elements. */
static fl_status target_sizes(fl_context *context, const fl_value *value, size_t numel, int32_t *sizes, uint8_t *rank) {
  int64_t given[FL_MAX_RANK];
  uint32_t number = 0;
  int inferred = -1;
  size_t product = 1;
  FL_CHECK(context, fl_get_ints(value, given, FL_MAX_RANK, &number), "the size must be a list of at most 16 integers");
  for (uint32_t d = 0; d < number; ++d) {
    if (given[d] == -1 && inferred < 0) {
      inferred = (int)d;
      continue;
    }
    FL_CHECK(context, given[d] >= 0 && given[d] <= INT32_MAX, "a size is out of range");
    sizes[d] = (int32_t)given[d];
    FL_CHECK(context, given[d] == 0 || product <= SIZE_MAX / (size_t)given[d], "the size does not hold the input's elements");
    product *= (size_t)given[d];
  }
  if (inferred >= 0) {
    FL_CHECK(context, product > 0 && numel % product == 0 && numel / product <= INT32_MAX, "the size does not hold the input's elements");
    sizes[inferred] = (int32_t)(numel / product);
    product = numel;
  }
  FL_CHECK(context, product == numel, "the size does not hold the input's elements");
  *rank = (uint8_t)number;
  return FL_OK;
}

static fl_status reshape_to(fl_context *context, fl_tensor *out, const fl_tensor *self, const int32_t *sizes, uint8_t rank) {
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(fl_resize(context, out, sizes, rank));
  const fl_view from = fl_view_of(self);
  const fl_view to = fl_view_of(out);
  fl_view_reshape(&to, &from);
  return FL_OK;
}

fl_status fl_view_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  (void)count;
  FL_TRY(target_sizes(context, args[1], fl_numel(self), sizes, &rank));
  return reshape_to(context, out, self, sizes, rank);
}

/* Gives out the sizes and self's storage: no copy. */
fl_status fl_et_view(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank;
  (void)count;
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_CHECK(context, fl_is_contiguous(self) && fl_is_contiguous(out), "a view needs contiguous tensors");
  FL_TRY(target_sizes(context, args[1], fl_numel(self), sizes, &rank));
  FL_TRY(fl_resize(context, out, sizes, rank));
  out->data = self->data;
  return FL_OK;
}

static fl_status squeeze(fl_context *context, fl_tensor *out, const fl_tensor *self, uint32_t dropped) {
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank = 0;
  for (uint8_t d = 0; d < self->rank; ++d) {
    if ((dropped >> d & 1u) == 0 || self->sizes[d] != 1) {
      sizes[rank++] = self->sizes[d];
    }
  }
  return reshape_to(context, out, self, sizes, rank);
}

fl_status fl_squeeze_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 1);
  (void)count;
  return squeeze(context, out, self, UINT32_MAX);
}

fl_status fl_squeeze_copy_dim_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint8_t at;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  return squeeze(context, out, self, 1u << at);
}

fl_status fl_squeeze_copy_dims_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(dims, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint32_t dropped = 0;
  (void)count;
  for (uint32_t i = 0; i < number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], self->rank, &at));
    dropped |= 1u << at;
  }
  return squeeze(context, out, self, dropped);
}

fl_status fl_unsqueeze_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  int32_t sizes[FL_MAX_RANK];
  uint8_t at;
  (void)count;
  FL_CHECK(context, self->rank < FL_MAX_RANK, "the result would have more than 16 dimensions");
  FL_TRY(fl_wrap_dim(context, dim, (uint8_t)(self->rank + 1), &at));
  for (uint8_t d = 0; d <= self->rank; ++d) {
    sizes[d] = d == at ? 1 : self->sizes[d - (d > at)];
  }
  return reshape_to(context, out, self, sizes, (uint8_t)(self->rank + 1));
}

fl_status fl_permute_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(dims, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  uint32_t seen = 0;
  (void)count;
  const fl_view own = fl_view_of(self);
  fl_view from = own;
  FL_CHECK(context, number == self->rank, "permute needs each dimension once");
  for (uint8_t d = 0; d < self->rank; ++d) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[d], self->rank, &at));
    FL_CHECK(context, (seen >> at & 1u) == 0, "permute needs each dimension once");
    seen |= 1u << at;
    from.sizes[d] = own.sizes[at];
    from.strides[d] = own.strides[at];
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

static void exchange_dims(fl_view *view, uint8_t a, uint8_t b) {
  const int64_t size = view->sizes[a];
  const int64_t stride = view->strides[a];
  view->sizes[a] = view->sizes[b];
  view->strides[a] = view->strides[b];
  view->sizes[b] = size;
  view->strides[b] = stride;
}

fl_status fl_transpose_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim0, 1);
  FL_INT_ARGUMENT(dim1, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  uint8_t a;
  uint8_t b;
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim0, self->rank, &a));
  FL_TRY(fl_wrap_dim(context, dim1, self->rank, &b));
  fl_view from = fl_view_of(self);
  if (self->rank > 0) {
    exchange_dims(&from, a, b);
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_t_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 1);
  (void)count;
  FL_CHECK(context, self->rank <= 2, "t takes at most two dimensions");
  fl_view from = fl_view_of(self);
  if (self->rank == 2) {
    exchange_dims(&from, 0, 1);
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_expand_copy_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(sizes, number, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  (void)count;
  FL_CHECK(context, number >= self->rank, "expand cannot remove dimensions");
  const fl_view own = fl_view_of(self);
  fl_view from = own;
  from.rank = (uint8_t)number;
  for (uint8_t d = 0; d < from.rank; ++d) {
    const int i = (int)d - (int)(from.rank - self->rank);
    const int64_t size = i >= 0 ? own.sizes[i] : 1;
    FL_CHECK(context, sizes[d] == size || (size == 1 && sizes[d] >= 0) || (sizes[d] == -1 && i >= 0),
             "the shape does not expand to the size");
    from.sizes[d] = sizes[d] == -1 ? size : sizes[d];
    from.strides[d] = size == 1 ? 0 : own.strides[i];
  }
  return fl_copy_out(context, out, &from, self->dtype);
}

fl_status fl_repeat_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INTS_ARGUMENT(repeats, number, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  (void)count;
  FL_CHECK(context, number >= self->rank, "repeat needs a count for each dimension");
  const fl_view own = fl_view_of(self);
  fl_view shape = own;
  shape.rank = (uint8_t)number;
  for (uint8_t d = 0; d < shape.rank; ++d) {
    const int i = (int)d - (int)(shape.rank - self->rank);
    FL_CHECK(context, repeats[d] >= 0 && repeats[d] <= INT32_MAX, "repeat's counts must not be negative");
    shape.sizes[d] = repeats[d] * (i >= 0 ? own.sizes[i] : 1);
  }
  FL_TRY(fl_resize_out(context, out, &shape, self->dtype));
  /* Dimension d of out is (repeat, element) of dimension d of self. */
  const fl_view flat = fl_view_of(out);
  fl_view to = {.data = flat.data, .rank = (uint8_t)(2 * number), .element = flat.element};
  fl_view from = {.data = own.data, .rank = to.rank, .element = own.element};
  for (uint8_t d = 0; d < flat.rank; ++d) {
    const int i = (int)d - (int)(flat.rank - self->rank);
    const int64_t size = i >= 0 ? own.sizes[i] : 1;
    to.sizes[2 * d] = from.sizes[2 * d] = repeats[d];
    to.sizes[2 * d + 1] = from.sizes[2 * d + 1] = size;
    to.strides[2 * d] = size * flat.strides[d];
    to.strides[2 * d + 1] = flat.strides[d];
    from.strides[2 * d] = 0;
    from.strides[2 * d + 1] = i >= 0 ? own.strides[i] : 0;
  }
  fl_view_copy(&to, &from);
  return FL_OK;
}

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

/* Element number `i` of a view in logical order. */
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
  const fl_view from = fl_view_of(self);
  FL_TRY(fl_resize_out(context, out, &from, self->dtype));
  const fl_view to = fl_view_of(out);
  const size_t n = fl_numel(self);
  if (n == 0) {
    return FL_OK;
  }
  if (dim_number == 0) {
    const size_t shift = (size_t)((shifts[0] % (int64_t)n + (int64_t)n) % (int64_t)n);
    for (size_t i = 0; i < n; ++i) {
      memcpy(element_at(&to, (i + shift) % n), element_at(&from, i), to.element);
    }
    return FL_OK;
  }
  uint32_t rolled = 0;
  for (uint32_t i = 0; i < dim_number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], self->rank, &at));
    const int64_t size = self->rank > 0 ? from.sizes[at] : 1;
    offset[at] = (offset[at] + (shifts[i] % size + size)) % size;
    rolled |= offset[at] != 0 ? 1u << at : 0u;
  }
  /* Every rolled dimension falls into two runs; `piece` says which one of each. */
  for (uint32_t piece = rolled;; piece = (piece - 1) & rolled) {
    fl_view source = from;
    fl_view target = to;
    for (uint8_t d = 0; d < from.rank; ++d) {
      const int64_t shift = offset[d];
      if ((piece >> d & 1u) != 0) {
        source.data += source.strides[d] * (from.sizes[d] - shift);
        source.sizes[d] = target.sizes[d] = shift;
      } else if (shift != 0) {
        target.data += target.strides[d] * shift;
        source.sizes[d] = target.sizes[d] = from.sizes[d] - shift;
      }
    }
    fl_view_copy(&target, &source);
    if (piece == 0) {
      return FL_OK;
    }
  }
}

/* Zeroes what lies on one side of a diagonal of the last two dimensions. */
static fl_status triangle(fl_context *context, fl_value *const *args, int lower) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(diagonal, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  static const uint64_t zero = 0;
  size_t index[FL_MAX_DIMS] = {0};
  FL_CHECK(context, self->rank >= 2, "the input needs two dimensions or more");
  const fl_view from = fl_view_of(self);
  FL_TRY(fl_copy_out(context, out, &from, self->dtype));
  const fl_view to = fl_view_of(out);
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const uint8_t last = (uint8_t)(to.rank - 1);
  const int64_t columns = to.sizes[last];
  diagonal = diagonal < -INT32_MAX ? -INT32_MAX : diagonal > INT32_MAX ? INT32_MAX : diagonal;
  char *row = to.data;
  do {
    /* Row i keeps columns up to i + diagonal (lower), or from it on. */
    int64_t edge = (int64_t)index[last - 1] + diagonal + lower;
    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    const int64_t start = lower ? edge : 0;
    fl_copy_strided((size_t)((lower ? columns : edge) - start), to.element, row + start * to.strides[last], to.strides[last],
                    (const char *)&zero, 0);
  } while (fl_view_next(&to, 1, index, &row));
  return FL_OK;
}

fl_status fl_tril_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return triangle(context, args, 1);
}

fl_status fl_triu_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return triangle(context, args, 0);
}

/* Between [..., C * f * f, H, W] and [..., C, H * f, W * f]: both seen as [..., C, H, f, W, f]. */
static fl_status pixels(fl_context *context, fl_value *const *args, int shuffle) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(factor, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_CHECK(context, self->rank >= 3 && self->rank <= FL_MAX_RANK, "the input needs three dimensions or more");
  FL_CHECK(context, factor > 0 && factor <= 32767, "the factor must be positive");
  const uint8_t batch = (uint8_t)(self->rank - 3);
  const fl_view own = fl_view_of(self);
  fl_view shape = own;
  const int64_t square = factor * factor;
  if (shuffle) {
    FL_CHECK(context, own.sizes[batch] % square == 0, "the channels must be a multiple of the factor's square");
    shape.sizes[batch] /= square;
    shape.sizes[batch + 1] *= factor;
    shape.sizes[batch + 2] *= factor;
  } else {
    FL_CHECK(context, own.sizes[batch + 1] % factor == 0 && own.sizes[batch + 2] % factor == 0,
             "height and width must be multiples of the factor");
    shape.sizes[batch] *= square;
    shape.sizes[batch + 1] /= factor;
    shape.sizes[batch + 2] /= factor;
  }
  FL_TRY(fl_resize_out(context, out, &shape, self->dtype));
  const fl_view result = fl_view_of(out);
  const fl_view *deep = shuffle ? &own : &result; /* many channels */
  const fl_view *wide = shuffle ? &result : &own; /* many pixels */
  fl_view from = own;
  fl_view to = result;
  from.rank = to.rank = (uint8_t)(batch + 5);
  for (int side = 0; side < 2; ++side) {
    fl_view *view = side == 0 ? &from : &to;
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
  fl_view_copy(&to, &from);
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
