/* Reports errors, without stdio: stores the status, and appends texts and numbers. messages/ writes whole messages. */
#include <stdarg.h>
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

fl_status fl_report(fl_subject subject, uint32_t head, ...) {
  const fl_status status = (fl_status)(head >> 8 & 0x7f);
  uintptr_t words[FL_SENTENCES + FL_MOST_ITEMS];
  uintptr_t *word = words;
  uint32_t kinds = head >> 16;
  va_list args;
  va_start(args, head);
#if FL_SENTENCES
  *word++ = va_arg(args, uintptr_t);
#endif
  if ((head & FL_OF_METHOD) != 0) {
    *word++ = (uintptr_t)subject.origin->name;
    subject.error = subject.origin->error;
  }
  for (uint32_t left = kinds; left != 0; left >>= 2) {
    *word++ = va_arg(args, uintptr_t);
  }
  va_end(args);
  if (subject.error != NULL) {
    if (status != FL_OK) { /* else it continues a message */
      subject.error->status = status;
      subject.error->text[0] = 0;
    }
    kinds = (head & FL_OF_METHOD) != 0 ? kinds << 2 | 2 : kinds;
    fl_put_message(subject.error, (uint8_t)head, kinds, words);
  }
  return status;
}

fl_status fl_fail(fl_error *error, fl_status status) {
  if (error != NULL) {
    error->status = status;
  }
  return status;
}

void fl_clear(fl_error *error) {
  if (error != NULL) {
    error->status = FL_OK;
    error->text[0] = 0;
  }
}

fl_status fl_refuse_null(fl_error *error) { return FL_ERROR(error, NULL_POINTER); }
