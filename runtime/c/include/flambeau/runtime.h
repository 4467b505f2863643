/* Flambeau's C runtime: loads .pte programs in place and runs them.
 *
 * The library allocates no memory, has no global state, and makes no system calls, but those of the pool of threads.h: the caller gives every
 * byte that it uses.
 *
 *     fl_error error;
 *     fl_program program;
 *     fl_method method;
 *     fl_requirements need;
 *     uint32_t forward;
 *
 *     fl_program_load(&program, file, file_size, &error);                      // the file stays where it is, 16-byte aligned
 *     fl_program_find_method(&program, "forward", &forward, &error);
 *     fl_method_measure(&program, forward, NULL, &need, &error);               // the bytes of memory that the next call needs
 *     fl_memory memory = {method_memory, need.method, arenas, arena_sizes, need.arenas, scratch, need.scratch, 0};
 *     fl_method_init(&method, &program, forward, NULL, &memory, &error);
 *     fl_method_set_input(&method, 0, &input, &error);
 *     fl_method_execute(&method, &error);
 *     const fl_value *output = fl_method_output(&method, 0);
 *     fl_method_destroy(&method);
 *
 * Every function that can fail returns fl_status and writes the reason to `error` (which may be NULL).
 *
 * The library trusts no file, except those loaded with fl_program_load_trusted. fl_program_load checks the whole structure of the file.
 * fl_method_init proves that each value lies in the memory that the program plans, and that a call whose arguments always keep their memory
 * writes no constant, no input in the caller's memory, and no operand that its kernel still reads; a call whose arguments change their memory,
 * through moves and views, is checked each time it runs. fl_method_init also follows the method, without computing, and refuses a memory plan in
 * which an instruction overwrites a value that a later instruction reads. It follows the only path of a method without computed jumps, and
 * otherwise the two paths on which every condition is true or every condition is false, for a number of steps that keeps loading linear.
 * That is no proof for the other paths of a method with conditions, nor for memory that the program gives two names: there, a wrong plan can
 * give wrong numbers, but no access outside of the memory that the caller gave.
 *
 * Threads: a loaded program is never written, and threads may share it. A method belongs to one thread at a time. Methods of one program may
 * run at the same time if they have no memory in common; methods that share an arena of state must run one after the other.
 *
 * All structures below have a fixed size, so that the caller chooses their memory; fields marked private may change between versions.
 */
#ifndef FLAMBEAU_RUNTIME_H
#define FLAMBEAU_RUNTIME_H

#include "flambeau/backend.h"
#include "flambeau/error.h"
#include "flambeau/kernel.h"
#include "flambeau/status.h"
#include "flambeau/threads.h"
#include "flambeau/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of these headers; the major number changes when the declarations do. */
#define FL_VERSION 0x00000100 /* 0.1.0 */
/* Returns the FL_VERSION with which the linked library was compiled. */
FL_API uint32_t fl_version(void);

/* The most instructions that one execute runs, jumps included; an execute that needs more fails, as an endless loop would. */
#define FL_INSTRUCTION_LIMIT 10000000u

/* ---- Programs ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct fl_program { /* private */
  const uint8_t *data;      /* the file */
  size_t size;
  size_t segments;          /* position at which the data segments start */
  size_t segments_end;
  const uint8_t *root;
  uint32_t flatbuffer_size; /* the part that describes the methods */
  const struct fl_checks *checks; /* NULL: the file is trusted */
} fl_program;

/* Checks the .pte file of `size` bytes at `data`, aligned to 16 bytes, and makes `program` refer to it. The memory must stay unchanged while
 * the program or a method of it is in use. FL_INVALID_PROGRAM: not a .pte file, truncated, or damaged. FL_NOT_SUPPORTED: a version of the
 * format that this library does not read. The time is linear in the size of the file without its weights. */
FL_API fl_status fl_program_load(fl_program *program, const void *data, size_t size, fl_error *error);
/* Does the same, but checks only the header. The file must be one that fl_program_load of this version has accepted, and whose methods
 * fl_method_init has accepted, and nobody can have changed its bytes since, as in signed firmware. The behaviour with any other file is
 * undefined. An application that calls only this function is linked without the checks of files. Arguments that the application passes to
 * the library are checked in either case. */
FL_API fl_status fl_program_load_trusted(fl_program *program, const void *data, size_t size, fl_error *error);

/* Returns the number of methods of a program; 0 for NULL. */
FL_API uint32_t fl_program_method_count(const fl_program *program);
/* Returns the name of a method; NULL when the program has no such method. */
FL_API const char *fl_program_method_name(const fl_program *program, uint32_t method);
/* Stores the number of the method with that name in `method`. FL_NOT_FOUND: the error text lists the program's methods. */
FL_API fl_status fl_program_find_method(const fl_program *program, const char *name, uint32_t *method, fl_error *error);

/* Returns the number of blobs that the program stores under a name. */
FL_API uint32_t fl_program_named_data_count(const fl_program *program);
/* Returns the name of blob `index`, with which fl_program_named_data of backend.h gives its bytes; NULL when there is no such blob. */
FL_API const char *fl_program_named_data_key(const fl_program *program, uint32_t index);
/* Stores position and size of blob `index`, and returns 1; returns 0 when there is no such blob. */
FL_API int fl_program_named_data_at(const fl_program *program, uint32_t index, const void **data, size_t *size);

/* ---- Properties of a method, before it is initialised ------------------------------------------------------------------------------------- */

typedef struct fl_method_info {
  const char *name;
  const char *input_encoding;  /* nesting of the inputs in Python, in the exporter's encoding; "" when absent */
  const char *output_encoding; /* the same of the outputs */
  uint32_t inputs;
  uint32_t outputs;
  uint32_t arenas;             /* memories in which the program planned values */
  uint32_t operators;
  uint32_t delegates;
  uint32_t values;
  uint32_t instructions;
} fl_method_info;

/* Fills `info` with a method's name and the numbers of its parts. */
FL_API fl_status fl_program_method_info(const fl_program *program, uint32_t method, fl_method_info *info, fl_error *error);

typedef enum fl_direction { FL_INPUT = 0, FL_OUTPUT = 1 } fl_direction;

typedef struct fl_slot_info {
  uint8_t tag;              /* fl_tag */
  /* FL_TENSOR: */
  int8_t dtype;             /* fl_dtype */
  uint8_t rank;
  uint8_t dynamic;          /* 1: the sizes are upper bounds */
  uint8_t planned;          /* 1: lies in an arena; 0: lies in the caller's memory, or is constant */
  uint8_t constant;         /* 1: lies in the program */
  const int32_t *sizes;
  const uint8_t *dim_order;
  size_t bytes;             /* bytes of a tensor of the sizes above */
  /* The value of a scalar that the program stores. For an input: the example, or the value to which the program was specialised. */
  int64_t integer;          /* FL_INT, FL_BOOLEAN */
  double real;              /* FL_DOUBLE */
  const char *string;       /* FL_STRING */
} fl_slot_info;

/* Fills `info` with the properties of input or output `index` of a method. */
FL_API fl_status fl_program_slot(const fl_program *program, uint32_t method, fl_direction direction, uint32_t index, fl_slot_info *info, fl_error *error);

/* Returns the bytes of a method's arena `arena`, counted from 0; 0 when the method has no such arena. */
FL_API size_t fl_program_arena_size(const fl_program *program, uint32_t method, uint32_t arena);
/* Returns nonzero for an arena in which the program's methods share state: give every method that has this arena the same memory for it. Arena 0
 * is never shared. State is planned memory that has an initial value or a name in the program. */
FL_API int fl_program_arena_is_shared(const fl_program *program, uint32_t arena);
/* Writes the name of an operator that the method calls, "aten::add.out", zero-terminated and cut to `capacity`; returns its full length, 0
 * when there is no such operator. */
FL_API size_t fl_program_operator(const fl_program *program, uint32_t method, uint32_t index, char *name, size_t capacity);
/* Returns the id of the backend that runs delegate `index`; NULL when there is no such delegate. */
FL_API const char *fl_program_delegate(const fl_program *program, uint32_t method, uint32_t index);

/* A place in the model's source from which an instruction comes. The texts lie in the program; "" when it does not record them. */
typedef struct fl_place {
  const char *module; /* path of the module: "layers.0.attention" */
  const char *file;
  int32_t line;
} fl_place;

/* Stores place `index` of an instruction of a chain in `place`, and returns 1; returns 0 when there is no such place. An instruction made from
 * several operators has several places; a program compiled with --strip-debug has none. */
FL_API int fl_program_place(const fl_program *program, uint32_t method, uint32_t chain, uint32_t instruction, uint32_t index, fl_place *place);

/* ---- Methods ----------------------------------------------------------------------------------------------------------------------------- */

/* The kernels and backends among which a method finds those that it calls. NULL instead of a registry means fl_builtin_kernels() and
 * fl_builtin_backends(). */
typedef struct fl_registry {
  const fl_kernel_table *const *tables; /* each sorted by name; the first table that has a name is used */
  size_t table_count;
  const fl_backend *const *backends;
  size_t backend_count;
} fl_registry;

/* Returns the kernel of an operator, such as "aten::add.out"; NULL when no table has it. */
FL_API const fl_kernel *fl_find_kernel(const fl_registry *registry, const char *name);
/* Returns the group of an operator that the build of this library left out (FLAMBEAU_GROUPS); NULL for any other operator. */
FL_API const char *fl_left_out_group(const char *name);

/* Exact sizes, in bytes, of the memory that a method needs. */
typedef struct fl_requirements {
  size_t method;  /* values, instructions, tensors and delegates; aligned to 64 bytes */
  size_t scratch; /* working memory of kernels, aligned to 64 bytes, for each thread; may be shared by methods that do not run at once */
  size_t planned; /* sum of the arenas' sizes */
  uint32_t arenas; /* number of arenas */
} fl_requirements;

/* The memory that the caller gives to a method. */
typedef struct fl_memory {
  void *method;              /* 64-byte aligned */
  size_t method_size;
  void *const *arenas;       /* one per arena, each 16-byte aligned (64 is faster); NULL entries where the size is 0 */
  const size_t *arena_sizes;
  uint32_t arena_count;
  void *scratch;             /* 64-byte aligned */
  size_t scratch_size;
  uint8_t keep_state;        /* 1: the shared arenas hold state already, because another method was initialised with them */
} fl_memory;

/* Stores the memory that fl_method_init will need in `requirements`. Fails for a method that cannot be initialised: with FL_OPERATOR_MISSING
 * and all operators that no table has, FL_NOT_FOUND for an absent backend, FL_NOT_SUPPORTED for a feature that this runtime lacks. Takes about
 * 10 kB of stack when the method calls kernels that use scratch memory. */
FL_API fl_status fl_method_measure(const fl_program *program, uint32_t method, const fl_registry *registry, fl_requirements *requirements, fl_error *error);

/* The kind of an event. The numbers of instructions are those of the .pte format. */
typedef enum fl_event_kind {
  FL_EVENT_EXECUTE = 0, /* one execute as a whole */
  FL_EVENT_KERNEL = 1,
  FL_EVENT_DELEGATE = 2,
  FL_EVENT_MOVE = 3,
  FL_EVENT_JUMP = 4,
  FL_EVENT_FREE = 5,
  FL_EVENT_OPERATOR = 6 /* an operator inside of a delegate: an event once the delegate's has ended, with is_done 1 */
} fl_event_kind;

/* The beginning or the end of an execute or of an instruction, or an operator inside of a delegate. A hook may read the arguments while it runs; outs have their values at the end. */
typedef struct fl_event {
  const char *name;        /* operator, id of a delegate's backend, or for an execute the method; NULL for a move, a jump or a free */
  uint64_t nanoseconds;    /* FL_EVENT_OPERATOR: the time that it took; else 0 */
  fl_value *const *args;   /* arguments of a kernel or a delegate */
  uint32_t count;
  uint32_t chain;
  uint32_t instruction;    /* number of the instruction in its chain */
  uint32_t position;       /* number of the instruction over all chains, as in messages; UINT32_MAX for an execute */
  uint32_t number;         /* FL_EVENT_OPERATOR: the payload's operator that it computes, UINT32_MAX if unknown; else UINT32_MAX */
  fl_status status;        /* result, once is_done is 1 */
  uint8_t kind;            /* fl_event_kind */
  uint8_t is_done;         /* 0: it is about to run; 1: it has run */
} fl_event;

struct fl_method;
typedef void (*fl_hook_fn)(void *user, const struct fl_method *method, const fl_event *event);

/* Private: what errors about a method name, and where they are written. */
typedef struct fl_origin {
  fl_error *error;
  const char *name;
} fl_origin;

typedef struct fl_method {
  uint32_t instruction_limit; /* public: FL_INSTRUCTION_LIMIT after init; may be changed between executes */
  /* private, and what is used in most places first: there an instruction of the processor holds the distance in fewer bytes */
  uint32_t value_count;
  uint32_t instruction_count;
  uint32_t delegate_count;
  uint32_t input_count;
  uint32_t output_count;
  fl_value *values;
  struct fl_tensor *tensors;
  struct fl_instruction *instructions;
  struct fl_delegate *delegates;
  struct fl_port *inputs;
  struct fl_port *outputs;
  void **arenas;
  fl_value **pointers;
  const fl_program *program;
  fl_origin origin;
  uint32_t index;
  int has_chains; /* 1: the method has several chains, which events distinguish */
  fl_hook_fn hook;
  void *hook_user;
  fl_random random;
  size_t scratch_size; /* that the caller gave */
  fl_context context;
} fl_method;

/* Builds method `index` in `memory`, which belongs to it until fl_method_destroy. Fills the arenas with zeros, and state tensors with the
 * program's initial values; in a shared arena it fills the state of every method, unless memory->keep_state is 1. `program` must not move
 * while the method is in use. After a failure nothing needs to be destroyed. */
FL_API fl_status fl_method_init(fl_method *method, const fl_program *program, uint32_t index, const fl_registry *registry, const fl_memory *memory,
                                fl_error *error);

/* Restores the arenas, state (mutable buffers) and scalars to their values after init. State that methods share is reset for all of them. Random
 * numbers begin again. */
FL_API void fl_method_reset(fl_method *method);

/* Returns state tensor `index` of a method, and stores its name, or "", in `name`; NULL when the method has fewer. A tensor that the method turns
 * into a view is no state, even if the program names it; two state tensors may have one name, or lie in the same memory. The bytes at `data`,
 * fl_numel(t) elements in the order of `strides`, may be read and written between executes. To save and restore state, copy these bytes. */
FL_API const fl_tensor *fl_method_state(const fl_method *method, uint32_t index, const char **name);
/* Returns the first state tensor with that name. When there is none, returns NULL, and the error text lists the names of all state. */
FL_API const fl_tensor *fl_method_find_state(const fl_method *method, const char *name, fl_error *error);

/* Starts the stream of random numbers with that seed, from which the method draws. The seed is 0 after init. */
FL_API void fl_method_seed(fl_method *method, uint64_t seed);

/* Destroys the method's delegates, and returns its memory to the caller. */
FL_API void fl_method_destroy(fl_method *method);

/* Gives input `index` the value `value`.
 * A tensor must have the input's dtype, rank and sizes (dynamic: up to the bounds). Of `value->as.tensor` only data, sizes, rank, dtype and the
 * layout are read: `strides` (in elements) if not NULL, else `dim_order` if not NULL, else contiguous.
 * A planned input is copied into its arena, whatever its layout. An input that is not planned (fl_slot_info.planned is 0) is used in the
 * caller's memory: it must have the layout that the program declares, and must stay until execute returns. Tensors have to be set before each
 * execute, because the memory of planned inputs is reused; scalars keep their value.
 * A scalar that no instruction reads was fixed when the program was compiled, and accepts only that value. */
FL_API fl_status fl_method_set_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error);

/* Does the same as fl_method_set_input, and lets the method write the caller's tensor, for a model that changes its input. Such an input is not
 * planned; the list `writes` of the method in the named data "flambeau.json" has its index. After fl_method_set_input instead, the first
 * instruction that writes the input fails. */
FL_API fl_status fl_method_lend_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error);

/* Sets the memory of an output that is not planned: `size` bytes, at least fl_slot_info.bytes, aligned to 16. Each execute fills the output's
 * memory with zeros before the first instruction. */
FL_API fl_status fl_method_set_output(fl_method *method, uint32_t index, void *data, size_t size, fl_error *error);

/* Makes each later execute call `hook` before and after the execute and each of its instructions; NULL removes the hook. FL_NOT_SUPPORTED: the
 * library was built with FLAMBEAU_HOOK=OFF, without the code that calls hooks. */
FL_API fl_status fl_method_set_hook(fl_method *method, fl_hook_fn hook, void *user, fl_error *error);

/* Lets `threads` help in each later execute; NULL: the calling thread computes alone, as after init. They have to stay until then. The method
 * must have been given `need.scratch` bytes of scratch memory, rounded up to 64, for each of them. Results stay the same, bit by bit. */
FL_API fl_status fl_method_set_threads(fl_method *method, const fl_threads *threads, fl_error *error);

/* Runs the method. After a failure outputs are undefined, state may have changed in part, and every input has to be set again. */
FL_API fl_status fl_method_execute(fl_method *method, fl_error *error);

/* Returns output `index`, valid until the next set_input, execute or destroy; NULL when there is no such output. */
FL_API const fl_value *fl_method_output(const fl_method *method, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
