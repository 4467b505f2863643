/* Runs elementwise functions over tensors, which are broadcast and converted in blocks. */
#include "loops.h"

#include "divide.h"
#include "simd.h"

size_t fl_views_scratch(fl_value *const *args, size_t count) {
  (void)args;
  (void)count;
  return FL_TAKEN(fl_view, 4) + FL_TAKEN(fl_nest, 1);
}

/* Returns the bytes of the blocks, and of the two nests of fl_reduce_run; other kernels need less. */
size_t fl_blocks_scratch(fl_value *const *args, size_t count) {
  (void)args;
  (void)count;
  return FL_BLOCKS_BYTES + 2 * FL_TAKEN(fl_nest, 1);
}

/* Returns n, which is not 0, as a multiple of 64. */
static size_t in_whole_blocks(size_t n) { return (n + 63) / 64 * 64; }

/* Returns whether a tensor, which may be a view, has its elements side by side in some order. */
static int is_dense(const fl_tensor *t) {
  size_t last = 0;
  for (uint8_t d = 0; d < t->rank; ++d) {
    last += (size_t)(t->sizes[d] - 1) * (size_t)t->strides[d];
  }
  return last + 1 == fl_numel(t);
}

/* Returns whether both tensors have their elements at the same places. */
static int is_alike(const fl_tensor *a, const fl_tensor *b) {
  int alike = fl_same_sizes(a, b);
  for (uint8_t d = 0; alike && d < a->rank; ++d) {
    alike = a->sizes[d] == 1 || a->strides[d] == b->strides[d];
  }
  return alike;
}

/* Returns what fl_map_run takes for the first `number` arguments as operands. Of dynamic tensors it knows no more than the bounds. */
static size_t scratch_of_map(fl_value *const *args, size_t number, const fl_value *result) {
  const fl_tensor *out = fl_get_tensor(result);
  size_t operands = 1, scalars = 0;
  if (out == NULL) {
    return 0;
  }
  size_t elements = fl_numel(out);
  int is_flat = !out->dynamic && is_dense(out), is_float = fl_is(out->dtype, FL_FLOAT32);
  for (size_t i = 0; i < number; ++i) {
    const fl_tensor *t = fl_get_tensor(args[i]);
    operands += !fl_is_none(args[i]);
    scalars += !t && !fl_is_none(args[i]);
    if (t) {
      elements = fl_numel(t) > elements ? fl_numel(t) : elements;
      is_flat = is_flat && !t->dynamic && is_alike(t, out);
      is_float = is_float && fl_is(t->dtype, FL_FLOAT32);
    }
  }
  const size_t in_block = elements < FL_BLOCK ? in_whole_blocks(elements) : FL_BLOCK;
  const size_t blocks = 8 * in_block * (is_flat && is_float ? scalars : 2 * operands);
  return (is_flat ? 0 : FL_TAKEN(fl_nest, 1)) + (blocks < FL_BLOCKS_BYTES ? blocks : FL_BLOCKS_BYTES);
}

size_t fl_unary_scratch(fl_value *const *args, size_t count) { return scratch_of_map(args, 1, args[count - 2]); }
size_t fl_binary_scratch(fl_value *const *args, size_t count) { return scratch_of_map(args, 2, args[count - 2]); }
size_t fl_ternary_scratch(fl_value *const *args, size_t count) { return scratch_of_map(args, 3, args[count - 2]); }

fl_buffer fl_buffer_for_reading(int8_t from, fl_compute to) {
  return (fl_buffer){.convert = fl_widen(from, to), .element = fl_element_size(from), .width = fl_compute_size(to)};
}

fl_buffer fl_buffer_for_writing(fl_compute from, int8_t to) {
  return (fl_buffer){.convert = fl_narrow(from, to), .element = fl_element_size(to), .width = fl_compute_size(from)};
}

fl_status fl_buffer_take(fl_context *context, fl_buffer *buffer, size_t n, int with_raw) {
  FL_TAKE(unsigned char, raw, with_raw ? n * buffer->element : 0);
  FL_TAKE(unsigned char, computed, n * buffer->width);
  buffer->raw = raw;
  buffer->computed = computed;
  return FL_OK;
}

/* Returns a multiple of 64 elements, so that pieces of scratch memory have no gaps. */
size_t fl_block_length(size_t bytes) {
  const size_t n = FL_BLOCKS_BYTES / (bytes > 0 ? bytes : 1) / 64 * 64;
  return n < FL_BLOCK ? n : FL_BLOCK;
}

const void *fl_buffer_read(fl_buffer *buffer, size_t n, const char *from, int64_t stride) {
  if (n > 1 && stride != (int64_t)buffer->element) {
    fl_copy_strided(n, buffer->element, (char *)buffer->raw, (int64_t)buffer->element, from, stride);
    from = (const char *)buffer->raw;
  }
  if (buffer->convert == NULL) {
    return from;
  }
  buffer->convert(n, buffer->computed, from);
  return buffer->computed;
}

void fl_buffer_write(fl_buffer *buffer, size_t n, const void *computed, char *to, int64_t stride) {
  const int side_by_side = n <= 1 || stride == (int64_t)buffer->element;
  if (buffer->convert != NULL) {
    buffer->convert(n, side_by_side ? to : (char *)buffer->raw, computed);
    if (side_by_side) {
      return;
    }
    computed = buffer->raw;
  }
  fl_copy_strided(n, buffer->element, to, side_by_side ? (int64_t)buffer->element : stride, computed, (int64_t)buffer->element);
}

void fl_lines_of(fl_lines *lines, const fl_tensor *const *operands, uint8_t count, uint8_t dim) {
  memset(lines, 0, sizeof *lines);
  lines->nest.operands = count;
  lines->length = 1;
  for (uint8_t d = 0; d < operands[0]->rank; ++d) {
    int64_t strides[FL_MAX_OPERANDS];
    for (uint8_t k = 0; k < count; ++k) {
      strides[k] = (int64_t)operands[k]->strides[d] * (int64_t)fl_dtype_size(operands[k]->dtype);
      if (d == dim) {
        lines->strides[k] = strides[k];
      }
    }
    if (d == dim) {
      lines->length = (size_t)operands[0]->sizes[d];
    } else {
      fl_nest_push(&lines->nest, (size_t)operands[0]->sizes[d], strides);
    }
  }
  fl_nest_simplify(&lines->nest, 0);
}

/* The buffer and strides through which the span reads an operand, or writes the output. */
typedef struct channel {
  fl_buffer buffer;
  int64_t stride;    /* bytes along the innermost dimension */
  const char *splat; /* the element with which the buffer is filled; NULL: none */
} channel;

/* Returns n elements from `from` on, of a row of `whole` elements that is read in blocks of `block`, in the computing type. */
static const void *read_span(channel *c, size_t n, size_t whole, size_t block, const char *from) {
  if (c->stride != 0 || whole == 1) {
    return fl_buffer_read(&c->buffer, n, from, c->stride);
  }
  if (c->splat != from) {
    unsigned char element[FL_COMPUTE_BYTES];
    if (c->buffer.convert != NULL) {
      c->buffer.convert(1, element, from);
    } else {
      memcpy(element, from, c->buffer.width);
    }
    fl_splat(block, c->buffer.width, c->buffer.computed, element);
    c->splat = from;
  }
  return c->buffer.computed;
}

static fl_status build_nest(fl_context *context, fl_nest *nest, const fl_tensor *out, const fl_tensor *const *in, size_t count) {
  nest->rank = 0;
  nest->operands = (uint8_t)(count + 1);
  for (size_t k = 0; k < count; ++k) {
    FL_CHECK(context, in[k]->rank <= out->rank, "an input has more dimensions than the output");
  }
  for (uint8_t d = 0; d < out->rank; ++d) {
    int64_t strides[FL_MAX_OPERANDS];
    strides[0] = (int64_t)out->strides[d] * (int64_t)fl_dtype_size(out->dtype);
    for (size_t k = 0; k < count; ++k) {
      int i = (int)d - (int)(out->rank - in[k]->rank);
      int32_t size = i >= 0 ? in[k]->sizes[i] : 1;
      FL_CHECK_NUMBERS(context, size == 1 || size == out->sizes[d], "an input's shape does not broadcast to the output's: size % and size %", size, out->sizes[d]);
      strides[k + 1] = size == 1 ? 0 : (int64_t)in[k]->strides[i] * (int64_t)fl_dtype_size(in[k]->dtype);
    }
    fl_nest_push(nest, (size_t)out->sizes[d], strides);
  }
  fl_nest_simplify(nest, 0);
  return FL_OK;
}

static void run_row(const fl_map *map, channel *channels, size_t count, size_t n, size_t step, char *const *at, fl_convert_fn wrap,
                    fl_convert_fn unwrap) {
  fl_buffer *result = &channels[0].buffer;
  const int direct_out = fl_is_direct(result, n, channels[0].stride) && wrap == NULL;
  for (size_t i = 0; i < n; i += step) {
    const size_t m = n - i < step ? n - i : step;
    const void *in[FL_MAX_OPERANDS - 1];
    for (size_t k = 1; k <= count; ++k) {
      in[k - 1] = read_span(&channels[k], m, n, step, at[k] + (int64_t)i * channels[k].stride);
    }
    char *to = at[0] + (int64_t)i * channels[0].stride;
    map->span(m, direct_out ? to : (char *)result->computed, in, map->parameters);
    if (wrap != NULL) {
      wrap(m, result->raw, result->computed);
      unwrap(m, result->computed, result->raw);
    }
    if (!direct_out) {
      fl_buffer_write(result, m, result->computed, to, channels[0].stride);
    }
  }
}

/* Writes n copies of each of `rows` elements, which are `stride` bytes apart. May write up to FL_LANES - 1 floats too many. */
static void repeat_each(size_t rows, size_t n, size_t width, unsigned char *to, const char *from, int64_t stride) {
  if (width == sizeof(float)) {
    for (size_t row = 0; row < rows; ++row, from += stride) {
      float x, *const at = (float *)(void *)to + row * n;
      memcpy(&x, from, sizeof x);
      for (size_t i = 0; i < n; i += FL_LANES) {
        fl_store(at + i, fl_set(x));
      }
    }
    return;
  }
  for (size_t row = 0; row < rows; ++row, from += stride) {
    fl_splat(n, width, to + row * n * width, from);
  }
}

/* The form of an operand in the two innermost dimensions: all elements, a column whose elements are repeated, or a row that is repeated. */
typedef enum shape { WHOLE, COLUMN, ROW } shape;

/* Returns the form of an operand whose rows have n elements; -1 for any other form. */
static int shape_of(const channel *c, size_t n, int64_t apart) {
  const int64_t element = (int64_t)c->buffer.element;
  if (c->buffer.convert != NULL) {
    return -1;
  }
  if (c->stride == element) {
    return apart == (int64_t)n * element ? WHOLE : apart == 0 ? ROW : -1;
  }
  return c->stride == 0 ? COLUMN : -1;
}

/* A function of elements, prepared: how each operand is read, and the loops over all of them. */
typedef struct mapping {
  const fl_map *map;
  const fl_nest *nest;             /* NULL: the elements of all operands lie side by side */
  channel channels[FL_MAX_OPERANDS];
  char *at[FL_MAX_OPERANDS];
  size_t count;                    /* inputs */
  size_t n;                        /* elements of a row */
  size_t bytes;                    /* of an element in all blocks */
  uint8_t in_blocks[FL_MAX_OPERANDS], with_raw[FL_MAX_OPERANDS];
  fl_convert_fn wrap, unwrap;
  size_t items, item, pieces;      /* what is divided: `items` times `item` positions of the outermost loop */
  size_t scratch_size;
} mapping;

/* Runs rows [begin, end) of the outermost loop, several short rows at once, and returns nonzero; returns 0, and computes nothing, if elements need a
 * conversion or rows do not fit. */
static __attribute__((noinline)) int run_short_rows(fl_context *context, const mapping *m, size_t begin, size_t end, channel *channels, char **at) {
  const fl_nest *const nest = m->nest;
  uint32_t index[FL_MAX_DIMS] = {(uint32_t)begin};
  shape shapes[FL_MAX_OPERANDS];
  size_t bytes = 0;
  if (nest->rank < 2) {
    return 0;
  }
  const size_t n = nest->sizes[nest->rank - 1], rows = nest->rank == 2 ? end - begin : nest->sizes[nest->rank - 2];
  for (size_t k = 0; k <= m->count; ++k) {
    const int found = shape_of(&channels[k], n, nest->strides[k][nest->rank - 2]);
    if (found < 0 || (k == 0 && found != WHOLE)) {
      return 0;
    }
    shapes[k] = (shape)found;
    bytes += found == WHOLE ? 0 : channels[k].buffer.width;
  }
  /* Blocks have room for one more vector at their end. */
  const size_t most = in_whole_blocks(rows * n + FL_LANES), block = bytes > 0 ? fl_block_length(bytes) : 0;
  const size_t room = block < most ? block : most, step = room > FL_LANES ? (room - FL_LANES) / n : 0;
  if (step < 2) {
    return 0;
  }
  for (size_t k = 1; k <= m->count; ++k) {
    if (shapes[k] != WHOLE && fl_buffer_take(context, &channels[k].buffer, room, 0) != FL_OK) {
      return 0;
    }
  }
  do {
    for (size_t row = 0; row < rows; row += step) {
      const size_t some = rows - row < step ? rows - row : step;
      const void *in[FL_MAX_OPERANDS - 1];
      for (size_t k = 1; k <= m->count; ++k) {
        fl_buffer *const buffer = &channels[k].buffer;
        const int64_t apart = nest->strides[k][nest->rank - 2];
        const char *const from = at[k] + (int64_t)row * apart;
        in[k - 1] = shapes[k] == WHOLE ? (const void *)from : buffer->computed;
        if (shapes[k] == COLUMN) {
          repeat_each(some, n, buffer->width, buffer->computed, from, apart);
        } else if (shapes[k] == ROW && channels[k].splat != from) {
          for (size_t r = 0; r < step; ++r) {
            memcpy(buffer->computed + r * n * buffer->width, from, n * buffer->width);
          }
          channels[k].splat = from;
        }
      }
      m->map->span(some * n, at[0] + (int64_t)row * nest->strides[0][nest->rank - 2], in, m->map->parameters);
    }
  } while (nest->rank > 2 && fl_nest_next(nest, 2, index, at) && index[0] < end);
  return 1;
}

/* Computes a range of the outermost loop. */
static void run_mapping(const void *work, size_t piece, void *scratch) {
  const mapping *const m = work;
  const fl_nest *const nest = m->nest;
  const size_t outer = nest != NULL && nest->rank > 1 ? nest->sizes[0] : m->n;
  const fl_range items = fl_range_of(m->items, m->pieces, piece);
  const size_t begin = items.begin * m->item, end = items.end * m->item < outer ? items.end * m->item : outer;
  const size_t n = nest != NULL && nest->rank > 1 ? m->n : end - begin;
  fl_context context = {.scratch = scratch, .scratch_size = m->scratch_size};
  uint32_t index[FL_MAX_DIMS] = {(uint32_t)begin};
  channel channels[FL_MAX_OPERANDS];
  char *at[FL_MAX_OPERANDS];
  for (size_t k = 0; k <= m->count; ++k) {
    channels[k] = m->channels[k];
    at[k] = m->at[k] + (int64_t)begin * (nest != NULL && nest->rank > 1 ? nest->strides[k][0] : channels[k].stride);
  }
  if (m->wrap == NULL && nest != NULL && n < FL_BLOCK / 2 && run_short_rows(&context, m, begin, end, channels, at)) {
    return;
  }
  const size_t most = in_whole_blocks(m->n), block = m->bytes > 0 ? fl_block_length(m->bytes) : m->n, step = block < most ? block : most;
  for (size_t k = 0; k <= m->count; ++k) {
    if (m->in_blocks[k] && fl_buffer_take(&context, &channels[k].buffer, step, m->with_raw[k]) != FL_OK) {
      return; /* fl_map_run has made sure that there is enough */
    }
  }
  do {
    run_row(m->map, channels, m->count, n, step, at, m->wrap, m->unwrap);
  } while (nest != NULL && fl_nest_next(nest, 1, index, at) && index[0] < end);
}

/* Returns whether out's elements lie side by side, and each operand has its elements at the same places, or is one number. */
static int is_flat(const fl_tensor *out, const fl_tensor *const *in, size_t count) {
  int flat = is_dense(out);
  for (size_t k = 0; k < count; ++k) {
    flat = flat && (in[k]->rank == 0 || is_alike(in[k], out));
  }
  return flat;
}

fl_status fl_map_run(fl_context *context, fl_tensor *out, const fl_tensor *const *in, size_t count, const fl_map *map) {
  const fl_mark mark = fl_mark_scratch(context);
  mapping m = {.map = map, .count = count, .n = fl_numel(out), .item = 1};
  const size_t elements = m.n;
  if (!is_flat(out, in, count)) {
    FL_TAKE(fl_nest, loops, 1);
    FL_TRY(build_nest(context, loops, out, in, count));
    m.nest = loops;
  }
  if (elements == 0) {
    fl_release(context, mark);
    return FL_OK;
  }
  if (m.nest != NULL) {
    m.n = m.nest->rank > 0 ? m.nest->sizes[m.nest->rank - 1] : 1;
  }
  /* Integers that are computed in a type narrower than out wrap to that type first. */
  const int wraps = map->result == FL_COMPUTE_I64 && map->common >= 0 && map->common != out->dtype && map->common != FL_INT64;
  m.wrap = wraps ? fl_narrow(FL_COMPUTE_I64, map->common) : NULL;
  m.unwrap = wraps ? fl_widen(map->common, FL_COMPUTE_I64) : NULL;
  for (size_t k = 0; k <= count; ++k) {
    const fl_tensor *tensor = k == 0 ? out : in[k - 1];
    const fl_compute type = k == 0 ? map->result : map->in[k - 1];
    channel *c = &m.channels[k];
    c->buffer = k == 0 ? fl_buffer_for_writing(type, tensor->dtype) : fl_buffer_for_reading(tensor->dtype, type);
    c->stride = m.nest == NULL ? (tensor->rank > 0 ? (int64_t)c->buffer.element : 0) : m.nest->rank > 0 ? m.nest->strides[k][m.nest->rank - 1] : 0;
    m.at[k] = tensor->data;
    m.in_blocks[k] = !fl_is_direct(&c->buffer, m.n, c->stride) || (k == 0 && wraps);
    m.with_raw[k] = c->stride == 0 && k > 0 ? 0 : c->stride != (int64_t)c->buffer.element || (k == 0 && wraps);
    m.bytes += m.in_blocks[k] ? (m.with_raw[k] ? c->buffer.element : 0) + c->buffer.width : 0;
  }
  const size_t most = in_whole_blocks(m.n), block = m.bytes > 0 ? fl_block_length(m.bytes) : 0;
  FL_CHECK(context, context->scratch_size >= (block < most ? block : most) * m.bytes, "the kernel was given too little scratch memory");
  if (m.nest != NULL && m.nest->rank > 1) {
    m.items = m.nest->sizes[0];
  } else {
    m.item = FL_BLOCK; /* so that vectors lie as in one piece */
    m.items = (m.n + FL_BLOCK - 1) / FL_BLOCK;
  }
  const size_t wanted = fl_pieces(context, elements);
  m.pieces = m.items < wanted ? m.items : wanted;
  m.scratch_size = context->scratch_size;
  fl_divide(context, m.pieces, elements, run_mapping, &m);
  fl_release(context, mark);
  return FL_OK;
}

#define COPY_SPAN(name, T)                                                                                          \
  static void name(size_t n, void *out, const void *const *in, const fl_parameter *parameters) {                    \
    (void)parameters;                                                                                               \
    if (out != in[0]) {                                                                                             \
      memmove(out, in[0], n * sizeof(T));                                                                            \
    }                                                                                                               \
  }
COPY_SPAN(copy_f32, float)
COPY_SPAN(copy_wide, int64_t)
COPY_SPAN(copy_bool, uint8_t)

fl_status fl_map_copy(fl_context *context, fl_tensor *out, const fl_tensor *in) {
  if (in->dtype == out->dtype) {
    fl_view from;
    const fl_view to = fl_view_of(out);
    FL_TRY(fl_view_broadcast(context, &from, in, out->rank, out->sizes));
    fl_view_copy(context, &to, &from);
    return FL_OK;
  }
  /* The type that holds the input exactly, or the output's type if an integer becomes a real number, so that it is rounded once. */
  fl_compute type = in->dtype == FL_BOOL ? FL_COMPUTE_BOOL : fl_compute_of(fl_is_float(in->dtype) ? in->dtype : out->dtype);
  if (type == FL_COMPUTE_I64 && out->dtype == FL_BOOL) {
    type = FL_COMPUTE_BOOL;
  }
  fl_map map = {.span = type == FL_COMPUTE_F32 ? copy_f32 : type == FL_COMPUTE_BOOL ? copy_bool : copy_wide,
                .in = {type}, .result = type, .common = -1};
  return fl_map_run(context, out, &in, 1, &map);
}

int fl_scalar_element(const fl_value *scalar, int8_t dtype, void *element) {
  fl_scalar_tensor storage;
  if (scalar->tag == FL_TENSOR || fl_operand(scalar, &storage) == NULL || fl_dtype_size(dtype) == 0) {
    return 0;
  }
  fl_compute type = scalar->tag == FL_DOUBLE ? FL_COMPUTE_F64 : scalar->tag == FL_INT ? FL_COMPUTE_I64 : FL_COMPUTE_BOOL;
  fl_convert_fn convert = fl_narrow(type, dtype);
  if (convert != NULL) {
    convert(1, element, &storage.value);
  } else {
    memcpy(element, &storage.value, fl_dtype_size(dtype));
  }
  return 1;
}

fl_status fl_fill_scalar(fl_context *context, fl_tensor *out, const fl_value *scalar) {
  _Alignas(8) unsigned char element[8];
  FL_CHECK(context, fl_scalar_element(scalar, out->dtype, element), "the value must be a number");
  fl_view view = fl_view_of(out);
  fl_view_fill(&view, element);
  return FL_OK;
}
