/* Implements the functions of kernel.h for tensors and arguments. */
#include "flambeau/kernel.h"

#include "core/internal.h"

/* Emitted programs have this file of the core only. */
#define FL_RESULT_MESSAGE(number, name, status, text) const char fl_text_##name[] = FL_SENTENCE(number, text);
#include "flambeau/messages.def"

static int fl_is_empty(const fl_tensor *t) {
  for (uint8_t i = 0; i < t->rank; ++i) {
    if (t->sizes[i] == 0) {
      return 1;
    }
  }
  return 0;
}

void fl_set_strides(fl_tensor *t) {
  int32_t stride = 1;
  for (uint8_t i = t->rank; i-- > 0;) {
    const uint8_t d = t->dim_order[i];
    t->strides[d] = stride;
    /* Strides of an empty tensor address no element; a size of 0 counts as 1, so that the strides stay distinct. */
    stride = (int32_t)((uint32_t)stride * (uint32_t)(t->sizes[d] > 0 ? t->sizes[d] : 1));
  }
}

int fl_is_contiguous(const fl_tensor *t) {
  int previous = -1;
  if (t == NULL) {
    return 0;
  }
  for (uint8_t i = 0; i < t->rank; ++i) {
    const uint8_t d = t->dim_order[i];
    if (t->sizes[d] == 1) {
      continue;
    }
    if ((int)d < previous) {
      return fl_is_empty(t);
    }
    previous = d;
  }
  return 1;
}

int fl_same_order(const fl_tensor *a, const fl_tensor *b) {
  uint8_t i = 0;
  uint8_t j = 0;
  if (a == NULL || b == NULL || a->rank != b->rank) {
    return 0;
  }
  for (;;) {
    while (i < a->rank && (a->sizes[a->dim_order[i]] == 1 || b->sizes[a->dim_order[i]] == 1)) {
      ++i;
    }
    while (j < b->rank && (a->sizes[b->dim_order[j]] == 1 || b->sizes[b->dim_order[j]] == 1)) {
      ++j;
    }
    if (i == a->rank || j == b->rank) {
      return 1;
    }
    if (a->dim_order[i] != b->dim_order[j]) {
      return fl_is_empty(a) || fl_is_empty(b);
    }
    ++i;
    ++j;
  }
}

int fl_same_sizes(const fl_tensor *a, const fl_tensor *b) {
  if (a == NULL || b == NULL || a->rank != b->rank) {
    return 0;
  }
  for (uint8_t i = 0; i < a->rank; ++i) {
    if (a->sizes[i] != b->sizes[i]) {
      return 0;
    }
  }
  return 1;
}

static fl_status fl_bad_result(fl_context *context, fl_status status, const char *text, int32_t first, int32_t second) {
  return FL_FAIL_NUMBERS(context, status, text, first, second);
}

/* Reports a failure of fl_resize in a function with a variable `context`. */
#define FL_RESULT(name, first, second) fl_bad_result(context, (fl_status)FL_S_##name, fl_text_##name, (first), (second))

fl_status fl_resize(fl_context *context, fl_tensor *t, const int32_t *sizes, uint8_t rank) {
  uint8_t same = 0;
  if (context == NULL || t == NULL || (sizes == NULL && rank > 0)) {
    return FL_INVALID_ARGUMENT;
  }
  if (rank != t->rank) {
    return FL_RESULT(RESULT_RANK, rank, t->rank);
  }
  if (context->over != NULL && context->over->data == t->data) {
    for (uint8_t i = 0; i < rank; ++i) {
      if (sizes[i] != context->over->sizes[i]) {
        return FL_RESULT(RESULT_OVER, sizes[i], context->over->sizes[i]);
      }
    }
  }
  while (same < rank && sizes[same] == t->sizes[same]) {
    ++same;
  }
  if (same == rank) {
    return FL_OK;
  }
  if (!t->dynamic) {
    return FL_RESULT(RESULT_FIXED, sizes[same], t->sizes[same]);
  }
  size_t bytes = fl_element_size(t->dtype);
  for (uint8_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0) {
      return FL_RESULT(RESULT_NEGATIVE, sizes[i], i);
    }
    if (t->bounds != NULL && sizes[i] > t->bounds[i]) {
      return FL_RESULT(RESULT_BOUND, sizes[i], t->bounds[i]);
    }
    if (fl_multiply(bytes, (size_t)sizes[i], &bytes)) {
      return FL_FAIL(context, (fl_status)FL_S_RESULT_ADDRESS, fl_text_RESULT_ADDRESS);
    }
  }
  if (bytes > t->capacity) {
    return FL_FAIL_NUMBERS(context, (fl_status)FL_S_RESULT_BYTES, fl_text_RESULT_BYTES, (int64_t)bytes, (int64_t)t->capacity);
  }
  for (uint8_t i = 0; i < rank; ++i) {
    t->sizes[i] = sizes[i];
  }
  fl_set_strides(t);
  return FL_OK;
}

int fl_get_int(const fl_value *v, int64_t *out) {
  if (v == NULL || out == NULL) {
    return 0;
  }
  if (v->tag == FL_INT) {
    *out = v->as.integer;
    return 1;
  }
  if (v->tag == FL_BOOLEAN) {
    *out = v->as.boolean;
    return 1;
  }
  return 0;
}

int fl_get_real(const fl_value *v, double *out) {
  int64_t integer = 0;
  if (v == NULL || out == NULL) {
    return 0;
  }
  if (v->tag == FL_DOUBLE) {
    *out = v->as.real;
    return 1;
  }
  if (fl_get_int(v, &integer)) {
    *out = (double)integer;
    return 1;
  }
  return 0;
}

int fl_get_ints(const fl_value *v, int64_t *out, uint32_t capacity, uint32_t *count) {
  if (v == NULL || out == NULL || count == NULL || v->tag != FL_INT_LIST || v->as.list.count > capacity) {
    return 0;
  }
  const fl_value *const *items = (const fl_value *const *)v->as.list.items;
  for (uint32_t i = 0; i < v->as.list.count; ++i) {
    if (items[i]->tag != FL_INT) {
      return 0;
    }
    out[i] = items[i]->as.integer;
  }
  *count = v->as.list.count;
  return 1;
}
