/* Times of the instructions of a method. */
#ifndef FLAMBEAU_TOOLS_TIMING_H
#define FLAMBEAU_TOOLS_TIMING_H

#include "flambeau/runtime.h"

/* The runs of an instruction so far. */
typedef struct timing {
  const char *name;
  uint32_t chain;
  uint32_t instruction;
  uint32_t runs;
  uint64_t start;
  uint64_t total;
} timing;

/* Adds an event to the timings of a method's instructions, which are `user`: a hook of fl_method_set_hook. */
void timing_record(void *user, const fl_method *method, const fl_event *event);

/* Prints a line for each instruction that ran: the milliseconds and the number of all its runs, its name, and its places in the model. */
void timing_print(const fl_program *program, const fl_method *method, const timing *timings, uint32_t count);

#endif
