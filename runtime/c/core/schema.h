/* The tables of a .pte file (program.fbs of ExecuTorch 1.5): field numbers, union tags, and reading from a file that fl_verify has accepted. */
#ifndef FLAMBEAU_CORE_SCHEMA_H
#define FLAMBEAU_CORE_SCHEMA_H

#include <string.h>

#include "core/internal.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file format is little-endian and read in place"
#endif

enum { /* Program */
  PROGRAM_VERSION = 0,
  PROGRAM_EXECUTION_PLAN,
  PROGRAM_CONSTANT_BUFFER,
  PROGRAM_BACKEND_DELEGATE_DATA,
  PROGRAM_SEGMENTS,
  PROGRAM_CONSTANT_SEGMENT,
  PROGRAM_MUTABLE_DATA_SEGMENTS,
  PROGRAM_NAMED_DATA
};
enum { /* ExecutionPlan */
  PLAN_NAME = 0,
  PLAN_CONTAINER,
  PLAN_VALUES,
  PLAN_INPUTS,
  PLAN_OUTPUTS,
  PLAN_CHAINS,
  PLAN_OPERATORS,
  PLAN_DELEGATES,
  PLAN_BUFFER_SIZES
};
enum { CONTAINER_INPUTS = 0, CONTAINER_OUTPUTS };
enum { /* Tensor */
  TENSOR_SCALAR_TYPE = 0,
  TENSOR_STORAGE_OFFSET,
  TENSOR_SIZES,
  TENSOR_DIM_ORDER,
  TENSOR_REQUIRES_GRAD,
  TENSOR_DATA_BUFFER,
  TENSOR_ALLOCATION,
  TENSOR_LAYOUT,
  TENSOR_DYNAMISM,
  TENSOR_EXTRA
};
enum { ALLOCATION_ARENA = 0, ALLOCATION_LOW, ALLOCATION_HIGH };
enum { EXTRA_SEGMENT = 0, EXTRA_NAME, EXTRA_LOCATION, EXTRA_DEVICE };
enum { VALUE_TYPE = 0, VALUE_TABLE };
enum { SCALAR_VALUE = 0, LIST_ITEMS = 0 };
enum { OPERATOR_NAME = 0, OPERATOR_OVERLOAD };
enum { INSTRUCTION_TYPE = 0, INSTRUCTION_TABLE };
enum { CALL_TARGET = 0, CALL_ARGS };
enum { MOVE_FROM = 0, MOVE_TO };
enum { JUMP_CONDITION = 0, JUMP_DESTINATION };
enum { FREE_VALUE = 0 };
enum { CHAIN_INSTRUCTIONS = 2, CHAIN_STACKTRACE };
enum { STACK_FRAMES = 0 };
enum { FRAME_FILE = 0, FRAME_LINE, FRAME_NAME };
enum { DELEGATE_ID = 0, DELEGATE_PROCESSED, DELEGATE_SPECS };
enum { REFERENCE_LOCATION = 0, REFERENCE_INDEX };
enum { SPEC_KEY = 0, SPEC_VALUE };
enum { BUFFER_STORAGE = 0 };
enum { SEGMENT_OFFSET = 0, SEGMENT_SIZE };
enum { SUBSEGMENT_INDEX = 0, SUBSEGMENT_OFFSETS };
enum { NAMED_KEY = 0, NAMED_SEGMENT };

enum { /* KernelTypes */
  VALUE_NULL = 1,
  VALUE_INT,
  VALUE_BOOL,
  VALUE_DOUBLE,
  VALUE_TENSOR,
  VALUE_STRING,
  VALUE_INT_LIST,
  VALUE_DOUBLE_LIST,
  VALUE_BOOL_LIST,
  VALUE_TENSOR_LIST,
  VALUE_OPTIONAL_TENSOR_LIST
};
enum { /* InstructionArguments */
  INSTRUCTION_KERNEL = 1,
  INSTRUCTION_DELEGATE,
  INSTRUCTION_MOVE,
  INSTRUCTION_JUMP_FALSE,
  INSTRUCTION_FREE
};

static inline uint16_t fl_read_u16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint32_t fl_read_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline int32_t fl_read_i32(const uint8_t *p) {
  int32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline int64_t fl_read_i64(const uint8_t *p) {
  int64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint64_t fl_read_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* Returns the place of field `id` of a table; NULL when the field is absent, or `table` is NULL. */
const uint8_t *fl_field(fl_table table, uint32_t id);
/* Return the value of field `id`; 0 when it is absent. */
uint8_t fl_field_u8(fl_table table, uint32_t id);
uint32_t fl_field_u32(fl_table table, uint32_t id);
uint64_t fl_field_u64(fl_table table, uint32_t id);
/* Returns the table that field `id` refers to; NULL when it is absent. */
fl_table fl_child(fl_table table, uint32_t id);
/* Returns the vector that field `id` refers to; an empty vector when it is absent. */
fl_vector fl_child_vector(fl_table table, uint32_t id);
/* Returns the string that field `id` refers to; "" when it is absent. */
const char *fl_child_string(fl_table table, uint32_t id);
/* Returns table `index` of a vector of tables. */
fl_table fl_element(fl_vector vector, uint32_t index);

/* Returns the number of elements of a vector, and the place of the first. */
static inline uint32_t fl_length(fl_vector vector) { return fl_read_u32(vector); }
static inline const uint8_t *fl_items_of(fl_vector vector) { return vector + 4; }

static inline int32_t fl_field_i32(fl_table table, uint32_t id) { return (int32_t)fl_field_u32(table, id); }

static inline int64_t fl_field_i64(fl_table table, uint32_t id) { return (int64_t)fl_field_u64(table, id); }

static inline int32_t fl_element_i32(fl_vector vector, uint32_t index) { return fl_read_i32(fl_items_of(vector) + (size_t)4 * index); }

static inline int64_t fl_element_i64(fl_vector vector, uint32_t index) { return fl_read_i64(fl_items_of(vector) + (size_t)8 * index); }

#endif
