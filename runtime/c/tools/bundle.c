/* Reads bundled programs from files that are not trusted: reading outside of the file returns 0, and marks the bundle as damaged. */
#include "tools/bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/dtype.h"

enum { BUNDLE_SUITES = 1, BUNDLE_PROGRAM = 2 };
enum { SUITE_METHOD = 0, SUITE_CASES = 1 };
enum { VALUE_KIND = 0, VALUE_CONTENT = 1 };
enum { KIND_TENSOR = 1, KIND_INT, KIND_BOOL, KIND_DOUBLE };
enum { CONTENT_TYPE = 0, CONTENT_SIZES, CONTENT_DATA, CONTENT_DIM_ORDER };

/* Returns whether `count` elements of `width` bytes from position `at` on lie in the file. */
static int holds(bundle *b, uint64_t at, uint64_t count, uint64_t width) {
  const int inside = at <= b->size && count <= (b->size - at) / width;
  if (!inside && !b->is_damaged) {
    (void)snprintf(b->reason, sizeof b->reason, "the bundled program is damaged or cut off: it refers to byte %llu of %lu",
                   (unsigned long long)(at + count * width - 1), (unsigned long)b->size);
  }
  b->is_damaged |= !inside;
  return inside;
}

static uint32_t word(bundle *b, uint64_t at) {
  uint32_t value = 0;
  if (holds(b, at, 4, 1)) {
    memcpy(&value, b->file + at, 4);
  }
  return value;
}

/* Returns the position of the table to which the offset at `at` refers; 0 for none. */
static uint32_t follow(bundle *b, uint32_t at) {
  const uint64_t target = at == 0 ? 0 : (uint64_t)at + word(b, at);
  return holds(b, target, 4, 1) ? (uint32_t)target : 0;
}

/* Returns the position of field `id`; 0 when the table leaves it at its default. */
static uint32_t field(bundle *b, uint32_t table, uint32_t id) {
  uint16_t entry[2] = {0, 0};
  if (table == 0) {
    return 0;
  }
  const int64_t vtable = (int64_t)table - (int32_t)word(b, table);
  if (vtable < 0 || !holds(b, (uint64_t)vtable, 4, 1)) {
    b->is_damaged = 1;
    return 0;
  }
  memcpy(&entry[0], b->file + vtable, 2);
  const uint32_t place = 4 + 2 * id;
  if (place + 2 > entry[0] || !holds(b, (uint64_t)vtable + place, 2, 1)) {
    return 0;
  }
  memcpy(&entry[1], b->file + vtable + place, 2);
  return entry[1] != 0 && holds(b, (uint64_t)table + entry[1], 1, 1) ? table + entry[1] : 0;
}

/* Returns the position of the elements, of `width` bytes each, of the vector in field `id`, and stores their number in `count`. */
static uint32_t vector(bundle *b, uint32_t table, uint32_t id, uint32_t width, uint32_t *count) {
  const uint32_t at = follow(b, field(b, table, id));
  *count = at == 0 ? 0 : word(b, at);
  if (at == 0 || !holds(b, (uint64_t)at + 4, *count, width)) {
    *count = 0;
    return 0;
  }
  return at + 4;
}

/* Returns the position of table `index` of the vector of tables in field `id`; 0 when there is none. */
static uint32_t element(bundle *b, uint32_t table, uint32_t id, uint32_t index) {
  uint32_t count = 0;
  const uint32_t at = vector(b, table, id, 4, &count);
  return index < count ? follow(b, at + 4 * index) : 0;
}

int bundle_is(const void *file, size_t size) { return size >= 8 && memcmp((const uint8_t *)file + 4, "BP08", 4) == 0; }

const char *bundle_open(bundle *b, const void *file, size_t size, const char *method, const void **program, size_t *program_size) {
  uint32_t count = 0;
  *b = (bundle){.file = (const uint8_t *)file, .size = size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)size};
  if (!bundle_is(file, size)) {
    return "it is not a bundled program: bytes 4 to 7 are not \"BP08\"";
  }
  if (size > b->size) {
    return "a bundled program of more than 2 GB cannot be read";
  }
  const uint32_t root = word(b, 0);
  const uint32_t at = vector(b, root, BUNDLE_PROGRAM, 1, &count);
  *program = b->file + at;
  *program_size = count;
  uint32_t suites = 0;
  (void)vector(b, root, BUNDLE_SUITES, 4, &suites);
  for (uint32_t i = 0; method != NULL && i < suites && b->suite == 0; ++i) {
    uint32_t length = 0;
    const uint32_t suite = element(b, root, BUNDLE_SUITES, i);
    const uint32_t name = vector(b, suite, SUITE_METHOD, 1, &length);
    if (length == strlen(method) && memcmp(b->file + name, method, length) == 0) {
      b->suite = suite;
    }
  }
  if (b->is_damaged || at == 0) {
    return b->reason[0] != '\0' ? b->reason : "the bundled program is damaged";
  }
  return method != NULL && b->suite == 0 ? "the bundled program has no test cases for this method" : NULL;
}

uint32_t bundle_cases(bundle *b) {
  uint32_t count = 0;
  (void)vector(b, b->suite, SUITE_CASES, 4, &count);
  return count;
}

uint32_t bundle_count(bundle *b, uint32_t number, bundle_list list) {
  uint32_t count = 0;
  (void)vector(b, element(b, b->suite, SUITE_CASES, number), (uint32_t)list, 4, &count);
  return count;
}

static int read_tensor(bundle *b, uint32_t table, bundle_value *value) {
  uint32_t rank = 0;
  uint32_t orders = 0;
  uint32_t bytes = 0;
  const uint32_t sizes = vector(b, table, CONTENT_SIZES, 4, &rank);
  const uint32_t order = vector(b, table, CONTENT_DIM_ORDER, 1, &orders);
  const uint32_t data = vector(b, table, CONTENT_DATA, 1, &bytes);
  const uint32_t type = field(b, table, CONTENT_TYPE);
  if (rank > FL_MAX_RANK || orders != rank) {
    return 0;
  }
  union {
    const uint8_t *read;
    void *write;
  } content = {b->file + data};
  value->tensor = (fl_tensor){.data = content.write, .sizes = value->sizes, .strides = value->strides, .dim_order = b->file + order,
                              .capacity = bytes, .rank = (uint8_t)rank, .dtype = type == 0 ? 0 : (int8_t)b->file[type]};
  const size_t width = fl_element_size(value->tensor.dtype);
  uint64_t elements = 1;
  uint32_t seen = 0;
  for (uint32_t i = rank; i-- > 0;) { /* the innermost dimension first */
    const uint8_t dimension = b->file[order + i];
    if (dimension >= rank || (seen >> dimension & 1u) != 0) {
      return 0;
    }
    seen |= 1u << dimension;
    memcpy(&value->sizes[dimension], b->file + sizes + 4 * (uint32_t)dimension, 4);
    value->strides[dimension] = (int32_t)elements;
    if (value->sizes[dimension] < 0 || (elements *= (uint32_t)value->sizes[dimension]) > INT32_MAX) {
      return 0;
    }
  }
  value->value.tag = FL_TENSOR;
  value->value.as.tensor = &value->tensor;
  return width != 0 && elements * width <= bytes && (uintptr_t)content.read % (width > 8 ? 8 : width) == 0;
}

int bundle_read(bundle *b, uint32_t number, bundle_list list, uint32_t index, bundle_value *value) {
  const uint32_t table = element(b, element(b, b->suite, SUITE_CASES, number), (uint32_t)list, index);
  const uint32_t kind = field(b, table, VALUE_KIND);
  const uint32_t content = follow(b, field(b, table, VALUE_CONTENT));
  memset(value, 0, sizeof *value);
  if (kind == 0 || content == 0) {
    return 0;
  }
  if (b->file[kind] == KIND_TENSOR) {
    return read_tensor(b, content, value) && !b->is_damaged;
  }
  const uint32_t at = field(b, content, 0);
  const uint64_t width = b->file[kind] == KIND_BOOL ? 1 : 8;
  if (b->file[kind] > KIND_DOUBLE || b->file[kind] < KIND_TENSOR || (at != 0 && !holds(b, at, width, 1))) {
    return 0;
  }
  value->value.tag = b->file[kind] == KIND_INT ? FL_INT : b->file[kind] == KIND_BOOL ? FL_BOOLEAN : FL_DOUBLE;
  if (at != 0) {
    memcpy(&value->value.as, b->file + at, width);
  }
  return !b->is_damaged;
}

static int is_close(double expected, double found, double rtol, double atol, double *most) {
  if (expected == found || (isnan(expected) && isnan(found))) {
    return 1;
  }
  const double difference = isnan(expected) || isnan(found) ? (double)INFINITY : fabs(expected - found);
  *most = difference > *most ? difference : *most;
  return isfinite(expected) && difference <= atol + rtol * fabs(expected);
}

/* Returns the dtype of the two parts of a complex dtype; any other dtype itself. */
static int8_t part_of(int8_t dtype) { return dtype == FL_COMPLEX64 ? FL_FLOAT32 : dtype == FL_COMPLEX128 ? FL_FLOAT64 : dtype; }

static int is_same_element(int8_t dtype, const uint8_t *expected, const uint8_t *found, double rtol, double atol, double *most) {
  const int8_t part = part_of(dtype);
  const size_t width = fl_element_size(part);
  int is_same = 1;
  for (size_t at = 0; at < fl_element_size(dtype); at += width) {
    const fl_convert_fn widen = fl_widen(part, FL_COMPUTE_F64);
    double numbers[2];
    if (widen == NULL) {
      memcpy(&numbers[0], expected + at, width);
      memcpy(&numbers[1], found + at, width);
    } else {
      widen(1, &numbers[0], expected + at);
      widen(1, &numbers[1], found + at);
    }
    const int is_float = fl_is_float(part);
    const int close = is_close(numbers[0], numbers[1], is_float ? rtol : 0, is_float ? atol : 0, most);
    is_same &= is_float ? close : memcmp(expected + at, found + at, width) == 0;
  }
  return is_same;
}

static uint64_t tensor_differences(const fl_tensor *expected, const fl_tensor *found, double rtol, double atol, double *most) {
  const size_t width = fl_element_size(expected->dtype);
  uint64_t elements = 1;
  uint64_t wrong = 0;
  for (uint8_t d = 0; d < expected->rank; ++d) {
    elements *= (uint32_t)expected->sizes[d];
  }
  if (expected->dtype != found->dtype || !fl_same_sizes(expected, found)) {
    *most = (double)INFINITY;
    return elements > 0 ? elements : 1;
  }
  for (uint64_t i = 0; i < elements; ++i) {
    uint64_t rest = i;
    uint64_t at[2] = {0, 0};
    for (uint8_t d = expected->rank; d-- > 0;) {
      const uint64_t place = rest % (uint32_t)expected->sizes[d];
      rest /= (uint32_t)expected->sizes[d];
      at[0] += place * (uint32_t)expected->strides[d];
      at[1] += place * (uint32_t)found->strides[d];
    }
    const uint8_t *left = (const uint8_t *)expected->data + at[0] * width;
    const uint8_t *right = (const uint8_t *)found->data + at[1] * width;
    wrong += !is_same_element(expected->dtype, left, right, rtol, atol, most);
  }
  return wrong;
}

uint64_t bundle_differences(const fl_value *expected, const fl_value *found, double rtol, double atol, double *most) {
  if (expected->tag != found->tag) {
    *most = (double)INFINITY;
    return 1;
  }
  switch (expected->tag) {
    case FL_TENSOR: return tensor_differences(expected->as.tensor, found->as.tensor, rtol, atol, most);
    case FL_DOUBLE: return !is_close(expected->as.real, found->as.real, rtol, atol, most);
    case FL_INT: return expected->as.integer != found->as.integer;
    default: return (expected->as.boolean != 0) != (found->as.boolean != 0);
  }
}
