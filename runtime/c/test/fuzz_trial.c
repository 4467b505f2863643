/* Runs programs with any content. */
#include "test/fuzz_trial.h"

/* The most memory of a trial: a changed program may validly ask for more, but running it would take too long. */
#define MEMORY_LIMIT ((size_t)1 << 18)
#define STEPS 200
#define MOST_PORTS 64

/* ---- A backend that reads and writes all of its memory and arguments ---- */

static fl_status fill_outputs(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  (void)self;
  (void)handle;
  FL_CHECK(context, count > 0, "nothing to do");
  for (size_t i = 1; i < count; ++i) {
    const fl_tensor *tensor = fl_get_tensor(args[i]);
    if (tensor != NULL && fl_numel(tensor) > 0) {
      memset(tensor->data, 1, fl_numel(tensor) * fl_element_size(tensor->dtype));
    }
  }
  return FL_OK;
}

static fl_status read_payload(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  uint8_t sum = 0;
  (void)self;
  (void)persistent;
  (void)message;
  for (size_t i = 0; i < payload->size; ++i) {
    sum = (uint8_t)(sum + ((const uint8_t *)payload->data)[i]);
  }
  for (uint32_t i = 0; i < payload->compile_spec_count; ++i) {
    const fl_compile_spec spec = fl_payload_compile_spec(payload, i);
    for (size_t j = 0; j < spec.size; ++j) {
      sum = (uint8_t)(sum + ((const uint8_t *)spec.value)[j]);
    }
  }
  *handle = NULL;
  return sum == 255 ? FL_DELEGATE_INCOMPATIBLE : FL_OK;
}

static const fl_backend touching = {.struct_size = sizeof(fl_backend), .id = "Test", .name = "test", .init = read_payload, .execute = fill_outputs};

static const fl_registry *registry(void) {
  static const fl_kernel_table *tables[1];
  static const fl_backend *backends[16] = {&touching};
  static fl_registry all = {tables, 1, backends, 1};
  if (tables[0] == NULL) {
    size_t count = 0;
    const fl_backend *const *builtin = fl_builtin_backends(&count);
    tables[0] = fl_builtin_kernels();
    for (size_t i = 0; i < count && all.backend_count < 16; ++i) {
      backends[all.backend_count++] = builtin[i];
    }
  }
  return &all;
}

/* ---- Results ---- */

static void digest(uint64_t *results, const void *data, size_t size) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < size; ++i) {
    *results = (*results ^ bytes[i]) * 0x100000001b3u;
  }
}

static void digest_value(uint64_t *results, const fl_value *value) {
  digest(results, &value->tag, 1);
  switch (value->tag) {
    case FL_TENSOR: {
      const fl_tensor *tensor = value->as.tensor;
      const size_t bytes = fl_numel(tensor) * fl_element_size(tensor->dtype);
      digest(results, tensor->sizes, tensor->rank * sizeof *tensor->sizes);
      if (bytes > 0 && tensor->data != NULL) {
        digest(results, tensor->data, bytes);
      }
      break;
    }
    case FL_STRING: digest(results, value->as.string.data, value->as.string.length); break;
    case FL_BOOL_LIST: digest(results, value->as.list.items, value->as.list.count); break;
    case FL_DOUBLE_LIST: digest(results, value->as.list.items, value->as.list.count * sizeof(double)); break;
    case FL_INT_LIST:
    case FL_TENSOR_LIST:
    case FL_OPTIONAL_TENSOR_LIST:
      for (uint32_t i = 0; i < value->as.list.count; ++i) {
        const fl_value *item = ((const fl_value *const *)value->as.list.items)[i];
        if (item != NULL && item->tag < FL_BOOL_LIST) {
          digest_value(results, item);
        }
      }
      break;
    case FL_NONE: break;
    case FL_BOOLEAN: digest(results, &value->as.boolean, 1); break;
    default: digest(results, &value->as.integer, sizeof value->as.integer);
  }
}

/* ---- Inputs ---- */

static void write_real(int8_t dtype, uint8_t *at, float value) {
  uint32_t bits;
  const double wide = (double)value;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == FL_FLOAT64) {
    memcpy(at, &wide, sizeof wide);
  } else if (dtype == FL_FLOAT32) {
    memcpy(at, &bits, sizeof bits);
  } else if (dtype == FL_BFLOAT16) {
    memcpy(at, (const uint8_t *)&bits + 2, 2);
  } else { /* good enough for what is used here: infinities, NaN and numbers of few bits */
    const uint32_t exponent = bits >> 23 & 255;
    const uint32_t fraction = bits >> 13 & 0x3ff;
    const uint32_t finite = exponent < 113 ? 0 : exponent > 142 ? 0x7bff : (exponent - 112) << 10 | fraction;
    const uint32_t half = (bits >> 16 & 0x8000) | (exponent == 255 ? 0x7c00 | fraction : finite);
    memcpy(at, &half, 2);
  }
}

/* Fills a tensor with elements of one kind: small numbers that may be indices, any numbers, or extremes of the type. */
static void fill_tensor(int8_t dtype, uint8_t *data, size_t bytes, chance *c) {
  static const float reals[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.0f, -3.5f, 1e-40f, 1e9f, -1e19f, 3e38f, -3e38f};
  dtype = dtype == FL_COMPLEX64 ? FL_FLOAT32 : dtype == FL_COMPLEX128 ? FL_FLOAT64 : dtype;
  const size_t element = fl_element_size(dtype);
  const uint32_t style = draw(c, 8);
  const int is_real = dtype == FL_FLOAT16 || dtype == FL_BFLOAT16 || dtype == FL_FLOAT32 || dtype == FL_FLOAT64;
  for (size_t i = 0; i + element <= bytes; i += element) {
    uint64_t number = draw_bits(c);
    if (dtype == FL_BOOL) {
      data[i] = (uint8_t)(style < 7 ? number >> 40 & 1 : number >> 40);
      continue;
    }
    if (is_real && style < 7) {
      const uint32_t which = (uint32_t)(number >> 32) % (style < 4 ? 7 : 14);
      const uint32_t bits = number & 1 ? 0x7f800000u : 0x7fc00000u;
      float special;
      memcpy(&special, &bits, sizeof special);
      write_real(dtype, data + i, which < 12 ? reals[which] : special);
      continue;
    }
    switch (style) {
      case 0:
      case 1:
      case 2: number = (number >> 32) % 3; break;
      case 3: number = 0; break;
      case 4: number = (number >> 32) % 9 - 4; break;
      case 5: number = number >> 32 & 1 ? (uint64_t)1 << (8 * element - 1) : ((uint64_t)1 << (8 * element - 1)) - 1; break;
      case 6: number = (number >> 32) % 300; break;
      default: break;
    }
    memcpy(data + i, &number, element);
  }
}

/* Tells the error of a call that failed. */
static fl_status told(fl_status status, const fl_error *error) {
  if (status != FL_OK) {
    CHECK(error->status == status && error->text[0] != 0);
    tell(error);
  }
  return status;
}

/* Gives an input a value, and stores the memory of a tensor in `block`. */
static fl_status set_input(loaded *l, uint32_t index, void **block, chance *c) {
  fl_slot_info slot;
  fl_error error;
  fl_value value = {.tag = FL_NONE};
  if (fl_program_slot(&l->program, l->method.index, FL_INPUT, index, &slot, &error) != FL_OK) {
    return error.status;
  }
  value.tag = slot.tag;
  if (slot.tag == FL_TENSOR) {
    int32_t sizes[FL_MAX_RANK];
    uint8_t order[FL_MAX_RANK];
    size_t bytes = fl_element_size(slot.dtype);
    const int is_any = draw(c, 4) == 0;
    for (uint8_t i = 0; i < slot.rank; ++i) {
      sizes[i] = slot.dynamic && draw(c, 3) == 0 ? (int32_t)draw(c, (uint32_t)slot.sizes[i] + 1) : slot.sizes[i];
      sizes[i] += draw(c, 256) == 0 && sizes[i] < 64;
      order[i] = slot.dim_order[i];
    }
    for (uint8_t i = 0; i < slot.rank; ++i) {
      const uint32_t other = is_any ? draw(c, slot.rank) : i;
      const uint8_t first = order[i];
      order[i] = order[other];
      order[other] = first;
      if (sizes[i] > 0 && bytes > MEMORY_LIMIT / (size_t)sizes[i]) {
        return FL_OUT_OF_MEMORY;
      }
      bytes *= (size_t)sizes[i];
    }
    free(*block);
    *block = exact(bytes);
    fill_tensor(slot.dtype, *block, bytes, c);
    fl_tensor tensor = {.data = *block, .sizes = sizes, .dim_order = order, .rank = slot.rank, .dtype = slot.dtype};
    value.as.tensor = &tensor;
    return told((draw(c, 4) == 0 ? fl_method_lend_input : fl_method_set_input)(&l->method, index, &value, &error), &error);
  }
  const int64_t number = draw(c, 4) == 0 ? (int64_t)draw_bits(c) : draw(c, 3) == 0 ? (int64_t)draw(c, 8) - 2 : slot.integer;
  if (slot.tag == FL_DOUBLE) {
    value.as.real = draw(c, 2) == 0 ? slot.real : (double)number;
  } else if (slot.tag == FL_STRING) {
    value.as.string = (fl_string){slot.string, (uint32_t)strlen(slot.string)};
  } else if (slot.tag == FL_BOOLEAN) {
    value.as.boolean = (number & 1) != 0;
  } else {
    value.as.integer = number;
  }
  return told(fl_method_set_input(&l->method, index, &value, &error), &error);
}

/* ---- Runs ---- */

/* A method with its memory, and the memory of its inputs. */
typedef struct user {
  loaded l;
  fl_method_info info;
  void *inputs[MOST_PORTS];
  void *outputs[MOST_PORTS];
} user;

static void give_outputs(user *u, uint8_t fill) {
  fl_error error;
  for (uint32_t i = 0; i < u->info.outputs; ++i) {
    fl_slot_info slot;
    if (fl_program_slot(&u->l.program, u->l.method.index, FL_OUTPUT, i, &slot, &error) == FL_OK && slot.tag == FL_TENSOR && !slot.planned &&
        slot.bytes < MEMORY_LIMIT) {
      void *block = exact(slot.bytes);
      memset(block, fill, slot.bytes);
      told(fl_method_set_output(&u->l.method, i, block, slot.bytes, &error), &error);
      free(u->outputs[i]);
      u->outputs[i] = block;
    }
  }
}

/* Reads and writes all state, as a caller may do between executions. */
static void use_state(const user *u, chance *c, trial *done) {
  const fl_tensor *tensor = NULL;
  const char *name = NULL;
  for (uint32_t i = 0; i < MOST_PORTS && (tensor = fl_method_state(&u->l.method, i, &name)) != NULL; ++i) {
    const size_t bytes = fl_numel(tensor) * fl_element_size(tensor->dtype);
    CHECK(tensor->data != NULL || bytes == 0);
    digest(&done->results, name, strlen(name));
    digest(&done->results, tensor->data, bytes);
    if (draw(c, 4) == 0) {
      fill_tensor(tensor->dtype, tensor->data, bytes, c);
    }
  }
}

/* Executes once. Returns zero when there is not enough memory. */
static int execute(user *u, chance *c, trial *done) {
  fl_error error;
  int has_room = 1;
  /* In some executions, one input is not set. */
  const uint32_t forgotten = draw(c, 16) == 0 ? draw(c, u->info.inputs + 1) : u->info.inputs;
  for (uint32_t i = 0; i < u->info.inputs && has_room; ++i) {
    has_room = i == forgotten || set_input(&u->l, i, &u->inputs[i], c) != FL_OUT_OF_MEMORY;
  }
  if (has_room) {
    const fl_status status = told(fl_method_execute(&u->l.method, &error), &error);
    done->is_executed = 1;
    digest(&done->results, error.text, status == FL_OK ? 0 : strlen(error.text));
    for (uint32_t i = 0; status == FL_OK && i < u->info.outputs; ++i) {
      done->has_ended = 1;
      digest_value(&done->results, fl_method_output(&u->l.method, i));
    }
  }
  /* The caller's memory has to stay only until an execution ends. */
  for (uint32_t i = 0; i < u->info.inputs; ++i) {
    free(u->inputs[i]);
    u->inputs[i] = NULL;
  }
  return has_room;
}

/* Executes the methods in any order. */
static void execute_all(user *users, uint32_t count, chance *c, uint8_t fill, trial *done) {
  for (uint32_t round = 0; round < 2 * count; ++round) {
    user *u = &users[draw(c, count)];
    use_state(u, c, done);
    if (!execute(u, c, done)) {
      return;
    }
    if (draw(c, 4) == 0) {
      fl_method_reset(&u->l.method);
    }
    if (draw(c, 4) == 0) {
      give_outputs(u, fill);
    }
  }
}

static void fill_memory(loaded *l, uint8_t fill) {
  for (uint32_t i = 0; i < l->memory.arena_count; ++i) {
    memset(l->memory.arenas[i], fill, l->memory.arena_sizes[i]);
  }
  memset(l->memory.method, fill, l->memory.method_size);
  memset(l->memory.scratch, fill, l->memory.scratch_size);
}

/* Replaces a method's own arenas by the shared arenas of `with`, or undoes that. */
static void share_arenas(loaded *l, const loaded *with, int is_shared) {
  void **arenas = (void **)l->memory.arenas;
  for (uint32_t i = 0; i < l->memory.arena_count && i < with->memory.arena_count; ++i) {
    if (fl_program_arena_is_shared(&l->program, i) && l->memory.arena_sizes[i] == with->memory.arena_sizes[i]) {
      free(is_shared ? arenas[i] : NULL);
      arenas[i] = is_shared ? with->memory.arenas[i] : NULL;
      l->memory.keep_state = 1;
    }
  }
}

/* Loads a method, and returns nonzero on success. `with` is a method that was loaded before. */
static int load_method(user *u, const user *with, uint32_t index, uint8_t fill) {
  fl_error error;
  loaded *l = &u->l;
  if (fl_program_method_info(&l->program, index, &u->info, &error) != FL_OK || u->info.inputs > MOST_PORTS || u->info.outputs > MOST_PORTS ||
      told(fl_method_measure(&l->program, index, registry(), &l->need, &error), &error) != FL_OK || l->need.planned > MEMORY_LIMIT ||
      l->need.method > MEMORY_LIMIT || l->need.scratch > MEMORY_LIMIT) {
    return 0;
  }
  provide(l, index);
  fill_memory(l, fill);
  if (with != NULL) {
    share_arenas(l, &with->l, 1);
  }
  if (told(fl_method_init(&l->method, &l->program, index, registry(), &l->memory, &error), &error) == FL_OK) {
    l->method.instruction_limit = STEPS;
    give_outputs(u, fill);
    return 1;
  }
  if (with != NULL) {
    share_arenas(l, &with->l, 0);
  }
  take_back(l);
  return 0;
}

static void unload_method(user *u, const user *with) {
  fl_method_destroy(&u->l.method);
  if (with != NULL) {
    share_arenas(&u->l, &with->l, 0);
  }
  take_back(&u->l);
  for (uint32_t i = 0; i < MOST_PORTS; ++i) {
    free(u->outputs[i]);
  }
}

trial try_program(const uint8_t *file, size_t size, chance c, uint8_t fill) {
  user users[2];
  fl_error error;
  trial done = {0, 0, 0, 0xcbf29ce484222325u};
  memset(users, 0, sizeof users);
  if (told(fl_program_load(&users[0].l.program, file, size, &error), &error) != FL_OK) {
    return done;
  }
  done.is_loaded = 1;
  users[1].l.program = users[0].l.program;
  const uint32_t methods = fl_program_method_count(&users[0].l.program);
  if (load_method(&users[0], NULL, methods > 0 ? draw(&c, methods) : 0, fill)) {
    const int has_second = methods > 1 && load_method(&users[1], &users[0], draw(&c, methods), fill);
    execute_all(users, has_second ? 2 : 1, &c, fill, &done);
    if (has_second) {
      unload_method(&users[1], &users[0]);
    }
    unload_method(&users[0], NULL);
  }
  return done;
}

int may_differ(const uint8_t *file, size_t size) {
  fl_program program;
  char name[128];
  if (fl_program_load(&program, file, size, NULL) != FL_OK) {
    return 0;
  }
  for (uint32_t method = 0; method < fl_program_method_count(&program); ++method) {
    for (uint32_t i = 0; fl_program_operator(&program, method, i, name, sizeof name) > 0; ++i) {
      if (strstr(name, "empty") != NULL) {
        return 1;
      }
    }
  }
  return 0;
}
