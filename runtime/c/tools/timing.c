/* Implements timing.h. */
#include "tools/timing.h"

#include <stdio.h>

#include "flambeau/recorder.h"

void timing_record(void *user, const fl_method *method, const fl_event *event) {
  (void)method;
  if (event->kind == FL_EVENT_EXECUTE || event->kind == FL_EVENT_OPERATOR) {
    return;
  }
  timing *item = (timing *)user + event->position;
  if (event->is_done) {
    item->total += fl_monotonic_clock() - item->start;
    ++item->runs;
  } else {
    *item = (timing){event->name, event->chain, event->instruction, item->runs, 0, item->total};
    item->start = fl_monotonic_clock();
  }
}

void timing_print(const fl_program *program, const fl_method *method, const timing *timings, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const timing *item = &timings[i];
    fl_place place;
    if (item->runs == 0) {
      continue;
    }
    fprintf(stderr, "%10.3f ms %6u x  %u %s", (double)item->total / 1e6, item->runs, i, item->name == NULL ? "move or jump" : item->name);
    for (uint32_t p = 0; fl_program_place(program, method->index, item->chain, item->instruction, p, &place); ++p) {
      fprintf(stderr, "%s%s", p == 0 ? "  " : ", ", place.module);
      if (place.file[0] != 0) {
        fprintf(stderr, place.module[0] != 0 ? " (%s:%d)" : "%s:%d", place.file, (int)place.line);
      }
    }
    fputc('\n', stderr);
  }
}
