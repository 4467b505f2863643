/* Error texts, without stdio. */
#include <string.h>

#include "core/internal.h"

static void fl_put(fl_error *error, size_t *length, const char *text, size_t count) {
  const size_t room = FL_ERROR_TEXT - 1 - *length;
  const int is_cut = count > room;
  if (is_cut) {
    count = room;
  }
  /* A program may hold any bytes as a name; a message stays one line of printable text. */
  for (size_t i = 0; i < count; ++i) {
    const unsigned char c = (unsigned char)text[i];
    error->text[*length + i] = c < ' ' || c == 0x7f ? '?' : text[i];
  }
  *length += count;
  error->text[*length] = 0;
  if (is_cut) {
    memcpy(error->text + *length - 3, "...", 3);
  }
}

static void fl_put_number(fl_error *error, size_t *length, int64_t number) {
  char digits[21];
  size_t at = sizeof digits;
  uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    digits[--at] = (char)('0' + (char)(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  if (number < 0) {
    digits[--at] = '-';
  }
  fl_put(error, length, digits + at, sizeof digits - at);
}

void fl_append(fl_error *error, const char *format, const fl_item *items) {
  if (error == NULL) {
    return;
  }
  size_t length = strlen(error->text);
  for (const char *c = format; *c != 0; ++c) {
    if (*c != '%') {
      fl_put(error, &length, c, 1);
    } else if (items->text != NULL) {
      fl_put(error, &length, items->text, strlen(items->text));
      ++items;
    } else {
      fl_put_number(error, &length, items->number);
      ++items;
    }
  }
}

fl_status fl_report(fl_error *error, fl_status status, const char *format, const fl_item *items) {
  if (error != NULL) {
    error->status = status;
    error->text[0] = 0;
    fl_append(error, format, items);
  }
  return status;
}

const char *fl_tag_name(uint8_t tag) {
  static const char *const names[] = {"None",      "tensor",     "string",   "float",       "int",
                                      "bool",      "bool list",  "float list", "int list", "tensor list",
                                      "optional tensor list"};
  return tag < sizeof names / sizeof *names ? names[tag] : "unknown";
}

const char *fl_dtype_name(int8_t dtype) {
  switch (dtype) {
    case FL_UINT8: return "uint8";
    case FL_INT8: return "int8";
    case FL_INT16: return "int16";
    case FL_INT32: return "int32";
    case FL_INT64: return "int64";
    case FL_FLOAT16: return "float16";
    case FL_FLOAT32: return "float32";
    case FL_FLOAT64: return "float64";
    case FL_BOOL: return "bool";
    case FL_BFLOAT16: return "bfloat16";
    case FL_UINT16: return "uint16";
    case FL_UINT32: return "uint32";
    case FL_UINT64: return "uint64";
    default: return "unknown dtype";
  }
}
