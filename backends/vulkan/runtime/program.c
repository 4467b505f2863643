/* Reads a payload. */
#include "program.h"

#include "flambeau/library.h"

enum { HEADER = 16, VERSION = 3, MOST_DIMENSIONS = 16, SPIRV_HEADER = 5 };
enum { MOST_MEMORY_BITS = 40 };
enum { OP_CAPABILITY = 17, CAPABILITY_SHADER = 1, CAPABILITY_16_BIT_STORAGE = 4433 }; /* of SPIR-V */

/* Fields of the tables */
enum { PROGRAM_INPUTS, PROGRAM_OUTPUTS, PROGRAM_MEMORY, PROGRAM_VALUES, PROGRAM_OPERATORS, PROGRAM_MODULES, PROGRAM_PIPELINES, PROGRAM_CALLS };
enum { VALUE_ELEMENT, VALUE_SHAPE, VALUE_OFFSET, VALUE_KEY, VALUE_DATA };
enum { MODULE_NAME, MODULE_WORDS };
enum { PIPELINE_MODULE, PIPELINE_CONSTANTS };
enum { CALL_OPERATOR, CALL_PIPELINE, CALL_VALUES, CALL_PUSHED, CALL_GROUPS, CALL_WAITS };
enum { OPERATOR_NAME };

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

static program_list list_of(const fl_flatbuffer *in, uint32_t table, uint32_t id, uint32_t bytes) {
  program_list list;
  list.first = fl_flatbuffer_vector(in, table, id, bytes, &list.count);
  return list;
}

static uint32_t table_of(const program *p, program_list list, uint32_t index) { return fl_flatbuffer_element(&p->in, list.first, index); }

uint32_t fl_vulkan_at(const program *p, program_list list, uint32_t index) {
  return (uint32_t)fl_flatbuffer_number(p->in.data + list.first + (size_t)4 * index, 4);
}

/* Copies a list of numbers. Returns their number; UINT32_MAX if there are more than `most`. */
static uint32_t copy_numbers(const program *p, uint32_t table, uint32_t id, uint32_t *to, uint32_t most) {
  const program_list list = list_of(&p->in, table, id, 4);
  for (uint32_t i = 0; i < list.count && i < most; ++i) {
    to[i] = fl_vulkan_at(p, list, i);
  }
  return list.count <= most ? list.count : UINT32_MAX;
}

static const uint8_t element_bytes[ELEMENT_TYPES] = {4, 2, 1};

fl_status fl_vulkan_read_value(const program *p, uint32_t index, program_value *value) {
  const uint32_t table = table_of(p, p->values, index);
  value->shape = list_of(&p->in, table, VALUE_SHAPE, 8);
  value->offset = fl_flatbuffer_value(&p->in, table, VALUE_OFFSET, 8, 0);
  value->element = (uint32_t)fl_flatbuffer_value(&p->in, table, VALUE_ELEMENT, 1, 0);
  value->bytes = value->element < ELEMENT_TYPES ? element_bytes[value->element] : 1;
  if (table == 0 || value->element >= ELEMENT_TYPES || value->shape.count > MOST_DIMENSIONS) {
    return DAMAGED("value %u is none, has %u dimensions, or elements of a type %u", index, value->shape.count, value->element);
  }
  for (uint32_t i = 0; i < value->shape.count; ++i) {
    const uint64_t size = fl_flatbuffer_number(p->in.data + value->shape.first + (size_t)8 * i, 8);
    if (size == 0 || size > p->memory / value->bytes) {
      return DAMAGED("value %u has no elements, or more than its memory", index);
    }
    value->bytes *= size;
  }
  if (value->offset % VALUE_ALIGNMENT != 0 || value->offset > p->memory || (value->bytes + 3) / 4 * 4 > p->memory - value->offset) {
    return DAMAGED("value %u lies at byte %llu of %llu", index, (unsigned long long)value->offset, (unsigned long long)p->memory);
  }
  return FL_OK;
}

fl_status fl_vulkan_read_module(const program *p, uint32_t index, program_module *module) {
  const program_list bytes = list_of(&p->in, table_of(p, p->modules, index), MODULE_WORDS, 1);
  const uint8_t *const at = p->in.data + bytes.first;
  if (bytes.count % 4 != 0 || bytes.count / 4 <= SPIRV_HEADER || (uintptr_t)at % 4 != 0 || fl_flatbuffer_number(at, 4) != 0x07230203) {
    return DAMAGED("module %u is not in SPIR-V", index);
  }
  module->words = (const uint32_t *)(const void *)at;
  module->count = bytes.count / 4;
  module->stores_halves = 0;
  for (size_t next = SPIRV_HEADER; next < module->count;) { /* each instruction says its length */
    const size_t length = module->words[next] >> 16;
    const int is_capability = (module->words[next] & 0xFFFF) == OP_CAPABILITY && length == 2 && next + 1 < module->count;
    const uint32_t needed = is_capability ? module->words[next + 1] : CAPABILITY_SHADER;
    if (needed != CAPABILITY_SHADER && needed != CAPABILITY_16_BIT_STORAGE) {
      return DAMAGED("module %u needs a capability %u", index, needed);
    }
    module->stores_halves |= needed == CAPABILITY_16_BIT_STORAGE;
    if (length == 0 || length > module->count - next) {
      return DAMAGED("an instruction of module %u ends behind it", index);
    }
    next += length;
  }
  return FL_OK;
}

fl_status fl_vulkan_read_pipeline(const program *p, uint32_t index, program_pipeline *pipeline) {
  const uint32_t table = table_of(p, p->pipelines, index);
  pipeline->module = (uint32_t)fl_flatbuffer_value(&p->in, table, PIPELINE_MODULE, 4, 0);
  pipeline->constant_count = copy_numbers(p, table, PIPELINE_CONSTANTS, pipeline->constants, MOST_CONSTANTS);
  if (table == 0 || pipeline->module >= p->modules.count || pipeline->constant_count == UINT32_MAX) {
    return DAMAGED("pipeline %u has a module that is not there, or too many constants", index);
  }
  return FL_OK;
}

fl_status fl_vulkan_read_call(const program *p, uint32_t index, program_call *call) {
  const uint32_t table = table_of(p, p->calls, index);
  call->pipeline = (uint32_t)fl_flatbuffer_value(&p->in, table, CALL_PIPELINE, 4, 0);
  call->binding_count = copy_numbers(p, table, CALL_VALUES, call->values, MOST_BINDINGS);
  call->pushed_count = copy_numbers(p, table, CALL_PUSHED, call->pushed, MOST_PUSHED);
  call->waits = fl_flatbuffer_value(&p->in, table, CALL_WAITS, 1, 0) != 0;
  const uint32_t directions = copy_numbers(p, table, CALL_GROUPS, call->groups, 3);
  if (table == 0 || call->pipeline >= p->pipelines.count || call->pushed_count == UINT32_MAX || directions != 3) {
    return DAMAGED("dispatch %u has a pipeline that is not there, or too many numbers", index);
  }
  if (call->binding_count == 0 || call->binding_count == UINT32_MAX) {
    return DAMAGED("dispatch %u has no bindings, or more than %d", index, MOST_BINDINGS);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    if (call->groups[i] == 0 || call->groups[i] > MOST_GROUPS) {
      return DAMAGED("dispatch %u has %u workgroups in a direction", index, call->groups[i]);
    }
  }
  for (uint32_t i = 0; i < call->binding_count; ++i) {
    if (call->values[i] >= p->values.count) {
      return DAMAGED("dispatch %u binds value %u of %u", index, call->values[i], p->values.count);
    }
  }
  return FL_OK;
}

const char *fl_vulkan_operator_of(const program *p, uint32_t index, uint32_t *number) {
  const uint32_t operator_number = (uint32_t)fl_flatbuffer_value(&p->in, table_of(p, p->calls, index), CALL_OPERATOR, 4, 0);
  *number = operator_number < p->operators.count ? operator_number : UINT32_MAX;
  if (*number == UINT32_MAX) {
    return "";
  }
  const program_list name = list_of(&p->in, table_of(p, p->operators, operator_number), OPERATOR_NAME, 1);
  const int ends = name.count != 0 && fl_flatbuffer_checked(&p->in, name.first, (uint64_t)name.count + 1) != 0 && p->in.data[name.first + name.count] == 0;
  return ends ? (const char *)p->in.data + name.first : "";
}

/* Opens the flatbuffer. */
static fl_status open_payload(const fl_payload *payload, program *p) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  memset(p, 0, sizeof *p);
  p->payload = payload;
  if (payload->size < HEADER || payload->size > INT32_MAX || memcmp(data, "FLVK", 4) != 0) {
    return DAMAGED("it does not start with its header");
  }
  if (fl_flatbuffer_number(data + 4, 4) != VERSION) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is of version %u; this runtime reads %d", (unsigned)fl_flatbuffer_number(data + 4, 4),
                           VERSION);
  }
  p->in = (fl_flatbuffer){data + HEADER, (uint32_t)(payload->size - HEADER)};
  if (fl_flatbuffer_number(data + 12, 4) != p->in.size || fl_flatbuffer_number(data + 8, 4) != fl_library_adler32(p->in.data, p->in.size)) {
    return DAMAGED("it has another size or checksum than its header says");
  }
  const uint32_t root = fl_flatbuffer_root(&p->in);
  p->memory = fl_flatbuffer_value(&p->in, root, PROGRAM_MEMORY, 8, 0);
  p->inputs = list_of(&p->in, root, PROGRAM_INPUTS, 4);
  p->outputs = list_of(&p->in, root, PROGRAM_OUTPUTS, 4);
  p->values = list_of(&p->in, root, PROGRAM_VALUES, 4);
  p->operators = list_of(&p->in, root, PROGRAM_OPERATORS, 4);
  p->modules = list_of(&p->in, root, PROGRAM_MODULES, 4);
  p->pipelines = list_of(&p->in, root, PROGRAM_PIPELINES, 4);
  p->calls = list_of(&p->in, root, PROGRAM_CALLS, 4);
  if (p->outputs.count == 0 || p->values.count == 0 || p->memory == 0 || p->memory >> MOST_MEMORY_BITS != 0) {
    return DAMAGED("it has no outputs, no values, or %llu bytes of memory", (unsigned long long)p->memory);
  }
  return FL_OK;
}

static fl_status check_arguments(const program *p, program_list list) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (fl_vulkan_at(p, list, i) >= p->values.count) {
      return DAMAGED("an argument is value %u of %u", fl_vulkan_at(p, list, i), p->values.count);
    }
  }
  return FL_OK;
}

fl_status fl_vulkan_read(const fl_payload *payload, program *p) {
  program_value value;
  program_module module;
  program_pipeline pipeline;
  program_call call;
  fl_status status = open_payload(payload, p);
  status = status == FL_OK ? check_arguments(p, p->inputs) : status;
  status = status == FL_OK ? check_arguments(p, p->outputs) : status;
  for (uint32_t i = 0; status == FL_OK && i < p->values.count; ++i) {
    status = fl_vulkan_read_value(p, i, &value);
  }
  for (uint32_t i = 0; status == FL_OK && i < p->modules.count; ++i) {
    status = fl_vulkan_read_module(p, i, &module);
  }
  for (uint32_t i = 0; status == FL_OK && i < p->pipelines.count; ++i) {
    status = fl_vulkan_read_pipeline(p, i, &pipeline);
  }
  for (uint32_t i = 0; status == FL_OK && i < p->calls.count; ++i) {
    status = fl_vulkan_read_call(p, i, &call);
  }
  return status;
}

fl_status fl_vulkan_copy_constants(const program *p, uint8_t *memory) {
  fl_library_names names = fl_library_names_of(p->payload);
  for (uint32_t i = 0; i < p->values.count; ++i) {
    const uint32_t table = table_of(p, p->values, i);
    const program_list key = list_of(&p->in, table, VALUE_KEY, 1), bytes = list_of(&p->in, table, VALUE_DATA, 1);
    const void *data = p->in.data + bytes.first;
    size_t size = bytes.count;
    program_value value;
    fl_status status = fl_vulkan_read_value(p, i, &value);
    if (status == FL_OK && key.count != 0) {
      if (fl_flatbuffer_checked(&p->in, key.first, (uint64_t)key.count + 1) == 0 || p->in.data[key.first + key.count] != 0) {
        return DAMAGED("the name of value %u does not end", i);
      }
      status = fl_library_find_named(&names, "value", i, (const char *)p->in.data + key.first, key.count, &data, &size);
    }
    if (status != FL_OK) {
      return status;
    }
    if (size != 0 && size < value.bytes) {
      return DAMAGED("value %u has %llu bytes, and its constant %llu", i, (unsigned long long)value.bytes, (unsigned long long)size);
    }
    if (size != 0) {
      memcpy(memory + value.offset, data, (size_t)value.bytes);
    }
  }
  return FL_OK;
}
