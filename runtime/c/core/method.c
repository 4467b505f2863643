/* Builds a method in the caller's memory, resets it and destroys it. */
#include "core/schema.h"

static fl_status fl_check_block(const fl_plan *plan, fl_phrase name, const void *data, size_t size, size_t need) {
  if (need == 0 || (data != NULL && size >= need && (uintptr_t)data % 64 == 0)) {
    return FL_OK;
  }
  return FL_BLAME(&plan->origin, MEMORY_BLOCK, FL_NUMBER(need), FL_WORDS(name), FL_NUMBER(data == NULL ? 0 : size));
}

static fl_status fl_check_memory(const fl_plan *plan, const fl_requirements *need, const fl_memory *memory) {
  fl_status status = fl_check_block(plan, FL_PHRASE_OF(METHOD_BLOCK), memory->method, memory->method_size, need->method);
  if (status == FL_OK) {
    status = fl_check_block(plan, FL_PHRASE_OF(SCRATCH_BLOCK), memory->scratch, memory->scratch_size, need->scratch);
  }
  if (status != FL_OK) {
    return status;
  }
  const uint32_t arenas = memory->arenas == NULL || memory->arena_sizes == NULL ? 0 : memory->arena_count;
  if (arenas < need->arenas) {
    return FL_BLAME(&plan->origin, ARENA_COUNT, FL_NUMBER(need->arenas), FL_NUMBER(arenas));
  }
  for (uint32_t i = 0; i < need->arenas; ++i) {
    const size_t size = fl_program_arena_size(plan->program, plan->index, i);
    if (size > 0 && (memory->arenas[i] == NULL || memory->arena_sizes[i] < size || (uintptr_t)memory->arenas[i] % 16 != 0)) {
      return FL_BLAME(&plan->origin, ARENA, FL_NUMBER(size), FL_NUMBER(i), FL_NUMBER(memory->arenas[i] == NULL ? 0 : memory->arena_sizes[i]));
    }
  }
  return FL_OK;
}

/* Divides the method's memory into its parts; the parts of values go to `pool`. */
static void fl_carve(fl_method *method, const fl_layout *layout, void *memory, fl_pool *pool) {
  void *parts[FL_PARTS];
  for (size_t i = 0; i < FL_PARTS; ++i) {
    parts[i] = (uint8_t *)memory + layout->starts[i];
  }
  method->values = (fl_value *)parts[0];
  method->tensors = (fl_tensor *)parts[1];
  method->instructions = (fl_instruction *)parts[2];
  method->delegates = (fl_delegate *)parts[3];
  method->inputs = (fl_port *)parts[4];
  method->outputs = method->inputs + method->input_count;
  method->arenas = (void **)parts[5];
  method->pointers = (fl_value **)parts[6];
  *pool = (fl_pool){.slots = method->values,
                    .tensors = method->tensors,
                    .pointers = method->pointers,
                    .dims = (int32_t *)parts[7],
                    .tensor_count = SIZE_MAX,
                    .pointer_count = SIZE_MAX,
                    .dim_count = SIZE_MAX,
                    .arenas = method->arenas};
}

static void fl_make_instruction(fl_method *method, const fl_plan *plan, const fl_registry *registry, const fl_cursor *cursor, fl_pool *pool) {
  fl_instruction *instruction = &method->instructions[cursor->next - 1];
  const fl_table table = cursor->table;
  *instruction = (fl_instruction){.kind = cursor->kind};
  switch (cursor->kind) {
    case INSTRUCTION_KERNEL:
    case INSTRUCTION_DELEGATE: {
      const uint32_t target = fl_field_u32(table, CALL_TARGET);
      const fl_vector args = fl_child_vector(table, CALL_ARGS);
      if (cursor->kind == INSTRUCTION_KERNEL) {
        instruction->on.kernel = fl_plan_kernel(plan, registry, target);
      } else {
        instruction->on.delegate = &method->delegates[target];
      }
      instruction->to.args = pool->pointers;
      instruction->count = fl_length(args);
      for (uint32_t i = 0; i < fl_length(args); ++i) {
        pool->pointers[i] = &method->values[fl_element_i32(args, i)];
        pool->pointers[i]->flags |= FL_VALUE_READ;
      }
      pool->pointers += fl_length(args);
      return;
    }
    case INSTRUCTION_MOVE:
      instruction->on.source = &method->values[fl_field_i32(table, MOVE_FROM)];
      instruction->to.destination = &method->values[fl_field_i32(table, MOVE_TO)];
      instruction->on.source->flags |= FL_VALUE_READ;
      return;
    case INSTRUCTION_JUMP_FALSE:
      instruction->on.source = &method->values[fl_field_i32(table, JUMP_CONDITION)];
      instruction->count = cursor->start + (uint32_t)fl_field_i32(table, JUMP_DESTINATION);
      instruction->on.source->flags |= FL_VALUE_READ;
      return;
    default:
      /* The storage of a tensor with a bound is never released, so there is nothing to free. */
      return;
  }
}

static void fl_make_ports(fl_method *method, const fl_plan *plan) {
  for (uint32_t i = 0; i < method->input_count + method->output_count; ++i) {
    const int is_input = i < method->input_count;
    const uint32_t index = (uint32_t)fl_element_i32(is_input ? plan->inputs : plan->outputs, is_input ? i : i - method->input_count);
    fl_port *port = &method->inputs[i];
    memset(port, 0, sizeof *port);
    port->value = &method->values[index];
    fl_tensor_record record;
    if (fl_plan_tensor(plan, index, &record)) {
      port->tensor = port->value->as.tensor;
      port->planned = record.arena != 0;
      port->constant = fl_is_constant(&record) ? 1 : 0;
      port->tensor->flags = port->constant || (is_input && !port->planned) ? FL_TENSOR_READ_ONLY : port->tensor->flags;
    }
  }
  for (uint32_t i = 0; i < method->output_count; ++i) {
    method->outputs[i].value->flags |= FL_VALUE_READ;
  }
  for (uint32_t i = 0; i < method->input_count; ++i) {
    fl_port *port = &method->inputs[i];
    port->is_read = (port->value->flags & FL_VALUE_READ) != 0;
    port->is_set = port->value->tag == FL_NONE;
  }
}

static fl_status fl_init_delegates(fl_method *method, const fl_plan *plan, const fl_registry *registry, uint8_t *memory, size_t at) {
  for (uint32_t i = 0; i < fl_length(plan->delegates); ++i) {
    fl_payload payload;
    const char *id = NULL;
    const char *message = fl_text_NO_REASON;
    fl_backend_memory bytes = {0, 0, 0};
    fl_payload_open(plan, i, &payload, &id);
    const fl_backend *backend = fl_find_backend(registry, id);
    fl_status status = backend->measure == NULL ? FL_OK : backend->measure(backend, &payload, &bytes, &message);
    if (status == FL_OK) {
      at = bytes.persistent > 0 ? fl_align(at, 64) : at;
      method->delegates[i] = (fl_delegate){backend, NULL, bytes.outputs};
      status = backend->init(backend, &payload, bytes.persistent > 0 ? memory + at : NULL, &method->delegates[i].handle, &message);
      at += bytes.persistent;
    }
    if (status != FL_OK) {
      fl_method_destroy(method);
      FL_BLAME(&plan->origin, BACKEND_FAILS, FL_NUMBER(i), FL_TEXT(id), FL_TEXT(message));
      return fl_fail(plan->origin.error, status);
    }
    method->delegate_count = i + 1;
  }
  return FL_OK;
}

fl_status fl_method_init(fl_method *method, const fl_program *program, uint32_t index, const fl_registry *registry, const fl_memory *memory,
                         fl_error *error) {
  fl_registry storage;
  const fl_kernel_table *builtin = NULL;
  fl_plan plan;
  fl_requirements need;
  fl_layout layout;
  fl_pool pool;
  if (method == NULL) {
    return fl_refuse_null(error);
  }
  memset(method, 0, sizeof *method);
  fl_resolve_registry(&registry, &storage, &builtin);
  fl_status status = fl_plan_find(program, index, memory, &plan, error);
  if (status == FL_OK) {
    status = fl_measure_plan(&plan, registry, &need, &layout);
  }
  if (status == FL_OK) {
    status = fl_check_memory(&plan, &need, memory);
  }
  if (status != FL_OK) {
    return status;
  }
  method->origin = plan.origin;
  method->program = program;
  method->index = index;
  method->value_count = fl_length(plan.values);
  method->instruction_count = (uint32_t)layout.counts.instructions;
  method->input_count = fl_length(plan.inputs);
  method->output_count = fl_length(plan.outputs);
  method->instruction_limit = FL_INSTRUCTION_LIMIT;
  method->context.scratch = memory->scratch;
  method->context.slices = memory->scratch;
  method->context.slice_size = fl_align(need.scratch, 64);
  method->scratch_size = method->context.scratch_size = memory->scratch_size;
  fl_carve(method, &layout, memory->method, &pool);
  for (size_t i = 0; i < layout.counts.arenas; ++i) {
    method->arenas[i] = memory->arenas[i];
  }
  for (uint32_t i = 0; i < fl_length(plan.values); ++i) {
    fl_make_value(&plan, i, &pool, &method->values[i]);
  }
  for (fl_value **item = method->pointers; item < pool.pointers; ++item) {
    if (*item != NULL) {
      (*item)->flags |= FL_VALUE_READ;
    }
  }
  fl_cursor cursor = {0};
  while (fl_plan_next(&plan, &cursor)) {
    fl_make_instruction(method, &plan, registry, &cursor, &pool);
  }
  fl_make_ports(method, &plan);
  fl_mark_shared(method, &plan);
  status = fl_init_delegates(method, &plan, registry, (uint8_t *)memory->method, layout.starts[FL_PARTS]);
  if (status != FL_OK) {
    return status;
  }
  status = fl_settle_method(method);
  if (status == FL_OK && program->checks != NULL) {
    status = program->checks->outputs(method, &plan);
  }
  if (status == FL_OK && program->checks != NULL) {
    status = program->checks->liveness(method, &plan);
  }
  if (status != FL_OK) {
    fl_method_destroy(method);
    return status;
  }
  fl_fill_arenas(method, &plan, memory->keep_state);
  fl_clear(error);
  return FL_OK;
}

fl_status fl_method_set_threads(fl_method *method, const fl_threads *threads, fl_error *error) {
  if (!fl_is_ready(method)) {
    return FL_ERROR(error, NOT_READY);
  }
  method->origin.error = error;
  const uint32_t count = threads == NULL || threads->run == NULL || threads->count == 0 ? 1 : threads->count;
  fl_context *const context = &method->context;
  const size_t each = context->slice_size;
  if (count > 1 && each > 0 && method->scratch_size / each < count) {
    const size_t need = each > SIZE_MAX / count ? SIZE_MAX : each * count;
    return FL_BLAME(&method->origin, MEMORY_BLOCK, FL_NUMBER(need), FL_WORDS(FL_PHRASE_OF(SCRATCH_BLOCK)), FL_NUMBER(method->scratch_size));
  }
  context->threads = count > 1 ? threads : NULL;
  context->scratch_size = count > 1 ? each : method->scratch_size;
  return FL_OK;
}

void fl_method_reset(fl_method *method) {
  fl_plan plan;
  if (fl_is_ready(method) && fl_plan_open(method->program, method->index, &plan)) {
    fl_restore_values(method);
    fl_fill_arenas(method, &plan, 0);
    method->random.counter = 0;
  }
}

void fl_method_seed(fl_method *method, uint64_t seed) {
  if (method != NULL) {
    method->random = (fl_random){.seed = seed};
  }
}

void fl_method_destroy(fl_method *method) {
  if (method == NULL) {
    return;
  }
  for (uint32_t i = 0; i < method->delegate_count; ++i) {
    const fl_delegate *delegate = &method->delegates[i];
    if (delegate->backend->destroy != NULL) {
      delegate->backend->destroy(delegate->backend, delegate->handle);
    }
  }
  memset(method, 0, sizeof *method);
}
