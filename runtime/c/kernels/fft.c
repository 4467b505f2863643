/* Discrete Fourier transforms of any size over any dimensions, computed in double precision.
 *
 * A line of n numbers takes n times the sum of n's prime factors steps: lines are transformed factor by factor (Stockham's order, so that
 * nothing is permuted), and the steps of a factor p are sums of p products. */
#include <math.h>

#include "loops.h"
#include "fft.def"

typedef struct number {
  double re, im;
} number;

typedef struct fft {
  const fl_tensor *self;
  fl_tensor *out;
  uint8_t dims[FL_MAX_RANK];
  uint32_t dim_count;
  size_t last_size; /* of the whole line along the last of the dims */
  double scale;
  number *work; /* self's elements */
  number *line, *other, *roots;
} fft;

/* Bytes of one real part; 0 for other dtypes. */
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

static size_t longest_line(const fl_tensor *self, int64_t last) {
  size_t longest = last > 0 ? (size_t)last : 1;
  for (uint8_t d = 0; d < self->rank; ++d) {
    longest = (size_t)self->sizes[d] > longest ? (size_t)self->sizes[d] : longest;
  }
  return longest;
}

size_t fl_fft_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  int64_t last = 0;
  (void)count;
  if (self == NULL) {
    return 0;
  }
  /* Only the transform to real numbers has an integer here, and its lines may be longer than what it reads. */
  if (!fl_get_int(args[3], &last) || last > INT32_MAX) {
    last = 0;
  }
  const size_t bytes = fl_scratch_bytes(fl_numel(self) + 3 * longest_line(self, last), sizeof(number));
  return bytes > SIZE_MAX - 256 ? SIZE_MAX : bytes + 256;
}

static void set_roots(const fft *f, size_t n, int forward) {
  for (size_t k = 0; k < n; ++k) {
    const double angle = 6.283185307179586476925 * (double)k / (double)n;
    f->roots[k] = (number){cos(angle), forward ? -sin(angle) : sin(angle)};
  }
}

/* Transforms f->line of n numbers; gives where the result stands. */
static number *transform(const fft *f, size_t n) {
  number *from = f->line;
  number *to = f->other;
  size_t done = 1; /* the lengths of the transforms that `from` holds: of each subsequence of every n / done-th number */
  size_t p = 2;
  while (done < n) {
    const size_t left = n / done;
    while (left % p != 0) {
      p = p * p > left ? left : p + 1;
    }
    const size_t apart = left / p;
    for (size_t c = 0; c < apart; ++c) {
      for (size_t i = 0; i < done * p; ++i) {
        const number *x = from + c * done + i % done;
        const size_t step = i * apart;
        number sum = *x;
        for (size_t r = 1, at = step; r < p; ++r, at = at + step < n ? at + step : at + step - n) {
          x += apart * done;
          sum.re += f->roots[at].re * x->re - f->roots[at].im * x->im;
          sum.im += f->roots[at].re * x->im + f->roots[at].im * x->re;
        }
        to[c * done * p + i] = sum;
      }
    }
    done *= p;
    number *const swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* Transforms every line of the work along a dimension. */
static void transform_dim(const fft *f, uint8_t dim, int forward) {
  const size_t n = (size_t)f->self->sizes[dim];
  size_t inner = 1;
  for (uint8_t d = (uint8_t)(dim + 1); d < f->self->rank; ++d) {
    inner *= (size_t)f->self->sizes[d];
  }
  set_roots(f, n, forward);
  for (size_t start = 0; start < fl_numel(f->self); start += n * inner) {
    for (size_t i = 0; i < inner; ++i) {
      number *const at = f->work + start + i;
      for (size_t k = 0; k < n; ++k) {
        f->line[k] = at[k * inner];
      }
      const number *found = transform(f, n);
      for (size_t k = 0; k < n; ++k) {
        at[k * inner] = found[k];
      }
    }
  }
}

/* Checks what all transforms take, and reads self; `last` is the length of a real line, 0 for that of self. */
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
  const size_t longest = longest_line(f->self, last);
  FL_TAKE(number, work, fl_numel(f->self));
  FL_TAKE(number, line, longest);
  FL_TAKE(number, other, longest);
  FL_TAKE(number, roots, longest);
  f->work = work;
  f->line = line;
  f->other = other;
  f->roots = roots;
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
  for (uint32_t i = 0; i < f.dim_count; ++i) {
    transform_dim(&f, f.dims[i], forward != 0);
  }
  for (size_t i = 0; i < fl_numel(f.self); ++i) {
    write_number(&f, i, f.work[i]);
  }
  return FL_OK;
}

/* Gives the sizes of the output: self's, with another one along the last of the dims. */
static fl_status resize(fl_context *context, const fft *f, size_t last) {
  int32_t sizes[FL_MAX_RANK];
  for (uint8_t d = 0; d < f->self->rank; ++d) {
    sizes[d] = f->self->sizes[d];
  }
  sizes[f->dims[f->dim_count - 1]] = (int32_t)last;
  return fl_resize(context, f->out, sizes, f->self->rank);
}

/* The numbers behind one along the last of the dims, itself included. */
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
  const size_t kept = onesided != 0 ? f.last_size / 2 + 1 : f.last_size;
  FL_TRY(resize(context, &f, kept));
  for (uint32_t i = 0; i < f.dim_count; ++i) {
    transform_dim(&f, f.dims[i], 1);
  }
  const size_t inner = inner_of(&f);
  for (size_t i = 0; i < fl_numel(f.out); ++i) {
    write_number(&f, i, f.work[i / (kept * inner) * f.last_size * inner + i % (kept * inner)]);
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
