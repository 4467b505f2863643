/* Tests kernels with operands of any kind: for any argument, a kernel works or reports an error, and reads no memory outside of its operands.
 *
 *     operands_test [FOLDER]...
 *
 * Each call of each program of test/programs and of the folders is made without the checks of the executor, with each argument replaced by a
 * value of each kind; the first call of each kernel is made with every two arguments replaced. Run it under the sanitizers: a number used as a
 * tensor, or a string used as a list, is an invalid address. */
#define _DEFAULT_SOURCE

#include <dirent.h>

#include "core/schema.h"
#include "test/test.h"

#define MOST_ARGUMENTS 32
#define MOST_KERNELS 1024
#define SCRATCH_LIMIT ((size_t)1 << 20)

static struct {
  const fl_kernel *met[MOST_KERNELS];
  size_t met_count;
  size_t calls;
  size_t refused;
} done;

/* ---- Values of each kind ---- */

#define NUMBER(n) {.as.integer = (n), .tag = FL_INT}
#define STRING(text) {.as.string = {(text), sizeof(text) - 1}, .tag = FL_STRING}
#define LIST(kind, array) {.as.list = {(array), sizeof(array) / sizeof *(array)}, .tag = (kind)}
#define TENSOR(name, type, memory, rank_)                                                                                     \
  static fl_tensor name = {.data = (memory), .sizes = sizes, .strides = strides, .dim_order = order, .bounds = sizes,         \
                           .capacity = sizeof(memory), .rank = (rank_), .dtype = (type)}

static int32_t sizes[] = {2, 1};
static int32_t strides[] = {1, 1};
static const uint8_t order[] = {0, 1};
static float reals[2];
static double doubles[2] = {3};
static int64_t integers[2] = {0, 1};
static uint8_t bools[2] = {1};
TENSOR(row, FL_FLOAT32, reals, 1);
TENSOR(matrix, FL_FLOAT32, reals, 2);
TENSOR(real, FL_FLOAT64, doubles, 0);
TENSOR(indices, FL_INT64, integers, 1);
TENSOR(mask, FL_BOOL, bools, 1);

static fl_value row_value = {.as.tensor = &row, .tag = FL_TENSOR};
static fl_value indices_value = {.as.tensor = &indices, .tag = FL_TENSOR};
static fl_value zero = NUMBER(0);
static fl_value one = NUMBER(1);
static fl_value half = {.as.real = 0.5, .tag = FL_DOUBLE};
static fl_value *numbers[] = {&zero, &one};
static fl_value *not_all_integers[] = {&zero, &half}; /* an instruction may write an item */
static fl_value *tensors[] = {&row_value, &row_value};
static fl_value *optional_tensors[] = {NULL, &indices_value};

static const fl_value others[] = {
    {.tag = FL_NONE},
    {.as.tensor = &row, .tag = FL_TENSOR},
    {.as.tensor = &matrix, .tag = FL_TENSOR},
    {.as.tensor = &real, .tag = FL_TENSOR},
    {.as.tensor = &indices, .tag = FL_TENSOR},
    {.as.tensor = &mask, .tag = FL_TENSOR},
    STRING(""),
    STRING("none"),
    STRING("a sentence that a program says"),
    {.as.real = 1.5, .tag = FL_DOUBLE},
    NUMBER(0),
    NUMBER(6), /* an address, if it were one */
    {.as.boolean = 1, .tag = FL_BOOLEAN},
    LIST(FL_BOOL_LIST, bools),
    LIST(FL_DOUBLE_LIST, doubles),
    LIST(FL_INT_LIST, numbers),
    LIST(FL_INT_LIST, not_all_integers),
    LIST(FL_TENSOR_LIST, tensors),
    LIST(FL_OPTIONAL_TENSOR_LIST, optional_tensors),
    {.as.list = {NULL, 0}, .tag = FL_TENSOR_LIST},
};
#define OTHERS ((int)(sizeof others / sizeof *others))

/* ---- Calls ---- */

/* The memory blocks of one call. */
static void *blocks[256];
static size_t block_count;

static void *copied(const void *data, size_t size) {
  CHECK(block_count < sizeof blocks / sizeof *blocks);
  void *block = blocks[block_count++] = exact(size);
  if (size > 0) {
    memcpy(block, data, size);
  }
  return block;
}

/* Returns a copy of a value with its own memory, so that an out overlaps no operand. */
static fl_value copy_of(fl_value value) {
  if (value.tag == FL_TENSOR) {
    value.as.tensor = copied(value.as.tensor, sizeof *value.as.tensor);
    value.as.tensor->data = copied(value.as.tensor->data, value.as.tensor->capacity);
  } else if (value.tag == FL_TENSOR_LIST || value.tag == FL_OPTIONAL_TENSOR_LIST) {
    fl_value **items = copied(value.as.list.items, value.as.list.count * sizeof(fl_value *));
    for (uint32_t i = 0; i < value.as.list.count; ++i) {
      if (items[i] != NULL) {
        const fl_value item = copy_of(*items[i]);
        items[i] = copied(&item, sizeof item);
      }
    }
    value.as.list.items = items;
  }
  return value;
}

/* Calls a kernel with up to two arguments replaced: `places` of them by the values of others[] that `chosen` has. */
static void call_kernel(const fl_instruction *instruction, const uint32_t *places, const int *chosen, int replaced) {
  const fl_kernel *kernel = instruction->on.kernel;
  fl_value values[MOST_ARGUMENTS];
  fl_value *given[MOST_ARGUMENTS];
  fl_random random = {0, 0};
  fl_context context = {.random = &random};
  for (uint32_t i = 0; i < instruction->count; ++i) {
    /* A value that is passed twice, as an out and as the returned value, stays one value. */
    uint32_t first = 0;
    while (instruction->to.args[first] != instruction->to.args[i]) {
      ++first;
    }
    values[i] = *instruction->to.args[i];
    given[i] = &values[first];
  }
  for (int i = 0; i < replaced; ++i) {
    values[places[i]] = copy_of(others[chosen[i]]);
    given[places[i]] = &values[places[i]];
  }
  const size_t scratch = kernel->scratch == NULL ? 0 : kernel->scratch(given, instruction->count);
  if (scratch <= SCRATCH_LIMIT) {
    context.scratch = scratch > 0 ? blocks[block_count++] = exact(scratch) : NULL;
    context.scratch_size = scratch;
    const fl_status status = kernel->run(&context, given, instruction->count);
    CHECK(status == FL_OK || context.message != NULL);
    ++done.calls;
    done.refused += status != FL_OK;
  }
  while (block_count > 0) {
    free(blocks[--block_count]);
  }
}

static int is_new(const fl_kernel *kernel) {
  for (size_t i = 0; i < done.met_count; ++i) {
    if (done.met[i] == kernel) {
      return 0;
    }
  }
  CHECK(done.met_count < MOST_KERNELS);
  done.met[done.met_count++] = kernel;
  return 1;
}

static void try_call(const fl_instruction *instruction) {
  uint32_t places[2];
  int chosen[2];
  CHECK(instruction->count <= MOST_ARGUMENTS);
  const int both = is_new(instruction->on.kernel);
  for (places[0] = 0; places[0] < instruction->count; ++places[0]) {
    for (chosen[0] = 0; chosen[0] < OTHERS; ++chosen[0]) {
      call_kernel(instruction, places, chosen, 1);
      for (places[1] = both ? places[0] + 1 : instruction->count; places[1] < instruction->count; ++places[1]) {
        for (chosen[1] = 0; chosen[1] < OTHERS; ++chosen[1]) {
          call_kernel(instruction, places, chosen, 2);
        }
      }
    }
  }
}

/* ---- Programs ---- */

static void try_method(loaded *l, uint32_t index) {
  fl_error error;
  if (fl_method_measure(&l->program, index, NULL, &l->need, &error) != FL_OK) {
    return;
  }
  provide(l, index);
  if (fl_method_init(&l->method, &l->program, index, NULL, &l->memory, &error) == FL_OK) {
    void *lent[64];
    size_t count = 0;
    for (fl_tensor *t = l->method.tensors; (void *)t < (void *)l->method.instructions; ++t) {
      if (t->data == NULL) { /* the caller's, or a view */
        CHECK(count < sizeof lent / sizeof *lent);
        t->data = lent[count++] = exact(t->capacity);
        memset(t->data, 0, t->capacity);
      }
    }
    for (uint32_t i = 0; i < l->method.instruction_count; ++i) {
      if (l->method.instructions[i].kind == INSTRUCTION_KERNEL) {
        try_call(&l->method.instructions[i]);
      }
    }
    while (count > 0) {
      free(lent[--count]);
    }
    fl_method_destroy(&l->method);
  }
  take_back(l);
}

static int is_program(const struct dirent *entry) { return strstr(entry->d_name, ".pte") != NULL; }

static void try_programs(const char *folder) {
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, is_program, alphasort);
  CHECK(count > 0);
  for (int i = 0; i < count; ++i) {
    char path[512];
    loaded l;
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    open_program(&l, path);
    for (uint32_t method = 0; method < fl_program_method_count(&l.program); ++method) {
      try_method(&l, method);
    }
    free(l.file);
    free(entries[i]);
  }
  free(entries);
}

int main(int argc, char **argv) {
  try_programs(FL_TEST_PROGRAMS);
  for (int i = 1; i < argc; ++i) {
    try_programs(argv[i]);
  }
  /* The seeds call every kernel. */
  CHECK(argc == 1 || done.met_count == fl_builtin_kernels()->count);
  CHECK(done.refused > 0 && done.refused < done.calls);
  printf("%zu kernels, %zu calls, of which %zu were refused\n", done.met_count, done.calls, done.refused);
  return 0;
}
