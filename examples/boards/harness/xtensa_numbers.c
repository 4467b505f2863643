/* The arithmetic that Debian's compiler for the LX106 calls and its library lacks, because that chip has it in its ROM: products and quotients
 * of 64 bits, and IEEE 754 in software, with every result rounded to nearest even. A float is computed as a double and rounded again, which
 * gives the same bits: a double has more than twice the bits of a float. */
#include <stdint.h>
#include <string.h>

uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);
uint64_t __umulsidi3(uint32_t a, uint32_t b);
uint64_t __muldi3(uint64_t a, uint64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int64_t __divdi3(int64_t a, int64_t b);
double __adddf3(double a, double b);
double __subdf3(double a, double b);
double __muldf3(double a, double b);
double __divdf3(double a, double b);
double __extendsfdf2(float a);
double __floatsidf(int32_t a);
double __floatunsidf(uint32_t a);
int32_t __fixdfsi(double a);
uint32_t __fixunsdfsi(double a);
float __truncdfsf2(double a);
float __addsf3(float a, float b);
float __subsf3(float a, float b);
float __mulsf3(float a, float b);
float __divsf3(float a, float b);
float __floatsisf(int32_t a);
float __floatunsisf(uint32_t a);
int32_t __fixsfsi(float a);
uint32_t __fixunssfsi(float a);

uint32_t __udivsi3(uint32_t a, uint32_t b) {
  uint32_t quotient = 0, bit = 1;
  while (b < a && !(b >> 31)) {
    b <<= 1;
    bit <<= 1;
  }
  for (; bit; bit >>= 1, b >>= 1) {
    if (a >= b) {
      a -= b;
      quotient |= bit;
    }
  }
  return quotient;
}

uint64_t __umulsidi3(uint32_t a, uint32_t b) {
  const uint32_t low = (a & 0xffff) * (b & 0xffff), high = (a >> 16) * (b >> 16);
  const uint32_t left = (a >> 16) * (b & 0xffff), right = (a & 0xffff) * (b >> 16);
  const uint32_t middle = (low >> 16) + (left & 0xffff) + (right & 0xffff);
  return (uint64_t)(high + (left >> 16) + (right >> 16) + (middle >> 16)) << 32 | (middle << 16 | (low & 0xffff));
}

uint64_t __muldi3(uint64_t a, uint64_t b) {
  const uint32_t a0 = (uint32_t)a, a1 = (uint32_t)(a >> 32), b0 = (uint32_t)b, b1 = (uint32_t)(b >> 32);
  return __umulsidi3(a0, b0) + ((uint64_t)(a0 * b1 + a1 * b0) << 32);
}

uint64_t __udivdi3(uint64_t a, uint64_t b) {
  uint64_t quotient = 0, bit = 1;
  while (b < a && !(b >> 63)) {
    b <<= 1;
    bit <<= 1;
  }
  for (; bit; bit >>= 1, b >>= 1) {
    if (a >= b) {
      a -= b;
      quotient |= bit;
    }
  }
  return quotient;
}

uint32_t __umodsi3(uint32_t a, uint32_t b) { return a - __udivsi3(a, b) * b; }
uint64_t __umoddi3(uint64_t a, uint64_t b) { return a - __muldi3(__udivdi3(a, b), b); }

int32_t __divsi3(int32_t a, int32_t b) {
  const uint32_t quotient = __udivsi3(a < 0 ? -(uint32_t)a : (uint32_t)a, b < 0 ? -(uint32_t)b : (uint32_t)b);
  return (int32_t)((a < 0) != (b < 0) ? -quotient : quotient);
}

int64_t __divdi3(int64_t a, int64_t b) {
  const uint64_t quotient = __udivdi3(a < 0 ? -(uint64_t)a : (uint64_t)a, b < 0 ? -(uint64_t)b : (uint64_t)b);
  return (int64_t)((a < 0) != (b < 0) ? -quotient : quotient);
}

/* A number: mantissa * 2^(exponent - 62), whose highest bit is bit 62; the lowest is 1 where lower bits were lost. */
typedef struct number {
  uint64_t mantissa; /* 0: the number is zero */
  int32_t exponent;
  uint32_t is_negative;
  enum { FINITE, INFINITE, NAN_ } kind;
} number;

static uint64_t bits_of(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}

static double of_bits(uint64_t bits) {
  double a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

/* Returns bits that are shifted right, with those that are lost in the lowest. */
static uint64_t shifted(uint64_t bits, int32_t by) {
  if (by <= 0) {
    return bits;
  }
  return by > 63 ? bits != 0 : bits >> by | ((bits << (64 - by)) != 0);
}

static number normal(number n) {
  while (n.mantissa && !(n.mantissa >> 62)) {
    n.mantissa <<= 1;
    --n.exponent;
  }
  if (n.mantissa >> 63) {
    n.mantissa = shifted(n.mantissa, 1);
    ++n.exponent;
  }
  return n;
}

/* Reads a format of `width` bits of mantissa, without the first one, and an exponent with a bias. */
static number read(uint64_t bits, int32_t width, int32_t bias, uint32_t is_negative) {
  const int32_t exponent = (int32_t)(bits >> width);
  const uint64_t mantissa = bits & (((uint64_t)1 << width) - 1);
  if (exponent == 2 * bias + 1) {
    return (number){mantissa, 0, is_negative, mantissa ? NAN_ : INFINITE};
  }
  const uint64_t whole = exponent ? mantissa | (uint64_t)1 << width : mantissa;
  return normal((number){whole << (62 - width), (exponent ? exponent : 1) - bias, is_negative, FINITE});
}

/* Returns a number in such a format, without its sign. */
static uint64_t rounded(number n, int32_t width, int32_t bias) {
  const uint64_t infinite = (uint64_t)(2 * bias + 1) << width;
  if (n.kind != FINITE) {
    return n.kind == NAN_ ? infinite | (uint64_t)1 << (width - 1) : infinite;
  }
  int32_t exponent = n.exponent + bias;
  if (exponent > 2 * bias) {
    return infinite;
  }
  if (!n.mantissa) {
    return 0;
  }
  uint64_t mantissa = n.mantissa;
  if (exponent <= 0) {
    mantissa = shifted(mantissa, 1 - exponent);
    exponent = 0;
  }
  const int32_t lost = 62 - width;
  const uint64_t half = (uint64_t)1 << (lost - 1), rest = mantissa & (2 * half - 1);
  mantissa >>= lost;
  mantissa += rest > half || (rest == half && (mantissa & 1));
  return ((uint64_t)exponent << width) + mantissa - (exponent ? (uint64_t)1 << width : 0);
}

static number of_double(double a) {
  const uint64_t bits = bits_of(a);
  return read(bits & ~((uint64_t)1 << 63), 52, 1023, (uint32_t)(bits >> 63));
}

static double to_double(number n) { return of_bits(rounded(n, 52, 1023) | (uint64_t)n.is_negative << 63); }

double __adddf3(double x, double y) {
  number a = of_double(x), b = of_double(y);
  if (a.kind != FINITE || b.kind != FINITE) {
    const int is_nan = a.kind == NAN_ || b.kind == NAN_ || (a.kind == b.kind && a.is_negative != b.is_negative);
    return to_double(is_nan ? (number){1, 0, 0, NAN_} : a.kind == INFINITE ? a : b);
  }
  if (!a.mantissa || !b.mantissa) {
    return !b.mantissa ? (a.mantissa || a.is_negative == b.is_negative ? x : 0.0) : y;
  }
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.mantissa < b.mantissa)) {
    const number larger = b;
    b = a;
    a = larger;
  }
  b.mantissa = shifted(b.mantissa, a.exponent - b.exponent);
  if (a.is_negative == b.is_negative) {
    a.mantissa += b.mantissa;
  } else {
    a.mantissa -= b.mantissa;
    a.is_negative = a.mantissa ? a.is_negative : 0;
  }
  return to_double(normal(a));
}

double __subdf3(double x, double y) { return __adddf3(x, of_bits(bits_of(y) ^ (uint64_t)1 << 63)); }

double __muldf3(double x, double y) {
  const number a = of_double(x), b = of_double(y);
  number product = {0, a.exponent + b.exponent, a.is_negative ^ b.is_negative, FINITE};
  if (a.kind != FINITE || b.kind != FINITE) {
    const int is_nan = a.kind == NAN_ || b.kind == NAN_ || (a.kind == FINITE && !a.mantissa) || (b.kind == FINITE && !b.mantissa);
    product.kind = is_nan ? NAN_ : INFINITE;
    return to_double(product);
  }
  const uint32_t a0 = (uint32_t)a.mantissa, a1 = (uint32_t)(a.mantissa >> 32), b0 = (uint32_t)b.mantissa, b1 = (uint32_t)(b.mantissa >> 32);
  const uint64_t low = __umulsidi3(a0, b0), left = __umulsidi3(a1, b0), right = __umulsidi3(a0, b1);
  const uint64_t middle = (low >> 32) + (uint32_t)left + (uint32_t)right;
  const uint64_t high = __umulsidi3(a1, b1) + (left >> 32) + (right >> 32) + (middle >> 32);
  const uint64_t rest = middle << 32 | (uint32_t)low;
  product.mantissa = high << 2 | rest >> 62 | ((rest << 2) != 0);
  return to_double(normal(product));
}

double __divdf3(double x, double y) {
  const number a = of_double(x), b = of_double(y);
  number quotient = {0, a.exponent - b.exponent, a.is_negative ^ b.is_negative, FINITE};
  if (a.kind == NAN_ || b.kind == NAN_ || (a.kind == INFINITE && b.kind == INFINITE) || (a.kind == b.kind && !a.mantissa && !b.mantissa)) {
    quotient.kind = NAN_;
    return to_double(quotient);
  }
  if (a.kind == INFINITE || (b.kind == FINITE && !b.mantissa)) {
    quotient.kind = INFINITE;
    return to_double(quotient);
  }
  if (b.kind == INFINITE || !a.mantissa) {
    return to_double(quotient);
  }
  uint64_t rest = a.mantissa;
  if (rest < b.mantissa) {
    rest <<= 1;
    --quotient.exponent;
  }
  for (int i = 0; i < 63; ++i, rest <<= 1) {
    quotient.mantissa <<= 1;
    if (rest >= b.mantissa) {
      rest -= b.mantissa;
      quotient.mantissa |= 1;
    }
  }
  quotient.mantissa |= rest != 0;
  return to_double(normal(quotient));
}

double __extendsfdf2(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return to_double(read(bits & 0x7fffffffu, 23, 127, bits >> 31));
}

float __truncdfsf2(double a) {
  const number n = of_double(a);
  const uint32_t bits = (uint32_t)rounded(n, 23, 127) | n.is_negative << 31;
  float found;
  memcpy(&found, &bits, sizeof found);
  return found;
}

double __floatunsidf(uint32_t a) { return to_double(normal((number){a, 62, 0, FINITE})); }
double __floatsidf(int32_t a) { return to_double(normal((number){a < 0 ? -(uint32_t)a : (uint32_t)a, 62, a < 0, FINITE})); }

/* Returns the whole part of a number, up to `most`. */
static uint32_t whole(number n, uint32_t most) {
  if (n.kind != FINITE || n.exponent > 31) {
    return n.kind == NAN_ ? 0 : most;
  }
  const uint64_t found = n.exponent < 0 ? 0 : n.mantissa >> (62 - n.exponent);
  return found > most ? most : (uint32_t)found;
}

int32_t __fixdfsi(double a) {
  const number n = of_double(a);
  const uint32_t found = whole(n, 0x7fffffffu + n.is_negative);
  return (int32_t)(n.is_negative ? -found : found);
}

uint32_t __fixunsdfsi(double a) {
  const number n = of_double(a);
  return n.is_negative ? 0 : whole(n, 0xffffffffu);
}

float __addsf3(float a, float b) { return __truncdfsf2(__adddf3(__extendsfdf2(a), __extendsfdf2(b))); }
float __subsf3(float a, float b) { return __truncdfsf2(__subdf3(__extendsfdf2(a), __extendsfdf2(b))); }
float __mulsf3(float a, float b) { return __truncdfsf2(__muldf3(__extendsfdf2(a), __extendsfdf2(b))); }
float __divsf3(float a, float b) { return __truncdfsf2(__divdf3(__extendsfdf2(a), __extendsfdf2(b))); }
float __floatsisf(int32_t a) { return __truncdfsf2(__floatsidf(a)); }
float __floatunsisf(uint32_t a) { return __truncdfsf2(__floatunsidf(a)); }
int32_t __fixsfsi(float a) { return __fixdfsi(__extendsfdf2(a)); }
uint32_t __fixunssfsi(float a) { return __fixunsdfsi(__extendsfdf2(a)); }
