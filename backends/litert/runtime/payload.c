/* Reads payloads, which label.py explains, and options. */
#include "payload.h"

#include <stdlib.h>
#include <string.h>

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

enum { LABEL_BYTES = 32, STATIC = 1, OPEN = 2, RANGE_BYTES = 8, MOST_THREADS = 1024 };

static uint32_t u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

fl_status fl_lrt_read_payload(const fl_payload *payload, lrt_payload *found) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  if (payload->size <= LABEL_BYTES) {
    return DAMAGED("it has %llu bytes, no more than its label", (unsigned long long)payload->size);
  }
  const size_t size = payload->size - LABEL_BYTES;
  const uint8_t *const label = data + size;
  if (memcmp(label, "FLTF", 4) != 0) {
    return DAMAGED("it does not end with a label");
  }
  const uint32_t version = u32(label + 4);
  if (version != STATIC && version != OPEN) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is of version %u; this runtime reads %d and %d", version, STATIC, OPEN);
  }
  *found = (lrt_payload){data, size, u32(label + 8), u32(label + 12), NULL};
  if (fl_library_adler32(data, size) != u32(label + 16)) {
    return DAMAGED("its model has another checksum than its label says");
  }
  /* A tensor takes more than a byte of a model: so this bounds the memory for the arguments. */
  if (found->inputs > size || found->outputs > size || found->outputs == 0) {
    return DAMAGED("%u inputs and %u outputs are not those of %llu bytes", found->inputs, found->outputs, (unsigned long long)size);
  }
  if (version == OPEN) {
    const size_t bytes = (size_t)found->inputs * RANGE_BYTES;
    if (bytes >= size) {
      return DAMAGED("%u inputs have no sizes in %llu bytes", found->inputs, (unsigned long long)size);
    }
    found->size = size - bytes;
    found->ranges = data + found->size;
  }
  for (uint32_t i = 0; found->ranges != NULL && i < found->inputs; ++i) {
    uint32_t most;
    const uint32_t least = fl_lrt_least_size(found, i, &most);
    if (least == 0 || least > most || most > INT32_MAX) {
      return DAMAGED("argument %u has %u to %u entries", i, least, most);
    }
  }
  return FL_OK;
}

uint32_t fl_lrt_least_size(const lrt_payload *payload, size_t index, uint32_t *most) {
  const uint8_t *const range = payload->ranges + index * RANGE_BYTES;
  *most = u32(range + 4);
  return u32(range);
}

/* ---- Options ---- */

typedef struct kernels {
  const char *name;
  int mode;
} kernels;

static const kernels sets[] = {{"xnnpack", 0}, {"optimized", 2}, {"reference", 1}};

static fl_status take_kernels(const char *name, size_t length, lrt_settings *found) {
  while (length > 0 && name[length - 1] == 0) {
    --length;
  }
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    if (strlen(sets[i].name) == length && memcmp(sets[i].name, name, length) == 0) {
      found->mode = sets[i].mode;
      return FL_OK;
    }
  }
  return fl_library_fail(FL_INVALID_ARGUMENT, "its option 'kernels' is xnnpack, optimized or reference, not '%.*s'", length < 40 ? (int)length : 40, name);
}

/* Reads a number of `least` to `most`. */
static fl_status take_number(const char *name, const char *text, long least, long most, int *found) {
  char *end = NULL;
  const long number = strtol(text, &end, 10);
  if (end == text || *end != 0 || number < least || number > most) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option '%s' is a number from %ld to %ld, not '%.40s'", name, least, most, text);
  }
  *found = (int)number;
  return FL_OK;
}

fl_status fl_lrt_read_settings(const fl_backend *self, const fl_payload *payload, lrt_settings *found) {
  fl_status status = FL_OK;
  *found = (lrt_settings){.mode = sets[0].mode, .threads = 1};
  for (uint32_t i = 0; status == FL_OK && i < payload->compile_spec_count; ++i) {
    const fl_compile_spec spec = fl_payload_compile_spec(payload, i);
    status = strcmp(spec.key, "kernels") == 0 ? take_kernels((const char *)spec.value, spec.size, found) : FL_OK;
  }
  for (size_t i = 0; status == FL_OK && i < self->option_count; ++i) {
    const char *const name = self->options[i].name, *const value = self->options[i].value;
    if (strcmp(name, "library") == 0) {
      found->library = value;
    } else if (strcmp(name, "kernels") == 0) {
      status = take_kernels(value, strlen(value), found);
    } else if (strcmp(name, "threads") == 0) {
      status = take_number(name, value, 1, MOST_THREADS, &found->threads);
    } else if (strcmp(name, "log") == 0) {
      status = take_number(name, value, 0, 1, &found->says_all);
    } else {
      status = fl_library_fail(FL_INVALID_ARGUMENT, "it has no option '%.40s'; it has kernels, library, log, threads", name);
    }
  }
  return status;
}
