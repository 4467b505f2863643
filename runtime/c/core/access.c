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
static fl_status fl_check_out(const fl_method *method, uint32_t at, fl_instruction *instruction, uint32_t i, const fl_value *value, uint32_t *work) {
  const fl_tensor *out = fl_tensor_of(value);
  for (uint32_t j = 0; j < instruction->count; ++j) {
    const char letter = fl_letter(instruction, j);
    uint32_t count = 0;
    fl_value *const *items = fl_items(&instruction->to.args[j], &count);
    if (letter != 'r' && letter != 'i' && !(letter == 'w' && j > i)) {
      continue;
    }
    if (*work < count) {
      const fl_status status = fl_blame_argument(method, at, i, value);
      FL_ERROR(method->origin.error, LISTS_TOO_LONG);
      return status;
    }
    *work -= count;
    for (uint32_t k = 0; k < count; ++k) {
      const fl_tensor *other = fl_tensor_of(items[k]);
      if (other != NULL && fl_lies_on(out, other) && (letter != 'i' || !fl_may_lie_on(instruction, out, j, other))) {
        return FL_BLAME(&method->origin, OVERLAP, FL_NUMBER(at), FL_TEXT(fl_instruction_name(instruction)), FL_NUMBER(value - method->values), FL_NUMBER(j));
      }
    }
  }
  return FL_OK;
}

fl_status fl_check_access(const fl_method *method, uint32_t at, fl_instruction *instruction, uint32_t *work) {
  instruction->over = 0;
  for (uint32_t i = 0; i < instruction->count; ++i) {
    const char letter = fl_letter(instruction, i);
    uint32_t count = 0;
    fl_value *const *items = letter == '*' ? NULL : fl_items(&instruction->to.args[i], &count);
    for (uint32_t k = 0; k < count; ++k) {
      fl_tensor *t = fl_tensor_of(items[k]);
      if (t == NULL) {
        continue;
      }
      const int is_fixed = letter == 'v' && (t->flags & FL_TENSOR_VIEW) == 0;
      const int is_read_only = letter == 'w' && (t->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_LENT)) == FL_TENSOR_READ_ONLY;
      const int is_lost = letter != 'v' && t->data == NULL && (fl_numel(t) > 0 || (letter == 'w' && t->capacity > 0));
      if (is_fixed || is_read_only || is_lost) {
        fl_status status = fl_blame_argument(method, at, i, items[k]);
        if (is_fixed) {
          FL_ERROR(method->origin.error, NO_VIEW);
        } else if (is_read_only) {
          FL_ERROR(method->origin.error, READ_ONLY);
        } else {
          FL_ERROR(method->origin.error, NO_MEMORY);
          status = fl_fail(method->origin.error, FL_INVALID_STATE);
        }
        return status;
      }
      if (t->data == NULL && letter != 'v') {
        t->data = method->values; /* an empty tensor may point anywhere, but arithmetic on NULL is undefined */
      }
      if (letter == 'w') {
        const fl_status status = fl_check_out(method, at, instruction, i, items[k], work);
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

fl_status fl_end_access(const fl_method *method) {
  for (uint32_t i = 0; i < method->output_count; ++i) {
    const fl_tensor *t = fl_tensor_of(method->outputs[i].value);
    if (t != NULL && fl_lacks_data(t)) {
      return FL_BLAME(&method->origin, OUTPUT_EMPTY, FL_NUMBER(i));
    }
  }
  return FL_OK;
}
