/* The backend "AbacusBackend": a device for block fixed-point numbers, simulated with integers.
 * payload.py describes the bytes of the payload; blocks.py describes the numbers, and computes the same results. */
#include <string.h>

#include "flambeau/backend.h"

enum { HEADER_BYTES = 24, VALUE_BYTES = 20, STEP_BYTES = 12, WORD = 4, VERSION = 1, DIMENSIONS = 4 };
enum { MOST_NUMBERS = 1 << 24, MOST_TERMS = 1 << 14, BITS = 24, LEAST = -149, MOST = 103, GUARD = 30 };
enum { NEGATE, ABSOLUTE, RELU, ADD, SUBTRACT, MAXIMUM, MINIMUM, MULTIPLY, MULTIPLY_MATRICES, STEPS };

/* A tensor in the memory of the device: integers times 2^power. */
typedef struct {
  uint32_t rank;
  uint32_t sizes[DIMENSIONS]; /* ones come before those of the tensor */
  uint32_t count;
  int32_t power;
  int32_t *numbers;
} block;

typedef struct {
  const uint8_t *steps;
  const uint8_t *outputs;
  const uint8_t *constants;
  uint32_t input_count, constant_count, step_count, output_count, value_count;
  uint64_t most; /* numbers of a result, before it is rounded */
  block *values;
} delegate;

/* Little-endian numbers of the payload. */

static uint32_t word(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

static int32_t signed_word(const uint8_t *at) {
  const uint32_t bits = word(at);
  int32_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Block fixed-point numbers, as in blocks.py. */

static int64_t magnitude(int64_t number) { return number < 0 ? -number : number; }

static int bit_length(int64_t number) {
  int bits = 0;
  while (number >> bits != 0) {
    ++bits;
  }
  return bits;
}

static int64_t rounded(int64_t number, int shift) {
  if (shift <= 0) {
    return number * ((int64_t)1 << -shift);
  }
  if (shift > 62) {
    return 0;
  }
  const int64_t size = (magnitude(number) + ((int64_t)1 << (shift - 1))) >> shift;
  return number < 0 ? -size : size;
}

/* Rounds a result, the integers `wide` times 2^power, to a block. Returns nonzero if a number is too large for the device. */
static int keep(block *result, const int64_t *wide, int power) {
  int64_t largest = 0;
  for (uint32_t i = 0; i < result->count; ++i) {
    largest = magnitude(wide[i]) > largest ? magnitude(wide[i]) : largest;
  }
  int shift = 0;
  result->power = LEAST;
  if (largest != 0) {
    shift = bit_length(largest) - BITS;
    shift = shift < LEAST - power ? LEAST - power : shift;
    shift += shift > 0 && bit_length(rounded(largest, shift)) > BITS;
    result->power = power + shift;
  }
  for (uint32_t i = 0; i < result->count; ++i) {
    result->numbers[i] = (int32_t)rounded(wide[i], shift);
  }
  return result->power > MOST;
}

/* Converts float32 numbers to a block. Returns nonzero if a number is infinite or NaN. */
static int load(block *result, const float *numbers) {
  uint32_t largest = 1;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < result->count; ++i) {
      uint32_t bits;
      memcpy(&bits, numbers + i, sizeof bits);
      const uint32_t field = bits >> 23 & 0xFF, exponent = field == 0 ? 1 : field;
      const int32_t size = (int32_t)((bits & 0x7FFFFF) | (field != 0 ? 0x800000U : 0U));
      if (field == 0xFF) {
        return 1;
      }
      if (pass == 0) {
        largest = exponent > largest ? exponent : largest;
      } else {
        result->numbers[i] = (int32_t)rounded(bits >> 31 ? -size : size, (int)(largest - exponent));
      }
    }
  }
  result->power = (int32_t)largest - 1 + LEAST;
  return 0;
}

/* Converts a block to float32 numbers, which are exact. */
static void store(float *numbers, const block *value) {
  const uint64_t bits = (uint64_t)(value->power + 1023) << 52;
  double factor;
  memcpy(&factor, &bits, sizeof factor);
  for (uint32_t i = 0; i < value->count; ++i) {
    numbers[i] = (float)(value->numbers[i] * factor);
  }
}

/* Steps. */

static int64_t computed(uint32_t code, int64_t a, int64_t b) {
  switch (code) {
    case NEGATE: return -a;
    case ABSOLUTE: return magnitude(a);
    case RELU: return a < 0 ? 0 : a;
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MAXIMUM: return a > b ? a : b;
    case MINIMUM: return a < b ? a : b;
    default: return a * b;
  }
}

/* Computes an elementwise step. An operand's element has the same coordinates as the result's, or 0 in dimensions of size 1. */
static int compute(uint32_t code, block *result, const block *a, const block *b, int64_t *wide) {
  int power = code == MULTIPLY ? a->power + b->power : a->power, shift_a = 0, shift_b = 0;
  if (code >= ADD && code <= MINIMUM) {
    power = (a->power > b->power ? a->power : b->power) - GUARD;
    shift_a = power - a->power;
    shift_b = power - b->power;
  }
  uint32_t i = 0, at[DIMENSIONS];
  for (at[0] = 0; at[0] < result->sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < result->sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < result->sizes[2]; ++at[2]) {
        for (at[3] = 0; at[3] < result->sizes[3]; ++at[3], ++i) {
          uint32_t x = 0, y = 0;
          for (int d = 0; d < DIMENSIONS; ++d) {
            x = x * a->sizes[d] + (a->sizes[d] == 1 ? 0 : at[d]);
            y = y * b->sizes[d] + (b->sizes[d] == 1 ? 0 : at[d]);
          }
          wide[i] = computed(code, rounded(a->numbers[x], shift_a), rounded(b->numbers[y], shift_b));
        }
      }
    }
  }
  return keep(result, wide, power);
}

static int multiply_matrices(block *result, const block *a, const block *b, int64_t *wide) {
  const uint32_t rows = a->sizes[2], terms = a->sizes[3], columns = b->sizes[3];
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      int64_t sum = 0;
      for (uint32_t i = 0; i < terms; ++i) {
        sum += (int64_t)a->numbers[row * terms + i] * b->numbers[i * columns + column];
      }
      wide[row * columns + column] = sum;
    }
  }
  return keep(result, wide, a->power + b->power);
}

/* Reading a payload. */

/* Checks the sizes of a tensor and counts its elements. */
static int read_value(const uint8_t *at, block *value) {
  uint64_t count = 1;
  value->rank = word(at);
  for (uint32_t d = 0; d < DIMENSIONS; ++d) {
    value->sizes[d] = word(at + WORD + WORD * d);
    if (value->sizes[d] > MOST_NUMBERS || (d + value->rank < DIMENSIONS && value->sizes[d] != 1)) {
      return 0;
    }
    count = value->sizes[d] == 0 || count <= MOST_NUMBERS ? count * value->sizes[d] : count;
  }
  value->count = (uint32_t)count;
  return value->rank <= DIMENSIONS && count <= MOST_NUMBERS;
}

/* Returns whether a step's result has the shape that the payload gives. */
static int fits(uint32_t code, const block *result, const block *a, const block *b) {
  if (code == MULTIPLY_MATRICES) {
    const int are_matrices = a->rank == 2 && b->rank == 2 && result->rank == 2;
    return are_matrices && a->sizes[3] <= MOST_TERMS && a->sizes[3] == b->sizes[2] && result->sizes[2] == a->sizes[2] &&
           result->sizes[3] == b->sizes[3];
  }
  int same = result->rank == (a->rank > b->rank ? a->rank : b->rank);
  for (int d = 0; d < DIMENSIONS; ++d) {
    const uint32_t x = a->sizes[d], y = b->sizes[d];
    same = same && (x == y || x == 1 || y == 1) && result->sizes[d] == (x == 1 ? y : x);
  }
  return same;
}

static const char *check_step(const uint8_t *step, const uint8_t *values, uint32_t place) {
  const uint32_t code = word(step), first = word(step + WORD), second = word(step + 2 * WORD);
  block result, a, b;
  if (code >= STEPS || first >= place || second >= place || (code <= RELU && second != 0)) {
    return "its payload has a step that does not exist, or that reads what is not computed yet";
  }
  read_value(values + (size_t)place * VALUE_BYTES, &result);
  read_value(values + (size_t)first * VALUE_BYTES, &a);
  read_value(values + (size_t)(code <= RELU ? first : second) * VALUE_BYTES, &b);
  return fits(code, &result, &a, &b) ? NULL : "its payload has a step whose result has other sizes";
}

/* Checks a whole payload, and counts the elements of its constants and of its other values. */
static const char *read_payload(const fl_payload *payload, delegate *found, uint64_t *numbers_of_constants, uint64_t *numbers_of_others) {
  const uint8_t *data = (const uint8_t *)payload->data, *values = data + HEADER_BYTES;
  if (payload->size < HEADER_BYTES || memcmp(data, "ABAC", 4) != 0) {
    return "its payload does not start with its magic";
  }
  if (word(data + 4) != VERSION) {
    return "its payload is of another version";
  }
  *found = (delegate){.input_count = word(data + 8),
                      .constant_count = word(data + 12),
                      .step_count = word(data + 16),
                      .output_count = word(data + 20)};
  const uint64_t count = (uint64_t)found->input_count + found->constant_count + found->step_count;
  const uint64_t records = count * VALUE_BYTES + (uint64_t)found->step_count * STEP_BYTES + (uint64_t)found->output_count * WORD;
  if (count > UINT32_MAX || payload->size - HEADER_BYTES < records) {
    return "its payload ends before its last value, step or output";
  }
  found->value_count = (uint32_t)count;
  found->steps = values + count * VALUE_BYTES;
  found->outputs = found->steps + (size_t)found->step_count * STEP_BYTES;
  found->constants = found->outputs + (size_t)found->output_count * WORD;
  const uint32_t first_step = found->input_count + found->constant_count;
  *numbers_of_constants = *numbers_of_others = 0;
  for (uint32_t i = 0; i < found->value_count; ++i) {
    block value;
    if (!read_value(values + (size_t)i * VALUE_BYTES, &value)) {
      return "its payload has a tensor with too many dimensions or numbers";
    }
    *(i >= found->input_count && i < first_step ? numbers_of_constants : numbers_of_others) += value.count;
    found->most = value.count > found->most ? value.count : found->most;
  }
  for (uint32_t i = 0; i < found->step_count; ++i) {
    const char *reason = check_step(found->steps + (size_t)i * STEP_BYTES, values, first_step + i);
    if (reason != NULL) {
      return reason;
    }
  }
  for (uint32_t i = 0; i < found->output_count; ++i) {
    if (word(found->outputs + (size_t)i * WORD) >= found->value_count) {
      return "its payload gives back a value that it does not have";
    }
  }
  const uint64_t rest = payload->size - HEADER_BYTES - records;
  return rest == (found->constant_count + *numbers_of_constants) * WORD ? NULL : "the size of its payload is not that of its constants";
}

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  delegate found;
  uint64_t constants, others;
  if (self->option_count != 0) {
    *message = "it has no options";
    return FL_INVALID_ARGUMENT;
  }
  *message = read_payload(payload, &found, &constants, &others);
  if (*message != NULL) {
    return FL_DELEGATE_INCOMPATIBLE;
  }
  const uint64_t persistent = sizeof(delegate) + found.value_count * (uint64_t)sizeof(block) + constants * sizeof(int32_t);
  const uint64_t scratch = found.most * sizeof(int64_t) + others * sizeof(int32_t);
  if (persistent > SIZE_MAX || scratch > SIZE_MAX) {
    *message = "its payload needs more memory than this machine has addresses";
    return FL_DELEGATE_INCOMPATIBLE;
  }
  *memory = (fl_backend_memory){(size_t)persistent, (size_t)scratch, found.output_count};
  return FL_OK;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *made = (delegate *)persistent;
  uint64_t constants, others;
  (void)self;
  *handle = made;
  *message = read_payload(payload, made, &constants, &others);
  if (*message != NULL) {
    return FL_DELEGATE_INCOMPATIBLE;
  }
  made->values = (block *)(made + 1);
  int32_t *numbers = (int32_t *)(made->values + made->value_count);
  const uint8_t *at = made->constants;
  for (uint32_t i = 0; i < made->value_count; ++i) {
    block *value = made->values + i;
    read_value((const uint8_t *)payload->data + HEADER_BYTES + (size_t)i * VALUE_BYTES, value);
    if (i < made->input_count || i >= made->input_count + made->constant_count) {
      continue;
    }
    value->numbers = numbers;
    value->power = signed_word(at);
    int64_t largest = 0;
    for (uint32_t n = 0; n < value->count; ++n, ++numbers) {
      at += WORD;
      *numbers = signed_word(at);
      largest = magnitude(*numbers) > largest ? magnitude(*numbers) : largest;
    }
    at += WORD;
    if (value->power < LEAST || value->power > MOST || bit_length(largest) > BITS || (value->power > LEAST && bit_length(largest) < BITS)) {
      *message = "its payload has a constant that is no block of the device";
      return FL_DELEGATE_INCOMPATIBLE;
    }
  }
  return FL_OK;
}

static fl_status check_argument(const delegate *d, fl_context *context, const fl_value *argument, uint32_t index) {
  const fl_tensor *t = fl_get_tensor(argument);
  const block *value = d->values + (index < d->input_count ? index : word(d->outputs + (size_t)(index - d->input_count) * WORD));
  FL_CHECK(context, t != NULL && t->dtype == FL_FLOAT32 && fl_is_contiguous(t), "its arguments are row-major float32 tensors");
  FL_CHECK(context, t->rank == value->rank, "an argument has another number of dimensions than its payload says");
  for (uint32_t i = 0; i < value->rank; ++i) {
    FL_CHECK(context, (uint32_t)t->sizes[i] == value->sizes[DIMENSIONS - value->rank + i], "an argument has other sizes than its payload says");
  }
  return FL_OK;
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  const delegate *d = (const delegate *)handle;
  (void)self;
  FL_CHECK(context, count == (size_t)d->input_count + d->output_count, "the call has more or fewer arguments than its payload");
  for (uint32_t i = 0; i < count; ++i) {
    const fl_status status = check_argument(d, context, args[i], i);
    if (status != FL_OK) {
      return status;
    }
  }
  int64_t *wide = (int64_t *)context->scratch;
  int32_t *memory = (int32_t *)(wide + d->most);
  const uint32_t first_step = d->input_count + d->constant_count;
  for (uint32_t i = 0; i < d->value_count; ++i) {
    block *value = d->values + i;
    if (i >= d->input_count && i < first_step) {
      continue;
    }
    value->numbers = memory;
    memory += value->count;
    if (i < d->input_count) {
      FL_CHECK(context, !load(value, (const float *)args[i]->as.tensor->data), "an input is infinite or NaN, which the device has no numbers for");
      continue;
    }
    const uint8_t *step = d->steps + (size_t)(i - first_step) * STEP_BYTES;
    const uint32_t code = word(step);
    const block *a = d->values + word(step + WORD), *b = code <= RELU ? a : d->values + word(step + 2 * WORD);
    const int is_beyond = code == MULTIPLY_MATRICES ? multiply_matrices(value, a, b, wide) : compute(code, value, a, b, wide);
    FL_CHECK(context, !is_beyond, "a result is beyond the device's numbers, which are below 2^127");
  }
  for (uint32_t i = 0; i < d->output_count; ++i) {
    store((float *)args[d->input_count + i]->as.tensor->data, d->values + word(d->outputs + (size_t)i * WORD));
  }
  return FL_OK;
}

static const char *const option_names[] = {NULL};

extern const fl_backend fl_backend_abacus;
const fl_backend fl_backend_abacus = {.struct_size = sizeof(fl_backend),
                                      .id = "AbacusBackend",
                                      .name = "abacus",
                                      .measure = measure,
                                      .init = init,
                                      .execute = execute,
                                      .option_names = option_names};
