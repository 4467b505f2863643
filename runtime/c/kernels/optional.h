/* Reads arguments that several kernels with weights have: an optional tensor, an activation. */
#ifndef FLAMBEAU_KERNELS_OPTIONAL_H
#define FLAMBEAU_KERNELS_OPTIONAL_H

#include "element.h"
#include "gemm.h"
#include "loops.h"

/* Declares `name`, the tensor of argument `i`, or NULL if the argument is None; other kinds fail. */
#define FL_OPTIONAL_TENSOR_ARGUMENT(name, i)                                                                                        \
  fl_tensor *name = fl_get_tensor(args[i]);                                                                                         \
  FL_CHECK(context, fl_is_none(args[i]) || (name != NULL && fl_dtype_size(name->dtype) > 0), "argument " #i " must be a tensor or None")

/* Returns the number of rows of a tensor as a matrix whose columns are its last dimension. */
static inline size_t fl_rows_of(const fl_tensor *t) {
  size_t rows = 1;
  for (uint8_t i = 0; i + 1 < t->rank; ++i) {
    rows *= (size_t)t->sizes[i];
  }
  return rows;
}

/* Resizes the result of a linear layer to the input's sizes, with `features` as last dimension. */
static inline fl_status fl_resize_features(fl_context *context, fl_tensor *out, const fl_tensor *input, int64_t features) {
  int32_t sizes[FL_MAX_RANK];
  memcpy(sizes, input->sizes, input->rank * sizeof *sizes);
  sizes[input->rank - 1] = (int32_t)features;
  FL_TRY(fl_resize(context, out, sizes, input->rank));
  FL_CHECK(context, fl_is_contiguous(out), "the result must be contiguous");
  return FL_OK;
}

/* Declares `name`, the activation that the string argument `i` names; other values fail. */
#define FL_ACTIVATION_ARGUMENT(name, i)                                                                                               \
  fl_activation name = FL_ACTIVATION_NONE;                                                                                            \
  FL_CHECK(context, args[i]->tag == FL_STRING && fl_activation_from_name(args[i]->as.string.data, args[i]->as.string.length, &name),   \
           fl_not_an_activation)

#endif
