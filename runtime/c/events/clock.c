/* Reads the operating system's monotonic clock. */
#define _POSIX_C_SOURCE 200112L

#include <time.h>

#include "flambeau/recorder.h"

uint64_t fl_monotonic_clock(void) {
  struct timespec now;
  return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec : 0;
}
