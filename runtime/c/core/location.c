/* Finds the places in the model's source that instructions come from. */
#include "core/schema.h"

/* A message names at most this many places, so that they do not displace the rest of it. */
#define MOST_PLACES 4u

uint32_t fl_plan_chain_of(const fl_plan *plan, uint32_t *at) {
  uint32_t chain = 0;
  for (uint32_t count; chain + 1 < plan->chains.count && *at >= (count = fl_plan_chain(plan, chain).count); ++chain) {
    *at -= count;
  }
  return chain;
}

int fl_program_place(const fl_program *program, uint32_t method, uint32_t chain, uint32_t instruction, uint32_t index, fl_place *place) {
  fl_plan plan;
  if (place == NULL || !fl_plan_open(program, method, &plan) || chain >= plan.chains.count) {
    return 0;
  }
  const uint8_t *file = plan.file;
  const fl_vector stacks = fl_child_vector(file, fl_element(file, plan.chains, chain), CHAIN_STACKTRACE);
  const fl_vector frames = instruction < stacks.count ? fl_child_vector(file, fl_element(file, stacks, instruction), STACK_FRAMES) : (fl_vector){0, 0};
  if (index >= frames.count) {
    return 0;
  }
  const uint32_t table = fl_element(file, frames, index);
  *place = (fl_place){fl_child_string(file, table, FRAME_NAME), fl_child_string(file, table, FRAME_FILE), fl_field_i32(file, table, FRAME_LINE)};
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
