/* Random problems for the exact search: whether plans are plans, with little work, and where memory runs out. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact_search.h"

enum { MOST = 120, SECTIONS = 12 };

static long allowed = -1; /* allocations, before there is no memory; negative: all */

static bool refuses(void) {
  return allowed >= 0 && allowed-- <= 0;
}

void *trial_malloc(size_t size) {
  return refuses() ? NULL : malloc(size);
}

void *trial_calloc(size_t count, size_t size) {
  return refuses() ? NULL : calloc(count, size);
}

void *trial_realloc(void *memory, size_t size) {
  return refuses() ? NULL : realloc(memory, size);
}

static uint32_t state;

static int32_t draw(int32_t below) {
  state = state * 1664525u + 1013904223u;
  return (int32_t)((state >> 8) % (uint32_t)below);
}

static bool is_plan(const fl_plan_problem *problem, const int64_t *offsets) {
  for (int32_t one = 0; one < problem->count; one++) {
    const fl_plan_buffer *a = &problem->buffers[one];
    if (offsets[one] < 0 || offsets[one] + a->size > problem->capacity) {
      return false;
    }
    for (int32_t other = 0; other < one; other++) {
      const fl_plan_buffer *b = &problem->buffers[other];
      if (a->first < b->end && b->first < a->end && offsets[one] < offsets[other] + b->size && offsets[other] < offsets[one] + a->size) {
        return false;
      }
    }
  }
  return true;
}

/* Prints how many problems had no plan, a plan, and neither. Arguments: trials, and the most allocations of each, or -1. */
int main(int count, char **arguments) {
  long results[3] = {0, 0, 0};
  if (count != 3) {
    return 2;
  }
  for (long trial = 0; trial < atol(arguments[1]); trial++) {
    fl_plan_buffer buffers[MOST];
    int64_t offsets[MOST], work = (int64_t)1 << draw(24), live = 4 + draw(6);
    fl_plan_problem problem = {buffers, live, 0, SECTIONS};
    state = (uint32_t)trial;
    for (int32_t section = 0; section < SECTIONS; section++) {
      int64_t free_bytes = live;
      for (int32_t index = 0; index < problem.count; index++) {
        free_bytes -= buffers[index].end > section ? buffers[index].size : 0;
      }
      while (free_bytes > 0) { /* so many bytes are live at each time, whether they fit or not */
        int32_t duration = 1 + draw(4);
        int64_t size = 1 + draw((int32_t)free_bytes);
        duration = duration < SECTIONS - section ? duration : SECTIONS - section;
        buffers[problem.count++] = (fl_plan_buffer){size, duration, section, section + duration};
        free_bytes -= size;
      }
    }
    allowed = atol(arguments[2]) < 0 ? -1 : draw((int32_t)atol(arguments[2]));
    fl_plan_result result = fl_plan_within(&problem, &work, offsets);
    allowed = -1;
    if (result == FL_PLAN_FOUND && !is_plan(&problem, offsets)) {
      printf("trial %ld: not a plan\n", trial);
      return 1;
    }
    results[result]++;
  }
  printf("%ld %ld %ld\n", results[FL_PLAN_NONE], results[FL_PLAN_FOUND], results[FL_PLAN_UNKNOWN]);
  return fl_plan_within(NULL, NULL, NULL) == FL_PLAN_UNKNOWN ? 0 : 1;
}
