/* Reads payloads, which label.py explains, and options. */
#include "payload.h"

#include <stdlib.h>
#include <string.h>

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

enum { LABEL_BYTES = 32, VERSION = 1, MOST_THREADS = 1024 };

static uint32_t number_at(const uint8_t *bytes) {
  uint32_t number = 0;
  for (int i = 3; i >= 0; --i) {
    number = number << 8 | bytes[i];
  }
  return number;
}

fl_status fl_ort_read_payload(const fl_payload *payload, ort_payload *found) {
  const uint8_t *const label = (const uint8_t *)payload->data;
  if (payload->size <= LABEL_BYTES || memcmp(label, "FLOX", 4) != 0) {
    return DAMAGED("its %llu bytes do not begin with a label", (unsigned long long)payload->size);
  }
  const uint32_t version = number_at(label + 4);
  if (version != VERSION || number_at(label + 20) != 0) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is of version %u; this runtime reads %d", version, VERSION);
  }
  *found = (ort_payload){label + LABEL_BYTES, payload->size - LABEL_BYTES, number_at(label + 8), number_at(label + 12)};
  const uint64_t size = number_at(label + 24) | (uint64_t)number_at(label + 28) << 32;
  if (size != found->size || fl_library_adler32(label + LABEL_BYTES, found->size) != number_at(label + 16)) {
    return DAMAGED("its model has another size or checksum than its label says");
  }
  /* A tensor takes more than a byte of a model: so this bounds the memory for the arguments. */
  if (found->inputs > size || found->outputs > size || found->outputs == 0) {
    return DAMAGED("%u inputs and %u outputs are not those of %llu bytes", found->inputs, found->outputs, (unsigned long long)size);
  }
  return FL_OK;
}

static fl_status take_number(const fl_option *option, long least, long most, int *found) {
  char *end = NULL;
  const long number = strtol(option->value, &end, 10);
  if (end == option->value || *end != 0 || number < least || number > most) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option '%s' is a number from %ld to %ld, not '%.40s'", option->name, least, most, option->value);
  }
  *found = (int)number;
  return FL_OK;
}

fl_status fl_ort_read_settings(const fl_backend *self, ort_settings *found) {
  fl_status status = FL_OK;
  *found = (ort_settings){NULL, 1, 0};
  for (size_t i = 0; status == FL_OK && i < self->option_count; ++i) {
    const fl_option *const option = &self->options[i];
    if (strcmp(option->name, "library") == 0) {
      found->library = option->value;
    } else if (strcmp(option->name, "threads") == 0) {
      status = take_number(option, 1, MOST_THREADS, &found->threads);
    } else if (strcmp(option->name, "log") == 0) {
      status = take_number(option, 0, 1, &found->says_all);
    } else {
      status = fl_library_fail(FL_INVALID_ARGUMENT, "it has no option '%.40s'; it has library, log, threads", option->name);
    }
  }
  return status;
}
