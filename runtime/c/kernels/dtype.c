/* Conversions between element types and computing types, and type promotion. */
#include "dtype.h"

#include "simd.h"

/* One conversion: n elements of type FROM to type TO by an expression in x. */
#define CONVERT(name, TO, FROM, expression)                   \
  static void name(size_t n, void *to, const void *from) {    \
    TO *y = to;                                               \
    const FROM *source = from;                                \
    for (size_t i = 0; i < n; ++i) {                          \
      const FROM x = source[i];                               \
      y[i] = (expression);                                    \
    }                                                         \
  }

#define WIDEN_INTEGER(tag, T)                                  \
  CONVERT(tag##_to_f32, float, T, (float)x)                    \
  CONVERT(tag##_to_f64, double, T, (double)x)                  \
  CONVERT(tag##_to_i64, int64_t, T, (int64_t)x)                \
  CONVERT(tag##_to_bool, uint8_t, T, (uint8_t)(x != 0))

#define WIDEN_SMALL(tag, T, decode)                            \
  CONVERT(tag##_to_f64, double, T, (double)decode(x))          \
  CONVERT(tag##_to_i64, int64_t, T, fl_i64_of_real((double)decode(x))) \
  CONVERT(tag##_to_bool, uint8_t, T, (uint8_t)(decode(x) != 0))

#define NARROW_INTEGER(tag, T, integer_of_real)                \
  CONVERT(f32_to_##tag, T, float, (T)integer_of_real((double)x)) \
  CONVERT(f64_to_##tag, T, double, (T)integer_of_real(x))      \
  CONVERT(i64_to_##tag, T, int64_t, (T)x)                      \
  CONVERT(bool_to_##tag, T, uint8_t, (T)(x != 0))

#define NARROW_SMALL(tag, T, encode)                           \
  CONVERT(f64_to_##tag, T, double, encode((float)x))           \
  CONVERT(i64_to_##tag, T, int64_t, encode((float)x))          \
  CONVERT(bool_to_##tag, T, uint8_t, encode(x != 0 ? 1.0f : 0.0f))

#define FLOAT8(tag)                                            \
  CONVERT(tag##_to_f32, float, uint8_t, fl_f32_of_##tag(x))    \
  CONVERT(f32_to_##tag, uint8_t, float, fl_##tag##_of_f32(x))  \
  WIDEN_SMALL(tag, uint8_t, fl_f32_of_##tag)                   \
  NARROW_SMALL(tag, uint8_t, fl_##tag##_of_f32)

WIDEN_INTEGER(u8, uint8_t)
WIDEN_INTEGER(i8, int8_t)
WIDEN_INTEGER(i16, int16_t)
WIDEN_INTEGER(i32, int32_t)
CONVERT(i64_to_f32, float, int64_t, (float)x)
CONVERT(i64_to_f64, double, int64_t, (double)x)
CONVERT(i64_to_bool, uint8_t, int64_t, (uint8_t)(x != 0))
#if defined(__F16C__) && defined(__AVX__)
/* Eight at a time by the instruction for it. */
static void f16_to_f32(size_t n, void *to, const void *from) {
  float *y = to;
  const uint16_t *x = from;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
  }
  for (; i < n; ++i) {
    y[i] = fl_f32_of_f16(x[i]);
  }
}

static void f32_to_f16(size_t n, void *to, const void *from) {
  uint16_t *y = to;
  const float *x = from;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128((__m128i *)(void *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) {
    y[i] = fl_f16_of_f32(x[i]);
  }
}
#else
CONVERT(f16_to_f32, float, uint16_t, fl_f32_of_f16(x))
CONVERT(f32_to_f16, uint16_t, float, fl_f16_of_f32(x))
#endif
CONVERT(bf16_to_f32, float, uint16_t, fl_f32_of_bf16(x))
CONVERT(f32_to_bf16, uint16_t, float, fl_bf16_of_f32(x))
WIDEN_SMALL(f16, uint16_t, fl_f32_of_f16)
CONVERT(f32_to_f64, double, float, (double)x)
CONVERT(f32_to_i64, int64_t, float, fl_i64_of_real((double)x))
CONVERT(f32_to_bool, uint8_t, float, (uint8_t)(x != 0.0f))
CONVERT(f64_to_f32, float, double, (float)x)
CONVERT(f64_to_i64, int64_t, double, fl_i64_of_real(x))
CONVERT(f64_to_bool, uint8_t, double, (uint8_t)(x != 0.0))
CONVERT(bool_to_f32, float, uint8_t, x != 0 ? 1.0f : 0.0f)
CONVERT(bool_to_f64, double, uint8_t, x != 0 ? 1.0 : 0.0)
CONVERT(bool_to_i64, int64_t, uint8_t, x != 0)
WIDEN_SMALL(bf16, uint16_t, fl_f32_of_bf16)
WIDEN_INTEGER(u16, uint16_t)
WIDEN_INTEGER(u32, uint32_t)
WIDEN_INTEGER(u64, uint64_t)

NARROW_INTEGER(u8, uint8_t, fl_i64_of_real)
NARROW_INTEGER(i8, int8_t, fl_i32_of_real)
NARROW_INTEGER(i16, int16_t, fl_i32_of_real)
NARROW_INTEGER(i32, int32_t, fl_i32_of_real)
NARROW_SMALL(f16, uint16_t, fl_f16_of_f32)
NARROW_SMALL(bf16, uint16_t, fl_bf16_of_f32)
NARROW_INTEGER(u16, uint16_t, fl_i32_of_real)
NARROW_INTEGER(u32, uint32_t, fl_i64_of_real)
NARROW_INTEGER(u64, uint64_t, fl_i64_of_real)

FLOAT8(e5m2)
FLOAT8(e4m3fn)
FLOAT8(e5m2fnuz)
FLOAT8(e4m3fnuz)

/* By way of int32_t. */
CONVERT(f16_by_i32, int64_t, uint16_t, fl_i32_of_real((double)fl_f32_of_f16(x)))
CONVERT(bf16_by_i32, int64_t, uint16_t, fl_i32_of_real((double)fl_f32_of_bf16(x)))
CONVERT(f32_by_i32, int64_t, float, fl_i32_of_real((double)x))
CONVERT(f64_by_i32, int64_t, double, fl_i32_of_real(x))

/* A dtype's place in the tables below; -1 for an unknown one. */
static int place(int8_t dtype) {
  if (dtype >= FL_UINT8 && dtype <= FL_FLOAT64) {
    return dtype;
  }
  switch (dtype) {
    case FL_BOOL: return 8;
    case FL_BFLOAT16: return 9;
    case FL_UINT16: return 10;
    case FL_UINT32: return 11;
    case FL_UINT64: return 12;
    case FL_FLOAT8_E5M2: return 13;
    case FL_FLOAT8_E4M3FN: return 14;
    case FL_FLOAT8_E5M2FNUZ: return 15;
    case FL_FLOAT8_E4M3FNUZ: return 16;
    default: return -1;
  }
}

#define TO_EACH(tag) {tag##_to_f32, tag##_to_f64, tag##_to_i64, tag##_to_bool}
#define FROM_EACH(tag) {f32_to_##tag, f64_to_##tag, i64_to_##tag, bool_to_##tag}

fl_convert_fn fl_widen(int8_t from, fl_compute to) {
  static const fl_convert_fn table[17][4] = {
      TO_EACH(u8), TO_EACH(i8), TO_EACH(i16), TO_EACH(i32), {i64_to_f32, i64_to_f64, NULL, i64_to_bool}, TO_EACH(f16),
      {NULL, f32_to_f64, f32_to_i64, f32_to_bool}, {f64_to_f32, NULL, f64_to_i64, f64_to_bool},
      {bool_to_f32, bool_to_f64, bool_to_i64, NULL},
      TO_EACH(bf16), TO_EACH(u16), TO_EACH(u32), TO_EACH(u64), TO_EACH(e5m2), TO_EACH(e4m3fn), TO_EACH(e5m2fnuz), TO_EACH(e4m3fnuz)};
  int at = place(from);
  return at < 0 ? NULL : table[at][to];
}

fl_convert_fn fl_widen_by(int8_t from, int8_t by, fl_compute to) {
  if (to != FL_COMPUTE_I64 || (by != FL_INT8 && by != FL_INT16 && by != FL_INT32 && by != FL_UINT16)) {
    return fl_widen(from, to);
  }
  switch (from) {
    case FL_FLOAT16: return f16_by_i32;
    case FL_BFLOAT16: return bf16_by_i32;
    case FL_FLOAT32: return f32_by_i32;
    case FL_FLOAT64: return f64_by_i32;
    default: return fl_widen(from, to);
  }
}

fl_convert_fn fl_narrow(fl_compute from, int8_t to) {
  static const fl_convert_fn table[17][4] = {
      FROM_EACH(u8), FROM_EACH(i8), FROM_EACH(i16), FROM_EACH(i32), {f32_to_i64, f64_to_i64, NULL, bool_to_i64}, FROM_EACH(f16),
      {NULL, f64_to_f32, i64_to_f32, bool_to_f32}, {f32_to_f64, NULL, i64_to_f64, bool_to_f64},
      {f32_to_bool, f64_to_bool, i64_to_bool, NULL},
      FROM_EACH(bf16), FROM_EACH(u16), FROM_EACH(u32), FROM_EACH(u64), FROM_EACH(e5m2), FROM_EACH(e4m3fn), FROM_EACH(e5m2fnuz), FROM_EACH(e4m3fnuz)};
  int at = place(to);
  return at < 0 ? NULL : table[at][from];
}

static int is_signed(int8_t dtype) { return dtype >= FL_INT8 && dtype <= FL_INT64; }

/* c10::promoteTypes; -1 where there is no common type (uint64 with a signed type). */
static int8_t fl_promote(int8_t a, int8_t b) {
  if (a == b || b == FL_BOOL) {
    return a;
  }
  if (a == FL_BOOL) {
    return b;
  }
  if (fl_is_float(a) || fl_is_float(b)) {
    if (!fl_is_float(b)) {
      return a;
    }
    if (!fl_is_float(a)) {
      return b;
    }
    size_t size_a = fl_dtype_size(a);
    size_t size_b = fl_dtype_size(b);
    return size_a == size_b ? FL_FLOAT32 : size_a > size_b ? a : b;
  }
  if (is_signed(a) == is_signed(b)) {
    return fl_dtype_size(a) > fl_dtype_size(b) ? a : b;
  }
  int8_t with_sign = is_signed(a) ? a : b;
  size_t size_signed = fl_dtype_size(with_sign);
  size_t size_unsigned = fl_dtype_size(is_signed(a) ? b : a);
  if (size_signed > size_unsigned) {
    return with_sign;
  }
  return size_unsigned == 1 ? FL_INT16 : size_unsigned == 2 ? FL_INT32 : size_unsigned == 4 ? FL_INT64 : -1;
}

int fl_can_cast(int8_t from, int8_t to) {
  return !(fl_is_float(from) && !fl_is_float(to)) && !(from != FL_BOOL && to == FL_BOOL);
}

static void join(int8_t *state, int8_t dtype) {
  if (*state == -1) {
    *state = dtype;
  } else if (*state != -2) {
    int8_t promoted = fl_promote(*state, dtype);
    *state = promoted < 0 ? -2 : promoted;
  }
}

void fl_promotion_tensor(fl_promotion *promotion, const fl_tensor *tensor) {
  join(tensor->rank > 0 ? &promotion->dimensioned : &promotion->zero_dimensional, tensor->dtype);
}

void fl_promotion_scalar(fl_promotion *promotion, int8_t dtype) {
  join(&promotion->scalar, dtype == FL_FLOAT64 ? FL_FLOAT32 : dtype);
}

/* The lower kind counts only when it is of a higher category: bool < integer < real. */
static int8_t combine(int8_t higher, int8_t lower) {
  if (higher == -1 || lower == -1 || higher == -2 || lower == -2) {
    return higher == -2 || lower == -2 ? -2 : higher == -1 ? lower : higher;
  }
  if (fl_is_float(higher) || (higher != FL_BOOL && !fl_is_float(lower))) {
    return higher;
  }
  return fl_promote(higher, lower);
}

int8_t fl_promotion_result(const fl_promotion *promotion) {
  int8_t dtype = combine(promotion->dimensioned, combine(promotion->zero_dimensional, promotion->scalar));
  return dtype < 0 ? -1 : dtype;
}
