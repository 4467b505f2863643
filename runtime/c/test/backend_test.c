/* Tests a backend in the caller's registry, which multiplies by the number in its compile spec, and counts its calls in its memory. */
#include "test/test.h"

typedef struct scale {
  float factor;
  uint8_t padding[196];
} scale;

static int available = 1;
static int destroyed;
static int refuse_init;

static int is_available(const fl_backend *self) {
  (void)self;
  return available;
}

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  for (size_t i = 0; i < self->option_count; ++i) {
    if (strcmp(self->options[i].name, "times") != 0) {
      *message = "it has no such option";
      return FL_INVALID_ARGUMENT;
    }
  }
  if (payload->size == 0) {
    *message = "it is empty";
    return FL_DELEGATE_INCOMPATIBLE;
  }
  *memory = (fl_backend_memory){sizeof(scale), 72, 1};
  return FL_OK;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  scale *s = (scale *)persistent;
  CHECK((uintptr_t)persistent % 64 == 0 && self->user == &available && strcmp(payload->method, "forward") == 0);
  memset(s, 0, sizeof *s);
  s->factor = self->option_count > 0 ? (float)(self->options[0].value[0] - '0') : 1;
  if (refuse_init && payload->compile_spec_count > 0) {
    *message = "not today";
    return FL_DELEGATE_INCOMPATIBLE;
  }
  CHECK(((const uint8_t *)payload->data)[0] == (payload->compile_spec_count > 0 ? 4 : 1));
  for (uint32_t i = 0; i < payload->compile_spec_count; ++i) {
    const fl_compile_spec spec = fl_payload_compile_spec(payload, i);
    CHECK(strcmp(spec.key, "scale") == 0 && spec.size == 1);
    s->factor *= *(const uint8_t *)spec.value;
  }
  *handle = s;
  return FL_OK;
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  const scale *s = (const scale *)handle;
  (void)self;
  CHECK(count == 2 && context->scratch_size >= 72);
  memset(context->scratch, 0xff, 72);
  for (size_t i = 0; i < fl_numel(args[0]->as.tensor); ++i) {
    const float x = ((const float *)args[0]->as.tensor->data)[i];
    FL_CHECK(context, x >= 0, "negative numbers cannot be scaled");
    ((float *)args[1]->as.tensor->data)[i] = x * s->factor;
  }
  return FL_OK;
}

static void destroy(const fl_backend *self, void *handle) {
  (void)self;
  CHECK(handle != NULL);
  ++destroyed;
}

static const fl_backend backend = {sizeof(fl_backend), "Test", "test", &available, NULL, 0, is_available, measure, init, execute, destroy, NULL, NULL};
static const fl_backend *const backends[] = {&backend};
static const fl_registry registry = {.backends = backends, .backend_count = 1};

int main(void) {
  loaded l;
  fl_error error;
  open_method(&l, "delegate", &registry);
  CHECK(l.need.scratch == 72 && l.need.method >= 2 * sizeof(scale));
  set_floats(&l, 0, (float[]){1, 2}, (int32_t[]){2}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  CHECK(floats(&l, 0)[0] == 3 && floats(&l, 0)[1] == 6);
  set_floats(&l, 0, (float[]){1, -2}, (int32_t[]){2}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "method 'forward', instruction 0, Test: negative numbers cannot be scaled");
  fl_method_destroy(&l.method);
  CHECK(destroyed == 2);

  /* A copy of the backend with options. */
  fl_option option = {"times", "2"};
  fl_backend doubled = backend;
  const fl_backend *const doubled_backends[] = {&doubled};
  const fl_registry with_options = {.backends = doubled_backends, .backend_count = 1};
  doubled.options = &option;
  doubled.option_count = 1;
  CHECK(fl_method_init(&l.method, &l.program, 0, &with_options, &l.memory, &error) == FL_OK);
  set_floats(&l, 0, (float[]){1, 2}, (int32_t[]){2}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  CHECK(floats(&l, 0)[0] == 6 && floats(&l, 0)[1] == 12);
  fl_method_destroy(&l.method);
  CHECK(destroyed == 4);
  option.name = "time";
  CHECK(fl_method_init(&l.method, &l.program, 0, &with_options, &l.memory, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "backend 'Test' refuses it: it has no such option");

  /* The first delegate is destroyed when the second one fails. */
  refuse_init = 1;
  CHECK(fl_method_init(&l.method, &l.program, 0, &registry, &l.memory, &error) == FL_DELEGATE_INCOMPATIBLE);
  CHECK_TEXT(error, "delegate 1: backend 'Test' cannot load it: not today");
  CHECK(destroyed == 5);

  available = 0;
  CHECK(fl_method_measure(&l.program, 0, &registry, &l.need, &error) == FL_NOT_FOUND);
  CHECK_TEXT(error, "cannot run on this machine now");
  close_method(&l);
  CHECK(destroyed == 5);
  return 0;
}
