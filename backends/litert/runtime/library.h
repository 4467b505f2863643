/* LiteRT's C library, which is loaded with the first program that needs it. Its interface is declared here by hand, as far as it is called, so that
 * compiling needs no file of LiteRT. Source: `litert/c` of LiteRT 2.1.6 to 2.3.0. */
#ifndef FLAMBEAU_LITERT_LIBRARY_H
#define FLAMBEAU_LITERT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flambeau/backend.h"
#include "flambeau/library.h"

typedef int lrt_status; /* 0: success */
typedef struct lrt_environment lrt_environment;
typedef struct lrt_model lrt_model;
typedef struct lrt_graph lrt_graph;
typedef struct lrt_tensor lrt_tensor;
typedef struct lrt_options lrt_options;
typedef struct lrt_opaque lrt_opaque;
typedef struct lrt_compiled lrt_compiled;
typedef struct lrt_buffer lrt_buffer;

enum { LRT_FLOAT32 = 1, LRT_INT32, LRT_UINT8, LRT_INT64, LRT_BOOL = 6, LRT_INT16, LRT_INT8 = 9, LRT_FLOAT16, LRT_FLOAT64 };
enum { LRT_MOST_RANK = 8, LRT_ALIGNMENT = 64, LRT_CPU = 1 };

typedef struct lrt_layout {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dims[LRT_MOST_RANK]; /* -1: any size */
  uint32_t strides[LRT_MOST_RANK];
} lrt_layout;

typedef struct lrt_type {
  int element;
  lrt_layout layout;
} lrt_type;

typedef struct lrt_value {
  int kind;
  int64_t number;
} lrt_value;

/* A setting of an environment. */
typedef struct lrt_setting {
  int tag;
  lrt_value value;
} lrt_setting;

enum { LRT_ACCELERATORS = 24, LRT_LEAST_SEVERITY = 25, LRT_NUMBER = 2, LRT_SAY_ALL = 0, LRT_SAY_NOTHING = 4 };

typedef struct lrt_library {
  void *handle;
  lrt_status (*create_environment)(int count, const lrt_setting *settings, lrt_environment **environment);
  void (*destroy_environment)(lrt_environment *environment);
  lrt_status (*create_model)(lrt_environment *environment, const void *data, size_t size, lrt_model **model);
  void (*destroy_model)(lrt_model *model);
  lrt_status (*graph)(lrt_model *model, size_t index, lrt_graph **graph);
  lrt_status (*input_count)(lrt_graph *graph, size_t *count);
  lrt_status (*input)(lrt_graph *graph, size_t index, lrt_tensor **tensor);
  lrt_status (*output_count)(lrt_graph *graph, size_t *count);
  lrt_status (*output)(lrt_graph *graph, size_t index, lrt_tensor **tensor);
  lrt_status (*type)(lrt_tensor *tensor, lrt_type *type);
  lrt_status (*create_options)(lrt_options **options);
  void (*destroy_options)(lrt_options *options);
  lrt_status (*set_accelerators)(lrt_options *options, int accelerators);
  lrt_status (*create_opaque)(const char *name, void *text, void (*destroy)(void *text), lrt_opaque **opaque);
  lrt_status (*add_opaque)(lrt_options *options, lrt_opaque *opaque);
  lrt_status (*compile)(lrt_environment *environment, lrt_model *model, lrt_options *options, lrt_compiled **compiled);
  void (*destroy_compiled)(lrt_compiled *compiled);
  lrt_status (*output_layouts)(lrt_compiled *compiled, size_t signature, size_t count, lrt_layout *layouts, bool allocates);
  lrt_status (*resize)(lrt_compiled *compiled, size_t signature, size_t input, const int *dims, size_t rank);
  lrt_status (*messages)(lrt_compiled *compiled, char **text);
  lrt_status (*clear_messages)(lrt_compiled *compiled);
  lrt_status (*create_buffer)(const lrt_type *type, void *data, size_t size, void (*release)(void *data), lrt_buffer **buffer);
  void (*destroy_buffer)(lrt_buffer *buffer);
  lrt_status (*run)(lrt_compiled *compiled, size_t signature, size_t inputs, lrt_buffer **input, size_t outputs, lrt_buffer **output);
} lrt_library;

/* Loads the library: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_LITERT_LIBRARY if it is set, else from the
 * package ai_edge_litert beside this library, else from the system. */
fl_status fl_lrt_load(const char *path, lrt_library *library);

/* Stores `what`, and the messages of a compiled model if it is not NULL, as the reason of a failure in one line. Returns FL_INTERNAL. */
fl_status fl_lrt_refused(const lrt_library *library, lrt_compiled *compiled, lrt_status status, const char *what);

#endif
