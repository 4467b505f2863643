/* Arguments that more than one kernel with weights takes. */
#ifndef FLAMBEAU_KERNELS_OPTIONAL_H
#define FLAMBEAU_KERNELS_OPTIONAL_H

#include "element.h"
#include "gemm.h"

/* A tensor, or NULL where the program has None. */
#define FL_OPTIONAL_TENSOR_ARGUMENT(name, i)                                                                                        \
  fl_tensor *name = fl_get_tensor(args[i]);                                                                                         \
  FL_CHECK(context, fl_is_none(args[i]) || (name != NULL && fl_dtype_size(name->dtype) > 0), "argument " #i " must be a tensor or None")

#define FL_ACTIVATION_ARGUMENT(name, i)                                                                                               \
  fl_activation name = FL_ACTIVATION_NONE;                                                                                            \
  FL_CHECK(context, args[i]->tag == FL_STRING && fl_activation_from_name(args[i]->as.string.data, args[i]->as.string.length, &name),   \
           fl_not_an_activation)

#endif
