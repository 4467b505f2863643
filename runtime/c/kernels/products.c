/* Kernels of arithmetic on quantized tensors: sums, and products of floats with int8 matrices that have a scale per row or group. */
#include "gemm.h"
#include "optional.h"
#include "quantize.h"
#include "spans.h"
#include "products.def"

/* ---- sums ---- */

enum { A, B, OUT, RANGE, PARAMETERS };

/* Returns a quantized real number: rounds it, halves to even, before it adds the zero point. */
static inline int64_t quantized(float x, const fl_parameter *p) {
  const double q = (double)(nearbyintf(x * (float)p[OUT].real) + (float)p[OUT].integer), low = p[RANGE].real, high = (double)p[RANGE].integer;
  return fl_i64_of_real(q < low ? low : q > high ? high : q);
}

static inline float dequantized(float q, const fl_parameter *p) { return (q - (float)p->integer) * (float)p->real; }

FL_SPAN2(sum_span, float, int64_t, quantized(dequantized(x, p + A) + dequantized(y, p + B), p))

fl_status fl_quantized_add_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(a, 0);
  FL_TENSOR_ARGUMENT(b, 5);
  FL_TENSOR_ARGUMENT(out, 14);
  const fl_tensor *const in[2] = {a, b};
  fl_parameter p[PARAMETERS];
  int64_t range[2];
  (void)count;
  for (int i = A; i <= OUT; ++i) {
    const int at = (int[]){1, 6, 10}[i];
    FL_CHECK(context, fl_get_real(args[at], &p[i].real) && fl_get_int(args[at + 1], &p[i].integer),
             "a scale must be a number, and a zero point an integer");
  }
  FL_CHECK(context, a->dtype == out->dtype && b->dtype == out->dtype, "the operands and the result must have one dtype");
  FL_TRY(fl_quantized_range(context, args, 12, out->dtype, range));
  p[OUT].real = 1.0 / p[OUT].real;
  p[RANGE] = (fl_parameter){(double)range[0], range[1]};
  FL_TRY(fl_broadcast_out(context, out, in, 2));
  const fl_map map = {sum_span, {FL_COMPUTE_F32, FL_COMPUTE_F32}, FL_COMPUTE_I64, -1, p};
  return fl_map_run(context, out, in, 2, &map);
}

/* ---- products ---- */

/* The product out[m, n] = x[m, k] w[k, n]; element (i, j) of w is the weight's element i k_stride + j n_stride, times its scale. */
typedef struct mixed {
  const fl_tensor *x, *weight, *scales;
  fl_tensor *out;
  size_t m, k, n;
  size_t k_stride, n_stride;                  /* strides of the weight */
  size_t k_scale, n_scale;                    /* strides of the scales, 0 where the scale stays the same */
  size_t group;                               /* number of neighbours along k with the same scale */
} mixed;

static int is_fast(const fl_tensor *x, const fl_tensor *out) { return fl_is(x->dtype, FL_FLOAT32) && fl_is(out->dtype, FL_FLOAT32); }

/* Returns the scratch memory for one panel of the weight, converted to floats. */
static size_t panel_bytes(fl_value *const *args, uint8_t inner, int out) {
  const fl_tensor *x = fl_get_tensor(args[0]), *weight = fl_get_tensor(args[1]), *to = fl_get_tensor(args[out]);
  return x && weight && to && weight->rank == 2 && is_fast(x, to) ? fl_scratch_bytes((size_t)weight->sizes[inner], FL_PANEL * sizeof(float)) : 0;
}

size_t fl_mixed_mm_scratch(fl_value *const *args, size_t count) {
  (void)count;
  return panel_bytes(args, 0, 4);
}

size_t fl_mixed_linear_scratch(fl_value *const *args, size_t count) {
  (void)count;
  return panel_bytes(args, 1, 5);
}

static size_t scale_place(const mixed *p, size_t k, size_t n) { return k / p->group * p->k_scale + n * p->n_scale; }

static void run_by_panels(const mixed *p, float *panel) {
  const int8_t *const weight = p->weight->data;
  const float *const scales = p->scales->data;
  for (size_t n = 0; n < p->n; n += FL_PANEL) {
    const size_t width = p->n - n < FL_PANEL ? p->n - n : FL_PANEL;
    for (size_t k = 0; k < p->k; ++k) {
      for (size_t j = 0; j < FL_PANEL; ++j) {
        panel[k * FL_PANEL + j] = j < width ? (float)weight[k * p->k_stride + (n + j) * p->n_stride] * scales[scale_place(p, k, n + j)] : 0.0f;
      }
    }
    const fl_gemm product = {width, 1, p->k, panel, NULL, FL_ACTIVATION_NONE, 0, NULL};
    fl_gemm_dense(NULL, &product, p->x->data, p->k, p->m, (float *)p->out->data + n, p->n, NULL, 0);
  }
}

static void run_by_definition(const mixed *p) {
  for (size_t i = 0; i < p->m; ++i) {
    for (size_t j = 0; j < p->n; ++j) {
      double sum = 0;
      for (size_t k = 0; k < p->k; ++k) {
        const double w = (double)((const int8_t *)p->weight->data)[k * p->k_stride + j * p->n_stride];
        sum += fl_read_real(p->x->dtype, p->x->data, i * p->k + k) * (w * fl_read_real(p->scales->dtype, p->scales->data, scale_place(p, k, j)));
      }
      fl_write_real(p->out->dtype, p->out->data, i * p->n + j, sum);
    }
  }
}

/* Computes a product. `inner` is the dimension of the weight along which products are summed. */
static fl_status run_mixed(fl_context *context, fl_value *const *args, uint8_t inner, fl_tensor *out) {
  FL_TENSOR_ARGUMENT(x, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_TENSOR_ARGUMENT(scales, 2);
  FL_CHECK(context, fl_is_none(args[3]), "the weight must be quantized symmetrically: there is no use for zero points");
  FL_CHECK(context, x->rank == 2 && weight->rank == 2 && fl_is_float(x->dtype) && weight->dtype == FL_INT8,
           "the input must be a matrix of floats, and the weight one of int8");
  FL_CHECK(context, scales->dtype == x->dtype && fl_is_float(out->dtype), "the scales must be of the input's type, and the result of a floating one");
  FL_CHECK(context, x->sizes[1] == weight->sizes[inner], "the input's columns must be as many as the weight has along that dimension");
  FL_CHECK(context, (scales->rank == 1 || (scales->rank == 2 && inner == 1)) && scales->sizes[0] == weight->sizes[0],
           "there must be one scale for each row of the weight, or for each group of neighbours there");
  const int32_t groups = scales->rank == 2 ? scales->sizes[1] : 1;
  FL_CHECK(context, groups > 0 && weight->sizes[1] % groups == 0, "the groups of a row must be of one size");
  const uint8_t outer = (uint8_t)(1 - inner);
  const int32_t sizes[2] = {x->sizes[0], weight->sizes[outer]};
  FL_TRY(fl_resize(context, out, sizes, 2));
  FL_CHECK(context, fl_is_contiguous(x) && fl_is_contiguous(scales) && fl_is_contiguous(out), "the tensors must be contiguous");
  mixed p = {.x = x, .weight = weight, .scales = scales, .out = out, .m = (size_t)sizes[0], .k = (size_t)x->sizes[1], .n = (size_t)sizes[1]};
  p.k_stride = (size_t)weight->strides[inner];
  p.n_stride = (size_t)weight->strides[outer];
  p.k_scale = inner == 0 || groups > 1 ? 1 : 0;
  p.n_scale = inner == 0 ? 0 : (size_t)groups;
  p.group = inner == 0 || p.k == 0 ? 1 : p.k / (size_t)groups;
  if (!is_fast(x, out) || p.k == 0) {
    run_by_definition(&p);
    return FL_OK;
  }
  FL_CHECK(context, context->scratch_size >= fl_scratch_bytes(p.k, FL_PANEL * sizeof(float)), "the kernel was given too little scratch memory");
  run_by_panels(&p, context->scratch);
  return FL_OK;
}

fl_status fl_mixed_mm_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(out, 4);
  (void)count;
  return run_mixed(context, args, 0, out);
}

fl_status fl_mixed_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(out, 5);
  (void)count;
  return run_mixed(context, args, 1, out);
}
