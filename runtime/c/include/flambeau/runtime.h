/* Flambeau's C runtime: loads .pte programs in place and runs them.
 *
 * The library allocates nothing, keeps nothing, and calls nothing of the system: every byte it works in comes from the caller.
 *
 *     fl_error error;
 *     fl_program program;
 *     fl_method method;
 *     fl_requirements need;
 *     uint32_t forward;
 *
 *     fl_program_load(&program, file, file_size, &error);                      // the file stays where it is, 16-byte aligned
 *     fl_program_find_method(&program, "forward", &forward, &error);
 *     fl_method_measure(&program, forward, NULL, &need, &error);               // every byte that the next call wants
 *     fl_memory memory = {method_memory, need.method, arenas, arena_sizes, need.arenas, scratch, need.scratch, 0};
 *     fl_method_init(&method, &program, forward, NULL, &memory, &error);
 *     fl_method_set_input(&method, 0, &input, &error);
 *     fl_method_execute(&method, &error);
 *     const fl_value *output = fl_method_output(&method, 0);
 *     fl_method_destroy(&method);
 *
 * Every function that can fail returns fl_status and says what happened in `error` (which may be NULL).
 *
 * Files are not trusted, but those of fl_program_load_trusted. fl_program_load checks the whole structure of the file. fl_method_init proves that
 * each value lies in the memory that the program plans, and that a call whose arguments stay where they are writes no constant, no input in the
 * caller's memory, and no operand that its kernel still reads; where moves and views give arguments another place, each call is checked when it
 * runs. It also follows the method, without computing, and refuses a memory plan that loses a value which an instruction wrote before another
 * reads it: on the only path of a method without computed jumps, and otherwise on the two paths where every condition is true or false, for as
 * many steps as keep loading linear. That is no proof for the other paths of a method with conditions, nor for values that the program names
 * twice: a wrong plan can then give wrong numbers, but no access outside of the memories that the caller gave.
 *
 * Threads: a program is read only once loaded and may be shared. A method belongs to one thread at a time. Methods of one program are
 * independent as far as their memories are: those that share an arena of state take turns.
 *
 * All structures below are plain and of fixed size so that the caller can place them; fields marked private may change between versions.
 */
#ifndef FLAMBEAU_RUNTIME_H
#define FLAMBEAU_RUNTIME_H

#include "flambeau/backend.h"
#include "flambeau/error.h"
#include "flambeau/kernel.h"
#include "flambeau/status.h"
#include "flambeau/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this library; the major number changes when these declarations do. */
#define FL_VERSION 0x00000100 /* 0.1.0 */
/* FL_VERSION of the library that is linked. */
FL_API uint32_t fl_version(void);

/* Instructions that one execute may run before it is taken for an endless loop. */
#define FL_INSTRUCTION_LIMIT 10000000u

/* ---- Programs ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct fl_program { /* private */
  const uint8_t *data;      /* the file */
  size_t size;
  size_t segments;          /* where the data segments start */
  size_t segments_end;
  uint32_t flatbuffer_size; /* the part that describes the methods */
  uint32_t root;
  const struct fl_checks *checks; /* NULL: the file is trusted */
} fl_program;

/* Checks a .pte file that lies in memory, aligned to 16 bytes, and makes `program` refer to it. The memory must stay and not change as long
 * as the program or a method of it is in use. FL_INVALID_PROGRAM: not a .pte file, truncated, or damaged. Time: linear in the file without
 * its weights. */
FL_API fl_status fl_program_load(fl_program *program, const void *data, size_t size, fl_error *error);
/* The same for a file that fl_program_load of this version has accepted, and whose methods fl_method_init has, in bytes that nobody can have changed
 * since, as of a signed firmware: checks the header alone. With any other file, what happens is undefined. A program that calls only this one is linked
 * without the checks of files. What a caller does is checked in either case. */
FL_API fl_status fl_program_load_trusted(fl_program *program, const void *data, size_t size, fl_error *error);

FL_API uint32_t fl_program_method_count(const fl_program *program);
/* NULL when there is no such method. */
FL_API const char *fl_program_method_name(const fl_program *program, uint32_t method);
/* FL_NOT_FOUND: the text lists the methods that exist. */
FL_API fl_status fl_program_find_method(const fl_program *program, const char *name, uint32_t *method, fl_error *error);

/* Blobs stored under a name; fl_program_named_data of backend.h gives one. */
FL_API uint32_t fl_program_named_data_count(const fl_program *program);
FL_API const char *fl_program_named_data_key(const fl_program *program, uint32_t index);

/* ---- What a method is, before it is loaded ----------------------------------------------------------------------------------------------- */

typedef struct fl_method_info {
  const char *name;
  const char *input_encoding;  /* how inputs and outputs were nested in Python, as the exporter wrote it; "" when absent */
  const char *output_encoding;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t arenas;             /* planned memories */
  uint32_t operators;
  uint32_t delegates;
  uint32_t values;
  uint32_t instructions;
} fl_method_info;

FL_API fl_status fl_program_method_info(const fl_program *program, uint32_t method, fl_method_info *info, fl_error *error);

typedef enum fl_direction { FL_INPUT = 0, FL_OUTPUT = 1 } fl_direction;

typedef struct fl_slot_info {
  uint8_t tag;              /* fl_tag */
  /* FL_TENSOR: */
  int8_t dtype;             /* fl_dtype */
  uint8_t rank;
  uint8_t dynamic;          /* sizes are upper bounds */
  uint8_t planned;          /* lies in an arena; otherwise the caller's memory is used */
  uint8_t constant;         /* lies in the program */
  const int32_t *sizes;
  const uint8_t *dim_order;
  size_t bytes;             /* with the sizes above */
  /* The value of a scalar as the program stores it. For an input: the example, or what the program was specialised to. */
  int64_t integer;          /* FL_INT, FL_BOOLEAN */
  double real;              /* FL_DOUBLE */
  const char *string;       /* FL_STRING */
} fl_slot_info;

FL_API fl_status fl_program_slot(const fl_program *program, uint32_t method, fl_direction direction, uint32_t index, fl_slot_info *info, fl_error *error);

/* Bytes of planned memory `arena` (from 0); 0 when there is none such. */
FL_API size_t fl_program_arena_size(const fl_program *program, uint32_t method, uint32_t arena);
/* Nonzero for an arena in which methods of the program keep state together: each method that has it wants the same memory there. The first is
 * never shared. State is what has an initial value or a name in the program. */
FL_API int fl_program_arena_is_shared(const fl_program *program, uint32_t arena);
/* Writes the name of an operator that the method calls, "aten::add.out", zero-terminated and cut to `capacity`; returns its full length, 0
 * when there is no such operator. */
FL_API size_t fl_program_operator(const fl_program *program, uint32_t method, uint32_t index, char *name, size_t capacity);
/* Id of the backend that runs delegate `index`, or NULL. */
FL_API const char *fl_program_delegate(const fl_program *program, uint32_t method, uint32_t index);

/* A place in the source of the model that an instruction comes from. The texts lie in the program; "" where it does not know. */
typedef struct fl_place {
  const char *module; /* path of the module: "layers.0.attention" */
  const char *file;
  int32_t line;
} fl_place;

/* Place `index` of instruction `instruction` of a chain, which has several when it was made from several operators. Nonzero when there is such a
 * place; a program compiled with --strip-debug has none. */
FL_API int fl_program_place(const fl_program *program, uint32_t method, uint32_t chain, uint32_t instruction, uint32_t index, fl_place *place);

/* ---- Methods ----------------------------------------------------------------------------------------------------------------------------- */

/* The tables in which operators and delegates are looked up. Passing NULL means fl_builtin_kernels() and fl_builtin_backends(). */
typedef struct fl_registry {
  const fl_kernel_table *const *tables; /* each sorted by name; the first that has a name wins */
  size_t table_count;
  const fl_backend *const *backends;
  size_t backend_count;
} fl_registry;

/* NULL when no table has the operator. */
FL_API const fl_kernel *fl_find_kernel(const fl_registry *registry, const char *name);
/* The group of an operator that the build of this library left out (FLAMBEAU_GROUPS); NULL of other operators. */
FL_API const char *fl_left_out_group(const char *name);

/* Exact sizes of the memories of a method. */
typedef struct fl_requirements {
  size_t method;  /* values, instructions, tensors and delegates; aligned to 64 bytes */
  size_t scratch; /* working memory of kernels, aligned to 64 bytes; may be shared by methods that do not run at once */
  size_t planned; /* sum of the arenas' sizes */
  uint32_t arenas;
} fl_requirements;

typedef struct fl_memory {
  void *method;              /* 64-byte aligned */
  size_t method_size;
  void *const *arenas;       /* one per arena, each 16-byte aligned (64 is faster); NULL entries where the size is 0 */
  const size_t *arena_sizes;
  uint32_t arena_count;
  void *scratch;             /* 64-byte aligned */
  size_t scratch_size;
  uint8_t keep_state;        /* 1: the shared arenas hold state already, since another method was initialised with them */
} fl_memory;

/* The memory that fl_method_init will need. Reports everything that would stop the method from loading: each operator that no table has
 * (FL_OPERATOR_MISSING), an absent backend (FL_NOT_FOUND), a construct that this runtime does not run (FL_NOT_SUPPORTED). Takes about 10 kB
 * of stack when the method calls kernels that use scratch memory. */
FL_API fl_status fl_method_measure(const fl_program *program, uint32_t method, const fl_registry *registry, fl_requirements *requirements, fl_error *error);

/* What an event is of. The numbers of instructions are those of the .pte format. */
typedef enum fl_event_kind {
  FL_EVENT_EXECUTE = 0, /* of all instructions of one execute */
  FL_EVENT_KERNEL = 1,
  FL_EVENT_DELEGATE = 2,
  FL_EVENT_MOVE = 3,
  FL_EVENT_JUMP = 4,
  FL_EVENT_FREE = 5
} fl_event_kind;

/* What a hook is told. The arguments may be read while the hook runs; what a call writes has its value once it is done. */
typedef struct fl_event {
  const char *name;        /* the operator, or the backend of a delegate; of an execute, the method; NULL for a move, a jump or a free */
  fl_value *const *args;   /* of a kernel or a delegate */
  uint32_t count;
  uint32_t chain;
  uint32_t instruction;    /* in its chain */
  uint32_t position;       /* over all chains, as messages count; of an execute, UINT32_MAX */
  fl_status status;        /* of what has run */
  uint8_t kind;            /* fl_event_kind */
  uint8_t is_done;         /* 0: it is about to run; 1: it has run */
} fl_event;

struct fl_method;
typedef void (*fl_hook_fn)(void *user, const struct fl_method *method, const fl_event *event);

typedef struct fl_method {
  uint32_t instruction_limit; /* public: FL_INSTRUCTION_LIMIT after init; may be changed between executes */
  /* private: */
  const fl_program *program;
  fl_context context;
  fl_random random;
  fl_value *values;
  struct fl_tensor *tensors;
  struct fl_instruction *instructions;
  struct fl_delegate *delegates;
  struct fl_port *inputs;
  struct fl_port *outputs;
  void **arenas;
  fl_value **pointers;
  fl_hook_fn hook;
  void *hook_user;
  int has_chains; /* more than one: told to a hook */
  uint32_t index;
  uint32_t value_count;
  uint32_t instruction_count;
  uint32_t delegate_count;
  uint32_t input_count;
  uint32_t output_count;
} fl_method;

/* Builds a method in `memory`, which belongs to it until fl_method_destroy, fills the arenas with zeros, and gives state tensors the initial
 * values that the program has: in a shared arena the state of every method, unless memory->keep_state says that it is there already. `program`
 * must not move. On failure nothing needs to be destroyed. */
FL_API fl_status fl_method_init(fl_method *method, const fl_program *program, uint32_t index, const fl_registry *registry, const fl_memory *memory,
                                fl_error *error);

/* Puts arenas, and with them state (mutable buffers), and scalars back to what they were after init. State that methods share is reset for all.
 * Random numbers begin again. */
FL_API void fl_method_reset(fl_method *method);

/* State `index` of a method and its name, "" without one; NULL when there are not as many. A tensor that the method makes a view is none, whatever
 * the program calls it; two states may have one name, or lie in the same memory. The bytes at `data` may be read and written between
 * executes: fl_numel(t) elements in the order of `strides`. To save and restore state, copy these bytes. */
FL_API const fl_tensor *fl_method_state(const fl_method *method, uint32_t index, const char **name);
/* The state of that name. NULL: the text lists those that exist. */
FL_API const fl_tensor *fl_method_find_state(const fl_method *method, const char *name, fl_error *error);

/* Chooses the stream of random numbers that the method draws, from its beginning. It is that of 0 after init. */
FL_API void fl_method_seed(fl_method *method, uint64_t seed);

/* Destroys the delegates. The memories are the caller's again. */
FL_API void fl_method_destroy(fl_method *method);

/* Gives input `index` its value.
 * A tensor must have the input's dtype, rank and sizes (dynamic: up to the bounds). Of `value->as.tensor` only data, sizes, rank, dtype and the
 * layout are read: `strides` (in elements) if not NULL, else `dim_order` if not NULL, else contiguous.
 * A planned input is copied into its arena, whatever its layout. An input outside the arenas (fl_slot_info.planned is 0) is used where it
 * lies, must be laid out as the program says, and must stay until execute returns. Tensors have to be set before each execute, since the
 * memory of a planned one is reused; scalars keep their value.
 * A scalar that no instruction reads was fixed when the program was made; it accepts only that value. */
FL_API fl_status fl_method_set_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error);

/* As fl_method_set_input, and lets the method write the caller's tensor, as a model does that changes its input. Such an input lies outside
 * the arenas; `writes` of the method in the named data "flambeau.json" lists its index. Without this, the first instruction that writes it fails. */
FL_API fl_status fl_method_lend_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error);

/* Says where an output that is not planned shall be written: `size` bytes, at least fl_slot_info.bytes, aligned to 16. Execute fills them with zeros
 * before the first instruction. */
FL_API fl_status fl_method_set_output(fl_method *method, uint32_t index, void *data, size_t size, fl_error *error);

/* Has `hook` called before and after each later execute, and before and after each instruction of it; NULL: nothing is called. FL_NOT_SUPPORTED: the library was built with
 * FLAMBEAU_HOOK=OFF, so that an execute does not even ask whether there is one. */
FL_API fl_status fl_method_set_hook(fl_method *method, fl_hook_fn hook, void *user, fl_error *error);

/* Runs the method. After a failure outputs are undefined, state may have changed in part, and every input has to be set again. */
FL_API fl_status fl_method_execute(fl_method *method, fl_error *error);

/* Output `index`, valid until the next set_input, execute or destroy; NULL when there is no such output. */
FL_API const fl_value *fl_method_output(const fl_method *method, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
