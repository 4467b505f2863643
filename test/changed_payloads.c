#define _DEFAULT_SOURCE /* mmap */

/* Runs programs for the backend BACKEND in many ways: changed_payloads MODE COUNT SEED program.pte PLACE SIZE ...
 *
 * payloads: with bytes of the payload changed; it is refused in one line, or runs. The sanitizers, with which this may be compiled, say whether
 *   anything else happens.
 * sizes: as it is, at several sizes one after the other; each result is that of a method which runs nothing before.
 * allocations: as it is, while allocations of the backend's library fail; it is refused in one line, or its results are right. With VENDOR only.
 *
 * VENDOR, the end of the path of the backend's library, puts a page that nobody may touch behind each block that the library allocates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flambeau/runtime.h"
#ifdef VENDOR
#include "vendor_memory.h"
#endif

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
      fprintf(stderr, "%s:%d: %s, %s, seed %llu\n", __FILE__, __LINE__, #condition, name, trial); \
      abort();                                                                   \
    }                                                                            \
  } while (0)

static const char *name = "";
static unsigned long long trial, executions;
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

static void take_back(void) {
#ifdef VENDOR
  vendor_take_back();
#endif
}

/* The library's allocations fail from the one that is drawn, one of them or all. */
static void draw_failure(unsigned long asked) {
#ifdef VENDOR
  const unsigned long first = draw((uint32_t)asked + 1);
  vendor_fail(first, draw(2) == 0 ? 1 : asked + 1);
#else
  (void)asked;
#endif
}

static void end_failure(void) {
#ifdef VENDOR
  vendor_fail(0, 0);
#endif
}

static unsigned long asked(void) {
#ifdef VENDOR
  return vendor_asked();
#else
  return 0;
#endif
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

/* Returns a number of an element type, or bytes of any other. */
static void fill(void *block, size_t bytes, int8_t dtype) {
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    const float number = (float)draw(1000) / 250.0f - 2.0f;
    const uint16_t halves[2] = {(uint16_t)(0x3400 + draw(0x0a00)), (uint16_t)(0xb400 + draw(0x0a00))}; /* 0.25 to 1.5, and its negatives */
    memcpy((uint8_t *)block + i, dtype == FL_FLOAT16 ? (const void *)halves : (const void *)&number, 4);
  }
}

/* Returns a size up to the largest: mostly one that programs take. */
static int32_t draw_size(int32_t most) {
  switch (draw(8)) {
    case 0: return 1;
    case 1: return (int32_t)draw((uint32_t)most + 1);
    case 2: return 1 + (int32_t)draw((uint32_t)most);
    default: return most;
  }
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
      sizes[j] = slot.dynamic ? draw_size(slot.sizes[j]) : slot.sizes[j];
    }
    fill(block, slot.bytes, slot.dtype);
    fl_tensor tensor = {.data = block, .sizes = sizes, .dim_order = slot.dim_order, .rank = slot.rank, .dtype = slot.dtype};
    fl_value value = {.tag = FL_TENSOR};
    value.as.tensor = &tensor;
    (void)fl_method_set_input(method, index, &value, NULL);
  }
}

/* Returns a number that depends on all bytes of the outputs, and is not 0. */
static uint64_t digest(const fl_method *method, const fl_program *program, void *blocks[2][8]) {
  uint64_t result = 1;
  for (uint32_t i = 0; i < method->output_count; ++i) {
    fl_slot_info slot;
    CHECK(fl_program_slot(program, 0, FL_OUTPUT, i, &slot, NULL) == FL_OK);
    for (size_t j = 0; j < slot.bytes; ++j) {
      result = (result ^ ((const uint8_t *)blocks[1][i])[j]) * 0x100000001b3u;
    }
  }
  return result | 1;
}

enum { ROUNDS = 3 };

/* Runs a program `count` times, with the sizes and numbers of the seeds. Stores the digest of each run's outputs, 0 where it was refused, in `digests`.
 * Returns 0: refused at load; 1: refused when it ran; 2: it ran. */
static int run(const uint8_t *file, size_t size, const uint64_t *seeds, int count, uint64_t *digests, fl_error *error) {
  fl_program program;
  fl_requirements need;
  fl_method method;
  int result = 0;
  memset(digests, 0, (size_t)count * sizeof *digests);
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
    result = 1;
    for (int round = 0; round < count; ++round) {
      state = seeds[round];
      give_memory(&method, &program, blocks);
      ++executions;
      if (fl_method_execute(&method, error) == FL_OK) {
        digests[round] = digest(&method, &program, blocks);
        result = 2;
      }
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

/* A program and the place of its payload. */
typedef struct subject {
  const uint8_t *file;
  uint8_t *changed; /* room for a copy */
  size_t size, at, bytes;
} subject;

/* Each returns what `run` returns. */
static int try_payload(const subject *subject, const uint64_t *seeds, fl_error *error) {
  uint64_t digests[ROUNDS];
  memcpy(subject->changed, subject->file, subject->size);
  for (uint32_t changes = 1 + draw(3); changes > 0; --changes) {
    change(subject->changed + subject->at, subject->bytes);
  }
  return run(subject->changed, subject->size, seeds, ROUNDS, digests, error);
}

/* Runs a program alone at each of the sizes. */
static void run_alone(const subject *subject, const uint64_t *seeds, uint64_t *digests) {
  fl_error error;
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(run(subject->file, subject->size, &seeds[round], 1, &digests[round], &error) != 0);
  }
}

static int try_sizes(const subject *subject, const uint64_t *seeds, fl_error *error) {
  uint64_t alone[ROUNDS], after[ROUNDS];
  run_alone(subject, seeds, alone);
  const int result = run(subject->file, subject->size, seeds, ROUNDS, after, error);
  CHECK(result != 0 && memcmp(alone, after, sizeof alone) == 0);
  return result;
}

static int try_allocations(const subject *subject, const uint64_t *seeds, fl_error *error) {
  uint64_t alone[ROUNDS], failing[ROUNDS];
  run_alone(subject, seeds, alone);
  end_failure();
  CHECK(run(subject->file, subject->size, seeds, ROUNDS, failing, error) != 0);
  draw_failure(asked());
  error->text[0] = 0;
  const int result = run(subject->file, subject->size, seeds, ROUNDS, failing, error);
  end_failure();
  for (int round = 0; round < ROUNDS; ++round) {
    CHECK(failing[round] == 0 || failing[round] == alone[round]);
  }
  return result;
}

static const struct {
  const char *name;
  int (*attempt)(const subject *subject, const uint64_t *seeds, fl_error *error);
} modes[] = {{"payloads", try_payload}, {"sizes", try_sizes}, {"allocations", try_allocations}};

static void seed(unsigned long long number) { state = (number + 1) * 0x9e3779b97f4a7c15u; }

int main(int argc, char **argv) {
  unsigned long long results[3] = {0, 0, 0};
  size_t mode = 0;
  while (mode < sizeof modes / sizeof *modes && strcmp(argv[1], modes[mode].name) != 0) {
    ++mode;
  }
  CHECK(mode < sizeof modes / sizeof *modes);
  const unsigned long long count = strtoull(argv[2], NULL, 10), first = strtoull(argv[3], NULL, 10);
  for (int i = 4; i + 2 < argc; i += 3) {
    FILE *file = fopen(argv[i], "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *program = exact(size);
    CHECK(fread(program, 1, size, file) == size);
    fclose(file);
    const subject subject = {program, exact(size), size, strtoull(argv[i + 1], NULL, 10), strtoull(argv[i + 2], NULL, 10)};
    CHECK(subject.at < size && subject.bytes <= size - subject.at && subject.bytes > 48);
    fl_error error = {.text = ""};
    uint64_t seeds[ROUNDS] = {1, 2, 3}, digests[ROUNDS];
    name = argv[i];
    trial = 0;
    if (run(program, size, seeds, ROUNDS, digests, &error) == 0) {
      fprintf(stderr, "%s: %s\n", argv[i], error.text);
      return 1;
    }
#ifdef VENDOR
    if (i == 4) {
      CHECK(vendor_find(VENDOR) && run(program, size, seeds, ROUNDS, digests, &error) != 0);
      vendor_keep();
    }
#endif
    for (trial = first; trial < first + count; ++trial) {
      seed(trial);
      for (int round = 0; round < ROUNDS; ++round) {
        seeds[round] = ((uint64_t)draw(UINT32_MAX) << 32) | draw(UINT32_MAX) | 1;
      }
      error.text[0] = 0;
      const int result = modes[mode].attempt(&subject, seeds, &error);
      CHECK(result == 2 || (error.text[0] != 0 && strchr(error.text, '\n') == NULL));
      ++results[result];
      take_back();
    }
    give_back(program, size);
    give_back(subject.changed, size);
  }
  printf("%llu refused, %llu refused when they ran, %llu ran: %llu executions\n", results[0], results[1], results[2], executions);
  return 0;
}
