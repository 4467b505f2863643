/* The backend "FlambeauElementwise": a register machine that runs over blocks of elements. payload.py documents the bytes. */
#include <math.h>
#include <string.h>

#include "flambeau/backend.h"

enum { HEADER_BYTES = 28, SIZE_BYTES = 8, INSTRUCTION_BYTES = 8, VERSION = 2, LIMIT = 255, DIMENSIONS = 16, BLOCK = 64 };

enum operation { OP_LOAD, OP_STORE, OP_CONSTANT, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAXIMUM, OP_MINIMUM, OP_NEG, OP_ABS, OP_RELU, OP_SIGMOID,
                 OP_TANH, OP_EXP, OP_LOG, OP_SQRT, OP_RSQRT, OP_RECIPROCAL, OPERATIONS };

typedef struct program {
  const uint8_t *instructions;
  uint32_t count;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t registers;
  uint64_t elements;
} program;

static uint32_t read_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float read_f32(const uint8_t *at) {
  const uint32_t bits = read_u32(at);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static int has(const uint8_t *set, uint32_t index) { return set[index / 8] >> (index % 8) & 1; }

static void add(uint8_t *set, uint32_t index) { set[index / 8] = (uint8_t)(set[index / 8] | 1U << (index % 8)); }

/* Returns the message for the first rule that the instructions break; NULL when they break none. */
static const char *check_instructions(const program *p) {
  uint8_t written[(LIMIT + 8) / 8] = {0};
  uint8_t stored[(LIMIT + 8) / 8] = {0};
  uint32_t stores = 0;
  for (uint32_t i = 0; i < p->count; ++i) {
    const uint8_t *at = p->instructions + (size_t)i * INSTRUCTION_BYTES;
    const uint32_t operation = at[0], target = at[1], first = at[2], second = at[3];
    if (operation >= OPERATIONS) {
      return "its payload names an operation that does not exist";
    }
    if (operation == OP_LOAD && first >= p->inputs) {
      return "its payload loads an input that does not exist";
    }
    if (operation != OP_LOAD && operation != OP_CONSTANT &&
        (!has(written, first) || (operation >= OP_ADD && operation <= OP_MINIMUM && !has(written, second)))) {
      return "its payload reads a register before it is written";
    }
    if (operation == OP_STORE) {
      if (target >= p->outputs || has(stored, target)) {
        return "its payload stores an output that does not exist, or one twice";
      }
      add(stored, target);
      ++stores;
      continue;
    }
    if (target >= p->registers) {
      return "its payload writes a register that does not exist";
    }
    add(written, target);
  }
  return stores == p->outputs ? NULL : "its payload leaves out an output";
}

/* Returns the number of elements of a tensor of these sizes; UINT64_MAX when no tensor can have as many. */
static uint64_t count_elements(const uint8_t *sizes, uint32_t dimensions) {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    const uint64_t size = read_u32(sizes + (size_t)i * SIZE_BYTES) | (uint64_t)read_u32(sizes + (size_t)i * SIZE_BYTES + 4) << 32;
    if (size != 0 && elements > UINT64_MAX / size) {
      elements = UINT64_MAX;
    } else {
      elements *= size;
    }
  }
  return elements;
}

static const char *read_program(const fl_payload *payload, program *p) {
  const uint8_t *data = (const uint8_t *)payload->data;
  if (payload->size < HEADER_BYTES || memcmp(data, "FLEW", 4) != 0) {
    return "its payload does not start with a header";
  }
  if (read_u32(data + 4) != VERSION) {
    return "its payload is of another version";
  }
  const uint32_t dimensions = read_u32(data + 24);
  if (dimensions > DIMENSIONS || payload->size - HEADER_BYTES < (size_t)dimensions * SIZE_BYTES) {
    return "its payload has too many dimensions, or not the size of each";
  }
  const uint8_t *sizes = data + HEADER_BYTES;
  const uint8_t *instructions = sizes + (size_t)dimensions * SIZE_BYTES;
  const size_t rest = payload->size - HEADER_BYTES - (size_t)dimensions * SIZE_BYTES;
  *p = (program){.instructions = instructions,
                 .inputs = read_u32(data + 8),
                 .outputs = read_u32(data + 12),
                 .registers = read_u32(data + 16),
                 .count = read_u32(data + 20),
                 .elements = count_elements(sizes, dimensions)};
  if (rest % INSTRUCTION_BYTES != 0 || rest / INSTRUCTION_BYTES != p->count) {
    return "its payload's size is not that of its instructions";
  }
  if (p->inputs == 0 || p->inputs > LIMIT || p->outputs == 0 || p->outputs > LIMIT || p->registers == 0 || p->registers > LIMIT) {
    return "its payload has too few or too many inputs, outputs or registers";
  }
  return check_instructions(p);
}

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  program p;
  if (self->option_count != 0) {
    *message = "it has no options";
    return FL_INVALID_ARGUMENT;
  }
  *message = read_program(payload, &p);
  if (*message != NULL) {
    return FL_DELEGATE_INCOMPATIBLE;
  }
  *memory = (fl_backend_memory){sizeof(program), p.registers * BLOCK * sizeof(float), p.outputs};
  return FL_OK;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  program *p = (program *)persistent;
  (void)self;
  *message = read_program(payload, p);
  *handle = p;
  return *message == NULL ? FL_OK : FL_DELEGATE_INCOMPATIBLE;
}

/* Returns the larger number, or NaN if either is NaN, as in PyTorch. */
static float maximum(float a, float b) { return a > b || a != a ? a : b; }
static float minimum(float a, float b) { return a < b || a != a ? a : b; }

static float sigmoid(float x) {
  const float small = expf(-fabsf(x)); /* never overflows */
  return x < 0 ? small / (1 + small) : 1 / (1 + small);
}

#define EACH(expression)             \
  for (size_t i = 0; i < n; ++i) {   \
    r[i] = (expression);             \
  }                                  \
  break

static void compute(uint32_t operation, float *r, const float *a, const float *b, float number, size_t n) {
  switch (operation) {
    case OP_CONSTANT: EACH(number);
    case OP_ADD: EACH(a[i] + b[i]);
    case OP_SUB: EACH(a[i] - b[i]);
    case OP_MUL: EACH(a[i] * b[i]);
    case OP_DIV: EACH(a[i] / b[i]);
    case OP_MAXIMUM: EACH(maximum(a[i], b[i]));
    case OP_MINIMUM: EACH(minimum(a[i], b[i]));
    case OP_NEG: EACH(-a[i]);
    case OP_ABS: EACH(fabsf(a[i]));
    case OP_RELU: EACH(a[i] <= 0 ? 0.0F : a[i]);
    case OP_SIGMOID: EACH(sigmoid(a[i]));
    case OP_TANH: EACH(tanhf(a[i]));
    case OP_EXP: EACH(expf(a[i]));
    case OP_LOG: EACH(logf(a[i]));
    case OP_SQRT: EACH(sqrtf(a[i]));
    case OP_RSQRT: EACH(1 / sqrtf(a[i]));
    case OP_RECIPROCAL: EACH(1 / a[i]);
    default: break;
  }
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  const program *p = (const program *)handle;
  float *registers = (float *)context->scratch;
  (void)self;
  FL_CHECK(context, count == (size_t)p->inputs + p->outputs, "the call has more or fewer arguments than its payload");
  for (size_t i = 0; i < count; ++i) {
    const fl_tensor *t = fl_get_tensor(args[i]);
    FL_CHECK(context, t != NULL && t->dtype == FL_FLOAT32 && fl_is_contiguous(t), "its arguments are row-major float32 tensors");
    FL_CHECK(context, fl_numel(t) == p->elements, "an argument has another number of elements than its payload says");
  }
  const size_t elements = (size_t)p->elements;
  for (size_t start = 0; start < elements; start += BLOCK) {
    const size_t n = elements - start < BLOCK ? elements - start : BLOCK;
    for (uint32_t i = 0; i < p->count; ++i) {
      const uint8_t *at = p->instructions + (size_t)i * INSTRUCTION_BYTES;
      const uint32_t operation = at[0], target = at[1], first = at[2], second = at[3];
      if (operation == OP_LOAD) {
        memcpy(registers + target * BLOCK, (const float *)args[first]->as.tensor->data + start, n * sizeof(float));
      } else if (operation == OP_STORE) {
        memcpy((float *)args[p->inputs + target]->as.tensor->data + start, registers + first * BLOCK, n * sizeof(float));
      } else {
        /* A field that the operation does not use may name a register that does not exist, so it is not read. */
        const float *a = operation == OP_CONSTANT ? NULL : registers + first * BLOCK;
        const float *b = operation >= OP_ADD && operation <= OP_MINIMUM ? registers + second * BLOCK : NULL;
        compute(operation, registers + target * BLOCK, a, b, read_f32(at + 4), n);
      }
    }
  }
  return FL_OK;
}

extern const fl_backend fl_backend_elementwise;
static const char *const option_names[] = {NULL};

const fl_backend fl_backend_elementwise = {.struct_size = sizeof(fl_backend),
                                           .id = "FlambeauElementwise",
                                           .name = "elementwise",
                                           .measure = measure,
                                           .init = init,
                                           .execute = execute,
                                           .option_names = option_names};
