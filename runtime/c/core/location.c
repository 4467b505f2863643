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

void fl_append_location(fl_error *error, const char *lead, const fl_method *method, uint32_t at) {
  fl_plan plan;
  fl_place place;
  if (!fl_plan_open(method->program, method->index, &plan)) {
    return;
  }
  const uint32_t chain = fl_plan_chain_of(&plan, &at);
  for (uint32_t i = 0; i < MOST_PLACES && fl_program_place(method->program, method->index, chain, at, i, &place); ++i) {
    const fl_item items[] = {FL_TEXT(place.module), FL_TEXT(place.file), FL_NUMBER(place.line)};
    const int has_module = place.module[0] != 0;
    fl_append(error, i == 0 ? lead : ", ", NULL);
    fl_append(error, place.file[0] == 0 ? "%" : has_module ? "% (%:%)" : "%:%", has_module ? items : items + 1);
  }
}
