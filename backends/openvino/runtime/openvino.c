/* The backend "OpenvinoBackend": runs models with an OpenVINO library that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. OpenVINO itself allocates memory with malloc, and starts threads. */
#include <stdlib.h>
#include <string.h>

#include "payload.h"

enum { MOST_RANK = 16 };

/* An input of the model. */
typedef struct port {
  int type;
  int rank; /* -1: any rank */
  ov_range dims[MOST_RANK];
  void *data; /* the memory that OpenVINO has for a tensor of these sizes */
  int64_t sizes[MOST_RANK];
} port;

/* A layer that has run. */
typedef struct timed_layer {
  char *name;
  uint64_t told; /* its microseconds up to run `run`, as this adapter has told them */
  uint64_t run;
} timed_layer;

typedef struct delegate {
  ov_library library;
  ov_core *core;
  ov_compiled_model *compiled;
  ov_infer_request *request;
  port *inputs;
  size_t input_count;
  size_t output_count;
  int is_measured;
  ov_layer_times times;       /* of the last execute, where they have been asked for */
  uint64_t runs;
  timed_layer *layers; /* those whose times have been asked for */
  size_t layer_count;
} delegate;

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  ov_payload read;
  ov_settings set;
  ov_library library;
  *message = fl_library_message();
  fl_status status = fl_ov_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_ov_read_settings(self, payload, &set)) == FL_OK) {
    status = fl_ov_load(set.library, &library);
  }
  if (status == FL_OK) {
    fl_ov_unload(&library);
    memory->persistent = sizeof(delegate);
    memory->outputs = read.outputs;
  }
  return status;
}

/* ---- Init ---- */

static fl_status compile(delegate *d, const ov_payload *payload, const ov_settings *set) {
  int64_t bytes = (int64_t)payload->constant_bytes;
  ov_tensor *constants = NULL;
  ov_model *read = NULL;
  /* OpenVINO reads the constants in the program's memory. */
  union {
    const uint8_t *in;
    void *out;
  } place = {payload->constants};
  ov_status status = bytes == 0 ? 0 : d->library.tensor_from_host(OV_U8, (ov_shape){1, &bytes}, place.out, &constants);
  if (status == 0) {
    status = d->library.read_model(d->core, payload->model, payload->model_bytes, constants, &read);
  }
  if (constants != NULL) {
    d->library.tensor_free(constants);
  }
  if (status != 0) {
    return fl_ov_refused(&d->library, status, "OpenVINO does not read it");
  }
  const char *const *const p = set->properties;
  status = d->library.compile_model(d->core, read, set->device, 2 * set->property_count, &d->compiled, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11],
                                    p[12], p[13]);
  d->library.model_free(read);
  return status == 0 ? FL_OK : fl_ov_refused(&d->library, status, "OpenVINO does not compile it");
}

/* Reads the properties of an input from OpenVINO. */
static ov_status describe(const ov_library *library, const ov_port *found, port *p) {
  ov_partial_shape shape;
  ov_status status = library->port_element_type(found, &p->type);
  if (status != 0 || (status = library->port_partial_shape(found, &shape)) != 0) {
    return status;
  }
  p->rank = shape.rank.least == shape.rank.most && shape.rank.most <= MOST_RANK ? (int)shape.rank.most : -1;
  for (int i = 0; i < p->rank; ++i) {
    p->dims[i] = shape.dims[i];
  }
  library->partial_shape_free(&shape);
  return 0;
}

static fl_status describe_inputs(delegate *d) {
  ov_status status = d->library.inputs_size(d->compiled, &d->input_count);
  status = status != 0 ? status : d->library.outputs_size(d->compiled, &d->output_count);
  d->inputs = (port *)calloc(d->input_count + 1, sizeof(port));
  if (d->inputs == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for its inputs");
  }
  for (size_t i = 0; status == 0 && i < d->input_count; ++i) {
    ov_port *found = NULL;
    status = d->library.input_by_index(d->compiled, i, &found);
    if (status == 0) {
      status = describe(&d->library, found, &d->inputs[i]);
      d->library.port_free(found);
    }
  }
  return status == 0 ? FL_OK : fl_ov_refused(&d->library, status, "OpenVINO does not describe its inputs");
}

static void forget_times(delegate *d) {
  if (d->times.items != NULL) {
    d->library.layer_times_free(&d->times);
    d->times = (ov_layer_times){NULL, 0};
  }
}

static void destroy(const fl_backend *self, void *handle) {
  delegate *d = (delegate *)handle;
  (void)self;
  if (d->request != NULL) {
    d->library.infer_request_free(d->request);
  }
  if (d->compiled != NULL) {
    d->library.compiled_model_free(d->compiled);
  }
  if (d->core != NULL) {
    fl_ov_give_back_core(&d->library, d->core);
  }
  forget_times(d);
  for (size_t i = 0; i < d->layer_count; ++i) {
    free(d->layers[i].name);
  }
  free(d->layers);
  free(d->inputs);
  fl_ov_unload(&d->library);
}

static fl_status build(delegate *d, const ov_payload *payload, const ov_settings *set) {
  d->core = fl_ov_take_core(&d->library);
  if (d->core == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "OpenVINO does not start on this machine");
  }
  fl_status status = payload->is_compiled ? fl_ov_import(&d->library, d->core, payload, set, &d->compiled) : compile(d, payload, set);
  if (status == FL_OK) {
    status = describe_inputs(d);
  }
  if (status == FL_OK && payload->is_labelled && (d->input_count != payload->inputs || d->output_count != payload->outputs)) {
    status = fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: its model has other inputs and outputs than its label says");
  }
  if (status == FL_OK) {
    const ov_status done = d->library.create_infer_request(d->compiled, &d->request);
    status = done == 0 ? FL_OK : fl_ov_refused(&d->library, done, "OpenVINO does not prepare it");
  }
  return status;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *d = (delegate *)persistent;
  ov_payload read;
  ov_settings set;
  *message = fl_library_message();
  memset(d, 0, sizeof *d);
  fl_status status = fl_ov_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_ov_read_settings(self, payload, &set)) == FL_OK && (status = fl_ov_load(set.library, &d->library)) == FL_OK) {
    d->is_measured = set.is_measured;
    status = read.is_lines ? fl_ov_write_model(payload, &read) : FL_OK;
    if ((status = status == FL_OK ? build(d, &read, &set) : status) != FL_OK) {
      destroy(self, d);
    }
    free(read.written);
  }
  *handle = d;
  return status;
}

/* ---- Execute ---- */

static int element_type(int8_t dtype) {
  switch (dtype) {
    case FL_FLOAT32: return OV_F32;
    case FL_FLOAT64: return OV_F64;
    case FL_FLOAT16: return OV_F16;
    case FL_BFLOAT16: return OV_BF16;
    case FL_BOOL: return OV_BOOLEAN;
    case FL_INT8: return OV_I8;
    case FL_INT16: return OV_I16;
    case FL_INT32: return OV_I32;
    case FL_INT64: return OV_I64;
    case FL_UINT8: return OV_U8;
    default: return -1;
  }
}

/* Returns whether an input has the type, rank and sizes of its port. */
static int fits(const port *p, const fl_tensor *t) {
  int fit = element_type(t->dtype) == p->type && (p->rank < 0 ? t->rank <= MOST_RANK : t->rank == p->rank) && fl_is_contiguous(t);
  for (int i = 0; fit && i < p->rank; ++i) {
    fit = t->sizes[i] >= p->dims[i].least && (p->dims[i].most < 0 || t->sizes[i] <= p->dims[i].most);
  }
  return fit;
}

/* Tells OpenVINO the memory and sizes of an input, unless it has them. */
static fl_status set_input(delegate *d, size_t index, const fl_tensor *t) {
  port *p = &d->inputs[index];
  int is_known = p->data == t->data && t->data != NULL;
  for (uint8_t i = 0; i < t->rank; ++i) {
    is_known = is_known && p->sizes[i] == t->sizes[i];
    p->sizes[i] = t->sizes[i];
  }
  if (is_known) {
    return FL_OK;
  }
  ov_tensor *tensor = NULL;
  p->data = NULL;
  ov_status status = d->library.tensor_from_host(p->type, (ov_shape){t->rank, p->sizes}, t->data, &tensor);
  if (status == 0) {
    status = d->library.set_input(d->request, index, tensor);
    d->library.tensor_free(tensor);
  }
  if (status != 0) {
    return fl_ov_refused(&d->library, status, "OpenVINO does not take an argument");
  }
  p->data = t->data;
  return FL_OK;
}

/* Copies an output from OpenVINO's memory. If OpenVINO wrote to the output's memory itself, an output that is an input would be zeros. */
static fl_status copy_output(fl_context *context, const ov_library *library, const ov_tensor *tensor, fl_tensor *t) {
  ov_shape shape = {0, NULL};
  int32_t sizes[MOST_RANK];
  int type = 0;
  size_t bytes = 0;
  void *data = NULL;
  ov_status status = library->tensor_type(tensor, &type);
  /* OpenVINO's interface does not describe a shape without dimensions. */
  status = status != 0 || t->rank == 0 ? status : library->tensor_shape(tensor, &shape);
  status = status != 0 ? status : library->tensor_bytes(tensor, &bytes);
  status = status != 0 ? status : library->tensor_data(tensor, &data);
  const int fits = status == 0 && shape.rank == t->rank && t->rank <= MOST_RANK && type == element_type(t->dtype) && fl_is_contiguous(t);
  for (uint8_t i = 0; fits && i < t->rank; ++i) {
    sizes[i] = shape.dims[i] <= INT32_MAX ? (int32_t)shape.dims[i] : -1;
  }
  if (shape.dims != NULL) {
    (void)library->shape_free(&shape);
  }
  if (status != 0) {
    return FL_FAIL(context, fl_ov_refused(library, status, "OpenVINO does not give an output"), fl_library_message());
  }
  FL_CHECK(context, fits, "an output is not the tensor that its payload says");
  const fl_status resized = fl_resize(context, t, sizes, t->rank);
  if (resized == FL_OK && bytes != 0) {
    FL_CHECK(context, bytes == fl_numel(t) * fl_dtype_size(t->dtype), "an output has other bytes than its sizes say");
    memcpy(t->data, data, bytes);
  }
  return resized;
}

static fl_status take_output(delegate *d, fl_context *context, size_t index, const fl_value *value) {
  ov_tensor *tensor = NULL;
  fl_tensor *const t = fl_get_tensor(value);
  FL_CHECK(context, t != NULL, "an output is not a tensor");
  const ov_status status = d->library.get_output(d->request, index, &tensor);
  if (status != 0) {
    return FL_FAIL(context, fl_ov_refused(&d->library, status, "OpenVINO does not give an output"), fl_library_message());
  }
  const fl_status done = copy_output(context, &d->library, tensor, t);
  d->library.tensor_free(tensor);
  return done;
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *d = (delegate *)handle;
  fl_status status = FL_OK;
  (void)self;
  FL_CHECK(context, count == d->input_count + d->output_count, "the call has more or fewer arguments than its payload");
  for (size_t i = 0; status == FL_OK && i < d->input_count; ++i) {
    const fl_tensor *t = fl_get_tensor(args[i]);
    const int fit = t != NULL && fits(&d->inputs[i], t);
    status = fit ? set_input(d, i, t) : fl_library_fail(FL_INVALID_ARGUMENT, "argument %u is not the tensor that its payload says", (unsigned)i);
  }
  if (status == FL_OK) {
    const ov_status done = d->library.infer(d->request);
    ++d->runs;
    status = done == 0 ? FL_OK : fl_ov_refused(&d->library, done, "OpenVINO fails");
  }
  if (status != FL_OK) {
    return FL_FAIL(context, status, fl_library_message());
  }
  for (size_t i = 0; status == FL_OK && i < d->output_count; ++i) {
    status = take_output(d, context, i, args[d->input_count + i]);
  }
  return status;
}

/* ---- Times ---- */

/* Returns what is kept of a layer, looking from place `at` on, where it was the last time; NULL without memory. */
static timed_layer *kept_layer(delegate *d, size_t at, const char *name) {
  for (size_t i = 0; i < d->layer_count; ++i) {
    timed_layer *const known = &d->layers[(at + i) % d->layer_count];
    if (strcmp(known->name, name) == 0) {
      return known;
    }
  }
  const size_t size = strlen(name) + 1;
  timed_layer *const larger = (timed_layer *)realloc(d->layers, (d->layer_count + 1) * sizeof *larger);
  char *const copy = (char *)malloc(size);
  d->layers = larger != NULL ? larger : d->layers;
  if (larger == NULL || copy == NULL) {
    free(copy);
    return NULL;
  }
  memcpy(copy, name, size);
  d->layers[d->layer_count] = (timed_layer){copy, 0, 0};
  return &d->layers[d->layer_count++];
}

/* Returns the microseconds of a layer in the last run. OpenVINO tells the mean of all runs, without fractions: what is told of a layer adds up to what
 * they took together. */
static uint64_t last_time(const delegate *d, timed_layer *layer, int64_t mean) {
  const uint64_t each = mean > 0 ? (uint64_t)mean : 0;
  if (layer->run + 1 != d->runs) {
    layer->told = each * (d->runs - 1);
  }
  const uint64_t all = each * d->runs, last = all > layer->told ? all - layer->told : 0;
  layer->told += last;
  layer->run = d->runs;
  return last;
}

/* Returns the number of the layer with which a name ends, that model.c wrote there; UINT32_MAX for a name without one. */
static uint32_t layer_number(const char *name) {
  const char *const digits = strrchr(name, '_');
  char *end = NULL;
  const unsigned long number = digits == NULL || digits[1] < '0' || digits[1] > '9' ? UINT32_MAX : strtoul(digits + 1, &end, 10);
  return end != NULL && *end == 0 && number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static int operator_time(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found) {
  enum { HAS_RUN = 2 };
  delegate *d = (delegate *)handle;
  (void)self;
  if (index == 0) {
    forget_times(d);
    if (!d->is_measured || d->library.layer_times(d->request, &d->times) != 0) {
      return 0;
    }
  }
  size_t at = 0;
  for (uint32_t ran = 0; at < d->times.count; ++at) {
    if (d->times.items[at].status == HAS_RUN && ran++ == index) {
      break;
    }
  }
  timed_layer *const layer = at < d->times.count ? kept_layer(d, index, d->times.items[at].name) : NULL;
  if (layer == NULL) {
    return 0;
  }
  *found = (fl_timed_operator){layer->name, last_time(d, layer, d->times.items[at].microseconds) * 1000, layer_number(layer->name)};
  return 1;
}

extern const fl_backend fl_backend_openvino;
static const char *const option_names[] = {"cache", "device", "library", "precision", "profile", "threads", NULL};

const fl_backend fl_backend_openvino = {.struct_size = sizeof(fl_backend),
                                        .id = "OpenvinoBackend",
                                        .name = "openvino",
                                        .measure = measure,
                                        .init = init,
                                        .execute = execute,
                                        .destroy = destroy,
                                        .option_names = option_names,
                                        .operator_time = operator_time};
