/* Finds and loads OpenVINO, and shares its cores. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Appends OpenVINO's text to a message as one line, without the lines that name places in OpenVINO's source, which do not help users. */
static void add_lines(char *message, size_t size, const char *text) {
  size_t length = strlen(message);
  while (*text != 0) {
    const size_t line = strcspn(text, "\n");
    const int is_of_use = line > 0 && !begins(text, "Exception from ") && !begins(text, "Check '");
    for (size_t i = 0; is_of_use && i <= line && length + 1 < size; ++i) {
      const char next = i == 0 ? ' ' : text[i - 1];
      message[length++] = (unsigned char)next < ' ' ? ' ' : next;
    }
    text += line + (text[line] == '\n');
  }
  message[length] = 0;
}

fl_status fl_ov_refused(const ov_library *library, ov_status status, const char *what) {
  const char *const text = library->last_message();
  char message[400];
  (void)snprintf(message, sizeof message, "%s:", what);
  const size_t length = strlen(message);
  add_lines(message, sizeof message, text == NULL ? "" : text);
  if (strlen(message) == length) {
    add_lines(message, sizeof message, library->error_info(status));
  }
  library->text_free(text);
  return fl_library_fail(FL_INTERNAL, "%s", message);
}

static const fl_library_symbol symbols[] = {
    {"ov_core_create", offsetof(ov_library, core_create), 0},
    {"ov_core_free", offsetof(ov_library, core_free), 0},
    {"ov_core_set_property", offsetof(ov_library, set_property), 0},
    {"ov_core_read_model_from_memory_buffer", offsetof(ov_library, read_model), 0},
    {"ov_model_free", offsetof(ov_library, model_free), 0},
    {"ov_core_compile_model", offsetof(ov_library, compile_model), 0},
    {"ov_core_import_model", offsetof(ov_library, import_model), 0},
    {"ov_compiled_model_free", offsetof(ov_library, compiled_model_free), 0},
    {"ov_compiled_model_inputs_size", offsetof(ov_library, inputs_size), 0},
    {"ov_compiled_model_outputs_size", offsetof(ov_library, outputs_size), 0},
    {"ov_compiled_model_input_by_index", offsetof(ov_library, input_by_index), 0},
    {"ov_output_const_port_free", offsetof(ov_library, port_free), 0},
    {"ov_port_get_element_type", offsetof(ov_library, port_element_type), 0},
    {"ov_port_get_partial_shape", offsetof(ov_library, port_partial_shape), 0},
    {"ov_partial_shape_free", offsetof(ov_library, partial_shape_free), 0},
    {"ov_compiled_model_create_infer_request", offsetof(ov_library, create_infer_request), 0},
    {"ov_infer_request_free", offsetof(ov_library, infer_request_free), 0},
    {"ov_infer_request_set_input_tensor_by_index", offsetof(ov_library, set_input), 0},
    {"ov_infer_request_get_output_tensor_by_index", offsetof(ov_library, get_output), 0},
    {"ov_infer_request_infer", offsetof(ov_library, infer), 0},
    {"ov_infer_request_get_profiling_info", offsetof(ov_library, layer_times), 0},
    {"ov_profiling_info_list_free", offsetof(ov_library, layer_times_free), 0},
    {"ov_tensor_create_from_host_ptr", offsetof(ov_library, tensor_from_host), 0},
    {"ov_tensor_get_element_type", offsetof(ov_library, tensor_type), 0},
    {"ov_tensor_get_shape", offsetof(ov_library, tensor_shape), 0},
    {"ov_tensor_get_byte_size", offsetof(ov_library, tensor_bytes), 0},
    {"ov_tensor_data", offsetof(ov_library, tensor_data), 0},
    {"ov_tensor_free", offsetof(ov_library, tensor_free), 0},
    {"ov_shape_free", offsetof(ov_library, shape_free), 0},
    {"ov_get_error_info", offsetof(ov_library, error_info), 0},
    {"ov_get_last_err_msg", offsetof(ov_library, last_message), 0},
    {"ov_free", offsetof(ov_library, text_free), 0},
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
  const char *const missing = fl_library_bind(library->handle, symbols, sizeof symbols / sizeof *symbols, library);
  if (missing != NULL) {
    return fl_library_fail(FL_NOT_FOUND, "%.160s is not the C library of OpenVINO 2025 or newer: it has no %s", path, missing);
  }
  return knows_numbers(library) ? FL_OK : fl_library_fail(FL_NOT_FOUND, "%.160s is older than OpenVINO 2025", path);
}

fl_status fl_ov_load(const char *path, ov_library *library) {
  static const char *const names[] = {"libopenvino_c.so", "libopenvino_c.dylib"};
  memset(library, 0, sizeof *library);
  path = path != NULL ? path : getenv("FLAMBEAU_OPENVINO_LIBRARY");
  if (path != NULL && path[0] != 0) {
    library->handle = fl_library_open(path);
    if (library->handle == NULL) {
      return fl_library_fail(FL_NOT_FOUND, "the OpenVINO library cannot be loaded: %.240s", dlerror());
    }
  } else {
    path = "the library of the package openvino";
    library->handle = fl_library_open_packaged("openvino/libs", "libopenvino_c.");
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof names / sizeof *names; ++i) {
    path = names[i];
    library->handle = fl_library_open(path);
  }
  if (library->handle == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "there is no OpenVINO library here: set FLAMBEAU_OPENVINO_LIBRARY to the path of one, such as "
                                    "libopenvino_c.so in the Python package openvino, which flambeau env prints");
  }
  const fl_status status = find_symbols(path, library);
  if (status != FL_OK) {
    fl_ov_unload(library);
  }
  return status;
}

void fl_ov_unload(const ov_library *library) { fl_library_close(library->handle); }

static void *make_core(const void *library, size_t number) {
  ov_core *core = NULL;
  (void)number;
  return ((const ov_library *)library)->core_create(&core) == 0 ? core : NULL;
}

static void drop_core(const void *library, void *core) { ((const ov_library *)library)->core_free((ov_core *)core); }

ov_core *fl_ov_take_core(const ov_library *library) { return (ov_core *)fl_library_share(library->handle, 0, make_core, library); }

void fl_ov_give_back_core(const ov_library *library, ov_core *core) { fl_library_release(core, drop_core, library); }
