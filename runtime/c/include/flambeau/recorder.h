/* A hook that records the times at which each execute, instruction and operator of a delegate began and ended, in memory of the caller. */
#ifndef FLAMBEAU_RECORDER_H
#define FLAMBEAU_RECORDER_H

#include "flambeau/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One execute, instruction, or operator of a delegate. Operators come behind their delegate's call: the first begins when the call began, and each
 * next one when the one before it ended. Asking for them takes no time of the records. */
typedef struct fl_record {
  uint64_t start; /* ticks of the recorder's clock; an instruction starts when the one before it ended, so that the clock is read once for both */
  uint64_t end;   /* ticks of the recorder's clock; 0: it has not ended */
  uint64_t bytes; /* total of the tensors among the arguments of a kernel or delegate, each counted once, with the sizes after the call */
  const char *name; /* as in fl_event */
  uint32_t chain;
  uint32_t instruction;
  uint32_t position;
  uint32_t number; /* as in fl_event */
  fl_status status;
  uint8_t kind; /* fl_event_kind */
} fl_record;

/* The caller sets `records`, `capacity` and `clock`, and all other fields to 0. */
typedef struct fl_recorder {
  fl_record *records;      /* room for `capacity` records, in the order in which they began */
  size_t capacity;
  size_t count;            /* number of executes, instructions and operators that began; those beyond `capacity` are not recorded */
  uint64_t (*clock)(void); /* fl_monotonic_clock, or a device's counter of ticks that never goes back */
  size_t execute;          /* private: the last execute, the last instruction, and the end of the last operator in its delegate's call */
  size_t instruction;
  uint64_t operator_end;
  uint64_t last;           /* private: the last time, and the time spent on asking for operators */
  uint64_t aside;
} fl_recorder;

/* Records an event. This is a hook for fl_method_set_hook, with an fl_recorder as `user`; only one method at a time may use a recorder. */
FL_API void fl_record_event(void *recorder, const struct fl_method *method, const fl_event *event);

/* Returns the nanoseconds of a monotonic clock, or 0 if reading it fails. Needs an operating system. */
FL_API uint64_t fl_monotonic_clock(void);

#ifdef __cplusplus
}
#endif

#endif
