/* Writes messages as numbers, which `flambeau message` turns into sentences.
 *
 * A message is # and its number, then a space and each item: a number, or the bytes of a text, a colon and the text. A value of a call is the letter
 * that stands at its tag in the alphabet, and its content: an integer, the bits of a real as an integer, a text as above, or the number of the dtype and a
 * comma and each size; a list is the values between [ and ]. */
#include "core/internal.h"

#define FL_MESSAGE(number, name, status, text) const char fl_text_##name[] = FL_SENTENCE(number, text);
#define FL_RESULT_MESSAGE(...)
#include "flambeau/messages.def"

static void fl_put_text(fl_error *error, const char *text, size_t length) {
  fl_put_number(error, (int64_t)length);
  fl_put(error, ":", 1);
  fl_put(error, text, length);
}

void fl_put_message(fl_error *error, uint8_t number, uint32_t kinds, const uintptr_t *words) {
  fl_put(error, "#", 1);
  fl_put_number(error, number);
  for (; kinds != 0; kinds >>= 2, ++words) {
    fl_put(error, " ", 1);
    if ((kinds & 3) == 2) {
      const char *text = (const char *)*words;
      fl_put_text(error, text, fl_text_length(text));
    } else {
      fl_put_number(error, fl_item_number(kinds & 3, *words));
    }
  }
}

static void fl_put_value(fl_error *error, const fl_value *value) {
  const char letter = (char)('A' + (value == NULL ? 0 : value->tag));
  fl_put(error, &letter, 1);
  if (value == NULL) {
    return;
  }
  switch (value->tag) {
    case FL_TENSOR:
      fl_put_number(error, value->as.tensor->dtype);
      for (uint8_t i = 0; i < value->as.tensor->rank; ++i) {
        fl_put(error, ",", 1);
        fl_put_number(error, value->as.tensor->sizes[i]);
      }
      break;
    case FL_STRING: fl_put_text(error, value->as.string.data, value->as.string.length); break;
    case FL_BOOLEAN: fl_put_number(error, value->as.boolean != 0); break;
    case FL_INT:
    case FL_DOUBLE: fl_put_number(error, value->as.integer); break;
    default: break;
  }
}

void fl_append_values(fl_error *error, const fl_value *const *values, uint32_t count) {
  if (error == NULL) {
    return;
  }
  FL_ERROR(error, VALUES);
  for (uint32_t i = 0; i < count; ++i) {
    const fl_value *value = values[i];
    if (i > 0 && (value == values[i - 1] || value == NULL)) {
      continue;
    }
    fl_put(error, " ", 1);
    if (value->tag < FL_INT_LIST) {
      fl_put_value(error, value);
      continue;
    }
    const fl_value *const *items = (const fl_value *const *)value->as.list.items;
    fl_put(error, "[", 1);
    for (uint32_t j = 0; j < value->as.list.count; ++j) {
      fl_put_value(error, items[j]);
    }
    fl_put(error, "]", 1);
  }
}
