/* Macros that define spans, the loops of elementwise kernels. In their expressions x, y and z are the elements of the inputs. */
#ifndef FLAMBEAU_KERNELS_SPANS_H
#define FLAMBEAU_KERNELS_SPANS_H

#include <math.h>

#include "lanes.h"
#include "loops.h"

/* Defines a span `name` that stores `expression` as type R. `setup` declares the inputs' pointers before the loop, because the compiler would
 * read them again after each store through uint8_t, which may change any memory. */
#define FL_SPAN(name, R, setup, declare, expression)                                                 \
  static void name(size_t n, void *out, const void *const *in, const fl_parameter *p) {              \
    R *result = out;                                                                                 \
    setup;                                                                                           \
    (void)p;                                                                                         \
    FL_INDEPENDENT                                                                                   \
    for (size_t i = 0; i < n; ++i) {                                                                 \
      declare;                                                                                       \
      result[i] = (R)(expression);                                                                   \
    }                                                                                                \
  }

#define FL_SPAN1(name, T, R, expression) FL_SPAN(name, R, const T *const xs = in[0], const T x = xs[i], expression)
#define FL_SPAN2(name, T, R, expression)                                                             \
  FL_SPAN(name, R, const T *const xs = in[0]; const T *const ys = in[1], const T x = xs[i]; const T y = ys[i], expression)
#define FL_SPAN3(name, T, R, expression)                                                             \
  FL_SPAN(name, R, const T *const xs = in[0]; const T *const ys = in[1]; const T *const zs = in[2],   \
          const T x = xs[i]; const T y = ys[i]; const T z = zs[i], expression)

/* Defines a span of floats that computes with vectors: in `expression`, x (and y, z) are vectors. `setup` runs once, before the loop. */
#define FL_VECTOR_SPAN(name, setup, load, load_part, expression)                                     \
  static void name(size_t n, void *out, const void *const *in, const fl_parameter *p) {              \
    float *result = out;                                                                             \
    size_t i = 0;                                                                                    \
    (void)p;                                                                                         \
    setup;                                                                                           \
    for (; i + FL_LANES <= n; i += FL_LANES) {                                                       \
      load fl_store(result + i, (expression));                                                       \
    }                                                                                                \
    if (i < n) {                                                                                     \
      const size_t rest = n - i;                                                                     \
      load_part fl_store_part(result + i, (expression), rest);                                       \
    }                                                                                                \
  }

#define FL_FLOATS(k) ((const float *)in[k])
#define FL_VECTOR_SPAN1(name, setup, expression)                                                     \
  FL_VECTOR_SPAN(name, setup, fl_vec x = fl_load(FL_FLOATS(0) + i);, fl_vec x = fl_load_part(FL_FLOATS(0) + i, rest);, expression)
#define FL_VECTOR_SPAN2(name, setup, expression)                                                     \
  FL_VECTOR_SPAN(name, setup, fl_vec x = fl_load(FL_FLOATS(0) + i); fl_vec y = fl_load(FL_FLOATS(1) + i);,                                \
                 fl_vec x = fl_load_part(FL_FLOATS(0) + i, rest); fl_vec y = fl_load_part(FL_FLOATS(1) + i, rest);, expression)
#define FL_VECTOR_SPAN3(name, setup, expression)                                                     \
  FL_VECTOR_SPAN(name, setup, fl_vec x = fl_load(FL_FLOATS(0) + i); fl_vec y = fl_load(FL_FLOATS(1) + i); fl_vec z = fl_load(FL_FLOATS(2) + i);, \
                 fl_vec x = fl_load_part(FL_FLOATS(0) + i, rest); fl_vec y = fl_load_part(FL_FLOATS(1) + i, rest);                        \
                 fl_vec z = fl_load_part(FL_FLOATS(2) + i, rest);, expression)

/* Flags of an operation: its spans give uint8_t truth values; its int64_t arithmetic gives the right bits for uint64 too. */
enum { FL_GIVES_BOOL = 1, FL_TAKES_UINT64 = 2 };

/* An operation, with one span for each type in which it is computed. */
typedef struct fl_pointwise {
  fl_span_fn f32;
  fl_span_fn f64;
  fl_span_fn i64;     /* NULL: integers are converted to float */
  uint8_t flags; /* FL_GIVES_BOOL, FL_TAKES_UINT64 */
} fl_pointwise;

/* The initializer of an operation, without the spans that this build has no use for. */
#define FL_POINTWISE(f32, f64, i64, flags) {f32, FL_IF_DOUBLES(f64), FL_IF_INTEGERS(i64), flags}

/* Computes an operation of `count` operands (tensors or Scalars) into `out`: promotes and broadcasts the operands, and converts the results to
 * out's type. */
fl_status fl_pointwise_run(fl_context *context, const fl_pointwise *operation, fl_value *const *operands, size_t count, const fl_value *out,
                           const fl_parameter *parameters);
/* Defines the kernel fl_<name>_out of an operation that has `operands` operands and no parameters. */
#define FL_POINTWISE_KERNEL(name, operands, f32, f64, i64, flags)                              \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    static const fl_pointwise operation = FL_POINTWISE(f32, f64, i64, flags);                  \
    (void)count;                                                                               \
    return fl_pointwise_run(context, &operation, args, operands, args[operands], NULL);        \
  }
/* Defines the kernel of an operation on one real number, which is in lanes.h for vectors of float, from its expression on a double. */
#define FL_REAL_KERNEL(name, expression)                                                       \
  FL_VECTOR_SPAN1(name##_f32, , fl_##name##_lanes(x))                                          \
  FL_SPAN1(name##_f64, double, double, expression)                                             \
  FL_POINTWISE_KERNEL(name, 1, name##_f32, name##_f64, NULL, 0)

/* Computes out = condition ? yes : no in the dtype `common`. */
fl_status fl_where_run(fl_context *context, const fl_value *condition, const fl_value *yes, const fl_value *no, int8_t common, fl_tensor *out);
/* Computes a logical operation: converts operands of any type to truth values, and stores truth values. */
fl_status fl_logical_run(fl_context *context, fl_span_fn span, fl_value *const *operands, size_t count, const fl_value *out);
/* Stores ATen's result type of the operands in `common`. Fails when there is none, or when it is uint64 and `takes_uint64` is 0. */
fl_status fl_promoted_type(fl_context *context, fl_value *const *operands, size_t count, int takes_uint64, int8_t *common);
/* Stores ATen's result type of the operands in `common`. Fails when there is none, or when arithmetic is not defined on it. */
fl_status fl_common_type(fl_context *context, fl_value *const *operands, size_t count, int8_t *common);

#endif
