/* flambeau::quantized_add, quantized_mul and quantized_table: elementwise operators of quantized numbers, computed in integers. */
#include "loops.h"
#include "quantized_elementwise.def"

#define MOST_SUM_MULTIPLIER (1 << 21)
#define MOST_PRODUCT_MULTIPLIER (1 << 14)
#define MOST_SHIFT 30

/* The parameters of an operator: the operands' zero points, the scaling of the total, and the limits of the result. */
typedef struct numbers {
  int32_t left, right; /* multipliers of a sum */
  int32_t scale;       /* multiplier of a product */
  int32_t shift, left_zero, right_zero, zero, low, high;
} numbers;

/* Defines a span. It is not inlined and copies the parameters, because `out`, of bytes, might alias them, which would prevent vectors. */
#define DEFINE_SPAN(name, type, right_type, at, total)                                                                             \
  static __attribute__((noinline)) void name(const numbers *given, const type *left, right_type right, size_t n, type *out) {      \
    const numbers s = *given;                                                                                                      \
    const int32_t half = (int32_t)1 << (s.shift - 1);                                                                              \
    FL_INDEPENDENT for (size_t i = 0; i < n; ++i) {                                                                                \
      const int32_t x = left[i] - s.left_zero, y = right at - s.right_zero;                                                        \
      const int32_t value = (((total) + half) >> s.shift) + s.zero, raised = value < s.low ? s.low : value;                        \
      out[i] = (type)(raised > s.high ? s.high : raised);                                                                          \
    }                                                                                                                              \
  }
DEFINE_SPAN(add_int8, int8_t, const int8_t *, [i], x * s.left + y * s.right)
DEFINE_SPAN(add_uint8, uint8_t, const uint8_t *, [i], x * s.left + y * s.right)
DEFINE_SPAN(mul_int8, int8_t, const int8_t *, [i], x * y * s.scale)
DEFINE_SPAN(mul_uint8, uint8_t, const uint8_t *, [i], x * y * s.scale)
DEFINE_SPAN(mul_int8_number, int8_t, int32_t, , x * y * s.scale)
DEFINE_SPAN(mul_uint8_number, uint8_t, int32_t, , x * y * s.scale)

/* Reads zero points, low and high from argument `at` on, and checks the types of the tensors. */
static fl_status read_numbers(fl_context *context, fl_value *const *args, int at, const fl_tensor *input, const fl_tensor *other,
                              const fl_tensor *out, numbers *s) {
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && input->dtype == other->dtype && input->dtype == out->dtype,
           "the operands and the result must be of int8 or uint8, all of one");
  int32_t *const places[] = {&s->left_zero, &s->right_zero, &s->zero, &s->low, &s->high};
  const int64_t least = input->dtype == FL_INT8 ? -128 : 0;
  for (int i = 0; i < 5; ++i) {
    int64_t number;
    FL_CHECK(context, fl_get_int(args[at + i], &number) && number >= least && number <= least + 255,
             "zero points, low and high must be numbers of the operands' type");
    *places[i] = (int32_t)number;
  }
  FL_CHECK(context, s->low <= s->high, "low must not be above high");
  return FL_OK;
}

static fl_status read_scaled(fl_context *context, const fl_value *value, int32_t most, int32_t *number) {
  int64_t read;
  FL_CHECK_NUMBERS(context, fl_get_int(value, &read) && read >= 0 && read <= most, "a multiplier must be from 0 to %", most, 0);
  *number = (int32_t)read;
  return FL_OK;
}

static fl_status read_shift(fl_context *context, const fl_value *value, int32_t *shift) {
  int64_t read;
  FL_CHECK_NUMBERS(context, fl_get_int(value, &read) && read >= 1 && read <= MOST_SHIFT, "the shift must be from 1 to %", MOST_SHIFT, 0);
  *shift = (int32_t)read;
  return FL_OK;
}

fl_status fl_fixed_point_add_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(other, 1);
  FL_TENSOR_ARGUMENT(out, 10);
  numbers s = {0};
  FL_TRY(read_numbers(context, args, 5, input, other, out, &s));
  FL_TRY(read_scaled(context, args[2], MOST_SUM_MULTIPLIER, &s.left));
  FL_TRY(read_scaled(context, args[3], MOST_SUM_MULTIPLIER, &s.right));
  FL_TRY(read_shift(context, args[4], &s.shift));
  FL_CHECK(context, fl_same_sizes(input, other), "the operands must have one shape");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out) && fl_same_order(other, out), "the operands and the result must be laid out alike");
  if (input->dtype == FL_INT8) {
    add_int8(&s, input->data, other->data, fl_numel(input), out->data);
  } else {
    add_uint8(&s, input->data, other->data, fl_numel(input), out->data);
  }
  return FL_OK;
}

/* Returns whether `t` has the first two sizes of `input`, and size 1 in all other dimensions. */
static int is_per_channel(const fl_tensor *t, const fl_tensor *input) {
  int is = t->rank == input->rank;
  for (uint8_t i = 0; is && i < t->rank; ++i) {
    is = t->sizes[i] == (i < 2 ? input->sizes[i] : 1);
  }
  return is;
}

static void multiply(const numbers *s, int is_signed, const uint8_t *left, const uint8_t *right, size_t n, uint8_t *out) {
  if (is_signed) {
    mul_int8(s, (const int8_t *)left, (const int8_t *)right, n, (int8_t *)out);
  } else {
    mul_uint8(s, left, right, n, out);
  }
}

/* Multiplies each channel of an image, which is contiguous, by its number. */
static void multiply_channels(const numbers *s, int is_signed, const uint8_t *left, const uint8_t *right, size_t channels, size_t size, uint8_t *out) {
  for (size_t c = 0; c < channels; ++c, left += size, out += size) {
    if (is_signed) {
      mul_int8_number(s, (const int8_t *)left, (int8_t)right[c], size, (int8_t *)out);
    } else {
      mul_uint8_number(s, left, right[c], size, out);
    }
  }
}

fl_status fl_fixed_point_mul_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(other, 1);
  FL_TENSOR_ARGUMENT(out, 9);
  numbers s = {0};
  FL_TRY(read_numbers(context, args, 4, input, other, out, &s));
  FL_TRY(read_scaled(context, args[2], MOST_PRODUCT_MULTIPLIER, &s.scale));
  FL_TRY(read_shift(context, args[3], &s.shift));
  const int is_same = fl_same_sizes(input, other), is_signed = input->dtype == FL_INT8;
  FL_CHECK(context, is_same || is_per_channel(other, input), "the second operand must have the shape of the first, or a number for each of its channels");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out) && (is_same ? fl_same_order(other, out) : 1), "the operands and the result must be laid out alike");
  const size_t total = fl_numel(input);
  if (is_same || total == 0) {
    multiply(&s, is_signed, input->data, other->data, total, out->data);
    return FL_OK;
  }
  /* The rank is above 2: the channels are the second dimension, or the last in memory. */
  const size_t images = (size_t)input->sizes[0], channels = (size_t)input->sizes[1], size = total / (images * channels);
  const int is_last = input->strides[1] == 1 && channels > 1;
  FL_CHECK(context, is_last || fl_is_contiguous(input), "the operands must be stored row-major or channels last");
  FL_CHECK(context, (channels == 1 || other->strides[1] == 1) && (images == 1 || (size_t)other->strides[0] == channels) &&
                        (images == 1 || (size_t)input->strides[0] == channels * size),
           "the batch must be the outermost dimension, and the numbers of channels lie together");
  const uint8_t *left = input->data, *right = other->data;
  uint8_t *to = out->data;
  for (size_t n = 0; n < images; ++n, right += channels) {
    if (!is_last) {
      multiply_channels(&s, is_signed, left, right, channels, size, to);
      left += channels * size;
      to += channels * size;
      continue;
    }
    for (size_t i = 0; i < size; ++i, left += channels, to += channels) {
      multiply(&s, is_signed, left, right, channels, to);
    }
  }
  return FL_OK;
}

static __attribute__((noinline)) void look_up(const uint8_t *table, const uint8_t *bytes, size_t n, uint8_t *out) {
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) { out[i] = table[bytes[i]]; }
}

fl_status fl_quantized_table_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(table, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && (table->dtype == FL_INT8 || table->dtype == FL_UINT8) && table->dtype == out->dtype,
           "the input, the table and the result must be of int8 or uint8, the result as the table");
  FL_CHECK(context, table->rank == 1 && table->sizes[0] == 256, "the table must have the shape [256]");
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  FL_CHECK(context, fl_same_order(input, out), "the input and the result must be laid out alike");
  look_up(table->data, input->data, fl_numel(input), out->data);
  return FL_OK;
}
