/* Kernels of activation functions. */
#include "spans.h"
#include "activation.def"

static double softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }

static inline double hold(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

FL_REAL_KERNEL(hardsigmoid, hold(x + 3.0, 0.0, 6.0) / 6.0)
FL_REAL_KERNEL(hardswish, x *hold(x + 3.0, 0.0, 6.0) / 6.0)
FL_REAL_KERNEL(log_sigmoid, -softplus(-x))
FL_REAL_KERNEL(mish, x *tanh(softplus(x)))
FL_REAL_KERNEL(sigmoid, 1.0 / (1.0 + exp(-x)))
FL_REAL_KERNEL(silu, x / (1.0 + exp(-x)))
FL_REAL_KERNEL(tanh, tanh(x))

FL_VECTOR_SPAN1(relu_f32, , fl_relu_lanes(x))
FL_SPAN1(relu_f64, double, double, x < 0.0 ? 0.0 : x)
FL_SPAN1(relu_i64, int64_t, int64_t, x < 0 ? 0 : x)

FL_POINTWISE_KERNEL(relu, 1, relu_f32, relu_f64, relu_i64, 0)

#define SQRT_HALF 0.70710678118654752440
#define SQRT_TWO_OVER_PI 0.79788456080286535588

FL_VECTOR_SPAN1(gelu_f32, , fl_gelu_lanes(x))
FL_SPAN1(gelu_f64, double, double, 0.5 * x * (1.0 + erf(x * SQRT_HALF)))
FL_VECTOR_SPAN1(gelu_tanh_f32, , fl_gelu_tanh_lanes(x))
FL_SPAN1(gelu_tanh_f64, double, double, 0.5 * x * (1.0 + tanh(SQRT_TWO_OVER_PI * (x + 0.044715 * x * x * x))))

fl_status fl_gelu_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise exact = FL_POINTWISE(gelu_f32, gelu_f64, NULL, 0);
  static const fl_pointwise by_tanh = FL_POINTWISE(gelu_tanh_f32, gelu_tanh_f64, NULL, 0);
  (void)count;
  FL_CHECK(context, args[1]->tag == FL_STRING, "gelu's approximate must be a string");
  const char *const approximate = args[1]->as.string.data;
  const int is_tanh = strcmp(approximate, "tanh") == 0;
  /* A sentence instead of a name is the message of a condition of the program that does not hold, because stock ExecuTorch has no operator
   * that fails. The operand is the number in question, or NaN. */
  if (strchr(approximate, ' ') != NULL) {
    FL_TENSOR_ARGUMENT(found, 0);
    context->is_condition = 1;
    if (found->dtype == FL_FLOAT64 && fl_numel(found) == 1 && *(const double *)found->data == *(const double *)found->data) {
      return FL_FAIL_NUMBERS(context, FL_INVALID_ARGUMENT, approximate, fl_i64_of_real(*(const double *)found->data), 0);
    }
    return FL_FAIL(context, FL_INVALID_ARGUMENT, approximate);
  }
  FL_CHECK(context, is_tanh || strcmp(approximate, "none") == 0, "gelu's approximate must be none or tanh");
  return fl_pointwise_run(context, is_tanh ? &by_tanh : &exact, args, 1, args[2], NULL);
}

/* Reads `number` Scalars from args[1] on into `parameters`. */
static fl_status read_parameters(fl_context *context, fl_value *const *args, size_t number, fl_parameter *parameters) {
  for (size_t i = 0; i < number; ++i) {
    FL_CHECK(context, fl_get_real(args[i + 1], &parameters[i].real), "the parameters of an activation must be numbers");
    if (!fl_get_int(args[i + 1], &parameters[i].integer)) {
      parameters[i].integer = fl_i64_of_real(parameters[i].real);
    }
  }
  return FL_OK;
}

/* PARAMETRIC defines an activation with the Scalar parameters p[0], p[1], …, which are a, b and c in the vector expression. */
#define PARAMETERS                                                     \
  const fl_vec a = fl_set((float)p[0].real);                           \
  const fl_vec b = fl_set((float)p[1].real);                           \
  const fl_vec c = fl_set((float)p[2].real);                           \
  (void)a;                                                             \
  (void)b;                                                             \
  (void)c
#define PARAMETRIC(name, number, vector_expression, expression)                                \
  FL_VECTOR_SPAN1(name##_f32, PARAMETERS, vector_expression)                                   \
  FL_SPAN1(name##_f64, double, double, expression)                                             \
  fl_status fl_##name##_out(fl_context *context, fl_value *const *args, size_t count) {        \
    static const fl_pointwise operation = FL_POINTWISE(name##_f32, name##_f64, NULL, 0);                   \
    fl_parameter parameters[3] = {{0.0, 0}};                                                   \
    (void)count;                                                                               \
    FL_TRY(read_parameters(context, args, number, parameters));                                \
    return fl_pointwise_run(context, &operation, args, 1, args[number + 1], parameters);       \
  }

/* The parameters are alpha, scale, input_scale. */
PARAMETRIC(elu, 3, fl_elu_lanes(x, p[0].real, p[1].real, p[2].real),
           x <= 0.0 ? expm1(x * p[2].real) * p[0].real * p[1].real : x * p[1].real)
PARAMETRIC(celu, 1, fl_select((fl_ivec)(x <= fl_zero()), fl_expm1_vector(x / a) * a, x), x <= 0.0 ? expm1(x / p[0].real) * p[0].real : x)
PARAMETRIC(leaky_relu, 1, fl_leaky_relu_lanes(x, p[0].real), x > 0.0 ? x : x * p[0].real)
/* The parameters are beta, threshold. */
PARAMETRIC(softplus, 2, fl_softplus_lanes(x, p[0].real, p[1].real),
           x *p[0].real > p[1].real ? x : softplus(x * p[0].real) / p[0].real)
PARAMETRIC(hardshrink, 1, fl_select((fl_ivec)(x >= -a) & (fl_ivec)(x <= a), fl_zero(), x), x >= -p[0].real && x <= p[0].real ? 0.0 : x)
PARAMETRIC(softshrink, 1, fl_select((fl_ivec)(x > a), x - a, fl_select((fl_ivec)(x < -a), x + a, x *fl_zero())),
           x > p[0].real ? x - p[0].real : x < -p[0].real ? x + p[0].real : x * 0.0)

/* Limits an element; the upper limit is applied last. NaN in the element or in a limit gives NaN. */
#define RAISED(x, low) ((x) < (low) || (low) != (low) ? (low) : (x))
#define LOWERED(x, high) ((x) > (high) || (high) != (high) ? (high) : (x))
FL_VECTOR_SPAN1(hardtanh_f32, , fl_hardtanh_lanes(x, p[0].real, p[1].real))
FL_SPAN1(hardtanh_f64, double, double, LOWERED(RAISED(x, p[0].real), p[1].real))
FL_SPAN1(hardtanh_i64, int64_t, int64_t, LOWERED(RAISED(x, p[0].integer), p[1].integer))

fl_status fl_hardtanh_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(hardtanh_f32, hardtanh_f64, hardtanh_i64, 0);
  fl_parameter parameters[2];
  (void)count;
  FL_TRY(read_parameters(context, args, 2, parameters));
  return fl_pointwise_run(context, &operation, args, 1, args[3], parameters);
}

FL_SPAN1(threshold_f32, float, float, x <= (float)p[0].real ? (float)p[1].real : x)
FL_SPAN1(threshold_f64, double, double, x <= p[0].real ? p[1].real : x)
FL_SPAN1(threshold_i64, int64_t, int64_t, x <= p[0].integer ? p[1].integer : x)

fl_status fl_threshold_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(threshold_f32, threshold_f64, threshold_i64, 0);
  fl_parameter parameters[2];
  FL_TENSOR_ARGUMENT(self, 0);
  (void)count;
  FL_TRY(read_parameters(context, args, 2, parameters));
  if (fl_is_integer(self->dtype) && self->dtype != FL_INT64) {
    int64_t bits = 0; /* as in ATen, the threshold has the tensor's type: -1 is 255 for bytes */
    fl_narrow(FL_COMPUTE_I64, self->dtype)(1, &bits, &parameters[0].integer);
    fl_widen(self->dtype, FL_COMPUTE_I64)(1, &parameters[0].integer, &bits);
  }
  return fl_pointwise_run(context, &operation, args, 1, args[3], parameters);
}

FL_VECTOR_SPAN2(glu_f32, , x *fl_sigmoid(y))
FL_SPAN2(glu_f64, double, double, x / (1.0 + exp(-y)))

fl_status fl_glu_out(fl_context *context, fl_value *const *args, size_t count) {
  static const fl_pointwise operation = FL_POINTWISE(glu_f32, glu_f64, NULL, 0);
  FL_TENSOR_ARGUMENT(self, 0);
  FL_INT_ARGUMENT(dim, 1);
  uint8_t at;
  int32_t sizes[FL_MAX_RANK];
  (void)count;
  FL_TRY(fl_wrap_dim(context, dim, self->rank, &at));
  FL_CHECK(context, self->rank > 0 && self->sizes[at] % 2 == 0, "glu needs an even number of elements along its dimension");
  memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
  sizes[at] /= 2;
  fl_tensor halves[2] = {*self, *self};
  halves[0].sizes = sizes;
  halves[1].sizes = sizes;
  if (fl_numel(self) > 0) {
    halves[1].data = (char *)self->data + (int64_t)sizes[at] * self->strides[at] * (int64_t)fl_dtype_size(self->dtype);
  }
  fl_value values[2] = {{.as = {.tensor = &halves[0]}, .tag = FL_TENSOR}, {.as = {.tensor = &halves[1]}, .tag = FL_TENSOR}};
  fl_value *const operands[2] = {&values[0], &values[1]};
  return fl_pointwise_run(context, &operation, operands, 2, args[2], NULL);
}
