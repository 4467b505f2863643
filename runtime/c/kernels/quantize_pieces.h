/* Quantizes float32 to int8 or uint8, or dequantizes these, piece by piece, so that compilers use vectors. The file that includes this one
 * defines NUMBER, the type in which it computes; PIECE, the elements of a piece; ROUNDING, a NUMBER whose last bit is 1: added to a
 * smaller one and subtracted again, it leaves the nearest integer, halves to even; and NAMED, which gives names to what is defined here. */

/* The parameters of each element of a piece. */
typedef struct NAMED(piece) {
  NUMBER factors[PIECE], zeros[PIECE];
} NAMED(piece);

/* Sets the parameters of n elements from `at` on. */
static void NAMED(set)(NAMED(piece) *piece, const parameters *p, const job *job, size_t at, size_t n) {
  for (size_t i = 0; i < n;) {
    const size_t channel = (at + i) / p->stride, left = (channel + 1) * p->stride - (at + i), end = left < n - i ? i + left : n;
    const NUMBER factor = (NUMBER)(job->is_quantizing ? inverse_of : scale_of)(p, channel % p->count), zero = (NUMBER)zero_point_of(p, channel % p->count);
    for (; i < end; ++i) {
      piece->factors[i] = factor;
      piece->zeros[i] = zero;
    }
  }
}

/* Limits before it rounds, which is equivalent because limits are integers. NaN becomes 0. Narrows apart, or compilers would hold as many
 * numbers at once as a vector has bytes. */
static void NAMED(quantize)(const NAMED(piece) *p, const job *job, size_t at, size_t n) {
  const float *x = (const float *)job->input + at;
  uint8_t *out = (uint8_t *)job->out + at;
  const NUMBER low = (NUMBER)job->range[0], high = (NUMBER)job->range[1], first = job->is_shifted_first ? 1 : 0, last = 1 - first;
  int32_t whole[PIECE];
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) {
    const NUMBER before = p->zeros[i] * first, after = p->zeros[i] * last, scaled = (NUMBER)x[i] * p->factors[i];
    const NUMBER v = scaled + before, least = low - after, most = high - after;
    const NUMBER limited = v < least ? least : v > most ? most : v;
    const NUMBER rounded = (limited + ROUNDING) - ROUNDING;
    whole[i] = (int32_t)(v == v ? rounded + after : 0);
  }
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) { out[i] = (uint8_t)whole[i]; }
}

static void NAMED(dequantize_int8)(const NAMED(piece) *p, const job *job, size_t at, size_t n) {
  const int8_t *x = (const int8_t *)job->input + at;
  float *out = (float *)job->out + at;
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) { out[i] = (float)(((NUMBER)x[i] - p->zeros[i]) * p->factors[i]); }
}

static void NAMED(dequantize_uint8)(const NAMED(piece) *p, const job *job, size_t at, size_t n) {
  const uint8_t *x = (const uint8_t *)job->input + at;
  float *out = (float *)job->out + at;
  FL_INDEPENDENT for (size_t i = 0; i < n; ++i) { out[i] = (float)(((NUMBER)x[i] - p->zeros[i]) * p->factors[i]); }
}

static void NAMED(compute)(const NAMED(piece) *piece, const job *job, size_t at, size_t n) {
  if (job->is_quantizing) {
    NAMED(quantize)(piece, job, at, n);
  } else if (job->integer == FL_INT8) {
    NAMED(dequantize_int8)(piece, job, at, n);
  } else {
    NAMED(dequantize_uint8)(piece, job, at, n);
  }
}

/* Computes `count` elements. Where a channel has fewer elements in a row than a piece, a piece has those of its neighbours too. */
static void NAMED(compute_all)(const parameters *p, const job *job, size_t count) {
  NAMED(piece) piece;
  if (p->stride >= PIECE) {
    for (size_t start = 0; start < count; start += p->stride) {
      NAMED(set)(&piece, p, job, start, PIECE);
      for (size_t i = 0; i < p->stride; i += PIECE) {
        NAMED(compute)(&piece, job, start + i, p->stride - i < PIECE ? p->stride - i : PIECE);
      }
    }
    return;
  }
  const size_t period = p->stride * p->count;
  for (size_t start = 0; start < period; start += PIECE) {
    const size_t n = period - start < PIECE ? period - start : PIECE;
    NAMED(set)(&piece, p, job, start, n);
    for (size_t at = start; at < count; at += period) {
      NAMED(compute)(&piece, job, at, n);
    }
  }
}
