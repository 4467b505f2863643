/* Kernels of distances between vectors: _cdist_forward (between two lists of vectors) and _pdist_forward (within one list). */
#include <math.h>

#include "loops.h"
#include "optional.h"

/* Returns the p-norm of a - b, vectors of n elements from element `a_at` and `b_at` on, `a_step` and `b_step` elements apart. */
static double distance(int8_t dtype, const void *a, size_t a_at, size_t a_step, const void *b, size_t b_at, size_t b_step, size_t n, double p) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double d = fabs(fl_read_real(dtype, a, a_at + i * a_step) - fl_read_real(dtype, b, b_at + i * b_step));
    if (p == 0) {
      sum += d != 0;
    } else if (isinf(p)) {
      sum = d > sum || d != d ? d : sum;
    } else {
      sum += p == 1 ? d : p == 2 ? d * d : pow(d, p);
    }
  }
  return p == 2 ? sqrt(sum) : p == 0 || p == 1 || isinf(p) ? sum : pow(sum, 1 / p);
}

fl_status fl_cdist_forward_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(a, 0);
  FL_TENSOR_ARGUMENT(b, 1);
  FL_REAL_ARGUMENT(p, 2);
  FL_TENSOR_ARGUMENT(out, 4);
  FL_CHECK(context, a->rank >= 2 && b->rank >= 2, "both inputs need at least two dimensions");
  FL_CHECK(context, fl_is_float(a->dtype) && a->dtype == b->dtype && a->dtype == out->dtype, "the inputs and the result must have one floating type");
  FL_CHECK(context, a->sizes[a->rank - 1] == b->sizes[b->rank - 1], "both inputs must have the same last size");
  FL_CHECK(context, p >= 0, "p must not be negative");
  const uint8_t rank = a->rank > b->rank ? a->rank : b->rank;
  int32_t sizes[FL_MAX_RANK];
  size_t a_strides[FL_MAX_RANK] = {0}, b_strides[FL_MAX_RANK] = {0};
  for (uint8_t d = 0; d + 2 < rank; ++d) {
    const int i = d - (rank - a->rank), j = d - (rank - b->rank);
    const int32_t x = i >= 0 ? a->sizes[i] : 1, y = j >= 0 ? b->sizes[j] : 1;
    FL_CHECK(context, x == y || x == 1 || y == 1, "the batch dimensions do not broadcast");
    sizes[d] = x == 1 ? y : x;
    a_strides[d] = i >= 0 && x != 1 ? (size_t)a->strides[i] : 0;
    b_strides[d] = j >= 0 && y != 1 ? (size_t)b->strides[j] : 0;
  }
  sizes[rank - 2] = a->sizes[a->rank - 2];
  sizes[rank - 1] = b->sizes[b->rank - 2];
  a_strides[rank - 2] = (size_t)a->strides[a->rank - 2];
  b_strides[rank - 1] = (size_t)b->strides[b->rank - 2];
  FL_TRY(fl_resize(context, out, sizes, rank));
  const size_t n = (size_t)a->sizes[a->rank - 1], total = fl_numel(out);
  uint32_t index[FL_MAX_RANK] = {0};
  for (size_t e = 0; e < total; ++e) {
    size_t a_at = 0, b_at = 0, to = 0;
    for (uint8_t d = 0; d < rank; ++d) {
      a_at += index[d] * a_strides[d];
      b_at += index[d] * b_strides[d];
      to += index[d] * (size_t)out->strides[d];
    }
    fl_write_real(out->dtype, out->data, to,
                  distance(a->dtype, a->data, a_at, (size_t)a->strides[a->rank - 1], b->data, b_at, (size_t)b->strides[b->rank - 1], n, p));
    for (uint8_t d = rank; d-- > 0;) {
      if (++index[d] < (uint32_t)sizes[d]) {
        break;
      }
      index[d] = 0;
    }
  }
  return FL_OK;
}

fl_status fl_pdist_forward_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(a, 0);
  FL_REAL_ARGUMENT(p, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  FL_CHECK(context, a->rank == 2 && fl_is_float(a->dtype) && a->dtype == out->dtype, "the input must be a matrix of a floating type, and the result of the same");
  FL_CHECK(context, p >= 0, "p must not be negative");
  const int64_t rows = a->sizes[0], pairs = rows > 0 ? rows * (rows - 1) / 2 : 0;
  FL_CHECK(context, pairs <= INT32_MAX, "there are too many pairs");
  const int32_t size = (int32_t)pairs;
  FL_TRY(fl_resize(context, out, &size, 1));
  const size_t row = (size_t)a->strides[0], step = (size_t)a->strides[1], n = (size_t)a->sizes[1];
  size_t to = 0;
  for (size_t i = 0; i < (size_t)rows; ++i) {
    for (size_t j = i + 1; j < (size_t)rows; ++j) {
      fl_write_real(out->dtype, out->data, to++, distance(a->dtype, a->data, i * row, step, a->data, j * row, step, n, p));
    }
  }
  return FL_OK;
}
