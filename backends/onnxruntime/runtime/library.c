/* Finds and loads ONNX Runtime, and shares its environment. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function: its place in ONNX Runtime's table, and that in ours. */
typedef struct place {
  size_t from;
  size_t to;
} place;

static const place places[] = {
    {2, offsetof(ort_library, error_message)},
    {3, offsetof(ort_library, create_env)},
    {6, offsetof(ort_library, disable_telemetry)},
    {8, offsetof(ort_library, create_session)},
    {9, offsetof(ort_library, run)},
    {10, offsetof(ort_library, create_options)},
    {22, offsetof(ort_library, set_severity)},
    {24, offsetof(ort_library, set_threads)},
    {30, offsetof(ort_library, input_count)},
    {31, offsetof(ort_library, output_count)},
    {49, offsetof(ort_library, create_tensor)},
    {51, offsetof(ort_library, tensor_data)},
    {60, offsetof(ort_library, element_type)},
    {61, offsetof(ort_library, rank)},
    {62, offsetof(ort_library, sizes)},
    {65, offsetof(ort_library, tensor_type)},
    {69, offsetof(ort_library, create_memory_info)},
    {92, offsetof(ort_library, release_env)},
    {93, offsetof(ort_library, release_status)},
    {94, offsetof(ort_library, release_memory_info)},
    {95, offsetof(ort_library, release_session)},
    {96, offsetof(ort_library, release_value)},
    {99, offsetof(ort_library, release_type)},
    {100, offsetof(ort_library, release_options)},
    {130, offsetof(ort_library, set_entry)},
};

/* What the one function that the library exports gives. */
typedef struct ort_base {
  const void *(*table)(uint32_t version);
  const char *(*version)(void);
} ort_base;

typedef struct exported {
  const ort_base *(*base)(void);
} exported;

static const fl_library_symbol symbols[] = {{"OrtGetApiBase", offsetof(exported, base), 0}};

/* Returns whether a version, such as 1.17.3, is at least 1.17. The library writes to standard error when it is asked for a table that it lacks. */
static int is_new_enough(const char *version) {
  char *end = NULL;
  const long major = strtol(version, &end, 10);
  return *end == '.' && (major > 1 || (major == 1 && strtol(end + 1, NULL, 10) >= ORT_VERSION));
}

static fl_status find_functions(const char *path, ort_library *library) {
  exported found = {NULL};
  if (fl_library_bind(library->handle, symbols, 1, &found) != NULL) {
    return fl_library_fail(FL_NOT_FOUND, "%.160s is not the C library of ONNX Runtime: it has no OrtGetApiBase", path);
  }
  const ort_base *const base = found.base();
  const char *const table = is_new_enough(base->version()) ? (const char *)base->table(ORT_VERSION) : NULL;
  if (table == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "%.160s is ONNX Runtime %.20s, and 1.%d or newer is needed", path, base->version(), ORT_VERSION);
  }
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    memcpy((char *)library + places[i].to, table + places[i].from * sizeof(void *), sizeof(void *));
  }
  return FL_OK;
}

fl_status fl_ort_load(const char *path, ort_library *library) {
  static const char *const names[] = {"libonnxruntime.so", "libonnxruntime.so.1", "libonnxruntime.dylib"};
  memset(library, 0, sizeof *library);
  path = path != NULL ? path : getenv("FLAMBEAU_ONNXRUNTIME_LIBRARY");
  if (path != NULL && path[0] != 0) {
    library->handle = fl_library_open(path);
    if (library->handle == NULL) {
      return fl_library_fail(FL_NOT_FOUND, "the ONNX Runtime library cannot be loaded: %.240s", dlerror());
    }
  } else {
    path = "the library of the package onnxruntime";
    library->handle = fl_library_open_packaged("onnxruntime/capi", "libonnxruntime.");
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof names / sizeof *names; ++i) {
    path = names[i];
    library->handle = fl_library_open(path);
  }
  if (library->handle == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "there is no ONNX Runtime library here: pip install 'flambeau[onnxruntime]', or set FLAMBEAU_ONNXRUNTIME_LIBRARY "
                                         "to the path of a libonnxruntime, such as that in the Python package onnxruntime, which flambeau env prints");
  }
  const fl_status status = find_functions(path, library);
  if (status != FL_OK) {
    fl_library_close(library->handle);
  }
  return status;
}

fl_status fl_ort_refused(const ort_library *library, ort_status *status, const char *what) {
  char message[400];
  (void)snprintf(message, sizeof message, "%s: %s", what, library->error_message(status));
  library->release_status(status);
  for (char *at = message; *at != 0; ++at) {
    *at = (unsigned char)*at < ' ' ? ' ' : *at;
  }
  return fl_library_fail(FL_INTERNAL, "%s", message);
}

static void *make_env(const void *table, size_t number) {
  const ort_library *const library = (const ort_library *)table;
  ort_env *env = NULL;
  (void)number;
  ort_status *status = library->create_env(ORT_LOG_FATAL, "flambeau", &env);
  if (status == NULL) {
    status = library->disable_telemetry(env);
  }
  if (status != NULL) {
    library->release_status(status);
  }
  return env;
}

static void drop_env(const void *library, void *env) { ((const ort_library *)library)->release_env((ort_env *)env); }

ort_env *fl_ort_take_env(const ort_library *library) { return (ort_env *)fl_library_share(library->handle, 0, make_env, library); }

void fl_ort_give_back_env(const ort_library *library, ort_env *env) { fl_library_release(env, drop_env, library); }
