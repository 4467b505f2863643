/* flambeau::scaled_dot_product_attention: softmax(Q K^T scale + mask) V, computed in blocks of keys, without a whole row of scores in memory.
 * flambeau::cached_attention: the same over the written part of a cache, with the queries at its end.
 *
 * For each row of Q, the kernel keeps the largest score m so far and the sum l of e^(score - m). When a block of keys raises m, the kernel
 * scales the sums by e^(old m - new m) (Milakov and Gimelshein 2018; Dao et al. 2022). A row without any admitted key gives zeros.
 */
#include "gemm.h"
#include "loops.h"
#include "optional.h"

#define KEY_BLOCK 256
#define QUERY_BLOCK 48
/* With fewer queries than this, packing keys and values costs more than it saves. */
#define DIRECT_QUERIES 4
/* The number of keys in an unlimited window; half of it exceeds the distance of any key. */
#define UNLIMITED ((int64_t)1 << 61)

/* A tensor [batch, heads, length, width] with the last dimension innermost; strides are in elements. */
typedef struct heads {
  float *data;
  size_t batch, count, length, width;
  size_t batch_stride, stride, row_stride;
} heads;

typedef struct mask {
  const void *data;
  int is_bool;
  size_t strides[4]; /* 0 for broadcast dimensions */
} mask;

typedef struct attention {
  heads q, k, v, out;
  mask mask;
  float scale;
  int causal;
  int64_t position, window; /* if causal: query i sees at most `window` keys, up to key position + i */
  size_t begin, end;        /* no query sees a key outside of [begin, end) */
  size_t parts;             /* into which the queries of a head are divided */
} attention;

typedef struct buffers {
  size_t block; /* number of keys per block */
  float *keys, *values, *scores, *maxima, *sums;
} buffers;

static size_t round_up(size_t n) { return (n + FL_PANEL - 1) / FL_PANEL * FL_PANEL; }

static size_t block_of(const heads *k) { return round_up(k->length) < KEY_BLOCK ? round_up(k->length) : KEY_BLOCK; }

static size_t scratch_size(const heads *q, const heads *k, const heads *v) {
  const size_t rows = q->count / k->count * q->length;
  const size_t bytes = fl_scratch_bytes(QUERY_BLOCK + q->width + round_up(v->width), block_of(k) * sizeof(float));
  const size_t sums = fl_scratch_bytes(rows, 2 * sizeof(float));
  return sums > SIZE_MAX - bytes ? SIZE_MAX : bytes + sums;
}

static buffers buffers_at(float *base, const attention *a) {
  buffers b = {.block = block_of(&a->k)};
  b.scores = base;
  b.keys = b.scores + QUERY_BLOCK * b.block;
  b.values = b.keys + b.block * a->q.width;
  b.maxima = b.values + b.block * round_up(a->v.width);
  b.sums = b.maxima + a->q.count / a->k.count * a->q.length;
  return b;
}

static void scale_row(float *x, size_t n, float factor) {
  size_t i = 0;
  for (; i + FL_LANES <= n; i += FL_LANES) {
    fl_store(x + i, fl_load(x + i) * fl_set(factor));
  }
  for (; i < n; ++i) {
    x[i] *= factor;
  }
}

/* Replaces the scores of n keys by scores * scale + mask; `at` is the index of the mask's element for the first key. */
static void scale_and_mask(const attention *a, float *scores, size_t n, size_t at) {
  const size_t step = a->mask.strides[3];
  if (!a->mask.data) {
    scale_row(scores, n, a->scale);
    return;
  }
  if (a->mask.is_bool) {
    const uint8_t *allowed = (const uint8_t *)a->mask.data + at;
    for (size_t j = 0; j < n; ++j) {
      const float v = scores[j] * a->scale;
      scores[j] = allowed[j * step] ? v : -INFINITY;
    }
    return;
  }
  const float *term = (const float *)a->mask.data + at;
  if (step == 1) {
    for (size_t j = 0; j < n; ++j) {
      scores[j] = scores[j] * a->scale + term[j];
    }
  } else {
    for (size_t j = 0; j < n; ++j) {
      scores[j] = scores[j] * a->scale + *term; /* broadcast along the keys */
    }
  }
}

/* Returns the largest of n scores; any of them if one is NaN. */
static float largest(const float *scores, size_t n) {
  fl_vec best = fl_set(-INFINITY);
  size_t j = 0;
  for (; j + FL_LANES <= n; j += FL_LANES) {
    best = fl_max_b(best, fl_load(scores + j));
  }
  float most = fl_max_lane(best);
  for (; j < n; ++j) {
    most = scores[j] > most ? scores[j] : most;
  }
  return most;
}

/* Replaces n scores by e^(score * scale - most), and returns their sum. */
static float exponentiate(float *scores, size_t n, float scale, float most) {
  const fl_vec s = fl_set(scale), m = fl_set(-most);
  fl_vec sum = fl_zero();
  size_t j = 0;
  for (; j + FL_LANES <= n; j += FL_LANES) {
    const fl_vec e = fl_exp_negative(fl_fma(fl_load(scores + j), s, m));
    fl_store(scores + j, e);
    sum += e;
  }
  float total = fl_sum(sum);
  if (j < n) {
    const fl_vec e = fl_exp_negative(fl_fma(fl_load_part(scores + j, n - j), s, m));
    fl_store_part(scores + j, e, n - j);
    for (size_t i = 0; i < n - j; ++i) {
      total += e[i];
    }
  }
  return total;
}

static int has_nan(const float *scores, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    if (scores[j] != scores[j]) {
      return 1;
    }
  }
  return 0;
}

/* Replaces the scores of one query in a block by weights, and updates the row's maximum and sum. The query sees keys from `hidden` to `seen`. */
static void update_row(const attention *a, float *all, size_t keys, size_t hidden, size_t seen, size_t mask_at, int first, float *maximum, float *sum,
                       float *out) {
  const float before = *maximum;
  float *scores = all + hidden;
  const size_t allowed = seen - hidden;
  float scale = a->scale;
  if (a->mask.data || !(scale > 0)) {
    scale_and_mask(a, scores, allowed, mask_at + hidden * a->mask.strides[3]);
    scale = 1.0f;
  }
  float most = largest(scores, allowed) * scale;
  most = before > most ? before : most;
  if (most == -INFINITY && !has_nan(scores, allowed)) {
    memset(all, 0, keys * sizeof(float)); /* no key is admitted yet */
    return;
  }
  const float total = exponentiate(scores, allowed, scale, most);
  memset(all, 0, hidden * sizeof(float));
  memset(all + seen, 0, (keys - seen) * sizeof(float));
  if (!first && before != most) {
    const float factor = before == -INFINITY ? 0.0f : fl_exp(fl_set(before - most))[0];
    *sum *= factor;
    scale_row(out, a->v.width, factor);
  }
  *sum += total;
  *maximum = most;
}

static float dot(const float *a, const float *b, size_t n) {
  fl_vec sum[2] = {fl_zero(), fl_zero()};
  size_t i = 0;
  for (; i + 2 * FL_LANES <= n; i += 2 * FL_LANES) {
    sum[0] = fl_fma(fl_load(a + i), fl_load(b + i), sum[0]);
    sum[1] = fl_fma(fl_load(a + i + FL_LANES), fl_load(b + i + FL_LANES), sum[1]);
  }
  for (; i < n; i += FL_LANES) {
    const size_t left = n - i < FL_LANES ? n - i : FL_LANES;
    sum[0] = fl_fma(fl_load_part(a + i, left), fl_load_part(b + i, left), sum[0]);
  }
  return fl_sum(sum[0] + sum[1]);
}

/* Adds the product of one query's weights with rows of V to `out`, or stores it if `first`. */
static void add_values(const float *weights, const float *values, size_t keys, size_t row_stride, size_t width, int first, float *out) {
  for (size_t i = 0; i < width; i += 4 * FL_LANES) {
    fl_vec acc[4];
    size_t n[4];
    FL_UNROLL
    for (int u = 0; u < 4; ++u) {
      const size_t at = i + (size_t)(u * FL_LANES);
      n[u] = at >= width ? 0 : width - at < FL_LANES ? width - at : FL_LANES;
      acc[u] = first || n[u] == 0 ? fl_zero() : fl_load_part(out + at, n[u]);
    }
    for (size_t j = 0; j < keys; ++j) {
      const float *row = values + j * row_stride + i;
      const fl_vec w = fl_set(weights[j]);
      if (n[3] == FL_LANES) {
        FL_UNROLL
        for (int u = 0; u < 4; ++u) {
          acc[u] = fl_fma(w, fl_load(row + u * FL_LANES), acc[u]);
        }
      } else {
        FL_UNROLL
        for (int u = 0; u < 4; ++u) {
          if (n[u] > 0) {
            acc[u] = fl_fma(w, fl_load_part(row + u * FL_LANES, n[u]), acc[u]);
          }
        }
      }
    }
    FL_UNROLL
    for (int u = 0; u < 4; ++u) {
      if (n[u] > 0) {
        fl_store_part(out + i + (size_t)(u * FL_LANES), acc[u], n[u]);
      }
    }
  }
}

/* Returns n limited to [least, most]. */
static size_t between(int64_t n, size_t least, size_t most) { return n <= (int64_t)least ? least : n >= (int64_t)most ? most : (size_t)n; }

/* Return how many of the keys from `key` to `end` precede the first key that query `row` sees, or its last key and the keys before it. */
static size_t before_first(const attention *a, size_t row, size_t key, size_t end) {
  return a->causal ? between(a->position + (int64_t)row + 1 - a->window, key, end) - key : 0;
}

static size_t up_to_last(const attention *a, size_t row, size_t key, size_t end) {
  return a->causal ? between(a->position + (int64_t)row + 1, key, end) - key : end - key;
}

/* Computes queries of one head with one block of keys. */
static void run_block(const attention *a, const buffers *b, fl_range rows, size_t batch, size_t head, size_t kv_head, size_t key, size_t keys,
                      float *maxima, float *sums) {
  const float *q = a->q.data + batch * a->q.batch_stride + head * a->q.stride;
  const float *k = a->k.data + batch * a->k.batch_stride + kv_head * a->k.stride + key * a->k.row_stride;
  const float *v = a->v.data + batch * a->v.batch_stride + kv_head * a->v.stride + key * a->v.row_stride;
  float *out = a->out.data + batch * a->out.batch_stride + head * a->out.stride;
  const int direct = a->q.length < DIRECT_QUERIES;
  const int first = key == a->begin;
  for (size_t i = rows.begin; i < rows.end; i += QUERY_BLOCK) {
    const size_t queries = rows.end - i < QUERY_BLOCK ? rows.end - i : QUERY_BLOCK;
    if (!first && (up_to_last(a, i + queries - 1, key, key + keys) == 0 || before_first(a, i, key, key + keys) == keys)) {
      continue; /* none of these queries sees a key of this block */
    }
    if (direct) {
      for (size_t r = 0; r < queries; ++r) {
        for (size_t j = 0; j < keys; ++j) {
          b->scores[r * b->block + j] = dot(q + (i + r) * a->q.row_stride, k + j * a->k.row_stride, a->q.width);
        }
      }
    } else {
      const fl_gemm g = {keys, 1, a->q.width, b->keys, NULL, FL_ACTIVATION_NONE, 0, NULL};
      fl_gemm_dense(NULL, &g, q + i * a->q.row_stride, a->q.row_stride, queries, b->scores, b->block, NULL, 0);
    }
    for (size_t r = 0; r < queries; ++r) {
      const size_t row = i + r;
      const size_t hidden = before_first(a, row, key, key + keys), seen = up_to_last(a, row, key, key + keys);
      const size_t mask_at = batch * a->mask.strides[0] + head * a->mask.strides[1] + row * a->mask.strides[2] + key * a->mask.strides[3];
      update_row(a, b->scores + r * b->block, keys, hidden, seen, mask_at, first, maxima + row, sums + row, out + row * a->out.row_stride);
    }
    if (direct) {
      for (size_t r = 0; r < queries; ++r) {
        add_values(b->scores + r * b->block, v, keys, a->v.row_stride, a->v.width, first, out + (i + r) * a->out.row_stride);
      }
    } else {
      const fl_gemm g = {a->v.width, 1, keys, b->values, NULL, FL_ACTIVATION_NONE, !first, NULL};
      fl_gemm_dense(NULL, &g, b->scores, b->block, queries, out + i * a->out.row_stride, a->out.row_stride, NULL, 0);
    }
  }
}

static size_t blocks_of(const attention *a) { return (a->q.length + QUERY_BLOCK - 1) / QUERY_BLOCK; }

/* Computes a part of the queries of the heads that share a head of keys. */
static void run_head(const void *work, size_t piece, void *scratch) {
  const attention *const a = work;
  const buffers buffers = buffers_at(scratch, a), *const b = &buffers;
  const size_t group = a->q.count / a->k.count, all = group * a->q.length, pair = piece / a->parts, batch = pair / a->k.count, kv = pair % a->k.count;
  fl_range rows = fl_range_of(blocks_of(a), a->parts, piece % a->parts);
  rows.begin *= QUERY_BLOCK;
  rows.end = rows.end * QUERY_BLOCK < a->q.length ? rows.end * QUERY_BLOCK : a->q.length;
  for (size_t r = 0; r < all; ++r) {
    b->maxima[r] = -INFINITY;
    b->sums[r] = 0.0f;
  }
  for (size_t key = a->begin; key < a->end; key += b->block) {
    const size_t keys = a->end - key < b->block ? a->end - key : b->block;
    if (a->q.length >= DIRECT_QUERIES) {
      const float *k = a->k.data + batch * a->k.batch_stride + kv * a->k.stride + key * a->k.row_stride;
      const float *v = a->v.data + batch * a->v.batch_stride + kv * a->v.stride + key * a->v.row_stride;
      fl_pack_b(k, a->k.width, keys, 1, a->k.row_stride, b->keys);
      fl_pack_b(v, keys, a->v.width, a->v.row_stride, 1, b->values);
    }
    for (size_t h = 0; h < group; ++h) {
      run_block(a, b, rows, batch, kv * group + h, kv, key, keys, b->maxima + h * a->q.length, b->sums + h * a->q.length);
    }
  }
  for (size_t h = 0; h < group; ++h) {
    float *const out = a->out.data + batch * a->out.batch_stride + (kv * group + h) * a->out.stride;
    for (size_t r = rows.begin; r < rows.end; ++r) {
      const float sum = b->sums[h * a->q.length + r];
      if (sum == 0.0f) {
        memset(out + r * a->out.row_stride, 0, a->v.width * sizeof(float));
      } else {
        scale_row(out + r * a->out.row_stride, a->v.width, 1.0f / sum);
      }
    }
  }
}

/* Describes a tensor of rank 3, which has one head, or 4 in `h`; returns 0 unless the last dimension is innermost. */
static int heads_of(const fl_tensor *t, heads *h) {
  if (!t || t->dtype != FL_FLOAT32 || t->rank < 3 || t->rank > 4) {
    return 0;
  }
  const uint8_t d = (uint8_t)(t->rank - 3);
  *h = (heads){t->data,
               (size_t)t->sizes[0],
               d == 1 ? (size_t)t->sizes[1] : 1,
               (size_t)t->sizes[d + 1],
               (size_t)t->sizes[d + 2],
               (size_t)t->strides[0],
               d == 1 ? (size_t)t->strides[1] : 0,
               (size_t)t->strides[d + 1],
  };
  return t->strides[d + 2] == 1 || t->sizes[d + 2] <= 1;
}

static fl_status mask_of(fl_context *context, const fl_tensor *t, const attention *a, uint8_t rank, mask *out) {
  *out = (mask){0};
  if (!t) {
    return FL_OK;
  }
  FL_CHECK(context, t->dtype == FL_BOOL || t->dtype == FL_FLOAT32, "the mask must be of bool or float32");
  FL_CHECK(context, t->rank <= rank, "the mask has more dimensions than the query");
  const size_t sizes[4] = {a->q.batch, a->q.count, a->q.length, a->k.length};
  out->data = t->data;
  out->is_bool = t->dtype == FL_BOOL;
  for (uint8_t i = 0; i < t->rank; ++i) {
    const uint8_t from = (uint8_t)(t->rank - 1 - i);
    /* Rank 3 has no head dimension: its first dimension is the batch. */
    const uint8_t to = rank == 3 && i == 2 ? 0 : (uint8_t)(3 - i);
    FL_CHECK(context, t->sizes[from] == 1 || (size_t)t->sizes[from] == sizes[to], "the mask does not broadcast to the scores' shape");
    out->strides[to] = t->sizes[from] == 1 ? 0 : (size_t)t->strides[from];
  }
  FL_CHECK(context, out->is_bool || out->strides[3] <= 1, "an additive mask's last dimension must be innermost");
  return FL_OK;
}

size_t fl_attention_scratch(fl_value *const *args, size_t count) {
  (void)count;
  heads q, k, v;
  if (!heads_of(fl_get_tensor(args[0]), &q) || !heads_of(fl_get_tensor(args[1]), &k) || !heads_of(fl_get_tensor(args[2]), &v) || k.count == 0) {
    return 0;
  }
  return scratch_size(&q, &k, &v);
}

/* Reads query, key and value into `a`, and resizes the result. */
static fl_status operands_of(fl_context *context, fl_value *const *args, int grouped, fl_value *result, attention *a) {
  FL_CHECK(context, heads_of(fl_get_tensor(args[0]), &a->q) && heads_of(fl_get_tensor(args[1]), &a->k) && heads_of(fl_get_tensor(args[2]), &a->v),
           "query, key and value must be float32 of 3 or 4 dimensions with the last one innermost");
  const fl_tensor *query = fl_get_tensor(args[0]);
  fl_tensor *out = fl_get_tensor(result);
  FL_CHECK(context, query->rank == fl_get_tensor(args[1])->rank && query->rank == fl_get_tensor(args[2])->rank && a->k.batch == a->q.batch &&
                        a->v.batch == a->q.batch,
           "query, key and value must have the same number of dimensions and batch size");
  FL_CHECK(context, a->k.width == a->q.width && a->k.length == a->v.length && a->k.count == a->v.count,
           "key must have the query's last size, and the value's length and heads");
  FL_CHECK(context, a->k.count == a->q.count || (grouped && a->k.count > 0 && a->q.count % a->k.count == 0),
           "the query must have as many heads as the key, or with enable_gqa a multiple");
  int32_t sizes[4];
  for (uint8_t d = 0; d + 1 < query->rank; ++d) {
    sizes[d] = query->sizes[d];
  }
  sizes[query->rank - 1] = (int32_t)a->v.width;
  FL_TRY(fl_resize(context, out, sizes, query->rank));
  FL_CHECK(context, heads_of(out, &a->out), "the result must be float32 with the last dimension innermost");
  return FL_OK;
}

static fl_status attend(fl_context *context, attention *a) {
  if (a->q.count == 0 || a->out.batch * a->out.length * a->out.width == 0) {
    return FL_OK;
  }
  FL_CHECK(context, context->scratch_size >= scratch_size(&a->q, &a->k, &a->v), "the kernel was given too little scratch memory");
  const size_t operations = a->q.batch * a->q.count * a->q.length * (a->end - a->begin) * (a->q.width + a->v.width) / FL_LANES;
  /* Few heads are divided by their queries, in whole blocks: each part packs the keys again. */
  const size_t count = a->q.batch * a->k.count, blocks = blocks_of(a), wanted = (fl_pieces(context, operations) + count - 1) / count;
  a->parts = wanted < blocks ? wanted : blocks;
  fl_divide(context, count * a->parts, operations, run_head, a);
  return FL_OK;
}

fl_status fl_attention_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  attention a = {0};
  FL_OPTIONAL_TENSOR_ARGUMENT(mask_tensor, 3);
  FL_INT_ARGUMENT(causal, 4);
  FL_REAL_ARGUMENT(scale, 5);
  FL_INT_ARGUMENT(grouped, 6);
  FL_TENSOR_ARGUMENT(out, 7);
  FL_TRY(operands_of(context, args, grouped != 0, args[7], &a));
  FL_TRY(mask_of(context, mask_tensor, &a, out->rank, &a.mask));
  a.scale = (float)scale;
  a.causal = causal != 0;
  a.window = UNLIMITED;
  a.end = a.k.length;
  return attend(context, &a);
}

fl_status fl_cached_attention_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  attention a = {.window = UNLIMITED, .causal = 1};
  FL_TENSOR_ARGUMENT(position, 3);
  FL_REAL_ARGUMENT(scale, 4);
  FL_TENSOR_ARGUMENT(out, 6);
  (void)out;
  FL_CHECK(context, position->dtype == FL_INT64 && fl_numel(position) == 1, "the position must be one number of int64");
  if (args[5]->tag != FL_NONE) {
    FL_INT_ARGUMENT(window, 5);
    FL_CHECK(context, window > 0, "the window must have at least one key");
    a.window = window < UNLIMITED ? window : UNLIMITED;
  }
  FL_TRY(operands_of(context, args, 1, args[6], &a));
  a.scale = (float)scale;
  const int64_t at = *(const int64_t *)position->data;
  a.position = at < -UNLIMITED / 2 ? -UNLIMITED / 2 : at > UNLIMITED / 2 ? UNLIMITED / 2 : at;
  a.begin = between(a.position + 1 - a.window, 0, a.k.length);
  a.end = between(a.position + (int64_t)a.q.length, a.begin, a.k.length);
  return attend(context, &a);
}
