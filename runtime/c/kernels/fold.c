/* The loops of reductions. If the reduced dimensions are innermost in memory, whole rows are folded into one accumulator; otherwise each element
 * of a row is folded into its own accumulator. Both read memory in order. */
#include "fold.h"

fl_status fl_reduced_dims(fl_context *context, const fl_value *dim, uint8_t rank, uint32_t *reduced) {
  int64_t dims[FL_MAX_RANK];
  uint32_t number = 0;
  *reduced = 0;
  if (fl_get_int(dim, &dims[0])) {
    number = 1;
  } else {
    FL_CHECK(context, fl_is_none(dim) || fl_get_ints(dim, dims, FL_MAX_RANK, &number),
             "the dimensions must be a list of at most 16 integers");
  }
  for (uint32_t i = 0; i < number; ++i) {
    uint8_t at;
    FL_TRY(fl_wrap_dim(context, dims[i], rank, &at));
    FL_CHECK(context, (*reduced >> at & 1u) == 0, "a dimension is named twice");
    *reduced |= 1u << at;
  }
  if (number == 0) {
    *reduced = UINT32_MAX;
  }
  return FL_OK;
}

fl_status fl_reduced_out(fl_context *context, fl_tensor *out, const fl_tensor *in, uint32_t reduced, int keepdim) {
  int32_t sizes[FL_MAX_RANK];
  uint8_t rank = 0;
  for (uint8_t d = 0; d < in->rank; ++d) {
    if ((reduced >> d & 1u) == 0) {
      sizes[rank++] = in->sizes[d];
    } else if (keepdim) {
      sizes[rank++] = 1;
    }
  }
  return fl_resize(context, out, sizes, rank);
}

size_t fl_reduced_count(const fl_tensor *in, uint32_t reduced) {
  size_t count = 1;
  for (uint8_t d = 0; d < in->rank; ++d) {
    count *= (reduced >> d & 1u) != 0 ? (size_t)in->sizes[d] : 1;
  }
  return count;
}

/* The most elements that are folded at once: longer rows are folded in pieces, which limits the rounding error of sums in float. */
#define PIECE 1024

static void fold_rows(fl_buffer *r, size_t block, const fl_fold *fold, const fl_nest *nest, char *from, fl_accumulator *accumulator,
                      const fl_accumulator *origin) {
  uint32_t index[FL_MAX_DIMS] = {0};
  const size_t n = nest->rank > 0 ? nest->sizes[nest->rank - 1] : 1;
  const int64_t stride = nest->rank > 0 ? nest->strides[0][nest->rank - 1] : (int64_t)r->element;
  const size_t step = r->convert == NULL && stride == (int64_t)r->element ? PIECE : block;
  do {
    for (size_t i = 0; i < n; i += step) {
      const size_t m = n - i < step ? n - i : step;
      fold->row(m, accumulator, fl_buffer_read(r, m, from + (int64_t)i * stride, stride), origin);
    }
  } while (fl_nest_next(nest, 1, index, &from));
}

static void fold_lanes(fl_buffer *r, const fl_fold *fold, const fl_nest *nest, size_t n, char *from, int64_t stride,
                       fl_accumulator *accumulators, const fl_accumulator *origins) {
  uint32_t index[FL_MAX_DIMS] = {0};
  do {
    fold->lanes(n, accumulators, fl_buffer_read(r, n, from, stride), origins);
  } while (fl_nest_next(nest, 0, index, &from));
}

static void set_all(size_t n, fl_accumulator *accumulators, fl_accumulator value) {
  for (size_t i = 0; i < n; ++i) {
    accumulators[i] = value;
  }
}

fl_status fl_reduce_run(fl_context *context, fl_tensor *out, fl_tensor *first_out, const fl_tensor *in, uint32_t reduced, int keepdim,
                        const fl_reduction *reduction) {
  /* Operand 0 is the input; operands 1 and 2 are the outs. */
  FL_TAKE(fl_nest, kept, 1);
  FL_TAKE(fl_nest, folded, 1);
  uint32_t index[FL_MAX_DIMS] = {0};
  char *at[3] = {in->data, out->data, first_out != NULL ? first_out->data : NULL};
  const int is_real = reduction->type == FL_COMPUTE_F32 || reduction->type == FL_COMPUTE_F64;
  const fl_accumulator start = reduction->start[is_real ? 0 : 1];
  const size_t count = fl_reduced_count(in, reduced);
  uint8_t out_dim = 0;
  const fl_compute result = is_real ? FL_COMPUTE_F64 : FL_COMPUTE_I64;
  fl_buffer r = fl_buffer_for_reading(in->dtype, reduction->type);
  r.convert = fl_widen_by(in->dtype, out->dtype, reduction->type);
  /* They need no block of computed elements, because they write accumulators and origins. */
  fl_buffer results = fl_buffer_for_writing(result, out->dtype);
  fl_buffer first_results = fl_buffer_for_writing(result, first_out != NULL ? first_out->dtype : out->dtype);
  results.width = first_results.width = 0;
  kept->rank = folded->rank = 0;
  kept->operands = first_out != NULL ? 3 : 2;
  folded->operands = 1;
  for (uint8_t d = 0; d < in->rank; ++d) {
    int64_t strides[3] = {(int64_t)in->strides[d] * (int64_t)r.element, 0, 0};
    if ((reduced >> d & 1u) != 0) {
      fl_nest_push(folded, (size_t)in->sizes[d], strides);
      out_dim = (uint8_t)(out_dim + (keepdim ? 1 : 0));
    } else {
      strides[1] = (int64_t)out->strides[out_dim] * (int64_t)fl_dtype_size(out->dtype);
      strides[2] = first_out != NULL ? (int64_t)first_out->strides[out_dim] * (int64_t)fl_dtype_size(first_out->dtype) : 0;
      fl_nest_push(kept, (size_t)in->sizes[d], strides);
      ++out_dim;
    }
  }
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  fl_nest_simplify(kept, 0);
  fl_nest_simplify(folded, 0);
  const int64_t kept_stride = kept->rank > 0 ? kept->strides[0][kept->rank - 1] : INT64_MAX;
  const int64_t folded_stride = folded->rank > 0 ? folded->strides[0][folded->rank - 1] : INT64_MAX;
  const int by_lanes = kept_stride < folded_stride && count > 0;
  const size_t n = kept->rank > 0 ? kept->sizes[kept->rank - 1] : 1;
  const int64_t strides[3] = {kept->rank > 0 ? kept_stride : 0, kept->rank > 0 ? kept->strides[1][kept->rank - 1] : 0,
                              kept->rank > 0 ? kept->strides[2][kept->rank - 1] : 0};
  const fl_fold *folds[2] = {&reduction->folds[reduction->type], reduction->second != NULL ? &reduction->second[reduction->type] : NULL};
  const int is_direct = by_lanes ? fl_is_direct(&r, n, strides[0])
                                 : fl_is_direct(&r, folded->rank > 0 ? folded->sizes[folded->rank - 1] : 1, folded_stride);
  const size_t block = fl_block_length(2 * sizeof(fl_accumulator) + results.element + (first_out != NULL ? first_results.element : 0) +
                                       (is_direct ? 0 : r.element + r.width));
  FL_TAKE(fl_accumulator, accumulators, block);
  FL_TAKE(fl_accumulator, origins, block);
  FL_TRY(fl_buffer_take(context, &results, block, 1));
  if (first_out != NULL) {
    FL_TRY(fl_buffer_take(context, &first_results, block, 1));
  }
  if (!is_direct) {
    FL_TRY(fl_buffer_take(context, &r, block, 1));
  }
  memset(origins, 0, block * sizeof *origins);
  do {
    for (size_t i = 0; i < n; i += block) {
      const size_t m = n - i < block ? n - i : block;
      for (int pass = 0; pass < 2 && folds[pass] != NULL; ++pass) {
        if (pass == 1) {
          /* The first pass of two is a sum: its mean is the second's origin. */
          for (size_t j = 0; j < m; ++j) {
            origins[j].real = accumulators[j].real / (double)count;
          }
          if (first_out != NULL) {
            fl_buffer_write(&first_results, m, origins, at[2] + (int64_t)i * strides[2], strides[2]);
          }
        }
        set_all(m, accumulators, start);
        if (by_lanes) {
          fold_lanes(&r, folds[pass], folded, m, at[0] + (int64_t)i * strides[0], strides[0], accumulators, origins);
        } else if (count > 0) {
          for (size_t j = 0; j < m; ++j) {
            fold_rows(&r, block, folds[pass], folded, at[0] + (int64_t)(i + j) * strides[0], &accumulators[j], &origins[j]);
          }
        }
      }
      if (reduction->finish != NULL) {
        reduction->finish(m, accumulators, is_real, count, reduction->parameters);
      }
      fl_buffer_write(&results, m, accumulators, at[1] + (int64_t)i * strides[1], strides[1]);
    }
  } while (fl_nest_next(kept, 1, index, at));
  return FL_OK;
}
