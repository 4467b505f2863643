/* Kernels of running sums and products along a dimension, computed in double or int64_t. */
#include "loops.h"
#include "scan.def"

/* Defines a function that replaces n elements by their running results; *total carries over to the next call. */
#define SCAN(name, T, A, expression)                                   \
  static void name(size_t n, void *out, const void *in, void *total) { \
    T *y = out;                                                        \
    const T *elements = in;                                            \
    A a;                                                               \
    memcpy(&a, total, sizeof a);                                       \
    for (size_t i = 0; i < n; ++i) {                                   \
      const A x = (A)elements[i];                                      \
      a = (expression);                                                \
      y[i] = (T)a;                                                     \
    }                                                                  \
    memcpy(total, &a, sizeof a);                                       \
  }
SCAN(sum_f32, float, double, a + x)
SCAN(sum_f64, double, double, a + x)
SCAN(sum_i64, int64_t, int64_t, fl_wrap_add(a, x))
SCAN(prod_f32, float, double, a *x)
SCAN(prod_f64, double, double, a *x)
SCAN(prod_i64, int64_t, int64_t, fl_wrap_mul(a, x))

typedef void (*scan_fn)(size_t, void *, const void *, void *);

/* Runs a scan with the arguments self, dim, dtype, out. Casts elements to the output's type first. */
static fl_status scan(fl_context *context, fl_value *const *args, const scan_fn *functions, int64_t start) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  FL_TENSOR_ARGUMENT(out, 3);
  uint32_t index[FL_MAX_DIMS] = {0};
  uint8_t axis;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &axis));
  FL_TRY(fl_resize(context, out, self->sizes, self->rank));
  if (fl_numel(out) == 0) {
    return FL_OK;
  }
  const fl_tensor *operands[2] = {self, out};
  char *at[2] = {self->data, out->data};
  FL_TAKE(fl_lines, lines, 1);
  fl_lines_of(lines, operands, 2, axis);
  const fl_compute type = fl_compute_of(out->dtype);
  fl_buffer reading = fl_buffer_for_reading(self->dtype, type);
  reading.convert = fl_widen_by(self->dtype, out->dtype, type);
  fl_buffer writing = fl_buffer_for_writing(type, out->dtype);
  const size_t block = fl_block_length(reading.element + reading.width + writing.element + writing.width);
  FL_TRY(fl_buffer_take(context, &reading, block, 1));
  FL_TRY(fl_buffer_take(context, &writing, block, 1));
  do {
    double real = (double)start;
    int64_t integer = start;
    void *total = type == FL_COMPUTE_I64 ? (void *)&integer : (void *)&real;
    for (size_t i = 0; i < lines->length; i += block) {
      const size_t n = lines->length - i < block ? lines->length - i : block;
      const void *x = fl_buffer_read(&reading, n, at[0] + (int64_t)i * lines->strides[0], lines->strides[0]);
      functions[type](n, writing.computed, x, total);
      fl_buffer_write(&writing, n, writing.computed, at[1] + (int64_t)i * lines->strides[1], lines->strides[1]);
    }
  } while (fl_nest_next(&lines->nest, 0, index, at));
  return FL_OK;
}

fl_status fl_cumsum_out(fl_context *context, fl_value *const *args, size_t count) {
  static const scan_fn functions[] = {sum_f32, sum_f64, sum_i64};
  (void)count;
  return scan(context, args, functions, 0);
}

fl_status fl_cumprod_out(fl_context *context, fl_value *const *args, size_t count) {
  static const scan_fn functions[] = {prod_f32, prod_f64, prod_i64};
  (void)count;
  return scan(context, args, functions, 1);
}
