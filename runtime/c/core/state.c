/* Handles state, the tensors in planned memory whose content lasts between executes, and the arenas in which several methods share state. */
#include "core/schema.h"

/* Returns whether value `index` is state. Fills `record` for any tensor. */
static int fl_read_state(const fl_plan *plan, uint32_t index, fl_tensor_record *record) {
  return fl_plan_tensor(plan, index, record) && fl_is_state(record);
}

int fl_program_arena_is_shared(const fl_program *program, uint32_t arena) {
  const uint32_t methods = fl_program_method_count(program);
  for (uint32_t method = 0; arena > 0 && methods > 1 && method < methods; ++method) {
    fl_plan plan;
    fl_plan_open(program, method, &plan);
    for (uint32_t i = 0; i < fl_length(plan.values); ++i) {
      fl_tensor_record record;
      if (fl_read_state(&plan, i, &record) && record.arena == arena + 1) {
        return 1;
      }
    }
  }
  return 0;
}

static size_t fl_own_arena_size(const fl_program *program, uint32_t method, uint32_t arena) {
  fl_plan plan;
  if (!fl_plan_open(program, method, &plan) || fl_length(plan.buffers) < 2 || arena >= fl_length(plan.buffers) - 1) {
    return 0;
  }
  return (size_t)fl_element_i64(plan.buffers, arena + 1);
}

size_t fl_program_arena_size(const fl_program *program, uint32_t method, uint32_t arena) {
  const size_t own = fl_own_arena_size(program, method, arena);
  size_t most = own;
  for (uint32_t i = 0; own > 0 && arena > 0 && i < fl_program_method_count(program); ++i) {
    const size_t other = fl_own_arena_size(program, i, arena);
    most = other > most ? other : most;
  }
  return most > own && fl_program_arena_is_shared(program, arena) ? most : own;
}

/* Writes the initial values of a method's state into arena `arena`, counted from 1. */
static void fl_fill_state(const fl_method *method, const fl_plan *plan, uint32_t arena) {
  for (uint32_t i = 0; i < fl_length(plan->values); ++i) {
    fl_tensor_record record;
    if (fl_read_state(plan, i, &record) && record.buffer != 0 && record.bytes > 0 && record.arena == arena) {
      memcpy((uint8_t *)method->arenas[record.arena - 1] + record.offset, fl_constant(plan->program, record.buffer, record.bytes, 1), record.bytes);
    }
  }
}

void fl_fill_arenas(fl_method *method, const fl_plan *plan, int keep_state) {
  const uint32_t arenas = fl_length(plan->buffers) > 0 ? fl_length(plan->buffers) - 1 : 0;
  for (uint32_t i = 0; i < arenas; ++i) {
    const size_t size = fl_program_arena_size(method->program, method->index, i);
    const int is_shared = fl_program_arena_is_shared(method->program, i);
    if (size > 0 && !(is_shared && keep_state)) {
      memset(method->arenas[i], 0, size);
    }
    for (uint32_t other = 0; is_shared && !keep_state && other < fl_program_method_count(method->program); ++other) {
      fl_plan theirs;
      const struct fl_checks *checks = method->program->checks;
      /* The other methods may not have been checked yet. */
      if (fl_plan_open(method->program, other, &theirs) && (checks == NULL || checks->plan(&theirs) == FL_OK)) {
        fl_fill_state(method, &theirs, i + 1);
      }
    }
    if (!is_shared) {
      fl_fill_state(method, plan, i + 1);
    }
  }
}

void fl_mark_shared(fl_method *method, const fl_plan *plan) {
  for (uint32_t arena = 2; arena < fl_length(plan->buffers); ++arena) {
    fl_tensor *tensor = method->tensors;
    if (!fl_program_arena_is_shared(method->program, arena - 1)) {
      continue;
    }
    for (uint32_t i = 0; i < fl_length(plan->values); ++i) {
      fl_tensor_record record;
      if (fl_plan_tensor(plan, i, &record)) {
        tensor->flags |= record.arena == arena ? FL_TENSOR_SHARED : 0;
        ++tensor;
      }
    }
  }
}

const fl_tensor *fl_method_state(const fl_method *method, uint32_t index, const char **name) {
  fl_plan plan;
  fl_tensor_record record;
  if (!fl_is_ready(method) || !fl_plan_open(method->program, method->index, &plan)) {
    return NULL;
  }
  const fl_tensor *tensor = method->tensors;
  for (uint32_t i = 0; i < fl_length(plan.values); ++i) {
    if (!fl_plan_tensor(&plan, i, &record)) {
      continue;
    }
    if (fl_is_state(&record) && (tensor->flags & FL_TENSOR_VIEW) == 0 && index-- == 0) {
      if (name != NULL) {
        *name = record.name;
      }
      return tensor;
    }
    ++tensor;
  }
  return NULL;
}

const fl_tensor *fl_method_find_state(const fl_method *method, const char *name, fl_error *error) {
  const char *found = NULL;
  const fl_tensor *tensor = NULL;
  if (!fl_is_ready(method) || name == NULL) {
    (void)fl_refuse_null(error);
    return NULL;
  }
  for (uint32_t i = 0; (tensor = fl_method_state(method, i, &found)) != NULL; ++i) {
    if (strcmp(found, name) == 0) {
      return tensor;
    }
  }
  FL_ERROR(error, NO_STATE, FL_TEXT(method->origin.name), FL_TEXT(name));
  for (uint32_t i = 0; fl_method_state(method, i, &found) != NULL; ++i) {
    if (i > 0) {
      FL_ERROR(error, COMMA);
    }
    FL_ERROR(error, QUOTED, FL_TEXT(found));
  }
  return NULL;
}
