/* flambeau::quantized_avg_pool2d: average pooling of quantized images, computed in integers. */
#include "conv2d.h"
#include "integer_products.h"
#include "quantized_pool.def"

/* The strides in bytes of channels, rows and columns. */
typedef struct steps {
  size_t channel, row, column;
} steps;

typedef struct pool {
  size_t size[2], channels, out_size[2], kernel[2], stride[2], padding[2];
  steps in, out;
  int is_signed;
  int32_t input_zero;
} pool;

static steps steps_of(const fl_tensor *t) { return (steps){(size_t)t->strides[1], (size_t)t->strides[2], (size_t)t->strides[3]}; }

/* The channels whose sums are computed together: a pixel's loop over them is long enough for vectors. */
#define MOST_CHANNELS (4 * FL_PANEL)

/* Adds `count` (at most MOST_CHANNELS) channels of a pixel, `step` bytes apart, to `sums`. */
FL_INLINE void add_pixel(const uint8_t *pixel, size_t count, const size_t step, int is_signed, int32_t zero, int32_t *sums) {
  FL_INDEPENDENT for (size_t i = 0; i < count; ++i) {
    sums[i] += (is_signed ? (int32_t)(int8_t)pixel[i * step] : (int32_t)pixel[i * step]) - zero;
  }
}

FL_INLINE void add_window(const pool *p, const uint8_t *image, size_t y, size_t x, size_t first, size_t count, const size_t step, int is_signed, int32_t *sums) {
  for (size_t i = 0; i < p->kernel[0]; ++i) {
    const size_t row = y * p->stride[0] + i - p->padding[0]; /* wraps around for rows before the image */
    for (size_t j = 0; row < p->size[0] && j < p->kernel[1]; ++j) {
      const size_t column = x * p->stride[1] + j - p->padding[1];
      if (column < p->size[1]) {
        add_pixel(image + row * p->in.row + column * p->in.column + first * step, count, step, is_signed, p->input_zero, sums);
      }
    }
  }
}

/* Writes the results of `count` channels, from `pixel` on. */
static void write_panel(const pool *p, const fl_requantization *to, int32_t (*sums)[FL_PANEL], size_t count, uint8_t *pixel) {
  uint8_t results[FL_PANEL];
  fl_requantize(to, sums, 1, 0, count, p->out.channel == 1 ? pixel : results, FL_PANEL);
  for (size_t i = 0; p->out.channel != 1 && i < count; ++i) {
    pixel[i * p->out.channel] = results[i];
  }
}

static __attribute__((noinline)) void run(const pool *p, const fl_requantization *to, const uint8_t *image, uint8_t *out) {
  for (size_t at = 0; at < p->out_size[0] * p->out_size[1]; ++at) {
    const size_t y = at / p->out_size[1], x = at % p->out_size[1];
    uint8_t *const pixel = out + y * p->out.row + x * p->out.column;
    for (size_t first = 0; first < p->channels; first += MOST_CHANNELS) {
      const size_t count = p->channels - first < MOST_CHANNELS ? p->channels - first : MOST_CHANNELS;
      int32_t sums[MOST_CHANNELS / FL_PANEL][FL_PANEL] = {{0}};
      if (p->in.channel != 1) {
        add_window(p, image, y, x, first, count, p->in.channel, p->is_signed, sums[0]);
      } else {
        add_window(p, image, y, x, first, count, 1, p->is_signed, sums[0]);
      }
      for (size_t at_panel = 0; at_panel < count; at_panel += FL_PANEL) {
        write_panel(p, to, sums + at_panel / FL_PANEL, count - at_panel < FL_PANEL ? count - at_panel : FL_PANEL, pixel + (first + at_panel) * p->out.channel);
      }
    }
  }
}

fl_status fl_quantized_avg_pool2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(out, 10);
  FL_CHECK(context, (input->dtype == FL_INT8 || input->dtype == FL_UINT8) && input->dtype == out->dtype,
           "the input and the result must be of int8 or uint8, both of one");
  FL_CHECK(context, input->rank == 4, "the input must be an image");
  pool p = {.channels = (size_t)input->sizes[1], .is_signed = input->dtype == FL_INT8};
  int64_t pairs[3][2];
  for (int i = 0; i < 3; ++i) {
    uint32_t number = 0;
    FL_CHECK(context, fl_get_ints(args[1 + i], pairs[i], 2, &number) && number == 2, "kernel_size, stride and padding must have two numbers each");
  }
  int32_t sizes[4] = {input->sizes[0], input->sizes[1], 0, 0};
  for (int i = 0; i < 2; ++i) {
    int64_t size;
    FL_CHECK(context, pairs[0][i] >= 1 && pairs[0][i] <= FL_MOST_PRODUCTS && fl_conv_size(input->sizes[2 + i], pairs[0][i], pairs[1][i], pairs[2][i], 1, &size) && size <= INT32_MAX,
             "kernel_size, stride and padding must fit the image");
    p.size[i] = (size_t)input->sizes[2 + i];
    p.kernel[i] = (size_t)pairs[0][i];
    p.stride[i] = (size_t)pairs[1][i];
    p.padding[i] = (size_t)pairs[2][i];
    p.out_size[i] = (size_t)size;
    sizes[2 + i] = (int32_t)size;
  }
  FL_CHECK(context, p.kernel[0] * p.kernel[1] <= FL_MOST_PRODUCTS, "a window can have 65536 numbers");
  int64_t multiplier, shift, numbers[4];
  const int64_t least = p.is_signed ? -128 : 0;
  FL_CHECK(context, fl_get_int(args[4], &multiplier) && multiplier >= 0 && multiplier <= INT32_MAX && fl_get_int(args[5], &shift) && shift >= 1 && shift <= FL_MOST_SHIFT,
           "the multiplier must be an int32 not below 0, the shift from 1 to 61");
  for (int i = 0; i < 4; ++i) {
    FL_CHECK(context, fl_get_int(args[6 + i], &numbers[i]) && numbers[i] >= least && numbers[i] <= least + 255,
             "zero points, low and high must be numbers of the input's type");
  }
  FL_CHECK(context, numbers[2] <= numbers[3], "low must not be above high");
  FL_TRY(fl_resize(context, out, sizes, 4));
  p.in = steps_of(input);
  p.out = steps_of(out);
  p.input_zero = (int32_t)numbers[0];
  int32_t bias[FL_PANEL] = {0}, multipliers[FL_PANEL], shifts[FL_PANEL];
  for (size_t i = 0; i < FL_PANEL; ++i) {
    multipliers[i] = (int32_t)multiplier;
    shifts[i] = (int32_t)shift;
  }
  const fl_requantization to = {bias, multipliers, shifts, (int32_t)numbers[1], (int32_t)numbers[2], (int32_t)numbers[3], fl_is_narrow(shift)};
  for (size_t n = 0; n < (size_t)sizes[0]; ++n) {
    run(&p, &to, (const uint8_t *)input->data + n * (size_t)input->strides[0], (uint8_t *)out->data + n * (size_t)out->strides[0]);
  }
  return FL_OK;
}
