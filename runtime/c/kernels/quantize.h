/* Helpers of quantizing and of choosing its parameters. */
#ifndef FLAMBEAU_KERNELS_QUANTIZE_H
#define FLAMBEAU_KERNELS_QUANTIZE_H

#include "element.h"
#include "loops.h"

/* Stores quant_min and quant_max, arguments `at` and `at + 1`, in `range`. Fails unless they lie within the integer type `dtype`. */
fl_status fl_quantized_range(fl_context *context, fl_value *const *args, int at, int8_t dtype, int64_t *range);

#endif
