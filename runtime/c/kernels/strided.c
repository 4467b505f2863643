/* Implements strided.h: views, and copies between them. */
#include "arguments.h"
#include "divide.h"
#include "strided.h"

/* The side of the square blocks in which two dimensions are exchanged: 16 rows of one cache line. */
#define TILE 16

fl_view fl_view_of(const fl_tensor *tensor) {
  fl_view view;
  view.data = tensor->data;
  view.rank = tensor->rank;
  view.element = (uint8_t)fl_element_size(tensor->dtype);
  for (uint8_t d = 0; d < tensor->rank; ++d) {
    view.sizes[d] = tensor->sizes[d];
    view.strides[d] = (int64_t)tensor->strides[d] * (int64_t)view.element;
  }
  return view;
}

fl_status fl_view_broadcast(fl_context *context, fl_view *view, const fl_tensor *tensor, uint8_t rank, const int32_t *sizes) {
  const fl_view own = fl_view_of(tensor);
  FL_CHECK_NUMBERS(context, own.rank <= rank, "the input has % dimensions, and the output %", own.rank, rank);
  *view = own;
  view->rank = rank;
  for (uint8_t d = 0; d < rank; ++d) {
    const int i = (int)d - (int)(rank - own.rank);
    const int64_t size = i >= 0 ? own.sizes[i] : 1;
    FL_CHECK_NUMBERS(context, size == 1 || size == sizes[d], "the input's shape does not broadcast to the output's: size % and size %", size, sizes[d]);
    view->sizes[d] = sizes[d];
    view->strides[d] = size == 1 ? 0 : own.strides[i];
  }
  return FL_OK;
}

/* An element of 16 bytes. */
typedef struct pair {
  uint64_t first, second;
} pair;

#define STRIDED_LOOP(T)                                        \
  for (size_t i = 0; i < n; ++i) {                             \
    T x;                                                       \
    memcpy(&x, from, sizeof x);                                \
    memcpy(to, &x, sizeof x);                                  \
    to += to_stride;                                           \
    from += from_stride;                                       \
  }                                                            \
  return

#define SPLAT_LOOP(T)                                          \
  {                                                            \
    T x;                                                       \
    memcpy(&x, from, sizeof x);                                \
    for (size_t i = 0; i < n; ++i) {                           \
      memcpy((char *)to + i * sizeof x, &x, sizeof x);         \
    }                                                          \
  }                                                            \
  return

void fl_splat(size_t n, size_t element, void *to, const void *from) {
  switch (element) {
    case 1: memset(to, *(const unsigned char *)from, n); return;
    case 2: SPLAT_LOOP(uint16_t);
    case 4: SPLAT_LOOP(uint32_t);
    case 8: SPLAT_LOOP(uint64_t);
    default: SPLAT_LOOP(pair);
  }
}

void fl_copy_strided(size_t n, size_t element, char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  if (to_stride == (int64_t)element && from_stride == (int64_t)element) {
    if (to != from) {
      memmove(to, from, n * element);
    }
    return;
  }
  if (to_stride == (int64_t)element && from_stride == 0) {
    fl_splat(n, element, to, from);
    return;
  }
  switch (element) {
    case 1: STRIDED_LOOP(uint8_t);
    case 2: STRIDED_LOOP(uint16_t);
    case 4: STRIDED_LOOP(uint32_t);
    case 8: STRIDED_LOOP(uint64_t);
    default: STRIDED_LOOP(pair);
  }
}

/* Copies to[i][j] = from[j][i] in blocks; columns are contiguous in `to`, rows in `from`. */
#define EXCHANGE(T)                                                                             \
  for (size_t r = 0; r < rows; r += TILE) {                                                     \
    const size_t rows_here = rows - r < TILE ? rows - r : TILE;                                 \
    for (size_t c = 0; c < columns; c += TILE) {                                                \
      const size_t columns_here = columns - c < TILE ? columns - c : TILE;                      \
      for (size_t i = r; i < r + rows_here; ++i) {                                              \
        T *y = (T *)(void *)(to + (int64_t)i * to_stride);                                      \
        const char *x = from + (int64_t)i * (int64_t)sizeof(T) + (int64_t)c * from_stride;      \
        for (size_t j = 0; j < columns_here; ++j) {                                             \
          memcpy(&y[c + j], x + (int64_t)j * from_stride, sizeof(T));                           \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  return

static __attribute__((noinline)) void exchange(size_t rows, size_t columns, size_t element, char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  switch (element) {
    case 1: EXCHANGE(uint8_t);
    case 2: EXCHANGE(uint16_t);
    case 4: EXCHANGE(uint32_t);
    case 8: EXCHANGE(uint64_t);
    default: EXCHANGE(pair);
  }
}

/* Moves dimension d to the second-last position. */
static void move_to_second_last(fl_nest *nest, uint8_t d) {
  for (uint8_t e = d; e + 2 < nest->rank; ++e) {
    const uint32_t size = nest->sizes[e];
    nest->sizes[e] = nest->sizes[e + 1];
    nest->sizes[e + 1] = size;
    for (uint8_t k = 0; k < nest->operands; ++k) {
      int64_t stride = nest->strides[k][e];
      nest->strides[k][e] = nest->strides[k][e + 1];
      nest->strides[k][e + 1] = stride;
    }
  }
}

static void copy(const fl_view *to, const fl_view *from) {
  fl_nest nest = {.rank = 0, .operands = 2};
  uint32_t index[FL_MAX_DIMS] = {0};
  char *at[2] = {to->data, from->data};
  /* A kernel whose out is its operand needs no copy before it replaces a part. */
  int is_same = to->data == from->data;
  for (uint8_t d = 0; d < to->rank; ++d) {
    is_same &= to->strides[d] == from->strides[d];
  }
  if (is_same || fl_view_numel(to) == 0) {
    return;
  }
  for (uint8_t d = 0; d < to->rank; ++d) {
    const int64_t strides[2] = {to->strides[d], from->strides[d]};
    fl_nest_push(&nest, (size_t)to->sizes[d], strides);
  }
  fl_nest_simplify(&nest, 0);
  if (nest.rank == 0) {
    fl_copy_strided(1, to->element, at[0], 0, at[1], 0);
    return;
  }
  const uint8_t last = (uint8_t)(nest.rank - 1);
  if (nest.strides[0][last] == to->element && nest.strides[1][last] != to->element) {
    for (uint8_t d = 0; d < last; ++d) {
      if (nest.strides[1][d] == to->element) {
        move_to_second_last(&nest, d);
        do {
          exchange(nest.sizes[last - 1], nest.sizes[last], to->element, at[0], nest.strides[0][last - 1], at[1], nest.strides[1][last]);
        } while (fl_nest_next(&nest, 2, index, at));
        return;
      }
    }
  }
  do {
    fl_copy_strided(nest.sizes[last], to->element, at[0], nest.strides[0][last], at[1], nest.strides[1][last]);
  } while (fl_nest_next(&nest, 1, index, at));
}

/* A copy in parts of a dimension. */
typedef struct copying {
  const fl_view *to, *from;
  size_t pieces;
  uint8_t dim;
} copying;

static void copy_part(const void *work, size_t piece, void *scratch) {
  const copying *const c = work;
  const fl_range range = fl_range_of((size_t)c->to->sizes[c->dim], c->pieces, piece);
  fl_view to = *c->to, from = *c->from;
  (void)scratch;
  fl_view_narrow(&to, c->dim, (int64_t)range.begin, (int64_t)(range.end - range.begin));
  fl_view_narrow(&from, c->dim, (int64_t)range.begin, (int64_t)(range.end - range.begin));
  copy(&to, &from);
}

void fl_view_copy(const fl_context *context, const fl_view *to, const fl_view *from) {
  /* Caches move what one thread wrote and another reads, so only copies that are greater than caches gain. */
  const size_t operations = fl_view_numel(to) / 4, wanted = fl_pieces(context, operations);
  if (wanted == 1 || to->rank == 0) {
    copy(to, from);
    return;
  }
  copying c = {to, from, 1, 0};
  for (uint8_t d = 1; d < to->rank; ++d) {
    c.dim = to->sizes[d] > to->sizes[c.dim] ? d : c.dim;
  }
  const size_t most = (size_t)to->sizes[c.dim];
  c.pieces = most < wanted ? most : wanted;
  fl_divide(context, c.pieces, operations, copy_part, &c);
}

int fl_view_next(const fl_view *view, uint8_t inner, uint32_t *index, char **at) {
  for (int d = (int)view->rank - (int)inner - 1; d >= 0; --d) {
    if (++index[d] < (size_t)view->sizes[d]) {
      *at += view->strides[d];
      return 1;
    }
    index[d] = 0;
    *at -= view->strides[d] * (view->sizes[d] - 1);
  }
  return 0;
}

static int is_row_major(const fl_view *view) {
  int64_t stride = view->element;
  for (int d = (int)view->rank - 1; d >= 0; --d) {
    if (view->sizes[d] != 1 && view->strides[d] != stride) {
      return 0;
    }
    stride *= view->sizes[d];
  }
  return 1;
}

void fl_view_reshape(const fl_context *context, const fl_view *to, const fl_view *from) {
  const size_t n = fl_view_numel(to);
  if (n == 0) {
    return;
  }
  int same = to->rank == from->rank;
  for (uint8_t d = 0; same && d < to->rank; ++d) {
    same = to->sizes[d] == from->sizes[d];
  }
  /* If one side is row-major, it is viewed in the shape of the other side. */
  if (same || is_row_major(to) || is_row_major(from)) {
    const fl_view *shape = same || is_row_major(to) ? from : to;
    fl_view other = *shape;
    const fl_view *flat = shape == from ? to : from;
    if (!same) {
      int64_t stride = to->element;
      for (int d = (int)other.rank - 1; d >= 0; --d) {
        other.strides[d] = stride;
        stride *= other.sizes[d];
      }
      other.data = flat->data;
      flat = &other;
    }
    if (shape == from) {
      fl_view_copy(context, flat, from);
    } else {
      fl_view_copy(context, to, flat);
    }
    return;
  }
  uint32_t to_index[FL_MAX_DIMS] = {0};
  uint32_t from_index[FL_MAX_DIMS] = {0};
  char *to_at = to->data;
  char *from_at = from->data;
  for (size_t i = 0; i < n; ++i) {
    memcpy(to_at, from_at, to->element);
    fl_view_next(to, 0, to_index, &to_at);
    fl_view_next(from, 0, from_index, &from_at);
  }
}

void fl_view_fill(const fl_view *to, const void *element) {
  fl_view from = *to;
  union {
    unsigned char bytes[8];
    uint64_t aligned;
  } copy = {{0}};
  memcpy(copy.bytes, element, to->element);
  from.data = (char *)copy.bytes;
  for (uint8_t d = 0; d < from.rank; ++d) {
    from.strides[d] = 0;
  }
  fl_view_copy(NULL, to, &from);
}

fl_status fl_resize_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype) {
  int32_t sizes[FL_MAX_RANK];
  FL_CHECK(context, out->dtype == dtype, "the output must have the input's type");
  FL_CHECK_NUMBERS(context, from->rank <= FL_MAX_RANK, "the result would have % dimensions; at most % are possible", from->rank, FL_MAX_RANK);
  for (uint8_t d = 0; d < from->rank; ++d) {
    FL_CHECK_NUMBERS(context, from->sizes[d] >= 0 && from->sizes[d] <= INT32_MAX, "a size of the result would be %, which is not between 0 and %", from->sizes[d], INT32_MAX);
    sizes[d] = (int32_t)from->sizes[d];
  }
  return fl_resize(context, out, sizes, from->rank);
}

fl_status fl_copy_out(fl_context *context, fl_tensor *out, const fl_view *from, int8_t dtype) {
  FL_TRY(fl_resize_out(context, out, from, dtype));
  fl_view to = fl_view_of(out);
  fl_view_copy(context, &to, from);
  return FL_OK;
}

void fl_view_drop_dim(fl_view *view, uint8_t dim) {
  for (uint8_t d = dim; d + 1 < view->rank; ++d) {
    view->sizes[d] = view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
  }
  --view->rank;
}

void fl_view_narrow(fl_view *view, uint8_t dim, int64_t start, int64_t length) {
  if (length > 0) {
    view->data += start * view->strides[dim];
  }
  view->sizes[dim] = length;
}

fl_status fl_view_select(fl_context *context, fl_view *view, int64_t dim, int64_t index) {
  uint8_t at;
  FL_CHECK(context, view->rank > 0, "select needs at least one dimension");
  FL_TRY(fl_wrap_dim(context, dim, view->rank, &at));
  const int64_t size = view->sizes[at];
  FL_CHECK_NUMBERS(context, index >= -size && index < size, "index % is out of range for a dimension of % entries", index, size);
  fl_view_narrow(view, at, index < 0 ? index + size : index, 1);
  fl_view_drop_dim(view, at);
  return FL_OK;
}
