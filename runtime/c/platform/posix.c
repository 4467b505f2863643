/* Machines with an operating system. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "platform/platform.h"

void fl_platform_log(const char *line) {
  fputs(line, stderr);
  fputc('\n', stderr);
}

void fl_platform_abort(void) { abort(); }

uint64_t fl_platform_ticks(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
    return 0;
  }
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
