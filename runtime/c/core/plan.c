/* Reads a loaded program: its methods, their values and instructions, and the data in its segments. */
#include "core/schema.h"

uint32_t fl_program_method_count(const fl_program *program) {
  return program == NULL || program->data == NULL ? 0 : fl_child_vector(program->data, program->root, PROGRAM_EXECUTION_PLAN).count;
}

int fl_plan_open(const fl_program *program, uint32_t method, fl_plan *plan) {
  if (method >= fl_program_method_count(program)) {
    return 0;
  }
  const uint8_t *file = program->data;
  const uint32_t table = fl_element(file, fl_child_vector(file, program->root, PROGRAM_EXECUTION_PLAN), method);
  *plan = (fl_plan){.origin = {NULL, fl_child_string(file, table, PLAN_NAME)}, .program = program, .file = file, .index = method, .table = table};
  for (uint32_t i = 0; i < sizeof plan->vectors / sizeof *plan->vectors; ++i) {
    plan->vectors[i] = fl_child_vector(file, table, PLAN_VALUES + i);
  }
  return 1;
}

fl_status fl_plan_find(const fl_program *program, uint32_t method, const void *given, fl_plan *plan, fl_error *error) {
  if (given == NULL) {
    return fl_refuse_null(error);
  }
  if (!fl_plan_open(program, method, plan)) {
    return FL_ERROR(error, NO_METHOD, FL_NUMBER(method));
  }
  plan->origin.error = error;
  return FL_OK;
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
  /* The cast is aligned: fl_verify checked vectors of 4-byte elements, fl_open_file the file. */
  record->sizes = (const int32_t *)(const void *)(file + sizes.at);
  record->dim_order = file + fl_child_vector(file, table, TENSOR_DIM_ORDER).at;
  record->rank = (uint8_t)sizes.count;
  record->dtype = (int8_t)fl_field_u8(file, table, TENSOR_SCALAR_TYPE);
  record->buffer = fl_field_u32(file, table, TENSOR_DATA_BUFFER);
  record->name = fl_child_string(file, fl_child(file, table, TENSOR_EXTRA), EXTRA_NAME);
  record->arena = fl_field_u32(file, allocation, ALLOCATION_ARENA);
  record->offset = (uint64_t)fl_field_u32(file, allocation, ALLOCATION_HIGH) << 32 | fl_field_u32(file, allocation, ALLOCATION_LOW);
  record->dynamic = fl_field_u8(file, table, TENSOR_DYNAMISM) != 0 && !fl_is_constant(record);
  record->bytes = fl_element_size(record->dtype);
  for (uint8_t i = 0; i < record->rank; ++i) {
    record->bytes *= (size_t)record->sizes[i];
  }
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
  /* Files from before segments hold their constants in the flatbuffer. */
  const fl_vector inlined = fl_child_vector(file, program->root, PROGRAM_CONSTANT_BUFFER);
  if (is_state || buffer >= inlined.count) {
    return NULL;
  }
  const fl_vector storage = fl_child_vector(file, fl_element(file, inlined, buffer), BUFFER_STORAGE);
  return bytes <= storage.count ? file + storage.at : NULL;
}

void fl_payload_open(const fl_plan *plan, uint32_t index, fl_payload *payload, const char **id) {
  const uint8_t *file = plan->file;
  const uint32_t table = fl_element(file, plan->delegates, index);
  const uint32_t reference = fl_child(file, table, DELEGATE_PROCESSED);
  const uint32_t at = fl_field_u32(file, reference, REFERENCE_INDEX);
  const uint8_t *data = NULL;
  size_t size = 0;
  if (fl_field_u8(file, reference, REFERENCE_LOCATION) == 0) {
    const fl_vector inlined = fl_child_vector(file, plan->program->root, PROGRAM_BACKEND_DELEGATE_DATA);
    const fl_vector bytes = fl_child_vector(file, fl_element(file, inlined, at), BUFFER_STORAGE);
    data = file + bytes.at;
    size = bytes.count;
  } else {
    fl_segment(plan->program, at, &data, &size);
  }
  *payload = (fl_payload){.data = data,
                          .size = size,
                          .compile_spec_count = fl_child_vector(file, table, DELEGATE_SPECS).count,
                          .method = plan->origin.name,
                          .program = plan->program,
                          .reserved = table};
  *id = fl_child_string(file, table, DELEGATE_ID);
}

fl_compile_spec fl_payload_compile_spec(const fl_payload *payload, uint32_t index) {
  if (payload == NULL || index >= payload->compile_spec_count) {
    return (fl_compile_spec){NULL, NULL, 0};
  }
  const uint8_t *file = payload->program->data;
  const uint32_t table = fl_element(file, fl_child_vector(file, payload->reserved, DELEGATE_SPECS), index);
  const fl_vector value = fl_child_vector(file, table, SPEC_VALUE);
  return (fl_compile_spec){fl_child_string(file, table, SPEC_KEY), file + value.at, value.count};
}
