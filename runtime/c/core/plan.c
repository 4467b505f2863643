/* Reads a loaded program: its methods, their values and instructions, and the data in its segments. */
#include "core/schema.h"

uint32_t fl_program_method_count(const fl_program *program) {
  return fl_length(fl_child_vector(program == NULL ? NULL : program->root, PROGRAM_EXECUTION_PLAN));
}

int fl_plan_open(const fl_program *program, uint32_t method, fl_plan *plan) {
  if (method >= fl_program_method_count(program)) {
    return 0;
  }
  const fl_table table = fl_element(fl_child_vector(program->root, PROGRAM_EXECUTION_PLAN), method);
  *plan = (fl_plan){.origin = {NULL, fl_child_string(table, PLAN_NAME)}, .program = program, .index = method, .table = table};
  for (uint32_t i = 0; i < sizeof plan->vectors / sizeof *plan->vectors; ++i) {
    plan->vectors[i] = fl_child_vector(table, PLAN_VALUES + i);
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

uint8_t fl_plan_value(const fl_plan *plan, uint32_t index, fl_table *table) {
  const fl_table value = fl_element(plan->values, index);
  *table = fl_child(value, VALUE_TABLE);
  return fl_field_u8(value, VALUE_TYPE);
}

fl_vector fl_plan_chain(const fl_plan *plan, uint32_t chain) {
  return fl_child_vector(fl_element(plan->chains, chain), CHAIN_INSTRUCTIONS);
}

int fl_plan_next(const fl_plan *plan, fl_cursor *cursor) {
  while (cursor->left == 0) {
    if (cursor->chain == fl_length(plan->chains)) {
      return 0;
    }
    cursor->instructions = fl_plan_chain(plan, cursor->chain++);
    cursor->left = fl_length(cursor->instructions);
    cursor->start = cursor->next;
  }
  const fl_table instruction = fl_element(cursor->instructions, cursor->next - cursor->start);
  --cursor->left;
  ++cursor->next;
  cursor->kind = fl_field_u8(instruction, INSTRUCTION_TYPE);
  cursor->table = fl_child(instruction, INSTRUCTION_TABLE);
  return 1;
}

void fl_read_tensor(fl_table table, fl_tensor_record *record) {
  const fl_vector sizes = fl_child_vector(table, TENSOR_SIZES);
  const fl_table allocation = fl_child(table, TENSOR_ALLOCATION);
  /* The cast is aligned: fl_verify checked vectors of 4-byte elements, fl_open_file the file. */
  record->sizes = (const int32_t *)(const void *)fl_items_of(sizes);
  record->dim_order = fl_items_of(fl_child_vector(table, TENSOR_DIM_ORDER));
  record->rank = (uint8_t)fl_length(sizes);
  record->dtype = (int8_t)fl_field_u8(table, TENSOR_SCALAR_TYPE);
  record->buffer = fl_field_u32(table, TENSOR_DATA_BUFFER);
  record->name = fl_child_string(fl_child(table, TENSOR_EXTRA), EXTRA_NAME);
  record->arena = fl_field_u32(allocation, ALLOCATION_ARENA);
  record->offset = (uint64_t)fl_field_u32(allocation, ALLOCATION_HIGH) << 32 | fl_field_u32(allocation, ALLOCATION_LOW);
  record->dynamic = fl_field_u8(table, TENSOR_DYNAMISM) != 0 && !fl_is_constant(record);
  record->bytes = fl_element_size(record->dtype);
  for (uint8_t i = 0; i < record->rank; ++i) {
    record->bytes *= (size_t)record->sizes[i];
  }
}

int fl_plan_tensor(const fl_plan *plan, uint32_t index, fl_tensor_record *record) {
  fl_table table = NULL;
  if (fl_plan_value(plan, index, &table) != VALUE_TENSOR) {
    return 0;
  }
  fl_read_tensor(table, record);
  return 1;
}

int fl_segment(const fl_program *program, uint32_t index, const uint8_t **data, size_t *size) {
  const fl_vector segments = fl_child_vector(program->root, PROGRAM_SEGMENTS);
  if (index >= fl_length(segments)) {
    return 0;
  }
  const fl_table table = fl_element(segments, index);
  *data = program->data + program->segments + (size_t)fl_field_u64(table, SEGMENT_OFFSET);
  *size = (size_t)fl_field_u64(table, SEGMENT_SIZE);
  return 1;
}

const uint8_t *fl_constant(const fl_program *program, uint32_t buffer, size_t bytes, int is_state) {
  const uint8_t *data = NULL;
  size_t size = 0;
  fl_table table = NULL;
  if (is_state) {
    const fl_vector segments = fl_child_vector(program->root, PROGRAM_MUTABLE_DATA_SEGMENTS);
    table = fl_length(segments) > 0 ? fl_element(segments, 0) : 0;
  } else {
    table = fl_child(program->root, PROGRAM_CONSTANT_SEGMENT);
  }
  const fl_vector offsets = fl_child_vector(table, SUBSEGMENT_OFFSETS);
  if (buffer < fl_length(offsets)) {
    const uint64_t offset = (uint64_t)fl_element_i64(offsets, buffer);
    if (!fl_segment(program, fl_field_u32(table, SUBSEGMENT_INDEX), &data, &size) || offset > size || bytes > size - offset) {
      return NULL;
    }
    return data + offset;
  }
  /* Files from before segments hold their constants in the flatbuffer. */
  const fl_vector inlined = fl_child_vector(program->root, PROGRAM_CONSTANT_BUFFER);
  if (is_state || buffer >= fl_length(inlined)) {
    return NULL;
  }
  const fl_vector storage = fl_child_vector(fl_element(inlined, buffer), BUFFER_STORAGE);
  return bytes <= fl_length(storage) ? fl_items_of(storage) : NULL;
}

void fl_payload_open(const fl_plan *plan, uint32_t index, fl_payload *payload, const char **id) {
  const fl_table table = fl_element(plan->delegates, index);
  const fl_table reference = fl_child(table, DELEGATE_PROCESSED);
  const uint32_t at = fl_field_u32(reference, REFERENCE_INDEX);
  const uint8_t *data = NULL;
  size_t size = 0;
  if (fl_field_u8(reference, REFERENCE_LOCATION) == 0) {
    const fl_vector inlined = fl_child_vector(plan->program->root, PROGRAM_BACKEND_DELEGATE_DATA);
    const fl_vector bytes = fl_child_vector(fl_element(inlined, at), BUFFER_STORAGE);
    data = fl_items_of(bytes);
    size = fl_length(bytes);
  } else {
    fl_segment(plan->program, at, &data, &size);
  }
  *payload = (fl_payload){.data = data,
                          .size = size,
                          .compile_spec_count = fl_length(fl_child_vector(table, DELEGATE_SPECS)),
                          .method = plan->origin.name,
                          .program = plan->program,
                          .reserved = table};
  *id = fl_child_string(table, DELEGATE_ID);
}

fl_compile_spec fl_payload_compile_spec(const fl_payload *payload, uint32_t index) {
  if (payload == NULL || index >= payload->compile_spec_count) {
    return (fl_compile_spec){NULL, NULL, 0};
  }
  const fl_table table = fl_element(fl_child_vector((fl_table)payload->reserved, DELEGATE_SPECS), index);
  const fl_vector value = fl_child_vector(table, SPEC_VALUE);
  return (fl_compile_spec){fl_child_string(table, SPEC_KEY), fl_items_of(value), fl_length(value)};
}
