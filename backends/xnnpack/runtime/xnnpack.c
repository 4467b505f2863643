/* The backend "XnnpackBackend": runs what ExecuTorch's compiler for XNNPACK writes, with an XNNPACK library that is found at load.
 *
 * The memory that `measure` asks for holds what the adapter itself keeps. XNNPACK allocates packed weights and the workspace of the values between
 * nodes by itself, with malloc, at init and when sizes grow; nothing of its interface tells how much before. */
#include <stdlib.h>
#include <string.h>

#include "library.h"

typedef struct settings {
  const char *library;
  size_t threads;
} settings;

typedef struct delegate {
  xnn_library library;
  xnn_runtime_t runtime;
  pthreadpool_t pool;
  fl_payload payload;
  xnn_graph graph;
  xnn_value *values;
  xnn_external_value *externals;
  uint32_t external_count;
  uint8_t is_shaped; /* XNNPACK knows the shapes of `values` */
  uint8_t is_set;    /* XNNPACK knows the memory of `externals` */
} delegate;

enum { VALUE_KNOWN = 4 }; /* flag of a value: constant, input, or computed by an earlier node */
enum { MOST_THREADS = 1024 };

static fl_status read_settings(const fl_backend *self, settings *found) {
  *found = (settings){NULL, 1};
  for (size_t i = 0; i < self->option_count; ++i) {
    const fl_option *option = &self->options[i];
    if (strcmp(option->name, "library") == 0) {
      found->library = option->value;
    } else if (strcmp(option->name, "threads") == 0) {
      char *end = NULL;
      const long threads = strtol(option->value, &end, 10);
      if (end == option->value || *end != 0 || threads < 1 || threads > MOST_THREADS) {
        return fl_xnn_fail(FL_INVALID_ARGUMENT, "its option 'threads' is a number from 1 to %d, not '%.40s'", MOST_THREADS, option->value);
      }
      found->threads = (size_t)threads;
    } else {
      return fl_xnn_fail(FL_INVALID_ARGUMENT, "it has no option '%.40s'; it has library, threads", option->name);
    }
  }
  return FL_OK;
}

/* Places of the parts in the memory of a delegate. */
static size_t values_at(void) { return (sizeof(delegate) + 15) / 16 * 16; }
static size_t externals_at(const xnn_graph *graph) { return values_at() + graph->value_count * sizeof(xnn_value); }

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  xnn_graph graph;
  xnn_value value;
  xnn_library library;
  settings set;
  *message = fl_xnn_message();
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
    memory->persistent = externals_at(&graph) + graph.externals * sizeof(xnn_external_value);
  }
  return status;
}

/* ---- Init ---- */

/* Reads the values; inputs and outputs are the arguments of a call, in this order, each once. */
static fl_status read_values(delegate *d) {
  uint32_t inputs = 0, outputs = 0;
  for (uint32_t i = 0; i < d->graph.externals; ++i) {
    d->externals[i].data = NULL;
  }
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    xnn_value *value = &d->values[i];
    const fl_status status = fl_xnn_read_value(&d->graph, i, value);
    if (status != FL_OK) {
      return status;
    }
    if (value->flags != 0 && d->externals[value->external].data != NULL) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: value %u is argument %u, which another one is", i, value->external);
    }
    if (value->flags != 0) {
      d->externals[value->external].data = value;
    }
    inputs += value->flags == XNN_INPUT;
    outputs += value->flags == XNN_OUTPUT;
    if (value->data != NULL || value->flags == XNN_INPUT) {
      value->flags |= VALUE_KNOWN;
    }
  }
  if (inputs + outputs != d->graph.externals || outputs == 0) {
    return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: of %u arguments, %u are inputs and %u outputs", d->graph.externals, inputs,
                       outputs);
  }
  for (uint32_t i = 0; i < d->graph.externals; ++i) {
    const xnn_value *value = (const xnn_value *)d->externals[i].data;
    if (((value->flags & XNN_INPUT) != 0) != (i < inputs)) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: argument %u of %u inputs and %u outputs is the other", i, inputs, outputs);
    }
  }
  return FL_OK;
}

static int is_weight(const xnn_node *node, uint32_t input) {
  const uint8_t form = node->kind->form;
  return input > 0 && (form == FORM_FULLY_CONNECTED || form == FORM_CONVOLUTION || form == FORM_DEPTHWISE || form == FORM_DECONVOLUTION);
}

/* Each value is computed once, before it is read, and of the type that its readers take. */
static fl_status check_node(const xnn_node *node, xnn_value *values) {
  const uint8_t type = values[node->inputs[0]].type;
  for (uint32_t i = 0; i < node->kind->inputs; ++i) {
    const uint32_t id = node->inputs[i];
    if (id == UINT32_MAX) {
      continue; /* no bias */
    }
    if ((values[id].flags & VALUE_KNOWN) == 0) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s) reads value %u before a node computes it", node->index, node->kind->name, id);
    }
    if (values[id].type == XNN_INDEX || (values[id].type != type && !is_weight(node, i))) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u is of a type that it does not take", node->index, node->kind->name, id);
    }
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const uint32_t id = node->outputs[i];
    if ((values[id].flags & VALUE_KNOWN) != 0) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s) writes value %u, which is there already", node->index, node->kind->name, id);
    }
    if (values[id].type != (i == 1 ? XNN_FP32 : type) && node->kind->form != FORM_CONVERT) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u is of a type that it does not give", node->index, node->kind->name, id);
    }
    values[id].type = i == 1 ? XNN_INDEX : values[id].type;
    values[id].flags |= VALUE_KNOWN;
  }
  return FL_OK;
}

/* Gives the values that nodes compute the shapes that follow from those of the inputs. `subgraph`: the nodes are checked, and added to it. */
static fl_status infer_nodes(delegate *d, xnn_subgraph_t subgraph) {
  xnn_node node;
  xnn_shape results[2];
  fl_status status = FL_OK;
  for (uint32_t i = 0; status == FL_OK && i < d->graph.node_count; ++i) {
    status = fl_xnn_read_node(&d->graph, i, &node);
    if (status == FL_OK && subgraph != NULL) {
      status = check_node(&node, d->values);
    }
    if (status == FL_OK) {
      status = fl_xnn_infer(&node, d->values, results);
    }
    for (uint32_t j = 0; status == FL_OK && j < node.output_count; ++j) {
      xnn_shape *shape = &d->values[node.outputs[j]].shape;
      if (shape->rank != results[j].rank || (subgraph != NULL && memcmp(shape->dims, results[j].dims, shape->rank * sizeof *shape->dims) != 0)) {
        status = fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u has another shape than it computes", i, node.kind->name,
                             node.outputs[j]);
      } else {
        *shape = results[j];
      }
    }
    if (status == FL_OK && subgraph != NULL) {
      status = fl_xnn_define(&d->library, subgraph, &node, d->values);
    }
  }
  return status;
}

static void widen(const xnn_shape *shape, size_t dims[XNN_RANK]) {
  for (uint32_t i = 0; i < XNN_RANK; ++i) {
    dims[i] = shape->dims[i];
  }
}

static fl_status define_values(delegate *d, xnn_subgraph_t subgraph) {
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    size_t dims[XNN_RANK];
    uint32_t id = UINT32_MAX;
    widen(&value->shape, dims);
    const xnn_status status = d->library.define_tensor_value(subgraph, value->type, value->shape.rank, dims, value->data, value->external,
                                                             value->flags & (XNN_INPUT | XNN_OUTPUT), &id);
    if (status != 0) {
      return fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "value %u: XNNPACK refuses it: %s", i, fl_xnn_status_name(status));
    }
    d->values[i].id = id;
  }
  return FL_OK;
}

static fl_status build(delegate *d, size_t threads) {
  xnn_subgraph_t subgraph = NULL;
  xnn_status made = d->library.create_subgraph(d->graph.externals, 0, &subgraph);
  if (made != 0) {
    return fl_xnn_fail(FL_DELEGATE_OUT_OF_MEMORY, "XNNPACK makes no graph: %s", fl_xnn_status_name(made));
  }
  fl_status status = define_values(d, subgraph);
  if (status == FL_OK) {
    status = infer_nodes(d, subgraph);
  }
  for (uint32_t i = 0; status == FL_OK && i < d->graph.value_count; ++i) {
    if ((d->values[i].flags & (XNN_OUTPUT | VALUE_KNOWN)) == XNN_OUTPUT) {
      status = fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "no node computes value %u, which is an output", i);
    }
  }
  if (status == FL_OK && threads > 1) {
    d->pool = d->library.create_pool == NULL ? NULL : d->library.create_pool(threads);
    if (d->pool == NULL) {
      status = fl_xnn_fail(FL_OUT_OF_RESOURCES, "this XNNPACK library starts no %llu threads", (unsigned long long)threads);
    }
  }
  if (status == FL_OK) {
    made = d->library.create_runtime(subgraph, d->pool, 0, &d->runtime);
    if (made != 0) {
      status = fl_xnn_fail(FL_DELEGATE_INCOMPATIBLE, "XNNPACK cannot run its graph: %s", fl_xnn_status_name(made));
    }
  }
  (void)d->library.delete_subgraph(subgraph);
  return status;
}

static void destroy(const fl_backend *self, void *handle) {
  delegate *d = (delegate *)handle;
  (void)self;
  if (d->runtime != NULL) {
    (void)d->library.delete_runtime(d->runtime);
  }
  if (d->pool != NULL) {
    d->library.destroy_pool(d->pool);
  }
  fl_xnn_unload(&d->library);
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *d = (delegate *)persistent;
  settings set;
  *message = fl_xnn_message();
  memset(d, 0, sizeof *d);
  d->payload = *payload;
  fl_status status = read_settings(self, &set);
  if (status == FL_OK) {
    status = fl_xnn_open(&d->payload, &d->graph);
  }
  if (status == FL_OK) {
    d->values = (xnn_value *)(void *)((char *)persistent + values_at());
    d->externals = (xnn_external_value *)(void *)((char *)persistent + externals_at(&d->graph));
    status = read_values(d);
  }
  if (status == FL_OK) {
    status = fl_xnn_load(set.library, &d->library);
  }
  if (status != FL_OK) {
    return status;
  }
  status = build(d, set.threads);
  if (status != FL_OK) {
    destroy(self, d);
    return status;
  }
  *handle = d;
  return FL_OK;
}

/* ---- Execute ---- */

static fl_status stop(fl_context *context, fl_status status) { return FL_FAIL(context, status, fl_xnn_message()); }

static int fits(int8_t dtype, const xnn_value *value) {
  switch (value->type) {
    case XNN_FP32: return dtype == FL_FLOAT32;
    case XNN_FP16: return dtype == FL_FLOAT16;
    default: return dtype == FL_INT64 || dtype == FL_INT32;
  }
}

/* ExecuTorch's compiler gives a tensor without dimensions one of size 1. */
static int has_rank(const fl_tensor *t, const xnn_shape *shape) { return t->rank == shape->rank || (t->rank == 0 && shape->rank == 1 && shape->dims[0] == 1); }

/* Takes the arguments; XNNPACK sees their dimensions in the order of memory. */
static fl_status take_arguments(delegate *d, fl_value *const *args) {
  d->external_count = 0;
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    xnn_value *value = &d->values[i];
    if ((value->flags & (XNN_INPUT | XNN_OUTPUT)) == 0) {
      continue;
    }
    const fl_tensor *t = fl_get_tensor(args[value->external]);
    if (t == NULL || t->data == NULL || !fits(t->dtype, value) || !has_rank(t, &value->shape)) {
      return fl_xnn_fail(FL_INVALID_ARGUMENT, "argument %u is not the tensor of %u dimensions that its payload says", value->external,
                         value->shape.rank);
    }
    for (uint8_t j = 0; (value->flags & XNN_INPUT) != 0 && j < t->rank; ++j) {
      const uint32_t size = (uint32_t)t->sizes[t->dim_order[j]];
      if (size == 0) {
        return fl_xnn_fail(FL_NOT_SUPPORTED, "argument %u has no elements; XNNPACK computes with some", value->external);
      }
      d->is_shaped = size == value->shape.dims[j] ? d->is_shaped : 0;
      value->shape.dims[j] = size;
    }
    xnn_external_value *external = &d->externals[d->external_count++];
    d->is_set = external->data == t->data ? d->is_set : 0;
    *external = (xnn_external_value){value->external, t->data};
  }
  return FL_OK;
}

/* A version of XNNPACK without reshape knows the sizes of the payload only. */
static fl_status check_sizes(delegate *d) {
  xnn_value said;
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_shape *shape = &d->values[i].shape;
    if ((d->values[i].flags & XNN_INPUT) != 0 && (fl_xnn_read_value(&d->graph, i, &said) != FL_OK ||
                                                  memcmp(shape->dims, said.shape.dims, shape->rank * sizeof *shape->dims) != 0)) {
      return fl_xnn_fail(FL_NOT_SUPPORTED, "argument %u has other sizes than at compile time, which this version of XNNPACK cannot take",
                         d->values[i].external);
    }
  }
  return FL_OK;
}

/* Tells XNNPACK the sizes of the inputs, and compares what it makes of them. */
static fl_status reshape(delegate *d) {
  size_t dims[XNN_RANK];
  xnn_status status = 0;
  const fl_status inferred = infer_nodes(d, NULL);
  if (inferred != FL_OK || d->library.reshape_value == NULL) {
    return inferred != FL_OK ? inferred : check_sizes(d);
  }
  for (uint32_t i = 0; status == 0 && i < d->graph.value_count; ++i) {
    if ((d->values[i].flags & XNN_INPUT) != 0) {
      widen(&d->values[i].shape, dims);
      status = d->library.reshape_value(d->runtime, d->values[i].external, d->values[i].shape.rank, dims);
    }
  }
  if (status == 0) {
    status = d->library.reshape_runtime(d->runtime);
  }
  if (status != 0) {
    return fl_xnn_fail(FL_INVALID_ARGUMENT, "XNNPACK cannot run with inputs of these sizes: %s", fl_xnn_status_name(status));
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
      return fl_xnn_fail(FL_INTERNAL, "XNNPACK gives argument %u another shape than its graph says", value->external);
    }
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

/* Indices: XNNPACK writes 32 bits, where the program may have 64. */
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
    d->is_shaped = 1;
  }
  status = resize_outputs(d, context, args);
  if (status != FL_OK) {
    return status;
  }
  xnn_status done = d->is_set ? 0 : d->library.setup(d->runtime, d->external_count, d->externals);
  d->is_set = done == 0;
  if (done == 0) {
    done = d->library.invoke_runtime(d->runtime);
  }
  if (done != 0) {
    d->is_set = 0;
    return stop(context, fl_xnn_fail(FL_INTERNAL, "XNNPACK fails: %s", fl_xnn_status_name(done)));
  }
  widen_indices(d, args);
  return FL_OK;
}

extern const fl_backend fl_backend_xnnpack;
const fl_backend fl_backend_xnnpack = {.struct_size = sizeof(fl_backend),
                                       .id = "XnnpackBackend",
                                       .name = "xnnpack",
                                       .measure = measure,
                                       .init = init,
                                       .execute = execute,
                                       .destroy = destroy};
