/* Reports errors: stores the status, and has the message written (messages/). */
#include <stdarg.h>

#include "core/internal.h"

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
