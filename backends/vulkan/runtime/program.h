/* Reads a payload: payload.py describes it. No field is trusted. */
#ifndef FLAMBEAU_VULKAN_PROGRAM_H
#define FLAMBEAU_VULKAN_PROGRAM_H

#include "flambeau/backend.h"
#include "flambeau/flatbuffer.h"

enum { FLOAT32, FLOAT16, INT8, ELEMENT_TYPES };
enum { MOST_BINDINGS = 8, MOST_CONSTANTS = 32, MOST_PUSHED = 32, MOST_GROUPS = 65535, VALUE_ALIGNMENT = 256 };

/* Vectors of the payload. */
typedef struct program_list {
  uint32_t first; /* where the first element is */
  uint32_t count;
} program_list;

typedef struct program {
  const fl_payload *payload;
  fl_flatbuffer in;
  uint64_t memory;
  program_list inputs, outputs, values, operators, modules, pipelines, calls;
} program;

/* A tensor: where its bytes lie in the block of memory. */
typedef struct program_value {
  uint64_t offset;
  uint64_t bytes;
  uint32_t element; /* the number of its elements' type */
  program_list shape; /* of 8 bytes each */
} program_value;

typedef struct program_module {
  const uint32_t *words;
  int stores_halves; /* whether it needs 16-bit storage */
  size_t count;
} program_module;

typedef struct program_pipeline {
  uint32_t module;
  uint32_t constant_count;
  uint32_t constants[MOST_CONSTANTS];
} program_pipeline;

typedef struct program_call {
  uint32_t pipeline;
  uint32_t binding_count;
  uint32_t values[MOST_BINDINGS];
  uint32_t pushed_count;
  uint32_t pushed[MOST_PUSHED];
  uint32_t groups[3];
  int waits; /* whether it reads or overwrites what a dispatch before it wrote or read */
} program_call;

/* Opens a payload, and checks its values, modules, pipelines and calls. */
fl_status fl_vulkan_read(const fl_payload *payload, program *p);
/* These read an element that exists. */
fl_status fl_vulkan_read_value(const program *p, uint32_t index, program_value *value);
fl_status fl_vulkan_read_module(const program *p, uint32_t index, program_module *module);
fl_status fl_vulkan_read_pipeline(const program *p, uint32_t index, program_pipeline *pipeline);
fl_status fl_vulkan_read_call(const program *p, uint32_t index, program_call *call);
/* Returns the name of the operator of a dispatch, for people, and stores its number; "" if it says none. */
const char *fl_vulkan_operator_of(const program *p, uint32_t index, uint32_t *number);
/* Returns the number at `index` of a list of 4 bytes each. */
uint32_t fl_vulkan_at(const program *p, program_list list, uint32_t index);
/* Copies the bytes of the constants to where their values lie in `memory`, the block of all. */
fl_status fl_vulkan_copy_constants(const program *p, uint8_t *memory);

#endif
