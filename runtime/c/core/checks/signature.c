/* Checks that a call of the file passes arguments of the kinds that its kernel's access letters name, and returns its outs. Slots never change
 * their kind, so one check suffices. */
#include "core/schema.h"

/* Returns whether value `value` is what a call with these outs returns: the list of the `count` values at `outs`, or the single out itself. */
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

/* Returns the description of a letter for messages, and stores the set of union tags that it admits in `kinds`. */
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
