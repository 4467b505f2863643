/* Reads FlatBuffers that come from files. Position 0 stands for what is absent; what is outside of the bytes is absent too. */
#ifndef FLAMBEAU_FLATBUFFER_H
#define FLAMBEAU_FLATBUFFER_H

#include <stdint.h>
#include <string.h>

typedef struct fl_flatbuffer {
  const uint8_t *data;
  uint32_t size; /* INT32_MAX at most */
} fl_flatbuffer;

/* Returns the little-endian number of so many bytes. */
static inline uint64_t fl_flatbuffer_number(const uint8_t *at, uint32_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes);
  return value;
}

/* Returns a position if so many bytes lie behind it, else 0. */
static inline uint32_t fl_flatbuffer_checked(const fl_flatbuffer *in, uint64_t at, uint64_t bytes) {
  return at != 0 && at <= in->size && bytes <= in->size - at ? (uint32_t)at : 0;
}

/* Returns the position of a field of a table. */
static inline uint32_t fl_flatbuffer_field(const fl_flatbuffer *in, uint32_t table, uint32_t id, uint32_t bytes) {
  if (fl_flatbuffer_checked(in, table, 4) == 0) {
    return 0;
  }
  const int64_t start = (int64_t)table - (int32_t)fl_flatbuffer_number(in->data + table, 4);
  const uint32_t fields = start > 0 ? fl_flatbuffer_checked(in, (uint64_t)start, 4) : 0;
  const uint64_t length = fields == 0 ? 0 : fl_flatbuffer_number(in->data + fields, 2);
  if (6 + 2 * (uint64_t)id > length || fl_flatbuffer_checked(in, fields, length) == 0) {
    return 0;
  }
  const uint64_t offset = fl_flatbuffer_number(in->data + fields + 4 + 2 * id, 2);
  return offset < 4 ? 0 : fl_flatbuffer_checked(in, table + offset, bytes);
}

/* Returns the number in a field. */
static inline uint64_t fl_flatbuffer_value(const fl_flatbuffer *in, uint32_t table, uint32_t id, uint32_t bytes, uint64_t otherwise) {
  const uint32_t at = fl_flatbuffer_field(in, table, id, bytes);
  return at == 0 ? otherwise : fl_flatbuffer_number(in->data + at, bytes);
}

/* Returns the position to which the offset at a position refers. */
static inline uint32_t fl_flatbuffer_target(const fl_flatbuffer *in, uint32_t at) {
  return at == 0 ? 0 : fl_flatbuffer_checked(in, at + fl_flatbuffer_number(in->data + at, 4), 4);
}

/* Returns the first of the elements of a vector, and stores their number. */
static inline uint32_t fl_flatbuffer_vector(const fl_flatbuffer *in, uint32_t table, uint32_t id, uint32_t bytes, uint32_t *count) {
  const uint32_t at = fl_flatbuffer_target(in, fl_flatbuffer_field(in, table, id, 4));
  const uint64_t found = at == 0 ? 0 : fl_flatbuffer_number(in->data + at, 4);
  *count = at != 0 && fl_flatbuffer_checked(in, (uint64_t)at + 4, found * bytes) != 0 ? (uint32_t)found : 0;
  return *count == 0 ? 0 : at + 4;
}

/* Returns the table that an element of a vector refers to. */
static inline uint32_t fl_flatbuffer_element(const fl_flatbuffer *in, uint32_t first, uint32_t index) {
  return fl_flatbuffer_target(in, first + 4 * index);
}

static inline uint32_t fl_flatbuffer_root(const fl_flatbuffer *in) {
  return in->size < 4 ? 0 : fl_flatbuffer_checked(in, fl_flatbuffer_number(in->data, 4), 4);
}

#endif
