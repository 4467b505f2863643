/* flambeau::conv2d: packed weights, channels last, bias, addend and activation in one pass. */
#include "conv2d.h"

#include "depthwise.h"
#include "loops.h"
#include "optional.h"
#include "padded.h"
#include "winograd.h"

int fl_conv_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t *out) {
  const int64_t limit = INT32_MAX;
  if (in < 0 || kernel < 1 || stride < 1 || padding < 0 || dilation < 1 || kernel > limit || stride > limit || padding > limit / 4 ||
      dilation > limit) {
    return 0;
  }
  const int64_t reach = dilation * (kernel - 1) + 1;
  const int64_t room = in + 2 * padding - reach;
  *out = room / stride + 1;
  return room >= 0 && *out <= limit;
}

/* The blocks of the output, which are whole rows or a part of one row, of at most FL_GEMM_ROWS pixels; and the input that a block needs. */
typedef struct cut {
  size_t rows, columns;             /* size of a block of the output */
  size_t in_columns;                /* columns of the input that the block reads */
  size_t segments, depth;           /* segments of a row of the product's left side, and floats per segment */
  int padded;                       /* 1: windows reach beyond the image, so the input is copied with zeros around it */
} cut;

static cut cut_of(const fl_conv2d *c) {
  cut t;
  t.rows = 1;
  t.columns = c->out_width;
  if (c->out_width > FL_GEMM_ROWS) {
    const size_t parts = (c->out_width + FL_GEMM_ROWS - 1) / FL_GEMM_ROWS;
    t.columns = (c->out_width + parts - 1) / parts;
  } else {
    const size_t fitting = FL_GEMM_ROWS / c->out_width;
    const size_t parts = (c->out_height + fitting - 1) / fitting;
    t.rows = (c->out_height + parts - 1) / parts;
  }
  t.in_columns = (t.columns - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width + 1;
  /* Without dilation, the pixels under one row of the kernel are contiguous. */
  const int together = c->dilation_width == 1 || c->kernel_width == 1;
  t.segments = together ? c->kernel_height : c->kernel_height * c->kernel_width;
  t.depth = together ? c->kernel_width * c->channels : c->channels;
  t.padded = c->padding_height > 0 || c->padding_width > 0;
  return t;
}

int fl_conv2d_is_product(const fl_conv2d *c) {
  return c->kernel_height == 1 && c->kernel_width == 1 && c->stride_height == 1 && c->stride_width == 1 && c->padding_height == 0 &&
         c->padding_width == 0;
}

static size_t pointers_size(const cut *t) { return (t->segments * t->rows * t->columns * sizeof(float *) + 63) / 64 * 64; }

static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 2 / a ? SIZE_MAX / 2 : a * b; }

static size_t size_of(const fl_conv2d *c, const cut *t) {
  const size_t pointers = times(t->segments, (t->rows * t->columns + 8) * sizeof(float *));
  const size_t in_rows = (t->rows - 1) * c->stride_height + (c->kernel_height - 1) * c->dilation_height + 1;
  const size_t in_columns = (t->columns - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width + 1;
  const size_t band = t->padded ? times(times(times(in_rows, in_columns), c->channels), sizeof(float)) : 0;
  return pointers > SIZE_MAX / 2 - band ? SIZE_MAX / 2 : pointers + band;
}

/* The bytes that blocks take. */
static size_t size_of_blocks(const fl_conv2d *c, int bound) {
  if (c->batch == 0 || c->out_height == 0 || c->out_width == 0 || fl_conv2d_is_product(c)) {
    return 0;
  }
  cut t = cut_of(c);
  size_t most = size_of(c, &t);
  for (t.rows = 1; bound && t.rows <= FL_GEMM_ROWS && t.rows <= c->out_height; ++t.rows) {
    t.columns = FL_GEMM_ROWS / t.rows < c->out_width ? FL_GEMM_ROWS / t.rows : c->out_width;
    const size_t size = size_of(c, &t);
    most = size > most ? size : most;
  }
  return most;
}

size_t fl_conv2d_scratch_size(const fl_conv2d *c, int bound) {
  const size_t tiles = fl_winograd_scratch(c, bound), blocks = size_of_blocks(c, bound);
  return tiles > blocks ? tiles : blocks;
}

size_t fl_conv2d_least_scratch(const fl_conv2d *c) { return size_of_blocks(c, 0); }

/* A convolution in blocks of its result, and pieces of the channels of each. */
typedef struct blocks {
  const fl_conv2d *c;
  fl_gemm g;
  cut cut;
  size_t down, across, pieces;
} blocks;

static void run_block(const void *work, size_t piece, void *scratch) {
  const blocks *const b = work;
  const fl_conv2d *const c = b->c;
  const cut *const t = &b->cut;
  const size_t block = piece / b->pieces, n = block / (b->down * b->across);
  const size_t y = block / b->across % b->down * t->rows, x = block % b->across * t->columns;
  const size_t rows = y + t->rows <= c->out_height ? t->rows : c->out_height - y;
  const size_t columns = x + t->columns <= c->out_width ? t->columns : c->out_width - x;
  const size_t taps_across = t->segments / c->kernel_height;
  const float **const pointers = scratch;
  float *const band = (float *)(void *)((char *)scratch + pointers_size(t));
  const float *image = c->input + n * c->height * c->width * c->channels;
  const float *from = image + (y * c->stride_height * c->width + x * c->stride_width) * c->channels;
  size_t line = c->width * c->channels;
  if (t->padded) {
    const size_t in_rows = (rows - 1) * c->stride_height + (c->kernel_height - 1) * c->dilation_height + 1;
    fl_copy_padded(c, image, (int64_t)(y * c->stride_height) - (int64_t)c->padding_height,
                   (int64_t)(x * c->stride_width) - (int64_t)c->padding_width, in_rows, t->in_columns, band);
    from = band;
    line = t->in_columns * c->channels;
  }
  const float **pointer = pointers;
  for (size_t s = 0; s < t->segments; ++s) {
    const float *tap = from + s / taps_across * c->dilation_height * line + s % taps_across * c->dilation_width * c->channels;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t q = 0; q < columns; ++q) {
        *pointer++ = tap + r * c->stride_height * line + q * c->stride_width * c->channels;
      }
    }
  }
  const size_t at = ((n * c->out_height + y) * c->out_width + x) * c->out_channels;
  fl_gemm_rows(&b->g, fl_gemm_columns(&b->g, b->pieces, piece % b->pieces), pointers, rows * columns, c->out + at, c->out_channels,
               c->addend ? c->addend + at : NULL, c->out_channels);
}

void fl_conv2d_run(const fl_context *context, const fl_conv2d *c) {
  const size_t pixels = c->out_height * c->out_width;
  if (c->batch == 0 || pixels == 0 || c->out_channels == 0) {
    return;
  }
  if (fl_conv2d_is_product(c)) {
    const fl_gemm g = {c->out_channels, 1, c->channels, c->weight, c->bias, c->activation, 0, NULL};
    fl_gemm_dense(context, &g, c->input, c->channels, c->batch * pixels, c->out, c->out_channels, c->addend, c->out_channels);
    return;
  }
  const size_t tiles = fl_winograd_scratch(c, 0);
  if (tiles > 0 && context->scratch_size >= tiles) {
    fl_winograd_run(context, c);
    return;
  }
  blocks b = {.c = c, .cut = cut_of(c)};
  b.g = (fl_gemm){c->out_channels, b.cut.segments, b.cut.depth, c->weight, c->bias, c->activation, 0, NULL};
  b.down = (c->out_height + b.cut.rows - 1) / b.cut.rows;
  b.across = (c->out_width + b.cut.columns - 1) / b.cut.columns;
  const size_t count = c->batch * b.down * b.across, operations = c->batch * pixels * c->out_channels * b.cut.segments * b.cut.depth / FL_LANES;
  b.pieces = fl_gemm_pieces(&b.g, (fl_pieces(context, operations) + count - 1) / count);
  fl_divide(context, count * b.pieces, operations, run_block, &b);
}

fl_status fl_conv2d_read(fl_context *context, fl_value *const *args, int at, fl_conv2d *c, int64_t *groups) {
  FL_TENSOR_ARGUMENT(input, 0);
  int64_t group_count = 0, out_channels = 0;
  FL_CHECK(context, fl_get_int(args[at + 4], &group_count) && fl_get_int(args[at + 5], &out_channels),
           "groups and out_channels must be integers");
  int64_t v[4][2];
  for (int i = 0; i < 4; ++i) {
    uint32_t count = 0;
    FL_CHECK(context, fl_get_ints(args[at + i], v[i], 2, &count) && count == 2,
             "kernel_size, stride, padding and dilation must be lists of two integers");
  }
  FL_CHECK(context, input->rank == 4, "the input must have 4 dimensions");
  int64_t out[2];
  FL_CHECK(context,
           fl_conv_size(input->sizes[2], v[0][0], v[1][0], v[2][0], v[3][0], &out[0]) &&
               fl_conv_size(input->sizes[3], v[0][1], v[1][1], v[2][1], v[3][1], &out[1]),
           "kernel size, stride and dilation must be positive, padding not negative, and the kernel no larger than the padded input");
  FL_CHECK(context, out_channels >= 0 && out_channels <= INT32_MAX, "out_channels is out of range");
  *c = (fl_conv2d){.batch = (size_t)input->sizes[0],
                   .channels = (size_t)input->sizes[1],
                   .height = (size_t)input->sizes[2],
                   .width = (size_t)input->sizes[3],
                   .out_height = (size_t)out[0],
                   .out_width = (size_t)out[1],
                   .out_channels = (size_t)out_channels,
                   .kernel_height = (size_t)v[0][0],
                   .kernel_width = (size_t)v[0][1],
                   .stride_height = (size_t)v[1][0],
                   .stride_width = (size_t)v[1][1],
                   .padding_height = (size_t)v[2][0],
                   .padding_width = (size_t)v[2][1],
                   .dilation_height = (size_t)v[3][0],
                   .dilation_width = (size_t)v[3][1],
                   .tile = FL_BEST_TILE};
  *groups = group_count;
  return FL_OK;
}

int fl_is_channels_last(const fl_tensor *t) {
  const int64_t c = t->sizes[1], w = t->sizes[3], h = t->sizes[2];
  return t->rank == 4 && (c == 1 || t->strides[1] == 1) && (w == 1 || t->strides[3] == c) && (h == 1 || t->strides[2] == w * c) &&
         (t->sizes[0] == 1 || t->strides[0] == h * w * c);
}

/* Reads the sizes and parameters of a packed convolution. */
static fl_status read_packed(fl_context *context, fl_value *const *args, fl_conv2d *c, int64_t *groups) {
  int64_t tile = 0;
  FL_TRY(fl_conv2d_read(context, args, 4, c, groups));
  FL_CHECK(context, fl_get_int(args[11], &tile) && (tile == FL_BEST_TILE || tile == 0 || tile == 2 || tile == 4), "the tile must be -1, 0, 2 or 4");
  c->tile = (int8_t)tile;
  return FL_OK;
}

size_t fl_packed_conv2d_scratch(fl_value *const *args, size_t count) {
  fl_context context = {0};
  fl_conv2d c;
  int64_t groups;
  (void)count;
  return read_packed(&context, args, &c, &groups) == FL_OK && groups == 1 ? fl_conv2d_scratch_size(&c, args[0]->as.tensor->dynamic) : 0;
}

fl_status fl_packed_conv2d_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  fl_conv2d c;
  int64_t groups = 0;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_OPTIONAL_TENSOR_ARGUMENT(addend, 3);
  FL_TRY(read_packed(context, args, &c, &groups));
  FL_ACTIVATION_ARGUMENT(activation, 10);
  FL_TENSOR_ARGUMENT(out, 12);
  FL_CHECK(context, input->dtype == FL_FLOAT32 && weight->dtype == FL_FLOAT32 && out->dtype == FL_FLOAT32, "only float32 is supported");
  FL_CHECK(context, fl_is_channels_last(input), "the input must be stored channels last");
  FL_CHECK(context, fl_is_contiguous(weight), "the packed weight must be contiguous");
  const size_t taps = c.kernel_height * c.kernel_width;
  if (groups == 1) {
    FL_CHECK(context,
             weight->rank == 3 && (size_t)weight->sizes[0] == (c.out_channels + FL_PANEL - 1) / FL_PANEL &&
                 (size_t)weight->sizes[1] == taps * c.channels && weight->sizes[2] == FL_PANEL,
             "the weight must be packed: [ceil(out_channels / 16), kernel height x width x channels, 16]");
  } else {
    FL_CHECK(context, groups > 0 && (size_t)groups == c.channels && c.channels == c.out_channels,
             "only one group, or one group for each channel, is supported");
    FL_CHECK(context,
             weight->rank == 2 && (size_t)weight->sizes[0] == taps &&
                 (size_t)weight->sizes[1] == (c.channels + FL_PANEL - 1) / FL_PANEL * FL_PANEL,
             "a depthwise weight must be packed: [kernel height x width, channels rounded up to 16]");
  }
  FL_CHECK(context, !bias || (bias->dtype == FL_FLOAT32 && bias->rank == 1 && (size_t)bias->sizes[0] == c.out_channels),
           "the bias must have one value for each output channel");
  const int32_t sizes[4] = {(int32_t)c.batch, (int32_t)c.out_channels, (int32_t)c.out_height, (int32_t)c.out_width};
  FL_TRY(fl_resize(context, out, sizes, 4));
  FL_CHECK(context, fl_is_channels_last(out), "the result must be stored channels last");
  FL_CHECK(context, !addend || (addend->dtype == FL_FLOAT32 && fl_same_sizes(addend, out) && fl_is_channels_last(addend)),
           "the addend must have the result's shape and be stored channels last");
  c.input = input->data;
  c.weight = weight->data;
  c.bias = bias ? bias->data : NULL;
  c.addend = addend ? addend->data : NULL;
  c.out = out->data;
  c.activation = activation;
  if (groups == 1) {
    FL_CHECK(context, context->scratch_size >= fl_conv2d_least_scratch(&c), "the kernel was given too little scratch memory");
    fl_conv2d_run(context, &c);
  } else {
    fl_conv2d_depthwise(context, &c);
  }
  return FL_OK;
}
