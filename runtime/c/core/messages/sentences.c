/* Writes messages as sentences. */
#include <string.h>

#include "core/internal.h"

#define FL_MESSAGE(number, name, status, text) const char fl_text_##name[] = FL_SENTENCE(number, text);
#define FL_RESULT_MESSAGE(...)
#define FL_PHRASE(number, name, text) const char fl_phrase_##name[] = text;
#include "flambeau/messages.def"

void fl_put_message(fl_error *error, uint8_t number, uint32_t kinds, const uintptr_t *words) {
  (void)number;
  const char *signs = "%&@$^!";
  const char *rest = (const char *)*words++;
  for (;;) {
    const size_t literal = kinds == 0 ? strlen(rest) : strcspn(rest, signs);
    fl_put(error, rest, literal);
    rest += literal;
    if (*rest == 0) {
      return;
    }
    const int is_reason = *rest++ == '!';
    const uint32_t kind = kinds & 3;
    const uintptr_t word = *words++;
    kinds >>= 2;
    if (is_reason && kinds != 0) {
      /* Numbers for the reason's own signs follow. */
      rest = (const char *)word;
      signs = "%";
    } else if (kind == 2) {
      fl_put(error, (const char *)word, fl_text_length((const char *)word));
    } else {
      fl_put_number(error, fl_item_number(kind, word));
    }
  }
}

/* Appends a number with at most six digits after the point. */
static void fl_put_real(fl_error *error, double x) {
  int exponent = 0;
  if (x < 0) {
    fl_put(error, "-", 1);
    x = -x;
  }
  if (!(x <= 0x1.fffffffffffffp1023)) {
    fl_put(error, x != x ? "nan" : "inf", 3);
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
  fl_put_number(error, millionths / 1000000);
  fl_put(error, ".", 1);
  do {
    millionths = millionths % 1000000 * 10;
    fl_put_number(error, millionths / 1000000);
  } while (millionths % 1000000 != 0);
  if (exponent != 0) {
    fl_put(error, "e", 1);
    fl_put_number(error, exponent);
  }
}

static void fl_put_text(fl_error *error, const char *text) { fl_put(error, text, strlen(text)); }

static void fl_put_tensor(fl_error *error, const fl_tensor *t) {
  fl_put_text(error, fl_dtype_name(t->dtype));
  fl_put(error, "[", 1);
  for (uint8_t i = 0; i < t->rank; ++i) {
    fl_put(error, ", ", i > 0 ? 2 : 0);
    fl_put_number(error, t->sizes[i]);
  }
  fl_put(error, "]", 1);
}

static void fl_put_value(fl_error *error, const fl_value *value) {
  switch (value->tag) {
    case FL_TENSOR: fl_put_tensor(error, value->as.tensor); break;
    case FL_INT: fl_put_number(error, value->as.integer); break;
    case FL_DOUBLE: fl_put_real(error, value->as.real); break;
    case FL_BOOLEAN: fl_put_text(error, value->as.boolean ? "True" : "False"); break;
    case FL_STRING:
      fl_put(error, "'", 1);
      fl_put(error, value->as.string.data, value->as.string.length);
      fl_put(error, "'", 1);
      break;
    default: fl_put_text(error, fl_tag_name(value->tag)); break;
  }
}

void fl_append_values(fl_error *error, const fl_value *const *values, uint32_t count) {
  if (error == NULL) {
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const fl_value *value = values[i];
    if (i > 0 && (value == values[i - 1] || value == NULL)) {
      continue;
    }
    fl_put(error, ", ", i > 0 ? 2 : 0);
    if (value->tag >= FL_INT_LIST) {
      const fl_value *const *items = (const fl_value *const *)value->as.list.items;
      fl_put(error, "[", 1);
      for (uint32_t j = 0; j < value->as.list.count; ++j) {
        static const fl_value none = {.tag = FL_NONE};
        fl_put(error, ", ", j > 0 ? 2 : 0);
        fl_put_value(error, items[j] != NULL ? items[j] : &none);
      }
      fl_put(error, "]", 1);
    } else {
      fl_put_value(error, value);
    }
  }
}

const char *fl_tag_name(uint8_t tag) {
  static const char *const names[] = {
#define FL_KIND(words) words,
#include "flambeau/messages.def"
  };
  return tag < sizeof names / sizeof *names ? names[tag] : "unknown";
}

const char *fl_table_name(uint8_t type) {
  static const char *const names[] = {
#define FL_TABLE(name, words) words,
#include "flambeau/messages.def"
  };
  return names[type];
}

const char *fl_dtype_name(int8_t dtype) {
  switch (dtype) {
#define FL_SCALAR_TYPE(constant, number, bytes, storage, mlir, name, ...) case FL_##constant: return #name;
#include "flambeau/scalar_types.def"
    default: return "unknown dtype";
  }
}
