/* Loads a .pte file that is not trusted, with every check that a file must pass. */
#include "core/schema.h"

/* Checks that segments lie within the file, and that named data and constants lie in existing segments. */
static fl_status fl_check_segments(const fl_program *program, fl_error *error) {
  const fl_vector segments = fl_child_vector(program->root, PROGRAM_SEGMENTS);
  const size_t room = program->segments_end - program->segments;
  for (uint32_t i = 0; i < fl_length(segments); ++i) {
    const fl_table table = fl_element(segments, i);
    const uint64_t offset = fl_field_u64(table, SEGMENT_OFFSET);
    const uint64_t bytes = fl_field_u64(table, SEGMENT_SIZE);
    if (offset > room || bytes > room - offset) {
      return FL_ERROR(error, SEGMENT_BEYOND, FL_NUMBER(i), FL_LONG(bytes), FL_LONG(offset), FL_NUMBER(room));
    }
  }
  const fl_vector named = fl_child_vector(program->root, PROGRAM_NAMED_DATA);
  for (uint32_t i = 0; i < fl_length(named); ++i) {
    const fl_table table = fl_element(named, i);
    const uint32_t segment = fl_field_u32(table, NAMED_SEGMENT);
    if (segment >= fl_length(segments)) {
      return FL_ERROR(error, NAMED_DATA_BEYOND, FL_TEXT(fl_child_string(table, NAMED_KEY)), FL_NUMBER(segment), FL_NUMBER(fl_length(segments)));
    }
  }
  const fl_table constants = fl_child(program->root, PROGRAM_CONSTANT_SEGMENT);
  if (fl_length(fl_child_vector(constants, SUBSEGMENT_OFFSETS)) > 1 &&
      (fl_field_u32(constants, SUBSEGMENT_INDEX) >= fl_length(segments) ||
       fl_length(fl_child_vector(program->root, PROGRAM_CONSTANT_BUFFER)) > 0)) {
    return FL_ERROR(error, CONSTANTS_BEYOND);
  }
  return FL_OK;
}

static const struct fl_checks checks = {fl_check_plan, fl_check_signature, fl_check_outputs, fl_check_liveness};

fl_status fl_program_load(fl_program *program, const void *data, size_t size, fl_error *error) {
  fl_status status = fl_open_file(program, data, size, error);
  if (status != FL_OK) {
    return status;
  }
  program->checks = &checks;
  status = fl_verify(program, error);
  const uint32_t version = status == FL_OK ? fl_field_u32(program->root, PROGRAM_VERSION) : 0;
  if (version > 0) {
    status = FL_ERROR(error, OTHER_SCHEMA, FL_NUMBER(version));
  }
  if (status == FL_OK) {
    status = fl_check_segments(program, error);
  }
  if (status == FL_OK) {
    status = fl_check_names(program, error);
  }
  fl_plan plan;
  for (uint32_t i = 0; status == FL_OK && fl_plan_open(program, i, &plan); ++i) {
    plan.origin.error = error;
    const fl_status checked = fl_check_plan(&plan);
    /* A method that needs a feature of another runtime cannot be initialised; the file's other methods can. */
    status = checked == FL_NOT_SUPPORTED ? FL_OK : checked;
  }
  if (status != FL_OK) {
    memset(program, 0, sizeof *program);
  } else {
    fl_clear(error);
  }
  return status;
}
