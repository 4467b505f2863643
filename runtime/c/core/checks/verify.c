/* Checks that every table, vector, string and union that the runtime will read lies within the flatbuffer.
 *
 * One loop walks the tables by a description of the schema, with a stack as deep as the schema. A file may refer to one table from many
 * places; each reference takes from a budget proportional to the file's size, so that this walk and all later walks are linear. */
#include "core/schema.h"

typedef enum fl_kind { KIND_SCALAR, KIND_STRING, KIND_VECTOR, KIND_TABLE, KIND_TABLES, KIND_UNION } fl_kind;

typedef struct fl_field_spec {
  uint8_t id;
  uint8_t kind : 7; /* fl_kind */
  uint8_t required : 1;
  uint8_t size;  /* bytes of a scalar or of an element of a vector; for a union, the number of its members */
  uint8_t child; /* fl_table_type of the table; for a union, of its first member */
} fl_field_spec;

typedef enum fl_table_type {
#define FL_TABLE(name, words) TYPE_##name,
#include "flambeau/messages.def"
  TYPE_COUNT
} fl_table_type;

#define SCALAR(id, size) {id, KIND_SCALAR, 0, size, 0}
#define STRING(id, required) {id, KIND_STRING, required, 1, 0}
#define VECTOR(id, size) {id, KIND_VECTOR, 0, size, 0}
#define TABLE(id, required, child) {id, KIND_TABLE, required, 4, child}
#define TABLES(id, required, child) {id, KIND_TABLES, required, 4, child}
#define UNION(id, first, members) {id, KIND_UNION, 1, members, first}

/* The fields that the runtime reads. Tables with the same ones share them. */
typedef struct fl_fields {
  fl_field_spec program[8], plan[9], container[2], value[1], tensor[8], allocation[3], extra[3], scalar1[1], scalar8[1], string[1], list1[1], list4[1],
      list8[1], operator[2], chain[2], stack[1], frame[3], instruction[1], call[2], pair[2], delegate[3], reference[2], spec[2], segment[2], subsegment[2],
      named[2];
} fl_fields;

static const fl_fields fields = {
    .program = {SCALAR(PROGRAM_VERSION, 4), TABLES(PROGRAM_EXECUTION_PLAN, 1, TYPE_PLAN), TABLES(PROGRAM_CONSTANT_BUFFER, 0, TYPE_BUFFER),
                TABLES(PROGRAM_BACKEND_DELEGATE_DATA, 0, TYPE_BUFFER), TABLES(PROGRAM_SEGMENTS, 0, TYPE_SEGMENT),
                TABLE(PROGRAM_CONSTANT_SEGMENT, 0, TYPE_SUBSEGMENT), TABLES(PROGRAM_MUTABLE_DATA_SEGMENTS, 0, TYPE_SUBSEGMENT),
                TABLES(PROGRAM_NAMED_DATA, 0, TYPE_NAMED)},
    .plan = {STRING(PLAN_NAME, 1), TABLE(PLAN_CONTAINER, 0, TYPE_CONTAINER), TABLES(PLAN_VALUES, 0, TYPE_VALUE), VECTOR(PLAN_INPUTS, 4),
             VECTOR(PLAN_OUTPUTS, 4), TABLES(PLAN_CHAINS, 0, TYPE_CHAIN), TABLES(PLAN_OPERATORS, 0, TYPE_OPERATOR),
             TABLES(PLAN_DELEGATES, 0, TYPE_DELEGATE), VECTOR(PLAN_BUFFER_SIZES, 8)},
    .container = {STRING(CONTAINER_INPUTS, 0), STRING(CONTAINER_OUTPUTS, 0)},
    .value = {UNION(VALUE_TYPE, TYPE_NULL, VALUE_OPTIONAL_TENSOR_LIST)},
    .tensor = {SCALAR(TENSOR_SCALAR_TYPE, 1), SCALAR(TENSOR_STORAGE_OFFSET, 4), VECTOR(TENSOR_SIZES, 4), VECTOR(TENSOR_DIM_ORDER, 1),
               SCALAR(TENSOR_DATA_BUFFER, 4), TABLE(TENSOR_ALLOCATION, 0, TYPE_ALLOCATION), SCALAR(TENSOR_DYNAMISM, 1),
               TABLE(TENSOR_EXTRA, 0, TYPE_EXTRA)},
    .allocation = {SCALAR(ALLOCATION_ARENA, 4), SCALAR(ALLOCATION_LOW, 4), SCALAR(ALLOCATION_HIGH, 4)},
    .extra = {STRING(EXTRA_NAME, 0), SCALAR(EXTRA_LOCATION, 1), SCALAR(EXTRA_DEVICE, 1)},
    .scalar1 = {SCALAR(SCALAR_VALUE, 1)},
    .scalar8 = {SCALAR(SCALAR_VALUE, 8)},
    .string = {STRING(SCALAR_VALUE, 1)},
    .list1 = {VECTOR(LIST_ITEMS, 1)},
    .list4 = {VECTOR(LIST_ITEMS, 4)},
    .list8 = {VECTOR(LIST_ITEMS, 8)},
    .operator = {STRING(OPERATOR_NAME, 1), STRING(OPERATOR_OVERLOAD, 0)},
    .chain = {TABLES(CHAIN_INSTRUCTIONS, 0, TYPE_INSTRUCTION), TABLES(CHAIN_STACKTRACE, 0, TYPE_STACK)},
    .stack = {TABLES(STACK_FRAMES, 0, TYPE_FRAME)},
    .frame = {STRING(FRAME_FILE, 0), SCALAR(FRAME_LINE, 4), STRING(FRAME_NAME, 0)},
    .instruction = {UNION(INSTRUCTION_TYPE, TYPE_KERNEL_CALL, INSTRUCTION_FREE)},
    .call = {SCALAR(CALL_TARGET, 4), VECTOR(CALL_ARGS, 4)},
    .pair = {SCALAR(0, 4), SCALAR(1, 4)},
    .delegate = {STRING(DELEGATE_ID, 1), TABLE(DELEGATE_PROCESSED, 1, TYPE_REFERENCE), TABLES(DELEGATE_SPECS, 0, TYPE_SPEC)},
    .reference = {SCALAR(REFERENCE_LOCATION, 1), SCALAR(REFERENCE_INDEX, 4)},
    .spec = {STRING(SPEC_KEY, 1), VECTOR(SPEC_VALUE, 1)},
    .segment = {SCALAR(SEGMENT_OFFSET, 8), SCALAR(SEGMENT_SIZE, 8)},
    .subsegment = {SCALAR(SUBSEGMENT_INDEX, 4), VECTOR(SUBSEGMENT_OFFSETS, 8)},
    .named = {STRING(NAMED_KEY, 1), SCALAR(NAMED_SEGMENT, 4)},
};

/* For each table the index of its first field among all, and the index behind its last. */
#define FIRST(member) (offsetof(fl_fields, member) / sizeof(fl_field_spec))
#define SPEC(member) {FIRST(member), FIRST(member) + sizeof fields.member / sizeof(fl_field_spec)}

static const uint8_t specs[TYPE_COUNT][2] = {
    [TYPE_PROGRAM] = SPEC(program),
    [TYPE_PLAN] = SPEC(plan),
    [TYPE_CONTAINER] = SPEC(container),
    [TYPE_VALUE] = SPEC(value),
    [TYPE_INT] = SPEC(scalar8),
    [TYPE_BOOL] = SPEC(scalar1),
    [TYPE_DOUBLE] = SPEC(scalar8),
    [TYPE_TENSOR] = SPEC(tensor),
    [TYPE_STRING] = SPEC(string),
    [TYPE_INT_LIST] = SPEC(list8),
    [TYPE_DOUBLE_LIST] = SPEC(list8),
    [TYPE_BOOL_LIST] = SPEC(list1),
    [TYPE_TENSOR_LIST] = SPEC(list4),
    [TYPE_OPTIONAL_TENSOR_LIST] = SPEC(list4),
    [TYPE_ALLOCATION] = SPEC(allocation),
    [TYPE_EXTRA] = SPEC(extra),
    [TYPE_OPERATOR] = SPEC(operator),
    [TYPE_CHAIN] = SPEC(chain),
    [TYPE_STACK] = SPEC(stack),
    [TYPE_FRAME] = SPEC(frame),
    [TYPE_INSTRUCTION] = SPEC(instruction),
    [TYPE_KERNEL_CALL] = SPEC(call),
    [TYPE_DELEGATE_CALL] = SPEC(call),
    [TYPE_MOVE] = SPEC(pair),
    [TYPE_JUMP_FALSE] = SPEC(pair),
    [TYPE_FREE] = {FIRST(pair), FIRST(pair) + 1},
    [TYPE_DELEGATE] = SPEC(delegate),
    [TYPE_REFERENCE] = SPEC(reference),
    [TYPE_SPEC] = SPEC(spec),
    [TYPE_BUFFER] = SPEC(list1),
    [TYPE_SEGMENT] = SPEC(segment),
    [TYPE_SUBSEGMENT] = SPEC(subsegment),
    [TYPE_NAMED] = SPEC(named),
};

/* The deepest nesting of the schema is Program > ExecutionPlan > EValue > Tensor > ExtraTensorInfo. */
#define DEPTH 6

typedef struct fl_frame {
  uint32_t table;
  uint32_t vector; /* position of the next element of the current vector of tables */
  uint32_t left;   /* number of elements left in that vector */
  uint8_t type;    /* fl_table_type */
  uint8_t next;    /* index of the next field */
  uint8_t end;     /* index behind the last field */
  uint8_t child;   /* fl_table_type of the vector's elements */
} fl_frame;

typedef struct fl_walk {
  const uint8_t *file;
  uint32_t size;
  uint32_t budget;
  fl_phrase fault;
} fl_walk;

static int fl_fault(fl_walk *walk, fl_phrase fault) {
  walk->fault = fault;
  return 0;
}

/* Returns the position that the offset at `at` refers to; 0 on a fault. The caller has checked that the 4 bytes of the offset exist. */
static uint32_t fl_follow(fl_walk *walk, uint32_t at) {
  const uint32_t offset = fl_read_u32(walk->file + at);
  if (offset == 0 || offset > walk->size - at || walk->size - at - offset < 4) {
    fl_fault(walk, FL_PHRASE_OF(OFFSET_BEYOND));
    return 0;
  }
  return at + offset;
}

static int fl_check_table(fl_walk *walk, uint32_t table) {
  if (table % 4 != 0 || table > walk->size - 4) {
    return fl_fault(walk, FL_PHRASE_OF(NO_TABLE_HERE));
  }
  const uint32_t vtable = table - fl_read_u32(walk->file + table); /* a signed distance; a wrong one wraps around to a position out of range */
  if (vtable % 2 != 0 || vtable > walk->size - 4) {
    return fl_fault(walk, FL_PHRASE_OF(FIELDS_BEYOND));
  }
  const uint32_t length = fl_read_u16(walk->file + vtable);
  const uint32_t inlined = fl_read_u16(walk->file + vtable + 2);
  if (length < 4 || length % 2 != 0 || length > walk->size - vtable || inlined < 4 || inlined > walk->size - table) {
    return fl_fault(walk, FL_PHRASE_OF(TABLE_BEYOND));
  }
  if (walk->budget < 16) {
    return fl_fault(walk, FL_PHRASE_OF(TOO_MANY_TIMES));
  }
  walk->budget -= 16;
  return 1;
}

/* Returns the position of field `id`, and checks that its `size` bytes lie within the table; 0 when it is absent, or on a fault. */
static uint32_t fl_check_field(fl_walk *walk, uint32_t table, uint32_t id, uint32_t size) {
  const uint8_t *field = fl_field(walk->file + table, id);
  const uint32_t at = field == NULL ? 0 : (uint32_t)(field - walk->file);
  if (at != 0) {
    const uint32_t inlined = fl_read_u16(walk->file + (table - fl_read_u32(walk->file + table)) + 2);
    if (at - table < 4 || at - table > inlined || inlined - (at - table) < size) {
      fl_fault(walk, FL_PHRASE_OF(FIELD_OUTSIDE));
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
    fl_fault(walk, FL_PHRASE_OF(LIST_BEYOND));
    return 0;
  }
  if (size == 4 && vector % 4 != 0) {
    fl_fault(walk, FL_PHRASE_OF(LIST_NOT_ALIGNED));
    return 0;
  }
  const uint32_t cost = is_walked ? *count * size : 4;
  if (walk->budget < cost) {
    fl_fault(walk, FL_PHRASE_OF(TOO_MANY_TIMES));
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
    return fl_fault(walk, FL_PHRASE_OF(ENDLESS_STRING));
  }
  return 1;
}

/* Returns the position of the table that a union field refers to, and stores its type in `type`; 0 on a fault. */
static uint32_t fl_check_union(fl_walk *walk, uint32_t table, const fl_field_spec *field, uint8_t *type) {
  const uint32_t tag_at = fl_check_field(walk, table, field->id, 1);
  const uint32_t at = walk->fault == 0 ? fl_check_field(walk, table, field->id + 1u, 4) : 0;
  if (walk->fault != 0) {
    return 0;
  }
  if (tag_at == 0 || at == 0 || walk->file[tag_at] == 0 || walk->file[tag_at] > field->size) {
    fl_fault(walk, FL_PHRASE_OF(UNKNOWN_KIND));
    return 0;
  }
  *type = (uint8_t)(field->child + walk->file[tag_at] - 1);
  return fl_follow(walk, at);
}

/* Checks the next field of a table. Returns the position of a table to walk next, and stores its type in `type`; 0 when there is none. */
static uint32_t fl_step(fl_walk *walk, fl_frame *frame, uint8_t *type) {
  const fl_field_spec *field = (const fl_field_spec *)&fields + frame->next++;
  *type = field->child;
  if (field->kind == KIND_UNION) {
    return fl_check_union(walk, frame->table, field, type);
  }
  const uint32_t at = fl_check_field(walk, frame->table, field->id, field->kind == KIND_SCALAR ? field->size : 4);
  if (walk->fault != 0) {
    return 0;
  }
  if (at == 0) {
    if (field->required) {
      fl_fault(walk, FL_PHRASE_OF(FIELD_ABSENT));
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
  fl_walk walk = {.file = program->data, .size = program->flatbuffer_size, .budget = fl_budget(program)};
  fl_frame stack[DEPTH];
  uint32_t depth = 0;
  uint32_t table = (uint32_t)(program->root - program->data);
  uint8_t type = TYPE_PROGRAM;
  for (;;) {
    if (table != 0) {
      if (!fl_check_table(&walk, table)) {
        return FL_ERROR(error, DAMAGED_TABLE, FL_TABLE_OF(type), FL_NUMBER(table), FL_WORDS(walk.fault));
      }
      stack[depth++] = (fl_frame){.table = table, .type = type, .next = specs[type][0], .end = specs[type][1]};
      table = 0;
    }
    fl_frame *frame = &stack[depth - 1];
    if (frame->left > 0) {
      table = fl_follow(&walk, frame->vector);
      type = frame->child;
      frame->vector += 4;
      --frame->left;
    } else if (frame->next < frame->end) {
      table = fl_step(&walk, frame, &type);
    } else if (--depth == 0) {
      return FL_OK;
    }
    if (walk.fault != 0) {
      return FL_ERROR(error, DAMAGED_TABLE, FL_TABLE_OF(frame->type), FL_NUMBER(frame->table), FL_WORDS(walk.fault));
    }
  }
}
