/* A hook that records when each execute and instruction began and ended, in memory of the caller. */
#ifndef FLAMBEAU_RECORDER_H
#define FLAMBEAU_RECORDER_H

#include "flambeau/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fl_record {
  uint64_t start; /* by the recorder's clock; of an instruction after another: when that one ended, so that the clock is read once for both */
  uint64_t end;   /* 0: it has not ended */
  uint64_t bytes; /* of the tensors that a kernel or a delegate was given: each argument counts once, with the sizes that it has afterwards */
  const char *name; /* as in fl_event */
  uint32_t chain;
  uint32_t instruction;
  uint32_t position;
  fl_status status;
  uint8_t kind; /* fl_event_kind */
} fl_record;

typedef struct fl_recorder {
  fl_record *records;      /* in the order in which they began */
  size_t capacity;
  size_t count;            /* how many began: more than `capacity`, where there was no room for the last of them */
  uint64_t (*clock)(void); /* fl_monotonic_clock, or what a device has: ticks that only go forward */
  size_t execute;          /* private */
  uint64_t last;           /* private */
} fl_recorder;

/* A hook, whose `user` is an fl_recorder. One method at a time may use it. */
FL_API void fl_record_event(void *recorder, const struct fl_method *method, const fl_event *event);

/* Nanoseconds since some moment. Only where there is an operating system. */
FL_API uint64_t fl_monotonic_clock(void);

#ifdef __cplusplus
}
#endif

#endif
