/* Finds and loads OpenVINO, and shares its cores. */
#define _GNU_SOURCE /* dladdr */
#include "library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_message[400];

fl_status fl_ov_fail(fl_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(last_message, sizeof last_message, format, arguments);
  va_end(arguments);
  return status;
}

const char *fl_ov_message(void) { return last_message; }

static int begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Appends OpenVINO's text to the message as one line, without the lines that name places in OpenVINO's source, which do not help users. */
static void add_lines(const char *text) {
  size_t length = strlen(last_message);
  while (*text != 0) {
    const size_t line = strcspn(text, "\n");
    const int is_of_use = line > 0 && !begins(text, "Exception from ") && !begins(text, "Check '");
    for (size_t i = 0; is_of_use && i <= line && length + 1 < sizeof last_message; ++i) {
      const char next = i == 0 ? ' ' : text[i - 1];
      last_message[length++] = (unsigned char)next < ' ' ? ' ' : next;
    }
    text += line + (text[line] == '\n');
  }
  last_message[length] = 0;
}

fl_status fl_ov_refused(const ov_library *library, ov_status status, const char *what) {
  const char *const text = library->last_message();
  (void)fl_ov_fail(FL_INTERNAL, "%s:", what);
  const size_t length = strlen(last_message);
  add_lines(text == NULL ? "" : text);
  if (strlen(last_message) == length) {
    add_lines(library->error_info(status));
  }
  library->text_free(text);
  return FL_INTERNAL;
}

/* The name of a function, and the offset of its pointer in the table of functions. */
typedef struct symbol {
  const char *name;
  size_t place;
} symbol;

static const symbol symbols[] = {
    {"ov_core_create", offsetof(ov_library, core_create)},
    {"ov_core_free", offsetof(ov_library, core_free)},
    {"ov_core_set_property", offsetof(ov_library, set_property)},
    {"ov_core_read_model_from_memory_buffer", offsetof(ov_library, read_model)},
    {"ov_model_free", offsetof(ov_library, model_free)},
    {"ov_core_compile_model", offsetof(ov_library, compile_model)},
    {"ov_core_import_model", offsetof(ov_library, import_model)},
    {"ov_compiled_model_free", offsetof(ov_library, compiled_model_free)},
    {"ov_compiled_model_inputs_size", offsetof(ov_library, inputs_size)},
    {"ov_compiled_model_outputs_size", offsetof(ov_library, outputs_size)},
    {"ov_compiled_model_input_by_index", offsetof(ov_library, input_by_index)},
    {"ov_output_const_port_free", offsetof(ov_library, port_free)},
    {"ov_port_get_element_type", offsetof(ov_library, port_element_type)},
    {"ov_port_get_partial_shape", offsetof(ov_library, port_partial_shape)},
    {"ov_partial_shape_free", offsetof(ov_library, partial_shape_free)},
    {"ov_compiled_model_create_infer_request", offsetof(ov_library, create_infer_request)},
    {"ov_infer_request_free", offsetof(ov_library, infer_request_free)},
    {"ov_infer_request_set_input_tensor_by_index", offsetof(ov_library, set_input)},
    {"ov_infer_request_get_output_tensor_by_index", offsetof(ov_library, get_output)},
    {"ov_infer_request_infer", offsetof(ov_library, infer)},
    {"ov_tensor_create_from_host_ptr", offsetof(ov_library, tensor_from_host)},
    {"ov_tensor_get_element_type", offsetof(ov_library, tensor_type)},
    {"ov_tensor_get_shape", offsetof(ov_library, tensor_shape)},
    {"ov_tensor_get_byte_size", offsetof(ov_library, tensor_bytes)},
    {"ov_tensor_data", offsetof(ov_library, tensor_data)},
    {"ov_tensor_free", offsetof(ov_library, tensor_free)},
    {"ov_shape_free", offsetof(ov_library, shape_free)},
    {"ov_get_error_info", offsetof(ov_library, error_info)},
    {"ov_get_last_err_msg", offsetof(ov_library, last_message)},
    {"ov_free", offsetof(ov_library, text_free)},
};

/* Returns whether the library has the numbers of element types declared here, which versions before 2025 lack. */
static int knows_numbers(const ov_library *library) {
  int64_t one = 1;
  float number = 0;
  size_t bytes = 0;
  ov_tensor *tensor = NULL;
  if (library->tensor_from_host(OV_F32, (ov_shape){1, &one}, &number, &tensor) != 0) {
    return 0;
  }
  const ov_status status = library->tensor_bytes(tensor, &bytes);
  library->tensor_free(tensor);
  return status == 0 && bytes == sizeof number;
}

static fl_status find_symbols(const char *path, ov_library *library) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
    void *const found = dlsym(library->handle, symbols[i].name);
    if (found == NULL) {
      return fl_ov_fail(FL_NOT_FOUND, "%.160s is not the C library of OpenVINO 2025 or newer: it has no %s", path, symbols[i].name);
    }
    memcpy((char *)library + symbols[i].place, &found, sizeof found);
  }
  return knows_numbers(library) ? FL_OK : fl_ov_fail(FL_NOT_FOUND, "%.160s is older than OpenVINO 2025", path);
}

/* Loads a library that is never unloaded, because OpenVINO keeps threads. */
static void *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

/* Loads the library of the package `openvino` in the same site-packages as this library. Its name ends in a version. */
static void *load_beside(void) {
  static const char folder_name[] = "../../../openvino/libs/";
  Dl_info own;
  void *handle = NULL;
  if (dladdr((const void *)symbols, &own) == 0 || own.dli_fname == NULL) {
    return NULL;
  }
  const char *const slash = strrchr(own.dli_fname, '/');
  const size_t length = slash == NULL ? 0 : (size_t)(slash - own.dli_fname) + 1;
  char *const path = (char *)malloc(length + sizeof folder_name + sizeof((struct dirent *)NULL)->d_name);
  if (path == NULL) {
    return NULL;
  }
  memcpy(path, own.dli_fname, length);
  memcpy(path + length, folder_name, sizeof folder_name);
  DIR *const folder = opendir(path);
  for (const struct dirent *entry; folder != NULL && handle == NULL && (entry = readdir(folder)) != NULL;) {
    if (begins(entry->d_name, "libopenvino_c.")) {
      memcpy(path + length + sizeof folder_name - 1, entry->d_name, strlen(entry->d_name) + 1);
      handle = load(path);
    }
  }
  if (folder != NULL) {
    (void)closedir(folder);
  }
  free(path);
  return handle;
}

fl_status fl_ov_load(const char *path, ov_library *library) {
  static const char *const names[] = {"libopenvino_c.so", "libopenvino_c.dylib"};
  memset(library, 0, sizeof *library);
  path = path != NULL ? path : getenv("FLAMBEAU_OPENVINO_LIBRARY");
  if (path != NULL && path[0] != 0) {
    library->handle = load(path);
    if (library->handle == NULL) {
      return fl_ov_fail(FL_NOT_FOUND, "the OpenVINO library cannot be loaded: %.240s", dlerror());
    }
  } else {
    path = "the library of the package openvino";
    library->handle = load_beside();
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof names / sizeof *names; ++i) {
    path = names[i];
    library->handle = load(path);
  }
  if (library->handle == NULL) {
    return fl_ov_fail(FL_NOT_FOUND, "there is no OpenVINO library here: install the Python package openvino, or set FLAMBEAU_OPENVINO_LIBRARY to the "
                                    "path of a libopenvino_c");
  }
  const fl_status status = find_symbols(path, library);
  if (status != FL_OK) {
    fl_ov_unload(library);
  }
  return status;
}

void fl_ov_unload(const ov_library *library) { (void)dlclose(library->handle); }

/* A core that delegates share, one for each library. */
typedef struct shared_core {
  struct shared_core *next;
  const void *library;
  ov_core *core;
  size_t users;
} shared_core;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static shared_core *cores;

static shared_core **find_core(const ov_library *library) {
  shared_core **place = &cores;
  while (*place != NULL && (*place)->library != library->handle) {
    place = &(*place)->next;
  }
  return place;
}

ov_core *fl_ov_take_core(const ov_library *library) {
  (void)pthread_mutex_lock(&lock);
  shared_core *found = *find_core(library);
  if (found == NULL) {
    found = (shared_core *)calloc(1, sizeof *found);
    if (found != NULL && library->core_create(&found->core) != 0) {
      free(found);
      found = NULL;
    }
    if (found != NULL) {
      *found = (shared_core){cores, library->handle, found->core, 0};
      cores = found;
    }
  }
  ov_core *const core = found == NULL ? NULL : found->core;
  if (found != NULL) {
    ++found->users;
  }
  (void)pthread_mutex_unlock(&lock);
  return core;
}

void fl_ov_give_back_core(const ov_library *library) {
  (void)pthread_mutex_lock(&lock);
  shared_core **const place = find_core(library);
  shared_core *const found = *place;
  if (--found->users == 0) {
    *place = found->next;
    library->core_free(found->core);
    free(found);
  }
  (void)pthread_mutex_unlock(&lock);
}
