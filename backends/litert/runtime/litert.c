/* The backend "LiteRtBackend": runs TFLite models with a LiteRT library that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. LiteRT itself allocates memory with malloc, and starts threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

enum {
  BYTES_BEHIND = 16, /* behind an input, XNNPACK reads up to so many bytes, and does not use them */
  PAGE = 4096        /* the smallest size of a page */
};

/* An input or output of the model. */
typedef struct port {
  lrt_type type; /* with the sizes of the last call, where calls decide the first; before any, that is 0 */
  size_t bytes;
  int is_open;         /* nonzero: calls decide the first size, */
  uint32_t least, most; /* of an input, within these */
  void *data;          /* the memory of its buffer */
  void *copy; /* for tensors that lie where LiteRT does not take them: at a multiple of 64 bytes in `block`, to be freed */
  void *block;
} port;

typedef struct delegate {
  lrt_library library;
  lrt_environment *environment;
  lrt_model *model;
  lrt_compiled *compiled;
  void *moved; /* the model, to be freed, if the payload's is not aligned; else NULL */
  size_t inputs;
  size_t outputs;
  int is_open;          /* nonzero: calls decide the first sizes of some arguments */
  int is_prepared;      /* nonzero: LiteRT's operators are prepared for the sizes in the ports */
  port *ports;          /* the inputs, then the outputs */
  lrt_buffer **buffers; /* of the ports */
} delegate;

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  lrt_payload read;
  lrt_settings set;
  lrt_library library;
  *message = fl_library_message();
  fl_status status = fl_lrt_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_lrt_read_settings(self, payload, &set)) == FL_OK && (status = fl_lrt_load(set.library, &library)) == FL_OK) {
    fl_library_close(library.handle);
    memory->persistent = sizeof(delegate) + ((size_t)read.inputs + read.outputs) * (sizeof(port) + sizeof(lrt_buffer *));
    memory->outputs = read.outputs;
  }
  return status;
}

/* ---- Init ---- */

static void destroy(const fl_backend *self, void *handle) {
  delegate *const d = (delegate *)handle;
  (void)self;
  for (size_t i = 0; i < d->inputs + d->outputs; ++i) {
    if (d->buffers[i] != NULL) {
      d->library.destroy_buffer(d->buffers[i]);
    }
    free(d->ports[i].block);
  }
  if (d->compiled != NULL) {
    d->library.destroy_compiled(d->compiled);
  }
  if (d->model != NULL) {
    d->library.destroy_model(d->model);
  }
  if (d->environment != NULL) {
    d->library.destroy_environment(d->environment);
  }
  free(d->moved);
  fl_library_close(d->library.handle);
}

/* Returns the first place at or behind `data` that is a multiple of LiteRT's alignment. */
static void *aligned(void *data) {
  const size_t past = (uintptr_t)data % LRT_ALIGNMENT;
  return (char *)data + (past == 0 ? 0 : LRT_ALIGNMENT - past);
}

/* Makes the model of the payload's bytes, which stay where they are if its constants are aligned there. */
static fl_status read_model(delegate *d, const lrt_payload *payload) {
  enum { MODEL_ALIGNMENT = 16 };
  const void *data = payload->model;
  if ((uintptr_t)data % MODEL_ALIGNMENT != 0) {
    d->moved = malloc(payload->size + LRT_ALIGNMENT + BYTES_BEHIND);
    if (d->moved == NULL) {
      return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there are no %llu bytes for its model", (unsigned long long)payload->size);
    }
    data = memcpy(aligned(d->moved), payload->model, payload->size);
  }
  const lrt_status status = d->library.create_model(d->environment, data, payload->size, &d->model);
  return status == 0 ? FL_OK : fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: LiteRT does not read its model (status %d)", status);
}

static void keep(void *text) { (void)text; }

/* Gives options a text in LiteRT's form. */
static lrt_status add_text(const lrt_library *library, lrt_options *options, const char *name, char *text) {
  lrt_opaque *opaque = NULL;
  const lrt_status status = library->create_opaque(name, text, keep, &opaque);
  return status != 0 ? status : library->add_opaque(options, opaque);
}

static fl_status compile(delegate *d, const lrt_settings *set) {
  char processor[80], reports[40];
  lrt_options *options = NULL;
  (void)snprintf(processor, sizeof processor, "kernel_mode = %d\nnum_threads = %d\n", set->mode, set->threads);
  /* 1: to standard error; 2: kept, for messages. */
  (void)snprintf(reports, sizeof reports, "error_reporter_mode = %d\n", set->says_all ? 1 : 2);
  lrt_status status = d->library.create_options(&options);
  status = status != 0 ? status : d->library.set_accelerators(options, LRT_CPU);
  status = status != 0 ? status : add_text(&d->library, options, "xnnpack", processor);
  status = status != 0 ? status : add_text(&d->library, options, "runtime_options_string", reports);
  status = status != 0 ? status : d->library.compile(d->environment, d->model, options, &d->compiled);
  if (options != NULL) {
    d->library.destroy_options(options);
  }
  return status == 0 ? FL_OK : fl_lrt_refused(&d->library, NULL, status, "LiteRT does not compile it");
}

/* Returns the bytes of an element; 0 for a type that no operator of the backend has. */
static size_t element_bytes(int element) {
  switch (element) {
    case LRT_BOOL:
    case LRT_INT8:
    case LRT_UINT8: return 1;
    case LRT_INT16:
    case LRT_FLOAT16: return 2;
    case LRT_INT32:
    case LRT_FLOAT32: return 4;
    case LRT_INT64:
    case LRT_FLOAT64: return 8;
    default: return 0;
  }
}

/* Reads the type of input or output `index` of the graph into its port. */
static lrt_status describe(delegate *d, lrt_graph *graph, size_t index) {
  lrt_tensor *tensor = NULL;
  port *const p = &d->ports[index];
  const lrt_status status = index < d->inputs ? d->library.input(graph, index, &tensor) : d->library.output(graph, index - d->inputs, &tensor);
  return status != 0 ? status : d->library.type(tensor, &p->type);
}

/* Computes the bytes of a port: 0 for a type or sizes that are not supported. */
static void measure_port(port *p) {
  p->bytes = p->type.layout.rank <= LRT_MOST_RANK && !p->type.layout.has_strides ? element_bytes(p->type.element) : 0;
  for (unsigned k = 0; k < p->type.layout.rank && k < LRT_MOST_RANK; ++k) {
    const int32_t size = p->type.layout.dims[k];
    p->bytes = size > 0 && p->bytes <= PTRDIFF_MAX / (size_t)size ? p->bytes * (size_t)size : 0;
  }
}

/* Stores that calls decide the first size of port `index`; an input has its least one until then. */
static void open_port(delegate *d, const lrt_payload *payload, size_t index) {
  port *const p = &d->ports[index];
  p->is_open = d->is_open = 1;
  p->least = index < d->inputs ? fl_lrt_least_size(payload, index, &p->most) : 1;
  p->type.layout.dims[0] = (int32_t)p->least;
}

static fl_status describe_ports(delegate *d, const lrt_payload *payload) {
  lrt_graph *graph = NULL;
  size_t inputs = 0, outputs = 0;
  lrt_status status = d->library.graph(d->model, 0, &graph);
  status = status != 0 ? status : d->library.input_count(graph, &inputs);
  status = status != 0 ? status : d->library.output_count(graph, &outputs);
  if (status == 0 && (inputs != d->inputs || outputs != d->outputs)) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: its model has %zu inputs and %zu outputs, its label %zu and %zu", inputs, outputs,
                           d->inputs, d->outputs);
  }
  for (size_t i = 0; status == 0 && i < inputs + outputs; ++i) {
    status = describe(d, graph, i);
    port *const p = &d->ports[i];
    if (status == 0 && payload->ranges != NULL && p->type.layout.rank > 0 && p->type.layout.dims[0] < 0) {
      open_port(d, payload, i);
    }
    measure_port(p);
    if (status == 0 && p->bytes == 0) {
      return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: argument %zu has a type or sizes that are not supported", i);
    }
  }
  return status == 0 ? FL_OK : fl_lrt_refused(&d->library, NULL, status, "LiteRT does not describe its arguments");
}

/* Takes the sizes of an output that LiteRT has computed from those of the inputs. */
static fl_status resize_output(delegate *d, size_t index, const lrt_layout *layout) {
  port *const p = &d->ports[index];
  int fits = layout->rank == p->type.layout.rank;
  for (unsigned k = 0; fits && k < layout->rank && k < LRT_MOST_RANK; ++k) {
    fits = layout->dims[k] == p->type.layout.dims[k] || (k == 0 && p->is_open);
  }
  if (fits && layout->rank > 0) {
    p->type.layout.dims[0] = layout->dims[0];
  }
  measure_port(p);
  return fits && p->bytes != 0 ? FL_OK : fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "argument %zu has other sizes than its payload says", index);
}

/* Has LiteRT prepare each operator for the sizes of the inputs, and takes those of the outputs. */
static fl_status prepare(delegate *d) {
  lrt_layout *const layouts = (lrt_layout *)calloc(d->outputs, sizeof *layouts);
  if (layouts == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for its outputs");
  }
  lrt_status status = 0;
  for (size_t i = 0; status == 0 && i < d->inputs; ++i) {
    const port *const p = &d->ports[i];
    status = p->is_open ? d->library.resize(d->compiled, 0, i, p->type.layout.dims, p->type.layout.rank) : 0;
  }
  status = status != 0 ? status : d->library.output_layouts(d->compiled, 0, d->outputs, layouts, true);
  fl_status done = status == 0 ? FL_OK : fl_lrt_refused(&d->library, d->compiled, status, "LiteRT does not prepare it");
  for (size_t i = 0; done == FL_OK && d->is_open && i < d->outputs; ++i) {
    done = resize_output(d, d->inputs + i, &layouts[i]);
  }
  free(layouts);
  d->is_prepared = done == FL_OK;
  return done;
}

static fl_status build(delegate *d, const lrt_payload *payload, const lrt_settings *set) {
  /* Of the accelerators, the processor alone: LiteRT looks for libraries of the others. */
  const lrt_setting settings[] = {{LRT_ACCELERATORS, {LRT_NUMBER, LRT_CPU}}, {LRT_LEAST_SEVERITY, {LRT_NUMBER, set->says_all ? LRT_SAY_ALL : LRT_SAY_NOTHING}}};
  if (d->library.create_environment(2, settings, &d->environment) != 0) {
    return fl_library_fail(FL_NOT_FOUND, "LiteRT does not start on this machine");
  }
  fl_status status = read_model(d, payload);
  status = status != FL_OK ? status : describe_ports(d, payload);
  status = status != FL_OK ? status : compile(d, set);
  return status != FL_OK ? status : prepare(d);
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *const d = (delegate *)persistent;
  lrt_payload read;
  lrt_settings set;
  *message = fl_library_message();
  memset(d, 0, sizeof *d);
  fl_status status = fl_lrt_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_lrt_read_settings(self, payload, &set)) == FL_OK && (status = fl_lrt_load(set.library, &d->library)) == FL_OK) {
    const size_t count = (size_t)read.inputs + read.outputs;
    d->inputs = read.inputs;
    d->outputs = read.outputs;
    d->ports = (port *)memset(d + 1, 0, count * (sizeof(port) + sizeof(lrt_buffer *)));
    d->buffers = (lrt_buffer **)(d->ports + count);
    if ((status = build(d, &read, &set)) != FL_OK) {
      destroy(self, d);
    }
  }
  *handle = d;
  return status;
}

/* ---- Execute ---- */

static int element_type(int8_t dtype) {
  switch (dtype) {
    case FL_FLOAT32: return LRT_FLOAT32;
    case FL_FLOAT64: return LRT_FLOAT64;
    case FL_FLOAT16: return LRT_FLOAT16;
    case FL_BOOL: return LRT_BOOL;
    case FL_INT8: return LRT_INT8;
    case FL_INT16: return LRT_INT16;
    case FL_INT32: return LRT_INT32;
    case FL_INT64: return LRT_INT64;
    case FL_UINT8: return LRT_UINT8;
    default: return -1;
  }
}

/* Returns whether an argument has the type, rank and sizes of its port, but for a first size that calls decide. */
static int fits(const port *p, const fl_tensor *t) {
  int fit = t != NULL && element_type(t->dtype) == p->type.element && t->rank == p->type.layout.rank && fl_is_contiguous(t);
  for (unsigned i = p->is_open ? 1 : 0; fit && i < p->type.layout.rank; ++i) {
    fit = t->sizes[i] == p->type.layout.dims[i];
  }
  return fit;
}

/* Drops what is bound to a port of other sizes. */
static void unbind(delegate *d, size_t index) {
  port *const p = &d->ports[index];
  if (d->buffers[index] != NULL) {
    d->library.destroy_buffer(d->buffers[index]);
    d->buffers[index] = NULL;
  }
  free(p->block);
  p->block = p->copy = p->data = NULL;
}

/* Prepares the model for the first sizes of inputs, where they are others than those of the last call, and gives outputs theirs. */
static fl_status take_sizes(delegate *d, fl_context *context, fl_value *const *args) {
  fl_status status = FL_OK;
  for (size_t i = 0; status == FL_OK && i < d->inputs; ++i) {
    port *const p = &d->ports[i];
    const int32_t size = p->is_open ? fl_get_tensor(args[i])->sizes[0] : 0;
    if (p->is_open && size != p->type.layout.dims[0]) {
      if (size < 0 || (uint32_t)size < p->least || (uint32_t)size > p->most) {
        return fl_library_fail(FL_INVALID_ARGUMENT, "argument %zu has %d entries, and its payload takes %u to %u", i, (int)size, p->least, p->most);
      }
      d->is_prepared = 0;
      p->type.layout.dims[0] = size;
      measure_port(p);
      status = p->bytes != 0 ? FL_OK : fl_library_fail(FL_INVALID_ARGUMENT, "argument %zu has more bytes than there can be", i);
    }
  }
  if (status == FL_OK && !d->is_prepared) {
    for (size_t i = 0; i < d->inputs + d->outputs; ++i) {
      unbind(d, i);
    }
    status = prepare(d);
  }
  for (size_t i = d->inputs; status == FL_OK && i < d->inputs + d->outputs; ++i) {
    const port *const p = &d->ports[i];
    fl_tensor *const t = fl_get_tensor(args[i]);
    if (p->is_open && t->sizes[0] != p->type.layout.dims[0]) {
      status = fl_resize(context, t, p->type.layout.dims, t->rank) == FL_OK
                   ? FL_OK
                   : fl_library_fail(FL_INVALID_ARGUMENT, "argument %zu has no room for %d entries", i, (int)p->type.layout.dims[0]);
    }
  }
  return status;
}

/* Returns whether LiteRT takes a tensor where it lies. */
static int is_in_place(const port *p, const fl_tensor *t, int is_input) {
  const uintptr_t first = (uintptr_t)t->data, last = first + p->bytes - 1;
  return first % LRT_ALIGNMENT == 0 && (!is_input || last / PAGE == (last + BYTES_BEHIND) / PAGE);
}

/* Tells LiteRT the memory of argument `index`: its own, or else a copy's. */
static fl_status bind(delegate *d, size_t index, const fl_tensor *t) {
  port *const p = &d->ports[index];
  void *data = t->data;
  if (!is_in_place(p, t, index < d->inputs)) {
    if (p->block == NULL) {
      p->block = calloc(1, p->bytes + LRT_ALIGNMENT + BYTES_BEHIND);
      if (p->block == NULL) {
        return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there are no %llu bytes for argument %u", (unsigned long long)p->bytes, (unsigned)index);
      }
      p->copy = aligned(p->block);
    }
    data = p->copy;
    if (index < d->inputs) {
      memcpy(data, t->data, p->bytes);
    }
  }
  if (d->buffers[index] != NULL && p->data == data) {
    return FL_OK;
  }
  if (d->buffers[index] != NULL) {
    d->library.destroy_buffer(d->buffers[index]);
    d->buffers[index] = NULL;
  }
  p->data = data;
  const lrt_status status = d->library.create_buffer(&p->type, data, p->bytes, NULL, &d->buffers[index]);
  return status == 0 ? FL_OK : fl_lrt_refused(&d->library, NULL, status, "LiteRT does not take an argument");
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *const d = (delegate *)handle;
  fl_status status = FL_OK;
  (void)self;
  FL_CHECK(context, count == d->inputs + d->outputs, "the call has more or fewer arguments than its payload");
  for (size_t i = 0; status == FL_OK && i < count; ++i) {
    const int fit = fits(&d->ports[i], fl_get_tensor(args[i]));
    status = fit ? FL_OK : fl_library_fail(FL_INVALID_ARGUMENT, "argument %u is not the tensor that its payload says", (unsigned)i);
  }
  if (status == FL_OK && d->is_open) {
    status = take_sizes(d, context, args);
  }
  for (size_t i = 0; status == FL_OK && i < count; ++i) {
    status = bind(d, i, fl_get_tensor(args[i]));
  }
  if (status == FL_OK) {
    const lrt_status done = d->library.run(d->compiled, 0, d->inputs, d->buffers, d->outputs, d->buffers + d->inputs);
    status = done == 0 ? FL_OK : fl_lrt_refused(&d->library, d->compiled, done, "LiteRT fails");
  }
  if (status != FL_OK) {
    return FL_FAIL(context, status, fl_library_message());
  }
  for (size_t i = d->inputs; i < count; ++i) {
    const port *const p = &d->ports[i];
    const fl_tensor *const t = fl_get_tensor(args[i]);
    if (p->data != t->data) {
      memcpy(t->data, p->data, p->bytes);
    }
  }
  return FL_OK;
}

extern const fl_backend fl_backend_litert;
static const char *const option_names[] = {"kernels", "library", "log", "threads", NULL};

const fl_backend fl_backend_litert = {.struct_size = sizeof(fl_backend),
                                      .id = "LiteRtBackend",
                                      .name = "litert",
                                      .measure = measure,
                                      .init = init,
                                      .execute = execute,
                                      .destroy = destroy,
                                      .option_names = option_names};
