/* Checks that every table, vector, string and union that the runtime will read lies within the flatbuffer.
 *
 * One loop walks the tables by a description of the schema, with a stack as deep as the schema. A file may refer to one table from many
 * places; each reference takes from a budget proportional to the file's size, so that this walk and all later walks are linear. */
#include "core/schema.h"

typedef enum fl_kind { KIND_SCALAR, KIND_STRING, KIND_VECTOR, KIND_TABLE, KIND_TABLES, KIND_UNION } fl_kind;

typedef struct fl_field_spec {
  uint8_t id;
  uint8_t kind;     /* fl_kind */
  uint8_t size;     /* bytes of a scalar, or of an element of a vector */
  uint8_t required;
  uint8_t child;    /* fl_table_type of the table; for a union, of its first member */
  uint8_t members;  /* number of a union's members */
} fl_field_spec;

typedef enum fl_table_type {
  TYPE_PROGRAM,
  TYPE_PLAN,
  TYPE_CONTAINER,
  TYPE_VALUE,
  /* KernelTypes, in order */
  TYPE_NULL,
  TYPE_INT,
  TYPE_BOOL,
  TYPE_DOUBLE,
  TYPE_TENSOR,
  TYPE_STRING,
  TYPE_INT_LIST,
  TYPE_DOUBLE_LIST,
  TYPE_BOOL_LIST,
  TYPE_TENSOR_LIST,
  TYPE_OPTIONAL_TENSOR_LIST,
  TYPE_ALLOCATION,
  TYPE_EXTRA,
  TYPE_OPERATOR,
  TYPE_CHAIN,
  TYPE_STACK,
  TYPE_FRAME,
  TYPE_INSTRUCTION,
  /* InstructionArguments, in order */
  TYPE_KERNEL_CALL,
  TYPE_DELEGATE_CALL,
  TYPE_MOVE,
  TYPE_JUMP_FALSE,
  TYPE_FREE,
  TYPE_DELEGATE,
  TYPE_REFERENCE,
  TYPE_SPEC,
  TYPE_BUFFER,
  TYPE_SEGMENT,
  TYPE_SUBSEGMENT,
  TYPE_NAMED,
  TYPE_COUNT
} fl_table_type;

#define SCALAR(id, size) {id, KIND_SCALAR, size, 0, 0, 0}
#define STRING(id, required) {id, KIND_STRING, 1, required, 0, 0}
#define VECTOR(id, size) {id, KIND_VECTOR, size, 0, 0, 0}
#define TABLE(id, required, child) {id, KIND_TABLE, 4, required, child, 0}
#define TABLES(id, required, child) {id, KIND_TABLES, 4, required, child, 0}
#define UNION(id, first, members) {id, KIND_UNION, 4, 1, first, members}

static const fl_field_spec program_fields[] = {
    SCALAR(PROGRAM_VERSION, 4),
    TABLES(PROGRAM_EXECUTION_PLAN, 1, TYPE_PLAN),
    TABLES(PROGRAM_CONSTANT_BUFFER, 0, TYPE_BUFFER),
    TABLES(PROGRAM_BACKEND_DELEGATE_DATA, 0, TYPE_BUFFER),
    TABLES(PROGRAM_SEGMENTS, 0, TYPE_SEGMENT),
    TABLE(PROGRAM_CONSTANT_SEGMENT, 0, TYPE_SUBSEGMENT),
    TABLES(PROGRAM_MUTABLE_DATA_SEGMENTS, 0, TYPE_SUBSEGMENT),
    TABLES(PROGRAM_NAMED_DATA, 0, TYPE_NAMED),
};
static const fl_field_spec plan_fields[] = {
    STRING(PLAN_NAME, 1),
    TABLE(PLAN_CONTAINER, 0, TYPE_CONTAINER),
    TABLES(PLAN_VALUES, 0, TYPE_VALUE),
    VECTOR(PLAN_INPUTS, 4),
    VECTOR(PLAN_OUTPUTS, 4),
    TABLES(PLAN_CHAINS, 0, TYPE_CHAIN),
    TABLES(PLAN_OPERATORS, 0, TYPE_OPERATOR),
    TABLES(PLAN_DELEGATES, 0, TYPE_DELEGATE),
    VECTOR(PLAN_BUFFER_SIZES, 8),
};
static const fl_field_spec container_fields[] = {STRING(CONTAINER_INPUTS, 0), STRING(CONTAINER_OUTPUTS, 0)};
static const fl_field_spec value_fields[] = {UNION(VALUE_TYPE, TYPE_NULL, VALUE_OPTIONAL_TENSOR_LIST)};
static const fl_field_spec tensor_fields[] = {
    SCALAR(TENSOR_SCALAR_TYPE, 1), SCALAR(TENSOR_STORAGE_OFFSET, 4), VECTOR(TENSOR_SIZES, 4),
    VECTOR(TENSOR_DIM_ORDER, 1),   SCALAR(TENSOR_DATA_BUFFER, 4),    TABLE(TENSOR_ALLOCATION, 0, TYPE_ALLOCATION),
    SCALAR(TENSOR_DYNAMISM, 1),    TABLE(TENSOR_EXTRA, 0, TYPE_EXTRA),
};
static const fl_field_spec allocation_fields[] = {SCALAR(ALLOCATION_ARENA, 4), SCALAR(ALLOCATION_LOW, 4), SCALAR(ALLOCATION_HIGH, 4)};
static const fl_field_spec extra_fields[] = {STRING(EXTRA_NAME, 0), SCALAR(EXTRA_LOCATION, 1), SCALAR(EXTRA_DEVICE, 1)};
static const fl_field_spec scalar1_fields[] = {SCALAR(SCALAR_VALUE, 1)};
static const fl_field_spec scalar8_fields[] = {SCALAR(SCALAR_VALUE, 8)};
static const fl_field_spec string_fields[] = {STRING(SCALAR_VALUE, 1)};
static const fl_field_spec list1_fields[] = {VECTOR(LIST_ITEMS, 1)};
static const fl_field_spec list4_fields[] = {VECTOR(LIST_ITEMS, 4)};
static const fl_field_spec list8_fields[] = {VECTOR(LIST_ITEMS, 8)};
static const fl_field_spec operator_fields[] = {STRING(OPERATOR_NAME, 1), STRING(OPERATOR_OVERLOAD, 0)};
static const fl_field_spec chain_fields[] = {TABLES(CHAIN_INSTRUCTIONS, 0, TYPE_INSTRUCTION), TABLES(CHAIN_STACKTRACE, 0, TYPE_STACK)};
static const fl_field_spec stack_fields[] = {TABLES(STACK_FRAMES, 0, TYPE_FRAME)};
static const fl_field_spec frame_fields[] = {STRING(FRAME_FILE, 0), SCALAR(FRAME_LINE, 4), STRING(FRAME_NAME, 0)};
static const fl_field_spec instruction_fields[] = {UNION(INSTRUCTION_TYPE, TYPE_KERNEL_CALL, INSTRUCTION_FREE)};
static const fl_field_spec call_fields[] = {SCALAR(CALL_TARGET, 4), VECTOR(CALL_ARGS, 4)};
static const fl_field_spec pair_fields[] = {SCALAR(0, 4), SCALAR(1, 4)};
static const fl_field_spec delegate_fields[] = {
    STRING(DELEGATE_ID, 1),
    TABLE(DELEGATE_PROCESSED, 1, TYPE_REFERENCE),
    TABLES(DELEGATE_SPECS, 0, TYPE_SPEC),
};
static const fl_field_spec reference_fields[] = {SCALAR(REFERENCE_LOCATION, 1), SCALAR(REFERENCE_INDEX, 4)};
static const fl_field_spec spec_fields[] = {STRING(SPEC_KEY, 1), VECTOR(SPEC_VALUE, 1)};
static const fl_field_spec segment_fields[] = {SCALAR(SEGMENT_OFFSET, 8), SCALAR(SEGMENT_SIZE, 8)};
static const fl_field_spec subsegment_fields[] = {SCALAR(SUBSEGMENT_INDEX, 4), VECTOR(SUBSEGMENT_OFFSETS, 8)};
static const fl_field_spec named_fields[] = {STRING(NAMED_KEY, 1), SCALAR(NAMED_SEGMENT, 4)};

typedef struct fl_table_spec {
  const fl_field_spec *fields;
  uint8_t count;
  const char *name;
} fl_table_spec;

#define SPEC(fields, name) {fields, sizeof(fields) / sizeof *(fields), name}

static const fl_table_spec specs[TYPE_COUNT] = {
    [TYPE_PROGRAM] = SPEC(program_fields, "Program"),
    [TYPE_PLAN] = SPEC(plan_fields, "ExecutionPlan"),
    [TYPE_CONTAINER] = SPEC(container_fields, "ContainerMetadata"),
    [TYPE_VALUE] = SPEC(value_fields, "EValue"),
    [TYPE_NULL] = {NULL, 0, "Null"},
    [TYPE_INT] = SPEC(scalar8_fields, "Int"),
    [TYPE_BOOL] = SPEC(scalar1_fields, "Bool"),
    [TYPE_DOUBLE] = SPEC(scalar8_fields, "Double"),
    [TYPE_TENSOR] = SPEC(tensor_fields, "Tensor"),
    [TYPE_STRING] = SPEC(string_fields, "String"),
    [TYPE_INT_LIST] = SPEC(list8_fields, "IntList"),
    [TYPE_DOUBLE_LIST] = SPEC(list8_fields, "DoubleList"),
    [TYPE_BOOL_LIST] = SPEC(list1_fields, "BoolList"),
    [TYPE_TENSOR_LIST] = SPEC(list4_fields, "TensorList"),
    [TYPE_OPTIONAL_TENSOR_LIST] = SPEC(list4_fields, "OptionalTensorList"),
    [TYPE_ALLOCATION] = SPEC(allocation_fields, "AllocationDetails"),
    [TYPE_EXTRA] = SPEC(extra_fields, "ExtraTensorInfo"),
    [TYPE_OPERATOR] = SPEC(operator_fields, "Operator"),
    [TYPE_CHAIN] = SPEC(chain_fields, "Chain"),
    [TYPE_STACK] = SPEC(stack_fields, "FrameList"),
    [TYPE_FRAME] = SPEC(frame_fields, "Frame"),
    [TYPE_INSTRUCTION] = SPEC(instruction_fields, "Instruction"),
    [TYPE_KERNEL_CALL] = SPEC(call_fields, "KernelCall"),
    [TYPE_DELEGATE_CALL] = SPEC(call_fields, "DelegateCall"),
    [TYPE_MOVE] = SPEC(pair_fields, "MoveCall"),
    [TYPE_JUMP_FALSE] = SPEC(pair_fields, "JumpFalseCall"),
    [TYPE_FREE] = {pair_fields, 1, "FreeCall"},
    [TYPE_DELEGATE] = SPEC(delegate_fields, "BackendDelegate"),
    [TYPE_REFERENCE] = SPEC(reference_fields, "BackendDelegateDataReference"),
    [TYPE_SPEC] = SPEC(spec_fields, "CompileSpec"),
    [TYPE_BUFFER] = SPEC(list1_fields, "Buffer"),
    [TYPE_SEGMENT] = SPEC(segment_fields, "DataSegment"),
    [TYPE_SUBSEGMENT] = SPEC(subsegment_fields, "SubsegmentOffsets"),
    [TYPE_NAMED] = SPEC(named_fields, "NamedData"),
};

/* The deepest nesting of the schema is Program > ExecutionPlan > EValue > Tensor > ExtraTensorInfo. */
#define DEPTH 6

typedef struct fl_frame {
  const fl_table_spec *spec;
  uint32_t table;
  uint32_t vector;   /* position of the next element of the current vector of tables */
  uint32_t left;     /* number of elements left in that vector */
  uint8_t next;      /* index of the next field */
  uint8_t child;     /* fl_table_type of the vector's elements */
} fl_frame;

typedef struct fl_walk {
  const uint8_t *file;
  uint32_t size;
  uint64_t budget;
  const char *fault;
} fl_walk;

static int fl_fault(fl_walk *walk, const char *fault) {
  walk->fault = fault;
  return 0;
}

/* Returns the position that the offset at `at` refers to; 0 on a fault. The caller has checked that the 4 bytes of the offset exist. */
static uint32_t fl_follow(fl_walk *walk, uint32_t at) {
  const uint32_t offset = fl_read_u32(walk->file + at);
  if (offset == 0 || offset > walk->size - at || walk->size - at - offset < 4) {
    fl_fault(walk, "an offset leads out of the file");
    return 0;
  }
  return at + offset;
}

static int fl_check_table(fl_walk *walk, uint32_t table) {
  if (table % 4 != 0 || table > walk->size - 4) {
    return fl_fault(walk, "it is not where a table can be");
  }
  const uint32_t vtable = table - fl_read_u32(walk->file + table); /* a signed distance; a wrong one wraps around to a position out of range */
  if (vtable % 2 != 0 || vtable > walk->size - 4) {
    return fl_fault(walk, "its field list lies out of the file");
  }
  const uint32_t length = fl_read_u16(walk->file + vtable);
  const uint32_t inlined = fl_read_u16(walk->file + vtable + 2);
  if (length < 4 || length % 2 != 0 || length > walk->size - vtable || inlined < 4 || inlined > walk->size - table) {
    return fl_fault(walk, "it does not fit in the file");
  }
  if (walk->budget < 16) {
    return fl_fault(walk, "the file refers to the same data too many times");
  }
  walk->budget -= 16;
  return 1;
}

/* Returns the position of field `id`, and checks that its `size` bytes lie within the table; 0 when it is absent, or on a fault. */
static uint32_t fl_check_field(fl_walk *walk, uint32_t table, uint32_t id, uint32_t size) {
  const uint32_t at = fl_field(walk->file, table, id);
  if (at != 0) {
    const uint32_t inlined = fl_read_u16(walk->file + (table - fl_read_u32(walk->file + table)) + 2);
    if (at - table < 4 || at - table > inlined || inlined - (at - table) < size) {
      fl_fault(walk, "a field lies outside of it");
      return 0;
    }
  }
  return at;
}

/* Returns the position of the elements of the vector that the offset at `at` refers to, or 0 on a fault. `is_walked`: later walks read
 * each element, so each takes from the budget. */
static uint32_t fl_check_vector(fl_walk *walk, uint32_t at, uint32_t size, int is_walked, uint32_t *count) {
  const uint32_t vector = fl_follow(walk, at);
  if (vector == 0) {
    return 0;
  }
  *count = fl_read_u32(walk->file + vector);
  if (*count > (walk->size - vector - 4) / size) {
    fl_fault(walk, "a list is longer than the file");
    return 0;
  }
  if (size == 4 && vector % 4 != 0) {
    fl_fault(walk, "a list is not aligned");
    return 0;
  }
  const uint64_t cost = is_walked ? (uint64_t)*count * size : 4;
  if (walk->budget < cost) {
    fl_fault(walk, "the file refers to the same data too many times");
    return 0;
  }
  walk->budget -= cost;
  return vector + 4;
}

static int fl_check_string(fl_walk *walk, uint32_t at) {
  uint32_t length = 0;
  const uint32_t text = fl_check_vector(walk, at, 1, 0, &length);
  if (text == 0) {
    return 0;
  }
  if (length >= walk->size - text || walk->file[text + length] != 0) {
    return fl_fault(walk, "a string does not end");
  }
  return 1;
}

/* Returns the position of the table that a union field refers to, and stores its type in `type`; 0 on a fault. */
static uint32_t fl_check_union(fl_walk *walk, uint32_t table, const fl_field_spec *field, uint8_t *type) {
  const uint32_t tag_at = fl_check_field(walk, table, field->id, 1);
  const uint32_t at = walk->fault == NULL ? fl_check_field(walk, table, field->id + 1u, 4) : 0;
  if (walk->fault != NULL) {
    return 0;
  }
  if (tag_at == 0 || at == 0 || walk->file[tag_at] == 0 || walk->file[tag_at] > field->members) {
    fl_fault(walk, "its kind is unknown");
    return 0;
  }
  *type = (uint8_t)(field->child + walk->file[tag_at] - 1);
  return fl_follow(walk, at);
}

/* Checks the next field of a table. Returns the position of a table to walk next, and stores its type in `type`; 0 when there is none. */
static uint32_t fl_step(fl_walk *walk, fl_frame *frame, uint8_t *type) {
  const fl_field_spec *field = &frame->spec->fields[frame->next++];
  *type = field->child;
  if (field->kind == KIND_UNION) {
    return fl_check_union(walk, frame->table, field, type);
  }
  const uint32_t at = fl_check_field(walk, frame->table, field->id, field->kind == KIND_SCALAR ? field->size : 4);
  if (walk->fault != NULL) {
    return 0;
  }
  if (at == 0) {
    if (field->required) {
      fl_fault(walk, "a field that it needs is absent");
    }
    return 0;
  }
  switch (field->kind) {
    case KIND_STRING:
      fl_check_string(walk, at);
      return 0;
    case KIND_VECTOR: {
      uint32_t count = 0;
      fl_check_vector(walk, at, field->size, field->size > 1, &count);
      return 0;
    }
    case KIND_TABLES:
      frame->vector = fl_check_vector(walk, at, 4, 1, &frame->left);
      frame->child = field->child;
      return 0;
    case KIND_TABLE:
      return fl_follow(walk, at);
    default:
      return 0;
  }
}

fl_status fl_verify(const fl_program *program, fl_error *error) {
  fl_walk walk = {program->data, program->flatbuffer_size, fl_budget(program), NULL};
  fl_frame stack[DEPTH];
  uint32_t depth = 0;
  uint32_t table = program->root;
  uint8_t type = TYPE_PROGRAM;
  for (;;) {
    if (table != 0) {
      if (!fl_check_table(&walk, table)) {
        return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is damaged: % at byte %: %", FL_TEXT(specs[type].name), FL_NUMBER(table),
                        FL_TEXT(walk.fault));
      }
      stack[depth++] = (fl_frame){&specs[type], table, 0, 0, 0, 0};
      table = 0;
    }
    fl_frame *frame = &stack[depth - 1];
    if (frame->left > 0) {
      table = fl_follow(&walk, frame->vector);
      type = frame->child;
      frame->vector += 4;
      --frame->left;
    } else if (frame->next < frame->spec->count) {
      table = fl_step(&walk, frame, &type);
    } else if (--depth == 0) {
      return FL_OK;
    }
    if (walk.fault != NULL) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is damaged: % at byte %: %", FL_TEXT(frame->spec->name), FL_NUMBER(frame->table),
                      FL_TEXT(walk.fault));
    }
  }
}
