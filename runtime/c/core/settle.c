/* Marks, at init, the values that instructions write or move, and checks each call whose arguments always keep their memory. */
#include "core/schema.h"

/* Marks the values that an instruction writes, and those whose memory it changes. Fails when an input or a constant would become a view. */
static fl_status fl_mark_instruction(const fl_method *method, uint32_t at, const fl_instruction *instruction) {
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
        const fl_status status = fl_blame_argument(method, at, i, value);
        FL_ERROR(method->origin.error, FIXED_VIEW);
        return status;
      }
      value->flags |= FL_VALUE_WRITTEN | FL_VALUE_MOVES;
      value->as.tensor->flags = FL_TENSOR_VIEW;
      value->as.tensor->data = NULL;
    }
  }
  return FL_OK;
}

/* Returns whether all arguments of a call keep their memory in every execute. */
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

fl_status fl_settle_method(fl_method *method) {
  uint32_t work = fl_budget(method->program);
  fl_status status = FL_OK;
  for (uint32_t i = 0; i < method->input_count; ++i) {
    method->inputs[i].value->flags |= FL_VALUE_INPUT;
  }
  for (uint32_t i = 0; status == FL_OK && i < method->instruction_count; ++i) {
    status = fl_mark_instruction(method, i, &method->instructions[i]);
  }
  for (uint32_t i = 0; status == FL_OK && i < method->instruction_count; ++i) {
    fl_instruction *instruction = &method->instructions[i];
    if ((instruction->kind == INSTRUCTION_KERNEL || instruction->kind == INSTRUCTION_DELEGATE) && fl_is_settled(instruction)) {
      status = fl_check_access(method, i, instruction, &work);
      instruction->checked = 1;
      if (status != FL_OK) {
        fl_append_location(method, i, 0);
      }
    }
  }
  return status;
}
