/* Counts the memory that the values of a method take, and makes the values from the file. */
#include "core/schema.h"

/* ---- Counting ---- */

static void fl_count(const fl_plan *plan, fl_counts *counts) {
  *counts = (fl_counts){.values = fl_length(plan->values),
                        .delegates = fl_length(plan->delegates),
                        .ports = (size_t)fl_length(plan->inputs) + fl_length(plan->outputs),
                        .arenas = fl_length(plan->buffers) > 0 ? fl_length(plan->buffers) - 1 : 0};
  for (uint32_t i = 0; i < fl_length(plan->values); ++i) {
    fl_table table = NULL;
    const uint8_t kind = fl_plan_value(plan, i, &table);
    if (kind == VALUE_TENSOR) {
      fl_tensor_record record;
      fl_read_tensor(table, &record);
      ++counts->tensors;
      counts->dims += record.dynamic ? 2u * record.rank : record.rank;
    } else if (kind == VALUE_INT_LIST || kind == VALUE_TENSOR_LIST || kind == VALUE_OPTIONAL_TENSOR_LIST) {
      counts->pointers += fl_length(fl_child_vector(table, LIST_ITEMS));
    }
  }
  fl_cursor cursor = {0};
  while (fl_plan_next(plan, &cursor)) {
    if (cursor.kind == INSTRUCTION_KERNEL || cursor.kind == INSTRUCTION_DELEGATE) {
      counts->pointers += fl_length(fl_child_vector(cursor.table, CALL_ARGS));
    }
  }
  counts->instructions = cursor.next;
}

int fl_lay_out(const fl_plan *plan, fl_layout *layout) {
  static const uint8_t sizes[FL_PARTS] = {sizeof(fl_value), sizeof(fl_tensor), sizeof(fl_instruction), sizeof(fl_delegate),
                                  sizeof(fl_port),  sizeof(void *),    sizeof(void *),         sizeof(int32_t)};
  size_t total = 0;
  fl_count(plan, &layout->counts);
  for (size_t i = 0; i < FL_PARTS; ++i) {
    size_t part = 0;
    layout->starts[i] = total;
    if (fl_multiply(layout->counts.all[i], sizes[i], &part) || fl_add(total, part, &total)) {
      return 1;
    }
  }
  if (total > SIZE_MAX / 2) {
    return 1;
  }
  layout->starts[FL_PARTS] = fl_align(total, 16);
  return 0;
}

/* ---- Making values ---- */

static int fl_make_tensor(const fl_plan *plan, fl_table table, fl_pool *pool, fl_value *value) {
  fl_tensor_record record;
  fl_read_tensor(table, &record);
  const size_t dims = record.dynamic ? 2u * record.rank : record.rank;
  if (pool->tensor_count == 0 || pool->dim_count < dims) {
    return 1;
  }
  fl_tensor *tensor = pool->tensors++;
  --pool->tensor_count;
  pool->dim_count -= dims;
  *tensor = (fl_tensor){.strides = pool->dims, .dim_order = record.dim_order, .capacity = record.bytes, .rank = record.rank, .dtype = record.dtype,
                        .dynamic = record.dynamic};
  pool->dims += record.rank;
  if (record.dynamic) {
    tensor->bounds = record.sizes;
    tensor->sizes = pool->dims;
    pool->dims += record.rank;
    if (record.rank > 0) {
      memcpy(tensor->sizes, record.sizes, record.rank * sizeof(int32_t));
    }
  } else {
    /* A fixed tensor's sizes stay in the file: fl_resize never writes them. */
    union {
      const int32_t *read;
      int32_t *write;
    } sizes = {record.sizes};
    tensor->sizes = sizes.write;
  }
  fl_set_strides(tensor);
  if (pool->arenas != NULL) {
    if (record.arena != 0) {
      uint8_t *arena = (uint8_t *)pool->arenas[record.arena - 1];
      tensor->data = arena == NULL ? NULL : arena + record.offset;
    } else if (record.buffer != 0) {
      union {
        const uint8_t *read;
        void *write;
      } data = {fl_constant(plan->program, record.buffer, record.bytes, 0)};
      tensor->data = data.write;
      tensor->flags = FL_TENSOR_READ_ONLY;
    }
  }
  value->tag = FL_TENSOR;
  value->as.tensor = tensor;
  return 0;
}

static int fl_make_scalar(uint8_t kind, fl_table table, fl_value *value) {
  switch (kind) {
    case VALUE_INT:
      value->tag = FL_INT;
      value->as.integer = fl_field_i64(table, SCALAR_VALUE);
      return 0;
    case VALUE_BOOL:
      value->tag = FL_BOOLEAN;
      value->as.boolean = fl_field_u8(table, SCALAR_VALUE) != 0;
      return 0;
    case VALUE_DOUBLE: {
      const uint64_t bits = fl_field_u64(table, SCALAR_VALUE);
      value->tag = FL_DOUBLE;
      memcpy(&value->as.real, &bits, sizeof bits);
      return 0;
    }
    default:
      value->tag = FL_NONE;
      return 0;
  }
}

/* Stores in `item` the tensor or scalar that a list holds: value `index`, or NULL for a negative index. Returns 1 when the pool is too small. */
static int fl_make_item(const fl_plan *plan, int64_t index, fl_pool *pool, fl_value **item) {
  if (index < 0) {
    *item = NULL;
    return 0;
  }
  if (pool->slots != NULL) {
    *item = &pool->slots[index];
    return 0;
  }
  if (pool->value_count == 0) {
    return 1;
  }
  fl_table table = NULL;
  const uint8_t kind = fl_plan_value(plan, (uint32_t)index, &table);
  *item = pool->values++;
  --pool->value_count;
  return kind == VALUE_TENSOR ? fl_make_tensor(plan, table, pool, *item) : fl_make_scalar(kind, table, *item);
}

static int fl_make_list(const fl_plan *plan, uint8_t kind, fl_table table, fl_pool *pool, fl_value *value) {
  const fl_vector items = fl_child_vector(table, LIST_ITEMS);
  value->as.list.count = fl_length(items);
  if (kind == VALUE_BOOL_LIST || kind == VALUE_DOUBLE_LIST) {
    value->tag = kind == VALUE_BOOL_LIST ? FL_BOOL_LIST : FL_DOUBLE_LIST;
    value->as.list.items = fl_items_of(items);
    return 0;
  }
  if (pool->slots == NULL && fl_length(items) > FL_MAX_RANK) {
    value->as.list.count = FL_MAX_RANK;
  }
  const uint32_t count = value->as.list.count;
  if (pool->pointer_count < count) {
    return 1;
  }
  fl_value **pointers = pool->pointers;
  pool->pointers += count;
  pool->pointer_count -= count;
  value->tag = kind == VALUE_INT_LIST ? FL_INT_LIST : kind == VALUE_TENSOR_LIST ? FL_TENSOR_LIST : FL_OPTIONAL_TENSOR_LIST;
  value->as.list.items = (const void *)pointers;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t item = kind == VALUE_INT_LIST ? fl_element_i64(items, i) : fl_element_i32(items, i);
    if (fl_make_item(plan, item, pool, &pointers[i])) {
      return 1;
    }
  }
  return 0;
}

int fl_make_value(const fl_plan *plan, uint32_t index, fl_pool *pool, fl_value *value) {
  fl_table table = NULL;
  const uint8_t kind = fl_plan_value(plan, index, &table);
  value->flags = 0;
  switch (kind) {
    case VALUE_TENSOR: return fl_make_tensor(plan, table, pool, value);
    case VALUE_STRING: {
      const char *text = fl_child_string(table, SCALAR_VALUE);
      value->tag = FL_STRING;
      value->as.string = (fl_string){text, fl_read_u32((const uint8_t *)text - 4)};
      return 0;
    }
    case VALUE_NULL:
    case VALUE_INT:
    case VALUE_BOOL:
    case VALUE_DOUBLE: return fl_make_scalar(kind, table, value);
    default: return fl_make_list(plan, kind, table, pool, value);
  }
}

void fl_restore_values(fl_method *method) {
  fl_plan plan;
  if (!fl_plan_open(method->program, method->index, &plan)) {
    return;
  }
  fl_tensor *tensor = method->tensors;
  fl_value **pointers = method->pointers;
  for (uint32_t i = 0; i < method->value_count; ++i) {
    fl_value *value = &method->values[i];
    const uint8_t flags = value->flags;
    fl_table table = NULL;
    const uint8_t kind = fl_plan_value(&plan, i, &table);
    if (kind == VALUE_TENSOR) {
      value->tag = FL_TENSOR;
      value->as.tensor = tensor++;
    } else {
      /* Lists are made again in the same memory. */
      fl_pool pool = {.slots = method->values, .pointers = pointers, .pointer_count = SIZE_MAX};
      fl_make_value(&plan, i, &pool, value);
      pointers = pool.pointers;
    }
    value->flags = flags;
  }
  for (uint32_t i = 0; i < method->input_count; ++i) {
    method->inputs[i].is_set = method->inputs[i].value->tag == FL_NONE;
  }
}
