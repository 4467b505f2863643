/* Computes the shapes of nodes' results. XNNPACK does not check the shapes that a graph declares, so each is computed here first, at load and
 * whenever an input changes its sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

/* The most entries of an indirection buffer, so that a small payload cannot make XNNPACK allocate all memory. */
#define MOST_WINDOWS ((uint64_t)1 << 26)

static fl_status refuse(const xnn_node *node, const char *why) {
  return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): %s", node->index, node->kind->name, why);
}

/* Reports that the shapes of two values of a node do not fit; returns the status. */
static fl_status mismatch(const xnn_node *node, const char *why, const xnn_shape *a, const xnn_shape *b) {
  const xnn_shape *both[] = {a, b};
  char texts[2][80] = {"", ""};
  for (size_t i = 0; i < 2; ++i) {
    size_t used = 0;
    for (uint32_t j = 0; j < both[i]->rank; ++j) {
      used += (size_t)snprintf(texts[i] + used, sizeof texts[i] - used, j == 0 ? "%" PRIu32 : ", %" PRIu32, both[i]->dims[j]);
    }
  }
  return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "node %u (%s): %s: [%s] and [%s]", node->index, node->kind->name, why, texts[0], texts[1]);
}

static int same(const xnn_shape *a, const xnn_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static uint64_t elements(const xnn_shape *shape) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < shape->rank; ++i) {
    count *= shape->dims[i];
  }
  return count;
}

/* Stores a size in dimension `at` of a result, and returns 1; returns 0 for a size of 0, or one that is too large. */
static int put(xnn_shape *result, uint32_t at, uint64_t size) {
  result->dims[at] = size <= INT32_MAX ? (uint32_t)size : 0;
  return result->dims[at] != 0;
}

/* Returns nonzero when a value is a constant of `rank` dimensions, which are the first of `a` to `d`. */
static int is_weight(const xnn_value *value, uint32_t rank, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t sizes[] = {a, b, c, d};
  int fits = value->shape.rank == rank && value->data != NULL;
  for (uint32_t i = 0; i < rank && fits; ++i) {
    fits = value->shape.dims[i] == sizes[i];
  }
  return fits;
}

/* Stores the shape of `rank` dimensions to which two operands broadcast, except its last `skipped` sizes; returns 0 if they do not broadcast. */
static int broadcast(const xnn_shape *a, const xnn_shape *b, uint32_t rank, uint32_t skipped, xnn_shape *result) {
  for (uint32_t i = skipped; i < rank; ++i) {
    const uint32_t left = i < a->rank ? a->dims[a->rank - 1 - i] : 1, right = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      return 0;
    }
    result->dims[rank - 1 - i] = left > right ? left : right;
  }
  result->rank = rank;
  return 1;
}

static fl_status infer_matmul(const xnn_node *node, const xnn_shape *a, const xnn_shape *b, xnn_shape *result) {
  const uint32_t rank = a->rank > b->rank ? a->rank : b->rank, is_transposed = node->flags != 0;
  if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2 + is_transposed] || !broadcast(a, b, rank, 2, result)) {
    return mismatch(node, "matrices that cannot be multiplied", a, b);
  }
  result->dims[rank - 2] = a->dims[a->rank - 2];
  result->dims[rank - 1] = b->dims[b->rank - 1 - is_transposed];
  return FL_OK;
}

static fl_status infer_fully_connected(const xnn_node *node, const xnn_value *values, xnn_shape *result) {
  const xnn_shape *input = &values[node->inputs[0]].shape, *filter = &values[node->inputs[1]].shape;
  const uint32_t is_transposed = node->flags != 0;
  if (input->rank == 0 || filter->rank != 2 || input->dims[input->rank - 1] != filter->dims[1 - is_transposed]) {
    return mismatch(node, "weights that do not fit the input", input, filter);
  }
  *result = *input;
  result->dims[input->rank - 1] = filter->dims[is_transposed];
  if (node->inputs[2] != UINT32_MAX) {
    const xnn_shape *bias = &values[node->inputs[2]].shape;
    if (bias->rank != 1 || bias->dims[0] != filter->dims[is_transposed]) {
      return mismatch(node, "a bias that does not fit the weights", bias, filter);
    }
  }
  return FL_OK;
}

/* Returns the number of windows along one dimension; 0 when no window fits. */
static uint64_t windows(uint64_t size, uint64_t pads, uint64_t kernel, uint64_t dilation, uint64_t stride) {
  const uint64_t extent = (kernel - 1) * dilation + 1;
  return size + pads < extent ? 0 : (size + pads - extent) / stride + 1;
}

static fl_status infer_window(const xnn_node *node, const xnn_shape *input, xnn_shape *result) {
  const uint32_t *n = node->numbers;
  const int is_square = node->kind->form == FORM_ARGMAX_POOLING, is_dilated = node->kind->form != FORM_AVERAGE_POOLING && !is_square;
  const uint32_t stride[] = {is_square ? n[KERNEL_HEIGHT] : n[STRIDE_HEIGHT], is_square ? n[KERNEL_WIDTH] : n[STRIDE_WIDTH]};
  const uint32_t dilation[] = {is_dilated ? n[DILATION_HEIGHT] : 1, is_dilated ? n[DILATION_WIDTH] : 1};
  if (input->rank != 4) {
    return refuse(node, "the input does not have four dimensions");
  }
  uint64_t count = 1;
  *result = *input;
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t kernel = n[KERNEL_HEIGHT + i], before = n[i == 0 ? PAD_TOP : PAD_LEFT], after = n[i == 0 ? PAD_BOTTOM : PAD_RIGHT];
    if (kernel == 0 || stride[i] == 0 || dilation[i] == 0 || kernel > INT32_MAX || before > INT32_MAX || after > INT32_MAX) {
      return refuse(node, "a kernel, stride or dilation of 0, or a number that is out of range");
    }
    uint64_t size;
    if (node->kind->form == FORM_DECONVOLUTION) {
      const uint64_t grown = (uint64_t)stride[i] * (input->dims[1 + i] - 1) + (kernel - 1) * dilation[i] + 1 + n[ADJUST_HEIGHT + i];
      size = grown > before + after && n[ADJUST_HEIGHT + i] < (stride[i] > dilation[i] ? stride[i] : dilation[i]) ? grown - before - after : 0;
    } else {
      size = windows(input->dims[1 + i], before + after, kernel, dilation[i], stride[i]);
    }
    if (!put(result, 1 + i, size)) {
      return refuse(node, "the kernel does not fit the input and its padding");
    }
    if (kernel * size > MOST_WINDOWS / count) {
      return refuse(node, "the kernel visits too many elements");
    }
    count *= kernel * size;
  }
  return FL_OK;
}

static fl_status infer_convolution(const xnn_node *node, const xnn_value *values, xnn_shape *result) {
  const uint32_t *n = node->numbers;
  const xnn_shape *input = &values[node->inputs[0]].shape;
  const xnn_value *filter = &values[node->inputs[1]];
  const uint64_t channels = (uint64_t)n[GROUPS] * n[GROUP_OUTPUTS];
  const fl_status status = infer_window(node, input, result);
  if (status != FL_OK) {
    return status;
  }
  const int is_depthwise = node->kind->form == FORM_DEPTHWISE;
  if ((is_depthwise && n[GROUP_INPUTS] != 1) || input->dims[3] != (uint64_t)n[GROUPS] * n[GROUP_INPUTS] || n[GROUP_INPUTS] == 0 ||
      !put(result, 3, channels)) {
    return refuse(node, "groups of channels that do not fit the input");
  }
  if (!(is_depthwise ? is_weight(filter, 4, 1, n[KERNEL_HEIGHT], n[KERNEL_WIDTH], channels)
                     : is_weight(filter, 4, channels, n[KERNEL_HEIGHT], n[KERNEL_WIDTH], n[GROUP_INPUTS]))) {
    return mismatch(node, "weights that are not constant or do not fit the kernel and the channels of the output", &filter->shape, result);
  }
  if (node->inputs[2] != UINT32_MAX && !is_weight(&values[node->inputs[2]], 1, channels, 0, 0, 0)) {
    return mismatch(node, "a bias that is not constant or does not fit the output", &values[node->inputs[2]].shape, result);
  }
  return FL_OK;
}

static fl_status infer_transpose(const xnn_node *node, const xnn_shape *input, xnn_shape *result) {
  uint32_t seen = 0;
  result->rank = node->list_counts[0];
  for (uint32_t i = 0; i < result->rank && result->rank == input->rank; ++i) {
    const uint32_t from = node->lists[0][i];
    result->dims[i] = from < input->rank ? input->dims[from] : 0;
    seen |= from < input->rank ? 1u << from : 0;
  }
  return result->rank == input->rank && seen == (1u << input->rank) - 1 ? FL_OK : refuse(node, "no permutation of the input's dimensions");
}

static fl_status infer_reshape(const xnn_node *node, const xnn_shape *input, xnn_shape *result) {
  const uint64_t all = elements(input);
  uint64_t known = 1;
  uint32_t open = XNN_RANK, count = 0;
  result->rank = node->list_counts[0];
  for (uint32_t i = 0; i < result->rank; ++i) {
    const uint32_t size = result->dims[i] = node->lists[0][i];
    open = size == 0 ? i : open;
    count += size == 0;
    known = size == 0 ? known : size > all / known ? all + 1 : known * size;
  }
  if (count == 1 && all % known == 0) {
    result->dims[open] = (uint32_t)(all / known);
    known = all;
  }
  return count <= 1 && known == all ? FL_OK : mismatch(node, "another number of elements", input, result);
}

static fl_status infer_pad(const xnn_node *node, const xnn_shape *input, xnn_shape *result) {
  if (node->list_counts[0] != input->rank || node->list_counts[1] != input->rank) {
    return refuse(node, "as many paddings as dimensions are needed");
  }
  result->rank = input->rank;
  for (uint32_t i = 0; i < input->rank; ++i) {
    if (!put(result, i, (uint64_t)input->dims[i] + node->lists[0][i] + node->lists[1][i])) {
      return refuse(node, "a padding is out of range");
    }
  }
  return FL_OK;
}

static fl_status infer_slice(const xnn_node *node, const xnn_shape *input, xnn_shape *result) {
  if (node->list_counts[0] != input->rank || node->list_counts[1] != input->rank) {
    return refuse(node, "as many offsets and sizes as dimensions are needed");
  }
  result->rank = input->rank;
  for (uint32_t i = 0; i < input->rank; ++i) {
    const uint32_t offset = node->lists[0][i], size = node->lists[1][i];
    if (size == 0 || size > INT32_MAX || offset >= input->dims[i]) {
      return refuse(node, "a slice is empty, or begins after the input's end");
    }
    /* A dimension that is shorter than at compile time ends the part earlier. */
    result->dims[i] = size < input->dims[i] - offset ? size : input->dims[i] - offset;
  }
  return FL_OK;
}

static fl_status infer_concatenate(const xnn_node *node, const xnn_value *values, xnn_shape *result) {
  const uint32_t axis = node->numbers[AXIS];
  *result = values[node->inputs[0]].shape;
  if (axis >= result->rank) {
    return refuse(node, "its axis is no dimension of the inputs");
  }
  for (uint32_t i = 1; i < node->kind->inputs; ++i) {
    xnn_shape other = values[node->inputs[i]].shape;
    const uint64_t size = (uint64_t)result->dims[axis] + (axis < other.rank ? other.dims[axis] : 0);
    if (axis < other.rank) {
      other.dims[axis] = result->dims[axis];
    }
    if (!same(result, &other) || !put(result, axis, size)) {
      return mismatch(node, "inputs that cannot be joined", result, &values[node->inputs[i]].shape);
    }
  }
  return FL_OK;
}

static fl_status infer_one(const xnn_node *node, const xnn_value *values, xnn_shape results[2]) {
  const xnn_shape *input = &values[node->inputs[0]].shape;
  xnn_shape *result = &results[0];
  switch ((xnn_form)node->kind->form) {
    case FORM_BINARY:
    case FORM_BINARY_LIMITS: {
      const xnn_shape *other = &values[node->inputs[1]].shape;
      return broadcast(input, other, input->rank > other->rank ? input->rank : other->rank, 0, result)
                 ? FL_OK
                 : mismatch(node, "operands that do not broadcast", input, other);
    }
    case FORM_MATMUL: return infer_matmul(node, input, &values[node->inputs[1]].shape, result);
    case FORM_FULLY_CONNECTED: return infer_fully_connected(node, values, result);
    case FORM_CONVOLUTION:
    case FORM_DEPTHWISE:
    case FORM_DECONVOLUTION: return infer_convolution(node, values, result);
    case FORM_ARGMAX_POOLING:
    case FORM_AVERAGE_POOLING:
    case FORM_MAX_POOLING: {
      const fl_status status = infer_window(node, input, result);
      results[1] = *result;
      return status;
    }
    case FORM_GLOBAL_POOLING:
      if (input->rank != 4) {
        return refuse(node, "the input does not have four dimensions");
      }
      *result = node->flags != 0 ? (xnn_shape){4, {input->dims[0], 1, 1, input->dims[3]}} : (xnn_shape){2, {input->dims[0], input->dims[3]}};
      return FL_OK;
    case FORM_TRANSPOSE: return infer_transpose(node, input, result);
    case FORM_RESHAPE: return infer_reshape(node, input, result);
    case FORM_RESIZE:
      *result = *input;
      return input->rank == 4 && put(result, 1, node->numbers[NEW_HEIGHT]) && put(result, 2, node->numbers[NEW_WIDTH])
                 ? FL_OK
                 : refuse(node, "it makes images of four dimensions and of a size that is not 0");
    case FORM_PAD: return infer_pad(node, input, result);
    case FORM_SLICE: return infer_slice(node, input, result);
    case FORM_CONCATENATE: return infer_concatenate(node, values, result);
    case FORM_SOFTMAX:
      *result = *input;
      return input->rank > 0 ? FL_OK : refuse(node, "the input has no dimensions");
    default: *result = *input; return FL_OK;
  }
}

fl_status fl_xnn_infer(const xnn_node *node, const xnn_value *values, xnn_shape results[2]) {
  memset(results, 0, 2 * sizeof *results);
  const fl_status status = infer_one(node, values, results);
  uint64_t count = 1;
  for (uint32_t i = 0; status == FL_OK && i < results[0].rank; ++i) {
    count *= results[0].dims[i];
    if (count > INT32_MAX) {
      return refuse(node, "its result has more than 2147483647 elements");
    }
  }
  return status;
}
