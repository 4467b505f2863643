/* aten::mm, aten::bmm, aten::addmm and aten::baddbmm. */
#include "matmul.h"

#include "divide.h"
#include "element.h"
#include "loops.h"

/* With fewer rows than this, packing B costs more than it saves. */
#define DIRECT_ROWS 4
/* B is packed in pieces of at most PACK_DEPTH rows and about PACK_FLOATS floats, which limits scratch memory and stays in cache. */
#define PACK_DEPTH 1024
#define PACK_FLOATS 65536
/* Columns that are whole vectors of any width. */
#define WHOLE_VECTORS 64

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static size_t pack_columns(size_t n, size_t depth) {
  const size_t panels = most(4, PACK_FLOATS / (depth * FL_PANEL));
  return least((n + FL_PANEL - 1) / FL_PANEL, panels) * FL_PANEL;
}

/* How c = a b is computed, where rows of c are contiguous. A stride that is 1 is so for all smaller sizes too. */
static int goes_by_rows(fl_matrix c, fl_matrix b) { return c.rows < DIRECT_ROWS && (b.column_stride == 1 || c.columns == 1); }
static int goes_by_columns(fl_matrix c, fl_matrix a, fl_matrix b) { return c.rows < DIRECT_ROWS && b.row_stride == 1 && a.column_stride == 1; }

static size_t scratch_by_rows(fl_matrix c, fl_matrix a, fl_matrix b) {
  if (c.rows == 0 || c.columns == 0 || b.rows == 0 || goes_by_rows(c, b) || goes_by_columns(c, a, b)) {
    return 0;
  }
  /* A piece of B, and where elements in a row of A are not contiguous, a copy of some. */
  const size_t depth = least(b.rows, PACK_DEPTH);
  const size_t piece = least((c.columns + FL_PANEL - 1) / FL_PANEL * FL_PANEL * depth, most(4 * FL_PANEL * depth, PACK_FLOATS));
  return piece + (a.column_stride == 1 ? 0 : least(c.rows, FL_GEMM_ROWS) * depth);
}

size_t fl_matmul_scratch(fl_matrix c, fl_matrix a, fl_matrix b) {
  const size_t turned = c.column_stride == 1 ? 0 : scratch_by_rows(fl_transposed(c), fl_transposed(b), fl_transposed(a));
  return most(turned, scratch_by_rows(c, a, b));
}

/* Computes one to three rows of c, row by row of B: c stays in the first-level cache, and B is read once. Not inlined, because its variables would
 * enlarge the stack frame of fl_matmul. */
static __attribute__((noinline)) void rows_direct(fl_matrix c, fl_matrix a, fl_matrix b) {
  for (size_t i = 0; i < c.rows; ++i) {
    memset(c.data + i * c.row_stride, 0, c.columns * sizeof(float));
  }
  for (size_t k = 0; k < b.rows; k += 4) {
    const size_t steps = least(4, b.rows - k);
    const float *b0 = b.data + k * b.row_stride;
    const float *b1 = steps > 1 ? b0 + b.row_stride : b0;
    const float *b2 = steps > 2 ? b0 + 2 * b.row_stride : b0;
    const float *b3 = steps > 3 ? b0 + 3 * b.row_stride : b0;
    for (size_t i = 0; i < c.rows; ++i) {
      const float *from = a.data + i * a.row_stride + k * a.column_stride;
      float *to = c.data + i * c.row_stride;
      if (steps < 4) {
        for (size_t s = 0; s < steps; ++s) {
          const float x = from[s * a.column_stride];
          const float *row = b0 + s * b.row_stride;
          for (size_t j = 0; j < c.columns; ++j) {
            to[j] += x * row[j];
          }
        }
        continue;
      }
      const float x0 = from[0], x1 = from[a.column_stride], x2 = from[2 * a.column_stride], x3 = from[3 * a.column_stride];
      size_t j = 0;
      for (; j + FL_LANES <= c.columns; j += FL_LANES) {
        fl_vec v = fl_fma(fl_set(x1), fl_load(b1 + j), fl_fma(fl_set(x0), fl_load(b0 + j), fl_load(to + j)));
        v = fl_fma(fl_set(x3), fl_load(b3 + j), fl_fma(fl_set(x2), fl_load(b2 + j), v));
        fl_store(to + j, v);
      }
      for (; j < c.columns; ++j) {
        to[j] += x0 * b0[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j];
      }
    }
  }
}

static float dot(const float *a, const float *b, size_t n) {
  fl_vec sum[4] = {fl_zero(), fl_zero(), fl_zero(), fl_zero()};
  size_t k = 0;
  for (; k + 4 * FL_LANES <= n; k += 4 * FL_LANES) {
    FL_UNROLL
    for (int u = 0; u < 4; ++u) {
      const size_t at = k + (size_t)(u * FL_LANES);
      sum[u] = fl_fma(fl_load(a + at), fl_load(b + at), sum[u]);
    }
  }
  for (; k < n; k += FL_LANES) {
    const size_t left = least(FL_LANES, n - k);
    sum[0] = fl_fma(fl_load_part(a + k, left), fl_load_part(b + k, left), sum[0]);
  }
  return fl_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Computes a few rows of c with a B whose columns are contiguous. */
static void columns_direct(fl_matrix c, fl_matrix a, fl_matrix b) {
  for (size_t j = 0; j < c.columns; ++j) {
    for (size_t i = 0; i < c.rows; ++i) {
      c.data[i * c.row_stride + j] = dot(a.data + i * a.row_stride, b.data + j * b.column_stride, b.rows);
    }
  }
}

static void add_bias(fl_matrix c, const float *bias) {
  for (size_t i = 0; i < c.rows && bias; ++i) {
    for (size_t j = 0; j < c.columns; ++j) {
      c.data[i * c.row_stride + j * c.column_stride] += bias[j];
    }
  }
}

/* The product c = a b, where rows of c are contiguous, with a part of b's columns in each piece. */
typedef struct product {
  fl_matrix c, a, b;
  const float *bias;
  size_t step;               /* columns of a piece */
  const fl_context *context; /* whose threads help in a piece, or NULL */
} product;

static void run_packed(const void *work, size_t piece, void *scratch) {
  const product *const p = work;
  const fl_matrix c = p->c, a = p->a, b = p->b;
  float *const packed = scratch, *const a_copy = packed + p->step * least(b.rows, PACK_DEPTH);
  const size_t column = piece * p->step, columns = least(p->step, c.columns - column);
  for (size_t k = 0; k < b.rows; k += PACK_DEPTH) {
    const size_t depth = least(PACK_DEPTH, b.rows - k);
    fl_pack_b(b.data + k * b.row_stride + column * b.column_stride, depth, columns, b.row_stride, b.column_stride, packed);
    const int last = k + depth == b.rows;
    const fl_gemm g = {columns, 1, depth, packed, last && p->bias ? p->bias + column : NULL, FL_ACTIVATION_NONE, k > 0, NULL};
    if (a.column_stride == 1 || depth == 1) {
      fl_gemm_dense(p->context, &g, a.data + k * a.column_stride, a.row_stride, c.rows, c.data + column, c.row_stride, NULL, 0);
      continue;
    }
    for (size_t i = 0; i < c.rows; i += FL_GEMM_ROWS) {
      const size_t rows = least(FL_GEMM_ROWS, c.rows - i);
      for (size_t x = 0; x < depth; ++x) {
        const float *from = a.data + i * a.row_stride + (k + x) * a.column_stride;
        for (size_t r = 0; r < rows; ++r) {
          a_copy[r * depth + x] = from[r * a.row_stride];
        }
      }
      fl_gemm_dense(p->context, &g, a_copy, depth, rows, c.data + i * c.row_stride + column, c.row_stride, NULL, 0);
    }
  }
}

static void multiply_packed(const fl_context *context, product *p) {
  const size_t operations = p->c.rows * p->c.columns * p->b.rows / FL_LANES;
  p->step = pack_columns(p->c.columns, least(p->b.rows, PACK_DEPTH));
  const size_t pieces = (p->c.columns + p->step - 1) / p->step;
  fl_divide_within(context, pieces, operations, run_packed, p, &p->context);
}

/* Returns a piece of a product whose columns may be cut where no vector is. */
static product direct_part(const product *p, size_t piece) {
  const size_t column = piece * p->step;
  product part = *p;
  part.c.data += column * p->c.column_stride;
  part.b.data += column * p->b.column_stride;
  part.c.columns = part.b.columns = least(p->step, p->c.columns - column);
  return part;
}

static void run_rows_direct(const void *work, size_t piece, void *scratch) {
  (void)scratch;
  const product p = direct_part(work, piece);
  rows_direct(p.c, p.a, p.b);
}

static void run_columns_direct(const void *work, size_t piece, void *scratch) {
  (void)scratch;
  const product p = direct_part(work, piece);
  columns_direct(p.c, p.a, p.b);
}

void fl_matmul(const fl_context *context, fl_matrix c, fl_matrix a, fl_matrix b, const float *bias) {
  if (c.rows == 0 || c.columns == 0) {
    return;
  }
  const fl_matrix out = c;
  /* If columns are contiguous, the transposed product has contiguous rows. */
  const int turned = c.column_stride != 1 && c.columns > 1;
  if (turned) {
    const fl_matrix left = fl_transposed(b);
    b = fl_transposed(a);
    a = left;
    c = fl_transposed(c);
  }
  const size_t operations = fl_costly_rows(c.rows) * c.columns * b.rows / FL_LANES, wanted = fl_pieces(context, operations);
  product p = {.c = c, .a = a, .b = b, .step = ((c.columns + wanted - 1) / wanted + WHOLE_VECTORS - 1) / WHOLE_VECTORS * WHOLE_VECTORS};
  const size_t direct = (c.columns + p.step - 1) / p.step;
  if (b.rows == 0) {
    for (size_t i = 0; i < c.rows; ++i) {
      memset(c.data + i * c.row_stride, 0, c.columns * sizeof(float));
    }
  } else if (goes_by_columns(c, a, b) && (c.columns < FL_LANES || b.column_stride != 1)) {
    fl_divide(context, direct, operations, run_columns_direct, &p);
  } else if (goes_by_rows(c, b)) {
    fl_divide(context, direct, operations, run_rows_direct, &p);
  } else {
    p.bias = turned ? NULL : bias;
    multiply_packed(context, &p);
    if (!turned) {
      return;
    }
  }
  add_bias(out, bias);
}

/* Computes a product. The dtype is a constant in each call, because a variable in the innermost loop would make loops for each pair of dtypes. */
static inline __attribute__((always_inline)) void product_of(int8_t dtype, const fl_any_matrix *c, const fl_any_matrix *a,
                                                             const fl_any_matrix *b) {
  for (size_t i = 0; i < c->rows; ++i) {
    for (size_t j = 0; j < c->columns; ++j) {
      double real = 0;
      uint64_t integer = 0;
      for (size_t k = 0; k < a->columns; ++k) {
        const size_t at = a->offset + i * a->row_stride + k * a->column_stride;
        const size_t bt = b->offset + k * b->row_stride + j * b->column_stride;
        if (fl_is_real(dtype)) {
          real += fl_read_real(dtype, a->data, at) * fl_read_real(dtype, b->data, bt);
        } else {
          integer += fl_read_integer(dtype, a->data, at) * fl_read_integer(dtype, b->data, bt);
        }
      }
      const size_t to = c->offset + i * c->row_stride + j * c->column_stride;
      if (fl_is_real(dtype)) {
        fl_write_real(dtype, c->data, to, real);
      } else {
        fl_write_integer(dtype, c->data, to, integer);
      }
    }
  }
}

void fl_matmul_any(fl_any_matrix c, fl_any_matrix a, fl_any_matrix b) {
  switch (c.dtype) {
#define FL_COMPLEX_TYPE(...)
#define FL_SCALAR_TYPE(constant, ...) case FL_##constant: if (fl_has(FL_##constant)) { product_of(FL_##constant, &c, &a, &b); } break;
#include "flambeau/scalar_types.def"
    default: break;
  }
}

static fl_any_matrix matrix_of(const fl_tensor *t, size_t batch) {
  const uint8_t row = (uint8_t)(t->rank - 2);
  return (fl_any_matrix){t->data,
                         t->rank == 3 ? batch * (size_t)t->strides[0] : 0,
                         (size_t)t->sizes[row],
                         (size_t)t->sizes[row + 1],
                         (size_t)t->strides[row],
                         (size_t)t->strides[row + 1],
                         t->dtype};
}

static fl_matrix float_matrix(fl_any_matrix m) {
  /* An empty operand may have NULL data, to which no offset may be added. */
  return (fl_matrix){m.data == NULL ? NULL : (float *)m.data + m.offset, m.rows, m.columns, m.row_stride, m.column_stride};
}

/* Products of half precision are computed in float, in tiles of HALF_TILE rows and columns that are converted at once. */
#define HALF_TILE 64

static int is_half(int8_t dtype) { return fl_is(dtype, FL_FLOAT16) || fl_is(dtype, FL_BFLOAT16); }
static int is_dense(const fl_any_matrix *m) { return m->row_stride == 1 || m->column_stride == 1; }

/* Returns a part of a matrix, converted to floats in `to`, in the order of its elements in memory. */
static fl_matrix part_in_float(const fl_any_matrix *m, size_t row, size_t rows, size_t column, size_t columns, float *to) {
  const int by_rows = m->column_stride == 1;
  const size_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows, apart = by_rows ? m->row_stride : m->column_stride;
  const fl_convert_fn widen = fl_widen(m->dtype, FL_COMPUTE_F32);
  const uint16_t *const from = (const uint16_t *)m->data + m->offset + row * m->row_stride + column * m->column_stride;
  for (size_t i = 0; i < lines; ++i) {
    widen(length, to + i * length, from + i * apart);
  }
  return by_rows ? (fl_matrix){to, rows, columns, length, 1} : (fl_matrix){to, rows, columns, 1, length};
}

static __attribute__((noinline)) void multiply_half(const fl_any_matrix *c, const fl_any_matrix *a, const fl_any_matrix *b, float *scratch) {
  const size_t k = a->columns;
  const size_t most_rows = least(HALF_TILE, c->rows), most_columns = least(HALF_TILE, c->columns);
  float *const left = scratch, *const right = left + most_rows * k, *const product = right + most_columns * k;
  const fl_convert_fn narrow = fl_narrow(FL_COMPUTE_F32, c->dtype);
  for (size_t i = 0; i < c->rows; i += HALF_TILE) {
    const size_t rows = least(HALF_TILE, c->rows - i);
    const fl_matrix x = part_in_float(a, i, rows, 0, k, left);
    for (size_t j = 0; j < c->columns; j += HALF_TILE) {
      const size_t columns = least(HALF_TILE, c->columns - j);
      const fl_matrix y = part_in_float(b, 0, k, j, columns, right);
      const fl_context rest = {.scratch = product + most_rows * most_columns};
      fl_matmul(&rest, (fl_matrix){product, rows, columns, columns, 1}, x, y, NULL);
      for (size_t r = 0; r < rows; ++r) {
        narrow(columns, (uint16_t *)c->data + c->offset + (i + r) * c->row_stride + j, product + r * columns);
      }
    }
  }
}

/* A batch of products. */
typedef struct batch {
  const fl_tensor *a, *b, *out;
  const fl_context *context; /* whose threads help in a product, or NULL */
} batch;

/* Computes product `i` of a batch. */
static void run_matrix(const void *work, size_t i, void *scratch) {
  const batch *const w = work;
  const fl_any_matrix c = matrix_of(w->out, i), x = matrix_of(w->a, i), y = matrix_of(w->b, i);
  const int strided = c.row_stride != 1 && c.column_stride != 1 && c.rows > 1 && c.columns > 1;
  if (fl_is(c.dtype, FL_FLOAT32) && !strided) {
    fl_context alone = {.scratch = scratch};
    fl_matmul(w->context ? w->context : &alone, float_matrix(c), float_matrix(x), float_matrix(y), NULL);
  } else if (is_half(c.dtype) && (c.column_stride == 1 || c.columns == 1) && is_dense(&x) && is_dense(&y) && x.columns > 0) {
    multiply_half(&c, &x, &y, scratch);
  } else {
    fl_matmul_any(c, x, y);
  }
}

/* Computes out = a b for matrices (rank 2) or batches of matrices (rank 3), and checks their shapes. */
static fl_status multiply(fl_context *context, fl_tensor *out, const fl_tensor *a, const fl_tensor *b, uint8_t rank) {
  FL_CHECK(context, a->rank == rank && b->rank == rank, rank == 2 ? "both operands must be matrices" : "both operands must have 3 dimensions");
  FL_CHECK(context, a->dtype == b->dtype && a->dtype == out->dtype, "the operands and the result must have one dtype");
  FL_CHECK(context, a->sizes[rank - 1] == b->sizes[rank - 2], "the columns of the first operand must be as many as the rows of the second");
  FL_CHECK(context, rank == 2 || a->sizes[0] == b->sizes[0], "both operands must have the same batch size");
  int32_t sizes[3] = {a->sizes[0], a->sizes[rank - 2], b->sizes[rank - 1]};
  FL_TRY(fl_resize(context, out, rank == 2 ? sizes + 1 : sizes, rank));
  batch work = {a, b, out, NULL};
  const size_t count = rank == 3 ? (size_t)a->sizes[0] : 1, operations = count * fl_numel(out) * (size_t)a->sizes[rank - 1];
  fl_divide_within(context, count, operations, run_matrix, &work, &work.context);
  return FL_OK;
}

/* Returns the scratch memory of `multiply`. The result may have other sizes still, so only its layout counts. */
static size_t product_scratch(const fl_value *a_value, const fl_value *b_value, const fl_value *out) {
  const fl_tensor *a = fl_get_tensor(a_value), *b = fl_get_tensor(b_value), *c = fl_get_tensor(out);
  if (!a || !b || !c || a->rank < 2 || b->rank < 2 || c->rank < 2 || (a->dtype != FL_FLOAT32 && !is_half(a->dtype))) {
    return 0;
  }
  const fl_matrix x = float_matrix(matrix_of(a, 0)), y = float_matrix(matrix_of(b, 0));
  const int is_last = c->dim_order[c->rank - 1] == c->rank - 1;
  if (!is_half(a->dtype)) {
    return sizeof(float) * fl_matmul_scratch((fl_matrix){NULL, x.rows, y.columns, 1, is_last ? 1 : x.rows + 1}, x, y);
  }
  const size_t k = x.columns, rows = least(HALF_TILE, x.rows), columns = least(HALF_TILE, y.columns);
  const fl_matrix left = {NULL, rows, k, 1, x.column_stride == 1 ? 1 : rows + 1};
  const fl_matrix right = {NULL, k, columns, y.column_stride == 1 ? columns + 1 : 1, y.column_stride == 1 ? 1 : k + 1};
  return sizeof(float) * (rows * k + columns * k + rows * columns + fl_matmul_scratch((fl_matrix){NULL, rows, columns, columns, 1}, left, right));
}

size_t fl_mm_scratch(fl_value *const *args, size_t count) {
  (void)count;
  return product_scratch(args[0], args[1], args[2]);
}

size_t fl_addmm_scratch(fl_value *const *args, size_t count) {
  (void)count;
  return product_scratch(args[1], args[2], args[5]);
}

fl_status fl_mm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(a, 0);
  FL_TENSOR_ARGUMENT(b, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  return multiply(context, out, a, b, 2);
}

fl_status fl_bmm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(a, 0);
  FL_TENSOR_ARGUMENT(b, 1);
  FL_TENSOR_ARGUMENT(out, 2);
  return multiply(context, out, a, b, 3);
}

/* Computes out = alpha out + beta self, with self broadcast. */
static void scale_and_add(fl_tensor *out, const fl_tensor *self, const fl_value *beta, const fl_value *alpha) {
  double real_beta = 1, real_alpha = 1;
  int64_t beta_integer = 1, alpha_integer = 1;
  (void)fl_get_real(beta, &real_beta);
  (void)fl_get_real(alpha, &real_alpha);
  (void)fl_get_int(beta, &beta_integer);
  (void)fl_get_int(alpha, &alpha_integer);
  const uint8_t offset = (uint8_t)(out->rank - self->rank);
  const size_t count = fl_numel(out);
  size_t index[3] = {0};
  for (size_t i = 0; i < count; ++i) {
    size_t to = 0, from = 0;
    for (uint8_t d = 0; d < out->rank; ++d) {
      to += index[d] * (size_t)out->strides[d];
      if (d >= offset && self->sizes[d - offset] != 1) {
        from += index[d] * (size_t)self->strides[d - offset];
      }
    }
    if (fl_is_real(out->dtype)) {
      double x = real_alpha * fl_read_real(out->dtype, out->data, to);
      x += real_beta != 0 ? real_beta * fl_read_real(self->dtype, self->data, from) : 0.0;
      fl_write_real(out->dtype, out->data, to, x);
    } else {
      uint64_t x = (uint64_t)alpha_integer * fl_read_integer(out->dtype, out->data, to);
      x += (uint64_t)beta_integer * fl_read_integer(self->dtype, self->data, from);
      fl_write_integer(out->dtype, out->data, to, x);
    }
    for (uint8_t d = out->rank; d-- > 0;) {
      if (++index[d] < (size_t)out->sizes[d]) {
        break;
      }
      index[d] = 0;
    }
  }
}

static fl_status add_product(fl_context *context, fl_value *const *args, uint8_t rank) {
  FL_TENSOR_ARGUMENT(self, 0);
  FL_TENSOR_ARGUMENT(a, 1);
  FL_TENSOR_ARGUMENT(b, 2);
  FL_REAL_ARGUMENT(beta, 3);
  FL_REAL_ARGUMENT(alpha, 4);
  FL_TENSOR_ARGUMENT(out, 5);
  FL_CHECK(context, a->rank == rank && b->rank == rank && self->rank <= rank, "an operand has the wrong number of dimensions");
  FL_CHECK(context, self->dtype == out->dtype, "the operands and the result must have one dtype");
  FL_CHECK(context, fl_is_float(out->dtype) || (args[3]->tag != FL_DOUBLE && args[4]->tag != FL_DOUBLE),
           "beta and alpha must be integers for an integer result");
  const int32_t sizes[3] = {a->sizes[0], a->sizes[rank - 2], b->sizes[rank - 1]};
  for (uint8_t d = 0; d < self->rank; ++d) {
    const int32_t size = self->sizes[self->rank - 1 - d];
    FL_CHECK(context, size == 1 || size == sizes[2 - d], "the first argument does not broadcast to the product's shape");
  }
  /* The most common case: a linear layer, with a bias for each column. */
  const int is_bias = rank == 2 && fl_is(out->dtype, FL_FLOAT32) && self->rank >= 1 && beta == 1 && alpha == 1 &&
                      fl_numel(self) == (size_t)sizes[2] && self->sizes[self->rank - 1] == sizes[2];
  if (is_bias && fl_is(a->dtype, FL_FLOAT32) && fl_is(b->dtype, FL_FLOAT32) && a->sizes[1] == b->sizes[0]) {
    FL_TRY(fl_resize(context, out, sizes + 1, 2));
    fl_matmul(context, float_matrix(matrix_of(out, 0)), float_matrix(matrix_of(a, 0)), float_matrix(matrix_of(b, 0)), self->data);
    return FL_OK;
  }
  FL_TRY(multiply(context, out, a, b, rank));
  scale_and_add(out, self, args[3], args[4]);
  return FL_OK;
}

fl_status fl_addmm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return add_product(context, args, 2);
}

fl_status fl_baddbmm_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  return add_product(context, args, 3);
}
