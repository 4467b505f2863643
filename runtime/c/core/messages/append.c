/* Appends texts and numbers to errors, without stdio. */
#include <string.h>

#include "core/internal.h"

void fl_put(fl_error *error, const char *text, size_t count) {
  const size_t length = strlen(error->text);
  const size_t room = FL_ERROR_TEXT - 1 - length;
  char *const end = error->text + length;
  const size_t written = count > room ? room : count;
  /* Names in a program may hold any bytes: control characters become '?', so that a message is one printable line. */
  for (size_t i = 0; i < written; ++i) {
    const unsigned char c = (unsigned char)text[i];
    end[i] = c < ' ' || c == 0x7f ? '?' : text[i];
  }
  end[written] = 0;
  if (written < count) {
    memcpy(error->text + FL_ERROR_TEXT - 4, "...", 4);
  }
}

void fl_put_number(fl_error *error, int64_t number) {
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
  fl_put(error, digits + at, sizeof digits - at);
}

size_t fl_text_length(const char *text) {
  const char *end = (const char *)memchr(text, 0, FL_ERROR_TEXT);
  return end == NULL ? FL_ERROR_TEXT : (size_t)(end - text);
}
