/* The backend "OnnxRuntimeBackend": runs ONNX models with an ONNX Runtime library that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. ONNX Runtime itself allocates memory with malloc, and may start threads. */
#include <stdio.h>
#include <string.h>

#include "payload.h"

enum { MOST_RANK = 16, NAME_BYTES = 12 };

typedef struct delegate {
  ort_library library;
  ort_env *env;
  ort_memory_info *memory; /* what memory of the program is to ONNX Runtime */
  ort_session *session;
  size_t inputs;
  size_t outputs;
  ort_value **values;             /* of the arguments: of outputs, those of the last call */
  const char **names;             /* of the arguments */
  char (*letters)[NAME_BYTES];    /* where they stand */
} delegate;

enum { BYTES_EACH = sizeof(ort_value *) + sizeof(const char *) + NAME_BYTES };

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  ort_payload read;
  ort_settings set;
  ort_library library;
  *message = fl_library_message();
  fl_status status = fl_ort_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_ort_read_settings(self, &set)) == FL_OK && (status = fl_ort_load(set.library, &library)) == FL_OK) {
    fl_library_close(library.handle);
    memory->persistent = sizeof(delegate) + ((size_t)read.inputs + read.outputs) * BYTES_EACH;
    memory->outputs = read.outputs;
  }
  return status;
}

/* ---- Sessions ---- */

static void destroy(const fl_backend *self, void *handle) {
  delegate *const d = (delegate *)handle;
  (void)self;
  if (d->session != NULL) {
    d->library.release_session(d->session);
  }
  if (d->memory != NULL) {
    d->library.release_memory_info(d->memory);
  }
  if (d->env != NULL) {
    fl_ort_give_back_env(&d->library, d->env);
  }
  fl_library_close(d->library.handle);
}

/* Creates the session, without one of ONNX Runtime's optimizers unless that is NULL. */
static ort_status *create_session(delegate *d, const ort_payload *payload, const ort_settings *set, const char *without) {
  ort_session_options *options = NULL;
  const ort_library *const library = &d->library;
  ort_status *status = library->create_options(&options);
  status = status != NULL ? status : library->set_threads(options, set->threads);
  status = status != NULL ? status : library->set_severity(options, set->says_all ? ORT_LOG_ALL : ORT_LOG_FATAL);
  if (status == NULL && !fl_library_adds_in_32_bits()) {
    status = library->set_entry(options, "session.x64quantprecision", "1"); /* kernels whose sums of products do not saturate */
  }
  if (status == NULL) {
    status = library->set_entry(options, "session.qdq_matmulnbits_accuracy_level", "1"); /* blocks of 4 bits times floats, not times int8 */
  }
  if (status == NULL && without != NULL) {
    status = library->set_entry(options, "optimization.disable_specified_optimizers", without);
  }
  status = status != NULL ? status : library->create_session(d->env, payload->model, payload->size, options, &d->session);
  if (options != NULL) {
    library->release_options(options);
  }
  return status;
}

/* Of some models of opset 21, ONNX Runtime's optimizer makes others that it then refuses (findings/onnxruntime_int8_behind_a_reshape.sh). */
static fl_status compile(delegate *d, const ort_payload *payload, const ort_settings *set) {
  ort_status *status = create_session(d, payload, set, NULL);
  if (status != NULL) {
    d->library.release_status(status);
    status = create_session(d, payload, set, "QDQPropagationTransformer");
  }
  return status == NULL ? FL_OK : fl_ort_refused(&d->library, status, "ONNX Runtime does not take its model");
}

static fl_status build(delegate *d, const ort_payload *payload, const ort_settings *set) {
  size_t inputs = 0, outputs = 0;
  d->env = fl_ort_take_env(&d->library);
  if (d->env == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "ONNX Runtime does not start on this machine");
  }
  ort_status *status = d->library.create_memory_info(ORT_ARENA, ORT_DEFAULT_MEMORY, &d->memory);
  if (status != NULL) {
    return fl_ort_refused(&d->library, status, "ONNX Runtime does not start");
  }
  const fl_status done = compile(d, payload, set);
  if (done != FL_OK) {
    return done;
  }
  status = d->library.input_count(d->session, &inputs);
  status = status != NULL ? status : d->library.output_count(d->session, &outputs);
  if (status != NULL) {
    return fl_ort_refused(&d->library, status, "ONNX Runtime does not describe its arguments");
  }
  if (inputs != d->inputs || outputs != d->outputs) {
    return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: its model has %zu inputs and %zu outputs, its label %zu and %zu", inputs,
                           outputs, d->inputs, d->outputs);
  }
  return FL_OK;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *const d = (delegate *)persistent;
  ort_payload read;
  ort_settings set;
  *message = fl_library_message();
  memset(d, 0, sizeof *d);
  fl_status status = fl_ort_read_payload(payload, &read);
  if (status == FL_OK && (status = fl_ort_read_settings(self, &set)) == FL_OK && (status = fl_ort_load(set.library, &d->library)) == FL_OK) {
    const size_t count = (size_t)read.inputs + read.outputs;
    d->inputs = read.inputs;
    d->outputs = read.outputs;
    d->values = (ort_value **)memset(d + 1, 0, count * BYTES_EACH);
    d->names = (const char **)(d->values + count);
    d->letters = (char(*)[NAME_BYTES])(d->names + count);
    for (size_t i = 0; i < count; ++i) {
      const int is_input = i < d->inputs;
      (void)snprintf(d->letters[i], NAME_BYTES, "%c%u", is_input ? 'i' : 'o', (unsigned)(is_input ? i : i - d->inputs));
      d->names[i] = d->letters[i];
    }
    status = build(d, &read, &set);
    if (status != FL_OK) {
      destroy(self, d);
    }
  }
  *handle = d;
  return status;
}

/* ---- Calls ---- */

static int element_type(int8_t dtype) {
  switch (dtype) {
    case FL_FLOAT32: return ORT_FLOAT32;
    case FL_FLOAT64: return ORT_FLOAT64;
    case FL_FLOAT16: return ORT_FLOAT16;
    case FL_BOOL: return ORT_BOOL;
    case FL_INT8: return ORT_INT8;
    case FL_INT16: return ORT_INT16;
    case FL_INT32: return ORT_INT32;
    case FL_INT64: return ORT_INT64;
    case FL_UINT8: return ORT_UINT8;
    case FL_UINT16: return ORT_UINT16;
    default: return -1;
  }
}

/* Makes the value of an input, whose memory stays the program's. ONNX Runtime compares its type and sizes with those of the model. */
static fl_status make_value(const delegate *d, const fl_tensor *t, size_t index, ort_value **value) {
  int64_t sizes[MOST_RANK];
  const int type = t == NULL ? -1 : element_type(t->dtype);
  if (type < 0 || t->rank > MOST_RANK || !fl_is_contiguous(t)) {
    return fl_library_fail(FL_INVALID_ARGUMENT, "argument %u is not the tensor that its payload says", (unsigned)index);
  }
  for (uint8_t i = 0; i < t->rank; ++i) {
    sizes[i] = t->sizes[i];
  }
  ort_status *const status = d->library.create_tensor(d->memory, t->data, fl_numel(t) * fl_dtype_size(t->dtype), sizes, t->rank, type, value);
  return status == NULL ? FL_OK : fl_ort_refused(&d->library, status, "ONNX Runtime does not take an argument");
}

/* Reads type and sizes of an output. */
static ort_status *describe(const ort_library *library, const ort_value *value, int *element, size_t *rank, int64_t sizes[MOST_RANK]) {
  ort_type *type = NULL;
  ort_status *status = library->tensor_type(value, &type);
  status = status != NULL ? status : library->element_type(type, element);
  status = status != NULL ? status : library->rank(type, rank);
  status = status != NULL || *rank > MOST_RANK ? status : library->sizes(type, sizes, *rank);
  if (type != NULL) {
    library->release_type(type);
  }
  return status;
}

/* Copies an output from ONNX Runtime's memory. */
static fl_status take_output(const delegate *d, fl_context *context, ort_value *value, fl_tensor *t) {
  int64_t sizes[MOST_RANK];
  int32_t wanted[MOST_RANK];
  size_t rank = 0;
  int element = 0;
  void *data = NULL;
  FL_CHECK(context, t != NULL, "an output is not a tensor");
  ort_status *status = describe(&d->library, value, &element, &rank, sizes);
  status = status != NULL ? status : d->library.tensor_data(value, &data);
  if (status != NULL) {
    return FL_FAIL(context, fl_ort_refused(&d->library, status, "ONNX Runtime does not give an output"), fl_library_message());
  }
  FL_CHECK(context, rank == t->rank && rank <= MOST_RANK && element == element_type(t->dtype) && fl_is_contiguous(t),
           "an output is not the tensor that its payload says");
  for (size_t i = 0; i < rank; ++i) {
    FL_CHECK(context, sizes[i] >= 0 && sizes[i] <= INT32_MAX, "an output is larger than tensors are");
    wanted[i] = (int32_t)sizes[i];
  }
  const fl_status resized = fl_resize(context, t, wanted, t->rank);
  if (resized == FL_OK) {
    memcpy(t->data, data, fl_numel(t) * fl_dtype_size(t->dtype));
  }
  return resized;
}

static void forget_values(delegate *d) {
  for (size_t i = 0; i < d->inputs + d->outputs; ++i) {
    if (d->values[i] != NULL) {
      d->library.release_value(d->values[i]);
      d->values[i] = NULL;
    }
  }
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *const d = (delegate *)handle;
  fl_status status = FL_OK;
  (void)self;
  FL_CHECK(context, count == d->inputs + d->outputs, "the call has more or fewer arguments than its payload");
  for (size_t i = 0; status == FL_OK && i < d->inputs; ++i) {
    status = make_value(d, fl_get_tensor(args[i]), i, &d->values[i]);
  }
  if (status == FL_OK) {
    ort_status *const done = d->library.run(d->session, NULL, d->names, (const ort_value *const *)d->values, d->inputs, d->names + d->inputs, d->outputs,
                                            d->values + d->inputs);
    status = done == NULL ? FL_OK : fl_ort_refused(&d->library, done, "ONNX Runtime fails");
  }
  if (status != FL_OK) {
    forget_values(d);
    return FL_FAIL(context, status, fl_library_message());
  }
  for (size_t i = d->inputs; status == FL_OK && i < count; ++i) {
    status = take_output(d, context, d->values[i], fl_get_tensor(args[i]));
  }
  forget_values(d);
  return status;
}

extern const fl_backend fl_backend_onnxruntime;
static const char *const option_names[] = {"library", "log", "threads", NULL};

const fl_backend fl_backend_onnxruntime = {.struct_size = sizeof(fl_backend),
                                           .id = "OnnxRuntimeBackend",
                                           .name = "onnxruntime",
                                           .measure = measure,
                                           .init = init,
                                           .execute = execute,
                                           .destroy = destroy,
                                           .option_names = option_names};
