/* Kernels of reductions: sums, products, extrema, truth values, moments. */
#include <math.h>

#include "fold.h"
#include "rows.h"
#include "reduction.def"

/* The number of independent partial results of a row, which the compiler keeps in vector registers. */
#define PARTIALS 32

/* Defines a fold by the expression `step` of the accumulator a (of type A, in `field`), the element x and the origin o. A row is folded into
 * PARTIALS accumulators of type P, which start as `neutral`; then these are folded into one by the expression `join` of a and x. */
#define FOLD(name, T, P, field, A, neutral, step, join) \
  FOLD_ROW(name, T, P, field, A, neutral, step, join)   \
  FOLD_LANES(name, T, field, A, step)
#define FOLD_ROW(name, T, P, field, A, neutral, step, join)                                                                  \
  static void name##_row(size_t n, fl_accumulator *accumulator, const void *elements, const fl_accumulator *origin) {      \
    const T *source = elements;                                                                                            \
    P partial[PARTIALS];                                                                                                   \
    const P o = (P)origin->field;                                                                                          \
    size_t i = 0;                                                                                                          \
    (void)o;                                                                                                               \
    for (size_t j = 0; j < PARTIALS; ++j) {                                                                                \
      partial[j] = (P)(neutral);                                                                                           \
    }                                                                                                                      \
    for (; i + PARTIALS <= n; i += PARTIALS) {                                                                             \
      for (size_t j = 0; j < PARTIALS; ++j) {                                                                              \
        const P a = partial[j];                                                                                            \
        const P x = (P)source[i + j];                                                                                      \
        partial[j] = (P)(step);                                                                                            \
      }                                                                                                                    \
    }                                                                                                                      \
    for (size_t j = 0; i + j < n; ++j) {                                                                                   \
      const P a = partial[j];                                                                                              \
      const P x = (P)source[i + j];                                                                                        \
      partial[j] = (P)(step);                                                                                              \
    }                                                                                                                      \
    FL_UNROLL                                                                                                              \
    for (size_t half = PARTIALS / 2; half > 0; half /= 2) {                                                                \
      FL_UNROLL                                                                                                            \
      for (size_t j = 0; j < half; ++j) {                                                                                  \
        const P a = partial[j];                                                                                            \
        const P x = partial[j + half];                                                                                     \
        partial[j] = (P)(join);                                                                                            \
      }                                                                                                                    \
    }                                                                                                                      \
    const A a = accumulator->field;                                                                                        \
    const A x = (A)partial[0];                                                                                             \
    accumulator->field = (A)(join);                                                                                        \
  }
#define FOLD_LANES(name, T, field, A, step)                                                                                \
  static void name##_lanes(size_t n, fl_accumulator *accumulators, const void *elements, const fl_accumulator *origins) {  \
    const T *source = elements;                                                                                            \
    FL_INDEPENDENT                                                                                                         \
    for (size_t i = 0; i < n; ++i) {                                                                                       \
      const A a = accumulators[i].field;                                                                                   \
      const A x = (A)source[i];                                                                                            \
      const A o = origins[i].field;                                                                                        \
      (void)o;                                                                                                             \
      accumulators[i].field = (A)(step);                                                                                   \
    }                                                                                                                      \
  }

#define ROWS(name) {name##_row, name##_lanes}
#define NO_FOLD {NULL, NULL}

FOLD(any_bool, uint8_t, uint8_t, integer, int64_t, 0, (a != 0) | (x != 0), (a != 0) | (x != 0))
FOLD(all_bool, uint8_t, uint8_t, integer, int64_t, 1, (a != 0) & (x != 0), (a != 0) & (x != 0))
static const fl_fold any_folds[] = {NO_FOLD, NO_FOLD, NO_FOLD, ROWS(any_bool)};
static const fl_fold all_folds[] = {NO_FOLD, NO_FOLD, NO_FOLD, ROWS(all_bool)};

FOLD(sum_f32, float, float, real, double, 0.0f, a + x, a + x)
FOLD(sum_f64, double, double, real, double, 0.0, a + x, a + x)
FOLD(sum_i64, int64_t, int64_t, integer, int64_t, 0, fl_wrap_add(a, x), fl_wrap_add(a, x))
static const fl_fold sum_folds[] = {ROWS(sum_f32), ROWS(sum_f64), ROWS(sum_i64), ROWS(any_bool)};

FOLD(prod_f32, float, double, real, double, 1.0, a *x, a *x)
FOLD(prod_f64, double, double, real, double, 1.0, a *x, a *x)
FOLD(prod_i64, int64_t, int64_t, integer, int64_t, 1, fl_wrap_mul(a, x), fl_wrap_mul(a, x))
static const fl_fold prod_folds[] = {ROWS(prod_f32), ROWS(prod_f64), ROWS(prod_i64), ROWS(all_bool)};

/* The larger of a and x; NaN if either is NaN. */
#define LARGER (((x > a) | (x != x)) ? x : a)
#define SMALLER (((x < a) | (x != x)) ? x : a)
FOLD_LANES(max_f32, float, real, double, LARGER)
FOLD(max_f64, double, double, real, double, -INFINITY, LARGER, LARGER)
FOLD(max_i64, int64_t, int64_t, integer, int64_t, INT64_MIN, x > a ? x : a, x > a ? x : a)
FOLD_LANES(min_f32, float, real, double, SMALLER)
FOLD(min_f64, double, double, real, double, INFINITY, SMALLER, SMALLER)
FOLD(min_i64, int64_t, int64_t, integer, int64_t, INT64_MAX, x < a ? x : a, x < a ? x : a)

static void max_f32_vectors(size_t n, fl_accumulator *accumulator, const void *elements, const fl_accumulator *origin) {
  (void)origin;
  accumulator->real = (double)fl_row_max(n, elements, (float)accumulator->real);
}

static void min_f32_vectors(size_t n, fl_accumulator *accumulator, const void *elements, const fl_accumulator *origin) {
  (void)origin;
  accumulator->real = (double)fl_row_min(n, elements, (float)accumulator->real);
}

static const fl_fold max_folds[] = {{max_f32_vectors, max_f32_lanes}, ROWS(max_f64), ROWS(max_i64), NO_FOLD};
static const fl_fold min_folds[] = {{min_f32_vectors, min_f32_lanes}, ROWS(min_f64), ROWS(min_i64), NO_FOLD};

/* Folds for a variance: the sum in double, and the squared distances from the mean, the origin, in double, because float may not hold it. */
FOLD(total_f32, float, double, real, double, 0.0, a + x, a + x)
FOLD(square_f32, float, double, real, double, 0.0, a + (x - o) * (x - o), a + x)
FOLD(square_f64, double, double, real, double, 0.0, a + (x - o) * (x - o), a + x)
static const fl_fold total_folds[] = {ROWS(total_f32), ROWS(sum_f64), NO_FOLD, NO_FOLD};
static const fl_fold square_folds[] = {ROWS(square_f32), ROWS(square_f64), NO_FOLD, NO_FOLD};

/* ---- sum, mean, prod ---- */

/* The operands of a reduction: its input, its output, and the dimensions that it removes. */
typedef struct operands {
  const fl_tensor *in;
  fl_tensor *out;
  uint32_t reduced; /* bit d is set if dimension d is reduced */
  int keepdim;
} operands;

/* Reads the operands. If `dim` is NULL, every dimension is reduced; if `keepdim` is NULL, none is kept. */
static fl_status read_operands(fl_context *context, const fl_value *input, const fl_value *dim, const fl_value *keepdim,
                               const fl_value *output, operands *o) {
  int64_t kept = 0;
  *o = (operands){.in = fl_get_tensor(input), .out = fl_get_tensor(output), .reduced = UINT32_MAX};
  FL_CHECK(context, o->in != NULL && o->out != NULL && fl_dtype_size(o->in->dtype) > 0 && fl_dtype_size(o->out->dtype) > 0,
           "the input and the output must be tensors of known types");
  FL_CHECK(context, keepdim == NULL || fl_get_int(keepdim, &kept), "keepdim must be a bool");
  o->keepdim = kept != 0;
  return dim == NULL ? FL_OK : fl_reduced_dims(context, dim, o->in->rank, &o->reduced);
}

static fl_status reduce(fl_context *context, const operands *o, const fl_reduction *reduction) {
  FL_TRY(fl_reduced_out(context, o->out, o->in, o->reduced, o->keepdim));
  return fl_reduce_run(context, o->out, NULL, o->in, o->reduced, o->keepdim, reduction);
}

/* Reduces elements after a cast to the output's type, as ATen does for its dtype argument. */
static fl_status reduce_as_output(fl_context *context, const fl_value *input, const fl_value *dim, const fl_value *keepdim,
                                  const fl_value *output, fl_reduction *reduction) {
  operands o;
  FL_TRY(read_operands(context, input, dim, keepdim, output, &o));
  reduction->type = o.out->dtype == FL_BOOL ? FL_COMPUTE_BOOL : fl_compute_of(o.out->dtype);
  return reduce(context, &o, reduction);
}

static void divide_by_count(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters) {
  (void)is_real;
  (void)parameters;
  for (size_t i = 0; i < n; ++i) {
    accumulators[i].real /= (double)count;
  }
}

fl_status fl_sum_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_reduction reduction = {.folds = sum_folds};
  (void)count;
  return reduce_as_output(context, args[0], args[1], args[2], args[4], &reduction);
}

static fl_status mean(fl_context *context, const fl_value *input, const fl_value *dim, const fl_value *keepdim, const fl_value *output) {
  fl_reduction reduction = {.folds = sum_folds, .finish = divide_by_count};
  const fl_tensor *out = fl_get_tensor(output);
  FL_CHECK(context, out != NULL && fl_is_float(out->dtype), "the mean must be of a floating type");
  return reduce_as_output(context, input, dim, keepdim, output, &reduction);
}

fl_status fl_mean_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return mean(context, args[0], args[1], args[2], args[4]);
}

fl_status fl_mean_dtype_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return mean(context, args[0], NULL, NULL, args[2]);
}

fl_status fl_prod_int_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_reduction reduction = {.folds = prod_folds, .start = {{.real = 1.0}, {.integer = 1}}};
  (void)count;
  FL_CHECK(context, args[1]->tag == FL_INT, "the dimension must be an integer");
  return reduce_as_output(context, args[0], args[1], args[2], args[4], &reduction);
}

fl_status fl_prod_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_reduction reduction = {.folds = prod_folds, .start = {{.real = 1.0}, {.integer = 1}}};
  (void)count;
  return reduce_as_output(context, args[0], NULL, NULL, args[2], &reduction);
}

/* ---- extrema ---- */

static fl_status extremum(fl_context *context, const fl_value *input, const fl_value *dim, const fl_value *keepdim,
                          const fl_value *output, int largest) {
  fl_reduction reduction = {.folds = largest ? max_folds : min_folds,
                            .start = {{.real = largest ? -INFINITY : INFINITY}, {.integer = largest ? INT64_MIN : INT64_MAX}}};
  operands o;
  FL_TRY(read_operands(context, input, dim, keepdim, output, &o));
  FL_CHECK(context, o.in->dtype == o.out->dtype, "the output must have the input's type");
  FL_CHECK(context, o.in->dtype != FL_UINT64, "extrema are not defined on uint64");
  FL_TRY(fl_reduced_out(context, o.out, o.in, o.reduced, o.keepdim));
  FL_CHECK(context, fl_numel(o.out) == 0 || fl_reduced_count(o.in, o.reduced) > 0, "an extremum of no elements is not defined");
  reduction.type = fl_compute_of(o.in->dtype);
  return reduce(context, &o, &reduction);
}

fl_status fl_amax_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], args[1], args[2], args[3], 1);
}

fl_status fl_amin_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], args[1], args[2], args[3], 0);
}

fl_status fl_max_unary_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], NULL, NULL, args[1], 1);
}

fl_status fl_min_unary_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], NULL, NULL, args[1], 0);
}

/* ---- any, all ---- */

static fl_status truth(fl_context *context, const fl_value *input, const fl_value *dim, const fl_value *keepdim, const fl_value *output,
                       int all) {
  const fl_reduction reduction = {
      .folds = all ? all_folds : any_folds, .start = {{.real = 0.0}, {.integer = all}}, .type = FL_COMPUTE_BOOL};
  operands o;
  FL_TRY(read_operands(context, input, dim, keepdim, output, &o));
  FL_CHECK(context, o.out->dtype == FL_BOOL || o.out->dtype == FL_UINT8, "the output must be of bool or uint8");
  /* For these kernels, an empty list means no dimension, and None means all. */
  if (dim != NULL && dim->tag == FL_INT_LIST && dim->as.list.count == 0) {
    o.reduced = 0;
  }
  return reduce(context, &o, &reduction);
}

fl_status fl_any_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], args[1], args[2], args[3], 0);
}

fl_status fl_any_all_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], NULL, NULL, args[1], 0);
}

fl_status fl_all_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], args[1], args[2], args[3], 1);
}

fl_status fl_all_all_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], NULL, NULL, args[1], 1);
}

/* ---- variance: p[0] is the correction ---- */

static void to_variance(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters) {
  const double rest = (double)count - parameters[0].real;
  (void)is_real;
  for (size_t i = 0; i < n; ++i) {
    accumulators[i].real /= count > 0 && rest > 0.0 ? rest : 0.0;
  }
}

static void to_deviation(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters) {
  to_variance(n, accumulators, is_real, count, parameters);
  for (size_t i = 0; i < n; ++i) {
    accumulators[i].real = sqrt(accumulators[i].real);
  }
}

static fl_status variance(fl_context *context, fl_value *const *args, double correction, const fl_value *keepdim, const fl_value *output,
                          const fl_value *mean_output, int root) {
  const fl_parameter parameter = {correction, 0};
  fl_reduction reduction = {.folds = total_folds, .second = square_folds, .finish = root ? to_deviation : to_variance,
                            .parameters = &parameter};
  operands o;
  fl_tensor *mean_out = mean_output != NULL ? fl_get_tensor(mean_output) : NULL;
  FL_TRY(read_operands(context, args[0], args[1], keepdim, output, &o));
  FL_CHECK(context, fl_is_float(o.out->dtype) && fl_is_float(o.in->dtype) && (mean_output == NULL || (mean_out != NULL && fl_is_float(mean_out->dtype))),
           "variance takes and gives floating types");
  FL_TRY(fl_reduced_out(context, o.out, o.in, o.reduced, o.keepdim));
  if (mean_out != NULL) {
    FL_TRY(fl_reduced_out(context, mean_out, o.in, o.reduced, o.keepdim));
  }
  reduction.type = fl_compute_of(o.in->dtype);
  return fl_reduce_run(context, o.out, mean_out, o.in, o.reduced, o.keepdim, &reduction);
}

/* Stores the schema's `Scalar? correction`, which is 1 for None. */
static fl_status read_correction(fl_context *context, const fl_value *value, double *correction) {
  *correction = 1.0;
  FL_CHECK(context, fl_is_none(value) || fl_get_real(value, correction), "the correction must be a number or none");
  return FL_OK;
}

fl_status fl_var_correction_out(fl_context *context, fl_value *const *args, size_t count) {
  double correction;
  (void)count;
  FL_TRY(read_correction(context, args[2], &correction));
  return variance(context, args, correction, args[3], args[4], NULL, 0);
}

fl_status fl_var_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_INT_ARGUMENT(unbiased, 2);
  (void)count;
  return variance(context, args, unbiased != 0 ? 1.0 : 0.0, args[3], args[4], NULL, 0);
}

fl_status fl_std_correction_out(fl_context *context, fl_value *const *args, size_t count) {
  double correction;
  (void)count;
  FL_TRY(read_correction(context, args[2], &correction));
  return variance(context, args, correction, args[3], args[4], NULL, 1);
}

fl_status fl_std_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_INT_ARGUMENT(unbiased, 2);
  (void)count;
  return variance(context, args, unbiased != 0 ? 1.0 : 0.0, args[3], args[4], NULL, 1);
}

fl_status fl_var_mean_correction_out(fl_context *context, fl_value *const *args, size_t count) {
  double correction;
  (void)count;
  FL_TRY(read_correction(context, args[2], &correction));
  return variance(context, args, correction, args[3], args[4], args[5], 0);
}
