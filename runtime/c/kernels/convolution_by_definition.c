/* Computes convolution by its definition, number by number: of every element type, layout and number of dimensions. */
#include "convolution_by_definition.h"
#include "element.h"

void fl_convolution_strides(const fl_tensor *tensor, size_t *strides) {
  for (uint8_t i = 0; i < FL_SPATIAL; ++i) {
    const uint8_t lead = (uint8_t)(FL_SPATIAL + 2 - tensor->rank);
    strides[i] = i < lead ? 0 : (size_t)tensor->strides[i - lead + 2];
  }
}

/* Returns the input index along dimension i that tap k reads for output position `at`; -1 for padding. */
static int64_t source(const fl_convolution *p, int i, size_t at, size_t k) {
  if (!p->transposed) {
    const int64_t x = (int64_t)(at * p->stride[i] + k * p->dilation[i]) - (int64_t)p->padding[i];
    return x < (int64_t)p->in[i] ? x : -1;
  }
  const int64_t x = (int64_t)(at + p->padding[i]) - (int64_t)(k * p->dilation[i]);
  const int64_t stride = (int64_t)p->stride[i];
  return x >= 0 && x % stride == 0 && x / stride < (int64_t)p->in[i] ? x / stride : -1;
}

/* They are not inlined, as they have code for each type. */
static __attribute__((noinline)) double real_of(const fl_tensor *t, size_t i) { return fl_read_real(t->dtype, t->data, i); }
static __attribute__((noinline)) uint64_t integer_of(const fl_tensor *t, size_t i) { return fl_read_integer(t->dtype, t->data, i); }

/* Computes one element of the result. w_out and w_in are the weight's strides along output and input channels. */
static void run_element(const fl_convolution *p, size_t n, size_t o, const size_t *at) {
  const fl_tensor *in = p->input, *weight = p->weight;
  const size_t channels = p->in_channels / p->groups, outs = p->out_channels / p->groups;
  const size_t first = o / outs * channels;
  const size_t in_step = (size_t)in->strides[1];
  const size_t weight_step = (size_t)weight->strides[p->transposed ? 0 : 1];
  const size_t weight_start = p->transposed ? first * weight_step + o % outs * (size_t)weight->strides[1] : o * (size_t)weight->strides[0];
  const int real = fl_is_real(in->dtype);
  double sum = p->bias && real ? real_of(p->bias, o) : 0.0;
  uint64_t whole = p->bias && !real ? integer_of(p->bias, o) : 0;
  for (size_t a = 0; a < p->kernel[0]; ++a) {
    const int64_t z = source(p, 0, at[0], a);
    for (size_t b = 0; z >= 0 && b < p->kernel[1]; ++b) {
      const int64_t y = source(p, 1, at[1], b);
      for (size_t c = 0; y >= 0 && c < p->kernel[2]; ++c) {
        const int64_t x = source(p, 2, at[2], c);
        if (x < 0) {
          continue;
        }
        size_t from = n * (size_t)in->strides[0] + first * in_step + (size_t)z * p->in_stride[0] + (size_t)y * p->in_stride[1] +
                      (size_t)x * p->in_stride[2];
        size_t w = weight_start + a * p->weight_stride[0] + b * p->weight_stride[1] + c * p->weight_stride[2];
        for (size_t i = 0; i < channels; ++i, from += in_step, w += weight_step) {
          if (fl_is(in->dtype, FL_FLOAT32)) {
            sum += (double)(((const float *)in->data)[from] * ((const float *)weight->data)[w]);
          } else if (real) {
            sum += real_of(in, from) * real_of(weight, w);
          } else {
            whole += integer_of(in, from) * integer_of(weight, w);
          }
        }
      }
    }
  }
  const size_t to = n * (size_t)p->out->strides[0] + o * (size_t)p->out->strides[1] + at[0] * p->out_stride[0] + at[1] * p->out_stride[1] +
                    at[2] * p->out_stride[2];
  if (real) {
    fl_write_real(p->out->dtype, p->out->data, to, sum);
  } else {
    fl_write_integer(p->out->dtype, p->out->data, to, whole);
  }
}

void fl_convolution_by_definition(const fl_convolution *p) {
  for (size_t n = 0; n < p->batch; ++n) {
    for (size_t o = 0; o < p->out_channels; ++o) {
      size_t at[FL_SPATIAL];
      for (at[0] = 0; at[0] < p->out_size[0]; ++at[0]) {
        for (at[1] = 0; at[1] < p->out_size[1]; ++at[1]) {
          for (at[2] = 0; at[2] < p->out_size[2]; ++at[2]) {
            run_element(p, n, o, at);
          }
        }
      }
    }
  }
}
