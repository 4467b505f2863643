/* The file: header, segments, methods and what can be asked about them. */
#include "core/schema.h"

#define HEADER_AT 8u
#define HEADER_SHORT 24u /* without the size of the segments */
#define HEADER_LONG 32u

uint32_t fl_version(void) { return FL_VERSION; }

static fl_status fl_read_header(fl_program *program, fl_error *error) {
  const uint8_t *file = program->data;
  const size_t size = program->size;
  size_t flatbuffer = size;
  program->segments = size;
  program->segments_end = size;
  if (size >= HEADER_AT + HEADER_LONG && memcmp(file + HEADER_AT, "eh00", 4) == 0) {
    const uint32_t length = fl_read_u32(file + HEADER_AT + 4);
    const uint64_t described = fl_read_u64(file + HEADER_AT + 8);
    const uint64_t base = fl_read_u64(file + HEADER_AT + 16);
    const uint64_t bytes = length >= HEADER_LONG ? fl_read_u64(file + HEADER_AT + 24) : 0;
    if (length < HEADER_SHORT || described > size || described < HEADER_AT + length) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is truncated or damaged: it has % bytes, and its header speaks of %", FL_NUMBER(size),
                      FL_NUMBER(described));
    }
    flatbuffer = (size_t)described;
    if (base != 0) {
      if (base < described || base > size || bytes > size - base) {
        return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is truncated or damaged: it has % bytes, and its data needs % + %", FL_NUMBER(size),
                        FL_NUMBER(base), FL_NUMBER(bytes));
      }
      program->segments = (size_t)base;
      program->segments_end = length >= HEADER_LONG ? (size_t)(base + bytes) : size;
    }
  }
  if (flatbuffer > INT32_MAX) {
    return FL_ERROR(error, FL_NOT_SUPPORTED, "the program without its segments has more than 2 GB", FL_NUMBER(0));
  }
  program->flatbuffer_size = (uint32_t)flatbuffer;
  program->root = fl_read_u32(file);
  if (program->root < 8 || program->root > program->flatbuffer_size - 4) {
    return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is damaged: its root lies at byte % of %", FL_NUMBER(program->root),
                    FL_NUMBER(program->flatbuffer_size));
  }
  return FL_OK;
}

/* Segments lie within the file, and whatever names a segment names one that exists. */
static fl_status fl_check_segments(const fl_program *program, fl_error *error) {
  const uint8_t *file = program->data;
  const fl_vector segments = fl_child_vector(file, program->root, PROGRAM_SEGMENTS);
  const uint64_t room = program->segments_end - program->segments;
  for (uint32_t i = 0; i < segments.count; ++i) {
    const uint32_t table = fl_element(file, segments, i);
    const uint64_t offset = fl_field_u64(file, table, SEGMENT_OFFSET);
    const uint64_t bytes = fl_field_u64(file, table, SEGMENT_SIZE);
    if (offset > room || bytes > room - offset) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "segment % (% bytes at %) exceeds the file's data of % bytes", FL_NUMBER(i), FL_NUMBER(bytes),
                      FL_NUMBER(offset), FL_NUMBER(room));
    }
  }
  const fl_vector named = fl_child_vector(file, program->root, PROGRAM_NAMED_DATA);
  for (uint32_t i = 0; i < named.count; ++i) {
    const uint32_t table = fl_element(file, named, i);
    const uint32_t segment = fl_field_u32(file, table, NAMED_SEGMENT);
    if (segment >= segments.count) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "named data '%' lies in segment % of %", FL_TEXT(fl_child_string(file, table, NAMED_KEY)),
                      FL_NUMBER(segment), FL_NUMBER(segments.count));
    }
  }
  const uint32_t constants = fl_child(file, program->root, PROGRAM_CONSTANT_SEGMENT);
  if (fl_child_vector(file, constants, SUBSEGMENT_OFFSETS).count > 1 &&
      (fl_field_u32(file, constants, SUBSEGMENT_INDEX) >= segments.count ||
       fl_child_vector(file, program->root, PROGRAM_CONSTANT_BUFFER).count > 0)) {
    return FL_ERROR(error, FL_INVALID_PROGRAM, "the file's constants lie in a segment that does not exist, or in two places", FL_NUMBER(0));
  }
  return FL_OK;
}

fl_status fl_program_load(fl_program *program, const void *data, size_t size, fl_error *error) {
  memset(program, 0, sizeof *program);
  program->data = (const uint8_t *)data;
  program->size = size;
  fl_status status = FL_OK;
  if (data == NULL || (uintptr_t)data % 16 != 0) {
    status = FL_ERROR(error, FL_INVALID_ARGUMENT, "the program's memory is not aligned to 16 bytes", FL_NUMBER(0));
  } else if (size < 16 || memcmp(program->data + 4, "ET", 2) != 0) {
    status = FL_ERROR(error, FL_INVALID_PROGRAM, "this is not a .pte file (% bytes, no \"ET12\" at byte 4)", FL_NUMBER(size));
  } else if (memcmp(program->data + 4, "ET12", 4) != 0) {
    status = FL_ERROR(error, FL_NOT_SUPPORTED, "this .pte file is of another format version than ET12", FL_NUMBER(0));
  } else {
    status = fl_read_header(program, error);
  }
  if (status == FL_OK) {
    status = fl_verify(program, error);
  }
  if (status == FL_OK && fl_field_u32(program->data, program->root, PROGRAM_VERSION) > 0) {
    status = FL_ERROR(error, FL_NOT_SUPPORTED, "the program's schema version is %; this runtime knows version 0",
                      FL_NUMBER(fl_field_u32(program->data, program->root, PROGRAM_VERSION)));
  }
  if (status == FL_OK) {
    status = fl_check_segments(program, error);
  }
  fl_plan plan;
  for (uint32_t i = 0; status == FL_OK && fl_plan_open(program, i, &plan); ++i) {
    const fl_status checked = fl_check_plan(&plan, error);
    /* What another runtime can run is a reason to refuse the method, not the file. */
    status = checked == FL_NOT_SUPPORTED ? FL_OK : checked;
  }
  if (status != FL_OK) {
    memset(program, 0, sizeof *program);
  } else if (error != NULL) {
    error->status = FL_OK;
    error->text[0] = 0;
  }
  return status;
}

static fl_vector fl_plans(const fl_program *program) {
  return program->data == NULL ? (fl_vector){0, 0} : fl_child_vector(program->data, program->root, PROGRAM_EXECUTION_PLAN);
}

uint32_t fl_program_method_count(const fl_program *program) { return fl_plans(program).count; }

int fl_plan_open(const fl_program *program, uint32_t method, fl_plan *plan) {
  const fl_vector plans = fl_plans(program);
  if (method >= plans.count) {
    return 0;
  }
  const uint8_t *file = program->data;
  const uint32_t table = fl_element(file, plans, method);
  *plan = (fl_plan){.program = program,
                    .file = file,
                    .name = fl_child_string(file, table, PLAN_NAME),
                    .table = table,
                    .values = fl_child_vector(file, table, PLAN_VALUES),
                    .inputs = fl_child_vector(file, table, PLAN_INPUTS),
                    .outputs = fl_child_vector(file, table, PLAN_OUTPUTS),
                    .chains = fl_child_vector(file, table, PLAN_CHAINS),
                    .operators = fl_child_vector(file, table, PLAN_OPERATORS),
                    .delegates = fl_child_vector(file, table, PLAN_DELEGATES),
                    .buffers = fl_child_vector(file, table, PLAN_BUFFER_SIZES)};
  return 1;
}

const char *fl_program_method_name(const fl_program *program, uint32_t method) {
  fl_plan plan;
  return fl_plan_open(program, method, &plan) ? plan.name : NULL;
}

fl_status fl_program_find_method(const fl_program *program, const char *name, uint32_t *method, fl_error *error) {
  fl_plan plan;
  for (uint32_t i = 0; fl_plan_open(program, i, &plan); ++i) {
    if (strcmp(plan.name, name) == 0) {
      *method = i;
      return FL_OK;
    }
  }
  FL_ERROR(error, FL_NOT_FOUND, "the program has no method '%'; it has", FL_TEXT(name));
  for (uint32_t i = 0; fl_plan_open(program, i, &plan); ++i) {
    fl_append(error, i == 0 ? " '%'" : ", '%'", (const fl_item[]){FL_TEXT(plan.name)});
  }
  return FL_NOT_FOUND;
}

uint32_t fl_program_named_data_count(const fl_program *program) {
  return fl_child_vector(program->data, program->root, PROGRAM_NAMED_DATA).count;
}

const char *fl_program_named_data_key(const fl_program *program, uint32_t index) {
  const fl_vector named = fl_child_vector(program->data, program->root, PROGRAM_NAMED_DATA);
  return index < named.count ? fl_child_string(program->data, fl_element(program->data, named, index), NAMED_KEY) : NULL;
}

fl_status fl_program_named_data(const fl_program *program, const char *key, const void **data, size_t *size, fl_error *error) {
  const fl_vector named = fl_child_vector(program->data, program->root, PROGRAM_NAMED_DATA);
  for (uint32_t i = 0; i < named.count; ++i) {
    const uint32_t table = fl_element(program->data, named, i);
    const uint8_t *bytes = NULL;
    if (strcmp(fl_child_string(program->data, table, NAMED_KEY), key) == 0 &&
        fl_segment(program, fl_field_u32(program->data, table, NAMED_SEGMENT), &bytes, size)) {
      *data = bytes;
      return FL_OK;
    }
  }
  return FL_ERROR(error, FL_NOT_FOUND, "the program has no named data '%'", FL_TEXT(key));
}

int fl_segment(const fl_program *program, uint32_t index, const uint8_t **data, size_t *size) {
  const fl_vector segments = fl_child_vector(program->data, program->root, PROGRAM_SEGMENTS);
  if (index >= segments.count) {
    return 0;
  }
  const uint32_t table = fl_element(program->data, segments, index);
  *data = program->data + program->segments + (size_t)fl_field_u64(program->data, table, SEGMENT_OFFSET);
  *size = (size_t)fl_field_u64(program->data, table, SEGMENT_SIZE);
  return 1;
}

const uint8_t *fl_constant(const fl_program *program, uint32_t buffer, size_t bytes, int is_state) {
  const uint8_t *file = program->data;
  const uint8_t *data = NULL;
  size_t size = 0;
  uint32_t table = 0;
  if (is_state) {
    const fl_vector segments = fl_child_vector(file, program->root, PROGRAM_MUTABLE_DATA_SEGMENTS);
    table = segments.count > 0 ? fl_element(file, segments, 0) : 0;
  } else {
    table = fl_child(file, program->root, PROGRAM_CONSTANT_SEGMENT);
  }
  const fl_vector offsets = fl_child_vector(file, table, SUBSEGMENT_OFFSETS);
  if (buffer < offsets.count) {
    const uint64_t offset = fl_read_u64(file + offsets.at + (size_t)8 * buffer);
    if (!fl_segment(program, fl_field_u32(file, table, SUBSEGMENT_INDEX), &data, &size) || offset > size || bytes > size - offset) {
      return NULL;
    }
    return data + offset;
  }
  /* Before segments existed, constants stood in the flatbuffer. */
  const fl_vector inlined = fl_child_vector(file, program->root, PROGRAM_CONSTANT_BUFFER);
  if (is_state || buffer >= inlined.count) {
    return NULL;
  }
  const fl_vector storage = fl_child_vector(file, fl_element(file, inlined, buffer), BUFFER_STORAGE);
  return bytes <= storage.count ? file + storage.at : NULL;
}

uint8_t fl_plan_value(const fl_plan *plan, uint32_t index, uint32_t *table) {
  const uint32_t value = fl_element(plan->file, plan->values, index);
  *table = fl_child(plan->file, value, VALUE_TABLE);
  return fl_field_u8(plan->file, value, VALUE_TYPE);
}

fl_vector fl_plan_chain(const fl_plan *plan, uint32_t chain) {
  return fl_child_vector(plan->file, fl_element(plan->file, plan->chains, chain), CHAIN_INSTRUCTIONS);
}

uint8_t fl_plan_instruction(const fl_plan *plan, fl_vector instructions, uint32_t index, uint32_t *table) {
  const uint32_t instruction = fl_element(plan->file, instructions, index);
  *table = fl_child(plan->file, instruction, INSTRUCTION_TABLE);
  return fl_field_u8(plan->file, instruction, INSTRUCTION_TYPE);
}

void fl_read_tensor(const uint8_t *file, uint32_t table, fl_tensor_record *record) {
  const fl_vector sizes = fl_child_vector(file, table, TENSOR_SIZES);
  const uint32_t allocation = fl_child(file, table, TENSOR_ALLOCATION);
  /* Vectors of 4-byte elements were checked to be aligned, and the file is. */
  record->sizes = (const int32_t *)(const void *)(file + sizes.at);
  record->dim_order = file + fl_child_vector(file, table, TENSOR_DIM_ORDER).at;
  record->rank = (uint8_t)sizes.count;
  record->dtype = (int8_t)fl_field_u8(file, table, TENSOR_SCALAR_TYPE);
  record->buffer = fl_field_u32(file, table, TENSOR_DATA_BUFFER);
  record->arena = fl_field_u32(file, allocation, ALLOCATION_ARENA);
  record->offset = (uint64_t)fl_field_u32(file, allocation, ALLOCATION_HIGH) << 32 | fl_field_u32(file, allocation, ALLOCATION_LOW);
  record->dynamic = fl_field_u8(file, table, TENSOR_DYNAMISM) != 0 && !fl_is_constant(record);
  record->bytes = fl_dtype_size(record->dtype);
  for (uint8_t i = 0; i < record->rank; ++i) {
    record->bytes *= (size_t)record->sizes[i];
  }
}

fl_status fl_program_method_info(const fl_program *program, uint32_t method, fl_method_info *info, fl_error *error) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan)) {
    return FL_ERROR(error, FL_NOT_FOUND, "the program has no method %", FL_NUMBER(method));
  }
  const uint32_t container = fl_child(plan.file, plan.table, PLAN_CONTAINER);
  *info = (fl_method_info){.name = plan.name,
                           .input_encoding = fl_child_string(plan.file, container, CONTAINER_INPUTS),
                           .output_encoding = fl_child_string(plan.file, container, CONTAINER_OUTPUTS),
                           .inputs = plan.inputs.count,
                           .outputs = plan.outputs.count,
                           .arenas = plan.buffers.count > 0 ? plan.buffers.count - 1 : 0,
                           .operators = plan.operators.count,
                           .delegates = plan.delegates.count,
                           .values = plan.values.count};
  for (uint32_t i = 0; i < plan.chains.count; ++i) {
    info->instructions += fl_plan_chain(&plan, i).count;
  }
  return FL_OK;
}

static void fl_describe_slot(const fl_plan *plan, uint32_t slot, fl_slot_info *info) {
  static const uint8_t tags[] = {FL_NONE,     FL_NONE,        FL_INT,       FL_BOOLEAN,     FL_DOUBLE, FL_TENSOR, FL_STRING,
                                 FL_INT_LIST, FL_DOUBLE_LIST, FL_BOOL_LIST, FL_TENSOR_LIST, FL_OPTIONAL_TENSOR_LIST};
  uint32_t table = 0;
  const uint8_t kind = fl_plan_value(plan, slot, &table);
  fl_tensor_record record;
  memset(info, 0, sizeof *info);
  info->tag = tags[kind];
  switch (kind) {
    case VALUE_INT: info->integer = fl_field_i64(plan->file, table, SCALAR_VALUE); break;
    case VALUE_BOOL: info->integer = fl_field_u8(plan->file, table, SCALAR_VALUE) != 0; break;
    case VALUE_STRING: info->string = fl_child_string(plan->file, table, SCALAR_VALUE); break;
    case VALUE_DOUBLE: {
      const uint64_t bits = fl_field_u64(plan->file, table, SCALAR_VALUE);
      memcpy(&info->real, &bits, sizeof info->real);
      break;
    }
    case VALUE_TENSOR:
      fl_read_tensor(plan->file, table, &record);
      info->dtype = record.dtype;
      info->rank = record.rank;
      info->dynamic = record.dynamic;
      info->planned = record.arena != 0;
      info->constant = fl_is_constant(&record) ? 1 : 0;
      info->sizes = record.sizes;
      info->dim_order = record.dim_order;
      info->bytes = record.bytes;
      break;
    default: break;
  }
}

fl_status fl_program_slot(const fl_program *program, uint32_t method, fl_direction direction, uint32_t index, fl_slot_info *info, fl_error *error) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan)) {
    return FL_ERROR(error, FL_NOT_FOUND, "the program has no method %", FL_NUMBER(method));
  }
  const fl_vector slots = direction == FL_INPUT ? plan.inputs : plan.outputs;
  if (index >= slots.count) {
    return FL_ERROR(error, FL_INVALID_ARGUMENT, "method '%' has % %, so none with index %", FL_TEXT(plan.name), FL_NUMBER(slots.count),
                    FL_TEXT(direction == FL_INPUT ? "inputs" : "outputs"), FL_NUMBER(index));
  }
  fl_describe_slot(&plan, (uint32_t)fl_element_i32(plan.file, slots, index), info);
  return FL_OK;
}

size_t fl_program_arena_size(const fl_program *program, uint32_t method, uint32_t arena) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || plan.buffers.count < 2 || arena >= plan.buffers.count - 1) {
    return 0;
  }
  return (size_t)fl_read_i64(plan.file + plan.buffers.at + (size_t)8 * (arena + 1));
}

size_t fl_operator_name(const fl_plan *plan, uint32_t index, char *name, size_t capacity) {
  const uint32_t table = fl_element(plan->file, plan->operators, index);
  const char *parts[] = {fl_child_string(plan->file, table, OPERATOR_NAME), ".", fl_child_string(plan->file, table, OPERATOR_OVERLOAD)};
  size_t length = 0;
  for (size_t i = 0; i < (parts[2][0] != 0 ? 3u : 1u); ++i) {
    for (const char *c = parts[i]; *c != 0; ++c) {
      if (length + 1 < capacity) {
        name[length] = *c;
      }
      ++length;
    }
  }
  if (capacity > 0) {
    name[length < capacity ? length : capacity - 1] = 0;
  }
  return length;
}

size_t fl_program_operator(const fl_program *program, uint32_t method, uint32_t index, char *name, size_t capacity) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || index >= plan.operators.count) {
    return 0;
  }
  return fl_operator_name(&plan, index, name, capacity);
}

const char *fl_program_delegate(const fl_program *program, uint32_t method, uint32_t index) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || index >= plan.delegates.count) {
    return NULL;
  }
  return fl_child_string(plan.file, fl_element(plan.file, plan.delegates, index), DELEGATE_ID);
}
