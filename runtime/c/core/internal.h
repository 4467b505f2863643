/* Declarations shared by the files of the core; no file outside of the core includes this header. */
#ifndef FLAMBEAU_CORE_INTERNAL_H
#define FLAMBEAU_CORE_INTERNAL_H

#include "flambeau/runtime.h"

/* Stores a * b in `product` and returns 0; returns 1 and stores nothing when the product exceeds SIZE_MAX. */
static inline int fl_multiply(size_t a, size_t b, size_t *product) {
  if (a != 0 && b > SIZE_MAX / a) {
    return 1;
  }
  *product = a * b;
  return 0;
}

/* Stores a + b in `sum` and returns 0; returns 1 and stores nothing when the sum exceeds SIZE_MAX. */
static inline int fl_add(size_t a, size_t b, size_t *sum) {
  if (b > SIZE_MAX - a) {
    return 1;
  }
  *sum = a + b;
  return 0;
}

/* Computes the strides of `t`, in elements, from its sizes and dim_order. */
void fl_set_strides(fl_tensor *t);

/* ---- Errors (message.c) ---- */

enum { /* the number and the status of each message */
#define FL_MESSAGE(number, name, status, text) FL_M_##name = number, FL_S_##name = status,
#include "flambeau/messages.def"
};

/* The sentence of each message; in a build of numbers "#" and its number. */
#define FL_MESSAGE(number, name, status, text) extern const char fl_text_##name[];
#include "flambeau/messages.def"

/* An item is a pair: its kind and a word. FL_NUMBER is for numbers that are not negative and fit in a word, FL_LONG for a variable of 64 bits. */
#define FL_NUMBER(value) (1u, (uintptr_t)(value))
#define FL_TEXT(value) (2u, (uintptr_t)(const char *)(value))
#if UINTPTR_MAX >= UINT64_MAX
#define FL_LONG(variable) FL_NUMBER(variable)
#else
#define FL_LONG(variable) (3u, (uintptr_t)(const int64_t *)&(variable))
#endif

/* With FL_NUMBERED, errors hold the numbers of messages, phrases and types, and no text but that of the program, kernels and backends. */
#ifdef FL_NUMBERED
#define FL_SENTENCE(number, text) "#" #number
#define FL_SENTENCES 0 /* words of the sentence before those of the items */
typedef uint8_t fl_phrase;
enum {
#define FL_PHRASE(number, name, text) FL_P_##name = number,
#include "flambeau/messages.def"
};
#define FL_PHRASE_OF(name) FL_P_##name
#define FL_WORDS FL_NUMBER
#define FL_KIND_OF(tag) FL_NUMBER(tag)
#define FL_DTYPE_OF(dtype) FL_NUMBER((uint8_t)(dtype))
#define FL_TABLE_OF(type) FL_NUMBER(type)
#define FL_HEAD(name, kinds) ((uint32_t)FL_M_##name | (uint32_t)FL_S_##name << 8 | (kinds) << 16)
#else
#define FL_SENTENCE(number, text) text
#define FL_SENTENCES 1
typedef const char *fl_phrase;
#define FL_PHRASE(number, name, text) extern const char fl_phrase_##name[];
#include "flambeau/messages.def"
#define FL_PHRASE_OF(name) fl_phrase_##name
#define FL_WORDS FL_TEXT
#define FL_KIND_OF(tag) FL_TEXT(fl_tag_name(tag))
#define FL_DTYPE_OF(dtype) FL_TEXT(fl_dtype_name(dtype))
#define FL_TABLE_OF(type) FL_TEXT(fl_table_name(type))
#define FL_HEAD(name, kinds) ((uint32_t)FL_S_##name << 8 | (kinds) << 16), (uintptr_t)fl_text_##name
#endif

#define FL_MOST_ITEMS 6
#define FL_ITEM_KIND(kind, word) kind
#define FL_ITEM_WORD(kind, word) word
#define FL_ITEMS1(m) FL_HEAD(m, 0u)
#define FL_ITEMS2(m, a) FL_HEAD(m, FL_ITEM_KIND a), FL_ITEM_WORD a
#define FL_ITEMS3(m, a, b) FL_HEAD(m, FL_ITEM_KIND a | FL_ITEM_KIND b << 2), FL_ITEM_WORD a, FL_ITEM_WORD b
#define FL_ITEMS4(m, a, b, c) FL_HEAD(m, FL_ITEM_KIND a | FL_ITEM_KIND b << 2 | FL_ITEM_KIND c << 4), FL_ITEM_WORD a, FL_ITEM_WORD b, FL_ITEM_WORD c
#define FL_ITEMS5(m, a, b, c, d)                                                                       \
  FL_HEAD(m, FL_ITEM_KIND a | FL_ITEM_KIND b << 2 | FL_ITEM_KIND c << 4 | FL_ITEM_KIND d << 6),        \
      FL_ITEM_WORD a, FL_ITEM_WORD b, FL_ITEM_WORD c, FL_ITEM_WORD d
#define FL_ITEMS6(m, a, b, c, d, e)                                                                                        \
  FL_HEAD(m, FL_ITEM_KIND a | FL_ITEM_KIND b << 2 | FL_ITEM_KIND c << 4 | FL_ITEM_KIND d << 6 | FL_ITEM_KIND e << 8),      \
      FL_ITEM_WORD a, FL_ITEM_WORD b, FL_ITEM_WORD c, FL_ITEM_WORD d, FL_ITEM_WORD e
#define FL_ITEMS_PICK(m, a, b, c, d, e, picked, ...) picked
#define FL_ITEMS(...) FL_ITEMS_PICK(__VA_ARGS__, FL_ITEMS6, FL_ITEMS5, FL_ITEMS4, FL_ITEMS3, FL_ITEMS2, FL_ITEMS1, 0)(__VA_ARGS__)

/* FL_ERROR(error, message, items…) writes a message, or continues it, and evaluates to its status. FL_BLAME does so in the error of a method or a
 * plan, with the method's name as the first item. */
#define FL_ERROR(to, ...) fl_report((fl_subject){.error = (to)}, FL_ITEMS(__VA_ARGS__))
#define FL_BLAME(of, ...) fl_report((fl_subject){.origin = (of)}, FL_OF_METHOD | FL_ITEMS(__VA_ARGS__))

/* Of the head of a message: the subject is an origin. */
#define FL_OF_METHOD 0x8000u

typedef union fl_subject {
  fl_error *error;
  const fl_origin *origin;
} fl_subject;

/* `head` and what follows are what FL_ITEMS makes: the number, the status << 8 and the kinds of the items << 16; then words. */
fl_status fl_report(fl_subject subject, uint32_t head, ...);
/* Appends a message (messages/). `words` are its sentence, in a build of sentences, and its items, which have the kinds in `kinds`, two bits each. */
void fl_put_message(fl_error *error, uint8_t number, uint32_t kinds, const uintptr_t *words);
/* Append `count` bytes, and a number in decimal digits (messages/append.c). */
void fl_put(fl_error *error, const char *text, size_t count);
void fl_put_number(fl_error *error, int64_t number);
/* Returns the number of an item that is no text. */
static inline int64_t fl_item_number(uint32_t kind, uintptr_t word) {
#if UINTPTR_MAX < UINT64_MAX
  if (kind == 3) {
    return *(const int64_t *)word;
  }
#endif
  (void)kind;
  return (int64_t)word;
}
/* Returns the length of a text, FL_ERROR_TEXT at most: a name may be as long as the file. */
size_t fl_text_length(const char *text);

/* Stores `status`, which is not that of the message, in `error`, and returns it. */
fl_status fl_fail(fl_error *error, fl_status status);

/* Sets `error` to FL_OK with an empty text. */
void fl_clear(fl_error *error);

/* Reports a call of the library in which a required pointer is NULL; returns FL_INVALID_ARGUMENT. */
fl_status fl_refuse_null(fl_error *error);

/* Appends a description of the values of a call: "float32[2, 3], 1, None". Describes a value that is passed twice in a row once. */
void fl_append_values(fl_error *error, const fl_value *const *values, uint32_t count);

/* Appends the places in the model's source of instruction `at`, counted over all chains: "; at layers.0.attention (model.py:12)". Begins with "; first
 * used at" if `is_first_use`. Appends nothing if the program records no place for it. */
void fl_append_location(const fl_method *method, uint32_t at, int is_first_use);

#ifndef FL_NUMBERED
/* Returns the name of a table of the file in messages, such as "Tensor". */
const char *fl_table_name(uint8_t type);
/* Returns the name of an fl_tag in messages, such as "int list"; "unknown" for other numbers. */
const char *fl_tag_name(uint8_t tag);
/* Returns the name of an fl_dtype in messages, such as "float32"; "unknown dtype" for other numbers. */
const char *fl_dtype_name(int8_t dtype);
#endif

/* ---- The file (header.c, plan.c) ---- */

/* A table of the file. */
typedef const uint8_t *fl_table;
/* A vector of the file: its length in 4 bytes, then its elements. */
typedef const uint8_t *fl_vector;

/* Makes `program` refer to the file of `size` bytes at `data`. Checks the file's header only (header.c). */
fl_status fl_open_file(fl_program *program, const void *data, size_t size, fl_error *error);

/* One method of the file. */
typedef struct fl_plan {
  fl_origin origin; /* its error is that of the call of the library */
  const fl_program *program;
  uint32_t index;
  fl_table table;
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

/* Fills `plan` with method number `method` and returns 1; returns 0 when the program has no such method. `program` may be NULL. */
int fl_plan_open(const fl_program *program, uint32_t method, fl_plan *plan);
/* Does the same for a call of the library, and reports a missing method. `given` is another required pointer of the call: NULL is reported. */
fl_status fl_plan_find(const fl_program *program, uint32_t method, const void *given, fl_plan *plan, fl_error *error);

/* Returns the union tag of value `index`, and stores its table in `table`. */
uint8_t fl_plan_value(const fl_plan *plan, uint32_t index, fl_table *table);
/* An instruction of a method. */
typedef struct fl_cursor {
  fl_vector instructions; /* of its chain */
  fl_table table;
  uint32_t chain;         /* the next one */
  uint32_t left;          /* instructions of this chain that follow */
  uint32_t next;          /* the next one's number over all chains */
  uint32_t start;         /* the number of its chain's first one */
  uint8_t kind;           /* union tag */
} fl_cursor;

/* Moves `cursor`, which is all zeros at first, to the next instruction of a method, and returns 1; returns 0 behind the last. */
int fl_plan_next(const fl_plan *plan, fl_cursor *cursor);
/* Returns the vector of the instructions of a chain. */
fl_vector fl_plan_chain(const fl_plan *plan, uint32_t chain);
/* Returns the chain that has instruction `*at`, counted over all chains, and sets `*at` to the instruction's index in that chain. */
uint32_t fl_plan_chain_of(const fl_plan *plan, uint32_t *at);
/* Stores the payload of delegate `index` in `payload`, and the id of its backend in `id`. */
void fl_payload_open(const fl_plan *plan, uint32_t index, fl_payload *payload, const char **id);

/* Stores the position and the size in bytes of segment `index`, and returns 1; returns 0 when the file has no such segment. */
int fl_segment(const fl_program *program, uint32_t index, const uint8_t **data, size_t *size);
/* Returns the first `bytes` bytes of constant `buffer`, or with `is_state` of initial value `buffer`; NULL when the file holds fewer bytes. */
const uint8_t *fl_constant(const fl_program *program, uint32_t buffer, size_t bytes, int is_state);

/* The fields of a tensor in the file. */
typedef struct fl_tensor_record {
  const int32_t *sizes;
  const uint8_t *dim_order;
  size_t bytes;
  uint64_t offset;  /* in bytes, from the start of its arena */
  uint32_t arena;   /* from 1; 0: none */
  uint32_t buffer;  /* constant or initial value; 0: none */
  const char *name; /* name of the state that the tensor is; "": none */
  uint8_t rank;
  int8_t dtype;
  uint8_t dynamic;
} fl_tensor_record;

/* Fills `record` from the table of a tensor, which has been checked. */
void fl_read_tensor(fl_table table, fl_tensor_record *record);
/* Fills `record` for value `index` and returns 1; returns 0 when the value is no tensor. */
int fl_plan_tensor(const fl_plan *plan, uint32_t index, fl_tensor_record *record);
/* Returns whether a tensor is state: planned memory with an initial value or a name, whose content lasts between executes. */
static inline int fl_is_state(const fl_tensor_record *r) { return r->arena != 0 && (r->buffer != 0 || r->name[0] != 0); }
/* Returns whether a tensor is a constant, whose data lie in the file. */
static inline int fl_is_constant(const fl_tensor_record *r) { return r->buffer != 0 && r->arena == 0; }

/* ---- Methods (measure.c, build.c, method.c, execute.c) ---- */

enum { /* flags of fl_value */
  FL_VALUE_READ = 1,    /* an instruction reads the value */
  FL_VALUE_WRITTEN = 2, /* an instruction writes the value */
  FL_VALUE_MOVES = 4,   /* a move or a view changes the value's memory */
  FL_VALUE_INPUT = 8    /* an input of the method */
};

enum { /* flags of fl_tensor */
  FL_TENSOR_READ_ONLY = 1, /* a constant, or an input in the caller's memory */
  FL_TENSOR_VIEW = 2,      /* a view, whose memory the last et_view chose */
  FL_TENSOR_WRITTEN = 4,   /* while the memory plan is checked: a call or the caller has written the tensor */
  FL_TENSOR_SHARED = 8,    /* lies in an arena that several methods share */
  FL_TENSOR_LENT = 16,     /* an input in the caller's memory that the method may write */
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
    fl_value *source; /* the source of a move, or the condition of a jump */
  } on;
  union {
    fl_value **args;
    fl_value *destination;
  } to;
  uint32_t count; /* number of arguments, or the instruction that a jump goes to */
  uint8_t kind;   /* union tag of the file */
  uint8_t checked; /* 1: fl_check_access accepted the call at load and need not run again */
  uint8_t over;    /* the argument, counted from 1, in whose memory the call's dynamic out lies; 0: none */
} fl_instruction;

typedef struct fl_port {
  fl_value *value;
  fl_tensor *tensor; /* the slot's own, whatever was moved into the slot */
  uint8_t planned;
  uint8_t is_set;    /* an input has a value for the next execute */
  uint8_t constant;
  uint8_t is_read;   /* an instruction reads the scalar */
} fl_port;

/* The counts of a method's parts. The method's memory in bytes, for pointers of P = 8 | 4 bytes, is
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

#define FL_PARTS (sizeof(fl_counts) / sizeof(size_t))

/* The counts, where each part begins in the method's memory, and then the bytes of the method without its delegates' memory. */
typedef struct fl_layout {
  fl_counts counts;
  size_t starts[FL_PARTS + 1];
} fl_layout;

/* The sizes in the formula above; flambeau.runtime.memory computes the same formula. */
_Static_assert(sizeof(void *) == 8 || sizeof(void *) == 4, "pointers of 8 or 4 bytes");
_Static_assert(sizeof(fl_value) == (sizeof(void *) == 8 ? 24 : 16), "size of fl_value");
_Static_assert(sizeof(fl_tensor) == (sizeof(void *) == 8 ? 56 : 28), "size of fl_tensor");
_Static_assert(sizeof(fl_instruction) == (sizeof(void *) == 8 ? 24 : 16), "size of fl_instruction");
_Static_assert(sizeof(fl_delegate) == 3 * sizeof(void *), "size of fl_delegate");
_Static_assert(sizeof(fl_port) == (sizeof(void *) == 8 ? 24 : 12), "size of fl_port");

/* Counts the parts of a method and lays them out. Returns 0, or 1 when the bytes do not fit in size_t. */
int fl_lay_out(const fl_plan *plan, fl_layout *layout);

/* The memory from which values take their parts. `slots` are all values of a method. While memory is measured `slots` is NULL, and the
 * items of a list are made in `values`. */
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

/* Makes value `index` of a checked plan in `value`, with parts from `pool`. Returns 0, or 1 when the pool is too small. */
int fl_make_value(const fl_plan *plan, uint32_t index, fl_pool *pool, fl_value *value);

/* The groups that FLAMBEAU_GROUPS left out of the build, as consecutive strings: for each group its name, its kernels' names and an empty
 * string; an empty string ends the list. */
extern const char fl_left_out_kernels[];
/* Returns the group of an operator that the build left out; NULL for any other operator. `overload` may be "". */
const char *fl_find_left_out(const char *name, const char *overload);
/* Returns the kernel of an operator; NULL when no table of the registry has it. */
const fl_kernel *fl_find_operator(const fl_registry *registry, const char *name, const char *overload);
/* Does so for operator `index` of a plan. */
const fl_kernel *fl_plan_kernel(const fl_plan *plan, const fl_registry *registry, uint32_t index);
/* Returns the backend with that id; NULL when the registry has none. */
const fl_backend *fl_find_backend(const fl_registry *registry, const char *id);
/* Replaces a NULL registry by the built-in kernels and backends, for which the caller gives `storage` and `table`. */
void fl_resolve_registry(const fl_registry **registry, fl_registry *storage, const fl_kernel_table **table);
/* Does the work of fl_method_measure for an open plan. Stores the layout of the method's memory in `layout`. */
fl_status fl_measure_plan(const fl_plan *plan, const fl_registry *registry, fl_requirements *need, fl_layout *layout);

/* ---- Calls (call.c, access.c, settle.c) ---- */

/* Returns whether `method` is initialised. `method` may be NULL, which gives 0. */
static inline int fl_is_ready(const fl_method *method) { return method != NULL && method->program != NULL; }
/* Returns the name of the operator, or the id of the backend, that an instruction calls; NULL for an instruction that is no call. */
const char *fl_instruction_name(const fl_instruction *instruction);

/* Begins an error about argument `i`, `value`, of the call `at`, counted over all chains; the reason has to follow. Returns FL_INVALID_PROGRAM. */
fl_status fl_blame_argument(const fl_method *method, uint32_t at, uint32_t i, const fl_value *value);

/* Returns the access letter of argument `i` of a call, in lower case (fl_kernel.access). The last fl_delegate.outputs arguments of a
 * delegate, or all of them when that is 0, are 'w', the rest 'r'. The values that a call returns repeat its outs and give '*'. */
char fl_letter(const fl_instruction *instruction, uint32_t i);
/* Returns the tensors of an argument: the items of a list of tensors, or the argument itself. Stores their number in `count`, 0 for an
 * argument without tensors. */
fl_value *const *fl_items(fl_value *const *arg, uint32_t *count);
/* Copies tag and content of `source` into `destination`, as a move does; `destination` keeps its flags. */
static inline void fl_copy_value(fl_value *destination, const fl_value *source) {
  const uint8_t flags = destination->flags;
  *destination = *source;
  destination->flags = flags;
}
/* Returns the tensor of a value; NULL for a value of another kind, or for NULL. */
static inline fl_tensor *fl_tensor_of(const fl_value *value) { return value != NULL && value->tag == FL_TENSOR ? value->as.tensor : NULL; }
/* Returns whether writing an out may change an operand: their memory overlaps, or they are one dynamic tensor, whose sizes change too. */
int fl_lies_on(const fl_tensor *out, const fl_tensor *operand);
/* Returns the number of steps that a check may take: proportional to the file's size without its data, so that every check is linear. */
static inline uint32_t fl_budget(const fl_program *program) {
  return program->flatbuffer_size < UINT32_MAX / 64 - 1024 ? program->flatbuffer_size * 64 + 65536 : UINT32_MAX;
}
/* Marks the values that instructions write or move, and checks the access of each call whose arguments always keep their memory. */
fl_status fl_settle_method(fl_method *method);
/* Checks that a call writes no constant, and no operand except where its kernel allows that. Subtracts from `work` the number of pairs of
 * tensors that it compares, and fails when `work` is too small. */
fl_status fl_check_access(const fl_method *method, uint32_t at, fl_instruction *instruction, uint32_t *work);
/* Updates the view that a call has made, if any: the view is read-only exactly if the tensor that it views is. */
void fl_settle_access(const fl_instruction *instruction);
/* Prepares an execute: clears the data pointers of views, and fills outputs in the caller's memory with zeros. */
void fl_begin_access(fl_method *method);
/* Ends an execute: fails when an output has no memory. */
fl_status fl_end_access(const fl_method *method);

/* ---- Checks of files that are not trusted (checks/) ---- */

/* Checks that every table, vector, string and union that the runtime reads lies within the flatbuffer (verify.c). */
fl_status fl_verify(const fl_program *program, fl_error *error);
/* Checks that the names of named data are texts, no two of them equal (names.c). */
fl_status fl_check_names(const fl_program *program, fl_error *error);
/* Checks a method's indices, shapes, memory and jumps (check.c). */
fl_status fl_check_plan(const fl_plan *plan);
/* Checks that a call passes arguments of the kinds that the access letters of its kernel name, and returns its outs (signature.c). */
fl_status fl_check_signature(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args);
/* Checks that each output tensor gets a content (outputs.c). */
fl_status fl_check_outputs(const fl_method *method, const fl_plan *plan);
/* Checks that the memory plan keeps each value until the last instruction that reads it (liveness.c). Overwrites the arenas that only this
 * method uses; leaves shared arenas alone. */
fl_status fl_check_liveness(fl_method *method, const fl_plan *plan);

/* The checks that fl_program_load stores in its programs. A program that calls only fl_program_load_trusted refers to none of them, so the
 * linker leaves them out. */
struct fl_checks {
  fl_status (*plan)(const fl_plan *plan);
  fl_status (*signature)(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args);
  fl_status (*outputs)(const fl_method *method, const fl_plan *plan);
  fl_status (*liveness)(fl_method *method, const fl_plan *plan);
};

/* ---- State (state.c) ---- */

/* Fills the arenas of a method with zeros, and its state with the initial values of the file. `keep_state` leaves shared arenas alone. */
void fl_fill_arenas(fl_method *method, const fl_plan *plan, int keep_state);
/* Sets FL_TENSOR_SHARED on the tensors in shared arenas. */
void fl_mark_shared(fl_method *method, const fl_plan *plan);

/* Restores the scalars, the lists and the tensor of each slot to those of the program, and marks every input as not set. */
void fl_restore_values(fl_method *method);

/* Returns `bytes` rounded up to a multiple of `alignment`. */
static inline size_t fl_align(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

#endif
