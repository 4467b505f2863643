/* Checks the memory that calls write: no call writes to a constant, to an input in the caller's memory, or over an operand that its kernel
 * still reads.
 *
 * A kernel's letters tell how it uses each argument; a backend tells how many outputs its delegate has. A call whose arguments always keep
 * their memory is checked once, at init (settle.c). A call is checked each time it runs if moves or views change the tensor of an argument, or
 * if the caller chooses the memory of an argument, which is an input or output that is not planned. */
#include "core/schema.h"

static int fl_lacks_data(const fl_tensor *t) { return t->data == NULL && fl_numel(t) > 0; }

int fl_lies_on(const fl_tensor *out, const fl_tensor *operand) {
  const uintptr_t a = (uintptr_t)out->data;
  const uintptr_t b = (uintptr_t)operand->data;
  if (out == operand && out->dynamic) {
    return 1;
  }
  return a != 0 && b != 0 && (a <= b ? b - a < out->capacity && operand->capacity > 0 : a - b < operand->capacity && out->capacity > 0);
}

/* Returns whether an out may lie in the memory of argument `j`, whose elements the kernel reads before it writes their place. The sizes must be
 * equal, because a kernel reads a broadcast operand again after it has overwritten it. A dynamic out gets its sizes during the call; for it,
 * notes the argument in `instruction->over`, and fl_resize compares the sizes. */
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

/* Checks that the written tensor `value`, of argument `i`, overlaps no operand that the call still reads, and none of its later outs. */
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
        t->data = method->values; /* an empty tensor may point anywhere, but arithmetic on NULL is undefined */
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
