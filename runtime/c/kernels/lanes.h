/* Elementwise operators on vectors of floats: what kernels compute of contiguous elements, and what the loops of emitted programs are made of.
 *
 *   FL_ELEMENTWISE("aten::leaky_relu.out", leaky_relu, "v,p", (fl_vec x, double slope), expression)
 *
 * defines fl_leaky_relu_lanes for the operator's out-variant. The third argument says what the operator's arguments must be, in order: v, a
 * tensor of floats; s, a Scalar that becomes a vector of equal elements; p, a Scalar; =2, =none or =tanh, a constant, which the function does
 * not receive. FL_ELEMENTWISE_OF names a further operator, or other arguments, that an earlier function computes.
 */
#ifndef FLAMBEAU_KERNELS_LANES_H
#define FLAMBEAU_KERNELS_LANES_H

#include "simd.h"

#define FL_ELEMENTWISE_OF(operator, name, arguments)
#define FL_ELEMENTWISE(operator, name, arguments, parameters, expression) \
  FL_INLINE fl_vec fl_##name##_lanes parameters { return expression; }

/* ---- the loops of emitted programs ---- */

/* Bytes as floats, and the element at a multiple of a stride. */
#define FL_FLOATS_AT(bytes) ((float *)(void *)(bytes))
#define FL_CONST_FLOATS_AT(bytes) ((const float *)(const void *)(bytes))
#define FL_AT(pointer, index, stride) ((pointer) + (size_t)(index) * (stride))
/* The part of a number of elements that whole vectors are. */
#define FL_WHOLE_LANES(count) ((size_t)(count) / FL_LANES * FL_LANES)

/* Read and write n (<= FL_LANES) floats. */
FL_INLINE fl_vec fl_load_lanes(const float *p, size_t n) { return n == FL_LANES ? fl_load(p) : fl_load_part(p, n); }
FL_INLINE void fl_store_lanes(float *p, fl_vec v, size_t n) {
  if (n == FL_LANES) {
    fl_store(p, v);
  } else {
    fl_store_part(p, v, n);
  }
}
FL_INLINE fl_vec fl_load_splat(const float *p) { return fl_set(*p); }

/* ---- arithmetic ---- */

FL_ELEMENTWISE("aten::add.out", add, "v,v,=1", (fl_vec x, fl_vec y), x + y)
FL_ELEMENTWISE_OF("aten::add.Scalar_out", add, "v,s,=1")
FL_ELEMENTWISE("aten::add.out", add_scaled, "v,v,p", (fl_vec x, fl_vec y, double alpha), fl_fma(fl_set((float)alpha), y, x))
FL_ELEMENTWISE_OF("aten::add.Scalar_out", add_scaled, "v,s,p")
FL_ELEMENTWISE("aten::sub.out", sub, "v,v,=1", (fl_vec x, fl_vec y), x - y)
FL_ELEMENTWISE_OF("aten::sub.Scalar_out", sub, "v,s,=1")
FL_ELEMENTWISE("aten::sub.out", sub_scaled, "v,v,p", (fl_vec x, fl_vec y, double alpha), fl_add_scaled_lanes(x, y, -alpha))
FL_ELEMENTWISE_OF("aten::sub.Scalar_out", sub_scaled, "v,s,p")
FL_ELEMENTWISE("aten::rsub.Scalar_out", rsub, "v,s,=1", (fl_vec x, fl_vec y), y - x)
FL_ELEMENTWISE("aten::mul.out", mul, "v,v", (fl_vec x, fl_vec y), x *y)
FL_ELEMENTWISE_OF("aten::mul.Scalar_out", mul, "v,s")
FL_ELEMENTWISE("aten::div.out", div, "v,v", (fl_vec x, fl_vec y), x / y)
FL_ELEMENTWISE_OF("aten::div.Scalar_out", div, "v,s")
FL_ELEMENTWISE("aten::addcmul.out", addcmul, "v,v,v,=1", (fl_vec x, fl_vec y, fl_vec z), fl_fma(y, z, x))
FL_ELEMENTWISE("aten::addcmul.out", addcmul_scaled, "v,v,v,p", (fl_vec x, fl_vec y, fl_vec z, double value),
         fl_fma(fl_set((float)value) * y, z, x))
FL_ELEMENTWISE("aten::pow.Tensor_Scalar_out", square, "v,=2", (fl_vec x), x *x)
FL_ELEMENTWISE_OF("aten::square.out", square, "v")
FL_ELEMENTWISE("aten::pow.Tensor_Scalar_out", cube, "v,=3", (fl_vec x), x *x *x)
FL_ELEMENTWISE("aten::reciprocal.out", reciprocal, "v", (fl_vec x), fl_set(1.0f) / x)
FL_ELEMENTWISE_OF("aten::pow.Tensor_Scalar_out", reciprocal, "v,=-1")
FL_ELEMENTWISE("aten::sqrt.out", sqrt, "v", (fl_vec x), fl_sqrt(x))
FL_ELEMENTWISE_OF("aten::pow.Tensor_Scalar_out", sqrt, "v,=0.5")
FL_ELEMENTWISE("aten::rsqrt.out", rsqrt, "v", (fl_vec x), fl_set(1.0f) / fl_sqrt(x))
FL_ELEMENTWISE_OF("aten::pow.Tensor_Scalar_out", rsqrt, "v,=-0.5")
FL_ELEMENTWISE("aten::abs.out", abs, "v", (fl_vec x), fl_abs(x))
FL_ELEMENTWISE("aten::neg.out", neg, "v", (fl_vec x), -x)

/* ---- limits ---- */

FL_ELEMENTWISE("aten::maximum.out", maximum, "v,v", (fl_vec x, fl_vec y), fl_max(x, y))
FL_ELEMENTWISE("aten::minimum.out", minimum, "v,v", (fl_vec x, fl_vec y), fl_min(x, y))
/* NaN in the element or in a bound gives NaN; the upper bound is applied last. */
FL_ELEMENTWISE("aten::clamp.out", clamp_min, "v,s,=none", (fl_vec x, fl_vec low), fl_select((fl_ivec)(x < low) | (fl_ivec)(low != low), low, x))
FL_ELEMENTWISE("aten::clamp.out", clamp_max, "v,=none,s", (fl_vec x, fl_vec high), fl_select((fl_ivec)(x > high) | (fl_ivec)(high != high), high, x))
FL_ELEMENTWISE("aten::clamp.out", clamp, "v,s,s", (fl_vec x, fl_vec low, fl_vec high), fl_clamp_max_lanes(fl_clamp_min_lanes(x, low), high))
FL_ELEMENTWISE("aten::hardtanh.out", hardtanh, "v,p,p", (fl_vec x, double low, double high),
         low == low && high == high ? fl_clamp(x, (float)low, (float)high) : fl_set((float)low + (float)high))
FL_ELEMENTWISE("aten::relu.out", relu, "v", (fl_vec x), fl_max_b(fl_zero(), x))

/* ---- functions ---- */

FL_ELEMENTWISE("aten::erf.out", erf, "v", (fl_vec x), fl_erf(x))
FL_ELEMENTWISE("aten::exp.out", exp, "v", (fl_vec x), fl_exp(x))
FL_ELEMENTWISE("aten::log.out", log, "v", (fl_vec x), fl_log(x))
FL_ELEMENTWISE("aten::tanh.out", tanh, "v", (fl_vec x), fl_tanh(x))
FL_ELEMENTWISE("aten::sigmoid.out", sigmoid, "v", (fl_vec x), fl_sigmoid(x))
FL_ELEMENTWISE("aten::silu.out", silu, "v", (fl_vec x), x *fl_sigmoid(x))
FL_ELEMENTWISE("aten::gelu.out", gelu, "v,=none", (fl_vec x), fl_gelu(x))
FL_ELEMENTWISE("aten::gelu.out", gelu_tanh, "v,=tanh", (fl_vec x), fl_gelu_tanh(x))
FL_ELEMENTWISE("aten::hardsigmoid.out", hardsigmoid, "v", (fl_vec x), fl_clamp(x + fl_set(3.0f), 0.0f, 6.0f) * fl_set(1.0f / 6.0f))
FL_ELEMENTWISE("aten::hardswish.out", hardswish, "v", (fl_vec x), x *fl_clamp(x + fl_set(3.0f), 0.0f, 6.0f) * fl_set(1.0f / 6.0f))
FL_ELEMENTWISE("aten::leaky_relu.out", leaky_relu, "v,p", (fl_vec x, double slope),
         fl_select((fl_ivec)(x > fl_zero()), x, x *fl_set((float)slope)))

/* Returns e^x - 1 as tanh(x / 2) (e^x + 1), without cancellation near 0. */
FL_INLINE fl_vec fl_expm1_vector(fl_vec x) { return fl_tanh(x * fl_set(0.5f)) * (fl_exp(x) + fl_set(1.0f)); }

FL_ELEMENTWISE("aten::elu.out", elu, "v,p,p,p", (fl_vec x, double alpha, double scale, double input_scale),
         fl_select((fl_ivec)(x <= fl_zero()), fl_expm1_vector(x * fl_set((float)input_scale)) * (fl_set((float)alpha) * fl_set((float)scale)),
                   x *fl_set((float)scale)))

/* Returns log(1 + e^x) for x <= 0, where e = e^x lies in (0, 1], as 2 atanh(e / (2 + e)), without cancellation. */
FL_INLINE fl_vec fl_log1p_exp(fl_vec x) {
  fl_vec e = fl_exp(x);
  fl_vec s = e / (e + fl_set(2.0f));
  fl_vec z = s * s; /* at most 1 / 9 */
  fl_vec p = fl_set(1.0f / 13.0f);
  p = fl_fma(p, z, fl_set(1.0f / 11.0f));
  p = fl_fma(p, z, fl_set(1.0f / 9.0f));
  p = fl_fma(p, z, fl_set(1.0f / 7.0f));
  p = fl_fma(p, z, fl_set(1.0f / 5.0f));
  p = fl_fma(p, z, fl_set(1.0f / 3.0f));
  p = fl_fma(p * z, s, s);
  return p + p;
}

FL_INLINE fl_vec fl_softplus_vector(fl_vec x) {
  return fl_max_b(fl_zero(), x) + fl_log1p_exp((fl_vec)((fl_ivec)x | fl_iset(INT32_MIN)));
}

FL_ELEMENTWISE("aten::log_sigmoid.out", log_sigmoid, "v", (fl_vec x), -fl_softplus_vector(-x))
FL_ELEMENTWISE("aten::mish.out", mish, "v", (fl_vec x), x *fl_tanh(fl_softplus_vector(x)))
FL_ELEMENTWISE("aten::softplus.out", softplus, "v,p,p", (fl_vec x, double beta, double threshold),
         fl_select((fl_ivec)(x *fl_set((float)beta) > fl_set((float)threshold)), x, fl_softplus_vector(x *fl_set((float)beta)) / fl_set((float)beta)))

#endif
