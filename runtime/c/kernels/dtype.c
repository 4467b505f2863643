/* Conversions between element types and computing types, and type promotion. */
#include "dtype.h"

#include "simd.h"

/* Defines a conversion of n elements from type FROM to type TO by an expression in x. Not inlined, because CONVERT_TWICE would copy its loops. */
#define CONVERT(name, TO, FROM, expression)                   \
  static __attribute__((noinline)) void name(size_t n, void *to, const void *from) { \
    TO *y = to;                                               \
    const FROM *source = from;                                \
    for (size_t i = 0; i < n; ++i) {                          \
      const FROM x = source[i];                               \
      y[i] = (expression);                                    \
    }                                                         \
  }

/* Conversions between computing types. */
CONVERT(i64_to_f32, float, int64_t, (float)x)
CONVERT(i64_to_f64, double, int64_t, (double)x)
CONVERT(i64_to_i1, uint8_t, int64_t, (uint8_t)(x != 0))
CONVERT(f32_to_f64, double, float, (double)x)
CONVERT(f32_to_i64, int64_t, float, fl_i64_of_real((double)x))
CONVERT(f32_to_i1, uint8_t, float, (uint8_t)(x != 0.0f))
CONVERT(f64_to_f32, float, double, (float)x)
CONVERT(f64_to_i64, int64_t, double, fl_i64_of_real(x))
CONVERT(f64_to_i1, uint8_t, double, (uint8_t)(x != 0.0))
CONVERT(i1_to_f32, float, uint8_t, x != 0 ? 1.0f : 0.0f)
CONVERT(i1_to_f64, double, uint8_t, x != 0 ? 1.0 : 0.0)
CONVERT(i1_to_i64, int64_t, uint8_t, x != 0)
#define f32_to_f32 NULL
#define f64_to_f64 NULL
#define i64_to_i64 NULL
#define i1_to_i1 NULL

#if defined(__F16C__) && defined(__AVX__)
/* Converts eight numbers at a time with the processor's instruction. */
static __attribute__((noinline)) void f16_to_f32(size_t n, void *to, const void *from) {
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

static __attribute__((noinline)) void f32_to_f16(size_t n, void *to, const void *from) {
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

/* Conversions between computing types and the other types. */
#define FL_WIDEST_INTEGER_TYPE(...)
#define FL_INTEGER_TYPE(constant, number, bytes, T, tag, name, safetensors, by) \
  CONVERT(tag##_to_f32, float, T, (float)x)                                     \
  CONVERT(tag##_to_f64, double, T, (double)x)                                   \
  CONVERT(tag##_to_i64, int64_t, T, (int64_t)x)                                 \
  CONVERT(tag##_to_i1, uint8_t, T, (uint8_t)(x != 0))                           \
  CONVERT(f32_to_##tag, T, float, (T)fl_##by##_of_real((double)x))              \
  CONVERT(f64_to_##tag, T, double, (T)fl_##by##_of_real(x))                     \
  CONVERT(i64_to_##tag, T, int64_t, (T)x)                                       \
  CONVERT(i1_to_##tag, T, uint8_t, (T)(x != 0))
/* Small floats are converted through float32, AT_A_TIME at once: a vectorized loop for each pair of types would take 40 kB more. */
enum { AT_A_TIME = 64 };
#define CONVERT_TWICE(name, TO, FROM, first, second)                                \
  static void name(size_t n, void *to, const void *from) {                          \
    float between[AT_A_TIME];                                                       \
    for (size_t i = 0; i < n; i += AT_A_TIME) {                                     \
      const size_t count = n - i < AT_A_TIME ? n - i : (size_t)AT_A_TIME;           \
      first(count, between, (const FROM *)from + i);                                \
      second(count, (TO *)to + i, between);                                         \
    }                                                                               \
  }
#define FL_HALF_TYPE(constant, number, bytes, T, tag, ...)              \
  CONVERT_TWICE(tag##_to_f64, double, T, tag##_to_f32, f32_to_f64)      \
  CONVERT_TWICE(tag##_to_i64, int64_t, T, tag##_to_f32, f32_to_i64)     \
  CONVERT_TWICE(tag##_to_i1, uint8_t, T, tag##_to_f32, f32_to_i1)       \
  CONVERT_TWICE(f64_to_##tag, T, double, f64_to_f32, f32_to_##tag)      \
  CONVERT_TWICE(i64_to_##tag, T, int64_t, i64_to_f32, f32_to_##tag)     \
  CONVERT_TWICE(i1_to_##tag, T, uint8_t, i1_to_f32, f32_to_##tag)
#define FL_FLOAT8_TYPE(constant, number, bytes, T, tag, ...)  \
  CONVERT(tag##_to_f32, float, T, fl_f32_of_##tag(x))         \
  CONVERT(f32_to_##tag, T, float, fl_##tag##_of_f32(x))       \
  FL_HALF_TYPE(constant, number, bytes, T, tag, )
#include "flambeau/scalar_types.def"

/* Conversions to integers through int32_t. */
#define FL_FLOAT_TYPE(constant, number, bytes, T, tag, ...) CONVERT(tag##_by_i32, int64_t, T, fl_i32_of_real((double)x))
#define FL_HALF_TYPE(constant, number, bytes, T, tag, ...) \
  CONVERT(tag##_by_i32, int64_t, T, fl_i32_of_real((double)fl_f32_of_##tag(x)))
#define FL_FLOAT8_TYPE(...)
#include "flambeau/scalar_types.def"

/* Returns whether there are elements of a dtype: this build has it, or Scalars are stored in it. */
static int is_stored(int8_t dtype) { return fl_has(dtype) || dtype == FL_FLOAT64 || dtype == FL_INT64 || dtype == FL_BOOL; }

fl_convert_fn fl_widen(int8_t from, fl_compute to) {
  switch (from) {
#define FL_COMPLEX_TYPE(...)
#define FL_SCALAR_TYPE(constant, number, bytes, T, tag, ...)                                                  \
    case FL_##constant: {                                                                                     \
      if (!is_stored(FL_##constant)) {                                                                        \
        return NULL;                                                                                          \
      }                                                                                                       \
      static const fl_convert_fn each[] = {tag##_to_f32, tag##_to_f64, tag##_to_i64, tag##_to_i1};            \
      return each[to];                                                                                        \
    }
#include "flambeau/scalar_types.def"
    default: return NULL;
  }
}

/* Returns whether a real number is converted to the integer type through int32_t. */
static int is_by_i32(int8_t dtype) {
  enum { by_i32 = 1, by_i64 = 0 };
  switch (dtype) {
#define FL_INTEGER_TYPE(constant, number, bytes, T, tag, name, safetensors, by) case FL_##constant: return by_##by;
#include "flambeau/scalar_types.def"
    default: return 0;
  }
}

fl_convert_fn fl_widen_by(int8_t from, int8_t by, fl_compute to) {
  switch (to == FL_COMPUTE_I64 && is_by_i32(by) ? from : -1) {
#define FL_FLOAT_TYPE(constant, number, bytes, T, tag, ...) case FL_##constant: return is_stored(FL_##constant) ? tag##_by_i32 : NULL;
#define FL_HALF_TYPE FL_FLOAT_TYPE
#define FL_FLOAT8_TYPE(...)
#include "flambeau/scalar_types.def"
    default: return fl_widen(from, to);
  }
}

fl_convert_fn fl_narrow(fl_compute from, int8_t to) {
  switch (to) {
#define FL_COMPLEX_TYPE(...)
#define FL_SCALAR_TYPE(constant, number, bytes, T, tag, ...)                                                  \
    case FL_##constant: {                                                                                     \
      if (!is_stored(FL_##constant)) {                                                                        \
        return NULL;                                                                                          \
      }                                                                                                       \
      static const fl_convert_fn each[] = {f32_to_##tag, f64_to_##tag, i64_to_##tag, i1_to_##tag};            \
      return each[from];                                                                                      \
    }
#include "flambeau/scalar_types.def"
    default: return NULL;
  }
}

static int is_signed(int8_t dtype) { return dtype >= FL_INT8 && dtype <= FL_INT64; }

/* Returns the same as c10::promoteTypes; -1 when there is no common type (uint64 with a signed type). */
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
    size_t size_a = fl_element_size(a);
    size_t size_b = fl_element_size(b);
    return size_a == size_b ? FL_FLOAT32 : size_a > size_b ? a : b;
  }
  if (is_signed(a) == is_signed(b)) {
    return fl_element_size(a) > fl_element_size(b) ? a : b;
  }
  int8_t with_sign = is_signed(a) ? a : b;
  size_t size_signed = fl_element_size(with_sign);
  size_t size_unsigned = fl_element_size(is_signed(a) ? b : a);
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

/* Returns the common dtype of operands of a kind with precedence, `higher`, and of another kind, which counts only if its category is higher:
 * bool < integer < real. */
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
