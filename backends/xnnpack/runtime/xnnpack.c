/* The backend "XnnpackBackend": runs the payloads of ExecuTorch's compiler for XNNPACK, with an XNNPACK library that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. XNNPACK itself allocates packed weights, and the workspace of the values between
 * nodes, with malloc, at init and when sizes grow; its interface does not tell in advance how much. */
#include <stdlib.h>
#include <string.h>

#include "delegate.h"

enum { PAGE = 4096 };

enum { MOST_THREADS = 1024, FLOAT_ROWS = 16 };

/* Reads an option that is a number of `least` to `most`. */
static fl_status read_number(const fl_option *option, long least, long most, long *number) {
  char *end = NULL;
  *number = strtol(option->value, &end, 10);
  if (end == option->value || *end != 0 || *number < least || *number > most) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "its option '%s' is a number from %ld to %ld, not '%.40s'", option->name, least, most, option->value);
  }
  return FL_OK;
}

static fl_status read_settings(const fl_backend *self, settings *found) {
  long threads = 1, float_rows = FLOAT_ROWS;
  *found = (settings){NULL, 1, 0, FLOAT_ROWS};
  for (size_t i = 0; i < self->option_count; ++i) {
    const fl_option *option = &self->options[i];
    fl_status status = FL_OK;
    if (strcmp(option->name, "library") == 0) {
      found->library = option->value;
    } else if (strcmp(option->name, "threads") == 0) {
      status = read_number(option, 1, MOST_THREADS, &threads);
    } else if (strcmp(option->name, "float_rows") == 0) {
      status = read_number(option, 0, INT32_MAX, &float_rows);
    } else if (strcmp(option->name, "profile") == 0) {
      if (strcmp(option->value, "0") != 0 && strcmp(option->value, "1") != 0) {
        return fl_library_fail(FL_INVALID_ARGUMENT, "its option 'profile' is 0 or 1, not '%.40s'", option->value);
      }
      found->is_measured = option->value[0] == '1';
    } else {
      return fl_library_fail(FL_INVALID_ARGUMENT, "it has no option '%.40s'; it has float_rows, library, profile, threads", option->name);
    }
    if (status != FL_OK) {
      return status;
    }
  }
  found->threads = (size_t)threads;
  found->float_rows = (uint32_t)float_rows;
  return FL_OK;
}

/* Return the positions of the parts in the memory of a delegate. */
static size_t values_at(void) { return (sizeof(delegate) + 15) / 16 * 16; }
static size_t externals_at(const xnn_graph *graph) { return values_at() + graph->value_count * sizeof(xnn_value); }
static size_t copies_at(const xnn_graph *graph) { return externals_at(graph) + graph->externals * sizeof(xnn_external_value); }
static size_t bounds_at(const xnn_graph *graph) { return copies_at(graph) + graph->externals * sizeof(void *); }

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  xnn_graph graph;
  xnn_value value;
  xnn_library library;
  settings set;
  *message = fl_library_message();
  fl_status status = read_settings(self, &set);
  if (status == FL_OK) {
    status = fl_xnn_open(payload, &graph);
  }
  for (uint32_t i = 0; status == FL_OK && i < graph.value_count; ++i) {
    status = fl_xnn_read_value(&graph, i, &value);
    memory->outputs += status == FL_OK && (value.flags & XNN_OUTPUT) != 0;
  }
  if (status == FL_OK) {
    status = fl_xnn_load(set.library, &library);
  }
  if (status == FL_OK) {
    fl_xnn_unload(&library);
    memory->persistent = bounds_at(&graph) + graph.externals * sizeof(xnn_shape);
  }
  return status;
}

/* ---- Sizes ---- */

/* Tells XNNPACK the sizes of the inputs, or the largest that they may have. Returns its status. */
static xnn_status tell_sizes(const delegate *d, int is_largest) {
  xnn_status status = 0;
  for (uint32_t i = 0; status == 0 && i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    if ((value->flags & XNN_INPUT) != 0) {
      size_t dims[XNN_RANK];
      fl_xnn_widen(is_largest ? &d->bounds[value->external] : &value->shape, dims);
      status = d->library.reshape_value(d->runtime, value->external, value->shape.rank, dims);
    }
  }
  return status == 0 ? d->library.reshape_runtime(d->runtime) : status;
}

/* Returns whether all inputs have their largest sizes. */
static int are_largest(const delegate *d) {
  int result = 1;
  for (uint32_t i = 0; result && i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    result = (value->flags & XNN_INPUT) == 0 || memcmp(value->shape.dims, d->bounds[value->external].dims, sizeof value->shape.dims) == 0;
  }
  return result;
}

/* Tells XNNPACK the sizes of the inputs, and compares the sizes of the outputs that it computes with those computed here. */
static fl_status reshape(delegate *d) {
  size_t dims[XNN_RANK];
  const fl_status inferred = fl_xnn_infer_nodes(d, NULL);
  if (inferred != FL_OK) {
    return inferred;
  }
  if (d->library.reshape_value == NULL) {
    return are_largest(d) ? FL_OK
                          : fl_library_fail(FL_NOT_SUPPORTED, "an input has other sizes than at compile time, which this version of XNNPACK cannot take");
  }
  /* XNNPACK does not enlarge the workspace of some nodes when their inputs grow. So it plans its memory for the largest sizes, which no plan for
   * smaller ones replaces, because their workspaces are not larger than those that it has just seen. */
  fl_xnn_watch_memory();
  xnn_status status = tell_sizes(d, 1);
  if (status == 0 && !are_largest(d)) {
    status = tell_sizes(d, 0);
  }
  if (fl_xnn_ran_out_of_memory(status)) {
    d->is_lost = 1;
    return fl_library_fail(FL_OUT_OF_MEMORY, "XNNPACK has no memory for inputs of these sizes");
  }
  if (status != 0) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "XNNPACK cannot run with inputs of these sizes: %s", fl_xnn_status_name(status));
  }
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    size_t rank = 0;
    if ((value->flags & XNN_OUTPUT) == 0) {
      continue;
    }
    int is_same = d->library.value_shape(d->runtime, value->external, &rank, dims) == 0 && rank == value->shape.rank;
    for (uint32_t j = 0; is_same && j < rank; ++j) {
      is_same = dims[j] == value->shape.dims[j];
    }
    if (!is_same) {
      return fl_library_fail(FL_INTERNAL, "XNNPACK gives argument %u another shape than its graph says", value->external);
    }
  }
  d->is_shaped = 1;
  return FL_OK;
}

/* ---- Init ---- */

static void destroy(const fl_backend *self, void *handle) {
  delegate *d = (delegate *)handle;
  (void)self;
  if (d->runtime != NULL) {
    (void)d->library.delete_runtime(d->runtime);
  }
  if (d->pool != NULL) {
    fl_xnn_give_back_pool(&d->library, d->pool);
  }
  for (uint32_t i = 0; i < d->graph.externals; ++i) {
    free(d->copies[i]);
  }
  free(d->profile);
  fl_xnn_free_weights(d);
  free(d->tail);
  fl_xnn_unload(&d->library);
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *d = (delegate *)persistent;
  settings set;
  *message = fl_library_message();
  memset(d, 0, sizeof *d);
  d->payload = *payload;
  fl_status status = read_settings(self, &set);
  if (status == FL_OK) {
    status = fl_xnn_open(&d->payload, &d->graph);
  }
  if (status == FL_OK) {
    d->values = (xnn_value *)(void *)((char *)persistent + values_at());
    d->externals = (xnn_external_value *)(void *)((char *)persistent + externals_at(&d->graph));
    d->copies = (void **)(void *)((char *)persistent + copies_at(&d->graph));
    d->bounds = (xnn_shape *)(void *)((char *)persistent + bounds_at(&d->graph));
    memset(d->copies, 0, d->graph.externals * sizeof(void *));
    status = fl_xnn_read_values(d);
  }
  if (status == FL_OK) {
    status = fl_xnn_load(set.library, &d->library);
  }
  if (status != FL_OK) {
    return status;
  }
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    if ((d->values[i].flags & (XNN_INPUT | XNN_OUTPUT)) != 0) {
      d->bounds[d->values[i].external] = d->values[i].shape;
    }
  }
  status = fl_xnn_build(d, &set);
  if (status == FL_OK && set.is_measured) {
    fl_xnn_find_operators(d); /* before it has shapes, as ExecuTorch does, because names differ then */
  }
  if (status == FL_OK) {
    status = reshape(d);
  }
  if (status != FL_OK) {
    destroy(self, d);
    return status;
  }
  *handle = d;
  return FL_OK;
}

/* ---- Execute ---- */

static fl_status stop(fl_context *context, fl_status status) { return FL_FAIL(context, status, fl_library_message()); }

static int fits(int8_t dtype, const xnn_value *value) {
  switch (value->type) {
    case XNN_FP32: return dtype == FL_FLOAT32;
    case XNN_FP16: return dtype == FL_FLOAT16;
    case XNN_QINT8: return dtype == FL_INT8;
    default: return dtype == FL_INT64 || dtype == FL_INT32;
  }
}

/* Stores in `data` the memory of an argument, or of a copy if the bytes after the tensor lie in another page, which may not be readable. */
static fl_status readable(delegate *d, const xnn_value *value, const fl_tensor *t, void **data) {
  const size_t bytes = fl_xnn_bytes(value);
  const uintptr_t last = (uintptr_t)t->data + bytes - 1;
  *data = t->data;
  if (last / PAGE == (last + XNN_EXTRA_BYTES) / PAGE) {
    return FL_OK;
  }
  void *copy = realloc(d->copies[value->external], bytes + XNN_EXTRA_BYTES);
  if (copy == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there are no %llu bytes for argument %u", (unsigned long long)bytes, value->external);
  }
  memcpy(copy, t->data, bytes);
  memset((char *)copy + bytes, 0, XNN_EXTRA_BYTES);
  *data = d->copies[value->external] = copy;
  return FL_OK;
}

/* Returns whether a tensor has the rank of a shape. ExecuTorch's compiler declares a tensor without dimensions with one of size 1. */
static int has_rank(const fl_tensor *t, const xnn_shape *shape) { return t->rank == shape->rank || (t->rank == 0 && shape->rank == 1 && shape->dims[0] == 1); }

/* Checks the arguments of a call and takes their sizes and memory; XNNPACK gets the dimensions in the order of memory. */
static fl_status take_arguments(delegate *d, fl_value *const *args) {
  d->external_count = 0;
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    xnn_value *value = &d->values[i];
    if ((value->flags & (XNN_INPUT | XNN_OUTPUT)) == 0) {
      continue;
    }
    const fl_tensor *t = fl_get_tensor(args[value->external]);
    if (t == NULL || t->data == NULL || !fits(t->dtype, value) || !has_rank(t, &value->shape)) {
      return fl_library_fail(FL_INVALID_ARGUMENT, "argument %u is not the tensor of %u dimensions that its payload says", value->external,
                         value->shape.rank);
    }
    for (uint8_t j = 0; (value->flags & XNN_INPUT) != 0 && j < t->rank; ++j) {
      const uint32_t size = (uint32_t)t->sizes[t->dim_order[j]];
      if (size == 0) {
        return fl_library_fail(FL_NOT_SUPPORTED, "argument %u has no elements; XNNPACK computes with some", value->external);
      }
      if (size > d->bounds[value->external].dims[j]) {
        return fl_library_fail(FL_INVALID_ARGUMENT, "argument %u has %u in dimension %u, and its payload is for %u at most", value->external, size, j,
                           d->bounds[value->external].dims[j]);
      }
      d->is_shaped = size == value->shape.dims[j] ? d->is_shaped : 0;
      value->shape.dims[j] = size;
    }
    void *data = t->data;
    const fl_status status = (value->flags & XNN_INPUT) != 0 ? readable(d, value, t, &data) : FL_OK;
    if (status != FL_OK) {
      return status;
    }
    xnn_external_value *external = &d->externals[d->external_count++];
    d->is_set = external->data == data ? d->is_set : 0;
    *external = (xnn_external_value){value->external, data};
  }
  return FL_OK;
}

static fl_status resize_outputs(const delegate *d, fl_context *context, fl_value *const *args) {
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    if ((value->flags & XNN_OUTPUT) == 0) {
      continue;
    }
    fl_tensor *t = args[value->external]->as.tensor;
    int32_t sizes[XNN_RANK];
    FL_CHECK(context, has_rank(t, &value->shape), "an output has another rank than its payload says");
    for (uint8_t j = 0; j < t->rank; ++j) {
      sizes[t->dim_order[j]] = (int32_t)value->shape.dims[j];
    }
    const fl_status status = fl_resize(context, t, sizes, t->rank);
    if (status != FL_OK) {
      return status;
    }
  }
  return FL_OK;
}

/* Widens indices in place: XNNPACK writes 32 bits, and the program may declare 64. */
static void widen_indices(const delegate *d, fl_value *const *args) {
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    if (value->type != XNN_INDEX || (value->flags & XNN_OUTPUT) == 0 || args[value->external]->as.tensor->dtype != FL_INT64) {
      continue;
    }
    const fl_tensor *t = args[value->external]->as.tensor;
    for (size_t j = fl_numel(t); j-- > 0;) {
      int32_t index;
      memcpy(&index, (const char *)t->data + 4 * j, sizeof index);
      ((int64_t *)t->data)[j] = index;
    }
  }
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *d = (delegate *)handle;
  (void)self;
  FL_CHECK(context, count == d->graph.externals, "the call has more or fewer arguments than its payload");
  if (d->is_lost) {
    return FL_FAIL(context, FL_OUT_OF_MEMORY, "XNNPACK had no memory in an earlier call; load the method again");
  }
  fl_status status = take_arguments(d, args);
  if (status != FL_OK) {
    d->is_shaped = d->is_set = 0;
    return stop(context, status);
  }
  if (!d->is_shaped) {
    d->is_set = 0;
    status = reshape(d);
    if (status != FL_OK) {
      return stop(context, status);
    }
  }
  status = resize_outputs(d, context, args);
  if (status != FL_OK) {
    return status;
  }
  fl_xnn_watch_memory();
  xnn_status done = d->is_set ? 0 : d->library.setup(d->runtime, d->external_count, d->externals);
  d->is_set = done == 0;
  if (fl_xnn_ran_out_of_memory(done)) {
    d->is_lost = 1;
    return stop(context, fl_library_fail(FL_OUT_OF_MEMORY, "XNNPACK has no memory for this call"));
  }
  if (done == 0) {
    done = d->library.invoke_runtime(d->runtime);
  }
  if (done != 0) {
    d->is_set = 0;
    return stop(context, fl_library_fail(FL_INTERNAL, "XNNPACK fails: %s", fl_xnn_status_name(done)));
  }
  widen_indices(d, args);
  return FL_OK;
}

extern const fl_backend fl_backend_xnnpack;
static const char *const option_names[] = {"float_rows", "library", "profile", "threads", NULL};

const fl_backend fl_backend_xnnpack = {.struct_size = sizeof(fl_backend),
                                       .id = "XnnpackBackend",
                                       .name = "xnnpack",
                                       .measure = measure,
                                       .init = init,
                                       .execute = execute,
                                       .destroy = destroy,
                                       .option_names = option_names,
                                       .operator_time = fl_xnn_operator_time};
