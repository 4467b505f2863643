/* Options of backends from a command line, `NAME.OPTION=VALUE`, as a registry of backends that have them. */
#ifndef FLAMBEAU_TOOLS_BACKEND_OPTIONS_H
#define FLAMBEAU_TOOLS_BACKEND_OPTIONS_H

#include "flambeau/runtime.h"

/* Starts as zeros. */
typedef struct backend_options {
  const fl_kernel_table *kernels;
  const fl_backend **backends; /* NULL: there are no options */
  fl_backend **copies;         /* of the backends that have options; NULL for the others */
  size_t count;
  fl_registry registry;
  char message[256];
} backend_options;

/* Takes an option. NULL, or why it is refused. Whether the backend knows the option, loading a method says. */
const char *backend_options_add(backend_options *options, const char *text);

/* What measures and initialises methods: NULL when there are no options. */
const fl_registry *backend_options_registry(backend_options *options);

void backend_options_free(backend_options *options);

#endif
