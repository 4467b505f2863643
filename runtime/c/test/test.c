/* Implements the helpers of test.h: programs loaded from files, their memory, inputs and outputs. */
#define _POSIX_C_SOURCE 200112L

#include "test/test.h"

void tell(const fl_error *error) {
  if (getenv("FLAMBEAU_TELL") != NULL) {
    printf("%s\n", error->text);
    fflush(stdout);
  }
}

void *exact(size_t size) {
  void *memory = NULL;
  CHECK(posix_memalign(&memory, 64, size > 0 ? size : 1) == 0);
  return memory;
}

uint8_t *read_program(const char *name, size_t *size) {
  char path[512];
  snprintf(path, sizeof path, strstr(name, ".pte") != NULL ? "%s" : FL_TEST_PROGRAMS "/%s.pte", name);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t *data = (uint8_t *)exact(*size);
  CHECK(fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

void open_program(loaded *l, const char *name) {
  fl_error error;
  memset(l, 0, sizeof *l);
  l->file = read_program(name, &l->size);
  if (fl_program_load(&l->program, l->file, l->size, &error) != FL_OK) {
    fprintf(stderr, "%s: %s\n", name, error.text);
    exit(1);
  }
}

void provide(loaded *l, uint32_t method) {
  void **arenas = calloc(l->need.arenas + 1, sizeof *arenas);
  size_t *sizes = calloc(l->need.arenas + 1, sizeof *sizes);
  CHECK(arenas != NULL && sizes != NULL);
  for (uint32_t i = 0; i < l->need.arenas; ++i) {
    sizes[i] = fl_program_arena_size(&l->program, method, i);
    arenas[i] = exact(sizes[i]);
  }
  l->memory = (fl_memory){exact(l->need.method), l->need.method, arenas, sizes, l->need.arenas, exact(l->need.scratch), l->need.scratch, 0};
}

void open_method(loaded *l, const char *name, const fl_registry *registry) {
  fl_error error;
  open_program(l, name);
  if (fl_method_measure(&l->program, 0, registry, &l->need, &error) != FL_OK) {
    fprintf(stderr, "%s: %s\n", name, error.text);
    exit(1);
  }
  provide(l, 0);
  CHECK(fl_method_init(&l->method, &l->program, 0, registry, &l->memory, &error) == FL_OK);
}

void take_back(loaded *l) {
  for (uint32_t i = 0; i < l->memory.arena_count; ++i) {
    free(l->memory.arenas[i]);
  }
  free((void *)l->memory.arenas);
  free((void *)l->memory.arena_sizes);
  free(l->memory.method);
  free(l->memory.scratch);
}

void close_method(loaded *l) {
  fl_method_destroy(&l->method);
  take_back(l);
  free(l->file);
}

void set_floats(loaded *l, uint32_t index, float *data, int32_t *sizes, uint8_t rank) {
  fl_error error;
  fl_tensor tensor = {.data = data, .sizes = sizes, .rank = rank, .dtype = FL_FLOAT32};
  const fl_value value = {.as.tensor = &tensor, .tag = FL_TENSOR};
  if (fl_method_set_input(&l->method, index, &value, &error) != FL_OK) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

const float *floats(const loaded *l, uint32_t index) { return (const float *)fl_method_output(&l->method, index)->as.tensor->data; }
