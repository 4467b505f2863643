/* Computes convolution with kernels of 3 x 3 in tiles of the result, by Winograd's algorithm.
 *
 * A tile of m x m results reads (m + 2)^2 pixels of the image. Tiles and kernels are transformed, so that each point of a tile's transformed result
 * is a sum of products over the channels alone: (m + 2)^2 matrix products. Tiles of 4 take 2.25 multiplications for each result instead of 9, tiles
 * of 2 take 4. Those of 4 use the points 0, +-sqrt(1/2), +-sqrt(2) and infinity, which round least, those of 2 use 0, +-1 and infinity.
 *
 * Kernels are transformed as they are read, some channels at a time: that is sooner done than to read transformed ones, 4 (1.8) times as many bytes,
 * from memory, and takes no memory of a program.
 */
#include "winograd.h"

#include "padded.h"
#include "transpose.h"

#if FL_LANES > 1

/* The channels of the result that are computed together, and the most channels of the image whose kernels are transformed together. */
#define GROUP (2 * FL_PANEL)
#define DEPTH 64
/* The most floats of tiles that are transformed together, unless they are few: kernels are transformed again for the next ones. */
#define BLOCK_FLOATS 131072
#define FEW_TILES 32
/* Layers that read and write fewer floats take no more memory for the sake of speed. */
#define FEW_FLOATS 65536
/* The tiles that a thread transforms at a time. */
#define TILES_OF_PIECE 8
/* The fewest tiles of a block, where threads make more blocks: products of at least so many rows, of two panels or of one, add in one order. */
#define LEAST_TILES(out_channels) ((out_channels) % GROUP == 0 ? 8 : 48)
/* Floats between matrices, so that the same places of all do not fall together in a cache. */
#define APART FL_PANEL

#define HALF_ROOT 0.70710678118654752f /* sqrt(1/2) */
#define ROOT 1.41421356237309505f      /* sqrt(2) */

typedef struct winograd {
  const fl_conv2d *c;
  const fl_context *context;  /* whose threads divide a block; NULL: a thread has blocks of its own */
  size_t m, side, points;     /* results of a tile along a dimension; points along a dimension, and in all */
  size_t down, across, tiles; /* tiles of an image; of all images */
  size_t block, blocks;       /* the most tiles that are transformed together; how often that is done */
  size_t depth;               /* the most channels of the image whose kernels are transformed together */
  size_t first, count;        /* the tiles that are transformed together */
  float *tile;                /* [points][block][channels], transformed */
  int is_packed;              /* 0: the weight is [out_channels][channels][9] */
} winograd;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t times(size_t a, size_t b) { return a != 0 && b > SIZE_MAX / 16 / a ? SIZE_MAX / 16 : a * b; }
static size_t parts_of(size_t count, size_t most) { return (count + most - 1) / most; }

static __attribute__((noinline)) winograd in_tiles(const fl_conv2d *c, size_t m, int is_packed) {
  winograd w = {.c = c, .m = m, .side = m + 2, .points = (m + 2) * (m + 2), .down = parts_of(c->out_height, m), .across = parts_of(c->out_width, m)};
  w.is_packed = is_packed;
  w.tiles = times(c->batch, times(w.down, w.across));
  const size_t fitting = BLOCK_FLOATS / times(w.points, c->channels);
  w.block = least(w.tiles, fitting > FEW_TILES ? fitting : FEW_TILES);
  w.depth = parts_of(c->channels, parts_of(c->channels, DEPTH));
  return w;
}

/* Floats from a matrix to the next. */
static size_t tile_stride(const winograd *w) { return times(w->block, w->c->channels) + APART; }
static size_t kernel_stride(const winograd *w) { return w->depth * GROUP + APART; }
static size_t result_stride(const winograd *w) { return w->block * GROUP + APART; }

/* Floats of a piece of work: of tiles that are transformed, or of a group of channels. They are as many for all instruction sets. */
static size_t piece_floats(const winograd *w) {
  const size_t patch = times(w->points, w->c->channels), group = w->points * (kernel_stride(w) + result_stride(w));
  return w->points * FL_PANEL + (patch > group ? patch : group) + (w->is_packed ? 0 : 9 * w->depth * FL_PANEL);
}

/* Floats of the images, and of the results. */
static size_t image_floats(const fl_conv2d *c) { return times(times(c->batch, c->channels), times(c->height, c->width)); }
static size_t out_floats(const fl_conv2d *c) { return times(times(c->batch, c->out_channels), times(c->out_height, c->out_width)); }

static __attribute__((noinline)) size_t scratch_of(const fl_conv2d *c, size_t m, int is_packed) {
  const winograd w = in_tiles(c, m, is_packed);
  const size_t turned = is_packed ? 0 : image_floats(c) + out_floats(c);
  return times(times(w.points, tile_stride(&w)) + piece_floats(&w) + turned, sizeof(float));
}

/* Floats that a convolution reads and writes. */
static size_t floats_of(const fl_conv2d *c) { return image_floats(c) + out_floats(c) + times(9 * c->channels, c->out_channels); }

/* How many multiplications for a channel of the image and one of the result take as long: measured, with products of fewer than 8 rows slower. */
static double time_of(const fl_conv2d *c, size_t m, int is_packed) {
  const winograd w = in_tiles(c, m, is_packed);
  const double kernel = m == 4 ? 250.0 : is_packed ? 100.0 : 140.0, tile = (double)w.points * (1.0 + 12.0 / (double)c->out_channels + 8.0 / (double)c->channels);
  return kernel * (double)parts_of(w.tiles, w.block) + tile * (double)(w.tiles > 8 ? w.tiles : 8);
}

static int is_possible(const fl_conv2d *c) {
  return c->kernel_height == 3 && c->kernel_width == 3 && c->stride_height == 1 && c->stride_width == 1 && c->dilation_height == 1 &&
         c->dilation_width == 1 && c->channels % FL_PANEL == 0 && c->out_channels % FL_PANEL == 0 && c->channels > 0;
}

/* Returns the side of the tiles that were asked for, or that are fastest; 0: the definition is, or the layer may be one for a device that has little
 * memory. */
static size_t tile_of(const fl_conv2d *c, int is_packed) {
  if (!is_possible(c)) {
    return 0;
  }
  if (c->tile != FL_BEST_TILE) {
    return (size_t)c->tile;
  }
  const double direct = 9.0 * (double)c->batch * (double)c->out_height * (double)c->out_width;
  const double two = time_of(c, 2, is_packed), four = time_of(c, 4, is_packed);
  const size_t m = four < two ? 4 : 2;
  return (m == 4 ? four : two) < 0.9 * direct && floats_of(c) >= FEW_FLOATS ? m : 0;
}

static __attribute__((noinline)) size_t scratch_for(const fl_conv2d *c, int bound, int is_packed) {
  if (bound && is_possible(c) && c->tile == FL_BEST_TILE) {
    const size_t two = scratch_of(c, 2, is_packed), four = scratch_of(c, 4, is_packed);
    return two > four ? two : four;
  }
  const size_t m = tile_of(c, is_packed);
  return m == 0 ? 0 : scratch_of(c, m, is_packed);
}

size_t fl_winograd_scratch(const fl_conv2d *c, int bound) { return scratch_for(c, bound, 1); }

size_t fl_winograd_planes_scratch(const fl_conv2d *c, int bound) { return scratch_for(c, bound, 0); }

/* Transforms `side` vectors of a tile of the image, `step` floats apart, to vectors `to_step` floats apart. */
FL_INLINE void transform_image(const float *from, size_t step, const int side, float *to, size_t to_step) {
  const fl_vec x0 = fl_load(from), x1 = fl_load(from + step), x2 = fl_load(from + 2 * step), x3 = fl_load(from + 3 * step);
  if (side == 4) {
    fl_store(to, x0 - x2);
    fl_store(to + to_step, x1 + x2);
    fl_store(to + 2 * to_step, x2 - x1);
    fl_store(to + 3 * to_step, x1 - x3);
    return;
  }
  const fl_vec x4 = fl_load(from + 4 * step), x5 = fl_load(from + 5 * step);
  const fl_vec a = fl_fma(fl_set(-2.0f), x2, x4), b = fl_fma(fl_set(-2.0f), x1, x3);
  const fl_vec c = fl_fma(fl_set(-0.5f), x2, x4), d = fl_fma(fl_set(-0.5f), x1, x3);
  fl_store(to, fl_fma(fl_set(-2.5f), x2, x0 + x4));
  fl_store(to + to_step, fl_fma(fl_set(HALF_ROOT), b, a));
  fl_store(to + 2 * to_step, fl_fma(fl_set(-HALF_ROOT), b, a));
  fl_store(to + 3 * to_step, fl_fma(fl_set(ROOT), d, c));
  fl_store(to + 4 * to_step, fl_fma(fl_set(-ROOT), d, c));
  fl_store(to + 5 * to_step, fl_fma(fl_set(-2.5f), x3, x1 + x5));
}

/* Transforms 3 vectors of kernels, `x`, to `side` vectors. */
FL_INLINE void transform_kernel(const fl_vec *x, const int side, fl_vec *to) {
  to[0] = x[0];
  to[side - 1] = x[2];
  if (side == 4) {
    const fl_vec a = fl_set(0.5f) * (x[0] + x[2]), b = fl_set(0.5f) * x[1];
    to[1] = a + b;
    to[2] = a - b;
    return;
  }
  const fl_vec a = fl_set(-2.0f / 3.0f) * fl_fma(fl_set(0.5f), x[2], x[0]), b = fl_set(-2.0f / 3.0f * HALF_ROOT) * x[1];
  const fl_vec c = fl_set(1.0f / 6.0f) * fl_fma(fl_set(2.0f), x[2], x[0]), d = fl_set(1.0f / 6.0f * ROOT) * x[1];
  to[1] = a + b;
  to[2] = a - b;
  to[3] = c + d;
  to[4] = c - d;
}

/* Transforms `side` vectors of a tile of the result, `step` floats apart, to its side - 2 results. */
FL_INLINE void transform_result(const float *from, size_t step, const int side, fl_vec *to) {
  const fl_vec x0 = fl_load(from), x1 = fl_load(from + step), x2 = fl_load(from + 2 * step), x3 = fl_load(from + 3 * step);
  const fl_vec a = x1 + x2, b = x1 - x2;
  if (side == 4) {
    to[0] = x0 + a;
    to[1] = b - x3;
    return;
  }
  const fl_vec x4 = fl_load(from + 4 * step), x5 = fl_load(from + 5 * step), c = x3 + x4, d = x3 - x4;
  to[0] = x0 + a + c;
  to[1] = fl_fma(fl_set(HALF_ROOT), b, fl_set(ROOT) * d);
  to[2] = fl_fma(fl_set(0.5f), a, fl_set(2.0f) * c);
  to[3] = fl_fma(fl_set(0.5f * HALF_ROOT), b, fl_fma(fl_set(2.0f * ROOT), d, x5));
}

/* Transforms the channels of a tile, whose pixels are `line` floats below each other, to its places in all matrices, `stride` floats apart. */
FL_INLINE void image_of_side(const float *from, size_t line, size_t channels, const int side, float *points, float *to, size_t stride) {
  for (size_t c = 0; c < channels; c += FL_LANES) {
    FL_ROLL
    for (int j = 0; j < side; ++j) {
      transform_image(from + c + (size_t)j * channels, line, side, points + j * FL_LANES, (size_t)side * FL_LANES);
    }
    FL_ROLL
    for (int i = 0; i < side; ++i) {
      transform_image(points + i * side * FL_LANES, FL_LANES, side, to + c + (size_t)(i * side) * stride, stride);
    }
  }
}

static __attribute__((noinline)) void image_4(const float *from, size_t line, size_t channels, float *points, float *to, size_t stride) {
  image_of_side(from, line, channels, 4, points, to, stride);
}

static __attribute__((noinline)) void image_6(const float *from, size_t line, size_t channels, float *points, float *to, size_t stride) {
  image_of_side(from, line, channels, 6, points, to, stride);
}

/* Transforms the kernels of `depth` channels of the image to a panel of the result. Their taps are `tap` floats apart, and they `kernel` floats. */
FL_INLINE void kernels_of_side(const float *from, size_t tap, size_t kernel, size_t depth, const int side, float *to, size_t stride) {
  for (size_t c = 0; c < depth * FL_PANEL; c += FL_LANES) {
    fl_vec down[3][6];
    FL_UNROLL
    for (int j = 0; j < 3; ++j) {
      const float *const column = from + c / FL_PANEL * kernel + c % FL_PANEL + (size_t)j * tap;
      const fl_vec x[3] = {fl_load(column), fl_load(column + 3 * tap), fl_load(column + 6 * tap)};
      transform_kernel(x, side, down[j]);
    }
    FL_UNROLL
    for (int i = 0; i < side; ++i) {
      const fl_vec x[3] = {down[0][i], down[1][i], down[2][i]};
      fl_vec across[6];
      transform_kernel(x, side, across);
      FL_UNROLL
      for (int j = 0; j < side; ++j) {
        fl_store(to + c + (size_t)(i * side + j) * stride, across[j]);
      }
    }
  }
}

static __attribute__((noinline)) void kernels_4(const float *from, size_t tap, size_t kernel, size_t depth, float *to, size_t stride) {
  kernels_of_side(from, tap, kernel, depth, 4, to, stride);
}

static __attribute__((noinline)) void kernels_6(const float *from, size_t tap, size_t kernel, size_t depth, float *to, size_t stride) {
  kernels_of_side(from, tap, kernel, depth, 6, to, stride);
}

/* The place of a tile's result, of which `rows` x `columns` pixels lie within the image. */
typedef struct place {
  const fl_conv2d *c;
  size_t at, rows, columns;
  float low, high;
} place;

/* Transforms a tile of the result, whose places in all matrices are `stride` floats apart, and finishes `width` channels from `channel` on. */
FL_INLINE void result_of_side(const place p, const float *from, size_t stride, const int side, size_t channel, size_t width, float *points) {
  const fl_conv2d *const c = p.c;
  for (size_t k = 0; k < width; k += FL_LANES) {
    fl_vec y[4];
    FL_ROLL
    for (int j = 0; j < side; ++j) {
      transform_result(from + k + (size_t)j * stride, (size_t)side * stride, side, y);
      FL_UNROLL
      for (int i = 0; i < side - 2; ++i) {
        fl_store(points + (i * side + j) * FL_LANES, y[i]);
      }
    }
    const fl_vec bias = c->bias ? fl_load(c->bias + channel + k) : fl_zero();
    for (size_t i = 0; i < p.rows; ++i) {
      transform_result(points + i * (size_t)side * FL_LANES, FL_LANES, side, y);
      size_t at = p.at + i * c->out_width * c->out_channels + channel + k;
      FL_UNROLL
      for (int j = 0; j < side - 2; ++j) {
        if ((size_t)j < p.columns) {
          fl_vec v = y[j] + bias;
          v += c->addend ? fl_load(c->addend + at) : fl_zero();
          fl_store(c->out + at, fl_min_b(fl_set(p.high), fl_max_b(fl_set(p.low), v)));
          at += c->out_channels;
        }
      }
    }
  }
}

static __attribute__((noinline)) void result_4(const place *p, const float *from, size_t stride, size_t channel, size_t width, float *points) {
  result_of_side(*p, from, stride, 4, channel, width, points);
}

static __attribute__((noinline)) void result_6(const place *p, const float *from, size_t stride, size_t channel, size_t width, float *points) {
  result_of_side(*p, from, stride, 6, channel, width, points);
}

/* Transforms some tiles of the image. */
static void run_tiles(const void *work, size_t piece, void *scratch) {
  const winograd *const w = work;
  const fl_conv2d *const c = w->c;
  float *const points = scratch, *const patch = points + w->points * FL_PANEL;
  const size_t end = least((piece + 1) * TILES_OF_PIECE, w->count), stride = tile_stride(w);
  for (size_t i = piece * TILES_OF_PIECE; i < end; ++i) {
    const size_t tile = w->first + i, image = tile / (w->down * w->across);
    const int64_t y = (int64_t)(tile / w->across % w->down * w->m) - (int64_t)c->padding_height;
    const int64_t x = (int64_t)(tile % w->across * w->m) - (int64_t)c->padding_width;
    const float *from = c->input + image * c->height * c->width * c->channels;
    size_t line = c->width * c->channels;
    if (y < 0 || x < 0 || y + (int64_t)w->side > (int64_t)c->height || x + (int64_t)w->side > (int64_t)c->width) {
      fl_copy_padded(c, from, y, x, w->side, w->side, patch);
      from = patch;
      line = w->side * c->channels;
    } else {
      from += ((size_t)y * c->width + (size_t)x) * c->channels;
    }
    (w->side == 6 ? image_6 : image_4)(from, line, c->channels, points, w->tile + i * c->channels, stride);
  }
}

/* Computes a group of channels of the tiles. */
static void run_group(const void *work, size_t piece, void *scratch) {
  const winograd *const w = work;
  const fl_conv2d *const c = w->c;
  const size_t channel = piece * GROUP, width = least(GROUP, c->out_channels - channel), taps = 9 * c->channels * FL_PANEL;
  float *const points = scratch, *const kernels = points + w->points * FL_PANEL, *const results = kernels + w->points * kernel_stride(w);
  float *const turned = results + w->points * result_stride(w);
  for (size_t from = 0; from < c->channels; from += w->depth) {
    const size_t depth = least(w->depth, c->channels - from);
    for (size_t panel = 0; panel < width / FL_PANEL; ++panel) {
      const float *kernel = c->weight + (channel / FL_PANEL + panel) * taps + from * FL_PANEL;
      size_t tap = c->channels * FL_PANEL, step = FL_PANEL;
      if (!w->is_packed) {
        fl_transpose(c->weight + (channel + panel * FL_PANEL) * 9 * c->channels + 9 * from, 9 * c->channels, FL_PANEL, 9 * depth, turned, FL_PANEL);
        kernel = turned;
        tap = FL_PANEL;
        step = 9 * FL_PANEL;
      }
      (w->side == 6 ? kernels_6 : kernels_4)(kernel, tap, step, depth, kernels + panel * depth * FL_PANEL, kernel_stride(w));
    }
    for (size_t p = 0; p < w->points; ++p) {
      const fl_gemm g = {width, 1, depth, kernels + p * kernel_stride(w), NULL, FL_ACTIVATION_NONE, from > 0, NULL};
      fl_gemm_dense(NULL, &g, w->tile + p * tile_stride(w) + from, c->channels, w->count, results + p * result_stride(w), GROUP, NULL, 0);
    }
  }
  const int clamped = c->activation == FL_ACTIVATION_RELU || c->activation == FL_ACTIVATION_RELU6;
  place p = {.c = c, .low = clamped ? 0.0f : -INFINITY, .high = c->activation == FL_ACTIVATION_RELU6 ? 6.0f : INFINITY};
  for (size_t i = 0; i < w->count; ++i) {
    const size_t tile = w->first + i, y = tile / w->across % w->down * w->m, x = tile % w->across * w->m;
    p.at = ((tile / (w->down * w->across) * c->out_height + y) * c->out_width + x) * c->out_channels;
    p.rows = least(w->m, c->out_height - y);
    p.columns = least(w->m, c->out_width - x);
    (w->side == 6 ? result_6 : result_4)(&p, results + i * GROUP, result_stride(w), channel, width, points);
    for (size_t pixel = 0; !clamped && pixel < p.rows * p.columns; ++pixel) {
      const size_t at = p.at + (pixel / p.columns * c->out_width + pixel % p.columns) * c->out_channels + channel;
      fl_activate(c->activation, c->out + at, width);
    }
  }
}

/* Computes a block of tiles. */
static void run_tiles_together(const void *work, size_t piece, void *scratch) {
  winograd w = *(const winograd *)work;
  const fl_range range = fl_range_of(w.tiles, w.blocks, piece);
  const size_t vectors = w.points * w.c->channels / FL_LANES;
  w.first = range.begin;
  w.count = range.end - range.begin;
  w.tile = scratch;
  fl_context within = w.context == NULL ? (fl_context){0} : *w.context;
  within.scratch = w.tile + w.points * tile_stride(&w);
  fl_divide(&within, parts_of(w.count, TILES_OF_PIECE), w.count * vectors * 6, run_tiles, &w);
  fl_divide(&within, parts_of(w.c->out_channels, GROUP), w.count * vectors * w.c->out_channels, run_group, &w);
}

static __attribute__((noinline)) void run(const fl_context *context, const fl_conv2d *c, int is_packed) {
  winograd w = in_tiles(c, tile_of(c, is_packed), is_packed);
  const size_t operations = w.tiles * w.points * c->channels / FL_LANES * c->out_channels, threads = fl_threads_for(context, operations);
  w.blocks = parts_of(w.tiles, w.block);
  /* Tiles that one thread transforms for another travel from cache to cache: it takes longer than to transform the kernels of so many channels again. */
  const size_t even = parts_of(w.blocks, threads) * threads;
  if ((w.blocks >= threads || 6 * w.tiles >= c->out_channels * threads / 2) && (even == w.blocks || w.tiles >= even * LEAST_TILES(c->out_channels))) {
    w.blocks = even;
    fl_divide(context, w.blocks, operations, run_tiles_together, &w);
    return;
  }
  w.context = context;
  for (size_t block = 0; block < w.blocks; ++block) {
    run_tiles_together(&w, block, context->scratch);
  }
}

void fl_winograd_run(const fl_context *context, const fl_conv2d *c) { run(context, c, 1); }

/* Images as matrices, which are transposed some rows of `from` at a time. */
typedef struct turn {
  const float *from;
  size_t rows, columns;
  float *to;
} turn;

/* The rows of a piece, which are those of a panel so that what is written lies together. */
static void run_turn(const void *work, size_t piece, void *scratch) {
  const turn *const t = work;
  const size_t parts = parts_of(t->rows, FL_PANEL), image = piece / parts * t->rows * t->columns, row = piece % parts * FL_PANEL;
  (void)scratch;
  fl_transpose(t->from + image + row * t->columns, t->columns, least(FL_PANEL, t->rows - row), t->columns, t->to + image + row, t->rows);
}

static void turn_images(const fl_context *context, size_t images, const turn *t) {
  fl_divide(context, images * parts_of(t->rows, FL_PANEL), images * t->rows * t->columns, run_turn, t);
}

void fl_winograd_planes_run(const fl_context *context, const fl_conv2d *c) {
  float *const images = context->scratch, *const results = images + image_floats(c);
  fl_context rest = *context;
  rest.scratch = results + out_floats(c);
  fl_conv2d part = *c;
  part.input = images;
  part.out = results;
  turn_images(context, c->batch, &(turn){c->input, c->channels, c->height * c->width, images});
  run(&rest, &part, 0);
  turn_images(context, c->batch, &(turn){results, c->out_height * c->out_width, c->out_channels, c->out});
}

#else

size_t fl_winograd_scratch(const fl_conv2d *c, int bound) {
  (void)c;
  (void)bound;
  return 0;
}

size_t fl_winograd_planes_scratch(const fl_conv2d *c, int bound) { return fl_winograd_scratch(c, bound); }

void fl_winograd_run(const fl_context *context, const fl_conv2d *c) {
  (void)context;
  (void)c;
}

void fl_winograd_planes_run(const fl_context *context, const fl_conv2d *c) { fl_winograd_run(context, c); }

#endif
