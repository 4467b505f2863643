/* Describes calls: the operator's or backend's name, the access letter and the tensors of an argument; and reports faulty calls. */
#include "core/schema.h"

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
  const char letter = (char)(access[i] | 32); /* a capital letter also admits None, and is otherwise the same */
  return access[i] == 'w' && access[i + 1] == 0 ? '*' : letter == 'i' || letter == 'w' || letter == 'v' || letter == 's' ? letter : 'r';
}

fl_value *const *fl_items(fl_value *const *arg, uint32_t *count) {
  const uint8_t tag = (*arg)->tag;
  const int is_list = tag == FL_TENSOR_LIST || tag == FL_OPTIONAL_TENSOR_LIST;
  *count = is_list ? (*arg)->as.list.count : tag == FL_TENSOR;
  return is_list ? (fl_value *const *)(*arg)->as.list.items : arg;
}

fl_status fl_blame_argument(const fl_method *method, uint32_t at, uint32_t i, const fl_value *value) {
  return FL_BLAME(&method->origin, CALL_ARGUMENT, FL_NUMBER(at), FL_TEXT(fl_instruction_name(&method->instructions[at])), FL_NUMBER(i),
                  FL_NUMBER(value - method->values));
}
