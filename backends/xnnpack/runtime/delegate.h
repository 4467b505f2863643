/* A delegate of this backend in the memory that `measure` asked for. */
#ifndef FLAMBEAU_XNNPACK_DELEGATE_H
#define FLAMBEAU_XNNPACK_DELEGATE_H

#include "library.h"

/* XNNPACK reads so many bytes after the end of a tensor, without using them. */
enum { XNN_EXTRA_BYTES = 16 };

typedef struct delegate {
  xnn_library library;
  xnn_runtime_t runtime;
  pthreadpool_t pool;
  fl_payload payload;
  xnn_graph graph;
  xnn_value *values;
  xnn_external_value *externals;
  void **copies;  /* of arguments after whose end nothing may be read, by argument */
  void *tail;     /* a copy of the end of the program, if constants lie there */
  uint32_t external_count;
  uint8_t is_shaped; /* XNNPACK knows the shapes of `values` */
  uint8_t is_set;    /* XNNPACK knows the memory of `externals` */
} delegate;

enum { VALUE_KNOWN = 4 }; /* flag of a value: constant, input, or computed by an earlier node */

/* Bytes of the elements of a value. */
size_t fl_xnn_bytes(const xnn_value *value);
/* Reads the values of an opened graph; inputs and outputs are the arguments of a call, in this order, each once. */
fl_status fl_xnn_read_values(delegate *d);
/* Gives the values that nodes compute the shapes that follow from those of the inputs. `subgraph`: the nodes are checked, and added to it. */
fl_status fl_xnn_infer_nodes(delegate *d, xnn_subgraph_t subgraph);
/* Makes the threads and the runtime of XNNPACK. What was made before a failure is in the delegate. */
fl_status fl_xnn_build(delegate *d, size_t threads);
void fl_xnn_widen(const xnn_shape *shape, size_t dims[XNN_RANK]);

#endif
