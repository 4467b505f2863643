/* Machines without an operating system: stubs that an application replaces by defining functions of the same names. */
#include "platform/platform.h"

#define FL_WEAK __attribute__((weak))

FL_WEAK void fl_platform_log(const char *line) { (void)line; }

FL_WEAK void fl_platform_abort(void) {
  for (;;) {
  }
}

FL_WEAK uint64_t fl_platform_ticks(void) { return 0; }
