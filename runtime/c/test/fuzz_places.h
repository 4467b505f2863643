/* The fields of a program that the fuzz test changes, by kind. */
#ifndef FLAMBEAU_TEST_FUZZ_PLACES_H
#define FLAMBEAU_TEST_FUZZ_PLACES_H

#include "core/schema.h"
#include "test/fuzz_mutate.h"

enum kind {
  SLOT,      /* int32, a value's index: an argument, an item of a list, a side of a move, a condition */
  PORT,      /* the same in the lists of inputs and outputs */
  LONG_SLOT, /* int64, the same in a list of integers */
  SIZE,      /* int32, a size of a tensor */
  ORDER,     /* two bytes next to each other in a dim order */
  RANK,      /* a tensor with at least one dimension */
  DTYPE,     /* byte */
  DYNAMISM,  /* byte */
  INTEGER,   /* int64, a number of the program */
  REAL,      /* double */
  BOOLEAN,   /* byte */
  ARENA,     /* uint32 */
  OFFSET,    /* uint32, a tensor's in its arena */
  MEMORY,    /* int64, size of an arena */
  BUFFER,    /* uint32, index of a constant */
  JUMP,      /* int32, destination */
  TARGET,    /* int32, operator or delegate */
  LENGTH,    /* uint32, of a list */
  REFERENCE, /* uint32, distance to a table or list; others of its group may stand in its place */
  TAG,       /* byte, kind of a value or of an instruction */
  CONTENT,   /* byte of a string, a constant or a payload */
  STEP,      /* an instruction, which may become another */
  PLANNED,   /* a tensor in an arena */
  KINDS
};

enum group { NO_GROUP, INDICES, LONG_INDICES, SIZES, ORDERS, INSTRUCTIONS, VALUES, OPERATORS, TABLES };

typedef struct place {
  uint32_t at;
  uint8_t kind;
  uint8_t group; /* REFERENCE: enum group, for tables with the tag of what they hold added */
} place;

struct fuzz_places {
  place *all;
  uint32_t count;
  uint32_t capacity;
  uint32_t starts[KINDS + 1]; /* of each kind, once sorted */
  struct {
    uint32_t value; /* table */
    uint32_t tag;   /* position */
  } *values;
  uint32_t value_count;
  uint32_t *tensors;          /* tables */
  uint32_t tensor_count;
};

/* The mutator counts positions in a file; 0 is none. */
typedef struct vector {
  uint32_t at; /* of the first element */
  uint32_t count;
} vector;

static inline uint32_t position(const uint8_t *file, const uint8_t *place) { return place == NULL ? 0 : (uint32_t)(place - file); }

static inline uint32_t field_at(const uint8_t *file, uint32_t table, uint32_t id) { return position(file, fl_field(table == 0 ? NULL : file + table, id)); }

static inline uint32_t child_at(const uint8_t *file, uint32_t table, uint32_t id) { return position(file, fl_child(table == 0 ? NULL : file + table, id)); }

static inline vector vector_at(const uint8_t *file, uint32_t table, uint32_t id) {
  const uint32_t at = child_at(file, table, id);
  return at == 0 ? (vector){0, 0} : (vector){at + 4, fl_read_u32(file + at)};
}

static inline uint32_t element_at(const uint8_t *file, vector list, uint32_t index) { return position(file, fl_element(file + list.at - 4, index)); }

#endif
