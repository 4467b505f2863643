/* XNNPACK as a shared library, which is loaded with the first program that needs it. Its interface is declared here by hand, so that compiling needs
 * no file of XNNPACK. Functions that some versions lack are looked up by name. */
#ifndef FLAMBEAU_XNNPACK_LIBRARY_H
#define FLAMBEAU_XNNPACK_LIBRARY_H

#include "graph.h"

typedef int xnn_status; /* 0: success */
typedef struct xnn_subgraph *xnn_subgraph_t;
typedef struct xnn_runtime *xnn_runtime_t;
typedef struct pthreadpool *pthreadpool_t;
typedef void (*xnn_symbol)(void);

typedef struct xnn_external_value {
  uint32_t id;
  void *data;
} xnn_external_value;

typedef struct xnn_library {
  void *handle;
  xnn_status (*initialize)(const void *allocator);
  xnn_status (*create_subgraph)(uint32_t external_values, uint32_t flags, xnn_subgraph_t *subgraph);
  xnn_status (*delete_subgraph)(xnn_subgraph_t subgraph);
  xnn_status (*define_tensor_value)(xnn_subgraph_t subgraph, int type, size_t rank, const size_t *dims, const void *data, uint32_t external,
                                    uint32_t flags, uint32_t *id);
  /* Both NULL: the version has no quantized values. */
  xnn_status (*define_quantized_value)(xnn_subgraph_t subgraph, int type, int32_t zero_point, float scale, size_t rank, const size_t *dims,
                                       const void *data, uint32_t external, uint32_t flags, uint32_t *id);
  xnn_status (*define_channelwise_value)(xnn_subgraph_t subgraph, int type, int32_t zero_point, const float *scales, size_t rank,
                                         size_t channel_dim, const size_t *dims, const void *data, uint32_t external, uint32_t flags,
                                         uint32_t *id);
  /* NULL: the version has no integers whose scales each run finds. */
  xnn_status (*define_dynamic_value)(xnn_subgraph_t subgraph, int type, size_t rank, size_t row_rank, const size_t *dims, uint32_t external,
                                     uint32_t flags, uint32_t *id);
  xnn_status (*create_runtime)(xnn_subgraph_t subgraph, pthreadpool_t pool, uint32_t flags, xnn_runtime_t *runtime);
  xnn_status (*delete_runtime)(xnn_runtime_t runtime);
  xnn_status (*invoke_runtime)(xnn_runtime_t runtime);
  xnn_status (*setup)(xnn_runtime_t runtime, size_t count, const xnn_external_value *values);
  /* NULL: the version cannot change the shapes of a subgraph. */
  xnn_status (*reshape_value)(xnn_runtime_t runtime, uint32_t external, size_t rank, const size_t *dims);
  xnn_status (*reshape_runtime)(xnn_runtime_t runtime);
  xnn_status (*value_shape)(xnn_runtime_t runtime, uint32_t external, size_t *rank, size_t *dims);
  /* NULL: the version runs on the caller's thread. */
  pthreadpool_t (*create_pool)(size_t threads);
  void (*destroy_pool)(pthreadpool_t pool);
  /* NULL: the version does not tell the times of its operators. */
  xnn_status (*profiling_info)(xnn_runtime_t runtime, int what, size_t room, void *value, size_t *size);
} xnn_library;

/* Loads the library: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_XNNPACK_LIBRARY if it is set, else from
 * the package `executorch` beside this library, or from the system. */
fl_status fl_xnn_load(const char *path, xnn_library *library);
void fl_xnn_unload(const xnn_library *library);
/* Returns a pool of threads, which all delegates with the same number of threads share; NULL when it cannot be made. */
pthreadpool_t fl_xnn_take_pool(const xnn_library *library, size_t threads);
void fl_xnn_give_back_pool(const xnn_library *library, pthreadpool_t pool);
/* Returns the function `xnn_define_<kind>`; NULL when the library does not have it. */
xnn_symbol fl_xnn_definition(const xnn_library *library, const char *kind);
const char *fl_xnn_status_name(xnn_status status);
/* Begin and end to watch XNNPACK's allocations on this thread. The second returns whether one failed between: some of XNNPACK's functions ignore
 * that and succeed. The failure shows in errno, which malloc sets; an allocator of ours would not see it, because the library of the wheel has taken
 * its own when it was loaded. */
void fl_xnn_watch_memory(void);
int fl_xnn_ran_out_of_memory(xnn_status status);

/* Adds a node to a subgraph, which has the node's values already. */
fl_status fl_xnn_define(const xnn_library *library, xnn_subgraph_t subgraph, const xnn_node *node, const xnn_value *values);

#endif
