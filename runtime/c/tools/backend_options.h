/* Makes a registry of backends with the options of a command line, `NAME.OPTION=VALUE`. */
#ifndef FLAMBEAU_TOOLS_BACKEND_OPTIONS_H
#define FLAMBEAU_TOOLS_BACKEND_OPTIONS_H

#include "flambeau/runtime.h"

/* The options so far. Initialise it with zeros. */
typedef struct backend_options {
  const fl_kernel_table *kernels;
  const fl_backend **backends; /* NULL: there are no options */
  fl_backend **copies;         /* a copy of each backend that has options; NULL for the others */
  size_t count;
  fl_registry registry;
  char message[256];
} backend_options;

/* Adds an option. Returns NULL, or the reason why it is refused. Loading a method fails later if the backend does not tell its options, and does not
 * know this one. */
const char *backend_options_add(backend_options *options, const char *text);

/* Returns the registry with which to measure and initialise methods; NULL when there are no options. */
const fl_registry *backend_options_registry(backend_options *options);

void backend_options_free(backend_options *options);

#endif
