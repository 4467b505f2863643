/* Decides whether a method can be loaded, and computes how much memory it needs. */
#include "core/schema.h"

/* The most arguments, values and tensors of a call whose scratch memory can be computed. */
#define MAX_ARGS 32
#define MAX_VALUES 128
#define MAX_TENSORS 32

static fl_status fl_check_operators(const fl_plan *plan, const fl_registry *registry) {
  fl_error *error = plan->origin.error;
  uint32_t missing = 0;
  int has_group = 0;
  for (uint32_t i = 0; i < fl_length(plan->operators); ++i) {
    if (fl_plan_kernel(plan, registry, i) == NULL) {
      const fl_table table = fl_element(plan->operators, i);
      const char *name = fl_child_string(table, OPERATOR_NAME);
      const char *overload = fl_child_string(table, OPERATOR_OVERLOAD);
      const char *group = fl_find_left_out(name, overload);
      if (missing++ == 0) {
        FL_BLAME(&plan->origin, OPERATORS_MISSING);
      } else {
        FL_ERROR(error, COMMA);
      }
      if (overload[0] == 0) {
        FL_ERROR(error, OPERATOR, FL_TEXT(name));
      } else {
        FL_ERROR(error, OPERATOR_OVERLOAD, FL_TEXT(name), FL_TEXT(overload));
      }
      if (group != NULL) {
        FL_ERROR(error, IN_GROUP, FL_TEXT(group));
        has_group = 1;
      }
    }
  }
  if (has_group) {
    FL_ERROR(error, GROUPS_LEFT_OUT);
  }
  return missing > 0 ? FL_OPERATOR_MISSING : FL_OK;
}

static fl_status fl_measure_delegates(const fl_plan *plan, const fl_registry *registry, fl_requirements *need) {
  for (uint32_t i = 0; i < fl_length(plan->delegates); ++i) {
    fl_payload payload;
    const char *id = NULL;
    const char *message = fl_text_NO_REASON;
    fl_backend_memory memory = {0, 0, 0};
    fl_payload_open(plan, i, &payload, &id);
    const fl_backend *backend = fl_find_backend(registry, id);
    if (backend == NULL || (backend->is_available != NULL && !backend->is_available(backend))) {
      const fl_phrase state = backend == NULL ? FL_PHRASE_OF(ABSENT) : FL_PHRASE_OF(CANNOT_RUN);
      return FL_BLAME(&plan->origin, NO_BACKEND, FL_TEXT(id), FL_WORDS(state));
    }
    if (backend->measure != NULL) {
      const fl_status status = backend->measure(backend, &payload, &memory, &message);
      if (status != FL_OK) {
        FL_BLAME(&plan->origin, BACKEND_REFUSES, FL_NUMBER(i), FL_TEXT(id), FL_TEXT(message));
        return fl_fail(plan->origin.error, status);
      }
    }
    if (need->method > SIZE_MAX / 2 || memory.persistent > SIZE_MAX / 4 || memory.scratch > SIZE_MAX / 2) {
      return FL_BLAME(&plan->origin, BACKEND_MEMORY, FL_NUMBER(i), FL_TEXT(id));
    }
    if (memory.persistent > 0) {
      need->method = fl_align(need->method, 64) + memory.persistent;
    }
    if (memory.scratch > need->scratch) {
      need->scratch = memory.scratch;
    }
  }
  return FL_OK;
}

/* Raises `bytes` to the scratch memory of one call, if that is more. Makes the arguments on the stack, since no memory is allocated yet. */
static fl_status fl_measure_scratch(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args, size_t *bytes) {
  fl_value values[MAX_ARGS + MAX_VALUES];
  fl_tensor tensors[MAX_TENSORS];
  fl_value *pointers[MAX_VALUES];
  int32_t dims[2 * MAX_TENSORS * 8];
  fl_value *arguments[MAX_ARGS];
  fl_pool pool = {.values = values + MAX_ARGS,
                  .tensors = tensors,
                  .pointers = pointers,
                  .dims = dims,
                  .value_count = MAX_VALUES,
                  .tensor_count = MAX_TENSORS,
                  .pointer_count = MAX_VALUES,
                  .dim_count = sizeof dims / sizeof *dims};
  int is_full = fl_length(args) > MAX_ARGS;
  for (uint32_t i = 0; !is_full && i < fl_length(args); ++i) {
    arguments[i] = &values[i];
    is_full = fl_make_value(plan, (uint32_t)fl_element_i32(args, i), &pool, &values[i]);
  }
  if (is_full) {
    return FL_BLAME(&plan->origin, MANY_ARGUMENTS, FL_NUMBER(at), FL_TEXT(kernel->name));
  }
  const size_t scratch = kernel->scratch(arguments, fl_length(args));
  if (scratch > SIZE_MAX / 2) {
    return FL_BLAME(&plan->origin, SCRATCH_MEMORY, FL_NUMBER(at), FL_TEXT(kernel->name));
  }
  if (scratch > *bytes) {
    *bytes = scratch;
  }
  return FL_OK;
}

static fl_status fl_measure_call(const fl_plan *plan, uint32_t at, fl_table table, const fl_registry *registry, size_t *scratch) {
  const fl_kernel *kernel = fl_plan_kernel(plan, registry, fl_field_u32(table, CALL_TARGET));
  const fl_vector args = fl_child_vector(table, CALL_ARGS);
  const struct fl_checks *checks = plan->program->checks;
  const fl_status status = checks == NULL ? FL_OK : checks->signature(plan, at, kernel, args);
  return status != FL_OK || kernel->scratch == NULL ? status : fl_measure_scratch(plan, at, kernel, args, scratch);
}

fl_status fl_measure_plan(const fl_plan *plan, const fl_registry *registry, fl_requirements *need, fl_layout *layout) {
  memset(need, 0, sizeof *need);
  fl_status status = plan->program->checks == NULL ? FL_OK : plan->program->checks->plan(plan);
  if (status == FL_OK) {
    status = fl_check_operators(plan, registry);
  }
  if (status != FL_OK) {
    return status;
  }
  if (fl_lay_out(plan, layout)) {
    return FL_BLAME(&plan->origin, METHOD_MEMORY);
  }
  need->method = layout->starts[FL_PARTS];
  fl_cursor cursor = {0};
  while (fl_plan_next(plan, &cursor)) {
    status = cursor.kind == INSTRUCTION_KERNEL ? fl_measure_call(plan, cursor.next - 1, cursor.table, registry, &need->scratch) : FL_OK;
    if (status != FL_OK) {
      return status;
    }
  }
  for (uint32_t i = 1; i < fl_length(plan->buffers); ++i) {
    if (fl_add(need->planned, fl_program_arena_size(plan->program, plan->index, i - 1), &need->planned)) {
      return FL_BLAME(&plan->origin, METHOD_MEMORY);
    }
  }
  need->arenas = fl_length(plan->buffers) > 0 ? fl_length(plan->buffers) - 1 : 0;
  return fl_measure_delegates(plan, registry, need);
}

fl_status fl_method_measure(const fl_program *program, uint32_t method, const fl_registry *registry, fl_requirements *requirements, fl_error *error) {
  fl_registry storage;
  const fl_kernel_table *table = NULL;
  fl_plan plan;
  fl_layout layout;
  const fl_status status = fl_plan_find(program, method, requirements, &plan, error);
  if (status != FL_OK) {
    return status;
  }
  fl_resolve_registry(&registry, &storage, &table);
  return fl_measure_plan(&plan, registry, requirements, &layout);
}
