/* Implements nest.h. */
#include "nest.h"

void fl_nest_push(fl_nest *nest, size_t size, const int64_t *strides) {
  nest->sizes[nest->rank] = (uint32_t)size;
  for (uint8_t k = 0; k < nest->operands; ++k) {
    nest->strides[k][nest->rank] = strides[k];
  }
  ++nest->rank;
}

static void move_dim(fl_nest *nest, uint8_t to, uint8_t from) {
  nest->sizes[to] = nest->sizes[from];
  for (uint8_t k = 0; k < nest->operands; ++k) {
    nest->strides[k][to] = nest->strides[k][from];
  }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static int is_one_run(const fl_nest *nest, uint8_t outer, uint8_t inner) {
  for (uint8_t k = 0; k < nest->operands; ++k) {
    if (nest->strides[k][outer] != nest->strides[k][inner] * (int64_t)nest->sizes[inner]) {
      return 0;
    }
  }
  return 1;
}

void fl_nest_simplify(fl_nest *nest, uint8_t key) {
  uint8_t rank = 0;
  for (uint8_t d = 0; d < nest->rank; ++d) {
    if (nest->sizes[d] != 1) {
      move_dim(nest, rank++, d);
    }
  }
  for (uint8_t d = 1; d < rank; ++d) { /* insertion sort: ranks are small and mostly in order */
    for (uint8_t e = d; e > 0 && magnitude(nest->strides[key][e - 1]) < magnitude(nest->strides[key][e]); --e) {
      uint8_t f = (uint8_t)(e - 1);
      const uint32_t size = nest->sizes[e];
      nest->sizes[e] = nest->sizes[f];
      nest->sizes[f] = size;
      for (uint8_t k = 0; k < nest->operands; ++k) {
        int64_t stride = nest->strides[k][e];
        nest->strides[k][e] = nest->strides[k][f];
        nest->strides[k][f] = stride;
      }
    }
  }
  uint8_t merged = 0;
  for (uint8_t d = 0; d < rank; ++d) {
    if (merged > 0 && is_one_run(nest, (uint8_t)(merged - 1), d)) {
      const uint32_t size = nest->sizes[merged - 1];
      move_dim(nest, (uint8_t)(merged - 1), d);
      nest->sizes[merged - 1] *= size;
    } else {
      move_dim(nest, merged++, d);
    }
  }
  nest->rank = merged;
}

int fl_nest_next(const fl_nest *nest, uint8_t inner, uint32_t *index, char **at) {
  for (int d = (int)nest->rank - (int)inner - 1; d >= 0; --d) {
    if (++index[d] < nest->sizes[d]) {
      for (uint8_t k = 0; k < nest->operands; ++k) {
        at[k] += nest->strides[k][d];
      }
      return 1;
    }
    index[d] = 0;
    for (uint8_t k = 0; k < nest->operands; ++k) {
      at[k] -= nest->strides[k][d] * (int64_t)(nest->sizes[d] - 1);
    }
  }
  return 0;
}
