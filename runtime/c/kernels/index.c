/* Kernels of advanced indexing by a list of index tensors, each for one dimension or absent, which are broadcast to one shape. They check every
 * index before they write. */
#include "loops.h"
#include "index.def"

/* One index tensor, broadcast to the index shape. */
typedef struct indexer {
  const char *at;
  int64_t strides[FL_MAX_RANK]; /* strides in bytes, per dimension of the index shape */
  int64_t step;                 /* stride in bytes of the dimension of self that it indexes */
  int64_t size;
  int8_t dtype;
} indexer;

/* An indexing expression: the elements of self that it selects, and their shape. With a mask, indices have one dimension at most. */
typedef struct indexing {
  indexer indexers[FL_MAX_RANK];
  uint8_t number;
  uint8_t index_rank;
  int64_t index_sizes[FL_MAX_RANK];
  fl_view rest;       /* the dimensions of self that are not indexed */
  uint8_t place;      /* the result has `place` dimensions of rest, then the index shape, then the other dimensions of rest */
  const fl_tensor *mask; /* selects entries of the dimensions from `mask_place` on; NULL: no mask */
  int64_t truths;
  uint8_t mask_place;
} indexing;

size_t fl_index_scratch(fl_value *const *args, size_t count);

static fl_status count_true(const fl_tensor *mask, int64_t *number) {
  const uint8_t *truths = mask->data;
  const size_t n = fl_numel(mask);
  *number = 0;
  for (size_t i = 0; i < n; ++i) {
    *number += truths[i] != 0;
  }
  return FL_OK;
}

static fl_status check_bounds(fl_context *context, const fl_tensor *index, int64_t size) {
  const size_t n = fl_numel(index);
  const size_t element = fl_dtype_size(index->dtype);
  for (size_t i = 0; i < n; ++i) {
    const int64_t at = fl_index_at((const char *)index->data + i * element, index->dtype);
    FL_CHECK_NUMBERS(context, at >= -size && at < size, "index % is out of range for a dimension of % entries", at, size);
  }
  return FL_OK;
}

/* Stores a mask, which indexes as many dimensions as it has, from dimension `first` on, and counts its true elements. */
static fl_status note_mask(fl_context *context, indexing *x, const fl_tensor *mask, const fl_tensor *self, uint8_t first) {
  FL_CHECK(context, x->mask == NULL, "there must be one mask at most");
  FL_CHECK(context, mask->rank > 0 && first + mask->rank <= self->rank, "the mask has more dimensions than the input");
  for (uint8_t d = 0; d < mask->rank; ++d) {
    FL_CHECK(context, mask->sizes[d] == self->sizes[first + d], "the mask must have the sizes of the dimensions it stands for");
  }
  x->mask = mask;
  x->mask_place = first;
  x->index_rank = 1;
  return count_true(mask, &x->truths);
}

static fl_status analyse(fl_context *context, const fl_value *list, const fl_tensor *self, indexing *x) {
  FL_TAKE(fl_view, own, 1);
  const fl_tensor *tensors[FL_MAX_RANK] = {NULL};
  uint8_t present = 0; /* number of indexed dimensions */
  uint8_t first = 0;
  uint8_t last = 0;
  uint8_t dim = 0;
  FL_CHECK(context, list->tag == FL_OPTIONAL_TENSOR_LIST || list->tag == FL_TENSOR_LIST, "the indices must be a list of tensors");
  fl_value *const *items = list->as.list.items;
  memset(x, 0, sizeof *x);
  for (uint32_t i = 0; i < list->as.list.count; ++i) {
    FL_CHECK(context, dim < self->rank, "there are more indices than dimensions");
    if (items[i] == NULL || fl_is_none(items[i])) {
      ++dim;
      continue;
    }
    const fl_tensor *index = fl_get_tensor(items[i]);
    FL_CHECK(context, index != NULL, "each index must be a tensor or none");
    FL_CHECK(context, index->dtype == FL_INT64 || index->dtype == FL_INT32 || index->dtype == FL_BOOL || index->dtype == FL_UINT8,
             "indices must be of int64, int32 or bool");
    const int is_mask = index->dtype == FL_BOOL || index->dtype == FL_UINT8;
    if (is_mask) {
      FL_TRY(note_mask(context, x, index, self, dim));
    } else {
      tensors[dim] = index;
    }
    const uint8_t covered = is_mask ? index->rank : 1;
    first = present == 0 ? dim : first;
    last = (uint8_t)(dim + covered - 1);
    present = (uint8_t)(present + covered);
    dim = (uint8_t)(dim + covered);
  }
  FL_CHECK(context, present > 0, "there must be an index");
  /* Computes the shape to which the indices broadcast. */
  for (uint8_t d = first; d <= last; ++d) {
    x->index_rank = tensors[d] != NULL && tensors[d]->rank > x->index_rank ? tensors[d]->rank : x->index_rank;
  }
  FL_CHECK(context, x->mask == NULL || x->index_rank == 1, "indices beside a mask must not have more than one dimension");
  for (uint8_t d = 0; d < x->index_rank; ++d) {
    x->index_sizes[d] = x->mask != NULL ? x->truths : 1;
    for (uint8_t t = first; t <= last; ++t) {
      const int i = tensors[t] != NULL ? (int)d - (int)(x->index_rank - tensors[t]->rank) : -1;
      const int64_t size = i >= 0 ? tensors[t]->sizes[i] : 1;
      FL_CHECK(context, size == 1 || x->index_sizes[d] == 1 || size == x->index_sizes[d], "the indices' shapes do not broadcast to one");
      x->index_sizes[d] = size == 1 ? x->index_sizes[d] : size;
    }
  }
  *own = fl_view_of(self);
  x->rest = *own;
  x->rest.rank = 0;
  for (uint8_t d = 0; d < self->rank; ++d) {
    if (x->mask != NULL && d >= x->mask_place && d < x->mask_place + x->mask->rank) {
      continue;
    }
    if (tensors[d] == NULL) {
      x->rest.sizes[x->rest.rank] = own->sizes[d];
      x->rest.strides[x->rest.rank] = own->strides[d];
      ++x->rest.rank;
      continue;
    }
    indexer *one = &x->indexers[x->number++];
    const int64_t element = (int64_t)fl_dtype_size(tensors[d]->dtype);
    one->at = tensors[d]->data;
    one->step = own->strides[d];
    one->size = own->sizes[d];
    one->dtype = tensors[d]->dtype;
    for (uint8_t e = 0; e < x->index_rank; ++e) {
      const int i = (int)e - (int)(x->index_rank - tensors[d]->rank);
      one->strides[e] = i >= 0 && tensors[d]->sizes[i] != 1 ? tensors[d]->strides[i] * element : 0;
    }
  }
  /* The index shape replaces adjacent indexed dimensions in place; otherwise it comes first. */
  x->place = last - first + 1 == present ? first : 0;
  int empty = 0;
  for (uint8_t d = 0; d < x->index_rank; ++d) {
    empty |= x->index_sizes[d] == 0;
  }
  for (uint8_t d = 0; !empty && d < self->rank; ++d) {
    if (tensors[d] != NULL) {
      FL_TRY(check_bounds(context, tensors[d], self->sizes[d]));
    }
  }
  return FL_OK;
}

/* Stores the sizes of the selected elements in `shape`. */
static fl_status named_shape(fl_context *context, const indexing *x, fl_view *shape) {
  FL_CHECK(context, x->rest.rank + x->index_rank <= FL_MAX_RANK, "the result would have more than 16 dimensions");
  *shape = x->rest;
  shape->rank = (uint8_t)(x->rest.rank + x->index_rank);
  for (uint8_t d = 0; d < shape->rank; ++d) {
    const int i = (int)d - (int)x->place;
    shape->sizes[d] = i < 0 ? x->rest.sizes[d] : i < x->index_rank ? x->index_sizes[i] : x->rest.sizes[d - x->index_rank];
  }
  return FL_OK;
}

/* The state of a loop over the index positions. */
typedef struct walk {
  const indexing *x;
  const char *at[FL_MAX_RANK]; /* current element of each indexer */
  uint32_t position[FL_MAX_DIMS]; /* current position in the index shape, or in the mask */
  int64_t done;                 /* number of finished positions, with a mask */
  fl_view mask;
  char *mask_at;
} walk;

static int mask_is_true(const walk *w) { return *w->mask_at != 0; }

/* Moves to the first true element of the mask from the current one on, and returns 1; returns 0 when there is none. */
static int find_true(walk *w) {
  while (!mask_is_true(w)) {
    if (!fl_view_next(&w->mask, 0, w->position, &w->mask_at)) {
      return 0;
    }
  }
  return 1;
}

/* Moves to the first position, and returns 1; returns 0 when there is none. */
static int walk_start(walk *w, const indexing *x) {
  memset(w, 0, sizeof *w);
  w->x = x;
  for (uint8_t d = 0; d < x->index_rank; ++d) {
    if (x->index_sizes[d] == 0) {
      return 0;
    }
  }
  for (uint8_t k = 0; k < x->number; ++k) {
    w->at[k] = x->indexers[k].at;
  }
  if (x->mask == NULL) {
    return 1;
  }
  w->mask = fl_view_of(x->mask);
  w->mask_at = w->mask.data;
  return find_true(w);
}

/* Returns the bytes from the start of self to the part that the current position selects. */
static int64_t walk_offset(const walk *w, const fl_tensor *self) {
  int64_t offset = 0;
  for (uint8_t d = 0; w->x->mask != NULL && d < w->mask.rank; ++d) {
    offset += (int64_t)w->position[d] * self->strides[w->x->mask_place + d] * (int64_t)fl_dtype_size(self->dtype);
  }
  for (uint8_t k = 0; k < w->x->number; ++k) {
    const indexer *one = &w->x->indexers[k];
    const int64_t at = fl_index_at(w->at[k], one->dtype);
    offset += (at < 0 ? at + one->size : at) * one->step;
  }
  return offset;
}

/* Moves to the next position of the index shape without its last `inner` dimensions, which a mask does not have. */
static int walk_next(walk *w, uint8_t inner) {
  if (w->x->mask != NULL) {
    if (++w->done == w->x->index_sizes[0]) {
      return 0;
    }
    for (uint8_t k = 0; k < w->x->number; ++k) {
      w->at[k] += w->x->indexers[k].strides[0];
    }
    /* A single true element is broadcast to many indices. */
    return w->x->truths == 1 || (fl_view_next(&w->mask, 0, w->position, &w->mask_at) && find_true(w));
  }
  for (int d = (int)w->x->index_rank - 1 - (int)inner; d >= 0; --d) {
    const int end = ++w->position[d] == (size_t)w->x->index_sizes[d];
    for (uint8_t k = 0; k < w->x->number; ++k) {
      w->at[k] += w->x->indexers[k].strides[d] * (end ? 1 - w->x->index_sizes[d] : 1);
    }
    if (!end) {
      return 1;
    }
    w->position[d] = 0;
  }
  return 0;
}

/* Splits a view of the selected shape: `part` gets the dimensions of rest, `outer` those of the index shape. */
static void split_view(const indexing *x, const fl_view *named, fl_view *part, fl_view *outer) {
  *part = *named;
  *outer = *named;
  part->rank = x->rest.rank;
  outer->rank = x->index_rank;
  for (uint8_t d = 0; d < named->rank; ++d) {
    const int i = (int)d - (int)x->place;
    if (i >= 0 && i < x->index_rank) {
      outer->sizes[i] = named->sizes[d];
      outer->strides[i] = named->strides[d];
    } else {
      const uint8_t e = (uint8_t)(i < 0 ? d : d - x->index_rank);
      part->sizes[e] = named->sizes[d];
      part->strides[e] = named->strides[d];
    }
  }
}

/* The scratch data of a call, besides the indexing. */
typedef struct work {
  walk w;
  fl_view named; /* a view of the selected shape, which is split into the next two: */
  fl_view part;
  fl_view outer;
  fl_view other; /* the tensor from or to which the part is copied */
} work;

size_t fl_index_scratch(fl_value *const *args, size_t count) {
  return FL_TAKEN(indexing, 1) + FL_TAKEN(work, 1) + FL_TAKEN(fl_view, 1) + fl_blocks_scratch(args, count);
}

fl_status fl_index_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_TAKE(indexing, x, 1);
  FL_TAKE(work, own, 1);
  uint32_t position[FL_MAX_DIMS] = {0};
  (void)count;
  FL_TRY(analyse(context, args[1], self, x));
  FL_TRY(named_shape(context, x, &own->named));
  FL_TRY(fl_resize_out(context, out, &own->named, self->dtype));
  if (fl_numel(out) == 0 || !walk_start(&own->w, x)) {
    return FL_OK;
  }
  own->named = fl_view_of(out);
  split_view(x, &own->named, &own->part, &own->outer);
  own->other = x->rest;
  char *at = own->part.data;
  do {
    own->part.data = at;
    own->other.data = (char *)self->data + walk_offset(&own->w, self);
    fl_view_copy(context, &own->part, &own->other);
    fl_view_next(&own->outer, 0, position, &at);
  } while (walk_next(&own->w, 0));
  return FL_OK;
}

/* The storage of a view as a tensor, for fl_map_run. */
typedef struct view_tensor {
  fl_tensor tensor;
  int32_t sizes[FL_MAX_RANK];
  int32_t strides[FL_MAX_RANK];
} view_tensor;

static fl_tensor *as_tensor(view_tensor *storage, const fl_view *view, int8_t dtype) {
  memset(&storage->tensor, 0, sizeof storage->tensor);
  for (uint8_t d = 0; d < view->rank; ++d) {
    storage->sizes[d] = (int32_t)view->sizes[d];
    storage->strides[d] = (int32_t)(view->strides[d] / view->element);
  }
  storage->tensor.data = view->data;
  storage->tensor.sizes = storage->sizes;
  storage->tensor.strides = storage->strides;
  storage->tensor.rank = view->rank;
  storage->tensor.dtype = dtype;
  return &storage->tensor;
}

#define ADD(name, T, A)                                                                              \
  static void name(size_t n, void *out, const void *const *in, const fl_parameter *parameters) {     \
    T *y = out;                                                                                      \
    (void)parameters;                                                                                \
    for (size_t i = 0; i < n; ++i) {                                                                 \
      y[i] = (T)((A)((const T *)in[0])[i] + (A)((const T *)in[1])[i]);                               \
    }                                                                                                \
  }
ADD(add_f32, float, float)
ADD(add_f64, double, double)
ADD(add_i64, int64_t, uint64_t)

/* Adds `values` to a part of a tensor of type `dtype`. */
static fl_status add_to(fl_context *context, const fl_view *part, const fl_view *values, int8_t dtype) {
  static const fl_span_fn adds[] = {add_f32, add_f64, add_i64};
  view_tensor storage[2];
  fl_tensor *result = as_tensor(&storage[0], part, dtype);
  const fl_tensor *in[2] = {result, as_tensor(&storage[1], values, dtype)};
  const fl_compute type = fl_compute_of(dtype);
  const fl_map map = {.span = adds[type], .in = {type, type}, .result = type, .common = -1};
  return fl_map_run(context, result, in, 2, &map);
}

/* The most elements behind one index that are taken one after another. */
#define FEW 8

/* Returns the bytes from the start of self that the element of indexer `k` which lies `distance` bytes further selects. */
static inline int64_t offset_of(const walk *w, uint8_t k, int64_t distance) {
  const indexer *const one = &w->x->indexers[k];
  const int64_t at = fl_index_at(w->at[k] + distance, one->dtype);
  return (at < 0 ? at + one->size : at) * one->step;
}

/* Adds floats to the elements of a row of indices, the last dimension of their shape, one element for each; or stores elements of 4 bytes. */
static void put_row(const walk *w, char *target, const char *values, int64_t stride, int accumulate) {
  const uint8_t last = (uint8_t)(w->x->index_rank - 1);
  uint8_t moving[FL_MAX_RANK], count = 0;
  for (uint8_t k = 0; k < w->x->number; ++k) {
    if (w->x->indexers[k].strides[last] == 0) {
      target += offset_of(w, k, 0);
    } else {
      moving[count++] = k;
    }
  }
  for (int64_t i = 0; i < w->x->index_sizes[last]; ++i) {
    char *to = target;
    for (uint8_t m = 0; m < count; ++m) {
      to += offset_of(w, moving[m], i * w->x->indexers[moving[m]].strides[last]);
    }
    if (!accumulate) {
      memcpy(to, values + i * stride, sizeof(float));
      continue;
    }
    float value, sum;
    memcpy(&value, values + i * stride, sizeof value);
    memcpy(&sum, to, sizeof sum);
    sum += value;
    memcpy(to, &sum, sizeof sum);
  }
}

/* Does the same for all rows, and for each of the few elements behind an index after another. */
static __attribute__((noinline)) void put_rows(work *own, const indexing *x, char *target, int accumulate) {
  uint32_t here[FL_MAX_DIMS] = {0}, there[FL_MAX_DIMS] = {0};
  char *values = own->part.data, *rest = target;
  do {
    uint32_t position[FL_MAX_DIMS] = {0};
    char *at = values;
    (void)walk_start(&own->w, x);
    do {
      put_row(&own->w, rest, at, own->outer.strides[x->index_rank - 1], accumulate);
      fl_view_next(&own->outer, 1, position, &at);
    } while (walk_next(&own->w, 1));
    fl_view_next(&own->part, 0, here, &values);
  } while (fl_view_next(&x->rest, 0, there, &rest));
}

/* Stores the values in target[indices], or adds them if `accumulate`. The target already holds self. */
static fl_status put(fl_context *context, fl_tensor *target, const indexing *x, const fl_tensor *values, int accumulate) {
  FL_TAKE(work, own, 1);
  uint32_t position[FL_MAX_DIMS] = {0};
  fl_view *const from = &own->named;
  FL_TRY(named_shape(context, x, from));
  /* The values are broadcast to the selected shape. */
  FL_CHECK(context, values->rank <= from->rank, "the values have more dimensions than what they replace");
  for (uint8_t d = 0; d < from->rank; ++d) {
    const int i = (int)d - (int)(from->rank - values->rank);
    const int64_t size = i >= 0 ? values->sizes[i] : 1;
    FL_CHECK(context, size == 1 || size == from->sizes[d], "the values' shape does not broadcast to what they replace");
    from->strides[d] = size == 1 ? 0 : (int64_t)values->strides[i] * from->element;
  }
  from->data = values->data;
  if (fl_view_numel(from) == 0 || !walk_start(&own->w, x)) {
    return FL_OK;
  }
  split_view(x, from, &own->part, &own->outer);
  if (x->mask == NULL && x->index_rank > 0 && fl_view_numel(&x->rest) <= FEW &&
      (accumulate ? fl_is(target->dtype, FL_FLOAT32) : from->element == sizeof(float))) {
    put_rows(own, x, target->data, accumulate);
    return FL_OK;
  }
  own->other = x->rest;
  char *at = own->part.data;
  do {
    own->part.data = at;
    own->other.data = (char *)target->data + walk_offset(&own->w, target);
    if (accumulate) {
      FL_TRY(add_to(context, &own->other, &own->part, target->dtype));
    } else {
      fl_view_copy(context, &own->other, &own->part);
    }
    fl_view_next(&own->outer, 0, position, &at);
  } while (walk_next(&own->w, 0));
  return FL_OK;
}

/* Checks the arguments of a put into `target`, which has the sizes and type of self, and fills `x`. */
static fl_status check_put(fl_context *context, fl_value *const *args, const fl_tensor *target, indexing *x, int *accumulate) {
  FL_TENSOR_ARGUMENT(values, 2);
  FL_INT_ARGUMENT(given, 3);
  FL_CHECK(context, values->dtype == target->dtype, "the values must have self's type");
  *accumulate = given != 0;
  return analyse(context, args[1], target, x);
}

fl_status fl_index_put_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(out, 4);
  FL_TAKE(indexing, x, 1);
  int accumulate;
  (void)count;
  FL_CHECK(context, out->dtype == self->dtype, "the output must have the input's type");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  FL_TRY(check_put(context, args, out, x, &accumulate));
  FL_TAKE(fl_view, from, 1);
  *from = fl_view_of(self);
  FL_TRY(fl_copy_out(context, out, from, self->dtype));
  return put(context, out, x, fl_get_tensor(args[2]), accumulate);
}

fl_status fl_index_put_in_place(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TAKE(indexing, x, 1);
  int accumulate;
  (void)count;
  FL_TRY(check_put(context, args, self, x, &accumulate));
  return put(context, self, x, fl_get_tensor(args[2]), accumulate);
}
