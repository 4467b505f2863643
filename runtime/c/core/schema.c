/* Reads fields of FlatBuffer tables, which fl_verify has checked before. */
#include "core/schema.h"

uint32_t fl_field(const uint8_t *file, uint32_t table, uint32_t id) {
  if (table == 0) {
    return 0;
  }
  const uint32_t vtable = table - fl_read_u32(file + table);
  const uint32_t entry = 4 + 2 * id;
  if (entry >= fl_read_u16(file + vtable)) {
    return 0;
  }
  const uint32_t offset = fl_read_u16(file + vtable + entry);
  return offset == 0 ? 0 : table + offset;
}

uint8_t fl_field_u8(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_field(file, table, id);
  return at == 0 ? 0 : file[at];
}

uint32_t fl_field_u32(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_field(file, table, id);
  return at == 0 ? 0 : fl_read_u32(file + at);
}

uint64_t fl_field_u64(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_field(file, table, id);
  return at == 0 ? 0 : fl_read_u64(file + at);
}

uint32_t fl_child(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_field(file, table, id);
  return at == 0 ? 0 : at + fl_read_u32(file + at);
}

fl_vector fl_child_vector(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_child(file, table, id);
  return at == 0 ? (fl_vector){0, 0} : (fl_vector){at + 4, fl_read_u32(file + at)};
}

const char *fl_child_string(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = fl_child(file, table, id);
  return at == 0 ? "" : (const char *)(file + at + 4);
}

uint32_t fl_element(const uint8_t *file, fl_vector vector, uint32_t index) {
  const uint32_t at = vector.at + 4 * index;
  return at + fl_read_u32(file + at);
}
