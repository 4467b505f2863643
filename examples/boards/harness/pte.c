/* The form of a program that is a .pte, which lies in the image. */
#include "board.h"
#include "flambeau/runtime.h"

#include <string.h>

enum { ARENAS = 8, ALIGNMENT = 64 };

program_bytes program_memory = {0, 0, 0, 0};

static fl_program program;
static fl_method method;
static fl_error error;

static void *take(size_t bytes) {
  const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *taken = case_memory + program_memory.all;
  program_memory.all += rounded;
  return program_memory.all <= case_memory_size ? taken : NULL;
}

/* Copies the inputs. */
static fl_status set_inputs(void) {
  for (uint32_t i = 0; i < case_input_count; ++i) {
    fl_slot_info slot;
    int32_t sizes[FL_MAX_RANK];
    if (fl_program_slot(&program, 0, FL_INPUT, i, &slot, &error) != FL_OK) {
      return error.status;
    }
    memcpy(sizes, slot.sizes, slot.rank * sizeof sizes[0]);
    fl_tensor tensor = {.data = (void *)(uintptr_t)case_inputs[i].data, .sizes = sizes, .dim_order = slot.dim_order, .rank = slot.rank,
                        .dtype = slot.dtype};
    const fl_value value = {.as.tensor = &tensor, .tag = FL_TENSOR};
    if (fl_method_set_input(&method, i, &value, &error) != FL_OK) {
      return error.status;
    }
  }
  return FL_OK;
}

const char *program_start(void) {
  fl_requirements need;
  if (fl_program_load(&program, case_program, case_program_size, &error) != FL_OK ||
      fl_method_measure(&program, 0, NULL, &need, &error) != FL_OK) {
    return error.text;
  }
  void *arenas[ARENAS];
  size_t sizes[ARENAS];
  if (need.arenas > ARENAS) {
    return "the program has more arenas than the harness";
  }
  const fl_memory memory = {take(need.method), need.method, arenas, sizes, need.arenas, take(need.scratch), need.scratch, 0};
  for (uint32_t i = 0; i < need.arenas; ++i) {
    sizes[i] = fl_program_arena_size(&program, 0, i);
    arenas[i] = take(sizes[i]);
  }
  program_memory.records = need.method;
  program_memory.scratch = need.scratch;
  program_memory.planned = need.planned;
  if (program_memory.all > case_memory_size) {
    return "the memory of the case is too small";
  }
  return fl_method_init(&method, &program, 0, NULL, &memory, &error) == FL_OK && set_inputs() == FL_OK ? NULL : error.text;
}

const char *program_run(void) { return fl_method_execute(&method, &error) == FL_OK ? NULL : error.text; }

const fl_tensor *program_output(uint32_t index) { return fl_get_tensor(fl_method_output(&method, index)); }
