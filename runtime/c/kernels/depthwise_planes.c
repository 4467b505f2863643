/* Computes depthwise convolution of contiguous planes as one of channels-last bands, with vectors along the channels.
 *
 * A band has some rows of some channels, copied with zeros around the image and transposed, so that neighbours are channels of one pixel. The
 * band of the result is transposed back. Rows of images are often shorter than vectors, and channels are many.
 */
#include "depthwise_planes.h"

#include "depthwise.h"
#include "scratch.h"
#include "transpose.h"

/* The channels of a band, which are those of a panel. */
#define BAND_CHANNELS FL_PANEL
/* The most floats of the image in a band of several rows, which stay in the second-level cache, and in one of one row. */
#define BAND_FLOATS 16384
#define ROW_FLOATS 65536

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 16 / a ? SIZE_MAX / 16 : a * b; }

/* Floats and lines of a band of the image with `rows` rows of the result. */
static size_t lines_of(const fl_conv2d *c, size_t rows) { return times(rows - 1, c->stride_height) + (c->kernel_height - 1) * c->dilation_height + 1; }
static size_t line_of(const fl_conv2d *c) {
  return times(times(c->out_width - 1, c->stride_width) + (c->kernel_width - 1) * c->dilation_width + 1, BAND_CHANNELS);
}

/* Returns the rows of the result in a band. */
static size_t rows_of(const fl_conv2d *c) {
  const size_t each = times(line_of(c), c->stride_height), one = times(line_of(c), lines_of(c, 1));
  return least(c->out_height, 1 + (one < BAND_FLOATS ? (BAND_FLOATS - one) / each : 0));
}

int fl_conv2d_depthwise_planes_fits(const fl_conv2d *c) { return c->out_width > 0 && times(line_of(c), lines_of(c, 1)) <= ROW_FLOATS; }

size_t fl_conv2d_depthwise_planes_scratch(const fl_conv2d *c, int bound) {
  if (c->batch == 0 || c->out_height == 0 || c->out_width == 0 || c->channels == 0) {
    return 0;
  }
  const size_t taps = c->kernel_height * c->kernel_width * BAND_CHANNELS;
  const size_t rows = rows_of(c), whole = times(line_of(c), lines_of(c, bound ? c->out_height : rows));
  /* A smaller image may have more rows in a band, or a longer one of one row. */
  const size_t image = bound && whole > BAND_FLOATS ? ROW_FLOATS : whole;
  const size_t result = bound ? least(times(times(c->out_width, c->out_height), BAND_CHANNELS), ROW_FLOATS) : rows * c->out_width * BAND_CHANNELS;
  return FL_TAKEN(float, taps) + FL_TAKEN(float, image) + FL_TAKEN(float, result);
}

/* Fills the lines of a band from line `first` of the image with its padding on. */
static void fill(const fl_conv2d *c, const float *image, size_t channels, size_t first, size_t lines, float *band) {
  const size_t length = line_of(c) / BAND_CHANNELS, before = least(c->padding_width, length), held = least(c->width, length - before);
  const size_t line = length * channels, after = length - before - held;
  for (size_t i = 0; i < lines; ++i, band += line) {
    const size_t row = first + i;
    if (row < c->padding_height || row - c->padding_height >= c->height) {
      memset(band, 0, line * sizeof(float));
      continue;
    }
    memset(band, 0, before * channels * sizeof(float));
    fl_transpose(image + (row - c->padding_height) * c->width, c->height * c->width, channels, held, band + before * channels, channels);
    memset(band + (before + held) * channels, 0, after * channels * sizeof(float));
  }
}

/* Computes the planes of a panel's channels. */
static void run_panel(const void *work, size_t piece, void *scratch) {
  const fl_conv2d *const c = work;
  const size_t taps = c->kernel_height * c->kernel_width, rows = rows_of(c), pixels = c->out_height * c->out_width;
  const size_t n = piece % c->batch, channel = piece / c->batch * BAND_CHANNELS, count = least(BAND_CHANNELS, c->channels - channel);
  const size_t plane = n * c->channels + channel;
  float *const weight = scratch, *const band = weight + FL_TAKEN(float, taps *BAND_CHANNELS) / sizeof(float);
  float *const result = band + FL_TAKEN(float, line_of(c) * lines_of(c, rows)) / sizeof(float);
  fl_conv2d part = *c;
  part.batch = 1;
  part.padding_height = part.padding_width = 0;
  part.width = line_of(c) / BAND_CHANNELS;
  part.input = band;
  part.weight = weight;
  part.out = result;
  part.channels = part.out_channels = count;
  part.bias = c->bias ? c->bias + channel : NULL;
  fl_transpose(c->weight + channel * taps, taps, count, taps, weight, BAND_CHANNELS);
  for (size_t y = 0; y < c->out_height; y += rows) {
    part.out_height = least(rows, c->out_height - y);
    part.height = lines_of(c, part.out_height);
    fill(c, c->input + plane * c->height * c->width, count, y * c->stride_height, part.height, band);
    fl_conv2d_depthwise(NULL, &part);
    fl_transpose(result, count, part.out_height * c->out_width, count, c->out + plane * pixels + y * c->out_width, pixels);
  }
}

void fl_conv2d_depthwise_planes(const fl_context *context, const fl_conv2d *c) {
  const size_t panels = (c->channels + BAND_CHANNELS - 1) / BAND_CHANNELS;
  const size_t operations = c->batch * c->channels * c->out_height * c->out_width * c->kernel_height * c->kernel_width / FL_LANES;
  fl_divide(context, panels * c->batch, operations, run_panel, c);
}
