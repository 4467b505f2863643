/* Loads a program and runs it in memory of exactly the sizes that it asks for. */
#ifndef FLAMBEAU_TEST_FUZZ_TRIAL_H
#define FLAMBEAU_TEST_FUZZ_TRIAL_H

#include "test/fuzz_mutate.h"
#include "test/test.h"

typedef struct trial {
  int is_loaded;     /* the program was accepted */
  int is_executed;   /* an execution began */
  int has_ended;     /* an execution came to its end */
  uint64_t results;  /* digest of all outputs and messages */
} trial;

/* Runs a method twice on inputs that follow from `c`, some of them lent, in memory that holds the byte `fill` before; of a program of several
 * methods, two in turn, which share what they can. State is read and written between executions. */
trial try_program(const uint8_t *file, size_t size, chance c, uint8_t fill);
/* Nonzero when the outputs of a loaded program may be anything: it names an operator that leaves its result as it finds it. */
int may_differ(const uint8_t *file, size_t size);

#endif
