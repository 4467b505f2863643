/* Finds the fields of a program by the schema of the format. */
#include <stdlib.h>

#include "test/fuzz_places.h"
#include "test/test.h"

static void add(fuzz_places *p, enum kind kind, uint32_t at, uint32_t group) {
  if (at == 0) {
    return;
  }
  if (p->count == p->capacity) {
    p->capacity = p->capacity * 2 + 64;
    p->all = realloc(p->all, p->capacity * sizeof *p->all);
    CHECK(p->all != NULL);
  }
  p->all[p->count++] = (place){at, (uint8_t)kind, (uint8_t)group};
}

/* Adds the places of a list of numbers: its elements, its length, and the reference to it in its table. */
static void add_list(fuzz_places *p, const uint8_t *file, uint32_t table, uint32_t field, enum kind kind, uint32_t size, enum group group) {
  const vector found = vector_at(file, table, field);
  if (found.at == 0) {
    return;
  }
  for (uint32_t i = 0; i < found.count && i < 64; ++i) {
    add(p, kind, found.at + i * size, 0);
  }
  if (group != NO_GROUP) {
    add(p, LENGTH, found.at - 4, 0);
    add(p, REFERENCE, field_at(file, table, field), group);
  }
}

static void add_tensor(fuzz_places *p, const uint8_t *file, uint32_t table) {
  const vector order = vector_at(file, table, TENSOR_DIM_ORDER);
  const uint32_t allocation = child_at(file, table, TENSOR_ALLOCATION);
  p->tensors = realloc(p->tensors, (p->tensor_count + 1) * sizeof *p->tensors);
  CHECK(p->tensors != NULL);
  p->tensors[p->tensor_count++] = table;
  add(p, DTYPE, field_at(file, table, TENSOR_SCALAR_TYPE), 0);
  add(p, DYNAMISM, field_at(file, table, TENSOR_DYNAMISM), 0);
  add(p, BUFFER, field_at(file, table, TENSOR_DATA_BUFFER), 0);
  add_list(p, file, table, TENSOR_SIZES, SIZE, 4, SIZES);
  add(p, REFERENCE, field_at(file, table, TENSOR_DIM_ORDER), ORDERS);
  for (uint32_t i = 0; i + 1 < order.count; ++i) {
    add(p, ORDER, order.at + i, 0);
  }
  if (order.count > 0) {
    add(p, RANK, table, 0);
  }
  if (allocation != 0) {
    add(p, PLANNED, table, 0);
  }
  add(p, ARENA, field_at(file, allocation, ALLOCATION_ARENA), 0);
  add(p, OFFSET, field_at(file, allocation, ALLOCATION_LOW), 0);
}

static void add_value(fuzz_places *p, const uint8_t *file, uint32_t value) {
  const uint8_t tag = fl_field_u8(file + value, VALUE_TYPE);
  const uint32_t table = child_at(file, value, VALUE_TABLE);
  const uint32_t field = field_at(file, table, SCALAR_VALUE);
  add(p, TAG, field_at(file, value, VALUE_TYPE), 0);
  add(p, REFERENCE, field_at(file, value, VALUE_TABLE), TABLES + tag);
  p->values = realloc(p->values, (p->value_count + 1) * sizeof *p->values);
  CHECK(p->values != NULL);
  p->values[p->value_count].value = value;
  p->values[p->value_count++].tag = field_at(file, value, VALUE_TYPE);
  switch (tag) {
    case VALUE_INT: add(p, INTEGER, field, 0); break;
    case VALUE_DOUBLE: add(p, REAL, field, 0); break;
    case VALUE_BOOL: add(p, BOOLEAN, field, 0); break;
    case VALUE_STRING: add_list(p, file, table, SCALAR_VALUE, CONTENT, 1, NO_GROUP); break;
    case VALUE_TENSOR: add_tensor(p, file, table); break;
    case VALUE_INT_LIST: add_list(p, file, table, LIST_ITEMS, LONG_SLOT, 8, LONG_INDICES); break;
    case VALUE_DOUBLE_LIST: add_list(p, file, table, LIST_ITEMS, REAL, 8, NO_GROUP); break;
    case VALUE_BOOL_LIST: add_list(p, file, table, LIST_ITEMS, BOOLEAN, 1, NO_GROUP); break;
    case VALUE_TENSOR_LIST:
    case VALUE_OPTIONAL_TENSOR_LIST: add_list(p, file, table, LIST_ITEMS, SLOT, 4, INDICES); break;
    default: break;
  }
}

static void add_instruction(fuzz_places *p, const uint8_t *file, uint32_t instruction) {
  const uint8_t tag = fl_field_u8(file + instruction, INSTRUCTION_TYPE);
  const uint32_t table = child_at(file, instruction, INSTRUCTION_TABLE);
  add(p, TAG, field_at(file, instruction, INSTRUCTION_TYPE), 1);
  if (field_at(file, table, MOVE_FROM) != 0 && field_at(file, table, MOVE_TO) != 0) {
    add(p, STEP, instruction, 0);
  }
  switch (tag) {
    case INSTRUCTION_KERNEL:
    case INSTRUCTION_DELEGATE:
      add(p, TARGET, field_at(file, table, CALL_TARGET), 0);
      add_list(p, file, table, CALL_ARGS, SLOT, 4, INDICES);
      break;
    case INSTRUCTION_JUMP_FALSE:
      add(p, SLOT, field_at(file, table, JUMP_CONDITION), 0);
      add(p, JUMP, field_at(file, table, JUMP_DESTINATION), 0);
      break;
    case INSTRUCTION_MOVE: add(p, SLOT, field_at(file, table, MOVE_TO), 0); /* fall through */
    default: add(p, SLOT, field_at(file, table, MOVE_FROM), 0);
  }
}

/* Adds every table of a list, and the references of the list to them. */
static void add_tables(fuzz_places *p, const uint8_t *file, vector list, enum group group,
                       void (*each)(fuzz_places *, const uint8_t *, uint32_t)) {
  for (uint32_t i = 0; i < list.count; ++i) {
    add(p, REFERENCE, list.at + 4 * i, group);
    if (each != NULL) {
      each(p, file, element_at(file, list, i));
    }
  }
}

static void add_plan(fuzz_places *p, const uint8_t *file, uint32_t plan) {
  const vector chains = vector_at(file, plan, PLAN_CHAINS);
  add_tables(p, file, vector_at(file, plan, PLAN_VALUES), VALUES, add_value);
  for (uint32_t i = 0; i < chains.count; ++i) {
    const vector instructions = vector_at(file, element_at(file, chains, i), CHAIN_INSTRUCTIONS);
    add_tables(p, file, instructions, INSTRUCTIONS, add_instruction);
    add(p, LENGTH, instructions.at == 0 ? 0 : instructions.at - 4, 0);
  }
  add_tables(p, file, vector_at(file, plan, PLAN_OPERATORS), OPERATORS, NULL);
  add_list(p, file, plan, PLAN_INPUTS, PORT, 4, INDICES);
  add_list(p, file, plan, PLAN_OUTPUTS, PORT, 4, INDICES);
  add_list(p, file, plan, PLAN_BUFFER_SIZES, MEMORY, 8, NO_GROUP);
}

static int by_kind(const void *a, const void *b) {
  const place *x = a;
  const place *y = b;
  return x->kind != y->kind ? (int)x->kind - (int)y->kind : (x->at > y->at) - (x->at < y->at);
}

fuzz_places *find_places(const uint8_t *file, size_t size) {
  fuzz_places *p = calloc(1, sizeof *p);
  CHECK(p != NULL);
  const uint32_t root = fl_read_u32(file);
  const vector plans = vector_at(file, root, PROGRAM_EXECUTION_PLAN);
  uint64_t segments = size;
  for (uint32_t i = 0; i < plans.count; ++i) {
    add_plan(p, file, element_at(file, plans, i));
  }
  if (memcmp(file + 8, "eh00", 4) == 0) {
    memcpy(&segments, file + 24, sizeof segments);
  }
  for (uint64_t at = segments == 0 ? size : segments; at < size && at < segments + 256; ++at) {
    add(p, CONTENT, (uint32_t)at, 0);
  }
  if (p->count > 0) {
    qsort(p->all, p->count, sizeof *p->all, by_kind);
  }
  for (uint32_t kind = 0, i = 0; kind <= KINDS; ++kind) {
    while (i < p->count && p->all[i].kind < kind) {
      ++i;
    }
    p->starts[kind] = i;
  }
  return p;
}

void free_places(fuzz_places *places) {
  free(places->all);
  free(places->values);
  free(places->tensors);
  free(places);
}
