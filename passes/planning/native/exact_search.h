/* Memory plans within a capacity. */
#ifndef FLAMBEAU_EXACT_SEARCH_H
#define FLAMBEAU_EXACT_SEARCH_H

#include <stdint.h>

#if defined(_WIN32)
#define FL_PLAN_API __declspec(dllexport)
#else
#define FL_PLAN_API __attribute__((visibility("default")))
#endif

/* A buffer of some bytes, live in the sections [first, end), which are `duration` units of time; none of these is 0 or less. */
typedef struct {
  int64_t size, duration;
  int32_t first, end;
} fl_plan_buffer;

typedef struct {
  const fl_plan_buffer *buffers;
  int64_t capacity; /* in bytes, at least that of the largest buffer, and less than half of the greatest int64 */
  int32_t count;
  int32_t section_count; /* spans of time, in each of which the same buffers are live */
} fl_plan_problem;

typedef enum {
  FL_PLAN_NONE,    /* there is no plan */
  FL_PLAN_FOUND,
  FL_PLAN_UNKNOWN, /* the work or the memory did not suffice */
} fl_plan_result;

/* Looks for an offset for each buffer, such that no two that are live together share bytes, and all end within the capacity.
 *
 * `work` is the number of looks at a buffer or section that the search may take, and becomes those that are left, or less than 0. Equal arguments
 * give equal results. The depth of recursion is twice the number of buffers at most. */
FL_PLAN_API fl_plan_result fl_plan_within(const fl_plan_problem *problem, int64_t *work, int64_t *offsets);

#endif
