/* Element types in kernels: conversions, type promotion, and the types in which kernels compute.
 *
 * Kernels compute in one of four types: float (also for float16, bfloat16 and float8), double, int64_t (for every integer, and for bool as a
 * number) and bool. They widen inputs to this type, and narrow results from it. Integers wrap modulo 2^n when narrowed, as in ATen. A real
 * number is converted to int8, int16, int32 and uint16 through int32_t, and to the other integers through int64_t; a number outside the range
 * of that type becomes its smallest number, as on x86-64.
 */
#ifndef FLAMBEAU_KERNELS_DTYPE_H
#define FLAMBEAU_KERNELS_DTYPE_H

#include <string.h>

#include "flambeau/kernel.h"

typedef enum fl_compute { FL_COMPUTE_F32, FL_COMPUTE_F64, FL_COMPUTE_I64, FL_COMPUTE_BOOL } fl_compute;

/* Bytes of the widest computing type, for the size of buffers. */
#define FL_COMPUTE_BYTES 8

/* Returns whether a dtype is a floating type, float8 included. */
static inline int fl_is_float(int8_t dtype) {
  switch (dtype) {
#define FL_FLOAT_TYPE(constant, ...) case FL_##constant:
#define FL_HALF_TYPE FL_FLOAT_TYPE
#include "flambeau/scalar_types.def"
      return 1;
    default: return 0;
  }
}

/* Returns whether a dtype is an integer type; bool is none. */
static inline int fl_is_integer(int8_t dtype) {
  switch (dtype) {
#define FL_INTEGER_TYPE(constant, ...) case FL_##constant:
#include "flambeau/scalar_types.def"
      return 1;
    default: return 0;
  }
}

/* Whether this build computes with integers (or bool), and with doubles. FL_IF_DOUBLES and FL_IF_INTEGERS are a function for these, or NULL. */
#define FL_BIT(dtype) (1u << (dtype))
#define FL_INTEGER_BITS                                                                                                      \
  (FL_BIT(FL_BOOL) | FL_BIT(FL_UINT8) | FL_BIT(FL_INT8) | FL_BIT(FL_INT16) | FL_BIT(FL_INT32) | FL_BIT(FL_INT64) |          \
   FL_BIT(FL_UINT16) | FL_BIT(FL_UINT32) | FL_BIT(FL_UINT64))
#define FL_HAS_INTEGERS ((FL_DTYPES & FL_INTEGER_BITS) != 0)
#define FL_HAS_DOUBLES ((FL_DTYPES & FL_BIT(FL_FLOAT64)) != 0)
#define FL_IF_INTEGERS(function) (FL_HAS_INTEGERS ? (function) : NULL)
#define FL_IF_DOUBLES(function) (FL_HAS_DOUBLES ? (function) : NULL)

/* The functions that follow take the dtype of a tensor that the kernel has checked, so one that this build has: a compiler that knows which these are
 * leaves out what is for others. */

/* Returns whether a dtype is `wanted`. */
static inline int fl_is(int8_t dtype, int8_t wanted) {
  return fl_has(wanted) && ((FL_DTYPES | FL_BIT(FL_FLOAT32)) == FL_BIT(wanted) || dtype == wanted);
}

/* Returns whether a dtype is a floating type. */
static inline int fl_is_real(int8_t dtype) { return !FL_HAS_INTEGERS || fl_is_float(dtype); }

/* Returns the type in which arithmetic on a dtype is computed; bool computes as a number. */
static inline fl_compute fl_compute_of(int8_t dtype) {
  return fl_is(dtype, FL_FLOAT64) ? FL_COMPUTE_F64 : fl_is_real(dtype) ? FL_COMPUTE_F32 : FL_COMPUTE_I64;
}

/* Returns the bytes of one element of a computing type. */
static inline size_t fl_compute_size(fl_compute type) { return type == FL_COMPUTE_F32 ? 4 : type == FL_COMPUTE_BOOL ? 1 : 8; }

/* Returns whether ATen writes a result of type `from` to an out of type `to`: it refuses real to integer, and number to bool. */
int fl_can_cast(int8_t from, int8_t to);

/* The state of ATen's type promotion over several operands: tensors with dimensions take precedence over zero-dimensional ones, and these
 * over Scalars. Add operands to fl_promotion_start(), then ask fl_promotion_result. */
typedef struct fl_promotion {
  int8_t dimensioned, zero_dimensional, scalar; /* common dtype of each kind of operand; -1: no such operand; -2: no common type */
} fl_promotion;

static inline fl_promotion fl_promotion_start(void) { return (fl_promotion){-1, -1, -1}; }
/* Add a tensor, or a Scalar of type `dtype`, to a promotion. */
void fl_promotion_tensor(fl_promotion *promotion, const fl_tensor *tensor);
void fl_promotion_scalar(fl_promotion *promotion, int8_t dtype);
/* Returns the result dtype; -1 when there is no common type. */
int8_t fl_promotion_result(const fl_promotion *promotion);

/* Converts n contiguous elements. The arrays must not overlap, except that both may start at the same address if `to` is not wider. */
typedef void (*fl_convert_fn)(size_t n, void *to, const void *from);

/* Returns the conversion from an element type to a computing type; NULL when the types are equal. */
fl_convert_fn fl_widen(int8_t from, fl_compute to);
/* Returns the same for sums and products that first convert real elements to the integer type `by`, in which they may wrap around later. */
fl_convert_fn fl_widen_by(int8_t from, int8_t by, fl_compute to);
/* Returns the conversion from a computing type to an element type; NULL when the types are equal. */
fl_convert_fn fl_narrow(fl_compute from, int8_t to);

/* Return the float with these bits, and the bits of a float. */
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

/* Returns a float16 as a float; fl_f16_of_f32 and the functions for bfloat16 and float8 below are named alike. All round to nearest even. */
static inline float fl_f32_of_f16(uint16_t half) {
  uint32_t bits = (uint32_t)(half & 0x7fffu) << 13;
  bits = fl_bits_of_f32(fl_f32_of_bits(bits) * 0x1p112f); /* changes the exponent's bias, for denormals too */
  bits |= (half & 0x7fffu) >= 0x7c00u ? 0x7f800000u : 0u;
  return fl_f32_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

/* Returns the bits of a non-negative float in a type that has `digits` bits of fraction and an exponent with bias `bias`, rounded to nearest
 * even. The result exceeds the type's largest bits for a number that the type does not have. */
static inline uint32_t fl_narrow_bits(uint32_t bits, unsigned digits, uint32_t bias) {
  const uint32_t least = (128u - bias) << 23; /* the smallest normal number */
  const uint32_t unit = (151u - bias - digits) << 23;
  const uint32_t denormal = fl_bits_of_f32(fl_f32_of_bits(bits < least ? bits : 0u) + fl_f32_of_bits(unit)) - unit;
  const uint32_t half = (1u << (22u - digits)) - 1u;
  const uint32_t normal = (bits - ((127u - bias) << 23) + half + ((bits >> (23u - digits)) & 1u)) >> (23u - digits);
  return bits < least ? denormal : normal;
}

static inline uint16_t fl_f16_of_f32(float x) {
  const uint32_t bits = fl_bits_of_f32(x) & 0x7fffffffu;
  const uint32_t half = fl_narrow_bits(bits, 10, 15);
  return (uint16_t)((bits > 0x7f800000u ? 0x7e00u : half > 0x7c00u ? 0x7c00u : half) | (fl_bits_of_f32(x) & 0x80000000u) >> 16);
}

static inline float fl_f32_of_bf16(uint16_t brain) { return fl_f32_of_bits((uint32_t)brain << 16); }

static inline uint16_t fl_bf16_of_f32(float x) {
  uint32_t bits = fl_bits_of_f32(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7fc0u : rounded);
}

/* Returns a finite float8 as a float, or NaN if `is_nan`. The functions below convert float8 types by their special numbers: IEEE, FN, FNUZ. */
static inline float fl_f32_of_f8(uint8_t x, unsigned fraction, uint32_t bias, int is_nan) {
  const float magnitude = fl_f32_of_bits((uint32_t)(x & 0x7fu) << (23u - fraction)) * fl_f32_of_bits((254u - bias) << 23);
  return fl_f32_of_bits((is_nan ? 0x7fc00000u : fl_bits_of_f32(magnitude)) | (uint32_t)(x & 0x80u) << 24);
}

/* Returns a float as a float8 that has a sign in every number, with NaN 0x7f. Magnitudes above the bits `largest` become `largest`. */
static inline uint8_t fl_f8_of_f32(float x, unsigned fraction, uint32_t bias, uint32_t largest) {
  const uint32_t bits = fl_bits_of_f32(x) & 0x7fffffffu;
  const uint32_t byte = fl_narrow_bits(bits, fraction, bias);
  return (uint8_t)((bits > 0x7f800000u ? 0x7fu : byte > largest ? largest : byte) | (fl_bits_of_f32(x) & 0x80000000u) >> 24);
}

static inline float fl_f32_of_IEEE(uint8_t x, unsigned exponent, unsigned fraction) {
  const uint32_t bits = fl_bits_of_f32(fl_f32_of_f8(x, fraction, (1u << (exponent - 1u)) - 1u, 0));
  return fl_f32_of_bits(bits | ((x & 0x7fu) >= 0x80u - (1u << fraction) ? 0x7f800000u : 0u));
}
static inline uint8_t fl_IEEE_of_f32(float x, unsigned exponent, unsigned fraction) {
  return fl_f8_of_f32(x, fraction, (1u << (exponent - 1u)) - 1u, 0x80u - (1u << fraction));
}

static inline float fl_f32_of_FN(uint8_t x, unsigned exponent, unsigned fraction) {
  return fl_f32_of_f8(x, fraction, (1u << (exponent - 1u)) - 1u, (x & 0x7fu) == 0x7fu);
}
static inline uint8_t fl_FN_of_f32(float x, unsigned exponent, unsigned fraction) {
  return fl_f8_of_f32(x, fraction, (1u << (exponent - 1u)) - 1u, 0x7eu);
}

static inline float fl_f32_of_FNUZ(uint8_t x, unsigned exponent, unsigned fraction) {
  return fl_f32_of_f8(x, fraction, 1u << (exponent - 1u), x == 0x80u);
}
/* Returns a float as an FNUZ float8. Numbers that are too large become its only NaN, 0x80. */
static inline uint8_t fl_FNUZ_of_f32(float x, unsigned exponent, unsigned fraction) {
  const uint32_t byte = fl_narrow_bits(fl_bits_of_f32(x) & 0x7fffffffu, fraction, 1u << (exponent - 1u));
  return (uint8_t)(byte > 0x7fu ? 0x80u : byte == 0u ? 0u : byte | (fl_bits_of_f32(x) & 0x80000000u) >> 24);
}

#define FL_FLOAT8_TYPE(constant, number, bytes, storage, mlir, name, safetensors, exponent, fraction, specials) \
  static inline float fl_f32_of_##mlir(uint8_t x) { return fl_f32_of_##specials(x, exponent, fraction); }       \
  static inline uint8_t fl_##mlir##_of_f32(float x) { return fl_##specials##_of_f32(x, exponent, fraction); }
#include "flambeau/scalar_types.def"

/* Return the sum, difference and product of two integers, wrapped modulo 2^64. */
static inline int64_t fl_wrap_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
static inline int64_t fl_wrap_sub(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }
static inline int64_t fl_wrap_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }

/* Return a real number as an integer, rounded to 0; the smallest integer for NaN and for numbers out of range. */
static inline int64_t fl_i64_of_real(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }
static inline int32_t fl_i32_of_real(double x) { return x > -0x1p31 - 1.0 && x < 0x1p31 ? (int32_t)x : INT32_MIN; }

/* Makes each row of a family's .def declare the kernel's function, in the family's .c. */
#define FL_KERNEL(name, function, scratch, arguments) fl_status function(fl_context *context, fl_value *const *args, size_t count);
#define FL_SIGNED_KERNEL(name, function, scratch, arguments) FL_KERNEL(name, function, scratch, arguments)
/* Makes the first row of a .def, the family's group of FLAMBEAU_GROUPS, declare nothing. */
#define FL_GROUP(name)

#endif
