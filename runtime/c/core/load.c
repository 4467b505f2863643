/* Loading a .pte file: the header, the segments, and every check that a file must pass. */
#include "core/schema.h"

#define HEADER_AT 8u
#define HEADER_SHORT 24u /* without the size of the segments */
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
      return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is truncated or damaged: it has % bytes, and its header speaks of %", FL_NUMBER(size),
                      FL_NUMBER(described));
    }
    flatbuffer = (size_t)described;
    if (base != 0) {
      if (base < described || base > size || bytes > size - base) {
        return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is truncated or damaged: it has % bytes, and its data needs % + %", FL_NUMBER(size),
                        FL_NUMBER(base), FL_NUMBER(bytes));
      }
      program->segments = (size_t)base;
      program->segments_end = length >= HEADER_LONG ? (size_t)(base + bytes) : size;
    }
  }
  if (flatbuffer > INT32_MAX) {
    return fl_report(error, FL_NOT_SUPPORTED, "the program without its segments has more than 2 GB", NULL);
  }
  program->flatbuffer_size = (uint32_t)flatbuffer;
  program->root = fl_read_u32(file);
  if (program->root < 8 || program->root > program->flatbuffer_size - 4) {
    return FL_ERROR(error, FL_INVALID_PROGRAM, "the file is damaged: its root lies at byte % of %", FL_NUMBER(program->root),
                    FL_NUMBER(program->flatbuffer_size));
  }
  return FL_OK;
}

/* Segments lie within the file, and whatever names a segment names one that exists. */
static fl_status fl_check_segments(const fl_program *program, fl_error *error) {
  const uint8_t *file = program->data;
  const fl_vector segments = fl_child_vector(file, program->root, PROGRAM_SEGMENTS);
  const uint64_t room = program->segments_end - program->segments;
  for (uint32_t i = 0; i < segments.count; ++i) {
    const uint32_t table = fl_element(file, segments, i);
    const uint64_t offset = fl_field_u64(file, table, SEGMENT_OFFSET);
    const uint64_t bytes = fl_field_u64(file, table, SEGMENT_SIZE);
    if (offset > room || bytes > room - offset) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "segment % (% bytes at %) exceeds the file's data of % bytes", FL_NUMBER(i), FL_NUMBER(bytes),
                      FL_NUMBER(offset), FL_NUMBER(room));
    }
  }
  const fl_vector named = fl_child_vector(file, program->root, PROGRAM_NAMED_DATA);
  for (uint32_t i = 0; i < named.count; ++i) {
    const uint32_t table = fl_element(file, named, i);
    const uint32_t segment = fl_field_u32(file, table, NAMED_SEGMENT);
    if (segment >= segments.count) {
      return FL_ERROR(error, FL_INVALID_PROGRAM, "named data '%' lies in segment % of %", FL_TEXT(fl_child_string(file, table, NAMED_KEY)),
                      FL_NUMBER(segment), FL_NUMBER(segments.count));
    }
  }
  const uint32_t constants = fl_child(file, program->root, PROGRAM_CONSTANT_SEGMENT);
  if (fl_child_vector(file, constants, SUBSEGMENT_OFFSETS).count > 1 &&
      (fl_field_u32(file, constants, SUBSEGMENT_INDEX) >= segments.count ||
       fl_child_vector(file, program->root, PROGRAM_CONSTANT_BUFFER).count > 0)) {
    return fl_report(error, FL_INVALID_PROGRAM, "the file's constants lie in a segment that does not exist, or in two places", NULL);
  }
  return FL_OK;
}

fl_status fl_program_load(fl_program *program, const void *data, size_t size, fl_error *error) {
  if (program == NULL) {
    return fl_refuse_null(error);
  }
  memset(program, 0, sizeof *program);
  program->data = (const uint8_t *)data;
  program->size = size;
  fl_status status = FL_OK;
  if (data == NULL || (uintptr_t)data % 16 != 0) {
    status = fl_report(error, FL_INVALID_ARGUMENT, "the program's memory is not aligned to 16 bytes", NULL);
  } else if (size < 16 || memcmp(program->data + 4, "ET", 2) != 0) {
    status = FL_ERROR(error, FL_INVALID_PROGRAM, "this is not a .pte file (% bytes, no \"ET12\" at byte 4)", FL_NUMBER(size));
  } else if (memcmp(program->data + 4, "ET12", 4) != 0) {
    status = fl_report(error, FL_NOT_SUPPORTED, "this .pte file is of another format version than ET12", NULL);
  } else {
    status = fl_read_header(program, error);
  }
  if (status == FL_OK) {
    status = fl_verify(program, error);
  }
  if (status == FL_OK && fl_field_u32(program->data, program->root, PROGRAM_VERSION) > 0) {
    status = FL_ERROR(error, FL_NOT_SUPPORTED, "the program's schema version is %; this runtime knows version 0",
                      FL_NUMBER(fl_field_u32(program->data, program->root, PROGRAM_VERSION)));
  }
  if (status == FL_OK) {
    status = fl_check_segments(program, error);
  }
  fl_plan plan;
  for (uint32_t i = 0; status == FL_OK && fl_plan_open(program, i, &plan); ++i) {
    const fl_status checked = fl_check_plan(&plan, error);
    /* A feature that only another runtime has refuses the method, not the file. */
    status = checked == FL_NOT_SUPPORTED ? FL_OK : checked;
  }
  if (status != FL_OK) {
    memset(program, 0, sizeof *program);
  } else if (error != NULL) {
    error->status = FL_OK;
    error->text[0] = 0;
  }
  return status;
}
