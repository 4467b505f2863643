/* Reads payloads, whose bytes payload.py documents, and options. */
#include "payload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 64, COMPILED_LABEL_BYTES = 36, OLDEST = 1, VERSION = 2, COMPILED_VERSION = 1, ALIGNMENT = 64, MOST_THREADS = 1024 };

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

static uint32_t u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }
static uint64_t u64(const uint8_t *at) { return u32(at) | (uint64_t)u32(at + 4) << 32; }

/* Returns the number in 8 letters, of which 'a' is 0 and 'p' is 15. */
static uint32_t letters(const uint8_t *at) {
  uint32_t number = 0;
  for (int i = 0; i < 8; ++i) {
    number = number << 4 | ((uint32_t)(at[i] - 'a') & 15u);
  }
  return number;
}

static fl_status take_label(uint32_t version, uint32_t newest, uint32_t inputs, uint32_t outputs, uint32_t checksum, ov_payload *found) {
  if (version < OLDEST || version > newest) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is of version %u; this runtime reads %u to %u", version, (unsigned)OLDEST, newest);
  }
  if (fl_library_adler32((const uint8_t *)found->model, found->model_bytes) != checksum) {
    return DAMAGED("its model has another checksum than its label says");
  }
  found->is_labelled = 1;
  found->inputs = inputs;
  found->outputs = outputs;
  return FL_OK;
}

static fl_status read_interchange(const uint8_t *data, uint64_t size, ov_payload *found) {
  static const char kind[16] = "interchange";
  if (size < LABEL_BYTES) {
    return DAMAGED("it has %llu bytes, less than its label", (unsigned long long)size);
  }
  const uint64_t text = u64(data + 40), start = u64(data + 48), constants = u64(data + 56);
  if (text > size - LABEL_BYTES || start < LABEL_BYTES + text || start % ALIGNMENT != 0 || start > size || constants != size - start ||
      memcmp(data + 8, kind, sizeof kind) != 0 || u32(data + 36) != 0) {
    return DAMAGED("its text and its constants are not its %llu bytes", (unsigned long long)size);
  }
  *found = (ov_payload){.is_lines = u32(data + 4) > 1,
                        .model = (const char *)data + LABEL_BYTES,
                        .model_bytes = (size_t)text,
                        .constants = data + start,
                        .constant_bytes = (size_t)constants};
  return take_label(u32(data + 4), VERSION, u32(data + 24), u32(data + 28), u32(data + 32), found);
}

fl_status fl_ov_read_payload(const fl_payload *payload, ov_payload *found) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  const uint64_t size = payload->size;
  if (size < COMPILED_LABEL_BYTES) {
    return DAMAGED("it has %llu bytes, less than its label", (unsigned long long)size);
  }
  if (memcmp(data, "FLOV", 4) == 0) {
    return read_interchange(data, size, found);
  }
  const uint8_t *const label = data + size - COMPILED_LABEL_BYTES;
  *found = (ov_payload){.model = (const char *)data, .model_bytes = (size_t)size, .is_compiled = 1};
  if (memcmp(label, "flov", 4) != 0) {
    return FL_OK; /* a payload of ExecuTorch's compiler has no label */
  }
  found->model_bytes = (size_t)size - COMPILED_LABEL_BYTES;
  return take_label(letters(label + 4), COMPILED_VERSION, letters(label + 12), letters(label + 20), letters(label + 28), found);
}

/* ---- Options ---- */

static fl_status take_text(const char *name, const char *text, size_t length, char *place, size_t room) {
  while (length > 0 && text[length - 1] == 0) {
    --length;
  }
  if (length == 0 || length >= room) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option '%s' is a text of 1 to %u bytes", name, (unsigned)room - 1);
  }
  memcpy(place, text, length);
  place[length] = 0;
  return FL_OK;
}

static fl_status read_specs(const fl_payload *payload, ov_settings *found) {
  fl_status status = FL_OK;
  for (uint32_t i = 0; status == FL_OK && i < payload->compile_spec_count; ++i) {
    const fl_compile_spec spec = fl_payload_compile_spec(payload, i);
    if (strcmp(spec.key, "device") == 0) {
      status = take_text("device", (const char *)spec.value, spec.size, found->device, sizeof found->device);
    } else if (strcmp(spec.key, "precision") == 0) {
      status = take_text("precision", (const char *)spec.value, spec.size, found->precision, sizeof found->precision);
    }
  }
  return status;
}

static int is_number(const char *text) {
  char *end = NULL;
  const long number = strtol(text, &end, 10);
  return end != text && *end == 0 && number >= 1 && number <= MOST_THREADS;
}

static void add_property(ov_settings *found, const char *name, const char *value) {
  found->properties[2 * found->property_count] = name;
  found->properties[2 * found->property_count + 1] = value;
  ++found->property_count;
}

fl_status fl_ov_read_settings(const fl_backend *self, const fl_payload *payload, ov_settings *found) {
  const char *threads = NULL, *cache = NULL;
  *found = (ov_settings){.device = "CPU", .precision = "f32"};
  fl_status status = read_specs(payload, found);
  for (size_t i = 0; status == FL_OK && i < self->option_count; ++i) {
    const char *const name = self->options[i].name, *const value = self->options[i].value;
    if (strcmp(name, "library") == 0) {
      found->library = value;
    } else if (strcmp(name, "device") == 0) {
      status = take_text(name, value, strlen(value), found->device, sizeof found->device);
    } else if (strcmp(name, "precision") == 0) {
      status = take_text(name, value, strlen(value), found->precision, sizeof found->precision);
    } else if (strcmp(name, "threads") == 0) {
      threads = value;
    } else if (strcmp(name, "cache") == 0) {
      cache = value;
    } else if (strcmp(name, "profile") == 0) {
      if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
        return fl_library_fail(FL_INVALID_ARGUMENT, "its option 'profile' is 0 or 1, not '%.40s'", value);
      }
      found->is_measured = value[0] == '1';
    } else {
      status = fl_library_fail(FL_INVALID_ARGUMENT, "it has no option '%.40s'; it has cache, device, library, precision, profile, threads", name);
    }
  }
  if (status != FL_OK) {
    return status;
  }
  if (strcmp(found->precision, "f32") != 0 && strcmp(found->precision, "f16") != 0 && strcmp(found->precision, "bf16") != 0) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option 'precision' is f32, f16 or bf16, not '%s'", found->precision);
  }
  if (threads != NULL && !is_number(threads)) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option 'threads' is a number from 1 to %d, not '%.40s'", MOST_THREADS, threads);
  }
  add_property(found, "INFERENCE_PRECISION_HINT", found->precision);
  add_property(found, "PERFORMANCE_HINT", "LATENCY");
  if (strcmp(found->device, "CPU") == 0 && strcmp(found->precision, "f32") == 0) {
    add_property(found, "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"); /* keeps the factors of integer weights in floats */
  }
  if (strcmp(found->device, "CPU") == 0 && !fl_library_adds_in_32_bits()) {
    add_property(found, "LP_TRANSFORMS_MODE", "NO"); /* computes with quantized numbers in floats */
  }
  if (threads != NULL || strcmp(found->device, "CPU") == 0) {
    add_property(found, "INFERENCE_NUM_THREADS", threads == NULL ? "1" : threads);
  }
  if (cache != NULL && cache[0] != 0) {
    add_property(found, "CACHE_DIR", cache);
  }
  if (found->is_measured) {
    add_property(found, "PERF_COUNT", "YES");
  }
  return FL_OK;
}

fl_status fl_ov_import(const ov_library *library, ov_core *core, const ov_payload *payload, const ov_settings *set, ov_compiled_model **compiled) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  ov_status status = 0;
  /* An imported model gets the properties of the core; OpenVINO does not keep those with which it was compiled
   * (findings/openvino_precision_of_an_export.sh). */
  (void)pthread_mutex_lock(&lock);
  for (size_t i = 0; status == 0 && i < set->property_count; ++i) {
    status = library->set_property(core, set->device, set->properties[2 * i], set->properties[2 * i + 1]);
  }
  status = status != 0 ? status : library->import_model(core, payload->model, payload->model_bytes, set->device, compiled);
  (void)pthread_mutex_unlock(&lock);
  return status == 0 ? FL_OK : fl_ov_refused(library, status, "OpenVINO does not load what it has compiled");
}
