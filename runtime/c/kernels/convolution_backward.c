/* Kernels of the gradients of a convolution. */
#include "convolution.h"
#include "element.h"
#include "loops.h"
#include "convolution_backward.def"

/* A sum of products of real numbers, or of integers, which wrap around. */
typedef struct sum {
  double real;
  uint64_t whole;
} sum;

static void add(sum *to, const fl_tensor *a, size_t i) {
  if (fl_is_float(a->dtype)) {
    to->real += fl_read_real(a->dtype, a->data, i);
  } else {
    to->whole += fl_read_integer(a->dtype, a->data, i);
  }
}

static void add_product(sum *to, const fl_tensor *a, size_t i, const fl_tensor *b, size_t j) {
  if (fl_is_float(a->dtype)) {
    to->real += fl_read_real(a->dtype, a->data, i) * fl_read_real(b->dtype, b->data, j);
  } else {
    to->whole += fl_read_integer(a->dtype, a->data, i) * fl_read_integer(b->dtype, b->data, j);
  }
}

static void write(const fl_tensor *to, size_t i, sum x) {
  if (fl_is_float(to->dtype)) {
    fl_write_real(to->dtype, to->data, i, x.real);
  } else {
    fl_write_integer(to->dtype, to->data, i, x.whole);
  }
}

/* Computes the gradient of the input: the transposed convolution of the result's gradient, or the plain one if p is transposed. */
static __attribute__((noinline)) void input_gradient(const fl_convolution *p, fl_tensor *out) {
  fl_convolution back = *p;
  back.input = p->out;
  back.out = out;
  back.in_channels = p->out_channels;
  back.out_channels = p->in_channels;
  memcpy(back.in, p->out_size, sizeof back.in);
  memcpy(back.out_size, p->in, sizeof back.out_size);
  memcpy(back.in_stride, p->out_stride, sizeof back.in_stride);
  fl_convolution_strides(out, back.out_stride);
  back.transposed = !p->transposed;
  fl_convolution_by_definition(&back);
}

/* One side of a convolution, the input or the result. */
typedef struct side {
  const fl_tensor *tensor;
  const size_t *size, *stride;
} side;

/* Returns the index along dimension i of side `read` under a tap, for index `at` of the other side; less than 0 outside of the image. */
static int64_t read_at(const fl_convolution *p, const side *read, int i, size_t at, size_t tap) {
  const int64_t x = (int64_t)(at * p->stride[i] + tap * p->dilation[i]) - (int64_t)p->padding[i];
  return x < (int64_t)read->size[i] ? x : -1;
}

/* Adds to `total` the products of all elements of a plane of side `written` with the elements of side `read` under a tap. */
static void add_plane(const fl_convolution *p, const side *written, size_t to, const side *read, size_t from, const size_t *tap, sum *total) {
  for (size_t z = 0; z < written->size[0]; ++z) {
    const int64_t c = read_at(p, read, 0, z, tap[0]);
    for (size_t y = 0; c >= 0 && y < written->size[1]; ++y) {
      const int64_t b = read_at(p, read, 1, y, tap[1]);
      for (size_t x = 0; b >= 0 && x < written->size[2]; ++x) {
        const int64_t a = read_at(p, read, 2, x, tap[2]);
        if (a >= 0) {
          add_product(total, written->tensor, to + z * written->stride[0] + y * written->stride[1] + x * written->stride[2], read->tensor,
                      from + (size_t)c * read->stride[0] + (size_t)b * read->stride[1] + (size_t)a * read->stride[2]);
        }
      }
    }
  }
}

/* Computes the gradient of the weight. The written side is the result, and the read side the input; transposed, they are exchanged. */
static __attribute__((noinline)) void weight_gradient(const fl_convolution *p, const fl_tensor *out) {
  const side input = {p->input, p->in, p->in_stride}, result = {p->out, p->out_size, p->out_stride};
  const side *const written = p->transposed ? &input : &result, *const read = p->transposed ? &result : &input;
  const size_t rows = (size_t)out->sizes[0], columns = (size_t)out->sizes[1];
  size_t strides[FL_SPATIAL], tap[FL_SPATIAL];
  fl_convolution_strides(out, strides);
  for (size_t i = 0; i < rows * columns; ++i) {
    const size_t row = i / columns, column = i % columns, channel = row / (rows / p->groups) * columns + column;
    const size_t start = row * (size_t)out->strides[0] + column * (size_t)out->strides[1];
    for (tap[0] = 0; tap[0] < p->kernel[0]; ++tap[0]) {
      for (tap[1] = 0; tap[1] < p->kernel[1]; ++tap[1]) {
        for (tap[2] = 0; tap[2] < p->kernel[2]; ++tap[2]) {
          sum total = {0};
          for (size_t n = 0; n < p->batch; ++n) {
            const size_t to = n * (size_t)written->tensor->strides[0] + row * (size_t)written->tensor->strides[1];
            const size_t from = n * (size_t)read->tensor->strides[0] + channel * (size_t)read->tensor->strides[1];
            add_plane(p, written, to, read, from, tap, &total);
          }
          write(out, start + tap[0] * strides[0] + tap[1] * strides[1] + tap[2] * strides[2], total);
        }
      }
    }
  }
}

static __attribute__((noinline)) void bias_gradient(const fl_convolution *p, const fl_tensor *out) {
  const size_t plane = p->out_size[1] * p->out_size[2], volume = p->out_size[0] * plane;
  for (size_t o = 0; o < p->out_channels; ++o) {
    sum total = {0};
    for (size_t i = 0; i < p->batch * volume; ++i) {
      const size_t at = i % volume;
      add(&total, p->out,
          i / volume * (size_t)p->out->strides[0] + o * (size_t)p->out->strides[1] + at / plane * p->out_stride[0] +
              at % plane / p->out_size[2] * p->out_stride[1] + at % p->out_size[2] * p->out_stride[2]);
    }
    write(out, o, total);
  }
}

fl_status fl_convolution_backward_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(gradient, 0);
  FL_TENSOR_ARGUMENT(input, 1);
  FL_TENSOR_ARGUMENT(weight, 2);
  fl_value none = {.tag = FL_NONE};
  fl_value *const forward[10] = {args[1], args[2], &none, args[4], args[5], args[6], args[7], args[8], args[9], args[0]};
  fl_convolution p;
  int32_t sizes[FL_SPATIAL + 2];
  (void)count;
  FL_CHECK(context, args[10]->tag == FL_BOOL_LIST && args[10]->as.list.count == 3, "output_mask must be a list of 3 truth values");
  FL_TRY(fl_convolution_read(context, forward, &p, sizes));
  for (uint8_t d = 0; d < gradient->rank; ++d) {
    FL_CHECK_NUMBERS(context, gradient->sizes[d] == sizes[d], "the gradient has a size of %, where the convolution's result has %", gradient->sizes[d],
                     sizes[d]);
  }
  fl_convolution_strides(gradient, p.out_stride);
  const uint8_t *const wanted = args[10]->as.list.items;
  const int32_t channels = (int32_t)p.out_channels, nothing = 0;
  const int32_t *const shapes[3] = {input->sizes, weight->sizes, &channels};
  const uint8_t ranks[3] = {input->rank, weight->rank, 1};
  fl_tensor *outs[3];
  for (int i = 0; i < 3; ++i) {
    fl_tensor *const out = fl_get_tensor(args[11 + i]);
    FL_CHECK(context, out != NULL && out->dtype == input->dtype, "the gradients must be tensors of the input's type");
    FL_TRY(fl_resize(context, out, wanted[i] ? shapes[i] : &nothing, wanted[i] ? ranks[i] : 1));
    outs[i] = out;
  }
  if (wanted[0]) {
    input_gradient(&p, outs[0]);
  }
  if (wanted[1]) {
    weight_gradient(&p, outs[1]);
  }
  if (wanted[2]) {
    bias_gradient(&p, outs[2]);
  }
  return FL_OK;
}
