/* Reads fields of FlatBuffer tables, which fl_verify has checked before. */
#include "core/schema.h"

const uint8_t *fl_field(fl_table table, uint32_t id) {
  if (table == NULL) {
    return NULL;
  }
  const uint8_t *vtable = table - fl_read_i32(table);
  const uint32_t entry = 4 + 2 * id;
  const uint32_t offset = entry < fl_read_u16(vtable) ? fl_read_u16(vtable + entry) : 0;
  return offset == 0 ? NULL : table + offset;
}

uint8_t fl_field_u8(fl_table table, uint32_t id) {
  const uint8_t *at = fl_field(table, id);
  return at == NULL ? 0 : *at;
}

uint32_t fl_field_u32(fl_table table, uint32_t id) {
  const uint8_t *at = fl_field(table, id);
  return at == NULL ? 0 : fl_read_u32(at);
}

uint64_t fl_field_u64(fl_table table, uint32_t id) {
  const uint8_t *at = fl_field(table, id);
  return at == NULL ? 0 : fl_read_u64(at);
}

fl_table fl_child(fl_table table, uint32_t id) {
  const uint8_t *at = fl_field(table, id);
  return at == NULL ? NULL : at + fl_read_u32(at);
}

fl_vector fl_child_vector(fl_table table, uint32_t id) {
  static const uint32_t none = 0;
  const fl_vector found = fl_child(table, id);
  return found == NULL ? (fl_vector)(const void *)&none : found;
}

const char *fl_child_string(fl_table table, uint32_t id) {
  const uint8_t *at = fl_child(table, id);
  return at == NULL ? "" : (const char *)(at + 4);
}

fl_table fl_element(fl_vector vector, uint32_t index) {
  const uint8_t *at = fl_items_of(vector) + (size_t)4 * index;
  return at + fl_read_u32(at);
}
