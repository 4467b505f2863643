/* Shared by the files of the core, and by nothing else. */
#ifndef FLAMBEAU_CORE_INTERNAL_H
#define FLAMBEAU_CORE_INTERNAL_H

#include "flambeau/runtime.h"

/* a * b; nonzero when it does not fit. */
static inline int fl_multiply(size_t a, size_t b, size_t *product) {
  if (a != 0 && b > SIZE_MAX / a) {
    return 1;
  }
  *product = a * b;
  return 0;
}

/* a + b; nonzero when it does not fit. */
static inline int fl_add(size_t a, size_t b, size_t *sum) {
  if (b > SIZE_MAX - a) {
    return 1;
  }
  *sum = a + b;
  return 0;
}

/* Strides from sizes and dim_order. */
void fl_set_strides(fl_tensor *t);

/* ---- Errors (message.c) ---- */

/* The text or number for a `%` of a message. */
typedef struct fl_item {
  const char *text; /* NULL: the number */
  int64_t number;
} fl_item;

#define FL_TEXT(value) ((fl_item){(value), 0})
#define FL_NUMBER(value) ((fl_item){NULL, (int64_t)(value)})
#define FL_ERROR(error, status, format, ...) fl_report((error), (status), (format), (const fl_item[]){__VA_ARGS__})

/* Writes `format`, each `%` replaced by the next item, into `error`, and returns `status`. */
fl_status fl_report(fl_error *error, fl_status status, const char *format, const fl_item *items);
/* Appends `format` to what `error` says. */
void fl_append(fl_error *error, const char *format, const fl_item *items);

/* Says that nothing is wrong. */
static inline void fl_clear(fl_error *error) {
  if (error != NULL) {
    error->status = FL_OK;
    error->text[0] = 0;
  }
}

/* Refuses a call of the library in which a pointer is NULL. */
fl_status fl_refuse_null(fl_error *error);

/* Appends what the values of a call are: "float32[2, 3], 1, None". A value that follows itself is said once. */
void fl_append_values(fl_error *error, const fl_value *const *values, uint32_t count);

/* Appends `lead` and where instruction `at`, counted over all chains, comes from: "layers.0.attention (model.py:12)". Nothing if that is unknown. */
void fl_append_location(fl_error *error, const char *lead, const fl_method *method, uint32_t at);

const char *fl_tag_name(uint8_t tag);
const char *fl_dtype_name(int8_t dtype);

/* ---- The file (header.c, plan.c) ---- */

/* A vector of the file: position of its first element. */
typedef struct fl_vector {
  uint32_t at;
  uint32_t count;
} fl_vector;

/* Makes `program` refer to a file, whose header is checked and nothing else (header.c). */
fl_status fl_open_file(fl_program *program, const void *data, size_t size, fl_error *error);

/* One method of the file. */
typedef struct fl_plan {
  const fl_program *program;
  const uint8_t *file;
  const char *name;
  uint32_t index;
  uint32_t table;
  union {
    struct { /* in the order of the fields from PLAN_VALUES on */
      fl_vector values;
      fl_vector inputs;
      fl_vector outputs;
      fl_vector chains;
      fl_vector operators;
      fl_vector delegates;
      fl_vector buffers;
    };
    fl_vector vectors[7];
  };
} fl_plan;

/* Nonzero when there is such a method. `program` may be NULL. */
int fl_plan_open(const fl_program *program, uint32_t method, fl_plan *plan);
/* The same for a caller of the library, who also has to give what `given` points to. */
fl_status fl_plan_find(const fl_program *program, uint32_t method, const void *given, fl_plan *plan, fl_error *error);

/* The union tag of value `index` and the position of its table. */
uint8_t fl_plan_value(const fl_plan *plan, uint32_t index, uint32_t *table);
/* The union tag of instruction `index` of a chain's vector and the position of its table. */
uint8_t fl_plan_instruction(const fl_plan *plan, fl_vector instructions, uint32_t index, uint32_t *table);
fl_vector fl_plan_chain(const fl_plan *plan, uint32_t chain);
/* The chain of instruction `at`, counted over all chains; `at` becomes its index in that chain. */
uint32_t fl_plan_chain_of(const fl_plan *plan, uint32_t *at);
/* The parts of delegate `index`, and the name of its backend. */
void fl_payload_open(const fl_plan *plan, uint32_t index, fl_payload *payload, const char **id);

/* A segment by index; nonzero on success. */
int fl_segment(const fl_program *program, uint32_t index, const uint8_t **data, size_t *size);
/* `bytes` bytes of constant (or of the initial value of state) `buffer`; NULL when the file does not have as much. */
const uint8_t *fl_constant(const fl_program *program, uint32_t buffer, size_t bytes, int is_state);

/* A tensor as the file has it. */
typedef struct fl_tensor_record {
  const int32_t *sizes;
  const uint8_t *dim_order;
  size_t bytes;
  uint64_t offset;  /* in its arena */
  uint32_t arena;   /* from 1; 0: none */
  uint32_t buffer;  /* constant or initial value; 0: none */
  const char *name; /* of state; "": none */
  uint8_t rank;
  int8_t dtype;
  uint8_t dynamic;
} fl_tensor_record;

/* Reads a checked tensor table. */
void fl_read_tensor(const uint8_t *file, uint32_t table, fl_tensor_record *record);
static inline int fl_is_state(const fl_tensor_record *r) { return r->arena != 0 && (r->buffer != 0 || r->name[0] != 0); }
static inline int fl_is_constant(const fl_tensor_record *r) { return r->buffer != 0 && r->arena == 0; }


/* ---- Methods (measure.c, build.c, method.c, execute.c) ---- */

enum { /* flags of fl_value */
  FL_VALUE_READ = 1,    /* an instruction reads it */
  FL_VALUE_WRITTEN = 2, /* an instruction gives it a value */
  FL_VALUE_MOVES = 4,   /* a move or a view changes where it lies */
  FL_VALUE_INPUT = 8
};

enum { /* flags of fl_tensor */
  FL_TENSOR_READ_ONLY = 1, /* a constant, or an input where the caller has it */
  FL_TENSOR_VIEW = 2,      /* lies where the last et_view put it */
  FL_TENSOR_WRITTEN = 4,   /* while the memory plan is checked: a call or the caller has written it */
  FL_TENSOR_SHARED = 8,    /* lies in an arena that methods share */
  FL_TENSOR_LENT = 16,     /* an input that may be written where the caller has it */
  FL_TENSOR_PART = 32      /* while the memory plan is checked: lies within state */
};

typedef struct fl_delegate {
  const fl_backend *backend;
  void *handle;
  size_t outputs; /* fl_backend_memory.outputs */
} fl_delegate;

typedef struct fl_instruction {
  union {
    const fl_kernel *kernel;
    fl_delegate *delegate;
    fl_value *source; /* of a move; the condition of a jump */
  } on;
  union {
    fl_value **args;
    fl_value *destination;
  } to;
  uint32_t count; /* arguments, or where a jump goes */
  uint8_t kind;   /* union tag of the file */
  uint8_t checked; /* its access was checked at load, for good */
  uint8_t over;    /* of a call with a dynamic out on an operand: the argument that this is, from 1; else 0 */
} fl_instruction;

typedef struct fl_port {
  fl_value *value;
  fl_tensor *tensor; /* the slot's own, whatever was moved into the slot */
  uint8_t planned;
  uint8_t is_set;
  uint8_t constant;
  uint8_t is_read;   /* a scalar that some instruction reads */
} fl_port;

/* The counts of a method's parts. Its memory is (pointer size P: 8 | 4)
 *   values * (24 | 16) + tensors * (56 | 28) + instructions * (24 | 16) + delegates * 3P + (inputs + outputs) * (24 | 12)
 *   + (arenas + pointers) * P + dims * 4
 * rounded up to a multiple of 16, then the persistent memory of each delegate at the next multiple of 64. */
typedef union fl_counts {
  struct {
    size_t values;
    size_t tensors;
    size_t instructions;
    size_t delegates;
    size_t ports;
    size_t arenas;
    size_t pointers; /* items of boxed lists, arguments of calls */
    size_t dims;     /* strides of each tensor, sizes of each dynamic one */
  };
  size_t all[8];
} fl_counts;

/* The terms of the formula, which flambeau.runtime.memory computes as well. */
_Static_assert(sizeof(void *) == 8 || sizeof(void *) == 4, "pointers of 8 or 4 bytes");
_Static_assert(sizeof(fl_value) == (sizeof(void *) == 8 ? 24 : 16), "size of fl_value");
_Static_assert(sizeof(fl_tensor) == (sizeof(void *) == 8 ? 56 : 28), "size of fl_tensor");
_Static_assert(sizeof(fl_instruction) == (sizeof(void *) == 8 ? 24 : 16), "size of fl_instruction");
_Static_assert(sizeof(fl_delegate) == 3 * sizeof(void *), "size of fl_delegate");
_Static_assert(sizeof(fl_port) == (sizeof(void *) == 8 ? 24 : 12), "size of fl_port");

void fl_count(const fl_plan *plan, fl_counts *counts);
/* Nonzero when it does not fit in size_t. */
int fl_method_bytes(const fl_counts *counts, size_t *bytes);

/* The memory for the parts of values. In a method, `slots` are all its values; while measuring, the values that a list boxes are made afresh. */
typedef struct fl_pool {
  fl_value *slots;
  fl_value *values;
  fl_tensor *tensors;
  fl_value **pointers;
  int32_t *dims;
  size_t value_count;
  size_t tensor_count;
  size_t pointer_count;
  size_t dim_count;
  void *const *arenas; /* NULL: leave data pointers NULL */
} fl_pool;

/* Makes value `index` of a checked plan. Nonzero when the pool is too small. */
int fl_make_value(const fl_plan *plan, uint32_t index, fl_pool *pool, fl_value *value);

/* The groups that FLAMBEAU_GROUPS left out of the build, one string after the other: a group, its kernels, an empty one; at the end, an empty group. */
extern const char fl_left_out_kernels[];
/* The group of an operator that was left out with it; NULL of others. */
const char *fl_find_left_out(const char *name, const char *overload);
/* The kernel of an operator, NULL when no table has it. */
const fl_kernel *fl_find_operator(const fl_registry *registry, const char *name, const char *overload);
const fl_backend *fl_find_backend(const fl_registry *registry, const char *id);
void fl_resolve_registry(const fl_registry **registry, fl_registry *storage, const fl_kernel_table **table);
/* Everything of fl_method_measure; `bytes` of the method without the delegates' memories in `own`. */
fl_status fl_measure_plan(const fl_plan *plan, const fl_registry *registry, fl_requirements *need, size_t *own, fl_error *error);

/* ---- Calls (call.c, access.c, settle.c) ---- */

/* Whether a method can be used; NULL cannot. */
static inline int fl_is_ready(const fl_method *method) { return method != NULL && method->program != NULL; }
/* The name of a method; empty when the program has none of that index. */
const char *fl_method_name(const fl_method *method);

/* The operator or the backend that an instruction calls; NULL when it calls none. */
const char *fl_instruction_name(const fl_instruction *instruction);

/* Reports what is wrong with a call, after its method, number and name; `items` are for the % of `what`. Gives `status`. */
fl_status fl_refuse(const fl_method *method, uint32_t at, const fl_instruction *instruction, fl_status status, const char *what, const fl_item *items,
                    fl_error *error);

/* The same of argument `i`, which is `value`. */
fl_status fl_refuse_access(const fl_method *method, uint32_t at, const fl_instruction *instruction, fl_status status, const char *what, uint32_t i,
                           const fl_value *value, fl_error *error);

/* The letter of an argument; those of a delegate follow from how many outputs it has. Returns, which were checked to be outs, are not looked at: *. */
char fl_letter(const fl_instruction *instruction, uint32_t i);
/* The values that an argument stands for: the items of a list, or itself. */
fl_value *const *fl_items(fl_value *const *arg, uint32_t *count);
/* Gives a value the content of another, as a move does. */
static inline void fl_copy_value(fl_value *destination, const fl_value *source) {
  const uint8_t flags = destination->flags;
  *destination = *source;
  destination->flags = flags;
}
static inline fl_tensor *fl_tensor_of(const fl_value *value) { return value != NULL && value->tag == FL_TENSOR ? value->as.tensor : NULL; }
/* Whether an out lies on an operand, or gives it new sizes. */
int fl_lies_on(const fl_tensor *out, const fl_tensor *operand);
/* Finds out what is written, and checks the access of each call whose arguments never change their place. */
fl_status fl_settle_method(fl_method *method, fl_error *error);
/* Checks that a call writes only what it may: no constant, and no operand but where its kernel allows it. Takes a step of `work` for each pair of
 * tensors that it compares. */
fl_status fl_check_access(const fl_method *method, uint32_t at, fl_instruction *instruction, uint64_t *work, fl_error *error);
/* After a call that was checked when it ran: a view may be written where what it views may be. */
void fl_settle_access(const fl_instruction *instruction);
/* Before the first instruction: views refer to nothing, and outputs in the caller's memory hold zeros, as the arenas do at first. */
void fl_begin_access(fl_method *method);
/* Fails when an output has no memory. */
fl_status fl_end_access(const fl_method *method, fl_error *error);

/* ---- What only a file that is not trusted is checked for (checks/) ---- */

/* Checks that everything the schema names lies within the flatbuffer (verify.c). */
fl_status fl_verify(const fl_program *program, fl_error *error);
/* Reports what is wrong with an instruction. The numbers stand for the first % of `what` and for the second, if it has them. */
fl_status fl_bad_instruction(const fl_plan *plan, uint32_t at, const char *what, int64_t first, int64_t second, fl_error *error);
/* Checks what a method says about itself (check.c). */
fl_status fl_check_plan(const fl_plan *plan, fl_error *error);
/* Checks by the letters of its kernel that a call passes arguments of the right kinds, and returns its outs (signature.c). */
fl_status fl_check_signature(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args, fl_error *error);
/* Checks that each output is written (outputs.c). */
fl_status fl_check_outputs(const fl_method *method, const fl_plan *plan, fl_error *error);
/* Checks that the memory plan keeps each value until it is read (liveness.c). The method's own arenas hold anything
 * afterwards; those that it shares stay. */
fl_status fl_check_liveness(fl_method *method, const fl_plan *plan, fl_error *error);

/* These checks, by which fl_program_load has its programs checked later: the linker leaves them out of what only calls fl_program_load_trusted. */
struct fl_checks {
  fl_status (*plan)(const fl_plan *plan, fl_error *error);
  fl_status (*signature)(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args, fl_error *error);
  fl_status (*outputs)(const fl_method *method, const fl_plan *plan, fl_error *error);
  fl_status (*liveness)(fl_method *method, const fl_plan *plan, fl_error *error);
};

/* ---- State (state.c) ---- */

/* The first content of planned memory: initial values where the file has some, zeros elsewhere. State of several methods stays if `keep_state`. */
void fl_fill_arenas(fl_method *method, const fl_plan *plan, int keep_state);
/* Flags the tensors in arenas that other methods use too. */
void fl_mark_shared(fl_method *method, const fl_plan *plan);

/* Puts scalars, lists and the tensors that slots hold back to what the program says, and asks for all inputs again. */
void fl_restore_values(fl_method *method);

static inline size_t fl_align(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

#endif
