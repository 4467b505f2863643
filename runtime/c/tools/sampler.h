/* Chooses the next token from the logits of a language model. */
#ifndef FLAMBEAU_TOOLS_SAMPLER_H
#define FLAMBEAU_TOOLS_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

typedef struct sampler {
  double temperature; /* 0: the token with the largest logit */
  size_t top_k;       /* among so many of the most likely ones; 0: among all */
  double top_p;       /* among the most likely ones that have this share together; 1: among all */
  uint64_t state;     /* the seed; each draw changes it */
  uint32_t *order;    /* room for a number for each token */
} sampler;

/* The next token. It allocates nothing. */
size_t sampler_next(sampler *s, const float *logits, size_t count);

#endif
