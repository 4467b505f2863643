/* Kernels that sort stably along a dimension, or select its largest or smallest elements. NaN counts as the largest number. */
#include "loops.h"
#include "sort.def"

size_t fl_sort_scratch(fl_value *const *args, size_t count);

/* The index of an element, and a key that has the order of the elements, reversed when descending. */
typedef struct entry {
  int64_t key;
  int64_t index;
} entry;

/* Returns the scratch memory for two arrays of entries, as long as the longest dimension. */
size_t fl_sort_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  size_t longest = 1;
  for (uint8_t d = 0; self != NULL && d < self->rank; ++d) {
    longest = (size_t)self->sizes[d] > longest ? (size_t)self->sizes[d] : longest;
  }
  const size_t entries = fl_scratch_bytes(longest, 2 * sizeof(entry));
  const size_t blocks = fl_blocks_scratch(args, count);
  return entries > SIZE_MAX / 2 ? SIZE_MAX : entries + blocks;
}

/* Returns an integer key for a double, with the same order; NaN is above infinity, and -0 equals 0. */
static int64_t key_of_real(double x) {
  int64_t bits;
  if (x != x) {
    return INT64_MAX;
  }
  x = x == 0.0 ? 0.0 : x;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? (int64_t)(0x8000000000000000u - (uint64_t)bits) : bits;
}

static void read_entries(fl_buffer *buffer, fl_compute type, size_t length, const char *from, int64_t stride, int descending,
                         entry *entries) {
  for (size_t i = 0; i < length; i += FL_BLOCK) {
    const size_t n = length - i < FL_BLOCK ? length - i : FL_BLOCK;
    const void *x = fl_buffer_read(buffer, n, from + (int64_t)i * stride, stride);
    for (size_t j = 0; j < n; ++j) {
      const int64_t key = type == FL_COMPUTE_F64 ? key_of_real(((const double *)x)[j]) : ((const int64_t *)x)[j];
      entries[i + j].key = descending ? ~key : key;
      entries[i + j].index = (int64_t)(i + j);
    }
  }
}

/* Sorts n entries by merging, from runs of one entry upwards. Returns the array, `from` or `to`, that holds the result. */
static entry *merge_sort(entry *from, entry *to, size_t n) {
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t start = 0; start < n; start += 2 * run) {
      const size_t middle = start + run < n ? start + run : n;
      const size_t end = middle + run < n ? middle + run : n;
      size_t a = start;
      size_t b = middle;
      for (size_t i = start; i < end; ++i) {
        const int left = a < middle && (b >= end || from[a].key <= from[b].key);
        to[i] = from[left ? a++ : b++];
      }
    }
    entry *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* The functions below take the steps of libstdc++'s partial_sort, nth_element and sort, so that equal elements have the order of PyTorch's topk. */

static void swap_entries(entry *a, entry *b) {
  const entry swap = *a;
  *a = *b;
  *b = swap;
}

/* Inserts `value` into a heap, with its greatest entry on top, at `hole` or below. */
static void adjust_heap(entry *heap, size_t hole, size_t length, entry value) {
  const size_t top = hole;
  size_t child = hole;
  while (child < (length - 1) / 2) {
    child = 2 * (child + 1);
    child -= heap[child].key < heap[child - 1].key;
    heap[hole] = heap[child];
    hole = child;
  }
  if (length % 2 == 0 && child == (length - 2) / 2) {
    child = 2 * (child + 1);
    heap[hole] = heap[child - 1];
    hole = child - 1;
  }
  while (hole > top && heap[(hole - 1) / 2].key < value.key) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = value;
}

/* Moves the top of a heap of `length` entries to `result`, and the entry from there into the heap. */
static void pop_heap(entry *heap, size_t length, entry *result) {
  const entry value = *result;
  *result = heap[0];
  adjust_heap(heap, 0, length, value);
}

/* Moves the first k of n entries in order to the front, as a heap. */
static void heap_select(entry *entries, size_t k, size_t n) {
  for (size_t parent = k / 2; parent-- > 0;) {
    adjust_heap(entries, parent, k, entries[parent]);
  }
  for (size_t i = k; i < n; ++i) {
    if (entries[i].key < entries[0].key) {
      pop_heap(entries, k, &entries[i]);
    }
  }
}

static void partial_sort(entry *entries, size_t k, size_t n) {
  heap_select(entries, k, n);
  for (size_t rest = k; rest > 1; --rest) {
    pop_heap(entries, rest - 1, &entries[rest - 1]);
  }
}

static void insertion_sort(entry *entries, size_t n) {
  for (size_t i = 1; i < n; ++i) {
    const entry value = entries[i];
    size_t place = i;
    for (; place > 0 && value.key < entries[place - 1].key; --place) {
      entries[place] = entries[place - 1];
    }
    entries[place] = value;
  }
}

/* Splits the entries by the median of three. No entry before the returned index is greater than one from this index on. */
static size_t partition(entry *entries, size_t n) {
  entry *const a = entries + 1;
  entry *const b = entries + n / 2;
  entry *const c = entries + n - 1;
  entry *const low = a->key < b->key ? a : b;
  entry *const high = a->key < b->key ? b : a;
  swap_entries(entries, high->key < c->key ? high : low->key < c->key ? c : low);
  size_t first = 1;
  size_t last = n;
  for (;;) {
    while (entries[first].key < entries[0].key) {
      ++first;
    }
    do {
      --last;
    } while (entries[0].key < entries[last].key);
    if (first >= last) {
      return first;
    }
    swap_entries(&entries[first++], &entries[last]);
  }
}

/* Returns twice the binary logarithm of n, the number of partitions before a heap sorts the rest. */
static uint8_t patience(size_t n) {
  uint8_t depth = 0;
  for (; n > 1; n /= 2) {
    depth = (uint8_t)(depth + 2);
  }
  return depth;
}

/* Moves the first k of n entries in order to the front, and the greatest of them to index k - 1. */
static void nth_element(entry *entries, size_t k, size_t n) {
  size_t first = 0;
  size_t last = n;
  for (uint8_t depth = patience(n); last - first > 3; --depth) {
    if (depth == 0) {
      heap_select(entries + first, k - first, last - first);
      swap_entries(&entries[first], &entries[k - 1]);
      return;
    }
    const size_t cut = first + partition(entries + first, last - first);
    if (cut <= k - 1) {
      first = cut;
    } else {
      last = cut;
    }
  }
  insertion_sort(entries + first, last - first);
}

/* Sorts by partitions down to 16 entries, and then by insertion. */
static void introsort(entry *entries, size_t n) {
  uint32_t starts[64]; /* at most one for each unit of patience */
  uint32_t ends[64];
  uint8_t depths[64];
  size_t waiting = 1;
  starts[0] = 0;
  ends[0] = (uint32_t)n;
  depths[0] = patience(n);
  while (waiting > 0) {
    --waiting;
    const uint32_t first = starts[waiting];
    uint32_t last = ends[waiting];
    uint8_t depth = depths[waiting];
    while (last - first > 16) {
      if (depth == 0) {
        partial_sort(entries + first, last - first, last - first);
        break;
      }
      const uint32_t cut = first + (uint32_t)partition(entries + first, last - first);
      starts[waiting] = cut;
      ends[waiting] = last;
      depths[waiting++] = --depth;
      last = cut;
    }
  }
  insertion_sort(entries, n);
}

/* Moves the first k of n entries in order to the front, sorted if `sorted`, or if k is much smaller than n. */
static __attribute__((noinline)) void select_first(entry *entries, size_t k, size_t n, int sorted) {
  if (k * 64 <= n) {
    partial_sort(entries, k, n);
    return;
  }
  nth_element(entries, k, n);
  if (sorted) {
    introsort(entries, k - 1);
  }
}

/* Sorts along `dim`, or selects the first k entries (-1: all), sorted if `in_order`. `values` may be NULL. */
static fl_status sort(fl_context *context, const fl_tensor *self, int64_t dim, int64_t k, int in_order, int descending,
                      fl_tensor *values, fl_tensor *indices) {
  int32_t sizes[FL_MAX_RANK];
  uint32_t index[FL_MAX_DIMS] = {0};
  uint8_t axis;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  FL_CHECK(context, indices->dtype == FL_INT64 && (values == NULL || values->dtype == self->dtype),
           "the values must be of the input's type and the indices int64");
  FL_CHECK(context, self->dtype != FL_UINT64, "uint64 has no order here");
  memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
  const int64_t length = self->rank > 0 ? sizes[axis] : 1;
  FL_CHECK(context, k >= -1 && k <= length, "k is out of range");
  if (self->rank > 0 && k >= 0) {
    sizes[axis] = (int32_t)k;
  }
  if (values != NULL) {
    FL_TRY(fl_resize(context, values, sizes, self->rank));
  }
  FL_TRY(fl_resize(context, indices, sizes, self->rank));
  if (fl_numel(indices) == 0 || k == 0) {
    return FL_OK;
  }
  FL_TAKE(entry, entries, 2 * length);
  FL_TAKE(fl_lines, lines, 1);
  const fl_tensor *operands[3] = {self, indices, values};
  char *at[3] = {self->data, indices->data, values != NULL ? values->data : NULL};
  fl_lines_of(lines, operands, values != NULL ? 3 : 2, axis);
  const fl_compute type = fl_is_float(self->dtype) ? FL_COMPUTE_F64 : FL_COMPUTE_I64;
  const size_t kept = k >= 0 ? (size_t)k : (size_t)length;
  fl_buffer buffer = fl_buffer_for_reading(self->dtype, type);
  FL_TRY(fl_buffer_take(context, &buffer, FL_BLOCK, 1));
  do {
    read_entries(&buffer, type, (size_t)length, at[0], lines->strides[0], descending, entries);
    const entry *sorted = entries;
    if (k >= 0) {
      select_first(entries, kept, (size_t)length, in_order);
    } else {
      sorted = merge_sort(entries, entries + length, (size_t)length);
    }
    for (size_t i = 0; i < kept; ++i) {
      memcpy(at[1] + (int64_t)i * lines->strides[1], &sorted[i].index, sizeof sorted[i].index);
      if (values != NULL) {
        memcpy(at[2] + (int64_t)i * lines->strides[2], at[0] + sorted[i].index * lines->strides[0], buffer.element);
      }
    }
  } while (fl_nest_next(&lines->nest, 0, index, at));
  return FL_OK;
}

/* Sorts with the arguments dim, descending, values, indices from args[i] on. */
static fl_status sort_arguments(fl_context *context, fl_value *const *args, size_t i) {
  FL_TENSOR_ARGUMENT(self, 0);
  int64_t dim = 0;
  int64_t descending = 0;
  fl_tensor *values = fl_get_tensor(args[i + 2]);
  fl_tensor *indices = fl_get_tensor(args[i + 3]);
  FL_CHECK(context, fl_get_int(args[i], &dim) && fl_get_int(args[i + 1], &descending), "dim must be an integer and descending a bool");
  FL_CHECK(context, values != NULL && indices != NULL, "the outputs must be tensors");
  return sort(context, self, dim, -1, 1, descending != 0, values, indices);
}

fl_status fl_sort_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return sort_arguments(context, args, 1);
}

fl_status fl_sort_stable_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return sort_arguments(context, args, 2);
}

fl_status fl_argsort_stable_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(descending, 3);
  FL_TENSOR_ARGUMENT(indices, 4);
  (void)count;
  return sort(context, self, dim, -1, 1, descending != 0, NULL, indices);
}

fl_status fl_topk_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(k, 1);
  FL_INT_ARGUMENT(dim, 2);
  FL_INT_ARGUMENT(largest, 3);
  FL_INT_ARGUMENT(sorted, 4);
  FL_TENSOR_ARGUMENT(values, 5);
  FL_TENSOR_ARGUMENT(indices, 6);
  (void)count;
  FL_CHECK(context, k >= 0, "k is out of range");
  return sort(context, self, dim, k, sorted != 0, largest != 0, values, indices);
}
