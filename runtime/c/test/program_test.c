/* Tests loading, the functions that describe a program, and crafted programs. */
#include "flambeau/kernel.h"
#include "test/test.h"

static void test_metadata(void) {
  loaded l;
  fl_error error;
  fl_method_info info;
  fl_slot_info slot;
  char name[8];
  uint32_t index = 7;
  open_program(&l, "dynamic");
  CHECK(fl_program_method_count(&l.program) == 1 && strcmp(fl_program_method_name(&l.program, 0), "forward") == 0);
  CHECK(fl_program_method_name(&l.program, 1) == NULL);
  CHECK(fl_program_find_method(&l.program, "forward", &index, &error) == FL_OK && index == 0);
  CHECK(fl_program_find_method(&l.program, "backward", &index, &error) == FL_NOT_FOUND);
  CHECK_TEXT(error, "no method 'backward'; it has 'forward'");
  CHECK(fl_program_method_info(&l.program, 0, &info, &error) == FL_OK);
  CHECK(info.inputs == 1 && info.outputs == 1 && info.operators == 3 && info.arenas == 1 && info.delegates == 0 && info.instructions == 3);
  CHECK(strstr(info.input_encoding, "children_spec") != NULL);
  CHECK(fl_program_slot(&l.program, 0, FL_INPUT, 0, &slot, &error) == FL_OK);
  CHECK(slot.tag == FL_TENSOR && slot.dtype == FL_FLOAT32 && slot.rank == 2 && slot.sizes[0] == 6 && slot.sizes[1] == 8 && slot.dynamic);
  CHECK(slot.planned && !slot.constant && slot.bytes == 6 * 8 * 4 && slot.dim_order[1] == 1);
  CHECK(fl_program_slot(&l.program, 0, FL_OUTPUT, 1, &slot, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "has no output 1; it has 1 of them");
  CHECK(fl_program_operator(&l.program, 0, 1, name, sizeof name) == strlen("aten::addmm.out") && strcmp(name, "aten::a") == 0);
  CHECK(fl_program_operator(&l.program, 0, 3, name, sizeof name) == 0);
  CHECK(fl_program_arena_size(&l.program, 0, 0) > 0 && fl_program_arena_size(&l.program, 0, 1) == 0);
  const void *data = NULL;
  size_t size = 0;
  CHECK(fl_program_named_data(&l.program, "names", &data, &size, &error) == FL_NOT_FOUND && fl_program_named_data_key(&l.program, 0) == NULL);
  CHECK_TEXT(error, "no named data 'names'");
  CHECK(fl_program_named_data_at(&l.program, 0, &data, &size) == 0);
  CHECK(fl_program_named_data_count(&l.program) == 0 && fl_program_delegate(&l.program, 0, 0) == NULL);
  close_method(&l);
  open_program(&l, "scalar");
  CHECK(fl_program_slot(&l.program, 0, FL_INPUT, 1, &slot, &error) == FL_OK && slot.tag == FL_INT && slot.integer == 3);
  close_method(&l);
  open_program(&l, "delegate");
  CHECK(strcmp(fl_program_delegate(&l.program, 0, 1), "Test") == 0);
  close_method(&l);
}

/* A long text is cut, and ends in "...". */
static void test_long_messages(void) {
  loaded l;
  fl_error error;
  uint32_t index = 0;
  char name[2 * FL_ERROR_TEXT];
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = 0;
  name[3] = '\n';
  open_program(&l, "add");
  CHECK(fl_program_find_method(&l.program, name, &index, &error) == FL_NOT_FOUND);
  CHECK(strlen(error.text) == FL_ERROR_TEXT - 1 && strchr(error.text, '\n') == NULL);
  CHECK(strcmp(error.text + FL_ERROR_TEXT - 5, "x...") == 0);
  close_method(&l);
}

static void test_what_is_no_program(void) {
  fl_error error;
  fl_program program;
  uint8_t *memory = (uint8_t *)exact(64);
  memset(memory, 0, 64);
  CHECK(fl_program_load(&program, memory, 64, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "not a .pte file");
  CHECK(fl_program_load(&program, memory, 0, NULL) == FL_INVALID_PROGRAM);
  CHECK(fl_program_load(&program, NULL, 0, NULL) == FL_INVALID_ARGUMENT);
  CHECK(fl_program_load(&program, memory + 8, 56, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "aligned");
  memcpy(memory + 4, "ET13", 4);
  CHECK(fl_program_load(&program, memory, 64, &error) == FL_NOT_SUPPORTED);
  free(memory);
}

/* A file cut anywhere is refused, and so is each method of a program that was not loaded. */
static void test_truncation(void) {
  static const char *const names[] = {"linear", "legacy", "delegate"};
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
    size_t size = 0;
    uint8_t *file = read_program(names[n], &size);
    for (size_t cut = 0; cut < size; ++cut) {
      fl_program program;
      fl_requirements need;
      uint8_t *part = (uint8_t *)exact(cut);
      memcpy(part, file, cut);
      /* The last bytes may be padding that nothing refers to. */
      if (cut + 64 < size) {
        CHECK(fl_program_load(&program, part, cut, NULL) != FL_OK);
        CHECK(fl_method_measure(&program, 0, NULL, &need, NULL) == FL_NOT_FOUND);
      } else {
        (void)fl_program_load(&program, part, cut, NULL);
      }
      free(part);
    }
    free(file);
  }
}

/* A string whose length is the last of the file has no byte left for its zero. It is the name of a place, which only we read. */
static void test_string_at_the_end(void) {
  static const char name[] = "layers.0";
  loaded l;
  fl_program program;
  fl_error error;
  uint32_t at = 0;
  open_program(&l, "located");
  uint8_t *file = (uint8_t *)exact(l.size + 4);
  memcpy(file, l.file, l.size);
  memset(file + l.size, 0, 4);
  while (at + sizeof name < l.size && memcmp(file + at, name, sizeof name) != 0) {
    at += 4;
  }
  uint32_t *words = (uint32_t *)(void *)file;
  const uint32_t text = at / 4 - 1;
  uint32_t reference = 0;
  while (reference < text && words[reference] != 4 * (text - reference)) {
    ++reference;
  }
  CHECK(l.size % 4 == 0 && words[text] == strlen(name) && reference < text);
  words[reference] = (uint32_t)l.size - 4 * reference;
  CHECK(fl_program_load(&program, file, l.size + 4, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "a string does not end");
  free(file);
  close_method(&l);
}

static fl_status multiply_nothing(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  CHECK(fl_numel(args[0]->as.tensor) == 0 && args[0]->as.tensor->data != NULL && args[2]->as.tensor->data != NULL);
  return FL_OK;
}

/* A kernel need not tell that a tensor without elements has no memory. */
static void test_no_elements(void) {
  static const fl_kernel own[] = {{"aten::mul.out", multiply_nothing, NULL, "iiww"}};
  static const fl_kernel_table table = {own, 1};
  static const fl_kernel_table *const tables[] = {&table};
  static float two[2];
  loaded l;
  fl_error error;
  open_method(&l, "empty", &(fl_registry){.tables = tables, .table_count = 1});
  set_floats(&l, 0, two, (int32_t[]){2}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  close_method(&l);
}

/* Shared tables make a small file describe very much; the walk fails instead of following all references. */
static void test_repeated_tables(void) {
  enum { METHODS = 4096, VALUES = 4096, SIZE = 8 * (METHODS + VALUES) };
  uint8_t *file = (uint8_t *)exact(SIZE);
  uint32_t *words = (uint32_t *)(void *)file;
  fl_program program;
  fl_error error;
  memset(file, 0, SIZE);
  words[0] = 32; /* Program at 32, its field list at 16: [length 8, table 8, version absent, execution_plan at 4] */
  memcpy(file + 4, "ET12", 4);
  memcpy(file + 16, (const uint16_t[]){8, 8, 0, 4}, 8);
  words[8] = 16;                             /* 32: distance to the field list */
  words[9] = 64 - 36;                        /* 36: the vector of methods at 64 */
  words[16] = METHODS;                       /* every element refers to one ExecutionPlan */
  const uint32_t plan = 64 + 4 + 4 * METHODS + 28;
  for (uint32_t i = 0; i < METHODS; ++i) {
    words[17 + i] = plan - 4 * (17 + i);
  }
  memcpy(file + plan - 12, (const uint16_t[]){10, 12, 4, 0, 8}, 10); /* name at 4, values at 8 */
  words[plan / 4] = 12;
  words[plan / 4 + 1] = 16;                  /* an empty string */
  const uint32_t vector = plan + 32;
  words[plan / 4 + 2] = vector - (plan + 8);
  words[vector / 4] = VALUES;
  for (uint32_t i = 1; i <= VALUES; ++i) {
    words[vector / 4 + i] = 4 * (VALUES + 2 - i);
  }
  const uint32_t value = vector + 4 * (VALUES + 2); /* one EValue holding one Null */
  memcpy(file + value + 16, (const uint16_t[]){8, 12, 4, 8}, 8);
  words[value / 4] = (uint32_t)-16;
  file[value + 4] = 1;
  words[value / 4 + 2] = 24;
  memcpy(file + value + 24, (const uint16_t[]){4, 4}, 4);
  words[(value + 32) / 4] = 8;
  CHECK(fl_program_load(&program, file, SIZE, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "too many times");
  free(file);
}

/* A trusted program is measured, initialised and run as any other; its header and the caller's arguments are checked. */
static void test_trusted(void) {
  static const char *const names[] = {"linear", "dynamic", "legacy", "state", "siblings", "cond"};
  loaded l;
  fl_error error;
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
    fl_requirements need;
    open_program(&l, names[n]);
    CHECK(fl_method_measure(&l.program, 0, NULL, &l.need, &error) == FL_OK);
    CHECK(fl_program_load_trusted(&l.program, l.file, l.size, &error) == FL_OK && error.text[0] == 0);
    CHECK(fl_method_measure(&l.program, 0, NULL, &need, &error) == FL_OK);
    CHECK(need.method == l.need.method && need.scratch == l.need.scratch && need.planned == l.need.planned && need.arenas == l.need.arenas);
    provide(&l, 0);
    CHECK(fl_method_init(&l.method, &l.program, 0, NULL, &l.memory, &error) == FL_OK);
    CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
    CHECK_TEXT(error, "input 0: it has not been set");
    close_method(&l);
  }
  float x[6 * 8];
  int32_t sizes[] = {6, 8};
  float expected[6];
  for (size_t i = 0; i < 6 * 8; ++i) {
    x[i] = (float)i;
  }
  for (int is_trusted = 0; is_trusted < 2; ++is_trusted) {
    open_program(&l, "dynamic");
    if (is_trusted) {
      CHECK(fl_program_load_trusted(&l.program, l.file, l.size, NULL) == FL_OK);
    }
    CHECK(fl_method_measure(&l.program, 0, NULL, &l.need, &error) == FL_OK);
    provide(&l, 0);
    CHECK(fl_method_init(&l.method, &l.program, 0, NULL, &l.memory, &error) == FL_OK);
    set_floats(&l, 0, x, sizes, 2);
    CHECK(fl_method_execute(&l.method, &error) == FL_OK);
    if (is_trusted) {
      CHECK(memcmp(expected, floats(&l, 0), sizeof expected) == 0);
      CHECK(fl_program_load_trusted(&l.program, l.file, l.size - 64, &error) == FL_INVALID_PROGRAM);
      CHECK_TEXT(error, "truncated");
    } else {
      memcpy(expected, floats(&l, 0), sizeof expected);
    }
    close_method(&l);
  }
}

int main(void) {
  test_metadata();
  test_trusted();
  test_long_messages();
  test_what_is_no_program();
  test_truncation();
  test_string_at_the_end();
  test_no_elements();
  test_repeated_tables();
  return 0;
}
