/* Reads the arguments of a kernel, and checks their kinds. */
#ifndef FLAMBEAU_KERNELS_ARGUMENTS_H
#define FLAMBEAU_KERNELS_ARGUMENTS_H

#include "dtype.h"

/* These macros declare `name`, read from argument `i`; a kernel whose argument has another kind returns with FL_INVALID_ARGUMENT.
 * FL_INTS_ARGUMENT also declares `number`, the count of the integers. FL_TRY returns from a function if `expression` fails. */
#define FL_TENSOR_ARGUMENT(name, i)                                                 \
  fl_tensor *name = fl_get_tensor(args[i]);                                         \
  FL_CHECK(context, name != NULL && fl_dtype_size(name->dtype) > 0, "argument " #i " must be a tensor of a known type")
#define FL_INT_ARGUMENT(name, i) \
  int64_t name = 0;              \
  FL_CHECK(context, fl_get_int(args[i], &name), "argument " #i " must be an integer")
#define FL_REAL_ARGUMENT(name, i) \
  double name = 0;                \
  FL_CHECK(context, fl_get_real(args[i], &name), "argument " #i " must be a number")
#define FL_INTS_ARGUMENT(name, number, i)   \
  int64_t name[FL_MAX_RANK];                \
  uint32_t number = 0;                      \
  FL_CHECK(context, fl_get_ints(args[i], name, FL_MAX_RANK, &number), "argument " #i " must be a list of at most 16 integers")
#define FL_TRY(expression)           \
  do {                               \
    fl_status try_ = (expression);   \
    if (try_ != FL_OK) {             \
      return try_;                   \
    }                                \
  } while (0)

/* Stores dimension `dim` in `wrapped`, a negative one counted from the end; fails outside [-rank, rank), where rank 0 counts as 1. */
static inline fl_status fl_wrap_dim(fl_context *context, int64_t dim, uint8_t rank, uint8_t *wrapped) {
  int64_t count = rank > 0 ? rank : 1;
  FL_CHECK_NUMBERS(context, dim >= -count && dim < count, "dimension % is out of range for % dimensions", dim, rank);
  *wrapped = (uint8_t)(dim < 0 ? dim + count : dim);
  return FL_OK;
}

/* Returns the index at `data`, an element of dtype int64 or int32. */
static inline int64_t fl_index_at(const void *data, int8_t dtype) {
  if (dtype == FL_INT64) {
    int64_t x;
    memcpy(&x, data, sizeof x);
    return x;
  }
  int32_t x;
  memcpy(&x, data, sizeof x);
  return x;
}

#endif
