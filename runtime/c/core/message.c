/* Writes error texts without stdio. */
#include <string.h>

#include "core/internal.h"

static void fl_put(fl_error *error, size_t *length, const char *text, size_t count) {
  const size_t room = FL_ERROR_TEXT - 1 - *length;
  const int is_cut = count > room;
  if (is_cut) {
    count = room;
  }
  /* Names in a program may hold any bytes: control characters become '?', so that a message is one printable line. */
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
      /* A name may be as long as the file: only as many bytes are read as a text can hold. */
      const char *end = (const char *)memchr(items->text, 0, FL_ERROR_TEXT);
      fl_put(error, &length, items->text, end == NULL ? FL_ERROR_TEXT : (size_t)(end - items->text));
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

fl_status fl_refuse_null(fl_error *error) { return fl_report(error, FL_INVALID_ARGUMENT, "a pointer that has to be given is NULL", NULL); }

/* Appends a number with at most six digits after the point. */
static void fl_put_real(fl_error *error, size_t *length, double x) {
  int exponent = 0;
  if (x < 0) {
    fl_put(error, length, "-", 1);
    x = -x;
  }
  if (!(x <= 0x1.fffffffffffffp1023)) {
    fl_put(error, length, x != x ? "nan" : "inf", 3);
    return;
  }
  if (x >= 1e9 || (x != 0 && x < 1e-3)) {
    for (; x >= 10; x /= 10) {
      ++exponent;
    }
    for (; x < 1; x *= 10) {
      --exponent;
    }
  }
  int64_t millionths = (int64_t)(x * 1e6 + 0.5);
  fl_put_number(error, length, millionths / 1000000);
  fl_put(error, length, ".", 1);
  do {
    millionths = millionths % 1000000 * 10;
    fl_put_number(error, length, millionths / 1000000);
  } while (millionths % 1000000 != 0);
  if (exponent != 0) {
    fl_put(error, length, "e", 1);
    fl_put_number(error, length, exponent);
  }
}

static void fl_put_text(fl_error *error, size_t *length, const char *text) { fl_put(error, length, text, strlen(text)); }

static void fl_put_tensor(fl_error *error, size_t *length, const fl_tensor *t) {
  fl_put_text(error, length, fl_dtype_name(t->dtype));
  fl_put(error, length, "[", 1);
  for (uint8_t i = 0; i < t->rank; ++i) {
    fl_put(error, length, ", ", i > 0 ? 2 : 0);
    fl_put_number(error, length, t->sizes[i]);
  }
  fl_put(error, length, "]", 1);
}

static void fl_put_value(fl_error *error, size_t *length, const fl_value *value) {
  switch (value->tag) {
    case FL_TENSOR: fl_put_tensor(error, length, value->as.tensor); break;
    case FL_INT: fl_put_number(error, length, value->as.integer); break;
    case FL_DOUBLE: fl_put_real(error, length, value->as.real); break;
    case FL_BOOLEAN: fl_put_text(error, length, value->as.boolean ? "True" : "False"); break;
    case FL_STRING:
      fl_put(error, length, "'", 1);
      fl_put(error, length, value->as.string.data, value->as.string.length);
      fl_put(error, length, "'", 1);
      break;
    default: fl_put_text(error, length, fl_tag_name(value->tag)); break;
  }
}

void fl_append_values(fl_error *error, const fl_value *const *values, uint32_t count) {
  if (error == NULL) {
    return;
  }
  size_t length = strlen(error->text);
  for (uint32_t i = 0; i < count; ++i) {
    const fl_value *value = values[i];
    if (i > 0 && (value == values[i - 1] || value == NULL)) {
      continue;
    }
    fl_put(error, &length, ", ", i > 0 ? 2 : 0);
    if (value->tag >= FL_INT_LIST) {
      const fl_value *const *items = (const fl_value *const *)value->as.list.items;
      fl_put(error, &length, "[", 1);
      for (uint32_t j = 0; j < value->as.list.count; ++j) {
        static const fl_value none = {.tag = FL_NONE};
        fl_put(error, &length, ", ", j > 0 ? 2 : 0);
        fl_put_value(error, &length, items[j] != NULL ? items[j] : &none);
      }
      fl_put(error, &length, "]", 1);
    } else {
      fl_put_value(error, &length, value);
    }
  }
}

const char *fl_tag_name(uint8_t tag) {
  static const char *const names[] = {"None",      "tensor",     "string",   "float",       "int",
                                      "bool",      "bool list",  "float list", "int list", "tensor list",
                                      "optional tensor list"};
  return tag < sizeof names / sizeof *names ? names[tag] : "unknown";
}

const char *fl_dtype_name(int8_t dtype) {
  switch (dtype) {
#define FL_SCALAR_TYPE(constant, number, bytes, storage, mlir, name, ...) case FL_##constant: return #name;
#include "flambeau/scalar_types.def"
    default: return "unknown dtype";
  }
}
