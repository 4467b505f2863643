/* Kernels of singular values and vectors, computed in double precision by one-sided Jacobi rotations.
 *
 * The vectors along the longer side are rotated until they are orthogonal; then their lengths are the singular values. */
#include "spectral.h"
#include "spectral.def"

#define MOST_SWEEPS 60
#define NOTHING 1e-145 /* relative to the largest number; its square is still above the smallest double */

typedef struct singular {
  size_t size;  /* length of the longer side */
  size_t count; /* length of the shorter side, and number of singular values */
  size_t rows;  /* number of vectors along the longer side */
  double *longer, *shorter, *values, *rest;
} singular;

size_t fl_singular_scratch(fl_value *const *args, size_t count);

/* Returns the scratch memory for the vectors of both sides, and two rows. */
size_t fl_singular_scratch(fl_value *const *args, size_t count) {
  const fl_tensor *tensor = fl_get_tensor(args[0]);
  int64_t full = 1;
  (void)count;
  if (tensor == NULL || tensor->rank < 2) {
    return 0;
  }
  (void)fl_get_int(args[1], &full);
  const size_t rows = (size_t)tensor->sizes[tensor->rank - 2];
  const size_t columns = (size_t)tensor->sizes[tensor->rank - 1];
  const size_t size = rows > columns ? rows : columns;
  const size_t least = rows > columns ? columns : rows;
  const size_t longer = fl_scratch_bytes(size * (full != 0 ? size : least), sizeof(double));
  const size_t rest = fl_scratch_bytes(least * least + least + size, sizeof(double));
  return longer > SIZE_MAX / 2 || rest > SIZE_MAX / 4 ? SIZE_MAX : longer + rest + 256;
}

/* Makes vectors p and q orthogonal. Returns whether it rotated them. */
static int rotate_pair(const singular *f, size_t p, size_t q, double tolerance, int vectors) {
  double *const a = f->longer + p * f->size;
  double *const b = f->longer + q * f->size;
  const double aa = fl_product(f->size, a, a);
  const double bb = fl_product(f->size, b, b);
  const double ab = fl_product(f->size, a, b);
  if (fmin(aa, bb) < NOTHING * NOTHING || fabs(ab) <= tolerance * sqrt(aa) * sqrt(bb)) {
    return 0;
  }
  const double ratio = (bb - aa) / (2 * ab);
  const double tangent = copysign(1, ratio) / (fabs(ratio) + hypot(1, ratio));
  const double c = 1 / hypot(1, tangent);
  fl_rotate(f->size, a, b, c, c * tangent);
  if (vectors) {
    fl_rotate(f->count, f->shorter + p * f->count, f->shorter + q * f->count, c, c * tangent);
  }
  return 1;
}

/* Rotates vectors until all are orthogonal. Returns 0 if that does not converge. */
static int make_orthogonal(const singular *f, int vectors) {
  const double tolerance = FL_EPSILON * (4 + sqrt((double)f->size));
  int rotated = 1;
  for (int sweep = 0; rotated && sweep < MOST_SWEEPS; ++sweep) {
    rotated = 0;
    for (size_t p = 0; p < f->count; ++p) {
      for (size_t q = p + 1; q < f->count; ++q) {
        rotated |= rotate_pair(f, p, q, tolerance, vectors);
      }
    }
  }
  return !rotated;
}

static void sort_descending(const singular *f) {
  for (size_t i = 0; i < f->count; ++i) {
    f->values[i] = sqrt(fl_product(f->size, f->longer + i * f->size, f->longer + i * f->size));
  }
  for (size_t i = 0; i < f->count; ++i) {
    size_t most = i;
    for (size_t j = i + 1; j < f->count; ++j) {
      most = f->values[j] > f->values[most] ? j : most;
    }
    if (most != i) {
      fl_swap(1, f->values + i, f->values + most);
      fl_swap(f->size, f->longer + i * f->size, f->longer + most * f->size);
      fl_swap(f->count, f->shorter + i * f->count, f->shorter + most * f->count);
    }
  }
}

/* Divides a vector by its length, and subtracts its squares from the remaining lengths of the unit vectors. */
static void normalize(const singular *f, double *vector) {
  const double length = sqrt(fl_product(f->size, vector, vector));
  for (size_t k = 0; k < f->size; ++k) {
    vector[k] /= length;
    f->rest[k] -= vector[k] * vector[k];
  }
}

/* Makes a vector orthogonal to the `count` vectors before it, from the unit vector with the longest remaining part. */
static void complete(const singular *f, size_t count) {
  double *const vector = f->longer + count * f->size;
  size_t most = 0;
  for (size_t k = 0; k < f->size; ++k) {
    most = f->rest[k] > f->rest[most] ? k : most;
    vector[k] = 0;
  }
  vector[most] = 1;
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t j = 0; j < count; ++j) {
      const double *const other = f->longer + j * f->size;
      const double part = fl_product(f->size, vector, other);
      for (size_t k = 0; k < f->size; ++k) {
        vector[k] -= part * other[k];
      }
    }
  }
}

/* Scales the vectors to length 1. Vectors of singular values 0, and vectors beyond the singular values, complete the basis. */
static void make_basis(const singular *f) {
  for (size_t k = 0; k < f->size; ++k) {
    f->rest[k] = 1;
  }
  for (size_t i = 0; i < f->rows; ++i) {
    if (i >= f->count || f->values[i] < NOTHING) {
      complete(f, i);
    }
    normalize(f, f->longer + i * f->size);
  }
}

static fl_status decompose(fl_context *context, const singular *f, const fl_matrices *a, size_t at, int vectors, int *exponent) {
  const int wide = a->columns > a->rows;
  for (size_t i = 0; i < f->count; ++i) {
    for (size_t k = 0; k < f->size; ++k) {
      const size_t place = wide ? i * a->columns + k : k * a->columns + i;
      f->longer[i * f->size + k] = fl_read_real(a->tensor->dtype, a->tensor->data, at + place);
    }
    for (size_t k = 0; k < f->count; ++k) {
      f->shorter[i * f->count + k] = k == i;
    }
  }
  FL_TRY(fl_scale_matrix(context, f->longer, f->count * f->size, exponent));
  FL_CHECK(context, make_orthogonal(f, vectors), "the algorithm does not converge to the singular values of a matrix");
  sort_descending(f);
  if (vectors) {
    make_basis(f);
  }
  return FL_OK;
}

/* Writes `rows` vectors as the rows of a matrix, or as its columns if `as_columns`. */
static void write_vectors(fl_tensor *out, size_t matrix, const double *vectors, size_t rows, size_t size, int as_columns) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < size; ++k) {
      fl_write_real(out->dtype, out->data, matrix * rows * size + (as_columns ? k * rows + i : i * size + k), vectors[i * size + k]);
    }
  }
}

static fl_status resize_vectors(fl_context *context, fl_tensor *out, const fl_matrices *a, size_t rows, size_t columns, int64_t wanted) {
  if (wanted != 0) {
    return fl_resize_batch(context, out, a->tensor, a->tensor->dtype, (const size_t[]){rows, columns}, 2);
  }
  FL_CHECK(context, out != NULL, "the singular vectors must be tensors");
  return fl_resize(context, out, (const int32_t[]){0}, 1);
}

fl_status fl_linalg_svd_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_matrices a;
  fl_tensor *const left = fl_get_tensor(args[4]);
  fl_tensor *const values = fl_get_tensor(args[5]);
  fl_tensor *const right = fl_get_tensor(args[6]);
  FL_INT_ARGUMENT(full, 1);
  FL_INT_ARGUMENT(vectors, 2);
  (void)count;
  FL_TRY(fl_matrices_of(context, fl_get_tensor(args[0]), &a));
  const int wide = a.columns > a.rows;
  const size_t least = wide ? a.rows : a.columns;
  const size_t most = wide ? a.columns : a.rows;
  singular f = {.size = most, .count = least, .rows = full != 0 && vectors != 0 ? most : least};
  FL_TRY(fl_resize_batch(context, values, a.tensor, a.tensor->dtype, &least, 1));
  FL_TRY(resize_vectors(context, left, &a, a.rows, full != 0 ? a.rows : least, vectors));
  FL_TRY(resize_vectors(context, right, &a, full != 0 ? a.columns : least, a.columns, vectors));
  FL_TAKE(double, longer, f.rows * f.size);
  FL_TAKE(double, shorter, f.count * f.count);
  FL_TAKE(double, lengths, f.count);
  FL_TAKE(double, rest, f.size);
  f.longer = longer;
  f.shorter = shorter;
  f.values = lengths;
  f.rest = rest;
  for (size_t i = 0; i < a.count; ++i) {
    int exponent = 0;
    FL_TRY(decompose(context, &f, &a, i * a.rows * a.columns, vectors != 0, &exponent));
    for (size_t k = 0; k < least; ++k) {
      fl_write_real(values->dtype, values->data, i * least + k, ldexp(lengths[k], exponent));
    }
    if (vectors != 0) {
      write_vectors(left, i, wide ? shorter : longer, wide ? least : f.rows, wide ? least : most, 1);
      write_vectors(right, i, wide ? longer : shorter, wide ? f.rows : least, wide ? most : least, 0);
    }
  }
  return FL_OK;
}
