/* Finds the weights that a payload names, and writes the text of its model with their places. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

/* A piece of the text. */
typedef struct span {
  const char *at;
  size_t length;
} span;

/* An attribute that says where a constant's bytes are: the text of it, and these bytes. */
typedef struct constant {
  span text;
  const uint8_t *data;
  uint64_t size;
} constant;

/* Takes ` name="value"` off the front of a text. Returns whether it is there. In a value, a quotation mark is written as `&quot;`. */
static int take_attribute(span *text, const char *name, span *value) {
  const size_t begin = strlen(name);
  if (text->length < begin || memcmp(text->at, name, begin) != 0) {
    return 0;
  }
  const char *const end = memchr(text->at + begin, '"', text->length - begin);
  if (end == NULL) {
    return 0;
  }
  *value = (span){text->at + begin, (size_t)(end - text->at) - begin};
  *text = (span){end + 1, text->length - (size_t)(end + 1 - text->at)};
  return 1;
}

static int read_number(span text, uint64_t *number) {
  *number = 0;
  for (size_t i = 0; i < text.length; ++i) {
    if (text.at[i] < '0' || text.at[i] > '9') {
      return 0;
    }
    *number = *number * 10 + (uint64_t)(text.at[i] - '0');
  }
  return text.length > 0 && text.length < 19;
}

/* Finds the next constant in a text, and takes all up to it off the text. Returns 0 when there is none. */
static int next_constant(span *text, span *found, span *value, int *is_named) {
  for (const char *space; (space = memchr(text->at, ' ', text->length)) != NULL;) {
    *text = (span){space, text->length - (size_t)(space - text->at)};
    *is_named = take_attribute(text, " key=\"", value);
    if (*is_named || take_attribute(text, " offset=\"", value)) {
      *found = (span){space, (size_t)(text->at - space)};
      return 1;
    }
    *text = (span){space + 1, text->length - 1};
  }
  return 0;
}

/* Finds the bytes of constant `index`; `text` is what follows its place. */
static fl_status find_bytes(const ov_payload *payload, fl_library_names *names, uint32_t index, span text, span value, int is_named, constant *found) {
  span size;
  if (!take_attribute(&text, " size=\"", &size) || !read_number(size, &found->size)) {
    return DAMAGED("constant %u has no size", index);
  }
  if (!is_named) {
    uint64_t offset;
    if (!read_number(value, &offset) || offset > payload->constant_bytes || found->size > payload->constant_bytes - offset) {
      return DAMAGED("constant %u lies outside of its constants", index);
    }
    found->data = payload->constants + offset;
    return FL_OK;
  }
  const void *data = NULL;
  size_t stored = 0;
  const uint32_t length = value.length < UINT32_MAX ? (uint32_t)value.length : UINT32_MAX;
  const fl_status status = fl_library_find_named(names, "constant", index, value.at, length, &data, &stored);
  if (status == FL_OK && stored < found->size) {
    return DAMAGED("constant %u needs %llu bytes; the named data '%.*s' has %llu", index, (unsigned long long)found->size, length < 80 ? (int)length : 80,
                   value.at, (unsigned long long)stored);
  }
  found->data = (const uint8_t *)data;
  return status;
}

/* Writes the text with the offset of each constant from the first of them. */
static void write_text(ov_payload *payload, const constant *constants, size_t count, uintptr_t first) {
  const char *from = payload->model, *const end = payload->model + payload->model_bytes;
  char *to = payload->placed;
  for (size_t i = 0; i < count; ++i) {
    const size_t before = (size_t)(constants[i].text.at - from);
    memcpy(to, from, before);
    to += before;
    to += sprintf(to, " offset=\"%" PRIuPTR "\"", (uintptr_t)constants[i].data - first);
    from = constants[i].text.at + constants[i].text.length;
  }
  memcpy(to, from, (size_t)(end - from));
  payload->model_bytes = (size_t)(to - payload->placed) + (size_t)(end - from);
  payload->model = payload->placed;
}

fl_status fl_ov_place_weights(const fl_payload *payload, ov_payload *read) {
  enum { MOST_WRITTEN = 32 }; /* bytes of an offset */
  fl_library_names names = fl_library_names_of(payload);
  span text = {read->model, read->model_bytes}, found, value;
  size_t count = 0;
  int is_named, any_named = 0;
  while (next_constant(&text, &found, &value, &is_named)) {
    ++count;
    any_named = any_named || is_named;
  }
  if (read->is_compiled || !any_named) {
    return FL_OK;
  }
  constant *const constants = (constant *)calloc(count, sizeof *constants);
  read->placed = (char *)malloc(read->model_bytes + count * MOST_WRITTEN);
  fl_status status = constants == NULL || read->placed == NULL ? fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for its text") : FL_OK;
  const uint8_t *first = NULL;
  uintptr_t end = 0;
  text = (span){read->model, read->model_bytes};
  for (size_t i = 0; status == FL_OK && i < count; ++i) {
    (void)next_constant(&text, &constants[i].text, &value, &is_named);
    status = find_bytes(read, &names, (uint32_t)i, text, value, is_named, &constants[i]);
    if (status == FL_OK) {
      const uintptr_t at = (uintptr_t)constants[i].data, behind = at + (uintptr_t)constants[i].size;
      first = i == 0 || at < (uintptr_t)first ? constants[i].data : first;
      end = behind > end ? behind : end;
    }
  }
  if (status == FL_OK) {
    write_text(read, constants, count, (uintptr_t)first);
    read->constants = first;
    read->constant_bytes = (size_t)(end - (uintptr_t)first);
  }
  free(constants);
  return status;
}
