/* Kernel of the complementary error function. */
#include "spans.h"
#include "error_functions.def"

FL_SPAN1(erfc_f32, float, float, erfcf(x))
FL_SPAN1(erfc_f64, double, double, erfc(x))
FL_POINTWISE_KERNEL(erfc, 1, erfc_f32, erfc_f64, NULL, 0)
