/* Defines nodes by calls of XNNPACK. */
#include <string.h>

#include "library.h"

#define GRAPH xnn_subgraph_t
#define ID uint32_t
typedef xnn_status (*unary_fn)(GRAPH, ID, ID, uint32_t flags);
typedef xnn_status (*unary_limits_fn)(GRAPH, float, float, ID, ID, uint32_t flags);
typedef xnn_status (*unary_number_fn)(GRAPH, float, ID, ID, uint32_t flags);
typedef xnn_status (*unary_typed_fn)(GRAPH, int code, const void *parameters, ID, ID, uint32_t flags);
typedef xnn_status (*binary_fn)(GRAPH, ID, ID, ID, uint32_t flags);
typedef xnn_status (*binary_limits_fn)(GRAPH, float, float, ID, ID, ID, uint32_t flags);
typedef xnn_status (*fully_connected_fn)(GRAPH, float, float, ID input, ID filter, ID bias, ID output, uint32_t flags);
typedef xnn_status (*convolution_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t kernel_height, uint32_t kernel_width,
                                     uint32_t stride_height, uint32_t stride_width, uint32_t dilation_height, uint32_t dilation_width,
                                     uint32_t groups, size_t group_inputs, size_t group_outputs, float, float, ID input, ID filter, ID bias,
                                     ID output, uint32_t flags);
typedef xnn_status (*depthwise_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t kernel_height, uint32_t kernel_width,
                                   uint32_t stride_height, uint32_t stride_width, uint32_t dilation_height, uint32_t dilation_width,
                                   uint32_t multiplier, size_t channels, float, float, ID input, ID filter, ID bias, ID output, uint32_t flags);
typedef xnn_status (*deconvolution_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t adjust_height,
                                       uint32_t adjust_width, uint32_t kernel_height, uint32_t kernel_width, uint32_t stride_height,
                                       uint32_t stride_width, uint32_t dilation_height, uint32_t dilation_width, uint32_t groups,
                                       size_t group_inputs, size_t group_outputs, float, float, ID input, ID filter, ID bias, ID output,
                                       uint32_t flags);
typedef xnn_status (*average_pooling_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t height, uint32_t width,
                                         uint32_t stride_height, uint32_t stride_width, float, float, ID, ID, uint32_t flags);
typedef xnn_status (*max_pooling_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t height, uint32_t width,
                                     uint32_t stride_height, uint32_t stride_width, uint32_t dilation_height, uint32_t dilation_width, float, float,
                                     ID, ID, uint32_t flags);
typedef xnn_status (*argmax_pooling_fn)(GRAPH, uint32_t top, uint32_t right, uint32_t bottom, uint32_t left, uint32_t height, uint32_t width, ID, ID,
                                        ID, uint32_t flags);
typedef xnn_status (*list_fn)(GRAPH, size_t rank, const size_t *list, ID, ID, uint32_t flags);
typedef xnn_status (*resize_fn)(GRAPH, size_t height, size_t width, ID, ID, uint32_t flags);
typedef xnn_status (*pad_fn)(GRAPH, const size_t *before, const size_t *after, float value, ID, ID, uint32_t flags);
typedef xnn_status (*slice_fn)(GRAPH, size_t rank, const size_t *offsets, const size_t *sizes, ID, ID, uint32_t flags);
typedef xnn_status (*concatenate2_fn)(GRAPH, size_t axis, ID, ID, ID, uint32_t flags);
typedef xnn_status (*concatenate3_fn)(GRAPH, size_t axis, ID, ID, ID, ID, uint32_t flags);
typedef xnn_status (*concatenate4_fn)(GRAPH, size_t axis, ID, ID, ID, ID, ID, uint32_t flags);
typedef xnn_status (*concatenate5_fn)(GRAPH, size_t axis, ID, ID, ID, ID, ID, ID, uint32_t flags);

static xnn_status define_window(xnn_symbol function, GRAPH g, const xnn_node *node) {
  const uint32_t *n = node->numbers;
  const ID a = node->inputs[0], b = node->inputs[1], c = node->inputs[2], out = node->outputs[0];
  switch ((xnn_form)node->kind->form) {
    case FORM_CONVOLUTION:
      return ((convolution_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[KERNEL_HEIGHT], n[KERNEL_WIDTH],
                                        n[STRIDE_HEIGHT], n[STRIDE_WIDTH], n[DILATION_HEIGHT], n[DILATION_WIDTH], n[GROUPS], n[GROUP_INPUTS],
                                        n[GROUP_OUTPUTS], node->low, node->high, a, b, c, out, node->flags);
    case FORM_DEPTHWISE:
      return ((depthwise_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[KERNEL_HEIGHT], n[KERNEL_WIDTH], n[STRIDE_HEIGHT],
                                      n[STRIDE_WIDTH], n[DILATION_HEIGHT], n[DILATION_WIDTH], n[GROUP_OUTPUTS], n[GROUPS], node->low, node->high, a,
                                      b, c, out, node->flags);
    case FORM_DECONVOLUTION:
      return ((deconvolution_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[ADJUST_HEIGHT], n[ADJUST_WIDTH],
                                          n[KERNEL_HEIGHT], n[KERNEL_WIDTH], n[STRIDE_HEIGHT], n[STRIDE_WIDTH], n[DILATION_HEIGHT],
                                          n[DILATION_WIDTH], n[GROUPS], n[GROUP_INPUTS], n[GROUP_OUTPUTS], node->low, node->high, a, b, c, out,
                                          node->flags);
    case FORM_AVERAGE_POOLING:
      return ((average_pooling_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[KERNEL_HEIGHT], n[KERNEL_WIDTH],
                                            n[STRIDE_HEIGHT], n[STRIDE_WIDTH], node->low, node->high, a, out, node->flags);
    case FORM_MAX_POOLING:
      return ((max_pooling_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[KERNEL_HEIGHT], n[KERNEL_WIDTH],
                                        n[STRIDE_HEIGHT], n[STRIDE_WIDTH], n[DILATION_HEIGHT], n[DILATION_WIDTH], node->low, node->high, a, out,
                                        node->flags);
    default:
      return ((argmax_pooling_fn)function)(g, n[PAD_TOP], n[PAD_RIGHT], n[PAD_BOTTOM], n[PAD_LEFT], n[KERNEL_HEIGHT], n[KERNEL_WIDTH], a, out,
                                           node->outputs[1], node->flags);
  }
}

static xnn_status define_concatenate(xnn_symbol function, GRAPH g, const xnn_node *node) {
  const size_t axis = node->numbers[AXIS];
  const ID *in = node->inputs, out = node->outputs[0];
  switch (node->kind->inputs) {
    case 2: return ((concatenate2_fn)function)(g, axis, in[0], in[1], out, node->flags);
    case 3: return ((concatenate3_fn)function)(g, axis, in[0], in[1], in[2], out, node->flags);
    case 4: return ((concatenate4_fn)function)(g, axis, in[0], in[1], in[2], in[3], out, node->flags);
    default: return ((concatenate5_fn)function)(g, axis, in[0], in[1], in[2], in[3], in[4], out, node->flags);
  }
}

static xnn_status define(xnn_symbol function, GRAPH g, const xnn_node *node) {
  size_t lists[2][XNN_RANK];
  const ID a = node->inputs[0], b = node->inputs[1], out = node->outputs[0];
  for (size_t i = 0; i < XNN_RANK; ++i) {
    lists[0][i] = node->lists[0][i];
    lists[1][i] = node->lists[1][i];
  }
  switch ((xnn_form)node->kind->form) {
    case FORM_UNARY:
    case FORM_CONVERT:
    case FORM_SOFTMAX: return ((unary_fn)function)(g, a, out, node->flags);
    case FORM_UNARY_LIMITS:
    case FORM_GLOBAL_POOLING: return ((unary_limits_fn)function)(g, node->low, node->high, a, out, node->flags);
    case FORM_UNARY_NUMBER: return ((unary_number_fn)function)(g, node->number, a, out, node->flags);
    case FORM_UNARY_TYPED: return ((unary_typed_fn)function)(g, node->kind->code, NULL, a, out, node->flags);
    case FORM_BINARY:
    case FORM_MATMUL: return ((binary_fn)function)(g, a, b, out, node->flags);
    case FORM_BINARY_LIMITS: return ((binary_limits_fn)function)(g, node->low, node->high, a, b, out, node->flags);
    case FORM_FULLY_CONNECTED: return ((fully_connected_fn)function)(g, node->low, node->high, a, b, node->inputs[2], out, node->flags);
    case FORM_TRANSPOSE:
    case FORM_RESHAPE: return ((list_fn)function)(g, node->list_counts[0], lists[0], a, out, node->flags);
    case FORM_RESIZE: return ((resize_fn)function)(g, node->numbers[NEW_HEIGHT], node->numbers[NEW_WIDTH], a, out, node->flags);
    case FORM_PAD: return ((pad_fn)function)(g, lists[0], lists[1], node->number, a, out, node->flags);
    case FORM_SLICE: return ((slice_fn)function)(g, node->list_counts[0], lists[0], lists[1], a, out, node->flags);
    case FORM_CONCATENATE: return define_concatenate(function, g, node);
    default: return define_window(function, g, node);
  }
}

fl_status fl_xnn_define(const xnn_library *library, GRAPH subgraph, const xnn_node *node, const xnn_value *values) {
  xnn_node own = *node; /* the node with XNNPACK's ids */
  for (uint32_t i = 0; i < node->kind->inputs; ++i) {
    own.inputs[i] = node->inputs[i] == UINT32_MAX ? UINT32_MAX : values[node->inputs[i]].id;
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    own.outputs[i] = values[node->outputs[i]].id;
  }
  const char *kind = node->kind->form == FORM_UNARY_TYPED ? "unary" : node->kind->name;
  const xnn_symbol function = fl_xnn_definition(library, kind);
  if (function == NULL) {
    return fl_library_fail(FL_NOT_SUPPORTED, "node %u (%s): this version of XNNPACK has no xnn_define_%s; that in the Python package executorch has",
                       node->index, node->kind->name, kind);
  }
  const xnn_status status = define(function, subgraph, &own);
  if (status != 0) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): XNNPACK refuses it: %s", node->index, node->kind->name, fl_xnn_status_name(status));
  }
  return FL_OK;
}
