/* Loads a program and runs it in memory of exactly the sizes that it asks for. */
#ifndef FLAMBEAU_TEST_FUZZ_TRIAL_H
#define FLAMBEAU_TEST_FUZZ_TRIAL_H

#include "test/fuzz_mutate.h"
#include "test/test.h"

typedef struct trial {
  int is_loaded;     /* 1: the program was accepted */
  int is_executed;   /* 1: an execution began */
  int has_ended;     /* 1: an execution ended without an error */
  uint64_t results;  /* digest of all outputs and messages */
} trial;

/* Runs a method twice on inputs that follow from `c`, some of them lent, in memory filled with the byte `fill`. Of a program with several methods,
 * runs two in turn, which share arenas. Reads and writes state between executions. */
trial try_program(const uint8_t *file, size_t size, chance c, uint8_t fill);
/* Returns nonzero when the outputs of a loaded program are undefined, because it has an operator that does not write its result. */
int may_differ(const uint8_t *file, size_t size);

#endif
