/* Runs the test cases of a bundled program. */
#ifndef FLAMBEAU_TOOLS_VERIFY_H
#define FLAMBEAU_TOOLS_VERIFY_H

#include "flambeau/runtime.h"
#include "tools/bundle.h"

typedef enum verify_result { VERIFY_PASSED = 0, VERIFY_DIFFERS, VERIFY_REFUSED, VERIFY_FAILED } verify_result;

/* Runs the test cases of a method, and prints a line for each to stdout. Stops at a case that does not fit or fails, with the reason in `error`. */
verify_result verify_cases(bundle *b, fl_method *method, const fl_method_info *info, double rtol, double atol, fl_error *error);

#endif
