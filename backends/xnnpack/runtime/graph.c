/* Reads a payload. */
#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flambeau/runtime.h"

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)

/* ---- The flatbuffer. Reading outside of it returns 0 and sets is_damaged ---- */

static uint32_t damaged(xnn_graph *graph) {
  graph->is_damaged = 1;
  return 0;
}

static int has(const xnn_graph *graph, uint64_t at, uint64_t bytes) { return at <= graph->size && bytes <= graph->size - at; }

static uint16_t u16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }
static uint64_t u64(const uint8_t *at) { return u32(at) | (uint64_t)u32(at + 4) << 32; }

/* Returns the position of field `id`, of `bytes` bytes; 0 when the table does not have it. */
static uint32_t field(xnn_graph *graph, uint32_t table, uint32_t id, uint32_t bytes) {
  if (table == 0) {
    return 0;
  }
  if (!has(graph, table, 4)) {
    return damaged(graph);
  }
  const int64_t fields = (int64_t)table - (int32_t)u32(graph->file + table);
  if (fields < 0 || !has(graph, (uint64_t)fields, 4)) {
    return damaged(graph);
  }
  const uint32_t length = u16(graph->file + fields), place = 4 + 2 * id;
  if (!has(graph, (uint64_t)fields, length) || !has(graph, table, u16(graph->file + fields + 2))) {
    return damaged(graph);
  }
  const uint32_t offset = place + 2 <= length ? u16(graph->file + fields + place) : 0;
  if (offset == 0) {
    return 0;
  }
  return offset >= 4 && offset + bytes <= u16(graph->file + fields + 2) ? table + offset : damaged(graph);
}

static uint32_t number(xnn_graph *graph, uint32_t table, uint32_t id) {
  const uint32_t at = field(graph, table, id, 4);
  return at == 0 ? 0 : u32(graph->file + at);
}

static float real(xnn_graph *graph, uint32_t table, uint32_t id) {
  const uint32_t bits = number(graph, table, id);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Returns the position to which the offset at a position refers. */
static uint32_t follow(xnn_graph *graph, uint32_t at) {
  const uint64_t target = (uint64_t)at + u32(graph->file + at);
  return has(graph, target, 4) ? (uint32_t)target : damaged(graph);
}

static uint32_t child(xnn_graph *graph, uint32_t table, uint32_t id) {
  const uint32_t at = field(graph, table, id, 4);
  return at == 0 ? 0 : follow(graph, at);
}

/* Returns the position of the first element of the vector in field `id`, and stores the number of elements in `count`, 0 when it is absent. */
static uint32_t vector(xnn_graph *graph, uint32_t table, uint32_t id, uint32_t *count) {
  const uint32_t at = child(graph, table, id);
  *count = at == 0 ? 0 : u32(graph->file + at);
  if (at != 0 && !has(graph, (uint64_t)at + 4, (uint64_t)*count * 4)) {
    *count = 0;
    return damaged(graph);
  }
  return at == 0 ? 0 : at + 4;
}

/* Reads a vector of numbers into `values` and `count`. Fails, with `what` and `index` in the message, if it is longer than a shape can be. */
static fl_status list(xnn_graph *graph, uint32_t table, uint32_t id, const char *what, uint32_t index, uint32_t *values, uint32_t *count) {
  const uint32_t at = vector(graph, table, id, count);
  if (*count > XNN_RANK) {
    return DAMAGED("%s %u has a list of %u dimensions, more than %d", what, index, *count, XNN_RANK);
  }
  for (uint32_t i = 0; i < *count; ++i) {
    values[i] = u32(graph->file + at + 4 * i);
  }
  return FL_OK;
}

/* ---- The header ---- */

enum { HEADER_BYTES = 30 };

static fl_status open_header(xnn_graph *graph) {
  const uint8_t *data = (const uint8_t *)graph->payload->data;
  const uint64_t size = graph->payload->size;
  if (size < HEADER_BYTES || memcmp(data + 4, "XH00", 4) != 0) {
    return DAMAGED("it has no header XH00 (%llu bytes)", (unsigned long long)size);
  }
  const uint32_t at = u32(data + 10), bytes = u32(data + 14), constants = u32(data + 18);
  graph->constants_size = u64(data + 22);
  if (at > size || bytes > size - at || bytes < 12 || bytes > INT32_MAX) {
    return DAMAGED("its flatbuffer (%u bytes at %u) exceeds its %llu bytes", bytes, at, (unsigned long long)size);
  }
  if (constants > size || graph->constants_size > size - constants) {
    return DAMAGED("its constants (%llu bytes at %u) exceed its %llu bytes", (unsigned long long)graph->constants_size, constants,
                   (unsigned long long)size);
  }
  graph->file = data + at;
  graph->size = bytes;
  graph->constants = data + constants;
  return FL_OK;
}

enum { GRAPH_NODES = 1, GRAPH_VALUES, GRAPH_EXTERNALS, GRAPH_CONSTANTS = 8 };

fl_status fl_xnn_open(const fl_payload *payload, xnn_graph *graph) {
  memset(graph, 0, sizeof *graph);
  graph->payload = payload;
  const fl_status status = open_header(graph);
  if (status != FL_OK) {
    return status;
  }
  if (memcmp(graph->file + 4, "XN01", 4) != 0) {
    return fl_library_fail(FL_NOT_SUPPORTED, "its payload is of another version than XN01");
  }
  const uint32_t root = follow(graph, 0);
  graph->nodes_at = vector(graph, root, GRAPH_NODES, &graph->node_count);
  graph->values_at = vector(graph, root, GRAPH_VALUES, &graph->value_count);
  graph->constants_at = vector(graph, root, GRAPH_CONSTANTS, &graph->constant_count);
  graph->externals = number(graph, root, GRAPH_EXTERNALS);
  graph->names = fl_library_names_of(payload);
  if (graph->is_damaged) {
    return DAMAGED("a part of its graph lies outside of it");
  }
  if (graph->node_count == 0 || graph->value_count == 0) {
    return DAMAGED("its graph has no nodes or no values");
  }
  if (graph->externals == 0 || graph->externals > XNN_MOST_EXTERNALS || graph->externals > graph->value_count) {
    return DAMAGED("its graph speaks of %u inputs and outputs, and has %u values", graph->externals, graph->value_count);
  }
  return FL_OK;
}

/* ---- Values ---- */

enum { CONSTANT_OFFSET = 0, CONSTANT_SIZE, CONSTANT_KEY };

/* Stores the position of constant `buffer`, in the payload or in the program's named data, in `data`. Fails unless it has `bytes` bytes. */
static fl_status find_constant(xnn_graph *graph, uint32_t index, uint32_t buffer, size_t bytes, size_t element, const void **data) {
  if (buffer >= graph->constant_count) {
    return DAMAGED("value %u has constant %u of %u", index, buffer, graph->constant_count);
  }
  const uint32_t table = follow(graph, graph->constants_at + 4 * buffer);
  const uint32_t offset_at = field(graph, table, CONSTANT_OFFSET, 8), size_at = field(graph, table, CONSTANT_SIZE, 8);
  const uint64_t offset = offset_at == 0 ? 0 : u64(graph->file + offset_at), said = size_at == 0 ? 0 : u64(graph->file + size_at);
  const uint32_t key_at = child(graph, table, CONSTANT_KEY);
  size_t size = 0;
  if (key_at != 0 && u32(graph->file + key_at) != 0) {
    const char *key = (const char *)graph->file + key_at + 4;
    const uint32_t length = u32(graph->file + key_at);
    if (!has(graph, (uint64_t)key_at + 4, (uint64_t)length + 1) || key[length] != 0) {
      return DAMAGED("the name of constant %u does not end", buffer);
    }
    const fl_status status = fl_library_find_named(&graph->names, "value", index, key, length, data, &size);
    if (status != FL_OK) {
      return status;
    }
  } else {
    if (offset > graph->constants_size || said > graph->constants_size - offset) {
      return DAMAGED("constant %u (%llu bytes at %llu) exceeds its %llu bytes of constants", buffer, (unsigned long long)said,
                     (unsigned long long)offset, (unsigned long long)graph->constants_size);
    }
    *data = graph->constants + offset;
    size = (size_t)said;
  }
  if (size < bytes || (uintptr_t)*data % element != 0) {
    return DAMAGED("value %u needs %llu bytes at a multiple of %llu; constant %u has %llu", index, (unsigned long long)bytes,
                   (unsigned long long)element, buffer, (unsigned long long)size);
  }
  return FL_OK;
}

enum { VALUE_TENSOR = 1, VALUE_QUANTIZED };
enum { TENSOR_TYPE = 0, TENSOR_RANK, TENSOR_DIMS, TENSOR_BUFFER, TENSOR_EXTERNAL, TENSOR_FLAGS, TENSOR_ID };

size_t fl_xnn_element_bytes(uint8_t type) { return type == XNN_QINT8 || type == XNN_QCINT8 || type == XNN_QDINT8 ? 1 : type == XNN_FP16 ? 2 : 4; }

static const char *type_name(uint32_t type) {
  static const char *const names[] = {"invalid", "fp32",   "fp16",   "qint8",  "quint8",  "qint32", "qcint8", "qcint32",
                                      "qcint4",  "qdint8", "qbint4", "qpint8", "int32", "pfp32",  "bf16"};
  return type < sizeof names / sizeof *names ? names[type] : "unknown";
}

enum { QUANTIZED_TENSOR = 0, QUANTIZED_TAG, QUANTIZED_TABLE };
enum { PER_CHANNEL = 1, PER_TENSOR, PER_TOKEN };
enum { SCALE = 0, ZERO_POINT };
enum { SCALES = 0, CHANNEL_DIM, SCALES_BUFFER, SCALES_COUNT };

/* Reads the scales and the zero point of a quantized value. */
static fl_status read_quantization(xnn_graph *graph, uint32_t index, uint32_t holder, xnn_value *value) {
  const uint32_t tag_at = field(graph, holder, QUANTIZED_TAG, 1), table = child(graph, holder, QUANTIZED_TABLE);
  const uint32_t tag = tag_at == 0 ? 0 : graph->file[tag_at];
  const int has_channels = value->type == XNN_QCINT8 || value->type == XNN_QCINT32;
  const int has_rows = value->type == XNN_QDINT8;
  if (table == 0 || tag != (uint32_t)(has_channels ? PER_CHANNEL : has_rows ? PER_TOKEN : PER_TENSOR)) {
    return graph->is_damaged ? DAMAGED("value %u lies outside of it", index)
                             : fl_library_fail(FL_NOT_SUPPORTED, "value %u is of type %s with quantization %u, which this backend does not have", index,
                                           type_name(value->type), tag);
  }
  if (has_rows) {
    value->row_rank = number(graph, table, 0);
    return value->row_rank >= 1 && value->row_rank <= value->shape.rank
               ? FL_OK
               : DAMAGED("value %u has rows of %u of its %u dimensions", index, value->row_rank, value->shape.rank);
  }
  if (!has_channels) {
    value->scale = real(graph, table, SCALE);
    value->zero_point = (int32_t)number(graph, table, ZERO_POINT);
    return FL_OK;
  }
  uint32_t count = 0;
  const uint32_t at = vector(graph, table, SCALES, &count), buffer = number(graph, table, SCALES_BUFFER);
  value->channel_dim = number(graph, table, CHANNEL_DIM);
  count = buffer == 0 ? count : number(graph, table, SCALES_COUNT);
  if (graph->is_damaged || value->channel_dim >= value->shape.rank || count != value->shape.dims[value->channel_dim] ||
      (buffer == 0 && (uintptr_t)(graph->file + at) % sizeof(float) != 0)) {
    return DAMAGED("value %u has %u scales for dimension %u", index, count, value->channel_dim);
  }
  const void *scales = graph->file + at;
  const fl_status status = buffer == 0 ? FL_OK : find_constant(graph, index, buffer, count * sizeof(float), sizeof(float), &scales);
  value->scales = (const float *)scales;
  return status;
}

fl_status fl_xnn_read_value(xnn_graph *graph, uint32_t index, xnn_value *value) {
  memset(value, 0, sizeof *value);
  const uint32_t holder = follow(graph, graph->values_at + 4 * index);
  const uint32_t tag_at = field(graph, holder, 0, 1), value_at = child(graph, holder, 1);
  const uint32_t tag = tag_at == 0 ? 0 : graph->file[tag_at];
  const uint32_t table = tag == VALUE_QUANTIZED ? child(graph, value_at, QUANTIZED_TENSOR) : value_at;
  const uint32_t type_at = field(graph, table, TENSOR_TYPE, 2);
  const uint32_t type = type_at == 0 ? 0 : u16(graph->file + type_at), flags = number(graph, table, TENSOR_FLAGS);
  const uint32_t rank = number(graph, table, TENSOR_RANK), buffer = number(graph, table, TENSOR_BUFFER), id = number(graph, table, TENSOR_ID);
  value->external = number(graph, table, TENSOR_EXTERNAL);
  const fl_status status = list(graph, table, TENSOR_DIMS, "value", index, value->shape.dims, &value->shape.rank);
  if (status != FL_OK) {
    return status;
  }
  if (graph->is_damaged || (tag != VALUE_TENSOR && tag != VALUE_QUANTIZED) || table == 0 || rank != value->shape.rank || id != index) {
    return DAMAGED("value %u is no tensor, or its rank or its id are not what they are elsewhere", index);
  }
  const int is_float = type == XNN_FP32 || type == XNN_FP16;
  if (!is_float && type != XNN_QINT8 && type != XNN_QINT32 && type != XNN_QCINT8 && type != XNN_QCINT32 && type != XNN_QDINT8) {
    return fl_library_fail(FL_NOT_SUPPORTED, "value %u is of type %s; this backend computes with fp32, fp16, qint8 and qdint8", index, type_name(type));
  }
  if (is_float != (tag == VALUE_TENSOR) || (!is_float && type != XNN_QINT8 && type != XNN_QDINT8 && buffer == 0)) {
    return DAMAGED("value %u is of type %s, and no such tensor or no constant", index, type_name(type));
  }
  const size_t element = fl_xnn_element_bytes((uint8_t)type);
  size_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    if (value->shape.dims[i] == 0 || value->shape.dims[i] > INT32_MAX / count) {
      return DAMAGED("value %u has a dimension of %u: none is empty, and no tensor has more than 2147483647 elements", index, value->shape.dims[i]);
    }
    count *= value->shape.dims[i];
  }
  value->type = (uint8_t)type;
  value->flags = (uint8_t)flags;
  if (flags > XNN_OUTPUT || (flags != 0 && (value->external >= graph->externals || buffer != 0)) || (flags == 0 && value->external != UINT32_MAX)) {
    return DAMAGED("value %u is input or output %u of %u with flags %u", index, value->external, graph->externals, flags);
  }
  if (type == XNN_QDINT8 && (flags != 0 || buffer != 0)) {
    return DAMAGED("value %u is of type %s, and an argument or a constant", index, type_name(type));
  }
  const fl_status meant = is_float ? FL_OK : read_quantization(graph, index, value_at, value);
  return meant != FL_OK || buffer == 0 ? meant : find_constant(graph, index, buffer, count * element, element, &value->data);
}

/* ---- Nodes ---- */

enum { ALIGN_CORNERS = 8, LEGACY = 4, KEEP_DIMS = 64, TRANSPOSE = 1 };
enum { UNARY_COSINE = 6, UNARY_SINE = 17 };

/* The kinds of nodes, by the tag of the union. */
static const xnn_kind kinds[] = {
    {NULL, 0, 0, 0, 0},
    {"add2", FORM_BINARY_LIMITS, 2, BINARY_SUM, 0},
    {"fully_connected", FORM_FULLY_CONNECTED, 3, 0, TRANSPOSE},
    {"softmax", FORM_SOFTMAX, 1, 0, 0},
    {"sigmoid", FORM_UNARY, 1, 0, 0},
    {"static_transpose", FORM_TRANSPOSE, 1, 0, 0},
    {"clamp", FORM_UNARY_LIMITS, 1, 0, 0},
    {"convolution_2d", FORM_CONVOLUTION, 3, 0, 0},
    {"divide", FORM_BINARY_LIMITS, 2, 0, 0},
    {"static_resize_bilinear_2d", FORM_RESIZE, 1, 0, ALIGN_CORNERS | LEGACY},
    {"static_constant_pad", FORM_PAD, 1, 0, 0},
    {"average_pooling_2d", FORM_AVERAGE_POOLING, 1, 0, KEEP_DIMS},
    {"minimum2", FORM_BINARY, 2, 0, 0},
    {"depthwise_convolution_2d", FORM_DEPTHWISE, 3, 0, 0},
    {"max_pooling_2d", FORM_MAX_POOLING, 1, 0, KEEP_DIMS},
    {"multiply2", FORM_BINARY_LIMITS, 2, BINARY_PRODUCT, 0},
    {"subtract", FORM_BINARY_LIMITS, 2, BINARY_SUM, 0},
    {"floor", FORM_UNARY, 1, 0, 0},
    {"convert", FORM_CONVERT, 1, 0, 0},
    {"global_average_pooling_2d", FORM_GLOBAL_POOLING, 1, 0, KEEP_DIMS},
    {"static_reshape", FORM_RESHAPE, 1, 0, 0},
    {"argmax_pooling_2d", FORM_ARGMAX_POOLING, 1, 0, KEEP_DIMS},
    {"square_root", FORM_UNARY, 1, 0, 0},
    {"ceiling", FORM_UNARY, 1, 0, 0},
    {"hardswish", FORM_UNARY, 1, 0, 0},
    {"leaky_relu", FORM_UNARY_NUMBER, 1, 0, 0},
    {"maximum2", FORM_BINARY, 2, 0, 0},
    {"negate", FORM_UNARY, 1, 0, 0},
    {"square", FORM_UNARY, 1, 0, 0},
    {"elu", FORM_UNARY_NUMBER, 1, UNARY_ELU, 0},
    {"abs", FORM_UNARY, 1, 0, 0},
    {"prelu", FORM_BINARY, 2, 0, 0},
    {"concatenate2", FORM_CONCATENATE, 2, 0, 0},
    {"concatenate3", FORM_CONCATENATE, 3, 0, 0},
    {"concatenate4", FORM_CONCATENATE, 4, 0, 0},
    {"static_slice", FORM_SLICE, 1, 0, 0},
    {NULL, 0, 0, 0, 0}, /* scaled dot-product attention, which no compiler writes and XNNPACK no longer has */
    {"batch_matrix_multiply", FORM_MATMUL, 2, 0, TRANSPOSE},
    {"concatenate5", FORM_CONCATENATE, 5, 0, 0},
    {"deconvolution_2d", FORM_DECONVOLUTION, 3, 0, 0},
    {"reciprocal_square_root", FORM_UNARY, 1, 0, 0},
    {"log", FORM_UNARY, 1, 0, 0},
    {"gelu", FORM_UNARY, 1, 0, 0},
    {"tanh", FORM_UNARY, 1, 0, 0},
    {"exp", FORM_UNARY, 1, 0, 0},
    {"sine", FORM_UNARY_TYPED, 1, UNARY_SINE, 0},
    {"copy", FORM_UNARY, 1, UNARY_COPY, 0},
    {"cosine", FORM_UNARY_TYPED, 1, UNARY_COSINE, 0},
};

/* The fields of a node's table. */
typedef struct layout {
  uint8_t numbers;    /* the number of leading fields that are `numbers` of xnn_node */
  uint8_t lists[2];   /* fields that are lists, plus 1; 0: none */
  uint8_t real;       /* the field that is a real number, plus 1; 0: none */
  uint8_t inputs;     /* the field of the first input; inputs two to four follow, a fifth is the last field */
  uint8_t outputs;    /* the field of the first output */
  uint8_t flags;
} layout;

static layout layout_of(const xnn_kind *kind) {
  switch ((xnn_form)kind->form) {
    case FORM_BINARY:
    case FORM_BINARY_LIMITS:
    case FORM_MATMUL: return (layout){0, {0, 0}, 0, 0, 2, 3};
    case FORM_FULLY_CONNECTED: return (layout){0, {0, 0}, 0, 0, 3, 4};
    case FORM_CONVOLUTION:
    case FORM_DEPTHWISE:
    case FORM_DECONVOLUTION: return (layout){15, {0, 0}, 0, 15, 18, 19};
    case FORM_AVERAGE_POOLING:
    case FORM_MAX_POOLING: return (layout){10, {0, 0}, 0, 10, 11, 12};
    case FORM_ARGMAX_POOLING: return (layout){6, {0, 0}, 0, 6, 7, 9};
    case FORM_TRANSPOSE:
    case FORM_RESHAPE: return (layout){0, {2, 0}, 0, 2, 3, 4};
    case FORM_SLICE: return (layout){0, {2, 3}, 0, 3, 4, 5};
    case FORM_PAD: return (layout){0, {1, 2}, 3, 3, 4, 5};
    case FORM_RESIZE: return (layout){2, {0, 0}, 0, 2, 3, 4};
    case FORM_UNARY_NUMBER: return (layout){0, {0, 0}, 1, 1, 2, 3};
    case FORM_CONCATENATE: return (layout){1, {0, 0}, 0, 1, 5, 6};
    default: return (layout){0, {0, 0}, 0, 0, 1, 2};
  }
}

enum { NODE_TAG = 0, NODE_TABLE, NODE_HANDLE, NODE_LIMITS };
enum { FIFTH_INPUT = 7 };

fl_status fl_xnn_read_node(xnn_graph *graph, uint32_t index, xnn_node *node) {
  memset(node, 0, sizeof *node);
  const uint32_t holder = follow(graph, graph->nodes_at + 4 * index);
  const uint32_t tag_at = field(graph, holder, NODE_TAG, 1), table = child(graph, holder, NODE_TABLE);
  const uint32_t limits = child(graph, holder, NODE_LIMITS);
  const uint32_t tag = tag_at == 0 ? 0 : graph->file[tag_at];
  if (tag >= sizeof kinds / sizeof *kinds || kinds[tag].name == NULL || table == 0) {
    return graph->is_damaged ? DAMAGED("node %u lies outside of it", index)
                             : fl_library_fail(FL_NOT_SUPPORTED, "node %u is of kind %u, which this backend does not have", index, tag);
  }
  const xnn_kind *kind = &kinds[tag];
  const layout at = layout_of(kind);
  node->kind = kind;
  node->index = index;
  node->handle = number(graph, holder, NODE_HANDLE);
  node->flags = number(graph, table, at.flags);
  node->output_count = kind->form == FORM_ARGMAX_POOLING ? 2 : 1;
  node->low = limits == 0 ? -INFINITY : real(graph, limits, 0);
  node->high = limits == 0 ? INFINITY : real(graph, limits, 1);
  node->number = at.real == 0 ? 0.0f : real(graph, table, at.real - 1u);
  for (uint32_t i = 0; i < at.numbers; ++i) {
    node->numbers[i] = number(graph, table, i);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const fl_status status = at.lists[i] == 0 ? FL_OK
                                              : list(graph, table, at.lists[i] - 1u, "node", index, node->lists[i], &node->list_counts[i]);
    if (status != FL_OK) {
      return status;
    }
  }
  for (uint32_t i = 0; i < kind->inputs; ++i) {
    node->inputs[i] = number(graph, table, i == 4 ? FIFTH_INPUT : at.inputs + i);
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    node->outputs[i] = number(graph, table, at.outputs + i);
  }
  if (graph->is_damaged) {
    return DAMAGED("node %u (%s) lies outside of it", index, kind->name);
  }
  if ((node->flags & ~(uint32_t)kind->flags) != 0) {
    return fl_library_fail(FL_NOT_SUPPORTED, "node %u (%s) has the flags %u, which this backend does not know", index, kind->name, node->flags);
  }
  if (!(node->low <= node->high)) {
    return DAMAGED("node %u (%s) limits its results to nothing", index, kind->name);
  }
  const int has_bias = kind->inputs == 3 && kind->form != FORM_CONCATENATE;
  for (uint32_t i = 0; i < kind->inputs + node->output_count; ++i) {
    const uint32_t id = i < kind->inputs ? node->inputs[i] : node->outputs[i - kind->inputs];
    if (id >= graph->value_count && !(has_bias && i == 2 && id == UINT32_MAX)) {
      return DAMAGED("node %u (%s) names value %u of %u", index, kind->name, id, graph->value_count);
    }
  }
  return FL_OK;
}
