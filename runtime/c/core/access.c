/* What instructions read and write: no call writes to a constant, to an input in the caller's memory, or over an operand that its kernel still reads.
 *
 * The letters of a kernel say what each argument is, and what it does with it; a backend how many outputs its delegate has. A slot keeps its kind,
 * so that is checked by the file. A call whose arguments stay where they are is checked once, at load. Moves and views change what a value refers to, and the caller chooses the memory of an input or output that is not
 * planned: a call with such an argument is checked each time it runs. */
#include "core/schema.h"

/* ---- By the file ---- */

/* Whether the `count` values at `outs` are the items of list `value`, or value itself when it is the only one. */
static int fl_is_returned(const fl_plan *plan, uint32_t value, const uint8_t *outs, uint32_t count) {
  uint32_t table = 0;
  if (count == 1 && fl_read_u32(outs) == value) {
    return 1;
  }
  if (fl_plan_value(plan, value, &table) != VALUE_TENSOR_LIST) {
    return 0;
  }
  const fl_vector items = fl_child_vector(plan->file, table, LIST_ITEMS);
  if (count == 1 && fl_plan_value(plan, fl_read_u32(outs), &table) == VALUE_TENSOR_LIST) {
    const fl_vector list = fl_child_vector(plan->file, table, LIST_ITEMS);
    outs = plan->file + list.at;
    count = list.count;
  }
  return items.count == count && (count == 0 || memcmp(plan->file + items.at, outs, (size_t)4 * count) == 0);
}

/* The kinds of values that a letter stands for, and how they are called. */
static const char *fl_kinds(char letter, uint32_t *kinds) {
  static const struct {
    char letters[3];
    uint16_t kinds;
    const char *name;
  } all[] = {
      {"tiv", 1u << VALUE_TENSOR, "a tensor"},
      {"w", 1u << VALUE_TENSOR | 1u << VALUE_TENSOR_LIST, "a tensor to write"},
      {"ns", 1u << VALUE_INT | 1u << VALUE_BOOL | 1u << VALUE_DOUBLE, "a number"},
      {"c", 1u << VALUE_STRING, "a string"},
      {"l", 1u << VALUE_INT_LIST, "a list of integers"},
      {"d", 1u << VALUE_DOUBLE_LIST, "a list of reals"},
      {"b", 1u << VALUE_BOOL_LIST, "a list of truth values"},
      {"k", 1u << VALUE_TENSOR_LIST, "a list of tensors"},
      {"o", 1u << VALUE_TENSOR_LIST | 1u << VALUE_OPTIONAL_TENSOR_LIST, "a list of tensors"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (memchr(all[i].letters, letter | 32, sizeof all[i].letters) != NULL) {
      *kinds = all[i].kinds | (letter < 'a' ? 1u << VALUE_NULL : 0u);
      return all[i].name;
    }
  }
  *kinds = UINT32_MAX;
  return "";
}

fl_status fl_check_signature(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args, fl_error *error) {
  const char *access = kernel->access;
  uint32_t count = (uint32_t)strlen(access);
  const int is_open = count > 0 && access[count - 1] == '*';
  uint32_t outs = 0;
  count -= is_open ? 1 : 0;
  if (args.count < count || (args.count > count && !is_open)) {
    return FL_ERROR(error, FL_INVALID_PROGRAM, "method '%', instruction %: % takes % arguments, the program passes %", FL_TEXT(plan->name),
                    FL_NUMBER(at), FL_TEXT(kernel->name), FL_NUMBER(count), FL_NUMBER(args.count));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t value = (uint32_t)fl_element_i32(plan->file, args, i);
    uint32_t table = 0;
    uint32_t kinds = 0;
    const char *name = fl_kinds(access[i], &kinds);
    if ((kinds >> fl_plan_value(plan, value, &table) & 1u) == 0) {
      fl_bad_instruction(plan, at, "its argument %, value %, must be ", i, value, error);
      fl_append(error, name, NULL);
      fl_append(error, access[i] < 'a' ? " or None" : "", NULL);
      return FL_INVALID_PROGRAM;
    }
    outs = access[i] == 'w' ? outs + 1 : 0;
  }
  if (outs == 0 || is_open) {
    return FL_OK;
  }
  const uint32_t last = (uint32_t)fl_element_i32(plan->file, args, count - 1);
  const uint32_t first = (uint32_t)fl_element_i32(plan->file, args, 0);
  if (outs == 1 && last != first) {
    return fl_bad_instruction(plan, at, "it works in place on value % and returns value %", first, last, error);
  }
  if (outs > 1 && !fl_is_returned(plan, last, plan->file + args.at + (size_t)4 * (count - outs), outs - 1)) {
    return fl_bad_instruction(plan, at, "its outs are not the values that it returns", 0, 0, error);
  }
  return FL_OK;
}

/* ---- By the values ---- */

const char *fl_method_name(const fl_method *method) {
  const char *name = fl_program_method_name(method->program, method->index);
  return name == NULL ? "" : name;
}

const char *fl_instruction_name(const fl_instruction *instruction) {
  switch (instruction->kind) {
    case INSTRUCTION_KERNEL: return instruction->on.kernel->name;
    case INSTRUCTION_DELEGATE: return instruction->on.delegate->backend->id;
    default: return NULL;
  }
}

char fl_letter(const fl_instruction *instruction, uint32_t i) {
  if (instruction->kind == INSTRUCTION_DELEGATE) {
    const size_t outputs = instruction->on.delegate->outputs;
    return outputs == 0 || i + outputs >= instruction->count ? 'w' : 'r';
  }
  const char *access = instruction->on.kernel->access;
  /* Arguments beyond the letters exist only where these end in *. */
  for (uint32_t j = 0; j < i; ++j) {
    if (access[j] == '*') {
      return '*';
    }
  }
  const char letter = (char)(access[i] | 32); /* what may be absent is the same otherwise */
  return access[i] == 'w' && access[i + 1] == 0 ? '*' : letter == 'i' || letter == 'w' || letter == 'v' || letter == 's' ? letter : 'r';
}

fl_value *const *fl_items(fl_value *const *arg, uint32_t *count) {
  const uint8_t tag = (*arg)->tag;
  const int is_list = tag == FL_TENSOR_LIST || tag == FL_OPTIONAL_TENSOR_LIST;
  *count = is_list ? (*arg)->as.list.count : tag == FL_TENSOR;
  return is_list ? (fl_value *const *)(*arg)->as.list.items : arg;
}

static fl_tensor *fl_tensor_of(const fl_value *value) { return value != NULL && value->tag == FL_TENSOR ? value->as.tensor : NULL; }

static int fl_lacks_data(const fl_tensor *t) { return t->data == NULL && fl_numel(t) > 0; }

fl_status fl_refuse(const fl_method *method, uint32_t at, const fl_instruction *instruction, fl_status status, const char *what, const fl_item *items,
                    fl_error *error) {
  FL_ERROR(error, status, "method '%', instruction %, %: ", FL_TEXT(fl_method_name(method)), FL_NUMBER(at), FL_TEXT(fl_instruction_name(instruction)));
  fl_append(error, what, items);
  return status;
}

static fl_status fl_refuse_access(const fl_method *method, uint32_t at, const fl_instruction *instruction, fl_status status, const char *what, uint32_t i,
                                  const fl_value *value, fl_error *error) {
  fl_refuse(method, at, instruction, status, "argument %, value %, ", (const fl_item[]){FL_NUMBER(i), FL_NUMBER(value - method->values)}, error);
  fl_append(error, what, NULL);
  return status;
}

/* Whether an out lies on an operand, or gives it new sizes. */
static int fl_lies_on(const fl_tensor *out, const fl_tensor *operand) {
  const uintptr_t a = (uintptr_t)out->data;
  const uintptr_t b = (uintptr_t)operand->data;
  if (out == operand && out->dynamic) {
    return 1;
  }
  return a != 0 && b != 0 && (a <= b ? b - a < out->capacity && operand->capacity > 0 : a - b < operand->capacity && out->capacity > 0);
}

/* Whether an out may lie on argument `j`, of which the kernel reads each element before it writes there. An operand that is broadcast is read again after
 * it was written over, so both need the same sizes. A dynamic out gets its own in the call, where fl_resize compares them. */
static int fl_may_lie_on(fl_instruction *instruction, const fl_tensor *out, uint32_t j, const fl_tensor *operand) {
  if (out->data != operand->data || out->dtype != operand->dtype || out->dynamic != operand->dynamic || !fl_same_order(out, operand)) {
    return 0;
  }
  if (!out->dynamic) {
    return fl_same_sizes(out, operand);
  }
  fl_value *const *args = instruction->to.args;
  if (out == operand || j >= UINT8_MAX || fl_tensor_of(args[j]) != operand || (instruction->over != 0 && args[instruction->over - 1]->as.tensor != operand)) {
    return 0;
  }
  instruction->over = (uint8_t)(j + 1);
  return 1;
}

/* Argument `i` is `out`, which is written; compares it with what the call reads, and with its other outs. */
static fl_status fl_check_out(const fl_method *method, uint32_t at, fl_instruction *instruction, uint32_t i, const fl_value *value, uint64_t *work,
                              fl_error *error) {
  const fl_tensor *out = fl_tensor_of(value);
  for (uint32_t j = 0; j < instruction->count; ++j) {
    const char letter = fl_letter(instruction, j);
    uint32_t count = 0;
    fl_value *const *items = fl_items(&instruction->to.args[j], &count);
    if (letter != 'r' && letter != 'i' && !(letter == 'w' && j > i)) {
      continue;
    }
    if (*work < count) {
      return fl_refuse_access(method, at, instruction, FL_INVALID_PROGRAM, "and other lists of values are too long to check", i, value, error);
    }
    *work -= count;
    for (uint32_t k = 0; k < count; ++k) {
      const fl_tensor *other = fl_tensor_of(items[k]);
      if (other != NULL && fl_lies_on(out, other) && (letter != 'i' || !fl_may_lie_on(instruction, out, j, other))) {
        return fl_refuse(method, at, instruction, FL_INVALID_PROGRAM, "its out, value %, overlaps its argument %",
                         (const fl_item[]){FL_NUMBER(value - method->values), FL_NUMBER(j)}, error);
      }
    }
  }
  return FL_OK;
}

fl_status fl_check_access(const fl_method *method, uint32_t at, fl_instruction *instruction, uint64_t *work, fl_error *error) {
  instruction->over = 0;
  for (uint32_t i = 0; i < instruction->count; ++i) {
    const char letter = fl_letter(instruction, i);
    uint32_t count = 0;
    fl_value *const *items = letter == '*' ? NULL : fl_items(&instruction->to.args[i], &count);
    for (uint32_t k = 0; k < count; ++k) {
      fl_tensor *t = fl_tensor_of(items[k]);
      const char *fault = NULL;
      fl_status status = FL_INVALID_PROGRAM;
      if (t == NULL) {
        continue;
      }
      if (letter == 'v') {
        fault = (t->flags & FL_TENSOR_VIEW) == 0 ? "was moved there, and cannot become a view" : NULL;
      } else if (letter == 'w' && (t->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_LENT)) == FL_TENSOR_READ_ONLY) {
        fault = "is written, and is a constant or an input in the caller's memory, which only fl_method_lend_input lets it write";
      } else if (fl_lacks_data(t) || (letter == 'w' && t->data == NULL && t->capacity > 0)) {
        fault = "has no memory; if it is an output, fl_method_set_output gives it some";
        status = FL_INVALID_STATE;
      }
      if (fault != NULL) {
        return fl_refuse_access(method, at, instruction, status, fault, i, items[k], error);
      }
      if (t->data == NULL && letter != 'v') {
        t->data = method->values; /* any place does for no elements; to step from NULL is undefined */
      }
      if (letter == 'w') {
        status = fl_check_out(method, at, instruction, i, items[k], work, error);
        if (status != FL_OK) {
          return status;
        }
      }
    }
  }
  return FL_OK;
}

void fl_settle_access(const fl_instruction *instruction) {
  for (uint32_t i = 0; i < instruction->count; ++i) {
    if (fl_letter(instruction, i) == 'v') {
      instruction->to.args[i]->as.tensor->flags = FL_TENSOR_VIEW | (instruction->to.args[0]->as.tensor->flags & FL_TENSOR_READ_ONLY);
    }
  }
}

/* ---- By the method ---- */

/* Notes which values an instruction gives a content, and which it gives another place. */
static fl_status fl_mark_instruction(const fl_method *method, uint32_t at, const fl_instruction *instruction, fl_error *error) {
  if (instruction->kind == INSTRUCTION_MOVE) {
    instruction->to.destination->flags |= FL_VALUE_WRITTEN | FL_VALUE_MOVES;
  }
  if (instruction->kind != INSTRUCTION_KERNEL && instruction->kind != INSTRUCTION_DELEGATE) {
    return FL_OK;
  }
  for (uint32_t i = 0; i < instruction->count; ++i) {
    const char letter = fl_letter(instruction, i);
    fl_value *value = instruction->to.args[i];
    uint32_t count = 0;
    fl_value *const *items = letter == 'w' ? fl_items(&instruction->to.args[i], &count) : NULL;
    for (uint32_t k = 0; k < count; ++k) {
      if (items[k] != NULL) {
        items[k]->flags |= FL_VALUE_WRITTEN;
      }
    }
    if (letter == 'v') {
      if ((value->as.tensor->flags & FL_TENSOR_READ_ONLY) != 0 || (value->flags & FL_VALUE_INPUT) != 0) {
        return fl_refuse_access(method, at, instruction, FL_INVALID_PROGRAM, "is an input or a constant, and cannot become a view", i, value, error);
      }
      value->flags |= FL_VALUE_WRITTEN | FL_VALUE_MOVES;
      value->as.tensor->flags = FL_TENSOR_VIEW;
      value->as.tensor->data = NULL;
    }
  }
  return FL_OK;
}

/* Whether a call passes only what stays where it is. */
static int fl_is_settled(const fl_instruction *instruction) {
  for (uint32_t i = 0; i < instruction->count; ++i) {
    uint32_t count = 0;
    fl_value *const *items = fl_items(&instruction->to.args[i], &count);
    if ((instruction->to.args[i]->flags & FL_VALUE_MOVES) != 0) {
      return 0;
    }
    for (uint32_t k = 0; k < count; ++k) {
      const fl_tensor *t = fl_tensor_of(items[k]);
      if (t != NULL && ((items[k]->flags & FL_VALUE_MOVES) != 0 || (t->flags & FL_TENSOR_VIEW) != 0 || t->data == NULL)) {
        return 0;
      }
    }
  }
  return 1;
}

/* An output gets its content from an instruction, itself or through another value in the same memory, or it has one from the start. */
static fl_status fl_check_outputs(const fl_method *method, const fl_plan *plan, uint64_t *work, fl_error *error) {
  for (uint32_t i = 0; i < method->output_count; ++i) {
    const fl_port *port = &method->outputs[i];
    fl_tensor_record record;
    uint32_t table = 0;
    if (port->tensor == NULL || (port->value->flags & (FL_VALUE_WRITTEN | FL_VALUE_INPUT)) != 0) {
      continue;
    }
    (void)fl_plan_value(plan, (uint32_t)(port->value - method->values), &table);
    fl_read_tensor(plan->file, table, &record);
    int is_written = record.buffer != 0 || record.bytes == 0;
    for (uint32_t j = 0; !is_written && *work > 0 && j < method->value_count; ++j, --*work) {
      const fl_value *value = &method->values[j];
      const fl_tensor *t = fl_tensor_of(value);
      is_written = t != NULL && (value->flags & (FL_VALUE_WRITTEN | FL_VALUE_INPUT)) != 0 && fl_lies_on(port->tensor, t);
    }
    if (!is_written) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "method '%': output %, value %, is written by no instruction", FL_TEXT(plan->name), FL_NUMBER(i),
                      FL_NUMBER(port->value - method->values));
    }
  }
  return FL_OK;
}

fl_status fl_check_method(fl_method *method, fl_error *error) {
  uint64_t work = (uint64_t)method->program->flatbuffer_size * 16 + (1u << 20);
  fl_plan plan;
  fl_status status = FL_OK;
  for (uint32_t i = 0; i < method->input_count; ++i) {
    method->inputs[i].value->flags |= FL_VALUE_INPUT;
  }
  for (uint32_t i = 0; status == FL_OK && i < method->instruction_count; ++i) {
    status = fl_mark_instruction(method, i, &method->instructions[i], error);
  }
  for (uint32_t i = 0; status == FL_OK && i < method->instruction_count; ++i) {
    fl_instruction *instruction = &method->instructions[i];
    if ((instruction->kind == INSTRUCTION_KERNEL || instruction->kind == INSTRUCTION_DELEGATE) && fl_is_settled(instruction)) {
      status = fl_check_access(method, i, instruction, &work, error);
      instruction->checked = 1;
      if (status != FL_OK) {
        fl_append_location(error, "; at ", method, i);
      }
    }
  }
  if (status == FL_OK && fl_plan_open(method->program, method->index, &plan)) {
    status = fl_check_outputs(method, &plan, &work, error);
  }
  return status;
}

void fl_begin_access(fl_method *method) {
  /* The instructions follow the tensors in memory. */
  for (fl_tensor *t = method->tensors; (void *)t < (void *)method->instructions; ++t) {
    if ((t->flags & FL_TENSOR_VIEW) != 0) {
      t->flags = FL_TENSOR_VIEW;
      t->data = NULL;
    }
  }
  for (uint32_t i = 0; i < method->output_count; ++i) {
    const fl_port *port = &method->outputs[i];
    if (port->tensor != NULL && !port->planned && (port->tensor->flags & FL_TENSOR_READ_ONLY) == 0 && port->tensor->data != NULL) {
      memset(port->tensor->data, 0, port->tensor->capacity);
    }
  }
}

fl_status fl_end_access(const fl_method *method, fl_error *error) {
  for (uint32_t i = 0; i < method->output_count; ++i) {
    const fl_tensor *t = fl_tensor_of(method->outputs[i].value);
    if (t != NULL && fl_lacks_data(t)) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "method '%', output %: no instruction that ran gave it memory",
                      FL_TEXT(fl_method_name(method)), FL_NUMBER(i));
    }
  }
  return FL_OK;
}
