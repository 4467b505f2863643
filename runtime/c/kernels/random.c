/* Kernels of random numbers from the method's stream, and of dropout. */
#include <math.h>

#include "element.h"
#include "loops.h"
#include "random.def"

/* Stores the four words of block `counter` of the stream `key` of Philox 4x32-10. */
static void block_of(uint64_t key, uint64_t counter, uint32_t words[4]) {
  uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
  uint32_t x[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = (uint64_t)0xd2511f53u * x[0], second = (uint64_t)0xcd9e8d57u * x[2];
    const uint32_t next[4] = {(uint32_t)(second >> 32) ^ x[1] ^ low, (uint32_t)second, (uint32_t)(first >> 32) ^ x[3] ^ high, (uint32_t)first};
    memcpy(x, next, sizeof x);
    low += 0x9e3779b9u;
    high += 0xbb67ae85u;
  }
  memcpy(words, x, sizeof x);
}

/* The state of a sequence of uniform numbers in [0, 1). */
typedef struct draws {
  fl_random *stream;
  uint32_t words[4];
  unsigned next; /* index of the next word; 4: none is left */
} draws;

static uint32_t word(draws *d) {
  if (d->next == 4) {
    block_of(d->stream->seed, d->stream->counter++, d->words);
    d->next = 0;
  }
  return d->words[d->next++];
}

/* Returns the next uniform number, with the precision of the type. A double takes two words. */
static double uniform(draws *d, int8_t dtype) {
  const double high = (double)(word(d) >> (dtype == FL_FLOAT64 ? 5 : dtype == FL_FLOAT16 ? 21 : dtype == FL_BFLOAT16 ? 24 : 8));
  switch (dtype) {
    case FL_FLOAT64: return (high * 0x1p26 + (double)(word(d) >> 6)) * 0x1p-53;
    case FL_FLOAT16: return high * 0x1p-11;
    case FL_BFLOAT16: return high * 0x1p-8;
    default: return high * 0x1p-24;
  }
}

static fl_status start(fl_context *context, draws *d, const fl_tensor *out) {
  FL_CHECK(context, context->random != NULL, "there is no stream of random numbers to draw from");
  FL_CHECK(context, fl_is_float(out->dtype) && fl_is_contiguous(out), "the output must be contiguous and of a floating type");
  *d = (draws){.stream = context->random, .next = 4};
  return FL_OK;
}

static fl_status resize(fl_context *context, const fl_value *size, fl_tensor *out) {
  int64_t sizes[FL_MAX_RANK];
  int32_t narrow[FL_MAX_RANK];
  uint32_t rank = 0;
  FL_CHECK(context, fl_get_ints(size, sizes, FL_MAX_RANK, &rank), "the size must be a list of at most 16 integers");
  for (uint32_t d = 0; d < rank; ++d) {
    FL_CHECK(context, sizes[d] >= 0 && sizes[d] <= INT32_MAX, "a size is out of range");
    narrow[d] = (int32_t)sizes[d];
  }
  return fl_resize(context, out, narrow, (uint8_t)rank);
}

fl_status fl_rand_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(out, 1);
  draws d;
  (void)count;
  FL_TRY(resize(context, args[0], out));
  FL_TRY(start(context, &d, out));
  const size_t n = fl_numel(out);
  for (size_t i = 0; i < n; ++i) {
    fl_write_real(out->dtype, out->data, i, uniform(&d, out->dtype));
  }
  return FL_OK;
}

/* Draws normal numbers by Box and Muller's method, which makes two normal numbers of two uniform ones. */
fl_status fl_randn_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(out, 1);
  draws d;
  (void)count;
  FL_TRY(resize(context, args[0], out));
  FL_TRY(start(context, &d, out));
  const int8_t digits = out->dtype == FL_FLOAT64 ? FL_FLOAT64 : FL_FLOAT32;
  const size_t n = fl_numel(out);
  for (size_t i = 0; i < n; i += 2) {
    const double radius = sqrt(-2.0 * log(1.0 - uniform(&d, digits)));
    const double angle = 6.283185307179586 * uniform(&d, digits);
    fl_write_real(out->dtype, out->data, i, radius * cos(angle));
    if (i + 1 < n) {
      fl_write_real(out->dtype, out->data, i + 1, radius * sin(angle));
    }
  }
  return FL_OK;
}

fl_status fl_native_dropout_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_REAL_ARGUMENT(p, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  FL_TENSOR_ARGUMENT(mask, 4);
  static const fl_value one = {.as = {.integer = 1}, .tag = FL_INT};
  int64_t train = 1;
  (void)count;
  FL_CHECK(context, fl_is_none(args[2]) || fl_get_int(args[2], &train), "train must be a bool or none");
  FL_CHECK(context, train == 0 || (p >= 0.0 && p <= 1.0), "p must be a probability");
  FL_CHECK(context, out->dtype == self->dtype && mask->dtype == FL_BOOL, "the output must have the input's type and the mask be of bool");
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  FL_TRY(fl_resize(context, mask, self->sizes, self->rank));
  if (train == 0 || p == 0.0) {
    FL_TRY(fl_map_copy(context, out, self));
    return fl_fill_scalar(context, mask, &one);
  }
  draws d;
  FL_TRY(start(context, &d, out));
  FL_CHECK(context, fl_is_contiguous(self) && fl_is_contiguous(mask), "dropout in training takes and gives contiguous tensors");
  const double scale = p < 1.0 ? 1.0 / (1.0 - p) : 0.0;
  const size_t n = fl_numel(self);
  for (size_t i = 0; i < n; ++i) {
    const int kept = uniform(&d, FL_FLOAT32) >= p;
    ((uint8_t *)mask->data)[i] = (uint8_t)kept;
    fl_write_real(out->dtype, out->data, i, fl_read_real(self->dtype, self->data, i) * kept * scale);
  }
  return FL_OK;
}
