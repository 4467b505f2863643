/* Cadence's nnlib in place of the portable loops, where FL_NNLIB says that its headers were found: the program is linked with the library.
 * Its products have the weight first, and give a row of results for each row of the second operand; zero points are negated there. */
#ifndef FLAMBEAU_KERNELS_CADENCE_NNLIB_H
#define FLAMBEAU_KERNELS_CADENCE_NNLIB_H

#include "cadence.h"

#if defined(FL_NNLIB)
#include <xa_type_def.h>
#include <nnlib/xa_nnlib_kernels_api.h>

/* The arguments of a ratio that is read. */
#define FL_NNLIB_RATIO(ratio) (WORD32)(ratio)->multiplier, 31 - (ratio)->shift, (ratio)->zero_point

/* Fails where the library refuses its arguments. */
static inline fl_status fl_nnlib_status(fl_context *context, WORD32 status) {
  return status == 0 ? FL_OK : FL_FAIL_NUMBERS(context, FL_INVALID_ARGUMENT, "nnlib refuses this call: %", status, 0);
}
#endif

#endif
