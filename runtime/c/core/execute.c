/* Sets inputs, runs instructions in order, and gives outputs. */
#include "core/schema.h"

/* Begins a call of the library that changes a method. */
static fl_status fl_enter(fl_method *method, fl_error *error) {
  if (!fl_is_ready(method)) {
    return FL_ERROR(error, NOT_READY);
  }
  method->origin.error = error;
  return FL_OK;
}

/* Returns whether an instruction reads `value`, as an argument or as an item of a list. */
static int fl_reads(const fl_instruction *instruction, const fl_value *value) {
  if (instruction->kind == INSTRUCTION_MOVE || instruction->kind == INSTRUCTION_JUMP_FALSE) {
    return instruction->on.source == value;
  }
  for (uint32_t i = 0; i < instruction->count; ++i) {
    const fl_value *argument = instruction->to.args[i];
    if (argument == value) {
      return 1;
    }
    if (argument->tag >= FL_INT_LIST) {
      const fl_value *const *items = (const fl_value *const *)argument->as.list.items;
      for (uint32_t j = 0; j < argument->as.list.count; ++j) {
        if (items[j] == value) {
          return 1;
        }
      }
    }
  }
  return 0;
}

/* Appends the place where the model first uses input `index` to an error of `status`, which it returns. */
static fl_status fl_append_first_use(const fl_method *method, uint32_t index, fl_status status) {
  for (uint32_t i = 0; i < method->instruction_count; ++i) {
    if (fl_reads(&method->instructions[i], method->inputs[index].value)) {
      fl_append_location(method, i, 1);
      break;
    }
  }
  return status;
}

/* Reports an input, in a function that has the variables `method` and `index`. */
#define FL_BAD_INPUT(...) fl_append_first_use(method, index, FL_BLAME(&method->origin, __VA_ARGS__))

/* ---- Inputs ---- */

/* Copies the elements at `source`, laid out by `strides`, into `target`, which has the same sizes. */
static void fl_copy_in(const fl_tensor *target, const uint8_t *source, const int32_t *strides) {
  const size_t element = fl_element_size(target->dtype);
  const uint8_t rank = target->rank;
  const uint8_t *order = target->dim_order;
  int32_t at[FL_MAX_RANK] = {0};
  uint8_t *write = (uint8_t *)target->data;
  uint8_t outer = rank;
  size_t run = element;
  /* The innermost dimensions that are dense in both layouts are copied as one piece. */
  while (outer > 0 && (target->sizes[order[outer - 1]] == 1 || (size_t)strides[order[outer - 1]] * element == run)) {
    run *= (size_t)target->sizes[order[outer - 1]];
    --outer;
  }
  for (size_t left = fl_numel(target) * element; left > 0; left -= run) {
    ptrdiff_t offset = 0;
    for (uint8_t i = 0; i < outer; ++i) {
      offset += (ptrdiff_t)at[i] * strides[order[i]];
    }
    memmove(write, source + offset * (ptrdiff_t)element, run);
    write += run;
    for (uint8_t i = outer; i-- > 0;) {
      if (++at[i] < target->sizes[order[i]]) {
        break;
      }
      at[i] = 0;
    }
  }
}

/* Stores the strides of the caller's tensor, in elements, and returns 1; returns 0 when its dim order is not a permutation. */
static int fl_source_strides(const fl_tensor *source, int32_t *strides) {
  static const uint8_t identity[FL_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  if (source->strides != NULL) {
    for (uint8_t i = 0; i < source->rank; ++i) {
      strides[i] = source->strides[i];
    }
    return 1;
  }
  uint32_t seen = 0;
  fl_tensor layout = *source;
  layout.strides = strides;
  layout.dim_order = source->dim_order != NULL ? source->dim_order : identity;
  for (uint8_t i = 0; i < source->rank; ++i) {
    const uint8_t d = layout.dim_order[i];
    if (d >= source->rank || (seen >> d & 1u) != 0) {
      return 0;
    }
    seen |= 1u << d;
  }
  fl_set_strides(&layout);
  return 1;
}

static fl_status fl_check_sizes(const fl_method *method, uint32_t index, const fl_tensor *own, const fl_tensor *source) {
  if (source->dtype != own->dtype) {
    return FL_BAD_INPUT(INPUT_DTYPE, FL_NUMBER(index), FL_DTYPE_OF(own->dtype), FL_DTYPE_OF(source->dtype));
  }
  if (source->rank != own->rank) {
    return FL_BAD_INPUT(INPUT_RANK, FL_NUMBER(index), FL_NUMBER(own->rank), FL_NUMBER(source->rank));
  }
  for (uint8_t i = 0; i < own->rank; ++i) {
    const int32_t bound = own->dynamic ? own->bounds[i] : own->sizes[i];
    const int64_t size = source->sizes[i];
    if (size < 0 || size > bound || (!own->dynamic && size != bound)) {
      return own->dynamic ? FL_BAD_INPUT(INPUT_BOUND, FL_NUMBER(index), FL_NUMBER(i), FL_LONG(size), FL_NUMBER(bound))
                          : FL_BAD_INPUT(INPUT_SIZE, FL_NUMBER(index), FL_NUMBER(i), FL_LONG(size), FL_NUMBER(bound));
    }
  }
  return FL_OK;
}

static fl_status fl_set_tensor(fl_method *method, uint32_t index, fl_port *port, const fl_tensor *source) {
  fl_tensor *own = port->tensor;
  int32_t strides[FL_MAX_RANK];
  fl_status status = fl_check_sizes(method, index, own, source);
  if (status != FL_OK) {
    return status;
  }
  if (!fl_source_strides(source, strides)) {
    return FL_BAD_INPUT(INPUT_ORDER, FL_NUMBER(index));
  }
  const size_t elements = fl_numel(source);
  if (source->data == NULL && elements > 0) {
    return FL_BAD_INPUT(INPUT_DATA, FL_NUMBER(index));
  }
  if (own->dynamic) {
    for (uint8_t i = 0; i < own->rank; ++i) {
      own->sizes[i] = source->sizes[i];
    }
    fl_set_strides(own);
  }
  int same = 1;
  for (uint8_t i = 0; i < own->rank; ++i) {
    same = same && (own->sizes[i] == 1 || own->strides[i] == strides[i]);
  }
  if (port->planned) {
    if (elements > 0) {
      fl_copy_in(own, (const uint8_t *)source->data, strides);
    }
  } else if (!same && elements > 0) {
    return FL_BAD_INPUT(INPUT_LAYOUT, FL_NUMBER(index));
  } else {
    own->data = source->data;
    own->flags = FL_TENSOR_READ_ONLY;
    own->capacity = elements * fl_element_size(own->dtype);
  }
  port->value->tag = FL_TENSOR;
  port->value->as.tensor = own;
  return FL_OK;
}

static int fl_same_scalar(const fl_value *a, const fl_value *b) {
  switch (a->tag) {
    case FL_INT: return a->as.integer == b->as.integer;
    case FL_BOOLEAN: return (a->as.boolean != 0) == (b->as.boolean != 0);
    case FL_DOUBLE: return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case FL_STRING: return a->as.string.length == b->as.string.length && memcmp(a->as.string.data, b->as.string.data, a->as.string.length) == 0;
    default: return 1;
  }
}

/* Returns whether a value is NULL, or is a string or tensor without memory for its text or its sizes. */
static int fl_is_absent(const fl_value *value) {
  const fl_tensor *t = value == NULL ? NULL : value->as.tensor;
  if (value == NULL || value->tag == FL_STRING) {
    return value == NULL || value->as.string.data == NULL;
  }
  return value->tag == FL_TENSOR && (t == NULL || (t->sizes == NULL && t->rank > 0));
}

fl_status fl_method_set_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error) {
  const fl_status entered = fl_enter(method, error);
  if (entered != FL_OK) {
    return entered;
  }
  if (index >= method->input_count) {
    return FL_BLAME(&method->origin, NO_INPUT, FL_NUMBER(index), FL_NUMBER(method->input_count));
  }
  fl_port *port = &method->inputs[index];
  const uint8_t tag = port->tensor != NULL ? FL_TENSOR : port->value->tag;
  if (fl_is_absent(value)) {
    return FL_BAD_INPUT(INPUT_ABSENT, FL_NUMBER(index));
  }
  if (value->tag != tag) {
    return FL_BAD_INPUT(INPUT_KIND, FL_NUMBER(index), FL_KIND_OF(tag), FL_KIND_OF(value->tag));
  }
  if (tag == FL_TENSOR) {
    const fl_status status = fl_set_tensor(method, index, port, value->as.tensor);
    port->is_set = status == FL_OK;
    return status;
  }
  if (tag > FL_BOOLEAN) {
    return FL_BAD_INPUT(INPUT_LIST, FL_NUMBER(index));
  }
  if (!port->is_read && !fl_same_scalar(value, port->value)) {
    const fl_status status = FL_BAD_INPUT(INPUT_FIXED, FL_NUMBER(index));
    const fl_value *const fixed = port->value;
    fl_append_values(error, &fixed, 1);
    FL_ERROR(error, NOT_THIS);
    fl_append_values(error, &value, 1);
    return status;
  }
  const uint8_t flags = port->value->flags;
  *port->value = *value;
  port->value->flags = flags;
  port->is_set = 1;
  return FL_OK;
}

fl_status fl_method_lend_input(fl_method *method, uint32_t index, const fl_value *value, fl_error *error) {
  const fl_status status = fl_method_set_input(method, index, value, error);
  if (status == FL_OK && method->inputs[index].tensor != NULL) {
    method->inputs[index].tensor->flags |= FL_TENSOR_LENT;
  }
  return status;
}

/* ---- Outputs ---- */

fl_status fl_method_set_output(fl_method *method, uint32_t index, void *data, size_t size, fl_error *error) {
  const fl_status entered = fl_enter(method, error);
  if (entered != FL_OK) {
    return entered;
  }
  if (index >= method->output_count) {
    return FL_BLAME(&method->origin, NO_OUTPUT, FL_NUMBER(index), FL_NUMBER(method->output_count));
  }
  const fl_port *port = &method->outputs[index];
  if (port->tensor == NULL || port->planned || port->constant) {
    const fl_phrase reason = port->tensor == NULL ? FL_PHRASE_OF(NO_TENSOR) : port->planned ? FL_PHRASE_OF(IN_ARENA) : FL_PHRASE_OF(IS_CONSTANT);
    return FL_BLAME(&method->origin, OUTPUT_PLACED, FL_NUMBER(index), FL_WORDS(reason));
  }
  if (size < port->tensor->capacity || (data == NULL && port->tensor->capacity > 0) || (uintptr_t)data % 16 != 0) {
    return FL_BLAME(&method->origin, OUTPUT_BYTES, FL_NUMBER(index), FL_NUMBER(port->tensor->capacity), FL_NUMBER(data == NULL ? 0 : size));
  }
  for (uint32_t i = 0; i < method->input_count; ++i) {
    if (method->inputs[i].tensor == port->tensor) {
      return FL_BLAME(&method->origin, OUTPUT_IS_INPUT, FL_NUMBER(index), FL_NUMBER(i));
    }
  }
  port->tensor->data = data;
  return FL_OK;
}

const fl_value *fl_method_output(const fl_method *method, uint32_t index) {
  return fl_is_ready(method) && index < method->output_count ? method->outputs[index].value : NULL;
}

/* ---- Instructions ---- */

/* Reports the reason that the call `at` left in its context. */
static void fl_tell_reason(const fl_method *method, uint32_t at, const fl_context *context) {
  const fl_origin *origin = &method->origin;
  if (!context->is_condition) {
    FL_BLAME(origin, CALL, FL_NUMBER(at), FL_TEXT(fl_instruction_name(&method->instructions[at])));
    if (context->has_numbers) {
      FL_ERROR(origin->error, REASON, FL_TEXT(context->message), FL_LONG(context->numbers[0]), FL_LONG(context->numbers[1]));
    } else {
      FL_ERROR(origin->error, REASON, FL_TEXT(context->message));
    }
  } else if (context->has_numbers) {
    FL_BLAME(origin, CONDITION_GOT, FL_TEXT(context->message), FL_LONG(context->numbers[0]));
  } else {
    FL_BLAME(origin, CONDITION, FL_TEXT(context->message));
  }
}

static fl_status fl_call(fl_method *method, uint32_t at, fl_instruction *instruction) {
  const int is_kernel = instruction->kind == INSTRUCTION_KERNEL;
  /* The call gets a copy of the context, because the kernel advances `scratch` as it takes pieces of it. */
  fl_context call = method->context;
  fl_context *context = &call;
  context->message = fl_text_NO_REASON;
  context->has_numbers = 0;
  context->random = &method->random;
  fl_status status = FL_OK;
  if (!instruction->checked) {
    uint32_t work = UINT32_MAX;
    status = fl_check_access(method, at, instruction, &work);
    if (status != FL_OK) {
      return status;
    }
  }
  context->over = instruction->over == 0 ? NULL : instruction->to.args[instruction->over - 1]->as.tensor;
  if (is_kernel && instruction->on.kernel->scratch != NULL) {
    const size_t scratch = instruction->on.kernel->scratch(instruction->to.args, instruction->count);
    if (scratch > context->scratch_size) {
      return FL_BLAME(&method->origin, MORE_SCRATCH, FL_NUMBER(at), FL_TEXT(fl_instruction_name(instruction)), FL_NUMBER(scratch),
                      FL_NUMBER(context->scratch_size));
    }
  }
  if (is_kernel) {
    status = instruction->on.kernel->run(context, instruction->to.args, instruction->count);
  } else {
    const fl_delegate *delegate = instruction->on.delegate;
    status = delegate->backend->execute(delegate->backend, delegate->handle, context, instruction->to.args, instruction->count);
  }
  method->context.is_condition = context->is_condition;
  if (status != FL_OK) {
    fl_tell_reason(method, at, context);
    return fl_fail(method->origin.error, status);
  }
  if (!instruction->checked) {
    fl_settle_access(instruction);
  }
  return FL_OK;
}

/* Returns the truth of a condition, 1 or 0; -1 when the value is neither a bool nor a tensor of bools. A tensor is true if all elements are. */
static int fl_condition(const fl_value *value) {
  if (value->tag == FL_BOOLEAN) {
    return value->as.boolean != 0;
  }
  if (value->tag != FL_TENSOR || value->as.tensor->dtype != FL_BOOL) {
    return -1;
  }
  const uint8_t *data = (const uint8_t *)value->as.tensor->data;
  const size_t count = fl_numel(value->as.tensor);
  if (data == NULL && count > 0) {
    return -1;
  }
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == 0) {
      return 0;
    }
  }
  return 1;
}

/* Runs instruction `at`, and stores the number of the instruction to run afterwards in `next`. */
static fl_status fl_step(fl_method *method, uint32_t at, fl_instruction *instruction, uint32_t *next) {
  *next = at + 1;
  switch (instruction->kind) {
    case INSTRUCTION_KERNEL:
    case INSTRUCTION_DELEGATE: return fl_call(method, at, instruction);
    case INSTRUCTION_MOVE: {
      fl_copy_value(instruction->to.destination, instruction->on.source);
      return FL_OK;
    }
    case INSTRUCTION_JUMP_FALSE: {
      const int condition = fl_condition(instruction->on.source);
      if (condition < 0) {
        return FL_BLAME(&method->origin, NO_BOOL, FL_NUMBER(at));
      }
      *next = condition ? *next : instruction->count;
      return FL_OK;
    }
    default: return FL_OK;
  }
}

#ifndef FL_NO_HOOK
/* Tells the hook the operators that a delegate has run, as far as its backend knows them; `event` is that of its call. */
static void fl_tell_operators(const fl_method *method, const fl_delegate *delegate, fl_event *event) {
  const fl_backend *const backend = delegate->backend;
  fl_timed_operator found = {NULL, 0, UINT32_MAX};
  if (backend->struct_size <= offsetof(fl_backend, operator_time) || backend->operator_time == NULL) {
    return;
  }
  event->kind = FL_EVENT_OPERATOR;
  event->args = NULL;
  event->count = 0;
  for (uint32_t i = 0; backend->operator_time(backend, delegate->handle, i, &found); ++i) {
    event->name = found.name;
    event->nanoseconds = found.nanoseconds;
    event->number = found.number;
    method->hook(method->hook_user, method, event);
  }
}

/* Tells the hook, if the method has one, that instruction `at` begins or is done. `instruction` is NULL for the execute as a whole. */
static void fl_tell(const fl_method *method, uint32_t at, const fl_instruction *instruction, uint8_t is_done, fl_status status) {
  fl_plan plan;
  if (method->hook == NULL) {
    return;
  }
  fl_event event = {.position = UINT32_MAX, .number = UINT32_MAX, .status = status, .kind = FL_EVENT_EXECUTE, .is_done = is_done};
  if (instruction == NULL) {
    event.name = method->origin.name;
  } else {
    event.name = fl_instruction_name(instruction);
    event.position = at;
    event.kind = instruction->kind; /* fl_event_kind and `kind` are both the union tag of the file */
    if (method->has_chains && fl_plan_open(method->program, method->index, &plan)) {
      event.chain = fl_plan_chain_of(&plan, &at);
    }
    event.instruction = at;
    if (event.name != NULL) {
      event.args = instruction->to.args;
      event.count = instruction->count;
    }
  }
  method->hook(method->hook_user, method, &event);
  if (is_done && status == FL_OK && event.kind == FL_EVENT_DELEGATE) {
    fl_tell_operators(method, instruction->on.delegate, &event);
  }
}
#else
#define fl_tell(method, at, instruction, is_done, status) ((void)0)
#endif

fl_status fl_method_set_hook(fl_method *method, fl_hook_fn hook, void *user, fl_error *error) {
#ifdef FL_NO_HOOK
  (void)method;
  (void)user;
  return hook == NULL ? FL_OK : FL_ERROR(error, NO_HOOKS);
#else
  const fl_status status = fl_enter(method, error);
  fl_plan plan;
  if (status == FL_OK) {
    method->has_chains = !fl_plan_open(method->program, method->index, &plan) || fl_length(plan.chains) > 1;
    method->hook = hook;
    method->hook_user = user;
  }
  return status;
#endif
}

static fl_status fl_run(fl_method *method) {
  uint32_t left = method->instruction_limit;
  method->context.is_condition = 0;
  for (uint32_t at = 0, next = 0; at < method->instruction_count; at = next) {
    fl_instruction *instruction = &method->instructions[at];
    if (left-- == 0) {
      return FL_BLAME(&method->origin, ENDLESS, FL_NUMBER(method->instruction_limit));
    }
    fl_tell(method, at, instruction, 0, FL_OK);
    const fl_status status = fl_step(method, at, instruction, &next);
    fl_tell(method, at, instruction, 1, status);
    if (status != FL_OK) {
      fl_append_location(method, at, 0);
      if (fl_instruction_name(instruction) != NULL && !method->context.is_condition) {
        FL_ERROR(method->origin.error, ITS_ARGUMENTS);
        fl_append_values(method->origin.error, (const fl_value *const *)instruction->to.args, instruction->count);
      }
      return status;
    }
  }
  return FL_OK;
}

fl_status fl_method_execute(fl_method *method, fl_error *error) {
  fl_status status = fl_enter(method, error);
  if (status != FL_OK) {
    return status;
  }
  for (uint32_t index = 0; status == FL_OK && index < method->input_count; ++index) {
    if (!method->inputs[index].is_set && method->inputs[index].value->tag <= FL_BOOLEAN) {
      status = FL_BAD_INPUT(INPUT_NOT_SET, FL_NUMBER(index));
    }
  }
  if (status == FL_OK) {
    fl_begin_access(method);
    fl_tell(method, 0, NULL, 0, FL_OK);
    status = fl_run(method);
    fl_tell(method, 0, NULL, 1, status);
  }
  if (status == FL_OK) {
    status = fl_end_access(method);
  }
  if (status != FL_OK) {
    /* Loop counters may hold any number now, and the caller's tensors may no longer exist. */
    fl_restore_values(method);
    return status;
  }
  for (uint32_t i = 0; i < method->input_count; ++i) {
    if (method->inputs[i].tensor != NULL) {
      method->inputs[i].is_set = 0;
    }
  }
  return FL_OK;
}
