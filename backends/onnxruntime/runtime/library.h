/* ONNX Runtime's C library, which is loaded with the first program that needs it. Its interface is declared here by hand, as far as it is called, so
 * that compiling needs no file of ONNX Runtime: a table of functions, to which each version adds at the end. Source: `onnxruntime_c_api.h` of ONNX
 * Runtime 1.17. */
#ifndef FLAMBEAU_ONNXRUNTIME_LIBRARY_H
#define FLAMBEAU_ONNXRUNTIME_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "flambeau/backend.h"
#include "flambeau/library.h"

typedef struct ort_env ort_env;
typedef struct ort_status ort_status; /* NULL: success */
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_value ort_value;
typedef struct ort_type ort_type;

enum {
  ORT_FLOAT32 = 1,
  ORT_UINT8,
  ORT_INT8,
  ORT_UINT16,
  ORT_INT16,
  ORT_INT32,
  ORT_INT64,
  ORT_BOOL = 9,
  ORT_FLOAT16,
  ORT_FLOAT64
};
/* The version of the table, which ONNX Runtime 1.17 and newer ones have; the severities of messages; kinds of memory. */
enum { ORT_VERSION = 17, ORT_LOG_ALL = 0, ORT_LOG_FATAL = 4, ORT_ARENA = 1, ORT_DEFAULT_MEMORY = 0 };

typedef struct ort_library {
  void *handle;
  const char *(*error_message)(const ort_status *status);
  ort_status *(*create_env)(int severity, const char *name, ort_env **env);
  ort_status *(*disable_telemetry)(const ort_env *env);
  ort_status *(*create_session)(const ort_env *env, const void *model, size_t size, const ort_session_options *options, ort_session **session);
  ort_status *(*run)(ort_session *session, const void *options, const char *const *inputs, const ort_value *const *values, size_t input_count,
                     const char *const *outputs, size_t output_count, ort_value **results);
  ort_status *(*create_options)(ort_session_options **options);
  ort_status *(*set_severity)(ort_session_options *options, int severity);
  ort_status *(*set_threads)(ort_session_options *options, int threads);
  ort_status *(*input_count)(const ort_session *session, size_t *count);
  ort_status *(*output_count)(const ort_session *session, size_t *count);
  ort_status *(*create_tensor)(const ort_memory_info *memory, void *data, size_t bytes, const int64_t *sizes, size_t rank, int type, ort_value **value);
  ort_status *(*tensor_data)(ort_value *value, void **data);
  ort_status *(*element_type)(const ort_type *type, int *element);
  ort_status *(*rank)(const ort_type *type, size_t *rank);
  ort_status *(*sizes)(const ort_type *type, int64_t *sizes, size_t rank);
  ort_status *(*tensor_type)(const ort_value *value, ort_type **type);
  ort_status *(*create_memory_info)(int allocator, int memory, ort_memory_info **info);
  ort_status *(*set_entry)(ort_session_options *options, const char *key, const char *value);
  void (*release_env)(ort_env *env);
  void (*release_status)(ort_status *status);
  void (*release_memory_info)(ort_memory_info *info);
  void (*release_session)(ort_session *session);
  void (*release_value)(ort_value *value);
  void (*release_type)(ort_type *type);
  void (*release_options)(ort_session_options *options);
} ort_library;

/* Loads the library: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_ONNXRUNTIME_LIBRARY if it is set, else from
 * the package onnxruntime beside this library, else from the system. */
fl_status fl_ort_load(const char *path, ort_library *library);

/* Returns the environment of a library, which all delegates share; NULL when it does not start. */
ort_env *fl_ort_take_env(const ort_library *library);
void fl_ort_give_back_env(const ort_library *library, ort_env *env);

/* Stores `what` and ONNX Runtime's message in `status`, which it releases, as the reason of a failure in one line. Returns FL_INTERNAL. */
fl_status fl_ort_refused(const ort_library *library, ort_status *status, const char *what);

#endif
