/* Linear layers and convolutions of ExecuTorch's runtime for Cadence's DSPs, on quantized numbers. */
#include "cadence_nnlib.h"
#include "conv2d.h"
#include "cadence_layers.def"

#define MOST_PRODUCTS 65536
/* The product of two numbers of 8 bits less their zero points: of 16 bits each, which processors multiply that have no products of 32 bits. */
#define PRODUCT(x, x_zero, y, y_zero) ((int16_t)((x) - (x_zero)) * (int16_t)((y) - (y_zero)))

/* Checks a bias: a number of int32 for each channel. */
static fl_status check_bias(fl_context *context, const fl_tensor *bias, int32_t channels) {
  FL_CHECK(context, bias->dtype == FL_INT32 && bias->rank == 1 && bias->sizes[0] == channels && fl_is_contiguous(bias),
           "the bias must be of int32, a number for each output");
  return FL_OK;
}

/* A product of rows of k numbers with n columns of k factors: factor i of column j is at j * column + i * step. */
typedef struct product {
  size_t rows, n, k, column, step;
  int32_t zero_point, weight_zero_point;
  const int32_t *bias; /* NULL: none */
  fl_cadence_ratio ratio;
} product;

#define DEFINE_PRODUCT(name, type)                                                                                    \
  static void name(const product *p, const type *rows, const type *weight, type *out) {                              \
    for (size_t row = 0; row < p->rows; ++row, rows += p->k) {                                                        \
      for (size_t j = 0; j < p->n; ++j) {                                                                             \
        const type *const factors = weight + j * p->column;                                                           \
        uint32_t sum = p->bias != NULL ? (uint32_t)p->bias[j] : 0;                                                    \
        for (size_t i = 0; i < p->k; ++i) {                                                                           \
          sum += (uint32_t)PRODUCT(rows[i], p->zero_point, factors[i * p->step], p->weight_zero_point);               \
        }                                                                                                             \
        *out++ = (type)fl_cadence_requantized(&p->ratio, (int32_t)sum);                                               \
      }                                                                                                               \
    }                                                                                                                 \
  }
DEFINE_PRODUCT(product_int8, int8_t)
DEFINE_PRODUCT(product_uint8, uint8_t)

/* Computes a product of numbers of int8 or of uint8. */
static fl_status multiply(fl_context *context, const product *p, int is_signed, const void *rows, const void *weight, void *out) {
#if defined(FL_NNLIB)
  const WORD32 n = (WORD32)p->n, k = (WORD32)p->k, count = (WORD32)p->rows, zero = -p->zero_point, weight_zero = -p->weight_zero_point;
  if (p->step == 1 && p->bias != NULL) {
    return fl_nnlib_status(context, is_signed ? xa_nn_matmul_asym8sxasym8s_asym8s(out, weight, rows, p->bias, n, k, k, count, k, n, 1, weight_zero,
                                                                                  zero, FL_NNLIB_RATIO(&p->ratio))
                                              : xa_nn_matmul_asym8uxasym8u_asym8u(out, weight, rows, p->bias, n, k, k, count, k, n, 1, weight_zero,
                                                                                  zero, FL_NNLIB_RATIO(&p->ratio)));
  }
#endif
  (void)context;
  if (is_signed) {
    product_int8(p, rows, weight, out);
  } else {
    product_uint8(p, rows, weight, out);
  }
  return FL_OK;
}

/* Returns the batches of a tensor of matrices. */
static size_t batches_of(const fl_tensor *t) {
  size_t count = 1;
  for (uint8_t i = 0; i + 2 < t->rank; ++i) {
    count *= (size_t)t->sizes[i];
  }
  return count;
}

fl_status fl_cadence_matmul_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(x, 0);
  FL_TENSOR_ARGUMENT(y, 2);
  FL_INT_ARGUMENT(transposed, 8);
  FL_TENSOR_ARGUMENT(out, 9);
  product p = {0};
  FL_TRY(fl_cadence_types(context, x, y, out));
  FL_CHECK(context, fl_is_none(args[4]), "a bias has no meaning");
  const uint8_t rank = x->rank;
  int fits = rank >= 2 && y->rank == rank && fl_is_contiguous(x) && fl_is_contiguous(y);
  for (uint8_t i = 0; fits && i + 2 < rank; ++i) {
    fits = x->sizes[i] == y->sizes[i];
  }
  FL_CHECK(context, fits && x->sizes[rank - 1] == y->sizes[rank - (transposed ? 1 : 2)] && x->sizes[rank - 1] <= MOST_PRODUCTS,
           "the operands must be contiguous matrices [m, k] and [k, n], or [n, k] where they are transposed, of equal batches, k at most 65536");
  const int32_t n = y->sizes[rank - (transposed ? 2 : 1)], k = x->sizes[rank - 1];
  FL_TRY(fl_cadence_zero_point(context, args[1], x->dtype, &p.zero_point));
  FL_TRY(fl_cadence_zero_point(context, args[3], x->dtype, &p.weight_zero_point));
  FL_TRY(fl_cadence_read_ratio(context, args[7], args[5], args[6], x->dtype, &p.ratio));
  FL_TRY(fl_resize_features(context, out, x, n));
  p.rows = (size_t)x->sizes[rank - 2];
  p.n = (size_t)n;
  p.k = (size_t)k;
  p.column = transposed ? p.k : 1;
  p.step = transposed ? 1 : p.n;
  const uint8_t *rows = x->data, *weight = y->data;
  uint8_t *to = out->data;
  for (size_t batch = batches_of(x); batch > 0; --batch, rows += p.rows * p.k, weight += p.n * p.k, to += p.rows * p.n) {
    FL_TRY(multiply(context, &p, x->dtype == FL_INT8, rows, weight, to));
  }
  return FL_OK;
}

fl_status fl_cadence_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(src, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_TENSOR_ARGUMENT(bias, 2);
  FL_TENSOR_ARGUMENT(out, 9);
  product p = {0};
  FL_TRY(fl_cadence_types(context, src, weight, out));
  FL_CHECK(context, src->rank >= 1 && fl_is_contiguous(src) && fl_is_contiguous(weight), "the operands must be contiguous, and the first have a dimension");
  const int32_t k = src->sizes[src->rank - 1];
  FL_CHECK(context, weight->rank == 2 && weight->sizes[1] == k && k <= MOST_PRODUCTS,
           "the weight must be [out features, in features], of at most 65536 in features");
  FL_TRY(check_bias(context, bias, weight->sizes[0]));
  FL_TRY(fl_cadence_zero_point(context, args[3], src->dtype, &p.zero_point));
  FL_TRY(fl_cadence_zero_point(context, args[4], src->dtype, &p.weight_zero_point));
  FL_TRY(fl_cadence_read_ratio(context, args[7], args[5], args[6], src->dtype, &p.ratio));
  FL_TRY(fl_resize_features(context, out, src, weight->sizes[0]));
  p.rows = fl_rows_of(src);
  p.n = (size_t)weight->sizes[0];
  p.k = p.column = (size_t)k;
  p.step = 1;
  p.bias = bias->data;
  return multiply(context, &p, src->dtype == FL_INT8, src->data, weight->data, out->data);
}

/* A convolution; of rows, as of images of one row. Index 0 is vertical, 1 horizontal. */
typedef struct convolution {
  int32_t batch, channels, outputs, groups;
  int of_taps; /* whether the weight has a factor for each output of each tap */
  int32_t size[2], kernel[2], result[2], stride[2], padding[2], dilation[2];
  int32_t zero_point, weight_zero_point;
  const int32_t *bias;
  fl_cadence_ratio ratio;
} convolution;

/* Stores the numbers [first, last) of `count` that lie within `size` pixels, where number 0 is pixel `start` and the next one is `step` further. */
static void within(int64_t start, int32_t step, int32_t count, int32_t size, int32_t *first, int32_t *last) {
  const int64_t before = start < 0 ? (-start + step - 1) / step : 0;
  const int64_t end = start >= size ? 0 : (size - 1 - start) / step + 1;
  *first = (int32_t)(before < count ? before : count);
  *last = (int32_t)(end < count ? end : count);
}

/* The columns of a row of results that are summed at a time. */
#define BLOCK 64

#define DEFINE_CONVOLUTION(name, type)                                                                                            \
  static __attribute__((noinline)) void name##_add(const type *line, int32_t stride, int32_t zero_point, int32_t factor, int32_t n, \
                                                   int32_t *sums) {                                                               \
    for (int32_t x = 0; x < n; ++x) {                                                                                             \
      sums[x] = (int32_t)((uint32_t)sums[x] + (uint32_t)PRODUCT(line[x * stride], zero_point, factor, 0));                        \
    }                                                                                                                             \
  }                                                                                                                               \
                                                                                                                                  \
  static void name(const convolution *c, const type *input, const type *weight, type *out) {                                     \
    const int32_t inputs = c->channels / c->groups, outputs = c->outputs / c->groups;                                             \
    const size_t plane = (size_t)c->size[0] * (size_t)c->size[1], taps = (size_t)c->kernel[0] * (size_t)c->kernel[1];             \
    int32_t sums[BLOCK];                                                                                                          \
    for (int32_t n = 0; n < c->batch; ++n) {                                                                                      \
      for (int32_t o = 0; o < c->outputs; ++o) {                                                                                  \
        const type *const group = input + ((size_t)n * (size_t)c->channels + (size_t)(o / outputs * inputs)) * plane;            \
        const type *const filter = weight + (size_t)o * (size_t)inputs * taps;                                                   \
        for (int32_t y = 0; y < c->result[0]; ++y) {                                                                              \
          const int64_t top = (int64_t)y * c->stride[0] - c->padding[0];                                                          \
          int32_t above, below;                                                                                                   \
          within(top, c->dilation[0], c->kernel[0], c->size[0], &above, &below);                                                  \
          for (int32_t at = 0; at < c->result[1]; at += BLOCK) {                                                                  \
            const int32_t columns = c->result[1] - at < BLOCK ? c->result[1] - at : BLOCK;                                        \
            for (int32_t x = 0; x < columns; ++x) {                                                                               \
              sums[x] = c->bias[o];                                                                                               \
            }                                                                                                                     \
            for (int32_t b = 0; b < c->kernel[1]; ++b) {                                                                          \
              const int64_t left = (int64_t)at * c->stride[1] - c->padding[1] + (int64_t)b * c->dilation[1];                      \
              int32_t from, to;                                                                                                   \
              within(left, c->stride[1], columns, c->size[1], &from, &to);                                                        \
              for (int32_t i = 0; from < to && i < inputs; ++i) {                                                                 \
                for (int32_t a = above; a < below; ++a) {                                                                         \
                  const type *const line = group + (size_t)i * plane + (size_t)(top + (int64_t)a * c->dilation[0]) * (size_t)c->size[1]; \
                  const type factor = filter[(size_t)i * taps + (size_t)a * (size_t)c->kernel[1] + (size_t)b];                    \
                  name##_add(line + left + (int64_t)from * c->stride[1], c->stride[1], c->zero_point, factor - c->weight_zero_point, \
                             to - from, sums + from);                                                                             \
                }                                                                                                                 \
              }                                                                                                                   \
            }                                                                                                                     \
            for (int32_t x = 0; x < columns; ++x) {                                                                               \
              *out++ = (type)fl_cadence_requantized(&c->ratio, sums[x]);                                                          \
            }                                                                                                                     \
          }                                                                                                                       \
        }                                                                                                                         \
      }                                                                                                                           \
    }                                                                                                                             \
  }
DEFINE_CONVOLUTION(convolve_int8, int8_t)
DEFINE_CONVOLUTION(convolve_uint8, uint8_t)

/* A convolution whose channels come last, of the input, of the result, and of the weight of each tap. `sign` is 0 for int8, and 128 for uint8,
 * whose numbers less 128 are those of int8. */
static void convolve_last(const convolution *c, uint8_t sign, const uint8_t *input, const uint8_t *weight, uint8_t *out) {
  const int32_t inputs = c->channels / c->groups, outputs = c->outputs / c->groups;
  const int32_t zero_point = c->zero_point - sign, weight_zero_point = c->weight_zero_point - sign;
  const size_t pixel = (size_t)c->channels, tap = (size_t)(c->of_taps ? c->outputs : inputs);
  const size_t filter = c->of_taps ? 1 : (size_t)c->kernel[0] * (size_t)c->kernel[1] * (size_t)inputs;
  for (int32_t n = 0; n < c->batch; ++n, input += (size_t)c->size[0] * (size_t)c->size[1] * pixel) {
    for (int32_t y = 0; y < c->result[0]; ++y) {
      const int64_t top = (int64_t)y * c->stride[0] - c->padding[0];
      int32_t above, below, first, last;
      within(top, c->dilation[0], c->kernel[0], c->size[0], &above, &below);
      for (int32_t x = 0; x < c->result[1]; ++x) {
        const int64_t left = (int64_t)x * c->stride[1] - c->padding[1];
        within(left, c->dilation[1], c->kernel[1], c->size[1], &first, &last);
        for (int32_t o = 0; o < c->outputs; ++o) {
          uint32_t sum = (uint32_t)c->bias[o];
          for (int32_t a = above; a < below; ++a) {
            for (int32_t b = first; b < last; ++b) {
              const int64_t at = (top + (int64_t)a * c->dilation[0]) * c->size[1] + left + (int64_t)b * c->dilation[1];
              const uint8_t *const line = input + (size_t)at * pixel + (size_t)(o / outputs * inputs);
              const uint8_t *const factors = weight + (size_t)o * filter + ((size_t)a * (size_t)c->kernel[1] + (size_t)b) * tap;
              for (int32_t i = 0; i < inputs; ++i) {
                sum += (uint32_t)PRODUCT((int8_t)(line[i] ^ sign), zero_point, (int8_t)(factors[i] ^ sign), weight_zero_point);
              }
            }
          }
          *out++ = (uint8_t)fl_cadence_requantized(&c->ratio, (int32_t)sum);
        }
      }
    }
  }
}

/* Reads the window from arguments 3 to 5, and stores the sizes of the result, where an image begins at dimension `first`, and a kernel at `tap`. */
static fl_status read_window(fl_context *context, fl_value *const *args, const fl_tensor *input, int first, const fl_tensor *weight, int tap,
                             convolution *c) {
  const uint8_t rank = input->rank;
  int32_t *const read[] = {c->stride, c->padding, c->dilation};
  for (int i = 0; i < 3; ++i) {
    int64_t numbers[2] = {0, 0};
    uint32_t number = 0;
    FL_CHECK(context, fl_get_ints(args[3 + i], numbers, 2, &number) && number == (uint32_t)rank - 2,
             "stride, padding and dilation must have a number for each dimension of an image");
    for (int d = 0; d < 2; ++d) {
      const int64_t value = rank == 4 ? numbers[d] : d == 1 ? numbers[0] : i != 1;
      FL_CHECK(context, value >= 0 && value <= INT32_MAX, "stride, padding and dilation must not be negative");
      read[i][d] = (int32_t)value;
    }
  }
  for (int d = 0; d < 2; ++d) {
    int64_t result;
    c->size[d] = rank == 4 ? input->sizes[first + d] : d == 0 ? 1 : input->sizes[first];
    c->kernel[d] = rank == 4 ? weight->sizes[tap + d] : d == 0 ? 1 : weight->sizes[tap];
    FL_CHECK(context, fl_conv_size(c->size[d], c->kernel[d], c->stride[d], c->padding[d], c->dilation[d], &result) && result <= INT32_MAX,
             "kernel size, stride and dilation must be positive, padding not negative, and the kernel no larger than the padded input");
    c->result[d] = (int32_t)result;
  }
  return FL_OK;
}

/* Returns whether each pixel of a result is of one pixel, at its place: an image is then as a row. */
static int is_of_points(const convolution *c) {
  int is = 1;
  for (int d = 0; d < 2; ++d) {
    is &= c->kernel[d] == 1 && c->stride[d] == 1 && c->padding[d] == 0;
  }
  return is && (int64_t)c->result[0] * c->result[1] <= INT32_MAX;
}

/* Computes a convolution whose channels come first or `last`. The result is the last argument but one. */
static fl_status convolve(fl_context *context, fl_value *const *args, size_t count, int last) {
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_TENSOR_ARGUMENT(bias, 2);
  FL_INT_ARGUMENT(groups, 6);
  FL_TENSOR_ARGUMENT(out, count - 2);
  convolution c = {0};
  FL_TRY(fl_cadence_types(context, input, weight, out));
  const int rank = input->rank, channel = last ? rank - 1 : 1;
  FL_CHECK(context, (rank == 3 || rank == 4) && (weight->rank == rank || (last && weight->rank == rank - 1)),
           "the input must have 3 or 4 dimensions, and the weight as many, or one less where channels come last and each is a group");
  c.of_taps = weight->rank != rank;
  FL_TRY(read_window(context, args, input, last ? 1 : 2, weight, c.of_taps ? 0 : last ? 1 : 2, &c));
  FL_CHECK(context, fl_is_contiguous(input) && fl_is_contiguous(weight), "the input and the weight must be contiguous");
  c.batch = input->sizes[0];
  c.channels = input->sizes[channel];
  c.outputs = weight->sizes[c.of_taps ? rank - 2 : 0];
  FL_CHECK(context, groups > 0 && groups <= INT32_MAX && c.channels % groups == 0 && c.outputs % groups == 0 &&
                        (c.of_taps ? 1 : weight->sizes[channel]) == c.channels / groups,
           "the weight must have channels / groups, and the groups divide the outputs and the channels");
  c.groups = (int32_t)groups;
  FL_CHECK(context, (uint64_t)c.kernel[0] * (uint64_t)c.kernel[1] <= MOST_PRODUCTS && c.channels / c.groups <= MOST_PRODUCTS &&
                        (uint64_t)(c.channels / c.groups) * (uint64_t)c.kernel[0] * (uint64_t)c.kernel[1] <= MOST_PRODUCTS,
           "a sum can have at most 65536 products");
  FL_TRY(check_bias(context, bias, c.outputs));
  FL_TRY(fl_cadence_zero_point(context, args[7], input->dtype, &c.zero_point));
  FL_TRY(fl_cadence_zero_point(context, args[8], input->dtype, &c.weight_zero_point));
  FL_TRY(fl_cadence_read_ratio(context, args[11], args[12], args[13], input->dtype, &c.ratio));
  int32_t sizes[4] = {c.batch};
  sizes[channel] = c.outputs;
  for (int d = 0; d < rank - 2; ++d) {
    sizes[(last ? 1 : 2) + d] = c.result[rank == 4 ? d : 1];
  }
  FL_TRY(fl_resize(context, out, sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  c.bias = bias->data;
  if (!last && is_of_points(&c)) {
    c.size[1] = c.result[1] *= c.result[0];
    c.size[0] = c.result[0] = 1;
  }
  if (last) {
    convolve_last(&c, input->dtype == FL_INT8 ? 0 : 128, input->data, weight->data, out->data);
  } else if (input->dtype == FL_INT8) {
    convolve_int8(&c, input->data, weight->data, out->data);
  } else {
    convolve_uint8(&c, input->data, weight->data, out->data);
  }
  return FL_OK;
}

fl_status fl_cadence_convolution_out(fl_context *context, fl_value *const *args, size_t count) { return convolve(context, args, count, 0); }

fl_status fl_cadence_convolution_last_out(fl_context *context, fl_value *const *args, size_t count) { return convolve(context, args, count, 1); }
