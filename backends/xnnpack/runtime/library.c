/* Finds and loads XNNPACK, and shares its threads. */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The places of the library, the best first. The library in the wheel `executorch`, if it is loaded already or in the same site-packages as this
 * library, has every kind of nodes; the library of a distribution may be older. */
static const char *const places[] = {
#ifdef __APPLE__
    "libexecutorch_backend_xnnpack.dylib", "libXNNPACK.dylib",
#else
    "libexecutorch_backend_xnnpack.so", "$ORIGIN/../../../executorch/lib/libexecutorch_backend_xnnpack.so", "libXNNPACK.so", "libXNNPACK.so.0",
#endif
};

/* The name of a function, and the offset of its pointer in the table of functions. */
typedef struct symbol {
  const char *name;
  size_t place;
  int is_required;
} symbol;

static const symbol symbols[] = {
    {"xnn_initialize", offsetof(xnn_library, initialize), 1},
    {"xnn_create_subgraph", offsetof(xnn_library, create_subgraph), 1},
    {"xnn_delete_subgraph", offsetof(xnn_library, delete_subgraph), 1},
    {"xnn_define_tensor_value", offsetof(xnn_library, define_tensor_value), 1},
    {"xnn_define_quantized_tensor_value", offsetof(xnn_library, define_quantized_value), 0},
    {"xnn_define_channelwise_quantized_tensor_value_v2", offsetof(xnn_library, define_channelwise_value), 0},
    {"xnn_create_runtime_v2", offsetof(xnn_library, create_runtime), 1},
    {"xnn_delete_runtime", offsetof(xnn_library, delete_runtime), 1},
    {"xnn_invoke_runtime", offsetof(xnn_library, invoke_runtime), 1},
    {"xnn_setup_runtime", offsetof(xnn_library, setup), 0},
    {"xnn_setup_runtime_v2", offsetof(xnn_library, setup), 0},
    {"xnn_reshape_external_value", offsetof(xnn_library, reshape_value), 0},
    {"xnn_reshape_runtime", offsetof(xnn_library, reshape_runtime), 0},
    {"xnn_get_external_value_shape", offsetof(xnn_library, value_shape), 0},
    {"pthreadpool_create", offsetof(xnn_library, create_pool), 0},
    {"pthreadpool_destroy", offsetof(xnn_library, destroy_pool), 0},
};

static fl_status find_symbols(const char *path, xnn_library *library) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
    void *const found = dlsym(library->handle, symbols[i].name);
    if (found != NULL) {
      memcpy((char *)library + symbols[i].place, &found, sizeof found);
    } else if (symbols[i].is_required) {
      return fl_xnn_fail(FL_NOT_FOUND, "%.160s is not an XNNPACK library: it has no %s", path, symbols[i].name);
    }
  }
  if (library->setup == NULL) {
    return fl_xnn_fail(FL_NOT_FOUND, "%.160s is of a version of XNNPACK that this backend does not know", path);
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
    /* Never unloaded, because XNNPACK keeps what it has detected of the machine. */
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library->handle == NULL) {
      return fl_xnn_fail(FL_NOT_FOUND, "the XNNPACK library cannot be loaded: %.240s", dlerror());
    }
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof places / sizeof *places; ++i) {
    path = places[i];
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  if (library->handle == NULL) {
    return fl_xnn_fail(FL_NOT_FOUND, "there is no XNNPACK library here: set FLAMBEAU_XNNPACK_LIBRARY to the path of one, such as "
                                     "libexecutorch_backend_xnnpack.so of the Python package executorch, which Python finds by itself");
  }
  const fl_status status = find_symbols(path, library);
  if (status != FL_OK) {
    fl_xnn_unload(library);
    return status;
  }
  const xnn_status ready = library->initialize(NULL);
  if (ready != 0) {
    fl_xnn_unload(library);
    return fl_xnn_fail(FL_NOT_FOUND, "XNNPACK does not start on this machine: %s", fl_xnn_status_name(ready));
  }
  return FL_OK;
}

void fl_xnn_unload(const xnn_library *library) { (void)dlclose(library->handle); }

/* A pool of threads that delegates share. XNNPACK's pool runs one call at a time, and locks itself. */
typedef struct pool {
  struct pool *next;
  const void *library;
  pthreadpool_t threads;
  size_t count;
  size_t users;
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pool *pools;

/* Returns the pool of `count` threads of a library, or a new one without users. The caller holds the lock. */
static pool *find_pool(const xnn_library *library, size_t count) {
  pool *found = pools;
  while (found != NULL && (found->library != library->handle || found->count != count)) {
    found = found->next;
  }
  if (found != NULL) {
    return found;
  }
  found = (pool *)malloc(sizeof *found);
  const pthreadpool_t threads = found == NULL || library->create_pool == NULL ? NULL : library->create_pool(count);
  if (threads == NULL) {
    free(found);
    return NULL;
  }
  *found = (pool){pools, library->handle, threads, count, 0};
  pools = found;
  return found;
}

pthreadpool_t fl_xnn_take_pool(const xnn_library *library, size_t threads) {
  (void)pthread_mutex_lock(&lock);
  pool *found = find_pool(library, threads);
  if (found != NULL) {
    ++found->users;
  }
  (void)pthread_mutex_unlock(&lock);
  return found == NULL ? NULL : found->threads;
}

void fl_xnn_give_back_pool(const xnn_library *library, pthreadpool_t threads) {
  (void)pthread_mutex_lock(&lock);
  pool **place = &pools;
  while ((*place)->threads != threads) {
    place = &(*place)->next;
  }
  pool *found = *place;
  if (--found->users == 0) {
    *place = found->next;
    library->destroy_pool(threads);
    free(found);
  }
  (void)pthread_mutex_unlock(&lock);
}

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
