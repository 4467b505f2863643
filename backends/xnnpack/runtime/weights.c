/* Makes floats of the integer weights of layers with many rows: from about 16 rows on, XNNPACK multiplies floats by integers more slowly than by
 * floats, because it makes floats of the weight again for every few rows. */
#include <stdlib.h>

#include "delegate.h"

enum { IS_WIDENED = 8, IS_KEPT = 16 }; /* flags of a weight whose readers want floats, and of one whose readers, or some, want integers */

/* The memory of a weight in floats. */
typedef struct weight {
  struct weight *next;
  float numbers[];
} weight;

static uint64_t rows_of(const xnn_shape *shape) {
  uint64_t rows = 1;
  for (uint32_t i = 0; i + 1 < shape->rank; ++i) {
    rows *= shape->dims[i];
  }
  return rows;
}

/* Marks the weights that a node reads. */
static void mark(const xnn_node *node, xnn_value *values, uint32_t rows) {
  const xnn_value *x = &values[node->inputs[0]];
  const int is_layer = node->kind->form == FORM_FULLY_CONNECTED && node->flags == 0 && x->type == XNN_FP32 && rows_of(&x->shape) >= rows;
  for (uint32_t i = 0; i < node->kind->inputs; ++i) {
    xnn_value *value = node->inputs[i] == UINT32_MAX ? NULL : &values[node->inputs[i]];
    if (value != NULL && value->type == XNN_QCINT8) {
      value->flags |= i == 1 && is_layer && value->channel_dim == 0 && value->shape.rank == 2 ? IS_WIDENED : IS_KEPT;
    }
  }
}

/* Puts floats in the place of the integers of a weight. */
static fl_status widen(delegate *d, xnn_value *value) {
  const size_t outputs = value->shape.dims[0], inputs = value->shape.dims[1];
  weight *const made = malloc(sizeof *made + outputs * inputs * sizeof(float) + XNN_EXTRA_BYTES);
  if (made == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for a weight of %llu floats", (unsigned long long)(outputs * inputs));
  }
  const int8_t *const integers = (const int8_t *)value->data;
  for (size_t i = 0; i < outputs; ++i) {
    for (size_t j = 0; j < inputs; ++j) {
      made->numbers[i * inputs + j] = (float)integers[i * inputs + j] * value->scales[i];
    }
  }
  made->next = (weight *)d->weights;
  d->weights = made;
  value->type = XNN_FP32;
  value->scales = NULL;
  value->data = made->numbers;
  return FL_OK;
}

fl_status fl_xnn_widen_weights(delegate *d, uint32_t rows) {
  xnn_node node;
  fl_status status = FL_OK;
  for (uint32_t i = 0; status == FL_OK && rows != 0 && i < d->graph.node_count; ++i) {
    status = fl_xnn_read_node(&d->graph, i, &node);
    if (status == FL_OK) {
      mark(&node, d->values, rows);
    }
  }
  for (uint32_t i = 0; i < d->graph.value_count; ++i) {
    xnn_value *value = &d->values[i];
    if (status == FL_OK && (value->flags & (IS_WIDENED | IS_KEPT)) == IS_WIDENED) {
      status = widen(d, value);
    }
    value->flags &= (uint8_t) ~(IS_WIDENED | IS_KEPT);
  }
  return status;
}

void fl_xnn_free_weights(delegate *d) {
  for (weight *made = (weight *)d->weights; made != NULL;) {
    weight *const next = made->next;
    free(made);
    made = next;
  }
  d->weights = NULL;
}
