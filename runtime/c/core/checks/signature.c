/* Checks that a call of the file passes arguments of the kinds that its kernel's access letters name, and returns its outs. Slots never change
 * their kind, so one check suffices. */
#include "core/schema.h"

/* Returns whether value `value` is what a call with these outs returns: the list of the `count` values at `outs`, or the single out itself. */
static int fl_is_returned(const fl_plan *plan, uint32_t value, const uint8_t *outs, uint32_t count) {
  fl_table table = NULL;
  if (count == 1 && fl_read_u32(outs) == value) {
    return 1;
  }
  if (fl_plan_value(plan, value, &table) != VALUE_TENSOR_LIST) {
    return 0;
  }
  const fl_vector items = fl_child_vector(table, LIST_ITEMS);
  if (count == 1 && fl_plan_value(plan, fl_read_u32(outs), &table) == VALUE_TENSOR_LIST) {
    const fl_vector list = fl_child_vector(table, LIST_ITEMS);
    outs = fl_items_of(list);
    count = fl_length(list);
  }
  return fl_length(items) == count && (count == 0 || memcmp(fl_items_of(items), outs, (size_t)4 * count) == 0);
}

/* Returns the description of a letter for messages, and stores the set of union tags that it admits in `kinds`. */
static fl_phrase fl_kinds(char letter, uint32_t *kinds) {
  static const struct {
    char letters[3];
    uint16_t kinds;
    fl_phrase words;
  } all[] = {
      {"tiv", 1u << VALUE_TENSOR, FL_PHRASE_OF(A_TENSOR)},
      {"w", 1u << VALUE_TENSOR | 1u << VALUE_TENSOR_LIST, FL_PHRASE_OF(A_WRITTEN_TENSOR)},
      {"ns", 1u << VALUE_INT | 1u << VALUE_BOOL | 1u << VALUE_DOUBLE, FL_PHRASE_OF(A_NUMBER)},
      {"c", 1u << VALUE_STRING, FL_PHRASE_OF(A_STRING)},
      {"l", 1u << VALUE_INT_LIST, FL_PHRASE_OF(INTEGERS)},
      {"d", 1u << VALUE_DOUBLE_LIST, FL_PHRASE_OF(REALS)},
      {"b", 1u << VALUE_BOOL_LIST, FL_PHRASE_OF(TRUTH_VALUES)},
      {"k", 1u << VALUE_TENSOR_LIST, FL_PHRASE_OF(TENSORS)},
      {"o", 1u << VALUE_TENSOR_LIST | 1u << VALUE_OPTIONAL_TENSOR_LIST, FL_PHRASE_OF(TENSORS)},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (memchr(all[i].letters, letter | 32, sizeof all[i].letters) != NULL) {
      *kinds = all[i].kinds | (letter < 'a' ? 1u << VALUE_NULL : 0u);
      return all[i].words;
    }
  }
  *kinds = UINT32_MAX;
  return FL_PHRASE_OF(A_TENSOR); /* a letter that admits any value */
}

fl_status fl_check_signature(const fl_plan *plan, uint32_t at, const fl_kernel *kernel, fl_vector args) {
  const char *access = kernel->access;
  uint32_t count = (uint32_t)strlen(access);
  const int is_open = count > 0 && access[count - 1] == '*';
  uint32_t outs = 0;
  count -= is_open ? 1 : 0;
  if (fl_length(args) < count || (fl_length(args) > count && !is_open)) {
    return FL_BLAME(&plan->origin, ARGUMENT_COUNT, FL_NUMBER(at), FL_TEXT(kernel->name), FL_NUMBER(count), FL_NUMBER(fl_length(args)));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t value = (uint32_t)fl_element_i32(args, i);
    fl_table table = NULL;
    uint32_t kinds = 0;
    const fl_phrase words = fl_kinds(access[i], &kinds);
    if ((kinds >> fl_plan_value(plan, value, &table) & 1u) == 0) {
      const fl_status status = FL_BLAME(&plan->origin, ARGUMENT_KIND, FL_NUMBER(at), FL_NUMBER(i), FL_NUMBER(value), FL_WORDS(words));
      if (access[i] < 'a') {
        FL_ERROR(plan->origin.error, OR_NONE);
      }
      return status;
    }
    outs = access[i] == 'w' ? outs + 1 : 0;
  }
  if (outs == 0 || is_open) {
    return FL_OK;
  }
  const uint32_t last = (uint32_t)fl_element_i32(args, count - 1);
  const uint32_t first = (uint32_t)fl_element_i32(args, 0);
  if (outs == 1 && last != first) {
    return FL_BLAME(&plan->origin, RETURNED_VALUE, FL_NUMBER(at), FL_NUMBER(first), FL_NUMBER(last));
  }
  if (outs > 1 && !fl_is_returned(plan, last, fl_items_of(args) + (size_t)4 * (count - outs), outs - 1)) {
    return FL_BLAME(&plan->origin, RETURNED_OUTS, FL_NUMBER(at));
  }
  return FL_OK;
}
