/* Computes convolution of contiguous planes, with vectors along the rows of the result.
 *
 * A band is some rows of a group's planes, copied with zeros around the image. Of columns that lie a stride apart it has those of each remainder
 * side by side, and rows likewise: then neighbours in the result read neighbours under each tap, whatever the stride. All is written from front
 * to back in whole vectors, so that what is written too far is replaced. */
#include "planes.h"

#include "apart.h"
#include "scratch.h"

/* A band of several rows has at most so many floats, which stay in cache. */
#define BAND_FLOATS 8192
/* The most vectors that a tile reads from one row on; so many floats lie behind a band. */
#define TILE_VECTORS 4
#define SLACK (TILE_VECTORS * FL_LANES)

typedef struct band {
  size_t channels;                /* of a group */
  size_t remainders_down, remainders_across;
  size_t rows;                    /* of the result */
  size_t lines, width;            /* lines of the band for each remainder down, and floats of each remainder across in a line */
  size_t line;                    /* floats of a line */
  size_t plane;                   /* floats of a channel */
} band;

static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 16 / a ? SIZE_MAX / 16 : a * b; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static band band_of(const fl_conv2d *c, size_t groups, size_t rows) {
  const size_t down = (c->kernel_height - 1) * c->dilation_height, across = (c->kernel_width - 1) * c->dilation_width;
  band b = {.channels = c->channels / groups, .rows = rows};
  b.remainders_down = least(c->stride_height, down + 1);
  b.remainders_across = least(c->stride_width, across + 1);
  b.lines = rows + down / c->stride_height;
  b.width = c->out_width + across / c->stride_width;
  b.line = times(b.remainders_across, b.width);
  b.plane = times(times(b.remainders_down, b.lines), b.line);
  return b;
}

static size_t floats_of(const band *b) { return times(b->channels, b->plane); }

/* Returns the band of as many rows as fit, at least one. */
static band fitting_band(const fl_conv2d *c, size_t groups) {
  const band one = band_of(c, groups, 1), two = band_of(c, groups, 2);
  const size_t each = floats_of(&two) - floats_of(&one);
  const size_t further = each > 0 && floats_of(&one) < BAND_FLOATS ? (BAND_FLOATS - floats_of(&one)) / each : 0;
  return band_of(c, groups, least(1 + further, c->out_height));
}

/* Returns the floats of a line of the image with zeros around it, from which a line of the band is made. */
static size_t padded_line(const fl_conv2d *c, const band *b) { return c->stride_width > 1 ? times(c->stride_width, b->width) + 2 * FL_LANES : 0; }

static size_t taps_of(const fl_conv2d *c) { return c->kernel_height * c->kernel_width; }

size_t fl_conv2d_planes_scratch(const fl_conv2d *c, size_t groups) {
  if (c->batch == 0 || c->out_height == 0 || c->out_width == 0 || c->out_channels == 0) {
    return 0;
  }
  /* A smaller image may have more rows in a band. */
  const band one = band_of(c, groups, 1), all = band_of(c, groups, c->out_height);
  const size_t floats = most(floats_of(&one), least(floats_of(&all), BAND_FLOATS));
  const size_t bytes = times(floats + SLACK + padded_line(c, &one), sizeof(float)) + FL_TAKEN(size_t, taps_of(c));
  return bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : bytes;
}

/* Writes n floats, zeros if `from` is NULL, and up to FL_LANES - 1 more. Returns the end of the n floats. */
FL_INLINE float *put(float *to, const float *from, size_t n) {
  for (size_t i = 0; i < n; i += FL_LANES) {
    fl_store(to + i, !from ? fl_zero() : n - i >= FL_LANES ? fl_load(from + i) : fl_load_part(from + i, n - i));
  }
  return to + n;
}

/* Copies what a band of `rows` rows from y on reads of a channel. */
static void fill(const fl_conv2d *c, const band *b, const float *image, size_t y, size_t rows, float *padded, float *to) {
  const int is_apart = c->stride_width > 1;
  const size_t lines = b->lines - b->rows + rows, step = is_apart ? c->stride_width : 1, length = step * b->width;
  const size_t before = least(c->padding_width, length), held = least(c->width, length - before), after = length - before - held;
  for (size_t down = 0; down < b->remainders_down; ++down) {
    float *line = to + down * b->lines * b->line;
    for (size_t i = 0; i < lines; ++i, line += b->line) {
      const size_t row = (y + i) * c->stride_height + down;
      if (row < c->padding_height || row - c->padding_height >= c->height) {
        (void)put(line, NULL, b->line);
        continue;
      }
      float *const start = is_apart ? padded : line;
      (void)put(put(put(start, NULL, before), image + (row - c->padding_height) * c->width, held), NULL, after);
      for (size_t across = 0; is_apart && across < b->remainders_across; ++across) {
        fl_copy_apart(line + across * b->width, padded + across, b->width, step);
      }
    }
  }
}

/* A part of the result: some vectors of some rows. */
typedef struct tile {
  const float *input;   /* what tap 0 of the first channel reads for the first number */
  const float *weight;
  const size_t *offsets; /* of each tap */
  size_t taps, channels, plane, line;
  float bias;
  float *out;
  size_t out_line;
  size_t last;          /* the place of the last vector, which may overlap others */
  size_t left;          /* numbers from `out` to the end of the band: those behind a row may be written, because later ones replace them */
  size_t width;         /* numbers in the last vector */
} tile;

FL_INLINE void compute_tile(const tile t, const int rows, const int vectors) {
  fl_vec sums[8];
  FL_UNROLL
  for (int x = 0; x < rows * vectors; ++x) {
    sums[x] = fl_set(t.bias);
  }
  const float *weight = t.weight, *plane = t.input;
  for (size_t channel = 0; channel < t.channels; ++channel, plane += t.plane) {
    for (size_t tap = 0; tap < t.taps; ++tap) {
      const fl_vec w = fl_set(*weight++);
      const float *const from = plane + t.offsets[tap];
      FL_UNROLL
      for (int x = 0; x < rows * vectors; ++x) {
        const size_t at = x % vectors + 1 < vectors ? (size_t)(x % vectors * FL_LANES) : t.last;
        sums[x] = fl_fma(fl_load(from + (size_t)(x / vectors) * t.line + at), w, sums[x]);
      }
    }
  }
  FL_UNROLL
  for (int x = 0; x < rows * vectors; ++x) {
    const size_t at = (size_t)(x / vectors) * t.out_line + (x % vectors + 1 < vectors ? (size_t)(x % vectors * FL_LANES) : t.last);
    if (at + FL_LANES <= t.left) {
      fl_store(t.out + at, sums[x]);
    } else {
      fl_store_part(t.out + at, sums[x], t.width);
    }
  }
}

#define TILE(rows, vectors) \
  static __attribute__((noinline)) void tile_##rows##_##vectors(const tile *t) { compute_tile(*t, rows, vectors); }
TILE(1, 1)
TILE(2, 1)
TILE(4, 1)
TILE(1, 2)
TILE(2, 2)
TILE(4, 2)
TILE(1, 4)
TILE(2, 4)

/* Computes `rows` rows of the result, `vectors` vectors of each. It is not inlined, as what follows, so that copies of tiles take little stack. */
static __attribute__((noinline)) void compute_rows(tile t, size_t rows, size_t vectors) {
  while (rows > 0) {
    const size_t some = rows >= 4 && vectors < 4 ? 4 : rows >= 2 ? 2 : 1;
    if (vectors == 4) {
      (some == 2 ? tile_2_4 : tile_1_4)(&t);
    } else if (vectors == 2) {
      (some == 4 ? tile_4_2 : some == 2 ? tile_2_2 : tile_1_2)(&t);
    } else {
      (some == 4 ? tile_4_1 : some == 2 ? tile_2_1 : tile_1_1)(&t);
    }
    t.input += some * t.line;
    t.out += some * t.out_line;
    t.left -= least(t.left, some * t.out_line);
    rows -= some;
  }
}

/* Computes `rows` rows of a plane of the result from `out` on. */
static __attribute__((noinline)) void compute_band(const fl_conv2d *c, tile t, size_t rows) {
  t.width = least(c->out_width, FL_LANES);
  for (size_t x = 0; x < c->out_width;) {
    const size_t wanted = (c->out_width - x + FL_LANES - 1) / FL_LANES, vectors = wanted >= 4 ? 4 : wanted >= 2 ? 2 : 1;
    const size_t whole = vectors * FL_LANES;
    tile part = t;
    part.last = whole - FL_LANES;
    if (whole <= c->out_width) {
      x = least(x, c->out_width - whole);
    } else if (c->out_width >= FL_LANES) {
      part.last = c->out_width - FL_LANES;
    }
    part.input += x;
    part.out += x;
    part.left -= x;
    compute_rows(part, rows, vectors);
    x += whole;
  }
}

/* A convolution in bands of the result of each group. */
typedef struct bands {
  const fl_conv2d *c;
  size_t groups, down;
  band band;
} bands;

static void run_band(const void *work, size_t piece, void *scratch) {
  const fl_conv2d *const c = ((const bands *)work)->c;
  const band b = ((const bands *)work)->band;
  const size_t groups = ((const bands *)work)->groups, down = ((const bands *)work)->down;
  const size_t group = piece / down, y = piece % down * b.rows, rows = least(b.rows, c->out_height - y);
  const size_t taps = taps_of(c), outs = c->out_channels / groups, pixels = c->out_height * c->out_width;
  size_t *const offsets = scratch;
  float *const floats = (float *)(void *)((char *)scratch + FL_TAKEN(size_t, taps));
  float *const padded = floats + floats_of(&b) + SLACK;
  const float *const image = c->input + group * b.channels * c->height * c->width;
  memset(floats, 0, (floats_of(&b) + SLACK) * sizeof(float));
  for (size_t tap = 0; tap < taps; ++tap) {
    const size_t below = tap / c->kernel_width * c->dilation_height, across = tap % c->kernel_width * c->dilation_width;
    const size_t line = below % c->stride_height * b.lines + below / c->stride_height;
    offsets[tap] = line * b.line + across % c->stride_width * b.width + across / c->stride_width;
  }
  tile t = {.offsets = offsets, .taps = taps, .channels = b.channels, .plane = b.plane, .line = b.line, .input = floats, .out_line = c->out_width};
  for (size_t channel = 0; channel < b.channels; ++channel) {
    fill(c, &b, image + channel * c->height * c->width, y, rows, padded, floats + channel * b.plane);
  }
  for (size_t o = 0; o < outs; ++o) {
    const size_t channel = group % groups * outs + o;
    t.weight = c->weight + channel * b.channels * taps;
    t.bias = c->bias ? c->bias[channel] : 0.0f;
    t.out = c->out + (group * outs + o) * pixels + y * c->out_width;
    t.left = rows * c->out_width;
    compute_band(c, t, rows);
  }
}

void fl_conv2d_planes(const fl_context *context, const fl_conv2d *c, size_t groups) {
  bands work = {c, groups, 0, fitting_band(c, groups)};
  work.down = (c->out_height + work.band.rows - 1) / work.band.rows;
  const size_t operations = c->batch * c->out_channels * c->out_height * c->out_width * work.band.channels * taps_of(c) / FL_LANES;
  fl_divide(context, c->batch * groups * work.down, operations, run_band, &work);
}
