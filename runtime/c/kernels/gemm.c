/* Computes matrix products of floats in tiles of registers, packs B, and applies activations to the results. */
#include "gemm.h"

#include "transpose.h"

/* A tile is at most TILE_ROWS x TILE_VECTORS vectors of C in registers. The registers also hold TILE_VECTORS vectors of B and a broadcast element of
 * A. The tile has enough independent sums to hide the latency of an FMA. */
#if FL_LANES == 16
#define TILE_ROWS 8
#define TILE_VECTORS 4
#elif FL_LANES == 8
#define TILE_ROWS 6
#define TILE_VECTORS 2
#elif defined(FL_SIMD_NEON)
#define TILE_ROWS 6
#define TILE_VECTORS 4
#elif FL_LANES == 4
#define TILE_ROWS 6
#define TILE_VECTORS 2
#else
#define TILE_ROWS 4
#define TILE_VECTORS 2
#endif

/* The length along k for which a tile's part of B stays in the first-level cache. */
#define DEPTH_BLOCK 512

#define TILE_ACCUMULATORS (TILE_ROWS * TILE_VECTORS)

/* One of equal parts. */
typedef struct fl_part {
  size_t index, of;
} fl_part;

typedef struct tile {
  const float *const *rows; /* rows of this tile, in the first segment; NULL: rows of one segment, `row_stride` apart from `first_row` on */
  const float *first_row;
  size_t row_stride;
  size_t rows_stride;       /* pointers from the rows of a segment to those of the next */
  size_t segments;
  size_t offset;            /* floats from the start of each segment */
  size_t depth;
  const float *b;
  size_t panel_stride;
  size_t segment_stride;    /* floats of B from one segment to the next */
  float *c;
  size_t c_stride;
  size_t columns;           /* number of valid columns from `c` on */
  const float *bias;
  const float *row_bias;
  const float *addend;
  size_t addend_stride;
  float low, high;
  int accumulate;
  int clamp;
} tile;

/* Loads vector j of a tile, which lies in panel j * FL_LANES / 16. */
#define B_VECTOR(b, stride, j) fl_load((b) + (size_t)((j) * FL_LANES / FL_PANEL) * (stride) + (size_t)((j) * FL_LANES % FL_PANEL))

/* The position in C (or the addend) of vector x of a tile, counted row by row. */
#define C_VECTOR(c, stride, x) ((c) + (size_t)((x) / nv) * (stride) + (size_t)((x) % nv * FL_LANES))

/* Finishes row i of a tile that reaches beyond the last column, from memory. This is rare, so tiles contain no code for it. */
static __attribute__((noinline)) void finish_part(const tile *t, const float *product, size_t i) {
  for (size_t j = 0; j < t->columns; j += FL_LANES) {
    const size_t n = t->columns - j < FL_LANES ? t->columns - j : FL_LANES;
    float *const c = t->c + i * t->c_stride + j;
    fl_vec v = fl_load(product + j);
    v += t->accumulate ? fl_load_part(c, n) : fl_zero();
    v += t->bias ? fl_load_part(t->bias + j, n) : fl_zero();
    v += t->row_bias ? fl_set(t->row_bias[i]) : fl_zero();
    v += t->addend ? fl_load_part(t->addend + i * t->addend_stride + j, n) : fl_zero();
    if (t->clamp) {
      v = fl_min_b(fl_set(t->high), fl_max_b(fl_set(t->low), v));
    }
    fl_store_part(c, v, n);
  }
}

/* Computes one tile. `mr`, `nv` and `ku` are constants in each call. `ku` is the number of steps of k that have their own accumulators, which hides
 * the latency in tiles of few rows. */
FL_INLINE void compute_tile(const tile *t, const int mr, const int nv, const int ku) {
  /* Element x is vector x % nv of row x / nv % mr in step x / nv / mr. The loops are not nested, because compilers unroll only such loops before
   * they allocate registers. */
  fl_vec acc[TILE_ACCUMULATORS];
  const int whole = t->columns >= (size_t)(nv * FL_LANES);
  FL_UNROLL
  for (int x = 0; x < mr * nv * ku; ++x) {
    acc[x] = fl_zero();
  }
  if (whole && t->bias) {
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      acc[x] = fl_load(t->bias + x % nv * FL_LANES);
    }
  }
  if (whole && t->row_bias) {
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      acc[x] += fl_set(t->row_bias[x / nv]);
    }
  }
  const size_t stride = t->panel_stride;
  for (size_t s = 0; s < t->segments; ++s) {
    const float *a[TILE_ROWS];
    FL_UNROLL
    for (int i = 0; i < mr; ++i) {
      a[i] = (t->rows ? t->rows[s * t->rows_stride + (size_t)i] : t->first_row + (size_t)i * t->row_stride) + t->offset;
    }
    const float *b = t->b + s * t->segment_stride;
    size_t k = 0;
    for (; k + (size_t)ku <= t->depth; k += (size_t)ku) {
      fl_vec bv[TILE_VECTORS * 4];
      FL_UNROLL
      for (int x = 0; x < nv * ku; ++x) {
        bv[x] = B_VECTOR(b + x / nv * FL_PANEL, stride, x % nv);
        FL_HOLD(bv[x]);
      }
      FL_UNROLL
      for (int x = 0; x < mr * nv * ku; ++x) {
        const int step = x / nv / mr;
        acc[x] = fl_fma(fl_set(a[x / nv % mr][k + (size_t)step]), bv[step * nv + x % nv], acc[x]);
      }
      b += ku * FL_PANEL;
    }
    for (; ku > 1 && k < t->depth; ++k) {
      FL_UNROLL
      for (int x = 0; x < mr * nv; ++x) {
        acc[x] = fl_fma(fl_set(a[x / nv][k]), B_VECTOR(b, stride, x % nv), acc[x]);
      }
      b += FL_PANEL;
    }
  }
  FL_UNROLL
  for (int x = mr * nv; x < mr * nv * ku; ++x) {
    acc[x % (mr * nv)] += acc[x];
  }

  if (!whole) {
    float product[TILE_VECTORS * FL_LANES];
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      fl_store(product + x % nv * FL_LANES, acc[x]);
      if (x % nv == nv - 1) {
        finish_part(t, product, (size_t)(x / nv));
      }
    }
    return;
  }
  if (t->accumulate) {
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      acc[x] += fl_load(C_VECTOR(t->c, t->c_stride, x));
    }
  }
  if (t->addend) {
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      acc[x] += fl_load(C_VECTOR(t->addend, t->addend_stride, x));
    }
  }
  if (t->clamp) {
    FL_UNROLL
    for (int x = 0; x < mr * nv; ++x) {
      acc[x] = fl_min_b(fl_set(t->high), fl_max_b(fl_set(t->low), acc[x]));
    }
  }
  FL_UNROLL
  for (int x = 0; x < mr * nv; ++x) {
    fl_store(C_VECTOR(t->c, t->c_stride, x), acc[x]);
  }
}

#define STEPS(mr, nv) \
  ((mr) * (nv) <= 2 && (mr) * (nv) * 4 <= TILE_ACCUMULATORS ? 4 : (mr) * (nv) <= 6 && (mr) * (nv) * 2 <= TILE_ACCUMULATORS ? 2 : 1)
#define TILE(mr, nv) \
  static __attribute__((noinline)) void tile_##mr##_##nv(const tile *t) { compute_tile(t, mr, nv, STEPS(mr, nv)); }

#if FL_LANES == 16
#define TILES(nv) TILE(1, nv) TILE(2, nv) TILE(3, nv) TILE(4, nv) TILE(5, nv) TILE(6, nv) TILE(7, nv) TILE(8, nv)
TILES(1)
TILES(2)
TILES(3)
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)
#define NAMES(nv) {tile_1_##nv, tile_2_##nv, tile_3_##nv, tile_4_##nv, tile_5_##nv, tile_6_##nv, tile_7_##nv, tile_8_##nv}
static void (*const tiles[TILE_VECTORS][TILE_ROWS])(const tile *) = {
    NAMES(1), NAMES(2), NAMES(3), {tile_1_4, tile_2_4, tile_3_4, tile_4_4, tile_5_4, tile_6_4, 0, 0}};
#elif FL_LANES == 1
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2)
static void (*const tiles[TILE_VECTORS][TILE_ROWS])(const tile *) = {{0}, {tile_1_2, tile_2_2, tile_3_2, tile_4_2}};
#elif TILE_VECTORS == 4
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)
static void (*const tiles[TILE_VECTORS][TILE_ROWS])(const tile *) = {{0}, {0}, {0}, {tile_1_4, tile_2_4, tile_3_4, tile_4_4, tile_5_4, tile_6_4}};
#else
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2)
#define NAMES(nv) {tile_1_##nv, tile_2_##nv, tile_3_##nv, tile_4_##nv, tile_5_##nv, tile_6_##nv}
static void (*const tiles[TILE_VECTORS][TILE_ROWS])(const tile *) = {NAMES(1), NAMES(2)};
#endif

/* Returns the number of columns of the next tile, when `left` columns are left. */
static size_t tile_columns(size_t left) {
#if FL_LANES == 16
  /* Three panels (of 8 rows) or four (of 6 rows) use the FMA units best; a remainder of one panel is avoided if possible. */
  size_t panels = (left + FL_PANEL - 1) / FL_PANEL;
  if (panels > 4) {
    panels = panels % 3 == 1 || (panels % 3 == 2 && panels >= 8) ? 4 : 3;
  }
  return panels * FL_PANEL;
#elif FL_LANES == 8
  return left <= FL_LANES ? FL_LANES : TILE_VECTORS * FL_LANES;
#else
  (void)left;
  return TILE_VECTORS * FL_LANES;
#endif
}

/* Prefetches rows of A. Weights of another layer come from memory, and short rows end before the hardware has found their pattern. */
static void prefetch_rows(const float *rows, size_t count, size_t stride, size_t depth) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < depth; k += 16) {
      __builtin_prefetch(rows + i * stride + k, 0, 3);
    }
  }
}

/* Moves a tile down by some rows. */
static void move_down(tile *t, size_t rows) {
  if (t->rows) {
    t->rows += rows;
  } else {
    t->first_row += rows * t->row_stride;
  }
  t->c += rows * t->c_stride;
  if (t->addend) {
    t->addend += rows * t->addend_stride;
  }
  if (t->row_bias) {
    t->row_bias += rows;
  }
}

/* Computes `part` of m rows, which are divided evenly into tiles, with the columns of B in one tile's width. `t` describes the first row. Prefetches the
 * part of B at `next`, which is needed afterwards. */
static void run_columns(tile t, size_t m, fl_part part, size_t columns, const float *next, int is_first, fl_activation activation) {
  const size_t nv = columns / FL_LANES, most = FL_LANES == 16 && nv == 4 ? 6 : TILE_ROWS;
  const size_t count = (m + most - 1) / most;
  const fl_range range = fl_range_of(count, part.of, part.index);
  const size_t slice = next ? t.segments * t.depth / count + 1 : 0;
  move_down(&t, range.begin * (m / count) + (range.begin < m % count ? range.begin : m % count));
  for (size_t q = range.begin; q < range.end; ++q) {
    for (size_t i = 0; i < slice; ++i) {
      __builtin_prefetch(next + (q * slice + i) * FL_PANEL, 0, 2);
    }
    const size_t rows = m / count + (q < m % count);
    if (is_first && q + 1 < range.end) {
      prefetch_rows(t.first_row + rows * t.row_stride + t.offset, m / count + (q + 1 < m % count), t.row_stride, t.depth);
    }
    tiles[nv - 1][rows - 1](&t);
    if (activation != FL_ACTIVATION_NONE) {
      const size_t valid = t.columns < columns ? t.columns : columns;
      for (size_t i = 0; i < rows; ++i) {
        fl_activate(activation, t.c + i * t.c_stride, valid);
      }
    }
    move_down(&t, rows);
  }
}

/* Computes some columns of a part of m rows of C. `rows` lists the rows of A; if it is NULL, they lie `row_stride` apart from `first_row` on. */
static void multiply_rows(const fl_gemm *g, fl_range range, fl_part of_rows, const float *const *rows, const float *first_row, size_t row_stride, size_t m,
                          float *c, size_t c_stride, const float *addend, size_t addend_stride) {
  if (m == 0 || range.begin == range.end) {
    return;
  }
  const size_t k = g->segments * g->depth;
  /* k is divided into blocks of whole segments, or parts of one segment. The first block would overwrite an addend that is C itself. */
  size_t segment_block = g->segments;
  size_t parts = 1;
  if (k > DEPTH_BLOCK + DEPTH_BLOCK / 2 && addend != c) {
    if (g->depth >= DEPTH_BLOCK) {
      segment_block = 1;
      parts = (g->depth + DEPTH_BLOCK - 1) / DEPTH_BLOCK;
    } else {
      segment_block = DEPTH_BLOCK / g->depth;
    }
  }
  const int in_registers = g->activation == FL_ACTIVATION_RELU || g->activation == FL_ACTIVATION_RELU6;
  size_t segment = 0;
  do {
    const size_t segments = g->segments - segment < segment_block ? g->segments - segment : segment_block;
    size_t offset = 0;
    for (size_t part = 0; part < parts; ++part) {
      const size_t depth = g->depth / parts + (part < g->depth % parts);
      const int first = segment == 0 && part == 0;
      const int last = segment + segments == g->segments && part + 1 == parts;
      for (size_t column = range.begin; column < range.end;) {
        const size_t columns = tile_columns(g->n - column);
        tile t = {0};
        t.rows = rows ? rows + segment * m : NULL;
        t.first_row = first_row;
        t.row_stride = row_stride;
        t.rows_stride = m;
        t.segments = segments;
        t.offset = offset;
        t.depth = depth;
        t.b = g->b + (column / FL_PANEL * k + segment * g->depth + offset) * FL_PANEL + column % FL_PANEL;
        t.panel_stride = k * FL_PANEL;
        t.segment_stride = g->depth * FL_PANEL;
        t.c = c + column;
        t.c_stride = c_stride;
        t.columns = g->n - column;
        t.accumulate = g->accumulate || !first;
        t.row_bias = first ? g->row_bias : NULL;
        if (last) {
          t.bias = g->bias ? g->bias + column : NULL;
          t.addend = addend ? addend + column : NULL;
          t.addend_stride = addend_stride;
          t.clamp = in_registers;
          t.low = 0.0f;
          t.high = g->activation == FL_ACTIVATION_RELU6 ? 6.0f : INFINITY;
        }
        const float *next = column + columns < range.end ? t.b + columns * k : NULL;
        run_columns(t, m, of_rows, columns, next, column == range.begin && rows == NULL, last && !in_registers ? g->activation : FL_ACTIVATION_NONE);
        column += columns;
      }
      offset += depth;
    }
    segment += segments;
  } while (segment < g->segments);
}

static size_t parts_of(size_t count, size_t most) { return (count + most - 1) / most; }

static size_t tiles_of(const fl_gemm *g) {
  size_t count = 0;
  for (size_t column = 0; column < g->n; ++count) {
    column += tile_columns(g->n - column);
  }
  return count;
}

size_t fl_gemm_pieces(const fl_gemm *g, size_t wanted) {
  const size_t tiles = wanted > 1 ? tiles_of(g) : 1;
  return tiles < wanted ? tiles + (tiles == 0) : wanted;
}

fl_range fl_gemm_columns(const fl_gemm *g, size_t pieces, size_t piece) {
  if (pieces == 1) {
    return (fl_range){0, g->n};
  }
  const fl_range tiles = fl_range_of(tiles_of(g), pieces, piece);
  fl_range columns = {0, 0};
  for (size_t tile = 0, column = 0; tile <= tiles.end; ++tile) {
    columns.begin = tile == tiles.begin ? column : columns.begin;
    columns.end = column < g->n ? column : g->n;
    column += column < g->n ? tile_columns(g->n - column) : 0;
  }
  return columns;
}

void fl_gemm_rows(const fl_gemm *g, fl_range columns, const float *const *rows, size_t m, float *c, size_t c_stride, const float *addend,
                  size_t addend_stride) {
  multiply_rows(g, columns, (fl_part){0, 1}, rows, NULL, 0, m, c, c_stride, addend, addend_stride);
}

/* A product with an A of one segment per row, in blocks of rows, and parts of the rows and columns of each. */
typedef struct dense {
  const fl_gemm *g;
  const float *a;
  size_t a_stride, m;
  float *c;
  size_t c_stride;
  const float *addend;
  size_t addend_stride;
  size_t blocks, down, across; /* blocks; parts of the rows and of the columns of a block */
} dense;

static void run_dense(const void *work, size_t piece, void *scratch) {
  const dense *const d = work;
  (void)scratch;
  const size_t within = piece % (d->down * d->across);
  /* Neighbours, which one thread computes as a rule, share the greater one of A and B. */
  const int by_rows = d->m > d->g->n;
  const size_t row = by_rows ? within / d->across : within % d->down, column = by_rows ? within % d->across : within / d->down;
  const fl_range rows = fl_range_of(d->m, d->blocks, piece / (d->down * d->across)), columns = fl_gemm_columns(d->g, d->across, column);
  fl_gemm part = *d->g;
  part.row_bias = part.row_bias ? part.row_bias + rows.begin : NULL;
  multiply_rows(&part, columns, (fl_part){row, d->down}, NULL, d->a + rows.begin * d->a_stride, d->a_stride, rows.end - rows.begin,
                d->c + rows.begin * d->c_stride, d->c_stride, d->addend ? d->addend + rows.begin * d->addend_stride : NULL, d->addend_stride);
}

void fl_gemm_dense_columns(const fl_gemm *g, fl_range columns, const float *a, size_t a_stride, size_t m, float *c, size_t c_stride) {
  const size_t blocks = parts_of(m, FL_GEMM_ROWS);
  for (size_t block = 0; block < blocks; ++block) {
    const fl_range rows = fl_range_of(m, blocks, block);
    fl_gemm part = *g;
    part.row_bias = part.row_bias ? part.row_bias + rows.begin : NULL;
    multiply_rows(&part, columns, (fl_part){0, 1}, NULL, a + rows.begin * a_stride, a_stride, rows.end - rows.begin, c + rows.begin * c_stride, c_stride,
                  NULL, 0);
  }
}

void fl_gemm_dense(const fl_context *context, const fl_gemm *g, const float *a, size_t a_stride, size_t m, float *c, size_t c_stride,
                   const float *addend, size_t addend_stride) {
  dense d = {g, a, a_stride, m, c, c_stride, addend, addend_stride, (m + FL_GEMM_ROWS - 1) / FL_GEMM_ROWS, 1, 1};
  const size_t operations = fl_costly_rows(m) * g->n * g->segments * g->depth / FL_LANES;
  if (d.blocks > 0) {
    const size_t wanted = parts_of(fl_pieces(context, operations), d.blocks), tiles = parts_of(parts_of(m, d.blocks), TILE_ROWS);
    if (m > g->n) {
      d.down = wanted < tiles ? wanted : tiles;
      d.across = fl_gemm_pieces(g, parts_of(wanted, d.down));
    } else {
      d.across = fl_gemm_pieces(g, wanted);
      d.down = parts_of(wanted, d.across);
      d.down = d.down < tiles ? d.down : tiles;
    }
    fl_divide(context, d.blocks * d.down * d.across, operations, run_dense, &d);
  }
}

void fl_pack_b(const float *b, size_t k, size_t n, size_t stride_k, size_t stride_n, float *packed) {
  for (size_t column = 0; column < n; column += FL_PANEL) {
    const size_t width = n - column < FL_PANEL ? n - column : FL_PANEL;
    const float *from = b + column * stride_n;
    size_t i = 0;
    if (width == FL_PANEL && stride_n == 1) {
      for (; i < k; ++i) {
        memcpy(packed + i * FL_PANEL, from + i * stride_k, FL_PANEL * sizeof(float));
      }
    }
    if (width == FL_PANEL && stride_k == 1 && i < k) {
      fl_transpose(from, stride_n, FL_PANEL, k, packed, FL_PANEL);
      i = k;
    }
    for (; i < k; ++i) {
      for (size_t j = 0; j < FL_PANEL; ++j) {
        packed[i * FL_PANEL + j] = j < width ? from[i * stride_k + j * stride_n] : 0.0f;
      }
    }
    packed += k * FL_PANEL;
  }
}

const char fl_not_an_activation[] = "the activation must be one of:"
#define FL_ACTIVATION(NAME, name, expression) " " name
#include "epilogue.def"
#undef FL_ACTIVATION
    ;

int fl_activation_from_name(const char *name, size_t length, fl_activation *out) {
  static const char *const names[] = {
#define FL_ACTIVATION(NAME, name, expression) name,
#include "epilogue.def"
#undef FL_ACTIVATION
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
      *out = (fl_activation)i;
      return 1;
    }
  }
  return 0;
}

#define MAP(expression)                                              \
  do {                                                               \
    size_t i = 0;                                                    \
    for (; i + FL_LANES <= n; i += FL_LANES) {                       \
      const fl_vec v = fl_load(x + i);                               \
      fl_store(x + i, (expression));                                 \
    }                                                                \
    if (i < n) {                                                     \
      const fl_vec v = fl_load_part(x + i, n - i);                   \
      fl_store_part(x + i, (expression), n - i);                     \
    }                                                                \
  } while (0)

void fl_activate(fl_activation activation, float *x, size_t n) {
  if (activation == FL_ACTIVATION_NONE) {
    return;
  }
  switch (activation) {
#define FL_ACTIVATION(NAME, name, expression) case FL_ACTIVATION_##NAME: MAP(expression); break;
#include "epilogue.def"
#undef FL_ACTIVATION
  }
}
