/* The interface for authors of backends: a table of functions that runs the delegates of a program which name this backend.
 *
 * Life of a delegate: `measure` computes how much memory it needs, the caller provides this memory, `init` builds the delegate in it, `execute`
 * runs it any number of times, `destroy` releases the resources that the backend itself acquired. All calls for one method come from the
 * thread that owns the method at that time; calls for different methods may come at once, so a backend must guard any data that its delegates
 * share.
 */
#ifndef FLAMBEAU_BACKEND_H
#define FLAMBEAU_BACKEND_H

#include "flambeau/error.h"
#include "flambeau/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One delegate in the program. All pointers refer to memory of the program, and are valid as long as the program is loaded. */
typedef struct fl_payload {
  const void *data;              /* bytes of the backend's compiler ("processed"); 16-byte aligned in files of the usual writers */
  size_t size;
  uint32_t compile_spec_count;
  const char *method;            /* name of the method that the delegate belongs to */
  const struct fl_program *program;
  const void *reserved;          /* private: holds the compile specs */
} fl_payload;

/* A setting with which the delegate was compiled: a key, and a value of `size` bytes. */
typedef struct fl_compile_spec {
  const char *key;
  const void *value;
  size_t size;
} fl_compile_spec;

/* The memory that one delegate needs, in bytes; 64-byte aligned. */
typedef struct fl_backend_memory {
  size_t persistent; /* kept from init to destroy */
  size_t scratch;    /* only during execute; shared with kernels and other delegates */
  uint32_t outputs;  /* how many of a call's last arguments execute writes; 0: it may write any argument, so none may be constant */
} fl_backend_memory;

/* A setting of the application, as text: {"threads", "2"}. */
typedef struct fl_option {
  const char *name;
  const char *value;
} fl_option;

/* An operator inside of a delegate that has run. */
typedef struct fl_timed_operator {
  const char *name;     /* the vendor's, which stays as long as the delegate */
  uint64_t nanoseconds;
  uint32_t number;      /* of the payload's operator, from 0, that it computes; UINT32_MAX: unknown */
} fl_timed_operator;

/* A backend. `self` of its functions is the structure in the registry. To initialise methods with options, an application copies a backend's
 * structure (`struct_size` bytes), sets `options` in the copy, and puts the copy into its registry, where it must stay as long as the methods. */
typedef struct fl_backend fl_backend;
struct fl_backend {
  size_t struct_size; /* sizeof(fl_backend) when the backend was compiled: newer versions add fields at the end */
  const char *id;     /* the name in programs: "XnnpackBackend" */
  const char *name;   /* the name in options and messages, the backend's folder */
  void *user;         /* for the backend's use */
  const fl_option *options;
  size_t option_count;
  /* Returns nonzero when delegates can run now; a device may be absent. NULL: they always can, or `measure` reports why they cannot. */
  int (*is_available)(const fl_backend *self);
  /* Stores the memory that `init` and `execute` need in `memory`, and refuses unknown options. NULL: they need none. On failure sets `*message` to
   * the reason: a static text, or a text that stays until the thread's next call of the backend. */
  fl_status (*measure)(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message);
  /* Builds the delegate in `persistent`, which has the measured size, and stores the `handle` for the other functions in `*handle`. Must check the
   * payload, because it comes from a file. On failure sets `*message` as `measure` does. */
  fl_status (*init)(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message);
  /* Runs the delegate. `args` are its inputs, then its outputs, `count` in all; writes outputs in place, and resizes dynamic ones with fl_resize. */
  fl_status (*execute)(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count);
  /* Releases the resources of the delegate outside of its memory. NULL: it has none. */
  void (*destroy)(const fl_backend *self, void *handle);
  /* The names of its options, ending in NULL, so that tools refuse others before they load a program. NULL: `measure` alone knows them. */
  const char *const *option_names;
  /* Stores operator `index` of those that the last execute ran, in their order, in `found`, and returns 1; returns 0 when there are fewer. Is called
   * after an execute, with 0, 1 and so on, while a method has a hook. A backend for which measuring takes time has an option `profile`, 1 or 0,
   * which tools set. NULL: it does not know its operators. */
  int (*operator_time)(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found);
};

/* Returns compile spec `index` of a delegate, which must be below compile_spec_count. */
FL_API fl_compile_spec fl_payload_compile_spec(const fl_payload *payload, uint32_t index);

/* Stores position and size of a blob that the program stores under the name `key`, such as weights that several delegates share. The blob stays in
 * the program. A backend passes payload->program. FL_NOT_FOUND: there is no such blob. Compares `key` with the name of each blob: a backend that
 * looks for many limits their number, because a program is not trusted. */
FL_API fl_status fl_program_named_data(const struct fl_program *program, const char *key, const void **data, size_t *size, fl_error *error);

/* Returns the backends that this library was built with, and stores their number in `count`. */
FL_API const fl_backend *const *fl_builtin_backends(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
