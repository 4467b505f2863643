/* A delegate of this backend, which lies in the memory that `measure` asked for. */
#ifndef FLAMBEAU_XNNPACK_DELEGATE_H
#define FLAMBEAU_XNNPACK_DELEGATE_H

#include "library.h"

/* The bytes after the end of a tensor that XNNPACK reads, without using them. */
enum { XNN_EXTRA_BYTES = 16 };

typedef struct delegate {
  xnn_library library;
  xnn_runtime_t runtime;
  pthreadpool_t pool;
  fl_payload payload;
  xnn_graph graph;
  xnn_value *values;
  xnn_external_value *externals;
  xnn_shape *bounds; /* by argument: its largest sizes */
  void **copies;  /* by argument: the copy of a tensor after whose end no byte may be read */
  struct xnn_profile *profile; /* the operators of the runtime, if it measures their times; else NULL */
  void *weights;  /* a list of the weights in floats that XNNPACK packs, while its runtime is made */
  void *tail;     /* the copy of the end of the program, if constants lie there */
  uint32_t external_count;
  uint8_t is_shaped; /* 1: XNNPACK has the shapes of `values` */
  uint8_t is_set;    /* 1: XNNPACK has the memory of `externals` */
  uint8_t is_lost;   /* 1: XNNPACK could not allocate memory, after which its runtime must not run */
} delegate;

enum { VALUE_KNOWN = 4 }; /* flag of a value that is a constant, an input, or the result of an earlier node */

/* Returns the bytes of the elements of a value. */
size_t fl_xnn_bytes(const xnn_value *value);
/* Reads the values of an opened graph. Fails unless its inputs and then its outputs are the arguments of a call, each once. */
fl_status fl_xnn_read_values(delegate *d);
/* Computes the shapes of all values from those of the inputs. If `subgraph` is not NULL, also checks the nodes and adds them to it. */
fl_status fl_xnn_infer_nodes(delegate *d, xnn_subgraph_t subgraph);
/* Makes floats of the integer weights that only layers of floats with at least so many rows read; 0: of none. Nodes and values need not have been
 * checked. */
fl_status fl_xnn_widen_weights(delegate *d, uint32_t rows);
void fl_xnn_free_weights(delegate *d);

/* What the options of a delegate say. */
typedef struct settings {
  const char *library;
  size_t threads;
  int is_measured;     /* 1: XNNPACK measures the times of its operators */
  uint32_t float_rows; /* how many rows a layer has for which integer weights become floats; 0: none does */
} settings;

/* Makes XNNPACK's threads and runtime. After a failure, the delegate holds the parts made so far, which the caller releases. */
fl_status fl_xnn_build(delegate *d, const settings *set);
/* Finds the operators of a runtime that measures their times. Without them, the delegate runs as well. */
void fl_xnn_find_operators(delegate *d);
int fl_xnn_operator_time(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found);
void fl_xnn_widen(const xnn_shape *shape, size_t dims[XNN_RANK]);

#endif
