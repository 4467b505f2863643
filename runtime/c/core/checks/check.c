/* Checks a method: indices, shapes, memory, jumps. After this, the other files use these fields without checks.
 *
 * A malformed method gives FL_INVALID_PROGRAM. A method without faults that needs a feature which this runtime lacks gives FL_NOT_SUPPORTED. */
#include "core/schema.h"

static fl_status fl_bad_index(const fl_plan *plan, fl_phrase what, uint32_t at, int64_t index) {
  return FL_BLAME(&plan->origin, NO_VALUE, FL_WORDS(what), FL_NUMBER(at), FL_LONG(index), FL_NUMBER(fl_length(plan->values)));
}

static int fl_is_value(const fl_plan *plan, int64_t index) { return index >= 0 && index < (int64_t)fl_length(plan->values); }

static uint8_t fl_kind(const fl_plan *plan, uint32_t index) {
  fl_table table = NULL;
  return fl_plan_value(plan, index, &table);
}

static int fl_is_constant_value(const fl_plan *plan, uint32_t index) {
  fl_table table = NULL;
  if (fl_plan_value(plan, index, &table) != VALUE_TENSOR) {
    return 0;
  }
  return fl_field_u32(table, TENSOR_DATA_BUFFER) != 0 && fl_child(table, TENSOR_ALLOCATION) == 0;
}

/* ---- Tensors ---- */

static fl_status fl_check_shape(const fl_plan *plan, uint32_t index, fl_table table) {
  const fl_vector sizes = fl_child_vector(table, TENSOR_SIZES);
  const fl_vector order = fl_child_vector(table, TENSOR_DIM_ORDER);
  if (fl_length(sizes) > FL_MAX_RANK || fl_length(order) != fl_length(sizes)) {
    return FL_BLAME(&plan->origin, SIZES_AND_ORDER, FL_NUMBER(index), FL_NUMBER(fl_length(sizes)), FL_NUMBER(fl_length(order)));
  }
  const uint8_t dynamism = fl_field_u8(table, TENSOR_DYNAMISM);
  if (dynamism > 2) {
    return FL_BLAME(&plan->origin, DYNAMISM, FL_NUMBER(index), FL_NUMBER(dynamism));
  }
  uint32_t seen = 0;
  for (uint32_t i = 0; i < fl_length(sizes); ++i) {
    const uint8_t d = fl_items_of(order)[i];
    if (d >= fl_length(sizes) || (seen >> d & 1u) != 0) {
      return FL_BLAME(&plan->origin, DIM_ORDER, FL_NUMBER(index), FL_NUMBER(d));
    }
    seen |= 1u << d;
    const int64_t size = fl_element_i32(sizes, i);
    if (size < 0) {
      return FL_BLAME(&plan->origin, NEGATIVE_SIZE, FL_NUMBER(index), FL_LONG(size));
    }
  }
  return FL_OK;
}

/* Checks that this runtime supports the tensor's dtype, shape dynamism, storage and number of elements. `origin` is that of the plan, or has no
 * error. */
static fl_status fl_check_features(uint32_t index, fl_table table, const fl_origin *origin) {
  const int64_t dtype = (int8_t)fl_field_u8(table, TENSOR_SCALAR_TYPE);
  const uint8_t dynamism = fl_field_u8(table, TENSOR_DYNAMISM);
  const fl_table extra = fl_child(table, TENSOR_EXTRA);
  const size_t element = fl_element_size((int8_t)dtype);
  if (element == 0) {
    return FL_BLAME(origin, SCALAR_TYPE, FL_NUMBER(index), FL_LONG(dtype));
  }
  if (dynamism == 2) {
    return FL_BLAME(origin, NO_BOUND, FL_NUMBER(index));
  }
  const uint32_t offset = fl_field_u32(table, TENSOR_STORAGE_OFFSET);
  if (offset != 0) {
    return FL_BLAME(origin, STORAGE_OFFSET, FL_NUMBER(index), FL_NUMBER(offset));
  }
  if (fl_field_u8(extra, EXTRA_LOCATION) != 0) {
    return FL_BLAME(origin, EXTERNAL_DATA, FL_NUMBER(index), FL_TEXT(fl_child_string(extra, EXTRA_NAME)));
  }
  const uint8_t device = fl_field_u8(extra, EXTRA_DEVICE);
  if (device != 0) {
    return FL_BLAME(origin, DEVICE, FL_NUMBER(index), FL_NUMBER(device));
  }
  const fl_vector sizes = fl_child_vector(table, TENSOR_SIZES);
  uint64_t elements = 1;
  for (uint32_t i = 0; i < fl_length(sizes); ++i) {
    /* Strides count a size of 0 as 1, so the product without zeros has to fit. */
    const int32_t size = fl_element_i32(sizes, i);
    elements *= size > 0 ? (uint64_t)size : 1;
    if (elements > INT32_MAX || elements > SIZE_MAX / 2 / element) {
      return FL_BLAME(origin, MANY_ELEMENTS, FL_NUMBER(index), FL_LONG(elements));
    }
  }
  return FL_OK;
}

static fl_status fl_check_storage(const fl_plan *plan, uint32_t index, fl_table table) {
  fl_tensor_record record;
  fl_read_tensor(table, &record);
  const size_t element = fl_element_size(record.dtype);
  if (fl_child(table, TENSOR_ALLOCATION) != 0) {
    if (record.arena == 0 || record.arena >= fl_length(plan->buffers)) {
      const int64_t arenas = (int64_t)fl_length(plan->buffers) - 1;
      return FL_BLAME(&plan->origin, NO_ARENA, FL_NUMBER(index), FL_NUMBER(record.arena), FL_LONG(arenas));
    }
    const size_t arena = (size_t)fl_element_i64(plan->buffers, record.arena);
    if (record.offset > arena || record.bytes > arena - record.offset) {
      return FL_BLAME(&plan->origin, ARENA_BEYOND, FL_NUMBER(index), FL_NUMBER(record.bytes), FL_LONG(record.offset), FL_NUMBER(record.arena),
                      FL_NUMBER(arena));
    }
    if (record.offset % element != 0) {
      return FL_BLAME(&plan->origin, ODD_OFFSET, FL_NUMBER(index), FL_LONG(record.offset));
    }
  }
  if (record.buffer != 0) {
    const uint8_t *data = fl_constant(plan->program, record.buffer, record.bytes, record.arena != 0);
    if (data == NULL) {
      return FL_BLAME(&plan->origin, CONSTANT_BEYOND, FL_NUMBER(record.bytes), FL_NUMBER(index), FL_NUMBER(record.buffer));
    }
    if (record.arena == 0 && (uintptr_t)data % element != 0) {
      return FL_BLAME(&plan->origin, ODD_CONSTANT, FL_NUMBER(index), FL_NUMBER(element));
    }
  }
  return FL_OK;
}

/* ---- Values ---- */

static int fl_may_hold(uint8_t list, uint8_t item) {
  switch (list) {
    case VALUE_INT_LIST: return item == VALUE_INT;
    case VALUE_TENSOR_LIST: return item == VALUE_TENSOR;
    default: return item == VALUE_TENSOR || item == VALUE_NULL;
  }
}

/* Checks that a list holds existing values of the kind that the list admits. A list never holds a list, so there are no cycles. */
static fl_status fl_check_list(const fl_plan *plan, uint32_t index, uint8_t kind, fl_table table) {
  const fl_vector items = fl_child_vector(table, LIST_ITEMS);
  for (uint32_t i = 0; i < fl_length(items); ++i) {
    const int64_t item = kind == VALUE_INT_LIST ? fl_element_i64(items, i) : fl_element_i32(items, i);
    if (kind == VALUE_OPTIONAL_TENSOR_LIST && item == -1) {
      continue;
    }
    if (!fl_is_value(plan, item)) {
      return fl_bad_index(plan, FL_PHRASE_OF(LIST), index, item);
    }
    if (!fl_may_hold(kind, fl_kind(plan, (uint32_t)item))) {
      return FL_BLAME(&plan->origin, LIST_ITEM, FL_NUMBER(index), FL_NUMBER(item));
    }
  }
  return FL_OK;
}

static fl_status fl_check_values(const fl_plan *plan) {
  fl_status unsupported = FL_OK;
  fl_origin features = plan->origin;
  for (uint32_t i = 0; i < fl_length(plan->values); ++i) {
    fl_table table = NULL;
    const uint8_t kind = fl_plan_value(plan, i, &table);
    fl_status status = FL_OK;
    if (kind == VALUE_TENSOR) {
      status = fl_check_shape(plan, i, table);
      if (status == FL_OK) {
        status = fl_check_features(i, table, &features);
      }
      if (status == FL_OK) {
        status = fl_check_storage(plan, i, table);
      }
    } else if (kind == VALUE_INT_LIST || kind == VALUE_TENSOR_LIST || kind == VALUE_OPTIONAL_TENSOR_LIST) {
      status = fl_check_list(plan, i, kind, table);
    }
    if (status == FL_NOT_SUPPORTED) {
      /* Only the first unsupported feature is reported; a later one must not overwrite its text. */
      unsupported = status;
      features.error = NULL;
    } else if (status != FL_OK) {
      return status;
    }
  }
  return unsupported;
}

/* ---- Instructions ---- */

static fl_status fl_check_call(const fl_plan *plan, uint32_t at, uint8_t kind, fl_table table) {
  const int64_t target = fl_field_i32(table, CALL_TARGET);
  const fl_vector targets = kind == INSTRUCTION_KERNEL ? plan->operators : plan->delegates;
  const fl_vector args = fl_child_vector(table, CALL_ARGS);
  if (target < 0 || target >= (int64_t)fl_length(targets)) {
    return kind == INSTRUCTION_KERNEL ? FL_BLAME(&plan->origin, NO_OPERATOR, FL_NUMBER(at), FL_LONG(target), FL_NUMBER(fl_length(targets)))
                                      : FL_BLAME(&plan->origin, NO_DELEGATE, FL_NUMBER(at), FL_LONG(target), FL_NUMBER(fl_length(targets)));
  }
  for (uint32_t i = 0; i < fl_length(args); ++i) {
    const int32_t index = fl_element_i32(args, i);
    if (!fl_is_value(plan, index)) {
      return fl_bad_index(plan, FL_PHRASE_OF(INSTRUCTION), at, index);
    }
  }
  return FL_OK;
}

/* Checks that a move's source and destination have the same kind, dtype and rank, so that checks of a slot hold after any move. */
static fl_status fl_check_move(const fl_plan *plan, uint32_t at, fl_table table) {
  const int32_t slots[] = {fl_field_i32(table, MOVE_FROM), fl_field_i32(table, MOVE_TO)};
  uint8_t kinds[2];
  fl_table tables[2];
  for (int i = 0; i < 2; ++i) {
    if (!fl_is_value(plan, slots[i])) {
      return fl_bad_index(plan, FL_PHRASE_OF(INSTRUCTION), at, slots[i]);
    }
    kinds[i] = fl_plan_value(plan, (uint32_t)slots[i], &tables[i]);
  }
  if (kinds[0] != kinds[1]) {
    return FL_BLAME(&plan->origin, MOVED_KIND, FL_NUMBER(at), FL_NUMBER(slots[0]), FL_NUMBER(slots[1]));
  }
  if (kinds[0] == VALUE_TENSOR && (fl_field_u8(tables[0], TENSOR_SCALAR_TYPE) != fl_field_u8(tables[1], TENSOR_SCALAR_TYPE) ||
                                   fl_length(fl_child_vector(tables[0], TENSOR_SIZES)) !=
                                       fl_length(fl_child_vector(tables[1], TENSOR_SIZES)))) {
    return FL_BLAME(&plan->origin, MOVED_TENSOR, FL_NUMBER(at), FL_NUMBER(slots[0]), FL_NUMBER(slots[1]));
  }
  return FL_OK;
}

static fl_status fl_check_jump(const fl_plan *plan, uint32_t at, fl_table table, uint32_t count) {
  const int32_t condition = fl_field_i32(table, JUMP_CONDITION);
  const int64_t destination = fl_field_i32(table, JUMP_DESTINATION);
  fl_table value = NULL;
  if (!fl_is_value(plan, condition)) {
    return fl_bad_index(plan, FL_PHRASE_OF(INSTRUCTION), at, condition);
  }
  const uint8_t kind = fl_plan_value(plan, (uint32_t)condition, &value);
  if (kind != VALUE_BOOL && !(kind == VALUE_TENSOR && fl_field_u8(value, TENSOR_SCALAR_TYPE) == FL_BOOL)) {
    return FL_BLAME(&plan->origin, CONDITION_KIND, FL_NUMBER(at), FL_NUMBER(condition));
  }
  if (destination < 0 || destination > (int64_t)count) {
    return FL_BLAME(&plan->origin, JUMP_BEYOND, FL_NUMBER(at), FL_LONG(destination), FL_NUMBER(count));
  }
  return FL_OK;
}

static fl_status fl_check_free(const fl_plan *plan, uint32_t at, fl_table table) {
  const int64_t freed = fl_field_i32(table, FREE_VALUE);
  return fl_is_value(plan, freed) && fl_kind(plan, (uint32_t)freed) == VALUE_TENSOR ? FL_OK : FL_BLAME(&plan->origin, FREED_KIND, FL_NUMBER(at), FL_LONG(freed));
}

static fl_status fl_check_instructions(const fl_plan *plan) {
  fl_status status = FL_OK;
  fl_cursor cursor = {0};
  while (status == FL_OK && fl_plan_next(plan, &cursor)) {
    const uint32_t at = cursor.next - 1;
    switch (cursor.kind) {
      case INSTRUCTION_KERNEL:
      case INSTRUCTION_DELEGATE: status = fl_check_call(plan, at, cursor.kind, cursor.table); break;
      case INSTRUCTION_MOVE: status = fl_check_move(plan, at, cursor.table); break;
      case INSTRUCTION_JUMP_FALSE: status = fl_check_jump(plan, at, cursor.table, fl_length(cursor.instructions)); break;
      default: status = fl_check_free(plan, at, cursor.table);
    }
  }
  return status;
}

/* ---- The method ---- */

static fl_status fl_check_ports(const fl_plan *plan) {
  for (int output = 0; output < 2; ++output) {
    const fl_vector slots = output ? plan->outputs : plan->inputs;
    for (uint32_t i = 0; i < fl_length(slots); ++i) {
      const int32_t index = fl_element_i32(slots, i);
      if (!fl_is_value(plan, index)) {
        return fl_bad_index(plan, output ? FL_PHRASE_OF(OUTPUT) : FL_PHRASE_OF(INPUT), i, index);
      }
      if (!output && fl_is_constant_value(plan, (uint32_t)index)) {
        return FL_BLAME(&plan->origin, CONSTANT_INPUT, FL_NUMBER(i));
      }
    }
  }
  return FL_OK;
}

static fl_status fl_check_buffers(const fl_plan *plan) {
  size_t total = 0;
  for (uint32_t i = 0; i < fl_length(plan->buffers); ++i) {
    const int64_t size = fl_element_i64(plan->buffers, i);
    if (size < 0 || (uint64_t)size > SIZE_MAX / 2 || fl_add(total, (size_t)size, &total)) {
      return FL_BLAME(&plan->origin, ARENA_SIZE, FL_NUMBER(i), FL_LONG(size));
    }
  }
  return FL_OK;
}

static fl_status fl_check_delegates(const fl_plan *plan) {
  for (uint32_t i = 0; i < fl_length(plan->delegates); ++i) {
    const fl_table reference = fl_child(fl_element(plan->delegates, i), DELEGATE_PROCESSED);
    const uint8_t location = fl_field_u8(reference, REFERENCE_LOCATION);
    const uint32_t field = location == 0 ? PROGRAM_BACKEND_DELEGATE_DATA : PROGRAM_SEGMENTS;
    if (location > 1 || fl_field_u32(reference, REFERENCE_INDEX) >= fl_length(fl_child_vector(plan->program->root, field))) {
      return FL_BLAME(&plan->origin, DELEGATE_BEYOND, FL_NUMBER(i));
    }
  }
  return FL_OK;
}

fl_status fl_check_plan(const fl_plan *plan) {
  fl_status status = fl_check_buffers(plan);
  if (status == FL_OK) {
    status = fl_check_ports(plan);
  }
  if (status == FL_OK) {
    status = fl_check_delegates(plan);
  }
  if (status == FL_OK) {
    status = fl_check_instructions(plan);
  }
  return status == FL_OK ? fl_check_values(plan) : status;
}
