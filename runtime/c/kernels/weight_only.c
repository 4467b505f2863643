/* Weights of bytes. flambeau::weight_only_linear multiplies rows of floats with them, and converts them to floats in registers;
 * flambeau::dequantize_packed writes these, for convolutions, which read each of them for many pixels. */
#include "gemm.h"
#include "loops.h"
#include "optional.h"
#include "weight_only.def"

#define VECTORS (FL_PANEL / FL_LANES) /* vectors in a panel's columns */

/* The rows of a tile, whose sums fill about half of the registers. */
#if FL_LANES == 16
#define ROWS 8
#elif FL_LANES == 8
#define ROWS 4
#elif FL_LANES == 4
#define ROWS 2
#else
#define ROWS 1
#endif

/* The number of steps of k with their own sums, which hides the latency of an addition in tiles of few rows. */
#define STEPS(m) ((m) * VECTORS >= 8 ? 1 : (m) * VECTORS >= 4 ? 2 : 4)
#define SUMS 16 /* the most that m * VECTORS * STEPS(m) can be */

/* The bytes of the weight that are multiplied with all rows before the next bytes, so that they stay in the second-level cache. */
#define BLOCK ((size_t)1 << 18)

typedef struct layer {
  size_t n, k;
  const int8_t *weight; /* [ceil(n / 16)][k][16] */
  const float *scales, *bias;
} layer;

/* Stores the sums of the products of `m` rows with a panel. m is a constant when inlined. */
FL_INLINE void sum_products(const float *x, size_t k, const int8_t *panel, const int m, float sums[][FL_PANEL]) {
  const int steps = STEPS(m);
  fl_vec total[SUMS];
  FL_UNROLL
  for (int i = 0; i < m * steps * VECTORS; ++i) {
    total[i] = fl_zero();
  }
  size_t at = 0;
  for (; at + (size_t)steps <= k; at += (size_t)steps, panel += steps * FL_PANEL) {
    fl_vec w[SUMS];
    FL_UNROLL
    for (int j = 0; j < steps * VECTORS; ++j) {
      w[j] = fl_load_int8(panel + j * FL_LANES);
      FL_HOLD(w[j]);
    }
    FL_UNROLL
    for (int i = 0; i < m * steps * VECTORS; ++i) {
      const int step = i / VECTORS % steps;
      total[i] = fl_fma(fl_set(x[(size_t)(i / VECTORS / steps) * k + at + (size_t)step]), w[step * VECTORS + i % VECTORS], total[i]);
    }
  }
  for (; steps > 1 && at < k; ++at, panel += FL_PANEL) {
    FL_UNROLL
    for (int i = 0; i < m * VECTORS; ++i) {
      const int first = i / VECTORS * steps * VECTORS + i % VECTORS;
      total[first] = fl_fma(fl_set(x[(size_t)(i / VECTORS) * k + at]), fl_load_int8(panel + i % VECTORS * FL_LANES), total[first]);
    }
  }
  FL_UNROLL
  for (int i = 0; i < m * VECTORS; ++i) {
    const int first = i / VECTORS * steps * VECTORS + i % VECTORS;
    fl_vec sum = total[first];
    FL_UNROLL
    for (int step = 1; step < steps; ++step) {
      sum += total[first + step * VECTORS];
    }
    fl_store(sums[i / VECTORS] + i % VECTORS * FL_LANES, sum);
  }
}

/* Multiplies `m` rows (at most ROWS) with one panel, and stores the scaled results. */
static void run_tile(const layer *l, const float *x, size_t m, size_t panel, float *out) {
  float sums[ROWS][FL_PANEL];
  const int8_t *const weight = l->weight + panel * l->k * FL_PANEL;
  for (size_t i = 0; i < m;) {
    const size_t left = m - i;
    const float *const row = x + i * l->k;
    if (ROWS >= 8 && left >= 8) {
      sum_products(row, l->k, weight, 8, sums + i);
      i += 8;
    } else if (ROWS >= 4 && left >= 4) {
      sum_products(row, l->k, weight, 4, sums + i);
      i += 4;
    } else if (ROWS >= 2 && left >= 2) {
      sum_products(row, l->k, weight, 2, sums + i);
      i += 2;
    } else {
      sum_products(row, l->k, weight, 1, sums + i);
      i += 1;
    }
  }
  const size_t first = panel * FL_PANEL, columns = l->n - first < FL_PANEL ? l->n - first : FL_PANEL;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      const float product = sums[i][j] * l->scales[first + j];
      out[i * l->n + first + j] = l->bias ? product + l->bias[first + j] : product;
    }
  }
}

/* The product of m rows with a layer, some panels in each piece. */
typedef struct product {
  const layer *l;
  const float *x;
  size_t m;
  float *out;
  size_t panels, pieces;
} product;

static void run(const void *work, size_t piece, void *scratch) {
  const product *const p = work;
  const layer *const l = p->l;
  const fl_range panels = fl_range_of(p->panels, p->pieces, piece);
  const size_t size = l->k * FL_PANEL, block = size < BLOCK ? BLOCK / (size + 1) + 1 : 1;
  (void)scratch;
  for (size_t start = panels.begin; start < panels.end; start += block) {
    const size_t end = panels.end - start < block ? panels.end : start + block;
    for (size_t i = 0; i < p->m; i += ROWS) {
      for (size_t panel = start; panel < end; ++panel) {
        run_tile(l, p->x + i * l->k, p->m - i < ROWS ? p->m - i : ROWS, panel, p->out + i * l->n);
      }
    }
  }
}

/* Writes `depth` rows of a panel's columns, which lie `step` numbers apart. */
static void dequantize_panel(const int8_t *from, const float *scales, size_t depth, size_t step, float *to) {
  fl_vec factors[VECTORS];
  for (int j = 0; j < VECTORS; ++j) {
    factors[j] = fl_load(scales + j * FL_LANES);
  }
  for (size_t i = 0; i < depth; ++i, from += step, to += step) {
    FL_UNROLL
    for (int j = 0; j < VECTORS; ++j) {
      fl_store(to + j * FL_LANES, fl_load_int8(from + j * FL_LANES) * factors[j]);
    }
  }
}

/* With so many rows, each weight is read often enough to be written as a float first. */
#define MANY_ROWS 16
/* The panels whose floats are multiplied at a time, which are a wide tile. */
#define SOME_PANELS 3

static size_t floats_of(const fl_tensor *input, int bound) {
  const size_t k = input->rank > 0 ? (size_t)input->sizes[input->rank - 1] : 0;
  return k > 0 && (fl_rows_of(input) >= MANY_ROWS || bound) ? SOME_PANELS * FL_PANEL * k : 0;
}

size_t fl_weight_only_linear_scratch(fl_value *const *args, size_t count) {
  (void)count;
  const fl_tensor *const input = fl_get_tensor(args[0]);
  return input ? fl_scratch_bytes(floats_of(input, input->dynamic), sizeof(float)) : 0;
}

/* Multiplies many rows with the floats of a few panels at a time. Scales come after the sums, as where there are few rows: an infinite one would make
 * NaN of weights of 0. */
static void run_many(const void *work, size_t piece, void *scratch) {
  const product *const p = work;
  const layer *const l = p->l;
  const size_t size = l->k * FL_PANEL, first = piece * SOME_PANELS * FL_PANEL;
  const size_t columns = l->n - first < SOME_PANELS * FL_PANEL ? l->n - first : SOME_PANELS * FL_PANEL;
  const float ones[FL_PANEL] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  float *const floats = scratch;
  for (size_t at = 0; at < columns; at += FL_PANEL) {
    dequantize_panel(l->weight + (first + at) / FL_PANEL * size, ones, l->k, FL_PANEL, floats + at / FL_PANEL * size);
  }
  const fl_gemm g = {columns, 1, l->k, floats, NULL, FL_ACTIVATION_NONE, 0, NULL};
  fl_gemm_dense(NULL, &g, p->x, l->k, p->m, p->out + first, l->n, NULL, 0);
  for (size_t i = 0; i < p->m; ++i) {
    float *const row = p->out + i * l->n + first;
    FL_INDEPENDENT for (size_t j = 0; j < columns; ++j) {
      const float product = row[j] * l->scales[first + j];
      row[j] = l->bias ? product + l->bias[first + j] : product;
    }
  }
}

fl_status fl_weight_only_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_TENSOR_ARGUMENT(scales, 2);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 3);
  FL_INT_ARGUMENT(features, 4);
  FL_TENSOR_ARGUMENT(out, 5);
  FL_CHECK(context, input->dtype == FL_FLOAT32 && out->dtype == FL_FLOAT32 && scales->dtype == FL_FLOAT32 && weight->dtype == FL_INT8,
           "the input, the scales and the result must be of float32, the weight of int8");
  FL_CHECK(context, input->rank >= 1 && fl_is_contiguous(input), "the input must be contiguous and have a dimension");
  FL_CHECK(context, features >= 0 && features <= INT32_MAX && weight->rank == 3 && fl_is_contiguous(weight) &&
                        weight->sizes[0] == (features + FL_PANEL - 1) / FL_PANEL && weight->sizes[1] == input->sizes[input->rank - 1] &&
                        weight->sizes[2] == FL_PANEL,
           "the weight must be packed: [ceil(out_features / 16), the input's last dimension, 16]");
  FL_CHECK(context, scales->rank == 1 && scales->sizes[0] == features && fl_is_contiguous(scales), "there must be a scale for each output feature");
  FL_CHECK(context, !bias || (bias->dtype == FL_FLOAT32 && bias->rank == 1 && bias->sizes[0] == features && fl_is_contiguous(bias)),
           "the bias must have one value for each output feature");
  FL_TRY(fl_resize_features(context, out, input, features));
  const layer l = {(size_t)features, (size_t)weight->sizes[1], weight->data, scales->data, bias ? bias->data : NULL};
  const size_t floats = floats_of(input, 0);
  FL_CHECK(context, context->scratch_size >= floats * sizeof(float), "the kernel was given too little scratch memory");
  product work = {&l, input->data, fl_rows_of(input), out->data, (l.n + FL_PANEL - 1) / FL_PANEL, 1};
  const size_t operations = fl_costly_rows(work.m) * l.n * l.k / FL_LANES, wanted = fl_pieces(context, operations);
  if (floats > 0) {
    fl_divide(context, (work.panels + SOME_PANELS - 1) / SOME_PANELS, operations, run_many, &work);
  } else {
    work.pieces = wanted < work.panels || work.panels == 0 ? wanted : work.panels;
    fl_divide(context, work.pieces, operations, run, &work);
  }
  return FL_OK;
}

fl_status fl_dequantize_packed_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(weight, 0);
  FL_TENSOR_ARGUMENT(scales, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_CHECK(context, weight->dtype == FL_INT8 && scales->dtype == FL_FLOAT32 && out->dtype == FL_FLOAT32,
           "the weight must be of int8, the scales and the result of float32");
  const int is_dense = weight->rank == 3;
  FL_CHECK(context, fl_is_contiguous(weight) && (is_dense ? weight->sizes[2] == FL_PANEL : weight->rank == 2 && weight->sizes[1] % FL_PANEL == 0),
           "the weight must be packed: [panels, depth, 16], or [taps, channels rounded up to 16]");
  const size_t panels = (size_t)weight->sizes[is_dense ? 0 : 1] / (is_dense ? 1 : FL_PANEL), depth = (size_t)weight->sizes[is_dense ? 1 : 0];
  FL_CHECK(context, scales->rank == 1 && (size_t)scales->sizes[0] == panels * FL_PANEL && fl_is_contiguous(scales), "there must be a scale for each column");
  FL_TRY(fl_resize(context, out, weight->sizes, weight->rank));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  const int8_t *const from = weight->data;
  const float *const factors = scales->data;
  float *const to = out->data;
  for (size_t panel = 0; panel < panels; ++panel) {
    const size_t at = panel * FL_PANEL * (is_dense ? depth : 1);
    dequantize_panel(from + at, factors + panel * FL_PANEL, depth, is_dense ? FL_PANEL : panels * FL_PANEL, to + at);
  }
  return FL_OK;
}
