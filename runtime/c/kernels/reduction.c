/* Reductions to one value per output: sums, products, extrema, truth values, moments. */
#include <math.h>

#include "fold.h"
#include "rows.h"
#include "reduction.def"

/* Independent partial results in a row, which the compiler keeps in vector registers. */
#define PARTIALS 32

/* Folds by an expression of the accumulator a (of type A, field `field`), the element x and the origin o. Rows fold into PARTIALS
 * accumulators of type P that start as `neutral`, then those into one by the expression `join` of a and x. */
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

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

FOLD(sum_f32, float, float, real, double, 0.0f, a + x, a + x)
FOLD(sum_f64, double, double, real, double, 0.0, a + x, a + x)
FOLD(sum_i64, int64_t, int64_t, integer, int64_t, 0, wrap_add(a, x), wrap_add(a, x))
static const fl_fold sum_folds[] = {ROWS(sum_f32), ROWS(sum_f64), ROWS(sum_i64), NO_FOLD};

FOLD(prod_f32, float, double, real, double, 1.0, a *x, a *x)
FOLD(prod_f64, double, double, real, double, 1.0, a *x, a *x)
FOLD(prod_i64, int64_t, int64_t, integer, int64_t, 1, wrap_mul(a, x), wrap_mul(a, x))
static const fl_fold prod_folds[] = {ROWS(prod_f32), ROWS(prod_f64), ROWS(prod_i64), NO_FOLD};

/* A NaN stays: it is larger and smaller than anything. */
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

FOLD(any_bool, uint8_t, uint8_t, integer, int64_t, 0, (a != 0) | (x != 0), (a != 0) | (x != 0))
FOLD(all_bool, uint8_t, uint8_t, integer, int64_t, 1, (a != 0) & (x != 0), (a != 0) & (x != 0))
static const fl_fold any_folds[] = {NO_FOLD, NO_FOLD, NO_FOLD, ROWS(any_bool)};
static const fl_fold all_folds[] = {NO_FOLD, NO_FOLD, NO_FOLD, ROWS(all_bool)};

/* Squared distances from the mean, the origin. */
FOLD(square_f32, float, float, real, double, 0.0f, a + (x - o) * (x - o), a + x)
FOLD(square_f64, double, double, real, double, 0.0, a + (x - o) * (x - o), a + x)
static const fl_fold square_folds[] = {ROWS(square_f32), ROWS(square_f64), NO_FOLD, NO_FOLD};

/* ---- sum, mean, prod ---- */

static fl_status read_keepdim(fl_context *context, const fl_value *value, int *keepdim) {
  int64_t given = 0;
  FL_CHECK(context, fl_get_int(value, &given), "keepdim must be a bool");
  *keepdim = given != 0;
  return FL_OK;
}

/* Elements are cast to the output's type before they are summed, as ATen's dtype argument says. */
static fl_status reduce_as_output(fl_context *context, const fl_value *input, const fl_value *dim, int keepdim, const fl_value *output,
                                  fl_reduction *reduction) {
  const fl_tensor *in = fl_get_tensor(input);
  fl_tensor *out = fl_get_tensor(output);
  uint32_t reduced = UINT32_MAX;
  FL_CHECK(context, in != NULL && out != NULL && fl_dtype_size(in->dtype) > 0 && fl_dtype_size(out->dtype) > 0,
           "the input and the output must be tensors of known types");
  if (dim != NULL) {
    FL_TRY(fl_reduced_dims(context, dim, in->rank, &reduced));
  }
  FL_TRY(fl_reduced_out(context, out, in, reduced, keepdim));
  reduction->type = fl_compute_of(out->dtype);
  return fl_reduce_run(context, out, NULL, in, reduced, keepdim, reduction);
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
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return reduce_as_output(context, args[0], args[1], keepdim, args[4], &reduction);
}

static fl_status mean(fl_context *context, const fl_value *input, const fl_value *dim, int keepdim, const fl_value *output) {
  fl_reduction reduction = {.folds = sum_folds, .finish = divide_by_count};
  const fl_tensor *out = fl_get_tensor(output);
  FL_CHECK(context, out != NULL && fl_is_float(out->dtype), "the mean must be of a floating type");
  return reduce_as_output(context, input, dim, keepdim, output, &reduction);
}

fl_status fl_mean_out(fl_context *context, fl_value *const *args, size_t count) {
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return mean(context, args[0], args[1], keepdim, args[4]);
}

fl_status fl_mean_dtype_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return mean(context, args[0], NULL, 0, args[2]);
}

fl_status fl_prod_int_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_reduction reduction = {.folds = prod_folds, .start = {{.real = 1.0}, {.integer = 1}}};
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  FL_CHECK(context, args[1]->tag == FL_INT, "the dimension must be an integer");
  return reduce_as_output(context, args[0], args[1], keepdim, args[4], &reduction);
}

fl_status fl_prod_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_reduction reduction = {.folds = prod_folds, .start = {{.real = 1.0}, {.integer = 1}}};
  (void)count;
  return reduce_as_output(context, args[0], NULL, 0, args[2], &reduction);
}

/* ---- extrema ---- */

static fl_status extremum(fl_context *context, const fl_value *input, const fl_value *dim, int keepdim, const fl_value *output,
                          int largest) {
  fl_reduction reduction = {.folds = largest ? max_folds : min_folds,
                            .start = {{.real = largest ? -INFINITY : INFINITY}, {.integer = largest ? INT64_MIN : INT64_MAX}}};
  const fl_tensor *in = fl_get_tensor(input);
  fl_tensor *out = fl_get_tensor(output);
  uint32_t reduced = UINT32_MAX;
  FL_CHECK(context, in != NULL && out != NULL && fl_dtype_size(in->dtype) > 0 && fl_dtype_size(out->dtype) > 0,
           "the input and the output must be tensors of known types");
  FL_CHECK(context, in->dtype == out->dtype, "the output must have the input's type");
  FL_CHECK(context, in->dtype != FL_UINT64, "extrema are not defined on uint64");
  if (dim != NULL) {
    FL_TRY(fl_reduced_dims(context, dim, in->rank, &reduced));
  }
  FL_TRY(fl_reduced_out(context, out, in, reduced, keepdim));
  FL_CHECK(context, fl_numel(out) == 0 || fl_reduced_count(in, reduced) > 0, "an extremum of no elements is not defined");
  reduction.type = fl_compute_of(in->dtype);
  return fl_reduce_run(context, out, NULL, in, reduced, keepdim, &reduction);
}

fl_status fl_amax_out(fl_context *context, fl_value *const *args, size_t count) {
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return extremum(context, args[0], args[1], keepdim, args[3], 1);
}

fl_status fl_amin_out(fl_context *context, fl_value *const *args, size_t count) {
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return extremum(context, args[0], args[1], keepdim, args[3], 0);
}

fl_status fl_max_unary_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], NULL, 0, args[1], 1);
}

fl_status fl_min_unary_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return extremum(context, args[0], NULL, 0, args[1], 0);
}

/* ---- any, all ---- */

static fl_status truth(fl_context *context, const fl_value *input, const fl_value *dim, int keepdim, const fl_value *output, int all) {
  const fl_reduction reduction = {
      .folds = all ? all_folds : any_folds, .start = {{.real = 0.0}, {.integer = all}}, .type = FL_COMPUTE_BOOL};
  const fl_tensor *in = fl_get_tensor(input);
  fl_tensor *out = fl_get_tensor(output);
  uint32_t reduced = UINT32_MAX;
  FL_CHECK(context, in != NULL && out != NULL && fl_dtype_size(in->dtype) > 0 && (out->dtype == FL_BOOL || out->dtype == FL_UINT8),
           "the input must be a tensor of a known type and the output one of bool or uint8");
  /* An empty list of dimensions means none of them here, and none means all. */
  const int nothing = dim != NULL && dim->tag == FL_INT_LIST && dim->as.list.count == 0;
  if (nothing) {
    reduced = 0;
  } else if (dim != NULL) {
    FL_TRY(fl_reduced_dims(context, dim, in->rank, &reduced));
  }
  FL_TRY(fl_reduced_out(context, out, in, reduced, keepdim));
  return fl_reduce_run(context, out, NULL, in, reduced, keepdim, &reduction);
}

fl_status fl_any_out(fl_context *context, fl_value *const *args, size_t count) {
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return truth(context, args[0], args[1], keepdim, args[3], 0);
}

fl_status fl_any_all_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], NULL, 0, args[1], 0);
}

fl_status fl_all_out(fl_context *context, fl_value *const *args, size_t count) {
  int keepdim;
  (void)count;
  FL_TRY(read_keepdim(context, args[2], &keepdim));
  return truth(context, args[0], args[1], keepdim, args[3], 1);
}

fl_status fl_all_all_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return truth(context, args[0], NULL, 0, args[1], 1);
}

/* ---- variance: p[0] is the correction ---- */

static void to_variance(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters) {
  const double rest = (double)count - parameters[0].real;
  (void)is_real;
  for (size_t i = 0; i < n; ++i) {
    accumulators[i].real /= rest > 0.0 ? rest : 0.0;
  }
}

static void to_deviation(size_t n, fl_accumulator *accumulators, int is_real, size_t count, const fl_parameter *parameters) {
  to_variance(n, accumulators, is_real, count, parameters);
  for (size_t i = 0; i < n; ++i) {
    accumulators[i].real = sqrt(accumulators[i].real);
  }
}

static fl_status variance(fl_context *context, fl_value *const *args, double correction, const fl_value *keepdim_value,
                          const fl_value *output, const fl_value *mean_output, int root) {
  const fl_parameter parameter = {correction, 0};
  fl_reduction reduction = {.folds = sum_folds, .second = square_folds, .finish = root ? to_deviation : to_variance,
                            .parameters = &parameter};
  FL_TENSOR_ARGUMENT(self, 0);
  fl_tensor *out = fl_get_tensor(output);
  fl_tensor *mean_out = mean_output != NULL ? fl_get_tensor(mean_output) : NULL;
  uint32_t reduced;
  int keepdim;
  FL_TRY(read_keepdim(context, keepdim_value, &keepdim));
  FL_CHECK(context, out != NULL && fl_is_float(out->dtype) && fl_is_float(self->dtype), "variance takes and gives floating types");
  FL_CHECK(context, mean_output == NULL || (mean_out != NULL && fl_is_float(mean_out->dtype)), "variance takes and gives floating types");
  FL_TRY(fl_reduced_dims(context, args[1], self->rank, &reduced));
  FL_TRY(fl_reduced_out(context, out, self, reduced, keepdim));
  if (mean_out != NULL) {
    FL_TRY(fl_reduced_out(context, mean_out, self, reduced, keepdim));
  }
  reduction.type = fl_compute_of(self->dtype);
  return fl_reduce_run(context, out, mean_out, self, reduced, keepdim, &reduction);
}

/* The schema's `Scalar? correction`: 1 when absent. */
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
