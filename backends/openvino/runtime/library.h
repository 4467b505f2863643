/* OpenVINO's C library, which is loaded with the first program that needs it. Its interface is declared here by hand, so that compiling needs no
 * file of OpenVINO. */
#ifndef FLAMBEAU_OPENVINO_LIBRARY_H
#define FLAMBEAU_OPENVINO_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "flambeau/backend.h"
#include "flambeau/library.h"

typedef int ov_status; /* 0: success */
typedef struct ov_core ov_core;
typedef struct ov_model ov_model;
typedef struct ov_compiled_model ov_compiled_model;
typedef struct ov_infer_request ov_infer_request;
typedef struct ov_tensor ov_tensor;
typedef struct ov_port ov_port;

enum { OV_BOOLEAN = 1, OV_BF16, OV_F16, OV_F32, OV_F64, OV_I8 = 7, OV_I16, OV_I32, OV_I64, OV_U8 = 16 };

typedef struct ov_shape {
  int64_t rank;
  int64_t *dims;
} ov_shape;

/* The range of a rank or of a size. */
typedef struct ov_range {
  int64_t least;
  int64_t most; /* -1: no upper bound */
} ov_range;

typedef struct ov_partial_shape {
  ov_range rank;
  ov_range *dims;
} ov_partial_shape;

/* What a layer took. */
typedef struct ov_layer_time {
  int status; /* 2: it ran */
  int64_t microseconds;
  int64_t processor;
  const char *name;
  const char *kernel;
  const char *type;
} ov_layer_time;

typedef struct ov_layer_times {
  ov_layer_time *items;
  size_t count;
} ov_layer_times;

typedef struct ov_library {
  void *handle;
  ov_status (*core_create)(ov_core **core);
  void (*core_free)(ov_core *core);
  ov_status (*set_property)(const ov_core *core, const char *device, ...);
  ov_status (*read_model)(const ov_core *core, const char *text, size_t size, const ov_tensor *weights, ov_model **model);
  void (*model_free)(ov_model *model);
  ov_status (*compile_model)(const ov_core *core, const ov_model *model, const char *device, size_t arguments, ov_compiled_model **compiled, ...);
  ov_status (*import_model)(const ov_core *core, const char *data, size_t size, const char *device, ov_compiled_model **compiled);
  void (*compiled_model_free)(ov_compiled_model *compiled);
  ov_status (*inputs_size)(const ov_compiled_model *compiled, size_t *count);
  ov_status (*outputs_size)(const ov_compiled_model *compiled, size_t *count);
  ov_status (*input_by_index)(const ov_compiled_model *compiled, size_t index, ov_port **port);
  void (*port_free)(ov_port *port);
  ov_status (*port_element_type)(const ov_port *port, int *type);
  ov_status (*port_partial_shape)(const ov_port *port, ov_partial_shape *shape);
  void (*partial_shape_free)(ov_partial_shape *shape);
  ov_status (*create_infer_request)(const ov_compiled_model *compiled, ov_infer_request **request);
  void (*infer_request_free)(ov_infer_request *request);
  ov_status (*set_input)(ov_infer_request *request, size_t index, const ov_tensor *tensor);
  ov_status (*get_output)(const ov_infer_request *request, size_t index, ov_tensor **tensor);
  ov_status (*infer)(ov_infer_request *request);
  ov_status (*layer_times)(const ov_infer_request *request, ov_layer_times *times);
  void (*layer_times_free)(ov_layer_times *times);
  ov_status (*tensor_from_host)(int type, ov_shape shape, void *data, ov_tensor **tensor);
  ov_status (*tensor_type)(const ov_tensor *tensor, int *type);
  ov_status (*tensor_shape)(const ov_tensor *tensor, ov_shape *shape);
  ov_status (*tensor_bytes)(const ov_tensor *tensor, size_t *bytes);
  ov_status (*tensor_data)(const ov_tensor *tensor, void **data);
  void (*tensor_free)(ov_tensor *tensor);
  ov_status (*shape_free)(ov_shape *shape);
  const char *(*error_info)(ov_status status);
  const char *(*last_message)(void);
  void (*text_free)(const char *text);
} ov_library;

/* Loads the library: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_OPENVINO_LIBRARY if it is set, else from
 * the package openvino beside this library, else from the system. */
fl_status fl_ov_load(const char *path, ov_library *library);
void fl_ov_unload(const ov_library *library);
/* Returns the core of a library, which all delegates share; NULL when it does not start. */
ov_core *fl_ov_take_core(const ov_library *library);
void fl_ov_give_back_core(const ov_library *library, ov_core *core);

/* Stores `what` and OpenVINO's message for its `status` as the reason of a failure. Returns FL_INTERNAL. */
fl_status fl_ov_refused(const ov_library *library, ov_status status, const char *what);

#endif
