/* Implements the functions of runtime.h that describe a program and its methods. */
#include "core/schema.h"

uint32_t fl_version(void) { return FL_VERSION; }

const char *fl_program_method_name(const fl_program *program, uint32_t method) {
  fl_plan plan;
  return fl_plan_open(program, method, &plan) ? plan.origin.name : NULL;
}

fl_status fl_program_find_method(const fl_program *program, const char *name, uint32_t *method, fl_error *error) {
  fl_plan plan;
  if (name == NULL || method == NULL) {
    return fl_refuse_null(error);
  }
  for (uint32_t i = 0; fl_plan_open(program, i, &plan); ++i) {
    if (strcmp(plan.origin.name, name) == 0) {
      *method = i;
      return FL_OK;
    }
  }
  const fl_status status = FL_ERROR(error, NO_METHOD_NAMED, FL_TEXT(name));
  for (uint32_t i = 0; fl_plan_open(program, i, &plan); ++i) {
    if (i == 0) {
      FL_ERROR(error, LATER_QUOTED, FL_TEXT(plan.origin.name));
    } else {
      FL_ERROR(error, NEXT_QUOTED, FL_TEXT(plan.origin.name));
    }
  }
  return status;
}

static fl_vector fl_named_data(const fl_program *program) { return fl_child_vector(program == NULL ? NULL : program->root, PROGRAM_NAMED_DATA); }

uint32_t fl_program_named_data_count(const fl_program *program) { return fl_length(fl_named_data(program)); }

const char *fl_program_named_data_key(const fl_program *program, uint32_t index) {
  const fl_vector named = fl_named_data(program);
  return index < fl_length(named) ? fl_child_string(fl_element(named, index), NAMED_KEY) : NULL;
}

int fl_program_named_data_at(const fl_program *program, uint32_t index, const void **data, size_t *size) {
  const fl_vector named = fl_named_data(program);
  const uint8_t *bytes = NULL;
  if (index >= fl_length(named) || data == NULL || size == NULL ||
      !fl_segment(program, fl_field_u32(fl_element(named, index), NAMED_SEGMENT), &bytes, size)) {
    return 0;
  }
  *data = bytes;
  return 1;
}

fl_status fl_program_named_data(const fl_program *program, const char *key, const void **data, size_t *size, fl_error *error) {
  const fl_vector named = fl_named_data(program);
  if (key == NULL || data == NULL || size == NULL) {
    return fl_refuse_null(error);
  }
  const size_t length = strlen(key);
  for (uint32_t i = 0; i < fl_length(named); ++i) {
    const fl_vector name = fl_child(fl_element(named, i), NAMED_KEY);
    if (fl_length(name) == length && memcmp(fl_items_of(name), key, length) == 0 &&
        fl_program_named_data_at(program, i, data, size)) {
      return FL_OK;
    }
  }
  return FL_ERROR(error, NO_NAMED_DATA, FL_TEXT(key));
}

fl_status fl_program_method_info(const fl_program *program, uint32_t method, fl_method_info *info, fl_error *error) {
  fl_plan plan;
  const fl_status status = fl_plan_find(program, method, info, &plan, error);
  if (status != FL_OK) {
    return status;
  }
  const fl_table container = fl_child(plan.table, PLAN_CONTAINER);
  *info = (fl_method_info){.name = plan.origin.name,
                           .input_encoding = fl_child_string(container, CONTAINER_INPUTS),
                           .output_encoding = fl_child_string(container, CONTAINER_OUTPUTS),
                           .inputs = fl_length(plan.inputs),
                           .outputs = fl_length(plan.outputs),
                           .arenas = fl_length(plan.buffers) > 0 ? fl_length(plan.buffers) - 1 : 0,
                           .operators = fl_length(plan.operators),
                           .delegates = fl_length(plan.delegates),
                           .values = fl_length(plan.values)};
  for (uint32_t i = 0; i < fl_length(plan.chains); ++i) {
    info->instructions += fl_length(fl_plan_chain(&plan, i));
  }
  return FL_OK;
}

static void fl_describe_slot(const fl_plan *plan, uint32_t slot, fl_slot_info *info) {
  static const uint8_t tags[] = {FL_NONE,     FL_NONE,        FL_INT,       FL_BOOLEAN,     FL_DOUBLE, FL_TENSOR, FL_STRING,
                                 FL_INT_LIST, FL_DOUBLE_LIST, FL_BOOL_LIST, FL_TENSOR_LIST, FL_OPTIONAL_TENSOR_LIST};
  fl_table table = NULL;
  const uint8_t kind = fl_plan_value(plan, slot, &table);
  fl_tensor_record record;
  memset(info, 0, sizeof *info);
  info->tag = tags[kind];
  switch (kind) {
    case VALUE_INT: info->integer = fl_field_i64(table, SCALAR_VALUE); break;
    case VALUE_BOOL: info->integer = fl_field_u8(table, SCALAR_VALUE) != 0; break;
    case VALUE_STRING: info->string = fl_child_string(table, SCALAR_VALUE); break;
    case VALUE_DOUBLE: {
      const uint64_t bits = fl_field_u64(table, SCALAR_VALUE);
      memcpy(&info->real, &bits, sizeof info->real);
      break;
    }
    case VALUE_TENSOR:
      fl_read_tensor(table, &record);
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
  const fl_status status = fl_plan_find(program, method, info, &plan, error);
  if (status != FL_OK) {
    return status;
  }
  const fl_vector slots = direction == FL_INPUT ? plan.inputs : plan.outputs;
  if (index >= fl_length(slots)) {
    const fl_phrase slot = direction == FL_INPUT ? FL_PHRASE_OF(INPUT) : FL_PHRASE_OF(OUTPUT);
    return FL_BLAME(&plan.origin, NO_SLOT, FL_WORDS(slot), FL_NUMBER(index), FL_NUMBER(fl_length(slots)));
  }
  fl_describe_slot(&plan, (uint32_t)fl_element_i32(slots, index), info);
  return FL_OK;
}

size_t fl_program_operator(const fl_program *program, uint32_t method, uint32_t index, char *name, size_t capacity) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || index >= fl_length(plan.operators)) {
    return 0;
  }
  const fl_table table = fl_element(plan.operators, index);
  const char *parts[] = {fl_child_string(table, OPERATOR_NAME), ".", fl_child_string(table, OPERATOR_OVERLOAD)};
  size_t length = 0;
  capacity = name == NULL ? 0 : capacity;
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

const char *fl_program_delegate(const fl_program *program, uint32_t method, uint32_t index) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || index >= fl_length(plan.delegates)) {
    return NULL;
  }
  return fl_child_string(fl_element(plan.delegates, index), DELEGATE_ID);
}
