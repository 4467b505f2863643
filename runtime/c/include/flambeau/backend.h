/* The interface for authors of backends: a table of functions that runs the delegates of a program which name this backend.
 *
 * Life of a delegate: the program is asked how much memory it needs (`measure`), the caller provides it, `init` builds the delegate in it,
 * `execute` runs it any number of times, `destroy` releases what the backend itself acquired. All calls for one method come from the thread
 * that owns the method at that time; calls for different methods may come at once, so what a backend shares between delegates it must guard.
 */
#ifndef FLAMBEAU_BACKEND_H
#define FLAMBEAU_BACKEND_H

#include "flambeau/error.h"
#include "flambeau/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One delegate as the program stores it. Everything pointed to lies in the program and lives as long. */
typedef struct fl_payload {
  const void *data;              /* what the backend's compiler wrote ("processed"); aligned to at least 16 in files of the usual writers */
  size_t size;
  uint32_t compile_spec_count;
  const char *method;            /* name of the method that the delegate belongs to */
  const struct fl_program *program;
  uint32_t reserved;             /* where the compile specs are */
} fl_payload;

typedef struct fl_compile_spec {
  const char *key;
  const void *value;
  size_t size;
} fl_compile_spec;

/* Memory of one delegate, 64-byte aligned. */
typedef struct fl_backend_memory {
  size_t persistent; /* kept from init to destroy */
  size_t scratch;    /* only during execute; shared with kernels and other delegates */
  uint32_t outputs;  /* how many of a call's last arguments execute writes; 0: any of them, so that none may be a constant */
} fl_backend_memory;

/* A setting of the application, as text: {"threads", "2"}. */
typedef struct fl_option {
  const char *name;
  const char *value;
} fl_option;

/* The functions get the structure that the registry has. To load methods with options, an application copies a backend's structure (`struct_size`
 * bytes), sets `options`, and gives the copy in its registry, where it stays as long as the methods do. */
typedef struct fl_backend fl_backend;
struct fl_backend {
  size_t struct_size; /* sizeof(fl_backend) where the backend was compiled: later fields come at the end */
  const char *id;     /* that programs use: "XnnpackBackend" */
  const char *name;   /* that people use, such as the backend's folder */
  void *user;         /* the backend's own */
  const fl_option *options;
  size_t option_count;
  /* Nonzero when delegates can run now (a device may be absent). NULL: always, or `measure` says why not. */
  int (*is_available)(const fl_backend *self);
  /* The memory that `init` and `execute` will get. NULL: none. Refuses an option that it does not know. On failure, `*message` says why: static
   * text, or text that stays until the thread's next call of the backend. */
  fl_status (*measure)(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message);
  /* Must check the payload: it comes from a file. `persistent` has the measured size. `*handle` is what the other functions get. */
  fl_status (*init)(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message);
  /* `args`: the delegate's inputs, then its outputs; outputs are written in place, dynamic ones resized with fl_resize. */
  fl_status (*execute)(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count);
  /* NULL: nothing to do. */
  void (*destroy)(const fl_backend *self, void *handle);
};

/* Compile spec `index` (below compile_spec_count) of a delegate. */
FL_API fl_compile_spec fl_payload_compile_spec(const fl_payload *payload, uint32_t index);

/* A blob that the program stores under a name, such as weights that several delegates share. It lies in the program, and a backend asks for it with
 * payload->program. */
FL_API fl_status fl_program_named_data(const struct fl_program *program, const char *key, const void **data, size_t *size, fl_error *error);

/* Backends that this library was built with. */
FL_API const fl_backend *const *fl_builtin_backends(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
