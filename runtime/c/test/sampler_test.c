/* Tests the sampler of flambeau-run-llm: the tokens that it may choose, their frequencies, and that a seed decides. */
#include <math.h>

#include "test/test.h"
#include "tools/sampler.h"

enum { TOKENS = 6, DRAWS = 20000 };

static const float logits[TOKENS] = {0.5f, 2.0f, -1.0f, 2.0f, 1.0f, -INFINITY};
static uint32_t order[TOKENS];

/* Checks that the frequency of each token is near its share. */
static void check_shares(sampler s, const double *weights) {
  size_t counts[TOKENS] = {0};
  double total = 0;
  s.order = order;
  for (int i = 0; i < DRAWS; ++i) {
    ++counts[sampler_next(&s, logits, TOKENS)];
  }
  for (int i = 0; i < TOKENS; ++i) {
    total += weights[i];
  }
  for (int i = 0; i < TOKENS; ++i) {
    const double share = weights[i] / total;
    CHECK(weights[i] > 0 || counts[i] == 0);
    CHECK(fabs((double)counts[i] / DRAWS - share) < 0.02);
  }
}

int main(void) {
  sampler greedy = {.temperature = 0, .top_p = 1, .order = NULL};
  CHECK(sampler_next(&greedy, logits, TOKENS) == 1); /* the first of equal ones */
  double weights[TOKENS], sharp[TOKENS];
  for (int i = 0; i < TOKENS; ++i) {
    weights[i] = exp(logits[i]);
    sharp[i] = exp(2 * (double)logits[i]);
  }
  check_shares((sampler){.temperature = 1, .top_p = 1, .state = 1}, weights);
  check_shares((sampler){.temperature = 0.5, .top_p = 1, .state = 2}, sharp);
  check_shares((sampler){.temperature = 1, .top_k = 3, .top_p = 1, .state = 3}, (const double[]){0, weights[1], 0, weights[3], weights[4], 0});
  check_shares((sampler){.temperature = 1, .top_k = 1, .top_p = 1, .state = 4}, (const double[]){0, 1, 0, 0, 0, 0});
  /* The two most likely ones have 0.76 of everything, and 0.85 of the best four have to be reached. */
  check_shares((sampler){.temperature = 1, .top_p = 0.7, .state = 5}, (const double[]){0, weights[1], 0, weights[3], 0, 0});
  check_shares((sampler){.temperature = 1, .top_k = 4, .top_p = 0.85, .state = 6}, (const double[]){0, weights[1], 0, weights[3], weights[4], 0});
  check_shares((sampler){.temperature = 1, .top_p = 0, .state = 7}, (const double[]){0, 1, 0, 0, 0, 0});
  sampler one = {.temperature = 1, .top_p = 0.9, .state = 42, .order = order}, other = one;
  for (int i = 0; i < 100; ++i) {
    CHECK(sampler_next(&one, logits, TOKENS) == sampler_next(&other, logits, TOKENS));
  }
  return 0;
}
