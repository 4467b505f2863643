#include "tools/backend_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "not enough memory";

static int start(backend_options *options) {
  const fl_backend *const *found = fl_builtin_backends(&options->count);
  options->backends = calloc(options->count + 1, sizeof *options->backends);
  options->copies = calloc(options->count + 1, sizeof *options->copies);
  if (options->backends == NULL || options->copies == NULL) {
    return 0;
  }
  for (size_t i = 0; i < options->count; ++i) {
    options->backends[i] = found[i];
  }
  options->kernels = fl_builtin_kernels();
  return 1;
}

static int is_named(const char *name, const char *text, size_t size) { return strncmp(name, text, size) == 0 && name[size] == 0; }

static const char *refuse_name(backend_options *options, const char *text, size_t size) {
  int used = snprintf(options->message, sizeof options->message, "there is no backend '%.*s'; there are", (int)(size < 40 ? size : 40), text);
  for (size_t i = 0; i < options->count && used < (int)sizeof options->message; ++i) {
    used += snprintf(options->message + used, sizeof options->message - (size_t)used, "%s %s", i == 0 ? "" : ",", options->backends[i]->name);
  }
  return options->message;
}

/* Returns why a backend that tells the names of its options does not have this one, else NULL. */
static const char *refuse_option(backend_options *options, const fl_backend *backend, const char *text, size_t size) {
  const char *const *const names = backend->struct_size > offsetof(fl_backend, option_names) ? backend->option_names : NULL;
  if (names == NULL) {
    return NULL;
  }
  for (size_t i = 0; names[i] != NULL; ++i) {
    if (is_named(names[i], text, size)) {
      return NULL;
    }
  }
  int used = snprintf(options->message, sizeof options->message, "backend '%s' has no option '%.*s'; it has%s", backend->name,
                      (int)(size < 40 ? size : 40), text, names[0] == NULL ? " none" : "");
  for (size_t i = 0; names[i] != NULL && used < (int)sizeof options->message; ++i) {
    used += snprintf(options->message + used, sizeof options->message - (size_t)used, "%s %s", i == 0 ? "" : ",", names[i]);
  }
  return options->message;
}

/* Returns the copy of backend `index` that has its options, and makes it first if necessary. */
static fl_backend *copy_of(backend_options *options, size_t index) {
  if (options->copies[index] == NULL) {
    const fl_backend *backend = options->backends[index];
    fl_backend *copy = malloc(backend->struct_size);
    if (copy == NULL) {
      return NULL;
    }
    memcpy(copy, backend, backend->struct_size);
    copy->options = NULL;
    copy->option_count = 0;
    options->copies[index] = copy;
    options->backends[index] = copy;
  }
  return options->copies[index];
}

const char *backend_options_add(backend_options *options, const char *text) {
  const char *dot = strchr(text, '.');
  const char *equal = dot == NULL ? NULL : strchr(dot, '=');
  if (dot == NULL || equal == NULL || dot == text || equal == dot + 1) {
    return "expected NAME.OPTION=VALUE";
  }
  if (options->backends == NULL && !start(options)) {
    return no_memory;
  }
  size_t index = 0;
  while (index < options->count && !is_named(options->backends[index]->name, text, (size_t)(dot - text))) {
    ++index;
  }
  if (index == options->count) {
    return refuse_name(options, text, (size_t)(dot - text));
  }
  const char *const why = refuse_option(options, options->backends[index], dot + 1, (size_t)(equal - dot) - 1);
  if (why != NULL) {
    return why;
  }
  fl_backend *backend = copy_of(options, index);
  fl_option *all = backend == NULL ? NULL : realloc((void *)backend->options, (backend->option_count + 1) * sizeof *all);
  if (all == NULL) {
    return no_memory;
  }
  backend->options = all;
  const size_t size = (size_t)(equal - dot);
  char *name = malloc(size);
  if (name == NULL) {
    return no_memory;
  }
  memcpy(name, dot + 1, size - 1);
  name[size - 1] = 0;
  all[backend->option_count++] = (fl_option){name, equal + 1};
  return NULL;
}

const fl_registry *backend_options_registry(backend_options *options) {
  if (options->backends == NULL) {
    return NULL;
  }
  options->registry = (fl_registry){&options->kernels, 1, options->backends, options->count};
  return &options->registry;
}

void backend_options_free(backend_options *options) {
  for (size_t i = 0; options->copies != NULL && i < options->count; ++i) {
    fl_backend *backend = options->copies[i];
    for (size_t j = 0; backend != NULL && j < backend->option_count; ++j) {
      free((void *)backend->options[j].name);
    }
    free(backend == NULL ? NULL : (void *)backend->options);
    free(backend);
  }
  free((void *)options->copies);
  free((void *)options->backends);
}
