/* Element types as kernels see them: conversions, type promotion, and the few types that arithmetic is done in.
 *
 * Kernels compute in one of four types: float (also for float16 and bfloat16), double, int64_t (every integer, and bool as a number) and
 * bool. Inputs are widened to it, results narrowed from it. Integers wrap modulo 2^n when narrowed, as ATen's do. A real number
 * becomes an int8, int16, int32 or uint16 by way of int32_t and another integer by way of int64_t; outside the range of that type it is the
 * smallest of it, as on x86-64.
 */
#ifndef FLAMBEAU_KERNELS_DTYPE_H
#define FLAMBEAU_KERNELS_DTYPE_H

#include <string.h>

#include "flambeau/kernel.h"

typedef enum fl_compute { FL_COMPUTE_F32, FL_COMPUTE_F64, FL_COMPUTE_I64, FL_COMPUTE_BOOL } fl_compute;

/* The widest computing type, for buffers. */
#define FL_COMPUTE_BYTES 8

static inline int fl_is_float(int8_t dtype) {
  return dtype == FL_FLOAT16 || dtype == FL_FLOAT32 || dtype == FL_FLOAT64 || dtype == FL_BFLOAT16;
}

/* True of integers, bool excluded. */
static inline int fl_is_integer(int8_t dtype) {
  return (dtype >= FL_UINT8 && dtype <= FL_INT64) || (dtype >= FL_UINT16 && dtype <= FL_UINT64);
}

static inline fl_compute fl_compute_of(int8_t dtype) {
  return dtype == FL_FLOAT64 ? FL_COMPUTE_F64 : fl_is_float(dtype) ? FL_COMPUTE_F32 : FL_COMPUTE_I64;
}

static inline size_t fl_compute_size(fl_compute type) { return type == FL_COMPUTE_F32 ? 4 : type == FL_COMPUTE_BOOL ? 1 : 8; }

/* Whether ATen lets a result of type `from` be written to an out of type `to`: not real to integer, not number to bool. */
int fl_can_cast(int8_t from, int8_t to);

/* ATen's result type of several operands: tensors with dimensions come before zero-dimensional ones and those before Scalars. */
typedef struct fl_promotion {
  int8_t dimensioned, zero_dimensional, scalar; /* -1: none yet; -2: no common type */
} fl_promotion;

static inline fl_promotion fl_promotion_start(void) { return (fl_promotion){-1, -1, -1}; }
void fl_promotion_tensor(fl_promotion *promotion, const fl_tensor *tensor);
void fl_promotion_scalar(fl_promotion *promotion, int8_t dtype);
/* -1 when there is no common type. */
int8_t fl_promotion_result(const fl_promotion *promotion);

/* Converts n elements that stand side by side. The arrays must not overlap unless they are equal and `to` is not wider than `from`. */
typedef void (*fl_convert_fn)(size_t n, void *to, const void *from);

/* From an element type to a computing type; NULL when they are one type, so that there is nothing to do. */
fl_convert_fn fl_widen(int8_t from, fl_compute to);
/* The same for sums and products of elements that are converted to the integer type `by` first; they may wrap around in it later. */
fl_convert_fn fl_widen_by(int8_t from, int8_t by, fl_compute to);
/* From a computing type to an element type; NULL when they are one type. */
fl_convert_fn fl_narrow(fl_compute from, int8_t to);

/* A C type that the bits of a half-precision number travel in. */
static inline float fl_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t fl_bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float fl_f32_of_f16(uint16_t half) {
  uint32_t bits = (uint32_t)(half & 0x7fffu) << 13;
  bits = fl_bits_of_f32(fl_f32_of_bits(bits) * 0x1p112f); /* moves the exponent's bias, denormals too */
  bits |= (half & 0x7fffu) >= 0x7c00u ? 0x7f800000u : 0u;
  return fl_f32_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

static inline uint16_t fl_f16_of_f32(float x) {
  uint32_t sign = fl_bits_of_f32(x) & 0x80000000u;
  uint32_t bits = fl_bits_of_f32(x) ^ sign;
  uint32_t special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t denormal = fl_bits_of_f32(fl_f32_of_bits(bits < 0x38800000u ? bits : 0u) + 0.5f) - 0x3f000000u;
  uint32_t normal = (bits - 0x38000000u + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  uint32_t half = bits >= 0x47800000u ? special : bits < 0x38800000u ? denormal : normal;
  return (uint16_t)(half | sign >> 16);
}

static inline float fl_f32_of_bf16(uint16_t brain) { return fl_f32_of_bits((uint32_t)brain << 16); }

static inline uint16_t fl_bf16_of_f32(float x) {
  uint32_t bits = fl_bits_of_f32(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7fc0u : rounded);
}

/* Integers wrap: arithmetic on them is unsigned. */
static inline int64_t fl_wrap_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
static inline int64_t fl_wrap_sub(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }
static inline int64_t fl_wrap_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }

static inline int64_t fl_i64_of_real(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }
static inline int32_t fl_i32_of_real(double x) { return x > -0x1p31 - 1.0 && x < 0x1p31 ? (int32_t)x : INT32_MIN; }

/* A row of a family's .def, expanded in the family's .c: the declaration of its kernel. */
#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *context, fl_value *const *args, size_t count);

#endif
