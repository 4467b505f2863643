/* kernel.h's helpers, and the pieces of a kernel's scratch memory. */
#include "kernels/scratch.h"
#include "test/test.h"

static const uint8_t rows[] = {0, 1, 2, 3};
static const uint8_t channels_last[] = {0, 2, 3, 1};

static fl_tensor make(int32_t *sizes, int32_t *strides, const uint8_t *order, uint8_t rank) {
  return (fl_tensor){.sizes = sizes, .strides = strides, .dim_order = order, .rank = rank, .dtype = FL_FLOAT32};
}

static void test_orders(void) {
  int32_t strides[4];
  int32_t image[] = {2, 3, 4, 5};
  int32_t thin[] = {2, 1, 4, 5};
  int32_t empty[] = {2, 3, 0, 5};
  int32_t vector[] = {1, 7, 1, 1};
  const fl_tensor a = make(image, strides, rows, 4);
  const fl_tensor b = make(image, strides, channels_last, 4);
  const fl_tensor c = make(thin, strides, channels_last, 4);
  const fl_tensor d = make(empty, strides, channels_last, 4);
  const fl_tensor e = make(vector, strides, channels_last, 4);
  const fl_tensor f = make(image, strides, rows, 3);
  CHECK(fl_is_contiguous(&a) && !fl_is_contiguous(&b) && fl_is_contiguous(&c) && fl_is_contiguous(&d) && fl_is_contiguous(&e));
  CHECK(fl_same_order(&a, &a) && !fl_same_order(&a, &b) && fl_same_order(&a, &c) && fl_same_order(&b, &c) && fl_same_order(&a, &d));
  CHECK(fl_same_order(&a, &e) && fl_same_order(&b, &e) && !fl_same_order(&a, &f));
  CHECK(fl_same_sizes(&a, &b) && !fl_same_sizes(&a, &c) && !fl_same_sizes(&a, &f));
  CHECK(fl_numel(&a) == 120 && fl_numel(&d) == 0);
}

static void test_resize(void) {
  fl_context context = {0};
  int32_t sizes[] = {2, 3, 4, 5};
  int32_t strides[4] = {0};
  const int32_t bounds[] = {4, 3, 4, 5};
  fl_tensor t = make(sizes, strides, channels_last, 4);
  CHECK(fl_resize(&context, &t, (const int32_t[]){2, 3, 4, 5}, 4) == FL_OK);
  CHECK(fl_resize(&context, &t, (const int32_t[]){1, 3, 4, 5}, 4) == FL_NOT_SUPPORTED);
  CHECK(fl_resize(&context, &t, (const int32_t[]){2, 3, 4}, 3) == FL_NOT_SUPPORTED);
  t.dynamic = 1;
  t.bounds = bounds;
  t.capacity = 4 * 3 * 4 * 5 * sizeof(float);
  CHECK(fl_resize(&context, &t, (const int32_t[]){4, 3, 2, 5}, 4) == FL_OK);
  CHECK(strides[0] == 30 && strides[1] == 1 && strides[2] == 15 && strides[3] == 3);
  CHECK(fl_resize(&context, &t, (const int32_t[]){5, 1, 1, 1}, 4) == FL_NOT_SUPPORTED);
  CHECK(fl_resize(&context, &t, (const int32_t[]){-1, 1, 1, 1}, 4) == FL_INVALID_ARGUMENT);
  t.bounds = NULL;
  CHECK(fl_resize(&context, &t, (const int32_t[]){5, 6, 4, 2}, 4) == FL_OK);
  CHECK(fl_resize(&context, &t, (const int32_t[]){5, 6, 4, 3}, 4) == FL_NOT_SUPPORTED);
  CHECK(fl_resize(&context, &t, (const int32_t[]){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}, 4) == FL_NOT_SUPPORTED);
  CHECK(fl_resize(&context, &t, (const int32_t[]){0, 6, 4, 2}, 4) == FL_OK && strides[0] == 48);
}

static void test_arguments(void) {
  const fl_value one = {.as.integer = 1, .tag = FL_INT};
  const fl_value half = {.as.real = 0.5, .tag = FL_DOUBLE};
  const fl_value yes = {.as.boolean = 1, .tag = FL_BOOLEAN};
  const fl_value none = {.tag = FL_NONE};
  const fl_value *items[] = {&one, &one};
  const fl_value *mixed[] = {&one, &half};
  const fl_value list = {.as.list = {(const void *)items, 2}, .tag = FL_INT_LIST};
  const fl_value wrong = {.as.list = {(const void *)mixed, 2}, .tag = FL_INT_LIST};
  int64_t integer = 0;
  double real = 0;
  int64_t ints[2] = {0};
  uint32_t count = 0;
  CHECK(fl_get_int(&one, &integer) && integer == 1 && fl_get_int(&yes, &integer) && !fl_get_int(&half, &integer));
  CHECK(fl_get_real(&half, &real) && real == 0.5 && fl_get_real(&one, &real) && real == 1 && !fl_get_real(&none, &real));
  CHECK(fl_get_ints(&list, ints, 2, &count) && count == 2 && ints[1] == 1);
  CHECK(!fl_get_ints(&list, ints, 1, &count) && !fl_get_ints(&wrong, ints, 2, &count) && !fl_get_ints(&one, ints, 2, &count));
  CHECK(fl_get_tensor(&one) == NULL && fl_is_none(&none));
}

static fl_status take(fl_context *context, size_t first, size_t second) {
  FL_TAKE(double, numbers, first);
  FL_TAKE(uint8_t, bytes, second);
  CHECK(first == 0 || second == 0 || bytes == (uint8_t *)numbers + FL_TAKEN(double, first));
  memset(numbers, 0, first * sizeof(double));
  memset(bytes, 0, second);
  return FL_OK;
}

static void test_scratch(void) {
  static const size_t counts[] = {0, 1, 8, 9};
  fl_context none = {0};
  CHECK(take(&none, 0, 0) == FL_OK && none.scratch == NULL);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const size_t size = FL_TAKEN(double, counts[i]) + FL_TAKEN(uint8_t, counts[j]);
      void *const memory = exact(size);
      fl_context whole = {.scratch = memory, .scratch_size = size}, less = {.scratch = memory, .scratch_size = size - 1};
      const fl_mark mark = fl_mark_scratch(&whole);
      CHECK(take(&whole, counts[i], counts[j]) == FL_OK && whole.scratch_size == 0 && take(&whole, 0, 0) == FL_OK);
      fl_release(&whole, mark);
      CHECK(take(&whole, counts[i], counts[j]) == FL_OK);
      CHECK(size == 0 || (take(&less, counts[i], counts[j]) == FL_OUT_OF_MEMORY && less.message != NULL));
      free(memory);
    }
  }
}

int main(void) {
  test_orders();
  test_resize();
  test_arguments();
  test_scratch();
  return 0;
}
