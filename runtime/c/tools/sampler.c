#include "tools/sampler.h"

#include <math.h>

static size_t largest(const float *logits, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    best = logits[i] > logits[best] ? i : best;
  }
  return best;
}

/* Returns a random number in [0, 1), by splitmix64. */
static double draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Returns whether token a comes before token b: a is more likely, or is equally likely and has the smaller number. */
static int is_before(const float *logits, uint32_t a, uint32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); }

/* Moves the entry at `at` down to its place in a heap, whose first entry is the most likely token. */
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

/* Removes the most likely token from the heap of the first `count` entries, puts it after the heap, and returns it. */
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
  /* Candidate i, counted from the most likely token if the order matters, is where `take` put it: entry count - 1 - i. */
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
