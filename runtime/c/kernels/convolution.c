/* aten::convolution: one to three spatial dimensions, groups, dilation, transposed, every element type.
 *
 * Floats have fast algorithms, chosen by layout. Channels last uses conv2d.h, and packs the weight in each call. Contiguous images multiply the
 * unpacked weight by columns gathered from the image (im2col of a few pixels at a time), or use planes.h where groups have few results,
 * depthwise_planes.h where they have one in short rows, or transposed_convolution.h. All other cases are computed by the definition.
 */
#include "convolution.h"
#include "apart.h"
#include "conv2d.h"
#include "depthwise.h"
#include "depthwise_planes.h"
#include "loops.h"
#include "optional.h"
#include "planes.h"
#include "transposed_convolution.h"
#include "winograd.h"

typedef enum way { BY_DEFINITION, CHANNELS_LAST, CHANNELS_LAST_DEPTHWISE, BY_COLUMNS, BY_PLANES, DEPTHWISE_PLANES, TRANSPOSED } way;

/* With fewer output channels in a group than this, planes are computed one by one. */
#define FEW_CHANNELS 4

/* The most floats in the columns (pixels) that are gathered at a time. */
#define COLUMN_FLOATS 65536

static size_t gathered_pixels(size_t depth, size_t pixels) {
  const size_t fitting = COLUMN_FLOATS / (depth > 0 ? depth : 1) / FL_PANEL;
  const size_t panels = fitting < 4 ? 4 : fitting;
  const size_t wanted = (pixels + FL_PANEL - 1) / FL_PANEL;
  return (panels < wanted ? panels : wanted) * FL_PANEL;
}

/* Reads a list of one value for each spatial dimension, or of one value for all, each at least `least`, into `to`. */
static fl_status read_list(fl_context *context, const fl_value *value, uint8_t spatial, int64_t least, int64_t otherwise, size_t *to) {
  int64_t v[FL_SPATIAL];
  uint32_t count = 0;
  FL_CHECK(context, fl_get_ints(value, v, FL_SPATIAL, &count) && (count == spatial || count == 1),
           "stride, padding, dilation and output_padding must be lists of one integer, or one for each spatial dimension");
  for (uint8_t i = 0; i < FL_SPATIAL; ++i) {
    const uint8_t lead = (uint8_t)(FL_SPATIAL - spatial);
    const int64_t x = i < lead ? otherwise : v[count == 1 ? 0 : i - lead];
    FL_CHECK(context, x >= least && x <= INT32_MAX / 4, "stride and dilation must be positive, and padding not negative");
    to[i] = (size_t)x;
  }
  return FL_OK;
}

fl_status fl_convolution_read(fl_context *context, fl_value *const *args, fl_convolution *p, int32_t *sizes) {
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_INT_ARGUMENT(transposed, 6);
  FL_INT_ARGUMENT(groups, 8);
  FL_TENSOR_ARGUMENT(out, 9);
  *p = (fl_convolution){.input = input, .weight = weight, .bias = bias, .out = out, .transposed = transposed != 0};
  FL_CHECK(context, input->rank >= 3 && input->rank <= 5, "the input must have a batch, channels, and one to three spatial dimensions");
  FL_CHECK(context, weight->rank == input->rank && out->rank == input->rank, "the weight and the result must have the input's number of dimensions");
  FL_CHECK(context, weight->dtype == input->dtype && out->dtype == input->dtype && (!bias || bias->dtype == input->dtype),
           "input, weight, bias and result must have one dtype");
  const uint8_t spatial = (uint8_t)(input->rank - 2), lead = (uint8_t)(FL_SPATIAL - spatial);
  FL_TRY(read_list(context, args[3], spatial, 1, 1, p->stride));
  FL_TRY(read_list(context, args[4], spatial, 0, 0, p->padding));
  FL_TRY(read_list(context, args[5], spatial, 1, 1, p->dilation));
  size_t output_padding[FL_SPATIAL] = {0};
  if (transposed) {
    FL_TRY(read_list(context, args[7], spatial, 0, 0, output_padding));
  }
  FL_CHECK(context, groups >= 1 && groups <= INT32_MAX, "there must be at least one group");
  p->groups = (size_t)groups;
  p->batch = (size_t)input->sizes[0];
  p->in_channels = (size_t)input->sizes[1];
  p->out_channels = (size_t)weight->sizes[transposed ? 1 : 0] * (transposed ? p->groups : 1);
  FL_CHECK(context, p->out_channels <= INT32_MAX && p->in_channels % p->groups == 0 && p->out_channels % p->groups == 0,
           "the channels must divide into the groups");
  FL_CHECK(context, (size_t)weight->sizes[transposed ? 0 : 1] == (transposed ? p->in_channels : p->in_channels / p->groups),
           "the weight does not fit the input's channels");
  FL_CHECK(context, !bias || (bias->rank == 1 && (size_t)bias->sizes[0] == p->out_channels), "the bias must have one value for each output channel");
  sizes[0] = input->sizes[0];
  sizes[1] = (int32_t)p->out_channels;
  fl_convolution_strides(input, p->in_stride);
  fl_convolution_strides(weight, p->weight_stride);
  for (uint8_t i = 0; i < FL_SPATIAL; ++i) {
    p->in[i] = p->kernel[i] = p->out_size[i] = 1;
    if (i < lead) {
      continue;
    }
    const uint8_t d = (uint8_t)(i - lead + 2);
    p->in[i] = (size_t)input->sizes[d];
    p->kernel[i] = (size_t)weight->sizes[d];
    int64_t size = 0;
    if (transposed) {
      FL_CHECK(context, output_padding[i] < p->stride[i] || output_padding[i] < p->dilation[i], "output_padding must be smaller than stride or dilation");
      size = ((int64_t)p->in[i] - 1) * (int64_t)p->stride[i] - 2 * (int64_t)p->padding[i] +
             (int64_t)p->dilation[i] * ((int64_t)p->kernel[i] - 1) + (int64_t)output_padding[i] + 1;
      FL_CHECK(context, p->in[i] >= 1 && p->kernel[i] >= 1 && size >= 1 && size <= INT32_MAX, "the result would be empty");
    } else {
      FL_CHECK(context,
               fl_conv_size(input->sizes[d], weight->sizes[d], (int64_t)p->stride[i], (int64_t)p->padding[i], (int64_t)p->dilation[i], &size),
               "the kernel must not be empty or larger than the padded input");
    }
    p->out_size[i] = (size_t)size;
    sizes[d] = (int32_t)size;
  }
  return FL_OK;
}

static fl_status read_problem(fl_context *context, fl_value *const *args, fl_convolution *p) {
  int32_t sizes[FL_SPATIAL + 2];
  FL_TRY(fl_convolution_read(context, args, p, sizes));
  FL_TRY(fl_resize(context, p->out, sizes, p->out->rank));
  fl_convolution_strides(p->out, p->out_stride);
  return FL_OK;
}

/* Returns the convolution in the form of conv2d.h, without the weight. */
static fl_conv2d in_two_dimensions(const fl_convolution *p) {
  return (fl_conv2d){.batch = p->batch,
                     .channels = p->in_channels,
                     .height = p->in[1],
                     .width = p->in[2],
                     .out_height = p->out_size[1],
                     .out_width = p->out_size[2],
                     .out_channels = p->out_channels,
                     .kernel_height = p->kernel[1],
                     .kernel_width = p->kernel[2],
                     .stride_height = p->stride[1],
                     .stride_width = p->stride[2],
                     .padding_height = p->padding[1],
                     .padding_width = p->padding[2],
                     .dilation_height = p->dilation[1],
                     .dilation_width = p->dilation[2],
                     .input = p->input->data,
                     .bias = p->bias ? p->bias->data : NULL,
                     .out = p->out->data,
                     .tile = FL_BEST_TILE};
}

static int is_depthwise(const fl_convolution *p) { return p->groups == p->in_channels && p->in_channels == p->out_channels; }

/* Whether a tensor's dimensions follow each other in memory in this order. A dynamic one is judged at its largest size: all its sizes are computed
 * in the way that is measured at load, though one pixel has every order. */
static int is_stored(const fl_tensor *t, const uint8_t *order) {
  const union {
    const int32_t *read;
    int32_t *write;
  } bounds = {t->bounds};
  const fl_tensor stored = {.sizes = t->dynamic && t->bounds ? bounds.write : t->sizes, .dim_order = t->dim_order, .rank = t->rank};
  fl_tensor wanted = stored;
  wanted.dim_order = order;
  return fl_same_order(&stored, &wanted);
}

static const uint8_t rows[] = {0, 1, 2, 3}, channels_last[] = {0, 2, 3, 1};

static way way_of(const fl_convolution *p) {
  if (p->input->dtype != FL_FLOAT32 || p->input->rank > 4) {
    return BY_DEFINITION;
  }
  const int contiguous = is_stored(p->input, rows) && is_stored(p->out, rows);
  if (p->transposed) {
    return contiguous && is_stored(p->weight, rows) ? TRANSPOSED : BY_DEFINITION;
  }
  if (p->input->rank == 4 && !contiguous && is_stored(p->input, channels_last) && is_stored(p->out, channels_last)) {
    if (p->groups == 1) {
      return CHANNELS_LAST;
    }
    return is_depthwise(p) ? CHANNELS_LAST_DEPTHWISE : BY_DEFINITION;
  }
  if (!contiguous || !is_stored(p->weight, rows)) {
    return BY_DEFINITION;
  }
  const fl_conv2d c = in_two_dimensions(p);
  /* Rows fill vectors badly if they are short; and where vectors are, the functions for kernels of 3 x 3 are worth the transposition. */
  const int is_of_channels = 2 * c.out_width <= FL_LANES || (FL_LANES < 8 && c.kernel_height == 3 && c.kernel_width == 3);
  if (is_depthwise(p) && p->groups >= FEW_CHANNELS && is_of_channels && fl_conv2d_depthwise_planes_fits(&c)) {
    return DEPTHWISE_PLANES;
  }
  return p->out_channels / p->groups < FEW_CHANNELS ? BY_PLANES : BY_COLUMNS;
}

static size_t taps_of(const fl_convolution *p) { return p->kernel[1] * p->kernel[2]; }

/* Returns the floats of a packed depthwise weight for one tap, which are whole cache lines. */
static size_t packed_channels(const fl_convolution *p) { return (p->in_channels + 15) / 16 * 16; }

/* Returns the bytes of scratch memory for these sizes, or with `bound` for these and all smaller images; with `least`, those that must be there. */
static __attribute__((noinline)) size_t scratch_of(const fl_convolution *p, way chosen, int bound, int least) {
  const fl_conv2d c = in_two_dimensions(p);
  const size_t depth = p->in_channels / p->groups * taps_of(p);
  switch (chosen) {
    case CHANNELS_LAST:
      return fl_packed_size(depth, p->out_channels) * sizeof(float) + (least ? fl_conv2d_least_scratch(&c) : fl_conv2d_scratch_size(&c, bound));
    case CHANNELS_LAST_DEPTHWISE: return taps_of(p) * packed_channels(p) * sizeof(float);
    case BY_COLUMNS: {
      const size_t columns = fl_scratch_bytes(depth, gathered_pixels(depth, p->out_size[1] * p->out_size[2]) * sizeof(float));
      const size_t tiles = least || p->groups > 1 ? 0 : fl_winograd_planes_scratch(&c, bound);
      return tiles > columns ? tiles : columns;
    }
    case BY_PLANES: {
      /* A narrower image may be one for DEPTHWISE_PLANES. */
      const size_t planes = fl_conv2d_planes_scratch(&c, p->groups);
      const size_t bands = bound && is_depthwise(p) && p->groups >= FEW_CHANNELS ? fl_conv2d_depthwise_planes_scratch(&c, bound) : 0;
      return planes > bands ? planes : bands;
    }
    case DEPTHWISE_PLANES: return fl_conv2d_depthwise_planes_scratch(&c, bound);
    case TRANSPOSED: return fl_transposed_convolution_scratch(p);
    case BY_DEFINITION: break;
  }
  return 0;
}

size_t fl_convolution_scratch(fl_value *const *args, size_t count) {
  (void)count;
  fl_context context = {0};
  fl_convolution p;
  return read_problem(&context, args, &p) == FL_OK ? scratch_of(&p, way_of(&p), p.input->dynamic, 0) : 0;
}

static __attribute__((noinline)) void run_channels_last(const fl_context *context, const fl_convolution *p, way chosen) {
  float *const scratch = context->scratch;
  fl_conv2d c = in_two_dimensions(p);
  const float *weight = p->weight->data;
  const size_t out_step = (size_t)p->weight->strides[0], in_step = (size_t)p->weight->strides[1];
  const size_t taps = taps_of(p);
  for (size_t tap = 0; tap < taps; ++tap) {
    const float *from = weight + tap / p->kernel[2] * p->weight_stride[1] + tap % p->kernel[2] * p->weight_stride[2];
    if (chosen == CHANNELS_LAST_DEPTHWISE) {
      fl_pack_b(from, 1, p->in_channels, 0, out_step, scratch + tap * packed_channels(p));
      continue;
    }
    for (size_t o = 0; o < p->out_channels; o += FL_PANEL) {
      const size_t width = p->out_channels - o < FL_PANEL ? p->out_channels - o : FL_PANEL;
      fl_pack_b(from + o * out_step, p->in_channels, width, in_step, out_step,
                scratch + (o * taps + tap * FL_PANEL) * p->in_channels);
    }
  }
  c.weight = scratch;
  if (chosen == CHANNELS_LAST) {
    const size_t packed = fl_packed_size(taps * p->in_channels, p->out_channels);
    fl_context rest = *context;
    rest.scratch = scratch + packed;
    rest.scratch_size -= packed * sizeof(float);
    fl_conv2d_run(&rest, &c);
  } else {
    fl_conv2d_depthwise(context, &c);
  }
}

/* Neighbours in a row of the output. */
typedef struct run {
  uint32_t start, count; /* places in a panel */
  uint32_t y, x;         /* of the first */
} run;

/* Divides the `count` (<= 16) output pixels from `pixel` on into runs, and returns their number. */
static size_t runs_of(const fl_convolution *p, size_t pixel, size_t count, run *runs) {
  size_t number = 0, y = pixel / p->out_size[2], x = pixel % p->out_size[2];
  for (size_t start = 0; start < count; ++number, ++y, x = 0) {
    const size_t left = p->out_size[2] - x, n = count - start < left ? count - start : left;
    runs[number] = (run){(uint32_t)start, (uint32_t)n, (uint32_t)y, (uint32_t)x};
    start += n;
  }
  return number;
}

/* The places in a panel whose pixels lie in a row within the image, and the float of a plane that the first one reads. */
typedef struct part {
  uint32_t at, count, from;
} part;

/* The most parts that a panel is put together from in vectors, and the fewest channels for which their masks pay. */
#define MASKED_PARTS 4
#define MASKED_CHANNELS 8
#define PANEL_VECTORS (FL_PANEL / FL_LANES)

/* Gathers a row of a panel from each of `channels` planes. Reads 16 floats for each part, and masks those of other parts. */
static __attribute__((noinline)) void gather_masked(const float *image, size_t area, size_t channels, const part *parts, size_t number, float *to, size_t step) {
  fl_ivec masks[MASKED_PARTS][PANEL_VECTORS];
  for (size_t r = 0; r < number; ++r) {
    for (size_t lane = 0; lane < FL_PANEL; ++lane) {
      masks[r][lane / FL_LANES][lane % FL_LANES] = lane - parts[r].at < parts[r].count ? -1 : 0;
    }
  }
  for (size_t c = 0; c < channels; ++c, image += area, to += step) {
    fl_ivec v[PANEL_VECTORS] = {{0}};
    for (size_t r = 0; r < number; ++r) {
      const float *const from = image + parts[r].from - parts[r].at;
      FL_UNROLL
      for (int j = 0; j < PANEL_VECTORS; ++j) {
        v[j] |= (fl_ivec)fl_load(from + j * FL_LANES) & masks[r][j];
      }
    }
    FL_UNROLL
    for (int j = 0; j < PANEL_VECTORS; ++j) {
      fl_store(to + j * FL_LANES, (fl_vec)v[j]);
    }
  }
}

/* Gathers a row of a panel from one plane, of pixels that are `step` apart. */
static void gather_apart(const float *plane, const part *parts, size_t number, size_t step, int is_whole, float *to) {
  if (!is_whole) {
    memset(to, 0, FL_PANEL * sizeof(float));
  }
  for (size_t r = 0; r < number; ++r) {
    fl_copy_apart(to + parts[r].at, plane + parts[r].from, parts[r].count, step);
  }
}

/* Gathers the inputs of `count` (<= 16) output pixels, from `pixel` on, into a panel [channel, tap][16]. */
static __attribute__((noinline)) void gather_panel(const fl_convolution *p, const float *image, size_t channels, size_t pixel, size_t count, float *panel) {
  const size_t area = p->in[1] * p->in[2], taps = p->kernel[1] * p->kernel[2], step = p->stride[2];
  run runs[FL_PANEL];
  const size_t number = runs_of(p, pixel, count, runs);
  for (size_t tap = 0; tap < taps; ++tap) {
    const size_t down = tap / p->kernel[2] * p->dilation[1], across = tap % p->kernel[2] * p->dilation[2];
    int is_whole = count == FL_PANEL;
    part parts[FL_PANEL];
    size_t least = SIZE_MAX, most = 0, used = 0;
    for (size_t r = 0; r < number; ++r) {
      const size_t row = runs[r].y * p->stride[1] + down, column = runs[r].x * step + across, end = p->in[2] + p->padding[2];
      const size_t skipped = column < p->padding[2] ? (p->padding[2] - column + step - 1) / step : 0;
      const size_t last = column + (runs[r].count - 1) * step < end ? runs[r].count : column < end ? (end - column + step - 1) / step : 0;
      if (row < p->padding[1] || row - p->padding[1] >= p->in[1] || skipped >= last) {
        is_whole = 0;
        continue;
      }
      const size_t at = runs[r].start + skipped, from = (row - p->padding[1]) * p->in[2] + column + skipped * step - p->padding[2];
      parts[used++] = (part){(uint32_t)at, (uint32_t)(last - skipped), (uint32_t)from};
      is_whole = is_whole && last - skipped == runs[r].count;
      /* `from` of 16 floats, with 16 added. */
      least = from + FL_PANEL - at < least ? from + FL_PANEL - at : least;
      most = from + FL_PANEL - at > most ? from + FL_PANEL - at : most;
    }
    float *to = panel + tap * FL_PANEL;
    if (is_whole && number == 1 && step == 1) {
      for (size_t c = 0; c < channels; ++c, to += taps * FL_PANEL) {
        memcpy(to, image + c * area + parts[0].from, FL_PANEL * sizeof(float));
      }
      continue;
    }
    /* Of the first and the last plane, 16 floats may reach beyond the image. */
    const int is_masked = step == 1 && used <= MASKED_PARTS && channels >= MASKED_CHANNELS && area >= 2 * FL_PANEL;
    const size_t before = is_masked && used > 0 && least < FL_PANEL ? 1 : 0, after = is_masked && most > area ? 1 : 0;
    const size_t masked = is_masked ? channels - before - after : 0;
    for (size_t c = 0; c < channels; ++c) {
      if (c == before && masked > 0) {
        gather_masked(image + c * area, area, masked, parts, used, to + c * taps * FL_PANEL, taps * FL_PANEL);
        c += masked;
      }
      if (c < channels) {
        gather_apart(image + c * area, parts, used, step, is_whole, to + c * taps * FL_PANEL);
      }
    }
  }
}

/* Makes one row of an image of which each pixel is read for one pixel of the result, so that panels have one run. */
static void join_rows(fl_convolution *p) {
  if (p->kernel[1] * p->kernel[2] == 1 && p->stride[1] * p->stride[2] == 1 && p->padding[1] + p->padding[2] == 0) {
    p->in[2] = p->out_size[2] = p->in[1] * p->in[2];
    p->in[1] = p->out_size[1] = 1;
  }
}

/* A convolution as products of the weight with gathered pixels, some of them in each piece. */
typedef struct columns {
  const fl_convolution *p;
  size_t step, steps;          /* pixels that are gathered together, and how often in a group's image */
  size_t parts;                /* into which each of these is cut */
} columns;

static void run_some_columns(const void *work, size_t piece, void *scratch) {
  const columns *const w = work;
  const fl_convolution *const p = w->p;
  const size_t channels = p->in_channels / p->groups, outs = p->out_channels / p->groups, step = piece / w->parts, image = step / w->steps, first = step % w->steps * w->step;
  const size_t depth = channels * p->kernel[1] * p->kernel[2], pixels = p->out_size[1] * p->out_size[2];
  const size_t count = pixels - first < w->step ? pixels - first : w->step, group = image % p->groups;
  const float *from = (const float *)p->input->data + image * channels * p->in[1] * p->in[2];
  const float *weight = (const float *)p->weight->data + group * outs * depth;
  const fl_gemm product = {count, 1, depth, scratch, NULL, FL_ACTIVATION_NONE, 0, p->bias ? (const float *)p->bias->data + group * outs : NULL};
  const fl_range range = fl_gemm_columns(&product, w->parts, piece % w->parts);
  for (size_t j = range.begin / FL_PANEL * FL_PANEL; j < range.end; j += FL_PANEL) {
    gather_panel(p, from, channels, first + j, count - j < FL_PANEL ? count - j : FL_PANEL, (float *)scratch + j * depth);
  }
  fl_gemm_dense_columns(&product, range, weight, depth, outs, (float *)p->out->data + image * outs * pixels + first, pixels);
}

static __attribute__((noinline)) void run_by_columns(const fl_context *context, fl_convolution *p) {
  fl_conv2d c = in_two_dimensions(p);
  const size_t tiles = p->groups > 1 ? 0 : fl_winograd_planes_scratch(&c, 0);
  if (tiles > 0 && context->scratch_size >= tiles) {
    c.weight = p->weight->data;
    fl_winograd_planes_run(context, &c);
    return;
  }
  join_rows(p);
  const size_t depth = p->in_channels / p->groups * p->kernel[1] * p->kernel[2], pixels = p->out_size[1] * p->out_size[2];
  columns work = {.p = p, .step = gathered_pixels(depth, pixels)};
  work.steps = (pixels + work.step - 1) / work.step;
  const size_t pieces = p->batch * p->groups * work.steps, operations = p->batch * p->out_channels * pixels * depth / FL_LANES;
  const fl_gemm whole = {.n = work.step};
  work.parts = fl_gemm_pieces(&whole, (fl_pieces(context, operations) + pieces - 1) / (pieces > 0 ? pieces : 1));
  fl_divide(context, pieces * work.parts, operations, run_some_columns, &work);
}

static __attribute__((noinline)) void run_by_planes(const fl_context *context, const fl_convolution *p, way chosen) {
  fl_conv2d c = in_two_dimensions(p);
  c.weight = p->weight->data;
  if (chosen == BY_PLANES) {
    fl_conv2d_planes(context, &c, p->groups);
  } else {
    fl_conv2d_depthwise_planes(context, &c);
  }
}

fl_status fl_convolution_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  fl_convolution p;
  FL_TRY(read_problem(context, args, &p));
  if (fl_numel(p.out) == 0) {
    return FL_OK;
  }
  const way chosen = way_of(&p);
  FL_CHECK(context, context->scratch_size >= scratch_of(&p, chosen, 0, 1), "the kernel was given too little scratch memory");
  switch (chosen) {
    case CHANNELS_LAST:
    case CHANNELS_LAST_DEPTHWISE: run_channels_last(context, &p, chosen); break;
    case BY_COLUMNS: run_by_columns(context, &p); break;
    case BY_PLANES:
    case DEPTHWISE_PLANES: run_by_planes(context, &p, chosen); break;
    case TRANSPOSED: fl_transposed_convolution(&p, context->scratch); break;
    case BY_DEFINITION: fl_convolution_by_definition(&p); break;
  }
  return FL_OK;
}
