/* Computes convolution of contiguous planes, with vectors along the rows of the result.
 *
 * A band is some rows of a group's planes, copied with zeros around the image. Columns that lie a stride apart are neighbours in it, those of each
 * remainder in a block of their own, and rows likewise: then neighbours in the result read neighbours under each tap, whatever the stride. Results
 * are written from front to back in whole vectors, so that what is written too far is replaced. Where planes are small, the bands of several
 * groups are filled before the first is read, when its numbers have left the processor's queue of stores.
 */
#include "planes.h"

#include "apart.h"
#include "scratch.h"

/* The vectors of a tile: as many independent sums hide the latency of a multiplication. */
#define TILE 8
/* Bands of several rows or groups have at most so many floats, which stay in cache; those of a tile's rows, at most so many. */
#define BAND_FLOATS 8192
#define TILE_FLOATS 32768

typedef struct band {
  size_t channels;                /* of a group */
  size_t remainders_down, remainders_across;
  size_t rows;                    /* of the result */
  size_t lines;                   /* for each remainder down */
  size_t line;                    /* floats of a line, which are whole vectors */
  size_t plane;                   /* floats of a channel */
} band;

static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 16 / a ? SIZE_MAX / 16 : a * b; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static __attribute__((noinline)) band band_of(const fl_conv2d *c, size_t groups, size_t rows) {
  const size_t down = (c->kernel_height - 1) * c->dilation_height, across = (c->kernel_width - 1) * c->dilation_width;
  band b = {.channels = c->channels / groups, .rows = rows};
  b.remainders_down = least(c->stride_height, down + 1);
  b.remainders_across = least(c->stride_width, across + 1);
  b.lines = rows + down / c->stride_height;
  b.line = (c->out_width + across / c->stride_width + FL_LANES - 1) / FL_LANES * FL_LANES;
  b.plane = times(b.remainders_across * b.remainders_down, times(b.lines, b.line));
  return b;
}

static size_t floats_of(const band *b) { return times(b->channels, b->plane); }

/* Returns how many rows, at least 1, have bands of at most so many floats. */
static size_t fitting_rows(const fl_conv2d *c, size_t groups, size_t floats) {
  const band one = band_of(c, groups, 1), two = band_of(c, groups, 2);
  const size_t each = floats_of(&two) - floats_of(&one);
  return 1 + (each > 0 && floats_of(&one) < floats ? (floats - floats_of(&one)) / each : 0);
}

/* Returns the band of whole tiles that fits, or that of fewer rows. */
static band fitting_band(const fl_conv2d *c, size_t groups) {
  const size_t rows = most(fitting_rows(c, groups, BAND_FLOATS), least(TILE, fitting_rows(c, groups, TILE_FLOATS)));
  return band_of(c, groups, least(rows < TILE ? rows : rows / TILE * TILE, c->out_height));
}

/* Returns the floats behind a band that tiles read: those of rows that are not there, of results so narrow that they are fewer vectors than rows;
 * and vectors beyond a row. */
static size_t slack_of(const fl_conv2d *c, const band *b) {
  const size_t narrow = least(c->out_width, TILE * FL_LANES) + (c->kernel_width - 1) * c->dilation_width + FL_LANES;
  return TILE * (least(b->line, narrow) + FL_LANES);
}

static size_t taps_of(const fl_conv2d *c) { return c->kernel_height * c->kernel_width; }

size_t fl_conv2d_planes_scratch(const fl_conv2d *c, size_t groups) {
  if (c->batch == 0 || c->out_height == 0 || c->out_width == 0 || c->out_channels == 0) {
    return 0;
  }
  /* A smaller image may have more rows in a band. */
  const band one = band_of(c, groups, 1), tile = band_of(c, groups, least(TILE, c->out_height)), all = band_of(c, groups, c->out_height);
  const size_t limit = floats_of(&tile) > BAND_FLOATS ? TILE_FLOATS : BAND_FLOATS;
  const size_t floats = most(floats_of(&one), least(times(times(floats_of(&all), groups), c->batch), limit));
  const size_t bytes = times(floats + slack_of(c, &one), sizeof(float)) + FL_TAKEN(size_t, taps_of(c));
  return bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : bytes;
}

/* What is copied of an image's planes: to `count` lines of each band, of which those outside of the image are zeros. */
typedef struct lines {
  const float *from; /* the line of the image that becomes the first, which may lie outside of it */
  size_t width, from_step, to_step;
  size_t first, end; /* lines within the image */
  size_t count;
  size_t planes, from_plane, to_plane;
} lines;

/* Returns those of a vector's lanes that are the columns [from, from + FL_LANES) of an image `width` wide. */
FL_INLINE fl_range lanes_within(ptrdiff_t from, size_t width) {
  const ptrdiff_t end = (ptrdiff_t)width - from, lanes = FL_LANES;
  const size_t last = (size_t)(end < 0 ? 0 : end < lanes ? end : lanes);
  return (fl_range){from >= 0 ? 0 : least((size_t)-from, last), last};
}

/* Fills a vector of each line with columns from `from` on; if they are apart, with every second one of two vectors, from the first and from the
 * second on. */
FL_INLINE void fill_vectors(const lines l, ptrdiff_t from, const int is_apart, float *to, float *odd) {
  const fl_range first = lanes_within(from, l.width), second = lanes_within(from + FL_LANES, l.width);
  for (size_t plane = 0; plane < l.planes; ++plane) {
    const float *line = l.from + ((ptrdiff_t)(plane * l.from_plane + l.first * l.from_step) + from);
    for (size_t i = 0; i < l.count; ++i) {
      fl_vec v = fl_zero(), next = fl_zero();
      if (i >= l.first && i < l.end) {
        v = fl_load_between(line, first.begin, first.end);
        next = is_apart ? fl_load_between(line + FL_LANES, second.begin, second.end) : v;
        line += l.from_step;
      }
      if (is_apart) {
        fl_store(odd + plane * l.to_plane + i * l.to_step, fl_odd(v, next));
      }
      fl_store(to + plane * l.to_plane + i * l.to_step, is_apart ? fl_even(v, next) : v);
    }
  }
}

static __attribute__((noinline)) void fill_near(const lines *l, ptrdiff_t from, float *to) { fill_vectors(*l, from, 0, to, to); }

static __attribute__((noinline)) void fill_apart(const lines *l, ptrdiff_t from, float *to, float *odd) { fill_vectors(*l, from, 1, to, odd); }

/* Copies columns that are `step` apart. */
static void fill_any(const lines *l, ptrdiff_t from, size_t step, size_t columns, float *to) {
  for (size_t plane = 0; plane < l->planes; ++plane) {
    for (size_t i = 0; i < l->count; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        const ptrdiff_t column = from + (ptrdiff_t)(j * step);
        const int is_within = i >= l->first && i < l->end && column >= 0 && column < (ptrdiff_t)l->width;
        to[plane * l->to_plane + i * l->to_step + j] = is_within ? l->from[(ptrdiff_t)(plane * l->from_plane + i * l->from_step) + column] : 0.0f;
      }
    }
  }
}

/* Copies what bands of `rows` rows from y on read of `planes` planes. */
static void fill(const fl_conv2d *c, const band *b, const float *image, size_t planes, size_t y, size_t rows, float *to) {
  const size_t step = c->stride_width, block = b->remainders_down * b->lines * b->line;
  const ptrdiff_t left = -(ptrdiff_t)c->padding_width;
  lines l = {.width = c->width, .from_step = c->stride_height * c->width, .to_step = b->line, .count = b->lines - b->rows + rows};
  l.planes = planes;
  l.from_plane = c->height * c->width;
  l.to_plane = b->plane;
  for (size_t down = 0; down < b->remainders_down; ++down, to += b->lines * b->line) {
    const ptrdiff_t row = (ptrdiff_t)(y * c->stride_height + down) - (ptrdiff_t)c->padding_height, under = (ptrdiff_t)c->height - row;
    l.from = image + row * (ptrdiff_t)c->width;
    l.first = row < 0 ? ((size_t)-row + c->stride_height - 1) / c->stride_height : 0;
    l.end = under > 0 ? ((size_t)under + c->stride_height - 1) / c->stride_height : 0;
    for (size_t i = 0; step <= 2 && i < b->line; i += FL_LANES) {
      if (step == 1) {
        fill_near(&l, left + (ptrdiff_t)i, to + i);
      } else {
        fill_apart(&l, left + (ptrdiff_t)(2 * i), to + i, to + i + (b->remainders_across - 1) * block);
      }
    }
    for (size_t across = 0; step > 2 && across < b->remainders_across; ++across) {
      fill_any(&l, left + (ptrdiff_t)across, step, b->line, to + across * block);
    }
  }
}

/* How tiles read a band and write the result. Their vectors are rows below each other, or parts of a row. */
typedef struct layout {
  const size_t *offsets;           /* of each tap */
  size_t taps, columns;            /* of a kernel */
  size_t channels, plane, remainder;
  size_t step, out_step;           /* floats from a vector to the next */
} layout;

/* What a tile reads and writes. */
typedef struct place {
  const float *input;              /* what tap 0 of the first channel reads for the first number */
  const float *weight;
  float *out;
  size_t count;                    /* vectors that are there */
  size_t left;                     /* numbers from `out` on that may be written: those behind a row may, because later ones replace them */
  size_t width;                    /* numbers in the last vector of the result */
  float bias;
} place;

/* Writes the vectors of a tile when not all of them are there, or the last are not whole. This is rare, so tiles contain no code for it. */
static __attribute__((noinline)) void finish_part(const place *p, size_t step, const float *sums) {
  for (size_t i = 0; i < p->count; ++i) {
    const size_t at = i * step;
    if (at + FL_LANES <= p->left) {
      fl_store(p->out + at, fl_load(sums + i * FL_LANES));
    } else {
      memcpy(p->out + at, sums + i * FL_LANES, p->width * sizeof(float));
    }
  }
}

FL_INLINE void finish(const layout *l, const place *p, const fl_vec *sums) {
  float *const out = p->out;
  const size_t step = l->out_step;
  if (p->count == TILE && (TILE - 1) * step + FL_LANES <= p->left) {
    FL_UNROLL
    for (size_t i = 0; i < TILE; ++i) {
      fl_store(out + i * step, sums[i]);
    }
    return;
  }
  float stored[TILE * FL_LANES];
  FL_UNROLL
  for (size_t i = 0; i < TILE; ++i) {
    fl_store(stored + i * FL_LANES, sums[i]);
  }
  finish_part(p, step, stored);
}

/* Computes a tile of a kernel of any size. */
static __attribute__((noinline)) void tile_of_any(const layout *l, const place *p) {
  const size_t channels = l->channels, taps = l->taps, step = l->step;
  fl_vec sums[TILE];
  FL_UNROLL
  for (int i = 0; i < TILE; ++i) {
    sums[i] = fl_set(p->bias);
  }
  const float *weight = p->weight, *plane = p->input;
  for (size_t channel = 0; channel < channels; ++channel, plane += l->plane) {
    for (size_t tap = 0; tap < taps; ++tap) {
      const fl_vec w = fl_set(*weight++);
      const float *const from = plane + l->offsets[tap];
      FL_UNROLL
      for (size_t i = 0; i < TILE; ++i) {
        sums[i] = fl_fma(fl_load(from + i * step), w, sums[i]);
      }
    }
  }
  finish(l, p, sums);
}

/* Adds to rows of a tile what a column of a kernel of `height` rows makes of lines of a remainder. A line is loaded once for all rows that read
 * it. */
FL_INLINE void add_lines(fl_vec *sums, const float *line, size_t step, const float *weight, size_t columns, const int height, const int stride,
                         const int remainder) {
  FL_UNROLL
  for (int i = 0; i < TILE + (height - 1 - remainder) / stride; ++i) {
    const fl_vec v = fl_load(line);
    line += step;
    FL_UNROLL
    for (int tap = remainder; tap < height; tap += stride) {
      const int row = i - tap / stride;
      if (row >= 0 && row < TILE) {
        sums[row] = fl_fma(v, fl_set(weight[(size_t)tap * columns]), sums[row]);
      }
    }
  }
}

/* Computes a tile of rows, of a kernel of `height` rows without dilation. */
FL_INLINE void compute_rows(const layout *l, const place *p, const int height, const int stride) {
  const size_t channels = l->channels, columns = l->columns, step = l->step;
  fl_vec sums[TILE];
  FL_UNROLL
  for (int i = 0; i < TILE; ++i) {
    sums[i] = fl_set(p->bias);
  }
  const float *weight = p->weight, *plane = p->input;
  for (size_t channel = 0; channel < channels; ++channel, plane += l->plane, weight += l->taps) {
    FL_ROLL
    for (size_t column = 0; column < columns; ++column) {
      const float *const line = plane + l->offsets[column];
      add_lines(sums, line, step, weight + column, columns, height, stride, 0);
      if (stride == 2) {
        add_lines(sums, line + l->remainder, step, weight + column, columns, height, stride, 1);
      }
    }
  }
  finish(l, p, sums);
}

typedef void tile_fn(const layout *l, const place *p);

#define ROWS(height, stride) \
  static __attribute__((noinline)) void rows_##height##_##stride(const layout *l, const place *p) { compute_rows(l, p, height, stride); }
ROWS(3, 1)
ROWS(3, 2)
ROWS(5, 1)
ROWS(5, 2)
ROWS(7, 1)

/* Returns the function that computes a tile of rows. */
static tile_fn *function_of(const fl_conv2d *c) {
  static tile_fn *const functions[3][2] = {{rows_3_1, rows_3_2}, {rows_5_1, rows_5_2}, {rows_7_1, tile_of_any}};
  const size_t height = c->kernel_height;
  const int is_one = (height == 3 || height == 5 || height == 7) && c->dilation_height == 1 && c->stride_height <= 2;
  return is_one ? functions[height / 2 - 1][c->stride_height - 1] : tile_of_any;
}

/* A convolution in bands of the result of some groups. */
typedef struct bands {
  const fl_conv2d *c;
  size_t groups, down;
  size_t together; /* groups whose bands are filled together */
  band band;
  tile_fn *tile;
} bands;

/* Computes `rows` rows of a plane of the result: those of `whole`, which has all but the count and the width. */
static void compute_plane(const bands *w, const layout *l, const place *whole, size_t rows, int is_tall) {
  const size_t columns = w->c->out_width, line = w->band.line;
  const size_t down = is_tall ? TILE : 1, across = is_tall ? FL_LANES : TILE * FL_LANES;
  place p = *whole;
  /* The last tile is one of those before it in part. */
  for (size_t i = 0; i < columns; i += across) {
    const size_t some = least(across, (columns - i + FL_LANES - 1) / FL_LANES * FL_LANES), x = i + some > columns && i > 0 ? columns - some : i;
    p.width = least(columns - x, some) - (some - FL_LANES);
    p.count = is_tall ? least(TILE, rows) : some / FL_LANES;
    for (size_t j = 0; j < rows; j += down) {
      const size_t y = j + down > rows && j > 0 ? rows - down : j, at = y * columns + x;
      p.input = whole->input + y * line + x;
      p.out = whole->out + at;
      p.left = whole->left - at;
      (is_tall ? w->tile : tile_of_any)(l, &p);
    }
  }
}

static void run_band(const void *work, size_t piece, void *scratch) {
  const bands *const w = work;
  const fl_conv2d *const c = w->c;
  const band *const b = &w->band;
  const size_t first = piece / w->down * w->together, y = piece % w->down * b->rows, rows = least(b->rows, c->out_height - y);
  const size_t groups = least(w->together, c->batch * w->groups - first), outs = c->out_channels / w->groups, pixels = c->out_height * c->out_width;
  const int is_tall = rows >= least(TILE, (c->out_width + FL_LANES - 1) / FL_LANES);
  size_t *const offsets = scratch;
  float *const floats = (float *)(void *)((char *)scratch + FL_TAKEN(size_t, taps_of(c)));
  layout l = {.offsets = offsets, .taps = taps_of(c), .columns = c->kernel_width, .channels = b->channels, .plane = b->plane};
  l.remainder = b->lines * b->line;
  l.step = is_tall ? b->line : FL_LANES;
  l.out_step = is_tall ? c->out_width : FL_LANES;
  for (size_t tap = 0; tap < l.taps; ++tap) {
    const size_t below = tap / c->kernel_width * c->dilation_height, across = tap % c->kernel_width * c->dilation_width;
    const size_t line = (across % c->stride_width * b->remainders_down + below % c->stride_height) * b->lines + below / c->stride_height;
    offsets[tap] = line * b->line + across / c->stride_width;
  }
  fill(c, b, c->input + first * b->channels * c->height * c->width, groups * b->channels, y, rows, floats);
  memset(floats + groups * floats_of(b), 0, slack_of(c, b) * sizeof(float));
  size_t channel = first * outs % c->out_channels;
  place p = {.input = floats, .out = c->out + first * outs * pixels + y * c->out_width};
  p.left = w->down == 1 ? groups * outs * pixels : rows * c->out_width;
  for (size_t group = 0; group < groups; ++group, p.input += floats_of(b)) {
    for (size_t o = 0; o < outs; ++o, channel = channel + 1 < c->out_channels ? channel + 1 : 0) {
      p.weight = c->weight + channel * b->channels * l.taps;
      p.bias = c->bias ? c->bias[channel] : 0.0f;
      compute_plane(w, &l, &p, rows, is_tall);
      p.out += pixels;
      p.left -= w->down == 1 ? pixels : 0;
    }
  }
}

void fl_conv2d_planes(const fl_context *context, const fl_conv2d *c, size_t groups) {
  bands work = {c, groups, 0, 1, fitting_band(c, groups), function_of(c)};
  work.down = (c->out_height + work.band.rows - 1) / work.band.rows;
  if (work.down == 1) {
    work.together = most(1, BAND_FLOATS / most(1, floats_of(&work.band)));
  }
  const size_t operations = c->batch * c->out_channels * c->out_height * c->out_width * work.band.channels * taps_of(c) / FL_LANES;
  fl_divide(context, (c->batch * groups + work.together - 1) / work.together * work.down, operations, run_band, &work);
}
