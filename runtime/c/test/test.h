/* What the C tests share: a check that says where it failed, and programs in memory of exactly their size, so that a sanitizer sees a
 * byte too far. */
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

#define CHECK_TEXT(error, part)                                                                    \
  do {                                                                                             \
    if (strstr((error).text, part) == NULL) {                                                      \
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

/* Memory of exactly `size` bytes, aligned to 64. */
void *exact(size_t size);
/* programs/NAME.pte, or the file NAME when that has a slash. */
uint8_t *read_program(const char *name, size_t *size);
/* Loads programs/NAME.pte. */
void open_program(loaded *l, const char *name);
/* Provides what `need` asks for. */
void provide(loaded *l, uint32_t method);
/* Frees what was provided. */
void take_back(loaded *l);
/* open_program, measure, provide, init. */
void open_method(loaded *l, const char *name, const fl_registry *registry);
void close_method(loaded *l);
void set_floats(loaded *l, uint32_t index, float *data, int32_t *sizes, uint8_t rank);
const float *floats(const loaded *l, uint32_t index);

#endif
