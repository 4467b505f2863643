/* Reads the header of a .pte file, and loads a trusted file. */
#include "core/schema.h"

#define HEADER_AT 8u
#define HEADER_SHORT 24u /* bytes of a header that lacks the size of the segments */
#define HEADER_LONG 32u

static fl_status fl_read_header(fl_program *program, fl_error *error) {
  const uint8_t *file = program->data;
  const size_t size = program->size;
  size_t flatbuffer = size;
  program->segments = size;
  program->segments_end = size;
  if (size >= HEADER_AT + HEADER_LONG && memcmp(file + HEADER_AT, "eh00", 4) == 0) {
    const uint32_t length = fl_read_u32(file + HEADER_AT + 4);
    const uint64_t described = fl_read_u64(file + HEADER_AT + 8);
    const uint64_t base = fl_read_u64(file + HEADER_AT + 16);
    const uint64_t bytes = length >= HEADER_LONG ? fl_read_u64(file + HEADER_AT + 24) : 0;
    if (length < HEADER_SHORT || described > size || described < HEADER_AT + length) {
      return FL_ERROR(error, HEADER_BEYOND, FL_NUMBER(size), FL_LONG(described));
    }
    flatbuffer = (size_t)described;
    if (base != 0) {
      if (base < described || base > size || bytes > size - base) {
        return FL_ERROR(error, DATA_BEYOND, FL_NUMBER(size), FL_LONG(base), FL_LONG(bytes));
      }
      program->segments = (size_t)base;
      program->segments_end = length >= HEADER_LONG ? (size_t)(base + bytes) : size;
    }
  }
  if (flatbuffer > INT32_MAX) {
    return FL_ERROR(error, TOO_LARGE);
  }
  program->flatbuffer_size = (uint32_t)flatbuffer;
  const uint32_t root = fl_read_u32(file);
  if (root < 8 || root > program->flatbuffer_size - 4) {
    return FL_ERROR(error, ROOT_BEYOND, FL_NUMBER(root), FL_NUMBER(program->flatbuffer_size));
  }
  program->root = file + root;
  return FL_OK;
}

fl_status fl_open_file(fl_program *program, const void *data, size_t size, fl_error *error) {
  if (program == NULL) {
    return fl_refuse_null(error);
  }
  memset(program, 0, sizeof *program);
  if (data == NULL || (uintptr_t)data % 16 != 0) {
    return FL_ERROR(error, NOT_ALIGNED);
  }
  fl_program opened = {.data = (const uint8_t *)data, .size = size};
  if (size >= 16 && memcmp(opened.data + 4, "BP08", 4) == 0) {
    return FL_ERROR(error, BUNDLED);
  }
  if (size < 16 || memcmp(opened.data + 4, "ET", 2) != 0) {
    return FL_ERROR(error, NO_PROGRAM, FL_NUMBER(size));
  }
  if (memcmp(opened.data + 4, "ET12", 4) != 0) {
    return FL_ERROR(error, OTHER_FORMAT);
  }
  const fl_status status = fl_read_header(&opened, error);
  if (status == FL_OK) {
    *program = opened;
  }
  return status;
}

fl_status fl_program_load_trusted(fl_program *program, const void *data, size_t size, fl_error *error) {
  const fl_status status = fl_open_file(program, data, size, error);
  if (status == FL_OK) {
    fl_clear(error);
  }
  return status;
}
