#define _DEFAULT_SOURCE /* mmap */

/* Changes payloads of programs for the backend BACKEND and runs what becomes of them: changed_payloads COUNT SEED program.pte PLACE SIZE ...
 *
 * The payload is refused in one line, or runs; the sanitizers, with which this is compiled, say whether anything else happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flambeau/runtime.h"

extern const fl_backend BACKEND;
static const fl_kernel_table no_kernels = {NULL, 0};
static const fl_backend *const backends[] = {&BACKEND};
const fl_kernel_table *fl_builtin_kernels(void) { return &no_kernels; }
extern const char fl_left_out_kernels[];
const char fl_left_out_kernels[] = "";
const fl_backend *const *fl_builtin_backends(size_t *count) {
  *count = 1;
  return backends;
}

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "%s:%d: %s, seed %llu\n", __FILE__, __LINE__, #condition, (unsigned long long)trial); \
      abort();                                                                   \
    }                                                                            \
  } while (0)

static unsigned long long trial;
static uint64_t state;

static uint32_t draw(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 20) % below);
}

/* Memory that ends where a page begins that nobody may touch: libraries are compiled without the sanitizers. */
static void *exact(size_t bytes) {
  const size_t page = 4096, rounded = (bytes + 15) / 16 * 16, pages = (rounded + page - 1) / page + 1;
  uint8_t *block = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(block != MAP_FAILED && mprotect(block + pages * page, page, PROT_NONE) == 0);
  return block + pages * page - rounded;
}

static void give_back(void *data, size_t bytes) {
  const size_t page = 4096, rounded = (bytes + 15) / 16 * 16, pages = (rounded + page - 1) / page + 1;
  if (data != NULL) {
    CHECK(munmap((uint8_t *)data + rounded - pages * page, (pages + 1) * page) == 0);
  }
}

static uint32_t read_u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

/* Changes a number, mostly one that stands at a multiple of four behind the header. */
static void change(uint8_t *payload, size_t size) {
  static const uint32_t edges[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 64, 255, 65535, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x7fc00000, 0x7f800000};
  const size_t start = draw(8) == 0 ? 0 : 32;
  const size_t at = start + (draw(4) == 0 ? draw((uint32_t)(size - start - 8)) : draw((uint32_t)(size - start - 8)) / 4 * 4);
  uint32_t value = read_u32(payload + at);
  switch (draw(6)) {
    case 0: value = edges[draw(sizeof edges / sizeof *edges)]; break;
    case 1: value += draw(9) - 4; break;
    case 2: value ^= 1u << draw(32); break;
    case 3: value = read_u32(payload + start + draw((uint32_t)(size - start - 8)) / 4 * 4); break;
    case 4: value = (value & 0xffffff00) | draw(64); break;
    default: value = draw(16); break;
  }
  memcpy(payload + at, &value, 1 + draw(4));
}

/* Blocks of the caller: inputs, then outputs. */
static void give_memory(fl_method *method, const fl_program *program, void *blocks[2][8]) {
  for (uint32_t i = 0; i < method->input_count + method->output_count; ++i) {
    const int is_input = i < method->input_count;
    const uint32_t index = is_input ? i : i - method->input_count;
    fl_slot_info slot;
    int32_t sizes[FL_MAX_RANK];
    CHECK(fl_program_slot(program, 0, is_input ? FL_INPUT : FL_OUTPUT, index, &slot, NULL) == FL_OK);
    give_back(blocks[!is_input][index], slot.bytes);
    void *block = blocks[!is_input][index] = exact(slot.bytes);
    if (!is_input) {
      (void)fl_method_set_output(method, index, block, slot.bytes, NULL);
      continue;
    }
    for (uint8_t j = 0; j < slot.rank; ++j) {
      sizes[j] = slot.dynamic && draw(4) == 1 ? (int32_t)draw((uint32_t)slot.sizes[j] + 1) : slot.sizes[j];
    }
    for (size_t j = 0; j + 4 <= slot.bytes; j += 4) {
      const float number = (float)draw(1000) / 250.0f - 2.0f;
      memcpy((uint8_t *)block + j, &number, sizeof number);
    }
    fl_tensor tensor = {.data = block, .sizes = sizes, .dim_order = slot.dim_order, .rank = slot.rank, .dtype = slot.dtype};
    fl_value value = {.tag = FL_TENSOR};
    value.as.tensor = &tensor;
    (void)fl_method_set_input(method, index, &value, NULL);
  }
}

/* 0: refused at load; 1: refused when it ran; 2: it ran. */
static int run(const uint8_t *file, size_t size, fl_error *error) {
  fl_program program;
  fl_requirements need;
  fl_method method;
  int result = 0;
  if (fl_program_load(&program, file, size, error) != FL_OK || fl_method_measure(&program, 0, NULL, &need, error) != FL_OK) {
    return 0;
  }
  void *arenas[8] = {NULL};
  size_t arena_sizes[8] = {0};
  void *blocks[2][8] = {{NULL}};
  CHECK(need.arenas <= 8 && need.method < (size_t)1 << 26);
  if (need.scratch >= (size_t)1 << 26) {
    snprintf(error->text, sizeof error->text, "it needs more memory than there is");
    return 0;
  }
  for (uint32_t i = 0; i < need.arenas; ++i) {
    arena_sizes[i] = fl_program_arena_size(&program, 0, i);
    arenas[i] = exact(arena_sizes[i]);
  }
  need.method = (need.method + 63) / 64 * 64;
  need.scratch = (need.scratch + 63) / 64 * 64;
  const fl_memory memory = {exact(need.method), need.method, arenas, arena_sizes, need.arenas, exact(need.scratch), need.scratch, 0};
  if (fl_method_init(&method, &program, 0, NULL, &memory, error) == FL_OK) {
    CHECK(method.input_count <= 8 && method.output_count <= 8);
    for (int round = 0; round < 3; ++round) {
      give_memory(&method, &program, blocks);
      result = fl_method_execute(&method, error) == FL_OK ? 2 : result == 2 ? 2 : 1;
    }
    fl_method_destroy(&method);
  }
  for (uint32_t i = 0; i < 8; ++i) {
    fl_slot_info slot;
    give_back(arenas[i], arena_sizes[i]);
    for (uint32_t j = 0; j < 2; ++j) {
      if (blocks[j][i] != NULL && fl_program_slot(&program, 0, j == 0 ? FL_INPUT : FL_OUTPUT, i, &slot, NULL) == FL_OK) {
        give_back(blocks[j][i], slot.bytes);
      }
    }
  }
  give_back(memory.method, need.method);
  give_back(memory.scratch, need.scratch);
  return result;
}

int main(int argc, char **argv) {
  unsigned long long results[3] = {0, 0, 0};
  const unsigned long long count = strtoull(argv[1], NULL, 10), seed = strtoull(argv[2], NULL, 10);
  for (int i = 3; i + 2 < argc; i += 3) {
    FILE *file = fopen(argv[i], "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *program = exact(size), *changed = exact(size);
    CHECK(fread(program, 1, size, file) == size);
    fclose(file);
    const size_t at = strtoull(argv[i + 1], NULL, 10), bytes = strtoull(argv[i + 2], NULL, 10);
    CHECK(at < size && bytes <= size - at && bytes > 48);
    fl_error error = {.text = ""};
    trial = 0;
    if (run(program, size, &error) != 2) {
      fprintf(stderr, "%s: %s\n", argv[i], error.text);
      return 1;
    }
    for (trial = seed; trial < seed + count; ++trial) {
      state = (trial + 1) * 0x9e3779b97f4a7c15u;
      memcpy(changed, program, size);
      for (uint32_t changes = 1 + draw(3); changes > 0; --changes) {
        change(changed + at, bytes);
      }
      error.text[0] = 0;
      const int result = run(changed, size, &error);
      CHECK(result == 2 || (error.text[0] != 0 && strchr(error.text, '\n') == NULL));
      ++results[result];
    }
    give_back(program, size);
    give_back(changed, size);
  }
  printf("%llu refused, %llu refused when they ran, %llu ran\n", results[0], results[1], results[2]);
  return 0;
}
