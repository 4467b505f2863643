/* Helpers of the C tests: a check that reports its place when it fails, and programs in memory of exactly their size, so that a sanitizer reports
 * an access of the byte after it. */
#ifndef FLAMBEAU_TEST_H
#define FLAMBEAU_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flambeau/runtime.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #condition);   \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* A runtime that writes numbers is not asked for texts: test_messages.py compares what `tell` prints. */
#ifdef FL_NUMBERED
#define HAS_TEXT(error, part) ((error).text[0] == '#' && (part)[0] != 0)
#else
#define HAS_TEXT(error, part) (strstr((error).text, part) != NULL)
#endif

#define CHECK_TEXT(error, part)                                                                    \
  do {                                                                                             \
    tell(&(error));                                                                                \
    if (!HAS_TEXT(error, part)) {                                                                  \
      fprintf(stderr, "%s:%d: \"%s\" is not in \"%s\"\n", __FILE__, __LINE__, part, (error).text); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

typedef struct loaded {
  uint8_t *file;
  size_t size;
  fl_program program;
  fl_requirements need;
  fl_memory memory;
  fl_method method;
} loaded;

/* Prints the text of an error as a line, if there is an environment variable FLAMBEAU_TELL. */
void tell(const fl_error *error);
/* Returns memory of exactly `size` bytes, aligned to 64. */
void *exact(size_t size);
/* Reads programs/NAME.pte, or the file NAME if it contains a slash. Returns its bytes, and stores their number in `size`. */
uint8_t *read_program(const char *name, size_t *size);
/* Loads programs/NAME.pte. */
void open_program(loaded *l, const char *name);
/* Allocates the memory of `l->need` for a method. */
void provide(loaded *l, uint32_t method);
/* Frees the memory that `provide` allocated. */
void take_back(loaded *l);
/* Loads a program, and measures and initialises its method in new memory. */
void open_method(loaded *l, const char *name, const fl_registry *registry);
void close_method(loaded *l);
void set_floats(loaded *l, uint32_t index, float *data, int32_t *sizes, uint8_t rank);
const float *floats(const loaded *l, uint32_t index);

#endif
