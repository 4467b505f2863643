/* Makes a runtime of XNNPACK from the graph of a payload. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "flambeau/runtime.h"

fl_status fl_xnn_read_values(delegate *d) {
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
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: value %u is argument %u, which another one is", i, value->external);
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
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: of %u arguments, %u are inputs and %u outputs", d->graph.externals, inputs,
                       outputs);
  }
  for (uint32_t i = 0; i < d->graph.externals; ++i) {
    const xnn_value *value = (const xnn_value *)d->externals[i].data;
    if (((value->flags & XNN_INPUT) != 0) != (i < inputs)) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: argument %u of %u inputs and %u outputs is the other", i, inputs, outputs);
    }
  }
  return FL_OK;
}

size_t fl_xnn_bytes(const xnn_value *value) {
  size_t bytes = fl_xnn_element_bytes(value->type);
  for (uint32_t i = 0; i < value->shape.rank; ++i) {
    bytes *= value->shape.dims[i];
  }
  return bytes;
}

/* Copies constants at the end of the program to memory that has readable bytes after them. */
static fl_status copy_tail(delegate *d) {
  const char *const end = (const char *)d->payload.program->data + d->payload.program->size;
  const char *start = end;
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    if (value->data != NULL && end - ((const char *)value->data + fl_xnn_bytes(value)) < XNN_EXTRA_BYTES && (const char *)value->data < start) {
      start = (const char *)value->data;
    }
  }
  if (start == end) {
    return FL_OK;
  }
  /* The copy begins at a multiple of 16 in the program, so that constants keep their alignment. */
  start -= (uintptr_t)start % 16;
  const size_t size = (size_t)(end - start);
  d->tail = malloc(size + XNN_EXTRA_BYTES);
  if (d->tail == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there are no %llu bytes for constants", (unsigned long long)size);
  }
  memcpy(d->tail, start, size);
  memset((char *)d->tail + size, 0, XNN_EXTRA_BYTES);
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    xnn_value *value = &d->values[i];
    if (value->data != NULL && end - ((const char *)value->data + fl_xnn_bytes(value)) < XNN_EXTRA_BYTES) {
      value->data = (const char *)d->tail + ((const char *)value->data - start);
    }
  }
  return FL_OK;
}

static int has_weight(const xnn_node *node) {
  const uint8_t form = node->kind->form;
  return form == FORM_FULLY_CONNECTED || form == FORM_CONVOLUTION || form == FORM_DEPTHWISE || form == FORM_DECONVOLUTION;
}

/* The ratios of scales that XNNPACK takes are below 2^8. */
static const float MOST_RATIO = 256.0f;

/* Returns whether a ratio of scales is at least 2^-`bits`, and not too large. */
static int fits_ratio(double ratio, int bits) { return ratio >= ldexp(1.0, -bits) && ratio < (double)MOST_RATIO; }

static int is_float(uint8_t type) { return type == XNN_FP32 || type == XNN_FP16; }

/* Returns whether a node that XNNPACK computes in integers takes these scales: those of `integers.py`. Outside of them it fails in the middle of
 * making its runtime; nodes that move elements would give the numbers of another scale. */
static int takes_scales(const xnn_node *node, const xnn_value *values) {
  const xnn_value *a = &values[node->inputs[0]], *b = &values[node->inputs[node->kind->inputs > 1]], *result = &values[node->outputs[0]];
  const double scale = result->scale;
  switch ((xnn_form)node->kind->form) {
    case FORM_CONVERT: return result->type != XNN_QINT8 || fits_ratio(a->scale / scale, 8);
    case FORM_UNARY_NUMBER: return node->kind->code == UNARY_ELU; /* by a table of its 256 results */
    case FORM_FULLY_CONNECTED:
    case FORM_CONVOLUTION:
    case FORM_DEPTHWISE:
    case FORM_DECONVOLUTION: {
      const uint32_t count = b->scales == NULL ? 1 : b->shape.dims[b->channel_dim];
      int fits = b->scales != NULL || b->zero_point == 0;
      for (uint32_t i = 0; fits && i < count; ++i) {
        const float product = a->scale * (b->scales == NULL ? b->scale : b->scales[i]);
        fits = product >= FLT_MIN && product / result->scale < MOST_RATIO;
      }
      return fits;
    }
    case FORM_BINARY_LIMITS:
      switch (node->kind->code) {
        case BINARY_SUM: return fits_ratio(a->scale / scale, 10) && fits_ratio(b->scale / scale, 10);
        case BINARY_PRODUCT: return fits_ratio((double)a->scale * b->scale / scale, 16);
        default: return 0;
      }
    case FORM_GLOBAL_POOLING: return fits_ratio(a->scale / scale, 8);
    case FORM_UNARY:
    case FORM_UNARY_LIMITS:
    case FORM_TRANSPOSE:
    case FORM_RESHAPE:
    case FORM_SLICE:
    case FORM_CONCATENATE:
    case FORM_MAX_POOLING: {
      int fits = node->kind->form != FORM_UNARY || node->kind->code == UNARY_COPY;
      for (uint32_t i = 0; fits && i < node->kind->inputs; ++i) {
        fits = values[node->inputs[i]].scale == result->scale && values[node->inputs[i]].zero_point == result->zero_point;
      }
      return fits;
    }
    default: return 0;
  }
}

/* Returns whether a product whose input is of integers with a scale for each row takes `value` as input `input`. */
static int takes_rows(uint32_t input, const xnn_value *value) {
  switch (input) {
    case 0: return value->row_rank == 1;
    case 1: return value->type == XNN_QCINT8 && value->channel_dim == 0 && value->data != NULL;
    default: return value->type == XNN_FP32;
  }
}

/* Returns whether a node gives results of type `result`, the first one if `output` is 0, if its first input is of type `type`. */
static int gives(const xnn_node *node, uint32_t output, uint8_t type, uint8_t result) {
  if (node->kind->form == FORM_CONVERT) {
    return is_float(result) || result == XNN_QINT8 || (result == XNN_QDINT8 && type == XNN_FP32);
  }
  return result == (output == 1 || type == XNN_QDINT8 ? XNN_FP32 : type);
}

/* Returns whether a node whose first input has type `type` takes `value` as input `input`. Scales must be per output of a layer. */
static int takes(const xnn_node *node, uint32_t input, uint8_t type, const xnn_value *value) {
  if (type == XNN_QDINT8) {
    return node->kind->form == FORM_FULLY_CONNECTED && node->flags == 0 && takes_rows(input, value);
  }
  if (input == 0 || !has_weight(node)) {
    return value->type == type && (is_float(type) || type == XNN_QINT8);
  }
  if (type != XNN_QINT8) {
    /* Products of floats take weights with a scale for each output; those of float16 do not. */
    const int is_weight = input == 1 && type == XNN_FP32 && node->kind->form == FORM_FULLY_CONNECTED && node->flags == 0;
    return is_float(value->type) || (is_weight && value->type == XNN_QCINT8 && value->channel_dim == 0 && value->data != NULL);
  }
  const uint32_t outputs = input == 1 && node->kind->form == FORM_DEPTHWISE ? 3 : 0;
  const uint8_t plain = input == 1 ? XNN_QINT8 : XNN_QINT32, by_channels = input == 1 ? XNN_QCINT8 : XNN_QCINT32;
  return node->flags == 0 && value->data != NULL && (value->type == plain || (value->type == by_channels && value->channel_dim == outputs));
}

/* Checks that a node reads only values that are known before, of types that it takes, and computes values that no node computed before. */
static fl_status check_node(const xnn_node *node, xnn_value *values) {
  const uint8_t type = values[node->inputs[0]].type;
  for (uint32_t i = 0; i < node->kind->inputs; ++i) {
    const uint32_t id = node->inputs[i];
    if (id == UINT32_MAX) {
      continue; /* an absent bias */
    }
    if ((values[id].flags & VALUE_KNOWN) == 0) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s) reads value %u before a node computes it", node->index, node->kind->name, id);
    }
    if (!takes(node, i, type, &values[id])) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u is of a type that it does not take", node->index, node->kind->name, id);
    }
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const uint32_t id = node->outputs[i];
    if ((values[id].flags & VALUE_KNOWN) != 0) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s) writes value %u, which is there already", node->index, node->kind->name, id);
    }
    if (!gives(node, i, type, values[id].type)) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u is of a type that it does not give", node->index, node->kind->name, id);
    }
    values[id].type = i == 1 ? XNN_INDEX : values[id].type;
    values[id].flags |= VALUE_KNOWN;
  }
  if (type == XNN_QINT8 && !takes_scales(node, values)) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): it does not compute with integers, or not with ones of these scales", node->index,
                       node->kind->name);
  }
  return FL_OK;
}

fl_status fl_xnn_infer_nodes(delegate *d, xnn_subgraph_t subgraph) {
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
        status = fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): value %u has another shape than it computes", i, node.kind->name,
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

void fl_xnn_widen(const xnn_shape *shape, size_t dims[XNN_RANK]) {
  for (uint32_t i = 0; i < XNN_RANK; ++i) {
    dims[i] = shape->dims[i];
  }
}

static xnn_status define_value(const xnn_library *library, xnn_subgraph_t subgraph, const xnn_value *value, uint32_t *id) {
  const uint32_t flags = value->flags & (XNN_INPUT | XNN_OUTPUT);
  size_t dims[XNN_RANK];
  fl_xnn_widen(&value->shape, dims);
  if (is_float(value->type)) {
    return library->define_tensor_value(subgraph, value->type, value->shape.rank, dims, value->data, value->external, flags, id);
  }
  if (value->type == XNN_QDINT8) {
    return library->define_dynamic_value(subgraph, value->type, value->shape.rank, value->row_rank, dims, value->external, flags, id);
  }
  if (value->scales != NULL) {
    return library->define_channelwise_value(subgraph, value->type, 0, value->scales, value->shape.rank, value->channel_dim, dims, value->data,
                                             value->external, flags, id);
  }
  return library->define_quantized_value(subgraph, value->type, value->zero_point, value->scale, value->shape.rank, dims, value->data,
                                         value->external, flags, id);
}

static fl_status define_values(delegate *d, xnn_subgraph_t subgraph) {
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    const xnn_value *value = &d->values[i];
    uint32_t id = UINT32_MAX;
    if (!is_float(value->type) && d->library.define_quantized_value == NULL) {
      return fl_library_fail(FL_NOT_SUPPORTED, "value %u is quantized, and this version of XNNPACK has no quantized values as they are here", i);
    }
    if (value->type == XNN_QDINT8 && d->library.define_dynamic_value == NULL) {
      return fl_library_fail(FL_NOT_SUPPORTED, "value %u is quantized in each run, and this version of XNNPACK has no such values", i);
    }
    const xnn_status status = define_value(&d->library, subgraph, value, &id);
    if (status != 0) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "value %u: XNNPACK refuses it: %s", i, fl_xnn_status_name(status));
    }
    d->values[i].id = id;
  }
  return FL_OK;
}

/* The most bytes of values that are there at a time, besides constants and arguments, so that a small payload cannot take all memory. */
#define MOST_BYTES ((uint64_t)1 << 32)

/* Checks that every result is read or is an output, because XNNPACK forgets the memory of others, and how many bytes there are at a time. Nodes and
 * values have been checked. */
static fl_status check_uses(delegate *d) {
  xnn_node node;
  fl_status status = FL_OK;
  uint64_t bytes = 0;
  for (uint32_t i = 0; status == FL_OK && i < d->graph.node_count; ++i) {
    status = fl_xnn_read_node(&d->graph, i, &node);
    for (uint32_t j = 0; status == FL_OK && j < node.kind->inputs; ++j) {
      if (node.inputs[j] != UINT32_MAX) {
        d->values[node.inputs[j]].last = i + 1;
      }
    }
  }
  for (uint32_t i = 0; status == FL_OK && i < d->graph.node_count; ++i) {
    status = fl_xnn_read_node(&d->graph, i, &node);
    for (uint32_t j = 0; status == FL_OK && j < node.output_count; ++j) {
      const xnn_value *value = &d->values[node.outputs[j]];
      if (value->last == 0 && (value->flags & XNN_OUTPUT) == 0) {
        return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s) computes value %u, which nothing reads", i, node.kind->name, node.outputs[j]);
      }
      bytes += (value->flags & XNN_OUTPUT) == 0 ? fl_xnn_bytes(value) : 0;
    }
    if (status == FL_OK && bytes > MOST_BYTES) {
      return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "at node %u (%s), its values take %llu bytes; this backend takes %llu at most", i,
                         node.kind->name, (unsigned long long)bytes, (unsigned long long)MOST_BYTES);
    }
    for (uint32_t j = 0; status == FL_OK && j < node.kind->inputs; ++j) {
      xnn_value *value = node.inputs[j] == UINT32_MAX ? NULL : &d->values[node.inputs[j]];
      if (value != NULL && value->last == i + 1 && value->data == NULL && (value->flags & (XNN_INPUT | XNN_OUTPUT)) == 0) {
        bytes -= fl_xnn_bytes(value);
        value->last = UINT32_MAX; /* a node may read a value twice */
      }
    }
  }
  return status;
}

/* Fails unless there is room for XNNPACK's small allocations. It does not check those of some bytes for each node and value while it optimizes a
 * graph; what is freed here serves them. */
static fl_status make_room(void) {
  enum { ROOM = 1 << 16 };
  void *const room = malloc(ROOM);
  free(room);
  return room != NULL ? FL_OK : fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "XNNPACK has no memory for its graph");
}

enum { BASIC_PROFILING = 8 }; /* XNNPACK's flag of a runtime */

fl_status fl_xnn_build(delegate *d, const settings *set) {
  xnn_subgraph_t subgraph = NULL;
  fl_status status = copy_tail(d);
  if (status == FL_OK) {
    status = fl_xnn_widen_weights(d, set->float_rows);
  }
  if (status != FL_OK) {
    return status;
  }
  fl_xnn_watch_memory();
  xnn_status made = d->library.create_subgraph(d->graph.externals, 0, &subgraph);
  if (made != 0) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "XNNPACK makes no graph: %s", fl_xnn_status_name(made));
  }
  status = define_values(d, subgraph);
  if (status == FL_OK) {
    status = fl_xnn_infer_nodes(d, subgraph);
  }
  for (uint32_t i = 0; status == FL_OK && i < d->graph.value_count; ++i) {
    if ((d->values[i].flags & (XNN_OUTPUT | VALUE_KNOWN)) == XNN_OUTPUT) {
      status = fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "no node computes value %u, which is an output", i);
    }
  }
  if (status == FL_OK) {
    status = check_uses(d);
  }
  if (status == FL_OK && set->threads > 1) {
    d->pool = fl_xnn_take_pool(&d->library, set->threads);
    if (d->pool == NULL) {
      status = fl_library_fail(FL_OUT_OF_RESOURCES, "this XNNPACK library starts no %llu threads", (unsigned long long)set->threads);
    }
  }
  if (status == FL_OK) {
    status = make_room();
  }
  if (status == FL_OK) {
    made = d->library.create_runtime(subgraph, d->pool, set->is_measured ? BASIC_PROFILING : 0, &d->runtime);
    fl_xnn_free_weights(d);
    if (made != 0) {
      d->runtime = NULL;
      /* The subgraph stays: what XNNPACK computed for it, such as tables of integers, went with the runtime, and would be freed again. */
      return fl_xnn_ran_out_of_memory(made) ? fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "XNNPACK has no memory for its graph")
                                            : fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "XNNPACK cannot run its graph: %s", fl_xnn_status_name(made));
    }
  }
  (void)d->library.delete_subgraph(subgraph);
  if (status == FL_OK && fl_xnn_ran_out_of_memory(0)) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "XNNPACK has no memory for its graph");
  }
  return status;
}
