/* Kernels of discrete Fourier transforms of any size over any dimensions, computed in double precision, except for real lines of float32.
 *
 * Lines are transformed factor by factor. A line whose size has a large prime factor is convolved with a chirp instead, by transforms whose size
 * is a power of two (Bluestein). */
#include <math.h>

#include "loops.h"
#include "fft.def"
#include "real_fft.h"

/* LINES lines are transformed at once, one in each lane. */
#define REAL double
#define LINES 4
#include "fft_steps.h"

typedef fl_fft_number number;

typedef struct fft {
  const fl_tensor *self;
  fl_tensor *out;
  uint8_t dims[FL_MAX_RANK];
  uint32_t dim_count;
  size_t last_size; /* size of the full line along the last of the dims */
  double scale;
  number *work; /* self's elements */
  number *line, *other; /* LINES lines each */
  number *roots;
  /* Memory for a line that is convolved; NULL if none is. */
  number *chirp, *spectrum, *padded, *padded_other, *padded_roots;
} fft;

#define LARGE_FACTOR 100

/* Returns the size of the transforms that convolve a line of n numbers, a power of two not below 2n - 1; 0 if n has small prime factors. */
static uint64_t convolution_size(uint64_t n) {
  uint64_t left = n;
  uint64_t size = 1;
  for (uint64_t p = 2; p <= LARGE_FACTOR; ++p) {
    while (left > 1 && left % p == 0) {
      left /= p;
    }
  }
  while (left > 1 && size < 2 * n - 1) {
    size *= 2;
  }
  return left > 1 ? size : 0;
}

/* Returns the bytes of a real number of a dtype, or of the parts of a complex one; 0 for unsupported dtypes. */
static size_t part_size(int8_t dtype) {
  return dtype == FL_FLOAT32 || dtype == FL_COMPLEX64 ? 4 : dtype == FL_FLOAT64 || dtype == FL_COMPLEX128 ? 8 : 0;
}

static int is_complex(int8_t dtype) { return dtype == FL_COMPLEX64 || dtype == FL_COMPLEX128; }

static double read_part(const void *data, size_t size, size_t i) { return size == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i]; }

static void write_part(void *data, size_t size, size_t i, double x) {
  if (size == 4) {
    ((float *)data)[i] = (float)x;
  } else {
    ((double *)data)[i] = x;
  }
}

/* Returns the largest result of `of` for the sizes of a tensor's lines, and for size `last` if it is positive. */
static uint64_t most(const fl_tensor *self, int64_t last, uint64_t (*of)(uint64_t n)) {
  uint64_t found = of(last > 0 ? (uint64_t)last : 1);
  for (uint8_t d = 0; d < self->rank; ++d) {
    const uint64_t own = of((uint64_t)self->sizes[d]);
    found = own > found ? own : found;
  }
  return found;
}

static uint64_t own_size(uint64_t n) { return n; }

size_t fl_fft_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  int64_t last = 0;
  (void)count;
  if (self == NULL) {
    return 0;
  }
  /* Only the transform to real numbers has an integer argument here, the size of its lines, which may exceed the input's. */
  if (!fl_get_int(args[3], &last) || last > INT32_MAX) {
    last = 0;
  }
  const uint64_t convolved = most(self, last, convolution_size);
  const uint64_t lines = (uint64_t)(2 * LINES + (convolved > 0 ? 2 : 1)) * most(self, last, own_size) + 4 * convolved;
  const uint64_t bytes = (fl_numel(self) + lines) * sizeof(number) + 512;
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static number times(number a, number b) { return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Transforms n numbers with these roots, alternating between the arrays `from` and `to`. Returns the one that holds the result. */
static number *transform_by_factors(number *from, number *to, const number *roots, size_t n) {
  return (number *)steps(&from->re, &to->re, roots, 1, n, 1);
}

/* Computes the roots, and the chirp if needed, for lines of n numbers. */
static void set_roots(const fft *f, size_t n, int forward) {
  const size_t size = (size_t)convolution_size(n);
  if (size == 0) {
    fl_fft_turns(f->roots, n, forward);
    return;
  }
  fl_fft_turns(f->padded_roots, size, 1);
  for (size_t k = 0; k < size; ++k) {
    f->padded[k] = (number){0, 0};
  }
  for (size_t k = 0; k < n; ++k) {
    const uint64_t square = (uint64_t)k * k % (2 * (uint64_t)n);
    const double angle = 3.14159265358979323846 * (double)square / (double)n;
    f->chirp[k] = (number){cos(angle), forward ? -sin(angle) : sin(angle)};
    f->padded[k] = (number){f->chirp[k].re, -f->chirp[k].im};
    f->padded[k > 0 ? size - k : 0] = f->padded[k];
  }
  const number *found = transform_by_factors(f->padded, f->padded_other, f->padded_roots, size);
  for (size_t k = 0; k < size; ++k) {
    f->spectrum[k] = found[k];
  }
}

/* Transforms f->line of n numbers. Returns the array that holds the result. */
static number *transform(const fft *f, size_t n) {
  const size_t size = (size_t)convolution_size(n);
  if (size == 0) {
    return transform_by_factors(f->line, f->other, f->roots, n);
  }
  for (size_t k = 0; k < size; ++k) {
    f->padded[k] = k < n ? times(f->line[k], f->chirp[k]) : (number){0, 0};
  }
  number *found = transform_by_factors(f->padded, f->padded_other, f->padded_roots, size);
  for (size_t k = 0; k < size; ++k) {
    const number product = times(found[k], f->spectrum[k]);
    found[k] = (number){product.re, -product.im}; /* the inverse transform is the conjugate of the transform of conjugates */
  }
  found = transform_by_factors(found, found == f->padded ? f->padded_other : f->padded, f->padded_roots, size);
  for (size_t k = 0; k < n; ++k) {
    f->line[k] = times((number){found[k].re / (double)size, -found[k].im / (double)size}, f->chirp[k]);
  }
  return f->line;
}

/* Transforms every line of f->work along a dimension. */
static void transform_dim(const fft *f, uint8_t dim, int forward) {
  const size_t n = (size_t)f->self->sizes[dim];
  size_t inner = 1;
  for (uint8_t d = (uint8_t)(dim + 1); d < f->self->rank; ++d) {
    inner *= (size_t)f->self->sizes[d];
  }
  set_roots(f, n, forward);
  const size_t count = n > 0 ? fl_numel(f->self) / n : 0;
  const size_t together = convolution_size(n) == 0 && count >= LINES ? LINES : 1;
  for (size_t first = 0; first < count; first += together) {
    number *at[LINES];
    const size_t some = count - first < together ? count - first : together;
    for (size_t l = 0; l < some; ++l) {
      at[l] = f->work + (first + l) / inner * n * inner + (first + l) % inner;
    }
    if (together == 1) {
      for (size_t k = 0; k < n; ++k) {
        f->line[k] = at[0][k * inner];
      }
      const number *found = transform(f, n);
      for (size_t k = 0; k < n; ++k) {
        at[0][k * inner] = found[k];
      }
      continue;
    }
    double *const packets = &f->line->re;
    for (size_t k = 0; k < n; ++k) {
      for (size_t l = 0; l < LINES; ++l) {
        const number x = l < some ? at[l][k * inner] : (number){0, 0};
        packets[k * 2 * LINES + l] = x.re;
        packets[k * 2 * LINES + LINES + l] = x.im;
      }
    }
    const double *const found = steps(packets, &f->other->re, f->roots, 1, n, LINES);
    for (size_t k = 0; k < n; ++k) {
      for (size_t l = 0; l < some; ++l) {
        at[l][k * inner] = (number){found[k * 2 * LINES + l], found[k * 2 * LINES + LINES + l]};
      }
    }
  }
}

/* Checks the arguments of a transform, and fills `f`. `last` is the length of a real line; 0 means the length in self. */
static fl_status start(fl_context *context, fl_value *const *args, int64_t last, fft *f) {
  int64_t dims[FL_MAX_RANK];
  FL_INT_ARGUMENT(normalization, 2);
  f->self = fl_get_tensor(args[0]);
  f->out = fl_get_tensor(args[4]);
  FL_CHECK(context, f->self != NULL && f->out != NULL, "the input and the output must be tensors");
  FL_CHECK(context, part_size(f->self->dtype) != 0 && part_size(f->self->dtype) == part_size(f->out->dtype),
           "the input and the output must be of float32 parts or of float64 parts");
  FL_CHECK(context, fl_is_contiguous(f->self) && fl_is_contiguous(f->out), "the input and the output must be contiguous");
  FL_CHECK(context, fl_get_ints(args[1], dims, FL_MAX_RANK, &f->dim_count), "the dims must be a list of at most 16 integers");
  FL_CHECK_NUMBERS(context, normalization >= 0 && normalization <= 2, "the normalization must be 0, 1 or 2, not %", normalization, 0);
  FL_CHECK(context, last >= 0 && last <= INT32_MAX, "the last dim's size is out of range");
  double length = 1;
  for (uint32_t i = 0; i < f->dim_count; ++i) {
    FL_CHECK(context, f->self->rank > 0, "a transform needs a dimension");
    FL_TRY(fl_wrap_dim(context, dims[i], f->self->rank, &f->dims[i]));
    for (uint32_t j = 0; j < i; ++j) {
      FL_CHECK(context, f->dims[i] != f->dims[j], "the dims name a dimension twice");
    }
    const size_t own = (size_t)f->self->sizes[f->dims[i]];
    f->last_size = last > 0 ? (size_t)last : own;
    length *= (double)(i + 1 == f->dim_count ? f->last_size : own);
  }
  f->scale = normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(length) : 1 / length;
  return FL_OK;
}

/* Takes scratch memory for lines, and reads self. `last` is as for `start`. */
static fl_status read_self(fl_context *context, int64_t last, fft *f) {
  const size_t longest = (size_t)most(f->self, last, own_size);
  const size_t convolved = (size_t)most(f->self, last, convolution_size);
  FL_TAKE(number, work, fl_numel(f->self));
  FL_TAKE(number, line, LINES * longest);
  FL_TAKE(number, other, LINES * longest);
  FL_TAKE(number, roots, longest);
  f->work = work;
  f->line = line;
  f->other = other;
  f->roots = roots;
  if (convolved > 0) {
    FL_TAKE(number, chirp, longest);
    FL_TAKE(number, spectrum, convolved);
    FL_TAKE(number, padded, convolved);
    FL_TAKE(number, padded_other, convolved);
    FL_TAKE(number, padded_roots, convolved);
    f->chirp = chirp;
    f->spectrum = spectrum;
    f->padded = padded;
    f->padded_other = padded_other;
    f->padded_roots = padded_roots;
  }
  const size_t size = part_size(f->self->dtype);
  for (size_t i = 0; i < fl_numel(f->self); ++i) {
    work[i] = is_complex(f->self->dtype) ? (number){read_part(f->self->data, size, 2 * i), read_part(f->self->data, size, 2 * i + 1)}
                                         : (number){read_part(f->self->data, size, i), 0};
  }
  return FL_OK;
}

static void write_number(const fft *f, size_t i, number x) {
  const size_t size = part_size(f->out->dtype);
  write_part(f->out->data, size, 2 * i, x.re * f->scale);
  write_part(f->out->data, size, 2 * i + 1, x.im * f->scale);
}

fl_status fl_fft_c2c_out(fl_context *context, fl_value *const *args, size_t count) {
  fft f = {0};
  FL_INT_ARGUMENT(forward, 3);
  (void)count;
  FL_TRY(start(context, args, 0, &f));
  FL_CHECK(context, is_complex(f.self->dtype) && f.out->dtype == f.self->dtype, "the input and the output must be of one complex type");
  FL_TRY(fl_resize(context, f.out, f.self->sizes, f.self->rank));
  FL_TRY(read_self(context, 0, &f));
  for (uint32_t i = 0; i < f.dim_count; ++i) {
    transform_dim(&f, f.dims[i], forward != 0);
  }
  for (size_t i = 0; i < fl_numel(f.self); ++i) {
    write_number(&f, i, f.work[i]);
  }
  return FL_OK;
}

/* Resizes the output to the sizes of self, with size `last` along the last of the dims. */
static fl_status resize(fl_context *context, const fft *f, size_t last) {
  int32_t sizes[FL_MAX_RANK];
  for (uint8_t d = 0; d < f->self->rank; ++d) {
    sizes[d] = f->self->sizes[d];
  }
  sizes[f->dims[f->dim_count - 1]] = (int32_t)last;
  return fl_resize(context, f->out, sizes, f->self->rank);
}

/* Returns the number of elements from one index of the last of the dims to the next. */
static size_t inner_of(const fft *f) {
  size_t inner = 1;
  for (uint8_t d = (uint8_t)(f->dims[f->dim_count - 1] + 1); d < f->self->rank; ++d) {
    inner *= (size_t)f->self->sizes[d];
  }
  return inner;
}

fl_status fl_fft_r2c_out(fl_context *context, fl_value *const *args, size_t count) {
  fft f = {0};
  FL_INT_ARGUMENT(onesided, 3);
  (void)count;
  FL_TRY(start(context, args, 0, &f));
  FL_CHECK(context, f.dim_count > 0, "a transform needs a dimension");
  FL_CHECK(context, !is_complex(f.self->dtype) && is_complex(f.out->dtype), "the input must be real, and the output complex");
  FL_CHECK(context, f.last_size > 0, "the last of the dims must have at least one number");
  const size_t kept = onesided != 0 ? f.last_size / 2 + 1 : f.last_size;
  FL_TRY(resize(context, &f, kept));
  const int is_plain = onesided != 0 && f.dim_count == 1 && f.dims[0] + 1 == f.self->rank && part_size(f.self->dtype) == 4;
  if (is_plain && f.last_size % 2 == 0 && convolution_size(f.last_size) == 0) {
    return fl_real_fft_lines(context, f.self, f.out, (float)f.scale);
  }
  FL_TRY(read_self(context, 0, &f));
  for (uint32_t i = 0; i < f.dim_count; ++i) {
    transform_dim(&f, f.dims[i], 1);
  }
  const size_t inner = inner_of(&f);
  size_t to = 0;
  for (const number *from = f.work; to < fl_numel(f.out); from += f.last_size * inner) {
    for (size_t i = 0; i < kept * inner; ++i) {
      write_number(&f, to++, from[i]);
    }
  }
  return FL_OK;
}

fl_status fl_fft_c2r_out(fl_context *context, fl_value *const *args, size_t count) {
  fft f = {0};
  FL_INT_ARGUMENT(last, 3);
  (void)count;
  FL_TRY(start(context, args, last, &f));
  FL_CHECK(context, f.dim_count > 0 && last > 0, "a transform needs a dimension, of at least one number");
  FL_CHECK(context, is_complex(f.self->dtype) && !is_complex(f.out->dtype), "the input must be complex, and the output real");
  const size_t n = f.last_size;
  const size_t given = (size_t)f.self->sizes[f.dims[f.dim_count - 1]];
  FL_CHECK_NUMBERS(context, given > n / 2, "% real numbers need more than % complex ones", last, last / 2);
  FL_TRY(resize(context, &f, n));
  FL_TRY(read_self(context, last, &f));
  for (uint32_t i = 0; i + 1 < f.dim_count; ++i) {
    transform_dim(&f, f.dims[i], 0);
  }
  const size_t inner = inner_of(&f);
  const size_t size = part_size(f.out->dtype);
  set_roots(&f, n, 0);
  for (size_t start_in = 0, start_out = 0; start_out < fl_numel(f.out); start_in += given * inner, start_out += n * inner) {
    for (size_t i = 0; i < inner; ++i) {
      for (size_t k = 0; k <= n / 2; ++k) {
        const number x = f.work[start_in + k * inner + i];
        f.line[n - (k > 0 ? k : n)] = (number){x.re, -x.im};
        f.line[k] = (number){x.re, k == 0 || 2 * k == n ? 0 : x.im};
      }
      const number *found = transform(&f, n);
      for (size_t k = 0; k < n; ++k) {
        write_part(f.out->data, size, start_out + k * inner + i, found[k].re * f.scale);
      }
    }
  }
  return FL_OK;
}
