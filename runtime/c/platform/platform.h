/* Services of the machine for an application's tools. The core never calls them. */
#ifndef FLAMBEAU_PLATFORM_H
#define FLAMBEAU_PLATFORM_H

#include <stdint.h>

#include "flambeau/status.h"

/* One line for the developer. */
FL_API void fl_platform_log(const char *line);
/* Stops the program; does not return. */
FL_API void fl_platform_abort(void);
/* A clock that only goes forward, in nanoseconds from an arbitrary start; 0 where there is none. */
FL_API uint64_t fl_platform_ticks(void);

#endif
