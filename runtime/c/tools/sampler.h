/* Chooses the next token from the logits of a language model. */
#ifndef FLAMBEAU_TOOLS_SAMPLER_H
#define FLAMBEAU_TOOLS_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

typedef struct sampler {
  double temperature; /* 0: the token with the largest logit */
  size_t top_k;       /* chooses among this many of the most likely tokens; 0: among all */
  double top_p;       /* chooses among the most likely tokens whose probabilities sum to this; 1: among all */
  uint64_t state;     /* the seed at first; each draw changes it */
  uint32_t *order;    /* memory for one number per token */
} sampler;

/* Returns the next token, chosen from `count` logits. Allocates no memory. */
size_t sampler_next(sampler *s, const float *logits, size_t count);

#endif
