/* Tests methods: memory, inputs, control flow, outputs, state. */
#include "test/test.h"

/* The scalar operators of loops. */
static fl_status sub_scalar(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  *args[2] = (fl_value){.as.integer = args[0]->as.integer - args[1]->as.integer, .tag = FL_INT};
  return FL_OK;
}

static fl_status add_scalar(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  *args[2] = (fl_value){.as.integer = args[0]->as.integer + args[1]->as.integer, .tag = FL_INT};
  return FL_OK;
}

static fl_status eq_scalar(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  *args[2] = (fl_value){.as.boolean = args[0]->as.integer == args[1]->as.integer, .tag = FL_BOOLEAN};
  return FL_OK;
}

static fl_status never_equal(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  *args[2] = (fl_value){.as.boolean = 0, .tag = FL_BOOLEAN};
  return FL_OK;
}

static fl_status sym_size(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  *args[2] = (fl_value){.as.integer = args[0]->as.tensor->sizes[args[1]->as.integer], .tag = FL_INT};
  return FL_OK;
}

static size_t hundred_per_row(fl_value *const *args, size_t count) {
  (void)count;
  return 100 * (size_t)args[0]->as.tensor->sizes[0];
}

static fl_status add(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *x = args[0]->as.tensor;
  const fl_tensor *y = args[1]->as.tensor;
  fl_tensor *out = args[3]->as.tensor;
  (void)count;
  FL_CHECK(context, fl_same_sizes(x, y), "the sizes differ");
  CHECK(fl_resize(context, out, x->sizes, x->rank) == FL_OK);
  for (size_t i = 0; i < fl_numel(x); ++i) {
    ((float *)out->data)[i] = ((const float *)x->data)[i] + ((const float *)y->data)[i];
  }
  return FL_OK;
}

static fl_status mul(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  (void)count;
  for (size_t i = 0; i < fl_numel(args[0]->as.tensor); ++i) {
    ((float *)args[2]->as.tensor->data)[i] = ((const float *)args[0]->as.tensor->data)[i] * ((const float *)args[1]->as.tensor->data)[i];
  }
  return FL_OK;
}

static fl_status select_copy(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *x = args[0]->as.tensor;
  fl_tensor *out = args[3]->as.tensor;
  (void)context;
  (void)count;
  memcpy(out->data, (const float *)x->data + (size_t)args[2]->as.integer * fl_numel(out), fl_numel(out) * sizeof(float));
  return FL_OK;
}

static fl_status copy_index(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *source = args[1]->as.tensor;
  (void)count;
  const int32_t sizes[] = {(int32_t)args[2]->as.integer + 1, source->sizes[0]};
  const fl_status status = fl_resize(context, args[0]->as.tensor, sizes, 2);
  if (status == FL_OK) {
    memcpy((float *)args[0]->as.tensor->data + (size_t)args[2]->as.integer * fl_numel(source), source->data, fl_numel(source) * sizeof(float));
  }
  return status;
}

static const fl_kernel kernels[] = {
    {"aten::add.out", add, hundred_per_row, "iirww"},
    {"aten::mul.out", mul, NULL, "iiww"},
    {"aten::select_copy.int_out", select_copy, NULL, "rrrww"},
    {"aten::sym_size.int", sym_size, NULL, "rrs"},
    {"executorch_prim::add.Scalar", add_scalar, NULL, "rrs"},
    {"executorch_prim::eq.Scalar", eq_scalar, NULL, "rrs"},
    {"executorch_prim::et_copy_index.tensor", copy_index, NULL, "wrr"},
    {"executorch_prim::sub.Scalar", sub_scalar, NULL, "rrs"},
};
static const fl_kernel_table table = {kernels, sizeof kernels / sizeof *kernels};
static const fl_kernel_table *const tables[] = {&table};
static const fl_registry registry = {.tables = tables, .table_count = 1};

static float counting[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static fl_status set(loaded *l, uint32_t index, fl_tensor *tensor, fl_error *error) {
  const fl_value value = {.as.tensor = tensor, .tag = FL_TENSOR};
  return fl_method_set_input(&l->method, index, &value, error);
}

static void test_add(void) {
  loaded l;
  fl_error error;
  open_method(&l, "add", &registry);
  CHECK(l.need.scratch == 200 && l.need.planned == fl_program_arena_size(&l.program, 0, 0));
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
  CHECK_TEXT(error, "method 'forward', input 0: it has not been set");
  /* After a failure no input counts as set, because the caller may have freed its memory. */
  set_floats(&l, 1, counting, (int32_t[]){2, 3}, 2);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
  set_floats(&l, 0, counting, (int32_t[]){2, 3}, 2);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
  CHECK_TEXT(error, "method 'forward', input 1: it has not been set");
  set_floats(&l, 0, counting, (int32_t[]){2, 3}, 2);
  set_floats(&l, 1, counting, (int32_t[]){2, 3}, 2);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  for (int i = 0; i < 6; ++i) {
    CHECK(floats(&l, 0)[i] == (float)(2 * i));
  }
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE); /* the inputs' memory may have been reused */
  CHECK(fl_method_output(&l.method, 1) == NULL);
  CHECK(fl_method_set_output(&l.method, 0, counting, sizeof counting, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "keeps it in an arena");
  close_method(&l);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
}

static void test_layouts(void) {
  loaded l;
  fl_error error;
  open_method(&l, "add", &registry);
  const uint8_t columns[] = {1, 0};
  /* The transposed 3 x 2 matrix of `counting`, stated in both ways, as a broadcast row, and backwards. */
  fl_tensor by_order = {.data = counting, .sizes = (int32_t[]){2, 3}, .dim_order = columns, .rank = 2, .dtype = FL_FLOAT32};
  fl_tensor by_strides = {.data = counting, .sizes = (int32_t[]){2, 3}, .strides = (int32_t[]){1, 2}, .rank = 2, .dtype = FL_FLOAT32};
  fl_tensor row = {.data = counting, .sizes = (int32_t[]){2, 3}, .strides = (int32_t[]){0, 1}, .rank = 2, .dtype = FL_FLOAT32};
  fl_tensor reversed = {.data = counting + 5, .sizes = (int32_t[]){2, 3}, .strides = (int32_t[]){-3, -1}, .rank = 2, .dtype = FL_FLOAT32};
  CHECK(set(&l, 0, &by_order, &error) == FL_OK && set(&l, 1, &by_strides, &error) == FL_OK);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  CHECK(memcmp(floats(&l, 0), (const float[]){0, 4, 8, 2, 6, 10}, 6 * sizeof(float)) == 0);
  CHECK(set(&l, 0, &row, &error) == FL_OK && set(&l, 1, &reversed, &error) == FL_OK);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK);
  CHECK(memcmp(floats(&l, 0), (const float[]){5, 5, 5, 2, 2, 2}, 6 * sizeof(float)) == 0);
  by_order.dim_order = (const uint8_t[]){1, 1};
  CHECK(set(&l, 0, &by_order, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "not a permutation");
  close_method(&l);
}

static void test_inputs_that_do_not_fit(void) {
  loaded l;
  fl_error error;
  open_method(&l, "add", &registry);
  fl_tensor wide = {.data = counting, .sizes = (int32_t[]){2, 4}, .rank = 2, .dtype = FL_FLOAT32};
  fl_tensor flat = {.data = counting, .sizes = (int32_t[]){6}, .rank = 1, .dtype = FL_FLOAT32};
  fl_tensor ints = {.data = counting, .sizes = (int32_t[]){2, 3}, .rank = 2, .dtype = FL_INT32};
  fl_tensor nothing = {.sizes = (int32_t[]){2, 3}, .rank = 2, .dtype = FL_FLOAT32};
  const fl_value number = {.as.real = 1, .tag = FL_DOUBLE};
  CHECK(set(&l, 1, &wide, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "method 'forward', input 1: dimension 1 is 4, and must be 3");
  CHECK(set(&l, 0, &flat, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "expected 2 dimensions, got 1");
  CHECK(set(&l, 0, &ints, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "expected float32, got int32");
  CHECK(set(&l, 0, &nothing, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "it has no data");
  nothing.sizes = NULL;
  CHECK(set(&l, 0, &nothing, &error) == FL_INVALID_ARGUMENT && set(&l, 0, NULL, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "method 'forward', input 0: it is NULL, or refers to NULL");
  CHECK(set(&l, 2, &wide, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "has no input 2; it has 2 inputs");
  CHECK(fl_method_set_input(&l.method, 0, &number, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "expected tensor, got float");
  close_method(&l);
}

static void test_unplanned(void) {
  loaded l;
  fl_error error;
  float *out = (float *)exact(6 * sizeof(float));
  open_method(&l, "unplanned", &registry);
  fl_tensor columns = {.data = counting, .sizes = (int32_t[]){2, 3}, .strides = (int32_t[]){1, 2}, .rank = 2, .dtype = FL_FLOAT32};
  CHECK(set(&l, 0, &columns, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "memory layout");
  set_floats(&l, 0, counting, (int32_t[]){2, 3}, 2);
  set_floats(&l, 1, counting, (int32_t[]){2, 3}, 2);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
  CHECK_TEXT(error, "method 'forward', instruction 0, aten::add.out: argument 3, value 2, has no memory");
  CHECK(fl_method_set_output(&l.method, 0, out, 20, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "needs 24 bytes");
  CHECK(fl_method_set_output(&l.method, 0, out, 24, &error) == FL_OK);
  set_floats(&l, 0, counting, (int32_t[]){2, 3}, 2);
  set_floats(&l, 1, counting, (int32_t[]){2, 3}, 2);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK && out[5] == 10 && floats(&l, 0) == out);
  free(out);
  close_method(&l);
}

static void test_condition(void) {
  loaded l;
  fl_error error;
  open_method(&l, "cond", &registry);
  for (int round = 0; round < 4; ++round) {
    uint8_t truth = (uint8_t)(round % 2);
    fl_tensor condition = {.data = &truth, .rank = 0, .dtype = FL_BOOL};
    CHECK(set(&l, 0, &condition, &error) == FL_OK);
    set_floats(&l, 1, counting + 3, (int32_t[]){3}, 1);
    CHECK(fl_method_execute(&l.method, &error) == FL_OK);
    CHECK(floats(&l, 0)[2] == (truth ? 10 : 25));
  }
  close_method(&l);
}

static void test_loop(void) {
  loaded l;
  fl_error error;
  open_method(&l, "map", &registry);
  for (int round = 0; round < 2; ++round) {
    set_floats(&l, 0, counting, (int32_t[]){4, 3}, 2);
    set_floats(&l, 1, counting + 1, (int32_t[]){3}, 1);
    CHECK(fl_method_execute(&l.method, &error) == FL_OK);
    CHECK(fl_method_output(&l.method, 0)->as.tensor->sizes[0] == 4 && floats(&l, 0)[11] == 14);
  }
  /* A failure in the middle of the loop leaves nothing behind. */
  l.method.instruction_limit = 9;
  set_floats(&l, 0, counting, (int32_t[]){4, 3}, 2);
  set_floats(&l, 1, counting + 1, (int32_t[]){3}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "did not end within 9 instructions");
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_STATE);
  l.method.instruction_limit = FL_INSTRUCTION_LIMIT;
  set_floats(&l, 0, counting, (int32_t[]){4, 3}, 2);
  set_floats(&l, 1, counting + 1, (int32_t[]){3}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_OK && floats(&l, 0)[11] == 14);
  close_method(&l);
}

static void test_endless_loop(void) {
  loaded l;
  fl_error error;
  fl_kernel endless[sizeof kernels / sizeof *kernels];
  memcpy(endless, kernels, sizeof kernels);
  endless[5].run = never_equal;
  endless[4].run = eq_scalar; /* the index stays where it is */
  const fl_kernel_table other = {endless, sizeof kernels / sizeof *kernels};
  const fl_kernel_table *const others[] = {&other};
  open_method(&l, "map", &(fl_registry){.tables = others, .table_count = 1});
  l.method.instruction_limit = 100000;
  set_floats(&l, 0, counting, (int32_t[]){4, 3}, 2);
  set_floats(&l, 1, counting, (int32_t[]){3}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "did not end within 100000 instructions");
  close_method(&l);
}

static fl_status copy(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  memcpy(args[0]->as.tensor->data, args[1]->as.tensor->data, fl_numel(args[0]->as.tensor) * sizeof(float));
  CHECK(count == 4);
  return FL_OK;
}

/* Adds 1 where the program adds a tensor of one element. */
static fl_status add_one(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *x = args[0]->as.tensor;
  const fl_tensor *y = args[1]->as.tensor;
  (void)context;
  (void)count;
  for (size_t i = 0; i < fl_numel(x); ++i) {
    ((float *)args[3]->as.tensor->data)[i] = ((const float *)x->data)[i] + ((const float *)y->data)[fl_numel(y) == 1 ? 0 : i];
  }
  return FL_OK;
}

static fl_status to_float(fl_context *context, fl_value *const *args, size_t count) {
  (void)context;
  *(float *)args[count - 1]->as.tensor->data = (float)*(const int64_t *)args[0]->as.tensor->data;
  return FL_OK;
}

static fl_status refuse(fl_context *context, fl_value *const *args, size_t count) {
  (void)args;
  (void)count;
  return FL_FAIL(context, FL_NOT_SUPPORTED, "it never runs");
}

static void test_places(void) {
  static const fl_kernel refusing[] = {{"aten::add.out", refuse, NULL, "iirww"}};
  static const fl_kernel_table refusing_table = {refusing, 1};
  static const fl_kernel_table *const refusing_tables[] = {&refusing_table};
  static const fl_registry refusing_registry = {.tables = refusing_tables, .table_count = 1};
  loaded l;
  fl_error error;
  fl_place place;
  open_method(&l, "located", &refusing_registry);
  CHECK(fl_program_place(&l.program, 0, 0, 0, 0, &place));
  CHECK(strcmp(place.module, "layers.0") == 0 && strcmp(place.file, "model.py") == 0 && place.line == 12);
  CHECK(fl_program_place(&l.program, 0, 0, 0, 1, &place));
  CHECK(strcmp(place.module, "head") == 0 && place.file[0] == 0 && place.line == 0);
  CHECK(!fl_program_place(&l.program, 0, 0, 0, 3, &place) && !fl_program_place(&l.program, 0, 0, 1, 0, &place));
  CHECK(!fl_program_place(&l.program, 0, 1, 0, 0, &place) && !fl_program_place(&l.program, 1, 0, 0, 0, &place));
  CHECK(fl_method_set_input(&l.method, 0, &(fl_value){.tag = FL_NONE}, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "input 0: expected tensor, got None; first used at layers.0 (model.py:12), head, other.py:3");
  set_floats(&l, 0, counting, (int32_t[]){2}, 1);
  CHECK(fl_method_execute(&l.method, &error) == FL_NOT_SUPPORTED);
  CHECK_TEXT(error, "instruction 0, aten::add.out: it never runs; at layers.0 (model.py:12), head, other.py:3; its arguments are float32[2]");
  close_method(&l);
  open_method(&l, "add", &registry);
  CHECK(!fl_program_place(&l.program, 0, 0, 0, 0, &place));
  close_method(&l);
}

static void test_state(void) {
  loaded l;
  fl_error error;
  static const fl_kernel own[] = {
      {"aten::add.out", add_one, NULL, "iirww"}, {"aten::copy_", copy, NULL, "wirw"}, {"dim_order_ops::_to_dim_order_copy.out", to_float, NULL, "rrrww"}};
  static const fl_kernel_table own_table = {own, 3};
  static const fl_kernel_table *const own_tables[] = {&own_table, &table};
  open_method(&l, "state", &(fl_registry){.tables = own_tables, .table_count = 2});
  for (int round = 0; round < 5; ++round) {
    if (round == 3) {
      fl_method_reset(&l.method);
    }
    set_floats(&l, 0, counting, (int32_t[]){3}, 1);
    CHECK(fl_method_execute(&l.method, &error) == FL_OK);
    CHECK(floats(&l, 0)[2] == (float)(2 + 6 + round % 3));
  }
  const char *name = NULL;
  const fl_tensor *state = fl_method_state(&l.method, 0, &name);
  CHECK(state != NULL && fl_numel(state) > 0);
  CHECK(fl_method_find_state(&l.method, name, &error) == state);
  CHECK(fl_method_state(&l.method, 1, NULL) == NULL);
  CHECK(fl_method_find_state(&l.method, "absent", &error) == NULL && error.status == FL_NOT_FOUND);
  CHECK_TEXT(error, "method 'forward' has no state 'absent'; it has: ");
  close_method(&l);
}

static void test_scalar_input(void) {
  loaded l;
  fl_error error;
  static const fl_kernel own[] = {
      {"aten::add.out", add_one, NULL, "iirww"}, {"aten::mul.out", mul, NULL, "iiww"}, {"dim_order_ops::_to_dim_order_copy.out", to_float, NULL, "rrrww"}};
  static const fl_kernel_table own_table = {own, 3};
  static const fl_kernel_table *const own_tables[] = {&own_table};
  open_method(&l, "scalar", &(fl_registry){.tables = own_tables, .table_count = 1});
  fl_value number = {.as.integer = 4, .tag = FL_INT};
  CHECK(fl_method_set_input(&l.method, 1, &number, &error) == FL_INVALID_ARGUMENT);
  CHECK_TEXT(error, "takes only the value that it was made with, ");
  number.as.integer = 3;
  CHECK(fl_method_set_input(&l.method, 1, &number, &error) == FL_OK);
  close_method(&l);
}

/* Returns 100 per tensor of the list, plus the columns of all. */
static size_t columns_of_list(fl_value *const *args, size_t count) {
  size_t bytes = 0;
  CHECK(count == 4 && args[0]->tag == FL_TENSOR_LIST && args[1]->tag == FL_INT && args[2] != args[3]);
  for (uint32_t i = 0; i < args[0]->as.list.count; ++i) {
    const fl_value *item = ((const fl_value *const *)args[0]->as.list.items)[i];
    CHECK(item->tag == FL_TENSOR && item->as.tensor->data == NULL && item->as.tensor->strides[0] == 3);
    bytes += 100 + (size_t)item->as.tensor->sizes[1];
  }
  return bytes;
}

static size_t too_much(fl_value *const *args, size_t count) {
  (void)args;
  (void)count;
  return SIZE_MAX;
}

static void test_scratch_of_lists(void) {
  loaded l;
  fl_error error;
  static const fl_kernel own[] = {{"aten::cat.out", add, columns_of_list, "rrww"}, {"aten::max.dim_max", add, NULL, "rrrwww"}};
  static const fl_kernel greedy[] = {{"aten::cat.out", add, too_much, "rrww"}, {"aten::max.dim_max", add, NULL, "rrrwww"}};
  static const fl_kernel_table own_table = {own, 2};
  static const fl_kernel_table greedy_table = {greedy, 2};
  static const fl_kernel_table *const own_tables[] = {&own_table};
  static const fl_kernel_table *const greedy_tables[] = {&greedy_table};
  open_program(&l, "lists");
  CHECK(fl_method_measure(&l.program, 0, &(fl_registry){.tables = own_tables, .table_count = 1}, &l.need, &error) == FL_OK);
  CHECK(l.need.scratch == 3 * 103);
  CHECK(fl_method_measure(&l.program, 0, &(fl_registry){.tables = greedy_tables, .table_count = 1}, &l.need, &error) == FL_OUT_OF_MEMORY);
  CHECK_TEXT(error, "aten::cat.out wants too much scratch memory");
  close_method(&l);
}

static void test_what_is_missing(void) {
  loaded l;
  fl_error error;
  static const fl_kernel wrong[] = {{"aten::add.out", add, NULL, "rrww"}};
  static const fl_kernel_table nothing = {NULL, 0};
  static const fl_kernel_table wrong_table = {wrong, 1};
  static const fl_kernel_table *const no_tables[] = {&nothing};
  static const fl_kernel_table *const wrong_tables[] = {&wrong_table};
  open_program(&l, "linear");
  CHECK(fl_method_measure(&l.program, 0, &(fl_registry){.tables = no_tables, .table_count = 1}, &l.need, &error) == FL_OPERATOR_MISSING);
  CHECK_TEXT(error, "aten::permute_copy.out, aten::addmm.out, aten::relu.out");
  close_method(&l);
  open_program(&l, "delegate");
  CHECK(fl_method_measure(&l.program, 0, &(fl_registry){.tables = no_tables, .table_count = 1}, &l.need, &error) == FL_NOT_FOUND);
  CHECK_TEXT(error, "backend 'Test', which this runtime does not have");
  close_method(&l);
  open_program(&l, "add");
  CHECK(fl_method_measure(&l.program, 0, &(fl_registry){.tables = wrong_tables, .table_count = 1}, &l.need, &error) == FL_INVALID_PROGRAM);
  CHECK_TEXT(error, "aten::add.out takes 4 arguments, the program passes 5");
  close_method(&l);
}

static void test_memory_that_is_too_small(void) {
  loaded l;
  fl_error error;
  open_method(&l, "add", &registry);
  fl_memory memory = l.memory;
  fl_method method;
  memory.method_size -= 1;
  CHECK(fl_method_init(&method, &l.program, 0, &registry, &memory, &error) == FL_OUT_OF_MEMORY);
  CHECK_TEXT(error, "bytes of method memory");
  memory = l.memory;
  memory.scratch = NULL;
  CHECK(fl_method_init(&method, &l.program, 0, &registry, &memory, &error) == FL_OUT_OF_MEMORY);
  CHECK_TEXT(error, "200 bytes of scratch memory");
  memory = l.memory;
  memory.arenas = NULL;
  CHECK(fl_method_init(&method, &l.program, 0, &registry, &memory, &error) == FL_OUT_OF_MEMORY);
  memory.arena_count = 0;
  CHECK(fl_method_init(&method, &l.program, 0, &registry, &memory, &error) == FL_OUT_OF_MEMORY);
  const size_t small = l.memory.arena_sizes[0] - 1;
  memory = l.memory;
  memory.arena_sizes = &small;
  CHECK(fl_method_init(&method, &l.program, 0, &registry, &memory, &error) == FL_OUT_OF_MEMORY);
  CHECK_TEXT(error, "for arena 0");
  CHECK(fl_method_init(&method, &l.program, 1, &registry, &l.memory, &error) == FL_NOT_FOUND);
  CHECK(fl_method_set_input(&method, 0, &(fl_value){.tag = FL_NONE}, &error) == FL_INVALID_STATE);
  close_method(&l);
}

/* Computes the pieces in the calling thread. */
static void run_alone(const fl_threads *threads, fl_task_fn task, void *work, size_t pieces) {
  for (size_t piece = 0; piece < pieces; ++piece) {
    task(work, piece, (uint32_t)(piece % threads->count));
  }
}

static void test_threads_need_scratch_memory_each(void) {
  loaded l;
  fl_error error;
  const fl_threads three = {3, run_alone, NULL, 0}, one = {1, run_alone, NULL, 0};
  open_method(&l, "add", &registry);
  CHECK(l.need.scratch == 200);
  CHECK(fl_method_set_threads(&l.method, &one, &error) == FL_OK && l.method.context.threads == NULL);
  CHECK(fl_method_set_threads(&l.method, &three, &error) == FL_OUT_OF_MEMORY);
  CHECK_TEXT(error, "method 'forward' needs 768 bytes of scratch memory");
  free(l.memory.scratch);
  l.memory.scratch = exact(3 * 256);
  l.memory.scratch_size = 3 * 256;
  fl_method_destroy(&l.method);
  CHECK(fl_method_init(&l.method, &l.program, 0, &registry, &l.memory, &error) == FL_OK);
  CHECK(fl_method_set_threads(&l.method, &three, &error) == FL_OK);
  CHECK(l.method.context.threads == &three && l.method.context.scratch_size == 256);
  CHECK(fl_method_set_threads(&l.method, NULL, &error) == FL_OK);
  CHECK(l.method.context.threads == NULL && l.method.context.scratch_size == 3 * 256);
  close_method(&l);
  CHECK(fl_method_set_threads(&l.method, &three, &error) == FL_INVALID_STATE);
}

int main(void) {
  test_add();
  test_layouts();
  test_inputs_that_do_not_fit();
  test_unplanned();
  test_condition();
  test_loop();
  test_endless_loop();
  test_places();
  test_state();
  test_scalar_input();
  test_scratch_of_lists();
  test_threads_need_scratch_memory_each();
  test_what_is_missing();
  test_memory_that_is_too_small();
  return 0;
}
