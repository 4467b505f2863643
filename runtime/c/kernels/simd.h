/* Short vectors of float and int32, written once for every instruction set.
 *
 * The code uses the vector extension of GCC and Clang (`vector_size`), which has + - * / & | ^ comparisons and subscripts. This file adds
 * fused multiply-add, blends, masked tails and the like, with intrinsics if the instruction set has them, otherwise in plain C.
 * FL_LANES is the width: 16 (AVX-512F), 8 (AVX), 4 (SSE2, NEON), else 1. Kernels work for any FL_LANES that divides 16.
 *
 * Comparisons give lanes of all ones or all zeros (fl_ivec). All functions are inline and defined for every value.
 */
#ifndef FLAMBEAU_KERNELS_SIMD_H
#define FLAMBEAU_KERNELS_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef FL_LANES
#if defined(__AVX512F__)
#define FL_LANES 16
#elif defined(__AVX__)
#define FL_LANES 8
#elif defined(__SSE2__) || defined(__ARM_NEON)
#define FL_LANES 4
#else
#define FL_LANES 1
#endif
#endif

#if defined(__AVX512F__) && FL_LANES == 16
#define FL_SIMD_AVX512 1
#elif defined(__AVX__) && FL_LANES == 8
#define FL_SIMD_AVX 1
#elif defined(__SSE2__) && FL_LANES == 4
#define FL_SIMD_SSE 1
#elif defined(__ARM_NEON) && defined(__aarch64__) && FL_LANES == 4
#define FL_SIMD_NEON 1
#endif

#if defined(FL_SIMD_AVX512) || defined(FL_SIMD_AVX) || defined(FL_SIMD_SSE)
#include <immintrin.h>
#elif defined(FL_SIMD_NEON)
#include <arm_neon.h>
#endif

#define FL_INLINE static inline __attribute__((always_inline, unused))

typedef float fl_vec __attribute__((vector_size(4 * FL_LANES)));
typedef int32_t fl_ivec __attribute__((vector_size(4 * FL_LANES)));
typedef uint32_t fl_uvec __attribute__((vector_size(4 * FL_LANES)));

/* Unrolls a loop over lanes or tiles, which has constant bounds; FL_ROLL leaves such a loop as it is. */
#if defined(__clang__)
#define FL_UNROLL _Pragma("clang loop unroll(full)")
#define FL_ROLL _Pragma("clang loop unroll(disable)")
#else
#define FL_UNROLL _Pragma("GCC unroll 32")
#define FL_ROLL _Pragma("GCC unroll 1")
#endif

/* Makes the compiler hold `v` in a register, instead of reading it from memory at each use. */
#if defined(FL_SIMD_AVX512)
#define FL_HOLD(v) __asm__("" : "+v"(v))
#elif defined(FL_SIMD_AVX) || defined(FL_SIMD_SSE)
#define FL_HOLD(v) __asm__("" : "+x"(v))
#elif defined(FL_SIMD_NEON)
#define FL_HOLD(v) __asm__("" : "+w"(v))
#else
#define FL_HOLD(v) ((void)(v))
#endif

FL_INLINE fl_vec fl_load(const float *p) {
  fl_vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

FL_INLINE void fl_store(float *p, fl_vec v) { memcpy(p, &v, sizeof v); }

/* A list of FL_LANES equal elements, which compilers turn into one broadcast. */
#if FL_LANES == 16
#define FL_ALL(x) {(x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x), (x)}
#elif FL_LANES == 8
#define FL_ALL(x) {(x), (x), (x), (x), (x), (x), (x), (x)}
#elif FL_LANES == 4
#define FL_ALL(x) {(x), (x), (x), (x)}
#else
#define FL_ALL(x) {(x)}
#endif

FL_INLINE fl_vec fl_set(float x) { return (fl_vec)FL_ALL(x); }
FL_INLINE fl_vec fl_zero(void) { return (fl_vec)FL_ALL(0.0f); }
FL_INLINE fl_ivec fl_iset(int32_t x) { return (fl_ivec)FL_ALL(x); }

#if defined(FL_SIMD_AVX)
FL_INLINE __m256i fl_tail_mask(size_t n) {
  static const int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256((const __m256i *)(const void *)(ones_then_zeros + 8 - n));
}
#endif

/* Returns the first n (<= FL_LANES) floats at p; the other lanes are 0. Reads nothing beyond p[n - 1]. */
FL_INLINE fl_vec fl_load_part(const float *p, size_t n) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
#elif defined(FL_SIMD_AVX)
  return (fl_vec)_mm256_maskload_ps(p, fl_tail_mask(n));
#else
  fl_vec v = fl_zero();
  for (size_t i = 0; i < n; ++i) {
    v[i] = p[i];
  }
  return v;
#endif
}

/* Returns the floats at p in the lanes [first, end), which may be none; the other lanes are 0, and their places are not read. */
FL_INLINE fl_vec fl_load_between(const float *p, size_t first, size_t end) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_maskz_loadu_ps((__mmask16)((1u << end) - (1u << first)), p);
#elif defined(FL_SIMD_AVX)
  const __m256 mask = _mm256_andnot_ps((__m256)fl_tail_mask(first), (__m256)fl_tail_mask(end));
  return (fl_vec)_mm256_maskload_ps(p, (__m256i)mask);
#else
  if (end - first == FL_LANES) {
    return fl_load(p);
  }
  fl_vec v = fl_zero();
  for (size_t i = first; i < end; ++i) {
    v[i] = p[i];
  }
  return v;
#endif
}

FL_INLINE void fl_store_part(float *p, fl_vec v, size_t n) {
#if defined(FL_SIMD_AVX512)
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)v);
#elif defined(FL_SIMD_AVX)
  _mm256_maskstore_ps(p, fl_tail_mask(n), (__m256)v);
#else
  for (size_t i = 0; i < n; ++i) {
    p[i] = v[i];
  }
#endif
}

/* Returns a * b + c, rounded once if the hardware has a fused multiply-add. */
FL_INLINE fl_vec fl_fma(fl_vec a, fl_vec b, fl_vec c) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(FL_SIMD_AVX) && defined(__FMA__)
  return (fl_vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(FL_SIMD_NEON)
  return (fl_vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

/* Returns mask ? a : b in each lane. */
FL_INLINE fl_vec fl_select(fl_ivec mask, fl_vec a, fl_vec b) {
#if defined(FL_SIMD_AVX)
  return (fl_vec)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
  return (fl_vec)((mask & (fl_ivec)a) | (~mask & (fl_ivec)b));
#endif
}

/* Returns the larger (fl_min_b: smaller) number in each lane, or b if either is NaN. Is one instruction of the hardware if it has one; for
 * numbers that are never NaN, and for clamping x as fl_max_b(limit, x), which keeps a NaN in x. */
FL_INLINE fl_vec fl_max_b(fl_vec a, fl_vec b) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(FL_SIMD_AVX)
  return (fl_vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(FL_SIMD_SSE)
  return (fl_vec)_mm_max_ps((__m128)a, (__m128)b);
#else
  return fl_select((fl_ivec)(a > b), a, b);
#endif
}

FL_INLINE fl_vec fl_min_b(fl_vec a, fl_vec b) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(FL_SIMD_AVX)
  return (fl_vec)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(FL_SIMD_SSE)
  return (fl_vec)_mm_min_ps((__m128)a, (__m128)b);
#else
  return fl_select((fl_ivec)(a < b), a, b);
#endif
}

/* Returns the larger (fl_min: smaller) number in each lane, or NaN if either is NaN, as ATen's maximum, minimum and reductions do. */
FL_INLINE fl_vec fl_max(fl_vec a, fl_vec b) { return fl_select((fl_ivec)(a != a), a, fl_max_b(a, b)); }
FL_INLINE fl_vec fl_min(fl_vec a, fl_vec b) { return fl_select((fl_ivec)(a != a), a, fl_min_b(a, b)); }

/* Returns x limited to [low, high]; a NaN in x stays. */
FL_INLINE fl_vec fl_clamp(fl_vec x, float low, float high) { return fl_min_b(fl_set(high), fl_max_b(fl_set(low), x)); }

FL_INLINE fl_vec fl_abs(fl_vec x) { return (fl_vec)((fl_ivec)x & fl_iset(0x7fffffff)); }
/* Returns x, which must not be negative, with the sign of s. */
FL_INLINE fl_vec fl_with_sign(fl_vec x, fl_vec s) { return (fl_vec)((fl_ivec)x | ((fl_ivec)s & fl_iset(INT32_MIN))); }

FL_INLINE fl_vec fl_sqrt(fl_vec x) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_sqrt_ps((__m512)x);
#elif defined(FL_SIMD_AVX)
  return (fl_vec)_mm256_sqrt_ps((__m256)x);
#elif defined(FL_SIMD_SSE)
  return (fl_vec)_mm_sqrt_ps((__m128)x);
#elif defined(FL_SIMD_NEON)
  return (fl_vec)vsqrtq_f32((float32x4_t)x);
#else
  fl_vec y;
  FL_UNROLL
  for (int i = 0; i < FL_LANES; ++i) {
    y[i] = sqrtf(x[i]);
  }
  return y;
#endif
}

FL_INLINE fl_vec fl_from_int(fl_ivec x) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_cvtepi32_ps((__m512i)x);
#elif defined(FL_SIMD_AVX) && defined(__AVX2__)
  return (fl_vec)_mm256_cvtepi32_ps((__m256i)x);
#elif defined(FL_SIMD_SSE)
  return (fl_vec)_mm_cvtepi32_ps((__m128i)x);
#else
  fl_vec y;
  FL_UNROLL
  for (int i = 0; i < FL_LANES; ++i) {
    y[i] = (float)x[i];
  }
  return y;
#endif
}

/* Returns the FL_LANES int8 at p as floats. */
FL_INLINE fl_vec fl_load_int8(const int8_t *p) {
#if defined(FL_SIMD_AVX512)
  return (fl_vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
#elif defined(FL_SIMD_AVX) && defined(__AVX2__)
  return (fl_vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
#else
  fl_ivec v;
  FL_UNROLL
  for (int i = 0; i < FL_LANES; ++i) {
    v[i] = p[i];
  }
  return fl_from_int(v);
#endif
}

/* Returns the sum of the lanes, added pairwise, in the same order in every call. */
FL_INLINE float fl_sum(fl_vec v) {
  float x[FL_LANES];
  memcpy(x, &v, sizeof v);
  FL_UNROLL
  for (int half = FL_LANES / 2; half > 0; half /= 2) {
    FL_UNROLL
    for (int i = 0; i < half; ++i) {
      x[i] += x[i + half];
    }
  }
  return x[0];
}

/* Returns the largest lane, or NaN if any lane is NaN. */
FL_INLINE float fl_max_lane(fl_vec v) {
  float best = v[0];
  FL_UNROLL
  for (int i = 1; i < FL_LANES; ++i) {
    best = v[i] > best || v[i] != v[i] ? v[i] : best;
  }
  return best;
}

/* Returns 2^n for n in [-126, 127]. */
FL_INLINE fl_vec fl_power_of_two(fl_ivec n) { return (fl_vec)((fl_uvec)(n + fl_iset(127)) << 23); }

/* Returns e^x with a relative error below 1.2e-7: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial in r. It scales by 2^n in two steps,
 * so that denormal results, 0 and infinity are right. */
FL_INLINE fl_vec fl_exp(fl_vec x) {
  x = fl_clamp(x, -104.0f, 89.0f);
  const fl_vec magic = fl_set(12582912.0f); /* 1.5 * 2^23: adding it rounds a number to an integer in the low bits */
  fl_vec shifted = fl_fma(x, fl_set(1.44269504088896341f), magic);
  fl_ivec n = (fl_ivec)((fl_uvec)shifted - (fl_uvec)magic);
  fl_vec k = shifted - magic;
  fl_vec r = fl_fma(k, fl_set(-0.693359375f), x); /* ln 2 in two parts: 355 / 512 is exact in 9 bits */
  r = fl_fma(k, fl_set(2.12194440e-4f), r);
  fl_vec p = fl_set(0.00139505579136312f);
  p = fl_fma(p, r, fl_set(0.008368928916752338f));
  p = fl_fma(p, r, fl_set(0.04166620597243309f));
  p = fl_fma(p, r, fl_set(0.166665181517601f));
  p = fl_fma(p, r, fl_set(0.5f));
  p = fl_fma(p * r, r, r) + fl_set(1.0f);
  fl_ivec half = n >> 1;
  return p * fl_power_of_two(half) * fl_power_of_two((fl_ivec)((fl_uvec)n - (fl_uvec)half));
}

/* Returns e^x for x <= 0, a little faster: results below the smallest normal number become 0. */
FL_INLINE fl_vec fl_exp_negative(fl_vec x) {
  const fl_ivec vanishing = (fl_ivec)(x < fl_set(-87.3f));
  const fl_vec magic = fl_set(12582912.0f);
  fl_vec shifted = fl_fma(fl_max_b(fl_set(-87.3f), x), fl_set(1.44269504088896341f), magic);
  fl_vec k = shifted - magic;
  fl_vec r = fl_fma(k, fl_set(-0.693359375f), x);
  r = fl_fma(k, fl_set(2.12194440e-4f), r);
  fl_vec p = fl_set(0.00139505579136312f);
  p = fl_fma(p, r, fl_set(0.008368928916752338f));
  p = fl_fma(p, r, fl_set(0.04166620597243309f));
  p = fl_fma(p, r, fl_set(0.166665181517601f));
  p = fl_fma(p, r, fl_set(0.5f));
  p = fl_fma(p * r, r, r) + fl_set(1.0f);
  /* The low bits of `shifted` hold k, and those of 1.5 * 2^23 are zero. */
  fl_vec scale = (fl_vec)(((fl_uvec)shifted + (fl_uvec)fl_iset(127)) << 23);
  return (fl_vec)((fl_ivec)(p * scale) & ~vanishing);
}

/* Returns the natural logarithm with a relative error of about 1e-7: -inf for 0, NaN for negative numbers, inf for inf. */
FL_INLINE fl_vec fl_log(fl_vec x) {
  const fl_ivec tiny = (fl_ivec)(x < fl_set(1.17549435e-38f));
  fl_vec scaled = fl_select(tiny, x * fl_set(8388608.0f), x);
  /* The exponent is chosen so that the mantissa lies within [sqrt(1/2), sqrt(2)). */
  fl_uvec bits = (fl_uvec)scaled - (fl_uvec)fl_iset(0x3f3504f3);
  fl_ivec exponent = (fl_ivec)bits >> 23;
  fl_vec m = (fl_vec)((bits & (fl_uvec)fl_iset(0x007fffff)) + (fl_uvec)fl_iset(0x3f3504f3));
  fl_vec e = fl_from_int(exponent) - (fl_vec)(tiny & (fl_ivec)fl_set(23.0f));
  fl_vec f = m - fl_set(1.0f);
  fl_vec p = fl_set(-0.07634429633617401f);
  p = fl_fma(p, f, fl_set(0.12761549651622772f));
  p = fl_fma(p, f, fl_set(-0.131601944565773f));
  p = fl_fma(p, f, fl_set(0.14201761782169342f));
  p = fl_fma(p, f, fl_set(-0.16623356938362122f));
  p = fl_fma(p, f, fl_set(0.20001226663589478f));
  p = fl_fma(p, f, fl_set(-0.250008225440979f));
  p = fl_fma(p, f, fl_set(0.3333333134651184f));
  fl_vec f2 = f * f;
  fl_vec y = fl_fma(p * f, f2, e * fl_set(-2.12194440e-4f));
  y = fl_fma(f2, fl_set(-0.5f), y) + f;
  y = fl_fma(e, fl_set(0.693359375f), y);
  y = fl_select((fl_ivec)(x == fl_set(INFINITY)) | (fl_ivec)(x != x), x, y);
  y = fl_select((fl_ivec)(x == fl_zero()), fl_set(-INFINITY), y);
  return fl_select((fl_ivec)(x < fl_zero()), fl_set(NAN), y);
}

/* Returns tanh(x) with a relative error of about 2e-7; it is odd, and keeps -0 and denormals. */
FL_INLINE fl_vec fl_tanh(fl_vec x) {
  fl_vec a = fl_abs(x);
  fl_vec z = x * x;
  fl_vec p = fl_set(-0.005717036779969931f);
  p = fl_fma(p, z, fl_set(0.020650578662753105f));
  p = fl_fma(p, z, fl_set(-0.05374349653720856f));
  p = fl_fma(p, z, fl_set(0.13331490755081177f));
  p = fl_fma(p, z, fl_set(-0.3333328366279602f));
  fl_vec small = fl_fma(p * z, x, x);
  fl_vec large = fl_set(1.0f) - fl_set(2.0f) / (fl_exp(a + a) + fl_set(1.0f));
  return fl_with_sign(fl_select((fl_ivec)(a < fl_set(0.625f)), small, large), x); /* of -0, small is 0 */
}

/* Returns 1 / (1 + e^-x) with a relative error of about 2e-7 for positive and negative x. */
FL_INLINE fl_vec fl_sigmoid(fl_vec x) {
  fl_vec e = fl_exp((fl_vec)((fl_ivec)x | fl_iset(INT32_MIN)));
  fl_vec top = fl_select((fl_ivec)(x < fl_zero()), e, fl_set(1.0f));
  return top / (fl_set(1.0f) + e);
}

/* Returns erf(x) with a relative error of about 2e-7: for |x| < 1 by a polynomial in x^2, otherwise as 1 - e^p, whose p approximates log(erfc). */
FL_INLINE fl_vec fl_erf(fl_vec x) {
  fl_vec a = fl_abs(x);
  fl_vec z = x * x;
  fl_vec p = fl_set(7.853857823647559e-05f);
  p = fl_fma(p, z, fl_set(-0.0008010192541405559f));
  p = fl_fma(p, z, fl_set(0.005188327748328447f));
  p = fl_fma(p, z, fl_set(-0.026853810995817184f));
  p = fl_fma(p, z, fl_set(0.1128358542919159f));
  p = fl_fma(p, z, fl_set(-0.3761262595653534f));
  p = fl_fma(p, z, fl_set(1.1283791065216064f));
  fl_vec small = p * x;
  fl_vec t = fl_min_b(fl_set(4.0f), a);
  fl_vec q = fl_set(0.00019150503794662654f);
  q = fl_fma(q, t, fl_set(-0.0029995490331202745f));
  q = fl_fma(q, t, fl_set(0.02205202914774418f));
  q = fl_fma(q, t, fl_set(-0.10356695204973221f));
  q = fl_fma(q, t, fl_set(-0.6375999450683594f));
  q = fl_fma(q, t, fl_set(-1.1274261474609375f));
  q = fl_fma(q, t, fl_set(-0.0002564366441220045f));
  fl_vec large = fl_set(1.0f) - fl_exp(q);
  return fl_select((fl_ivec)(a < fl_set(1.0f)), small, fl_with_sign(large, x));
}

/* Return GELU by the error function, and its approximation by tanh. */
FL_INLINE fl_vec fl_gelu(fl_vec x) { return fl_set(0.5f) * x * (fl_set(1.0f) + fl_erf(x * fl_set(0.70710678118654752f))); }

FL_INLINE fl_vec fl_gelu_tanh(fl_vec x) {
  fl_vec inner = fl_set(0.79788456080286536f) * fl_fma(x * x * x, fl_set(0.044715f), x);
  return fl_set(0.5f) * x * (fl_set(1.0f) + fl_tanh(inner));
}

#endif
