/* Finds and loads XNNPACK, and shares its threads. */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The places of the library, the best first. The library in the wheel `executorch`, if it is loaded already or in the environment of this code, has
 * every kind of nodes; the library of a distribution may be older. */
static const char *const places[] = {
#ifdef __APPLE__
    "libexecutorch_backend_xnnpack.dylib", NULL, "libXNNPACK.dylib",
#else
    "libexecutorch_backend_xnnpack.so", NULL, "libXNNPACK.so", "libXNNPACK.so.0",
#endif
};

static const fl_library_symbol symbols[] = {
    {"xnn_initialize", offsetof(xnn_library, initialize), 0},
    {"xnn_create_subgraph", offsetof(xnn_library, create_subgraph), 0},
    {"xnn_delete_subgraph", offsetof(xnn_library, delete_subgraph), 0},
    {"xnn_define_tensor_value", offsetof(xnn_library, define_tensor_value), 0},
    {"xnn_define_quantized_tensor_value", offsetof(xnn_library, define_quantized_value), 1},
    {"xnn_define_channelwise_quantized_tensor_value_v2", offsetof(xnn_library, define_channelwise_value), 1},
    {"xnn_define_dynamically_quantized_tensor_value", offsetof(xnn_library, define_dynamic_value), 1},
    {"xnn_create_runtime_v2", offsetof(xnn_library, create_runtime), 0},
    {"xnn_delete_runtime", offsetof(xnn_library, delete_runtime), 0},
    {"xnn_invoke_runtime", offsetof(xnn_library, invoke_runtime), 0},
    {"xnn_setup_runtime", offsetof(xnn_library, setup), 1},
    {"xnn_setup_runtime_v2", offsetof(xnn_library, setup), 1},
    {"xnn_reshape_external_value", offsetof(xnn_library, reshape_value), 1},
    {"xnn_reshape_runtime", offsetof(xnn_library, reshape_runtime), 1},
    {"xnn_get_external_value_shape", offsetof(xnn_library, value_shape), 1},
    {"pthreadpool_create", offsetof(xnn_library, create_pool), 1},
    {"pthreadpool_destroy", offsetof(xnn_library, destroy_pool), 1},
    {"xnn_get_runtime_profiling_info", offsetof(xnn_library, profiling_info), 1},
};

static fl_status find_symbols(const char *path, xnn_library *library) {
  const char *const missing = fl_library_bind(library->handle, symbols, sizeof symbols / sizeof *symbols, library);
  if (missing != NULL) {
    return fl_library_fail(FL_NOT_FOUND, "%.160s is not an XNNPACK library: it has no %s", path, missing);
  }
  if (library->setup == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "%.160s is of a version of XNNPACK that this backend does not know", path);
  }
  if (library->reshape_value == NULL || library->reshape_runtime == NULL || library->value_shape == NULL) {
    library->reshape_value = NULL;
  }
  if (library->define_quantized_value == NULL || library->define_channelwise_value == NULL) {
    library->define_quantized_value = NULL;
  }
  if (library->create_pool == NULL || library->destroy_pool == NULL) {
    library->create_pool = NULL;
  }
  return FL_OK;
}

fl_status fl_xnn_load(const char *path, xnn_library *library) {
  memset(library, 0, sizeof *library);
  path = path != NULL ? path : getenv("FLAMBEAU_XNNPACK_LIBRARY");
  if (path != NULL && path[0] != 0) {
    library->handle = fl_library_open(path);
    if (library->handle == NULL) {
      return fl_library_fail(FL_NOT_FOUND, "the XNNPACK library cannot be loaded: %.240s", dlerror());
    }
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof places / sizeof *places; ++i) {
    path = places[i] != NULL ? places[i] : "the library of the package executorch";
    library->handle =
        places[i] != NULL ? fl_library_open(path) : fl_library_open_packaged("executorch/lib", "libexecutorch_backend_xnnpack.");
  }
  if (library->handle == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "there is no XNNPACK library here: set FLAMBEAU_XNNPACK_LIBRARY to the path of one, such as "
                                     "libexecutorch_backend_xnnpack.so in the Python package executorch, which flambeau env prints");
  }
  const fl_status status = find_symbols(path, library);
  if (status != FL_OK) {
    fl_xnn_unload(library);
    return status;
  }
  const xnn_status ready = library->initialize(NULL);
  if (ready != 0) {
    fl_xnn_unload(library);
    return fl_library_fail(FL_NOT_FOUND, "XNNPACK does not start on this machine: %s", fl_xnn_status_name(ready));
  }
  return FL_OK;
}

void fl_xnn_unload(const xnn_library *library) { fl_library_close(library->handle); }

/* XNNPACK's pool runs one call at a time, and locks itself. */
static void *make_pool(const void *library, size_t threads) {
  const xnn_library *const own = (const xnn_library *)library;
  return own->create_pool == NULL ? NULL : own->create_pool(threads);
}

static void drop_pool(const void *library, void *pool) { ((const xnn_library *)library)->destroy_pool((pthreadpool_t)pool); }

pthreadpool_t fl_xnn_take_pool(const xnn_library *library, size_t threads) {
  return (pthreadpool_t)fl_library_share(library->handle, threads, make_pool, library);
}

void fl_xnn_give_back_pool(const xnn_library *library, pthreadpool_t threads) { fl_library_release(threads, drop_pool, library); }

xnn_symbol fl_xnn_definition(const xnn_library *library, const char *kind) {
  char name[64];
  xnn_symbol function = NULL;
  (void)snprintf(name, sizeof name, "xnn_define_%s", kind);
  void *const found = dlsym(library->handle, name);
  memcpy(&function, &found, sizeof found);
  return function;
}

const char *fl_xnn_status_name(xnn_status status) {
  static const char *const names[] = {"success",     "not initialized", "an invalid parameter", "an invalid state", "an unsupported parameter",
                                      "unsupported hardware", "out of memory"};
  return status >= 0 && (size_t)status < sizeof names / sizeof *names ? names[status] : "another reason";
}

enum { STATUS_OUT_OF_MEMORY = 6 };

void fl_xnn_watch_memory(void) { errno = 0; }

int fl_xnn_ran_out_of_memory(xnn_status status) { return status == STATUS_OUT_OF_MEMORY || errno == ENOMEM; }
