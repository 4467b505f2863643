/* Finds the places in the model's source that instructions come from. */
#include "core/schema.h"

/* A message names at most this many places, so that they do not displace the rest of it. */
#define MOST_PLACES 4u

uint32_t fl_plan_chain_of(const fl_plan *plan, uint32_t *at) {
  uint32_t chain = 0;
  for (uint32_t count; chain + 1 < fl_length(plan->chains) && *at >= (count = fl_length(fl_plan_chain(plan, chain))); ++chain) {
    *at -= count;
  }
  return chain;
}

int fl_program_place(const fl_program *program, uint32_t method, uint32_t chain, uint32_t instruction, uint32_t index, fl_place *place) {
  fl_plan plan;
  if (place == NULL || !fl_plan_open(program, method, &plan) || chain >= fl_length(plan.chains)) {
    return 0;
  }
  const fl_vector stacks = fl_child_vector(fl_element(plan.chains, chain), CHAIN_STACKTRACE);
  if (instruction >= fl_length(stacks)) {
    return 0;
  }
  const fl_vector frames = fl_child_vector(fl_element(stacks, instruction), STACK_FRAMES);
  if (index >= fl_length(frames)) {
    return 0;
  }
  const fl_table table = fl_element(frames, index);
  *place = (fl_place){fl_child_string(table, FRAME_NAME), fl_child_string(table, FRAME_FILE), fl_field_i32(table, FRAME_LINE)};
  return 1;
}

void fl_append_location(const fl_method *method, uint32_t at, int is_first_use) {
  fl_error *error = method->origin.error;
  fl_plan plan;
  fl_place place;
  if (!fl_plan_open(method->program, method->index, &plan)) {
    return;
  }
  const uint32_t chain = fl_plan_chain_of(&plan, &at);
  for (uint32_t i = 0; i < MOST_PLACES && fl_program_place(method->program, method->index, chain, at, i, &place); ++i) {
    const int64_t line = place.line;
    if (i > 0) {
      FL_ERROR(error, COMMA);
    } else if (is_first_use) {
      FL_ERROR(error, FIRST_USED_AT);
    } else {
      FL_ERROR(error, AT);
    }
    if (place.file[0] == 0) {
      FL_ERROR(error, MODULE, FL_TEXT(place.module));
    } else if (place.module[0] == 0) {
      FL_ERROR(error, LINE, FL_TEXT(place.file), FL_LONG(line));
    } else {
      FL_ERROR(error, PLACE, FL_TEXT(place.module), FL_TEXT(place.file), FL_LONG(line));
    }
  }
}
