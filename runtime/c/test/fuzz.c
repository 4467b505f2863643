/* Damaged programs: whatever is in a file, loading and running it gives an answer or a reason, and touches no byte that it was not given.
 *
 *     fuzz [ROUNDS [SEED [PROGRAM]]]
 *
 * Each round damages each program of test/programs (or PROGRAM, a name of theirs or a path with a slash) in another way and runs what still
 * loads. Run it under the address and undefined-behaviour sanitizers; with FLAMBEAU_FUZZ_TRACE set, it prints how to repeat each round. */
#include "test/test.h"

static const char *const all[] = {"add", "cond", "delegate", "dynamic", "legacy", "linear", "lists", "map", "scalar", "split", "state", "unplanned"};

/* More than this is a valid wish of a damaged program, and not worth the time. */
#define MEMORY_LIMIT ((size_t)1 << 22)
#define STEPS 200

static uint64_t seed;

static uint32_t draw(uint32_t below) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)((seed >> 16) % below);
}

static void damage(uint8_t *file, size_t *size) {
  static const uint32_t numbers[] = {0, 1, 2, 4, 7, 8, 16, 64, 255, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
  const uint32_t times = 1 + draw(3);
  /* Weights can hardly be wrong: mostly, the part that describes the program is damaged. */
  uint64_t described = *size;
  if (*size >= 40 && memcmp(file + 8, "eh00", 4) == 0) {
    memcpy(&described, file + 16, sizeof described); /* the header's size of the program without its segments */
  }
  for (uint32_t i = 0; i < times; ++i) {
    const uint32_t at = draw((uint32_t)(draw(16) == 0 || described > *size ? *size : described));
    const uint32_t word = at / 4 * 4;
    uint32_t value = 0;
    switch (draw(8)) {
      case 0: file[at] ^= (uint8_t)(1u << draw(8)); break;
      case 1: file[at] = (uint8_t)draw(256); break;
      case 2: file[at] = (uint8_t)draw(16); break;
      case 3:
        if (word + 4 <= *size) {
          memcpy(file + word, &numbers[draw(sizeof numbers / sizeof *numbers)], 4);
        }
        break;
      case 4: /* an offset, an index or a size that is a little off */
        if (word + 4 <= *size) {
          memcpy(&value, file + word, 4);
          value += draw(33) - 16;
          memcpy(file + word, &value, 4);
        }
        break;
      case 5: { /* one part of the file over another */
        const uint32_t from = draw((uint32_t)*size);
        const uint32_t longest = (uint32_t)*size - (from > at ? from : at);
        memmove(file + at, file + from, 1 + draw(longest < 32 ? longest : 32));
        break;
      }
      case 6: /* two fields of a field list change places */
        if (word + 4 <= *size) {
          memcpy(&value, file + word, 4);
          value = value << 16 | value >> 16;
          memcpy(file + word, &value, 4);
        }
        break;
      default:
        if (draw(8) == 0) {
          *size = 1 + draw((uint32_t)*size);
        }
    }
  }
}

static fl_status echo(void *user, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  (void)user;
  (void)handle;
  FL_CHECK(context, count > 0, "nothing to do");
  for (size_t i = 0; i < count; ++i) {
    const fl_tensor *tensor = fl_get_tensor(args[i]);
    if (tensor != NULL && i > 0) {
      memset(tensor->data, 1, fl_numel(tensor) > 0 ? 1 : 0);
    }
  }
  return FL_OK;
}

static fl_status make_nothing(void *user, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  uint8_t sum = 0;
  (void)user;
  (void)persistent;
  (void)message;
  for (size_t i = 0; i < payload->size; ++i) {
    sum = (uint8_t)(sum + ((const uint8_t *)payload->data)[i]);
  }
  for (uint32_t i = 0; i < payload->compile_spec_count; ++i) {
    const fl_compile_spec spec = fl_payload_compile_spec(payload, i);
    for (size_t j = 0; j < spec.size; ++j) {
      sum = (uint8_t)(sum + ((const uint8_t *)spec.value)[j]);
    }
  }
  *handle = NULL;
  return sum == 255 ? FL_DELEGATE_INCOMPATIBLE : FL_OK;
}

static const fl_backend backend = {"Test", NULL, NULL, NULL, make_nothing, echo, NULL};
static const fl_backend *const backends[] = {&backend};

static void set_inputs(loaded *l, void **blocks, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    fl_slot_info slot;
    fl_tensor tensor;
    fl_value value = {.tag = FL_NONE};
    if (fl_program_slot(&l->program, l->method.index, FL_INPUT, i, &slot, NULL) != FL_OK) {
      continue;
    }
    value.tag = slot.tag;
    if (slot.tag == FL_TENSOR && blocks[i] == NULL && slot.bytes < MEMORY_LIMIT) {
      blocks[i] = exact(slot.bytes);
      /* Floats of about 0.75, and integers that are an index into anything. */
      memset(blocks[i], slot.dtype >= FL_FLOAT16 && slot.dtype <= FL_FLOAT64 ? 0x3f : 0, slot.bytes);
    }
    if (slot.tag == FL_TENSOR) {
      int32_t sizes[FL_MAX_RANK];
      if (slot.rank > 0) {
        memcpy(sizes, slot.sizes, slot.rank * sizeof *sizes);
      }
      tensor = (fl_tensor){.data = blocks[i], .sizes = sizes, .dim_order = slot.dim_order, .rank = slot.rank, .dtype = slot.dtype};
      value.as.tensor = &tensor;
      (void)fl_method_set_input(&l->method, i, &value, NULL);
      continue;
    }
    value.as.integer = slot.integer;
    if (slot.tag == FL_DOUBLE) {
      value.as.real = slot.real;
    } else if (slot.tag == FL_STRING) {
      value.as.string = (fl_string){slot.string, (uint32_t)strlen(slot.string)};
    } else if (slot.tag == FL_BOOLEAN) {
      value.as.boolean = slot.integer != 0;
    }
    (void)fl_method_set_input(&l->method, i, &value, NULL);
  }
}

/* Nonzero when the method ran to its end. */
static int run(loaded *l, uint32_t index, const fl_registry *registry) {
  fl_method_info info;
  fl_error error;
  memset(&l->memory, 0, sizeof l->memory);
  memset(&l->method, 0, sizeof l->method);
  if (fl_program_method_info(&l->program, index, &info, &error) != FL_OK ||
      fl_method_measure(&l->program, index, registry, &l->need, &error) != FL_OK || l->need.planned > MEMORY_LIMIT ||
      l->need.method > MEMORY_LIMIT || l->need.scratch > MEMORY_LIMIT) {
    return 0;
  }
  int done = 0;
  void **blocks = calloc((size_t)info.inputs + info.outputs + 1, sizeof *blocks);
  CHECK(blocks != NULL);
  provide(l, index);
  if (fl_method_init(&l->method, &l->program, index, registry, &l->memory, &error) == FL_OK) {
    l->method.instruction_limit = STEPS;
    for (uint32_t i = 0; i < info.outputs; ++i) {
      fl_slot_info slot;
      if (fl_program_slot(&l->program, index, FL_OUTPUT, i, &slot, &error) == FL_OK && slot.tag == FL_TENSOR && !slot.planned &&
          slot.bytes < MEMORY_LIMIT) {
        blocks[info.inputs + i] = exact(slot.bytes);
        (void)fl_method_set_output(&l->method, i, blocks[info.inputs + i], slot.bytes, &error);
      }
    }
    for (int round = 0; round < 2; ++round) {
      set_inputs(l, blocks, info.inputs);
      done = fl_method_execute(&l->method, &error) == FL_OK;
      CHECK(done || (error.status != FL_OK && error.text[0] != 0));
      fl_method_reset(&l->method);
    }
  }
  fl_method_destroy(&l->method);
  take_back(l);
  for (uint32_t i = 0; i < info.inputs + info.outputs; ++i) {
    free(blocks[i]);
  }
  free(blocks);
  return done;
}

int main(int argc, char **argv) {
  const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 300;
  const fl_kernel_table *const tables[] = {fl_builtin_kernels()};
  const fl_registry registry = {tables, 1, backends, 1};
  const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char *const *programs = argc > 3 ? (const char *const *)(argv + 3) : all;
  const size_t count = argc > 3 ? 1 : sizeof all / sizeof *all;
  uint32_t loads = 0;
  uint32_t runs = 0;
  uint32_t files = 0;
  for (size_t p = 0; p < count; ++p) {
    size_t whole = 0;
    uint8_t *original = read_program(programs[p], &whole);
    for (long round = 0; round < rounds; ++round) {
      /* Each file follows from its own seed, so that one failure can be run alone: fuzz 1 SEED PROGRAM. */
      seed = (first + (uint64_t)round) * 0x9e3779b97f4a7c15u + 1;
      if (getenv("FLAMBEAU_FUZZ_TRACE") != NULL) {
        fprintf(stderr, "fuzz 1 %llu %s\n", (unsigned long long)(first + (uint64_t)round), programs[p]);
      }
      loaded l;
      fl_error error;
      memset(&l, 0, sizeof l);
      l.size = whole;
      uint8_t *copy = (uint8_t *)exact(whole);
      memcpy(copy, original, whole);
      damage(copy, &l.size);
      l.file = (uint8_t *)exact(l.size);
      memcpy(l.file, copy, l.size);
      ++files;
      if (fl_program_load(&l.program, l.file, l.size, &error) == FL_OK) {
        ++loads;
        for (uint32_t i = 0; i < fl_program_method_count(&l.program) && i < 4; ++i) {
          runs += (uint32_t)run(&l, i, &registry);
        }
      } else {
        CHECK(error.status != FL_OK && error.text[0] != 0);
      }
      free(copy);
      free(l.file);
    }
    free(original);
  }
  printf("%u damaged files: %u loaded, %u ran to the end\n", files, loads, runs);
  return 0;
}
