/* What the kernels of Cadence's operators share: zero points, and the requantization of sums.
 *
 * A result is clamp((sum * multiplier + 2^(shift - 1) >> shift) + zero_point), in 64 bits, where shift is 31 - out_shift.
 */
#ifndef FLAMBEAU_KERNELS_CADENCE_H
#define FLAMBEAU_KERNELS_CADENCE_H

#include <math.h>

#include "optional.h"

/* The ratio of scales, the zero point of the results, and the limits of their type. */
typedef struct fl_cadence_ratio {
  int64_t multiplier;
  int32_t shift, zero_point, low, high;
} fl_cadence_ratio;

/* Returns the least number of a type of 8 bits. */
static inline int32_t fl_cadence_low(int8_t dtype) { return dtype == FL_INT8 ? -128 : 0; }

/* Stores the zero point of numbers of `dtype`. */
static inline fl_status fl_cadence_zero_point(fl_context *context, const fl_value *value, int8_t dtype, int32_t *zero_point) {
  int64_t read;
  const int32_t low = fl_cadence_low(dtype);
  FL_CHECK(context, fl_get_int(value, &read) && read >= low && read <= low + 255, "a zero point must be a number of the operands' type");
  *zero_point = (int32_t)read;
  return FL_OK;
}

/* Checks that tensors are of int8 or uint8, all of one; `b` may be `a`. */
static inline fl_status fl_cadence_types(fl_context *context, const fl_tensor *a, const fl_tensor *b, const fl_tensor *out) {
  FL_CHECK(context, (a->dtype == FL_INT8 || a->dtype == FL_UINT8) && a->dtype == b->dtype && a->dtype == out->dtype,
           "the operands and the result must be of int8 or uint8, all of one");
  return FL_OK;
}

/* Reads the three arguments of a ratio: the zero point of numbers of `dtype`, the multiplier and the shift. */
static inline fl_status fl_cadence_read_ratio(fl_context *context, const fl_value *zero_point, const fl_value *multiplier, const fl_value *shift,
                                              int8_t dtype, fl_cadence_ratio *ratio) {
  int64_t bits;
  FL_TRY(fl_cadence_zero_point(context, zero_point, dtype, &ratio->zero_point));
  FL_CHECK(context, fl_get_int(multiplier, &ratio->multiplier) && ratio->multiplier >= 0 && ratio->multiplier <= INT32_MAX,
           "out_multiplier must be from 0 to 2147483647");
  FL_CHECK(context, fl_get_int(shift, &bits) && bits >= -30 && bits <= 30, "out_shift must be from -30 to 30");
  ratio->shift = 31 - (int32_t)bits;
  ratio->low = fl_cadence_low(dtype);
  ratio->high = ratio->low + 255;
  return FL_OK;
}

/* Returns the result of a sum. */
static inline int32_t fl_cadence_requantized(const fl_cadence_ratio *ratio, int32_t sum) {
  const int64_t value = ((sum * ratio->multiplier + ((int64_t)1 << (ratio->shift - 1))) >> ratio->shift) + ratio->zero_point;
  return value < ratio->low ? ratio->low : value > ratio->high ? ratio->high : (int32_t)value;
}

/* Reads the scale and the zero point at argument `at` of numbers of `dtype`. */
static inline fl_status fl_cadence_read_scale(fl_context *context, fl_value *const *args, int at, int8_t dtype, float *scale,
                                              int32_t *zero_point) {
  double read;
  /* Within these bounds no product of scales is NaN. */
  FL_CHECK(context, fl_get_real(args[at], &read) && read >= 0x1p-100 && read <= 0x1p100, "a scale must be from 2^-100 to 2^100");
  *scale = (float)read;
  return fl_cadence_zero_point(context, args[at + 1], dtype, zero_point);
}

/* Returns a float as a number of 8 bits, NaN as the least. A statement for each step, so that no compiler joins a product and a sum, which rounds once. */
static inline uint8_t fl_cadence_quantized(float real, float inverse_scale, float zero_point, float low, float high) {
  const float scaled = real * inverse_scale;
  const float value = nearbyintf(scaled) + zero_point;
  return (uint8_t)(int32_t)(value >= low ? value <= high ? value : high : low);
}

#endif
