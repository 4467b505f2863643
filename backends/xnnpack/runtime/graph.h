/* Reads the graph in a payload of the backend "XnnpackBackend": ExecuTorch's header "XH00" and flatbuffer "XN01". No field is trusted. */
#ifndef FLAMBEAU_XNNPACK_GRAPH_H
#define FLAMBEAU_XNNPACK_GRAPH_H

#include "flambeau/backend.h"
#include "flambeau/library.h"

enum { XNN_RANK = 6, XNN_MOST_EXTERNALS = 4096 };

typedef struct xnn_shape {
  uint32_t rank;
  uint32_t dims[XNN_RANK];
} xnn_shape;

/* Element types, with the numbers of XNNPACK and of the format. */
enum { XNN_FP32 = 1, XNN_FP16 = 2, XNN_QINT8 = 3, XNN_QINT32 = 5, XNN_QCINT8 = 6, XNN_QCINT32 = 7, XNN_QDINT8 = 9 };
enum { XNN_INDEX = 255 }; /* a value that a node makes a 32-bit index; the payload declares it as fp32 */
enum { XNN_INPUT = 1, XNN_OUTPUT = 2 }; /* flags of a value, the same as XNNPACK's */

/* A tensor of the graph. Its number in nodes is its index among the values. */
typedef struct xnn_value {
  xnn_shape shape;
  uint8_t type;
  uint8_t flags;
  uint32_t external; /* index among the arguments of a call, of an input or output */
  uint32_t id;       /* XNNPACK's id, which counts inputs and outputs first */
  const void *data;  /* bytes of a constant, as many as the shape needs; NULL: no constant */
  /* Parameters of quantized integers. */
  float scale;
  int32_t zero_point;
  uint32_t channel_dim;
  uint32_t last;       /* 1 + the index of the last node that reads it; 0: none does */
  uint32_t row_rank;   /* XNN_QDINT8: how many of the last dimensions are a row, which has a scale and a zero point of its own in each run */
  const float *scales; /* XNN_QCINT8 and XNN_QCINT32: a scale for each entry of dimension channel_dim */
} xnn_value;

/* The form of a kind of nodes, which decides the function of XNNPACK that defines it, and the rule for its shapes. */
typedef enum xnn_form {
  FORM_UNARY, FORM_UNARY_LIMITS, FORM_UNARY_NUMBER, FORM_UNARY_TYPED, FORM_CONVERT, FORM_SOFTMAX, FORM_BINARY, FORM_BINARY_LIMITS, FORM_MATMUL,
  FORM_FULLY_CONNECTED, FORM_CONVOLUTION, FORM_DEPTHWISE, FORM_DECONVOLUTION, FORM_AVERAGE_POOLING, FORM_MAX_POOLING, FORM_ARGMAX_POOLING,
  FORM_GLOBAL_POOLING, FORM_TRANSPOSE, FORM_RESHAPE, FORM_RESIZE, FORM_PAD, FORM_SLICE, FORM_CONCATENATE
} xnn_form;

/* A kind of nodes. */
typedef struct xnn_kind {
  const char *name;   /* "convolution_2d": the function is xnn_define_<name> */
  uint8_t form;       /* xnn_form */
  uint8_t inputs;
  uint8_t code;       /* FORM_UNARY_TYPED: xnn_unary_operator; else what xnn_code tells apart */
  uint8_t flags;      /* the flags that it admits */
} xnn_kind;

/* Kinds of one form that differ in the scales that they take. */
enum xnn_code { UNARY_COPY = 1, UNARY_ELU, BINARY_SUM, BINARY_PRODUCT };

/* The indices in `numbers` of the fields of nodes, in the order of their tables. */
enum { PAD_TOP, PAD_RIGHT, PAD_BOTTOM, PAD_LEFT, KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_HEIGHT, STRIDE_WIDTH, DILATION_HEIGHT, DILATION_WIDTH,
       GROUP_INPUTS, GROUP_OUTPUTS, GROUPS, ADJUST_HEIGHT, ADJUST_WIDTH, NODE_NUMBERS };
enum { NEW_HEIGHT = 0, NEW_WIDTH = 1, AXIS = 0 };

typedef struct xnn_node {
  const xnn_kind *kind;
  uint32_t index;
  uint32_t handle;     /* the number that the compiler gave to the model's operator */
  uint32_t flags;
  uint32_t inputs[5];  /* indices of values; UINT32_MAX: an absent bias */
  uint32_t outputs[2];
  uint32_t output_count;
  uint32_t numbers[NODE_NUMBERS];
  uint32_t lists[2][XNN_RANK]; /* a permutation, a shape, offsets and sizes, paddings */
  uint32_t list_counts[2];
  float low;
  float high;
  float number;
} xnn_node;

typedef struct xnn_graph {
  const fl_payload *payload;
  const uint8_t *file; /* the flatbuffer */
  const uint8_t *constants;
  uint64_t constants_size;
  uint32_t size;
  uint32_t nodes_at, values_at, constants_at; /* positions of the vectors' first elements */
  uint32_t node_count, value_count, constant_count;
  uint32_t externals;
  fl_library_names names; /* where the search for its weights goes on */
  uint8_t is_damaged; /* 1: a position outside of the flatbuffer was read */
} xnn_graph;

/* Finds the parts of a payload: flatbuffer, constants, and the vectors of nodes, values and constants. */
fl_status fl_xnn_open(const fl_payload *payload, xnn_graph *graph);
/* Returns the bytes of an element; 0 for an unknown type. */
size_t fl_xnn_element_bytes(uint8_t type);
/* Reads and checks value `index`, with its constant. */
fl_status fl_xnn_read_value(xnn_graph *graph, uint32_t index, xnn_value *value);
/* Reads node `index` and checks that its values exist. */
fl_status fl_xnn_read_node(xnn_graph *graph, uint32_t index, xnn_node *node);

/* Stores the shapes of a node's outputs, which follow from those of its inputs, in `results`. Checks every property of the node that XNNPACK
 * does not check itself. */
fl_status fl_xnn_infer(const xnn_node *node, const xnn_value *values, xnn_shape results[2]);

#endif
