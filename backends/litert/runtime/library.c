/* Finds and loads LiteRT, and tells what it refuses. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fl_library_symbol symbols[] = {
    /* The first of them came with LiteRT 2.1.6, since which a model is created in an environment. */
    {"LiteRtCreateModelFromFd", offsetof(lrt_library, create_model), 0},
    {"LiteRtCreateModelFromBuffer", offsetof(lrt_library, create_model), 0},
    {"LiteRtDestroyModel", offsetof(lrt_library, destroy_model), 0},
    {"LiteRtCreateEnvironment", offsetof(lrt_library, create_environment), 0},
    {"LiteRtDestroyEnvironment", offsetof(lrt_library, destroy_environment), 0},
    {"LiteRtGetModelSubgraph", offsetof(lrt_library, graph), 0},
    {"LiteRtGetNumSubgraphInputs", offsetof(lrt_library, input_count), 0},
    {"LiteRtGetSubgraphInput", offsetof(lrt_library, input), 0},
    {"LiteRtGetNumSubgraphOutputs", offsetof(lrt_library, output_count), 0},
    {"LiteRtGetSubgraphOutput", offsetof(lrt_library, output), 0},
    {"LiteRtGetRankedTensorType", offsetof(lrt_library, type), 0},
    {"LiteRtCreateOptions", offsetof(lrt_library, create_options), 0},
    {"LiteRtDestroyOptions", offsetof(lrt_library, destroy_options), 0},
    {"LiteRtSetOptionsHardwareAccelerators", offsetof(lrt_library, set_accelerators), 0},
    {"LiteRtCreateOpaqueOptions", offsetof(lrt_library, create_opaque), 0},
    {"LiteRtAddOpaqueOptions", offsetof(lrt_library, add_opaque), 0},
    {"LiteRtCreateCompiledModel", offsetof(lrt_library, compile), 0},
    {"LiteRtDestroyCompiledModel", offsetof(lrt_library, destroy_compiled), 0},
    {"LiteRtGetCompiledModelOutputTensorLayouts", offsetof(lrt_library, output_layouts), 0},
    {"LiteRtCompiledModelResizeInputTensor", offsetof(lrt_library, resize), 0},
    {"LiteRtCompiledModelGetErrorMessages", offsetof(lrt_library, messages), 0},
    {"LiteRtCompiledModelClearErrors", offsetof(lrt_library, clear_messages), 0},
    {"LiteRtCreateTensorBufferFromHostMemory", offsetof(lrt_library, create_buffer), 0},
    {"LiteRtDestroyTensorBuffer", offsetof(lrt_library, destroy_buffer), 0},
    {"LiteRtRunCompiledModel", offsetof(lrt_library, run), 0},
};

fl_status fl_lrt_load(const char *path, lrt_library *library) {
  static const char *const names[] = {"libLiteRt.so", "libLiteRt.dylib"};
  memset(library, 0, sizeof *library);
  path = path != NULL ? path : getenv("FLAMBEAU_LITERT_LIBRARY");
  if (path != NULL && path[0] != 0) {
    library->handle = fl_library_open(path);
    if (library->handle == NULL) {
      return fl_library_fail(FL_NOT_FOUND, "the LiteRT library cannot be loaded: %.240s", dlerror());
    }
  } else {
    path = "the library of the package ai_edge_litert";
    library->handle = fl_library_open_packaged("ai_edge_litert", "libLiteRt.");
  }
  for (size_t i = 0; library->handle == NULL && i < sizeof names / sizeof *names; ++i) {
    path = names[i];
    library->handle = fl_library_open(path);
  }
  if (library->handle == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "there is no LiteRT library here: pip install 'flambeau[litert]', or set FLAMBEAU_LITERT_LIBRARY to the path "
                                    "of a libLiteRt.so, such as that in the Python package ai_edge_litert, which flambeau env prints");
  }
  const char *const missing = fl_library_bind(library->handle, symbols, sizeof symbols / sizeof *symbols, library);
  if (missing != NULL) {
    fl_library_close(library->handle);
    return fl_library_fail(FL_NOT_FOUND, "%.160s is not the C library of LiteRT 2.1.6 or newer: it has no %s", path, missing);
  }
  return FL_OK;
}

fl_status fl_lrt_refused(const lrt_library *library, lrt_compiled *compiled, lrt_status status, const char *what) {
  char message[400], *told = NULL;
  if (compiled != NULL && library->messages(compiled, &told) != 0) {
    told = NULL;
  }
  if (told == NULL || told[0] == 0) {
    (void)snprintf(message, sizeof message, "%s: status %d; the option log=1 has it say why", what, status);
  } else {
    (void)snprintf(message, sizeof message, "%s: %s", what, told);
    for (size_t length = strlen(message); length > 0 && message[length - 1] == '\n'; --length) {
      message[length - 1] = 0;
    }
    for (char *at = message; *at != 0; ++at) {
      *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
    (void)library->clear_messages(compiled);
  }
  free(told);
  return fl_library_fail(FL_INTERNAL, "%s", message);
}
