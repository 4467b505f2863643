#include "tools/sampler.h"

#include <math.h>

static size_t largest(const float *logits, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    best = logits[i] > logits[best] ? i : best;
  }
  return best;
}

/* A number from 0 up to 1: splitmix64. */
static double draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Whether token a comes before token b: it is more likely, or the earlier one of two that are as likely. */
static int is_before(const float *logits, uint32_t a, uint32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); }

/* Lets the entry at `at` sink in a heap whose first entry is the most likely token. */
static void sink(const float *logits, uint32_t *heap, size_t count, size_t at) {
  for (size_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
    child += child + 1 < count && is_before(logits, heap[child + 1], heap[child]);
    if (!is_before(logits, heap[child], heap[at])) {
      return;
    }
    const uint32_t above = heap[at];
    heap[at] = heap[child];
    heap[child] = above;
  }
}

/* Takes the most likely token from the heap of the first `count` entries and leaves it behind them. */
static uint32_t take(const float *logits, uint32_t *heap, size_t count) {
  const uint32_t best = heap[0];
  heap[0] = heap[count - 1];
  heap[count - 1] = best;
  sink(logits, heap, count - 1, 0);
  return best;
}

size_t sampler_next(sampler *s, const float *logits, size_t count) {
  if (!(s->temperature > 0)) {
    return largest(logits, count);
  }
  const double most = logits[largest(logits, count)];
  const size_t kept = s->top_k > 0 && s->top_k < count ? s->top_k : count;
  const int sorted = kept < count || s->top_p < 1;
  for (size_t i = 0; i < count; ++i) {
    s->order[i] = (uint32_t)i;
  }
  for (size_t i = count / 2; sorted && i-- > 0;) {
    sink(logits, s->order, count, i);
  }
  for (size_t i = 0; kept < count && i < kept; ++i) {
    take(logits, s->order, count - i);
  }
  /* Candidate i, the most likely first where that matters, stands at the end of what was taken. */
  double total = 0;
  for (size_t i = 0; i < kept; ++i) {
    total += exp((logits[s->order[kept < count ? count - 1 - i : i]] - most) / s->temperature);
  }
  size_t candidates = kept;
  double share = total;
  if (s->top_p < 1) {
    share = 0;
    for (candidates = 0; candidates < kept && (candidates == 0 || share < s->top_p * total); ++candidates) {
      const uint32_t token = kept < count ? s->order[count - 1 - candidates] : take(logits, s->order, count - candidates);
      share += exp((logits[token] - most) / s->temperature);
    }
  }
  const double wanted = draw(&s->state) * share;
  uint32_t token = 0;
  double sum = 0;
  for (size_t i = 0; i < candidates && (i == 0 || sum <= wanted); ++i) {
    token = s->order[sorted ? count - 1 - i : i];
    sum += exp((logits[token] - most) / s->temperature);
  }
  return token;
}
