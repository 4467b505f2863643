/* Implements npy.h. */
#include "tools/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flambeau/kernel.h"

static const struct {
  const char *text;
  int8_t dtype;
} descriptions[] = {
    {"<f4", FL_FLOAT32}, {"<f8", FL_FLOAT64}, {"<f2", FL_FLOAT16}, {"<V2", FL_BFLOAT16}, {"|V2", FL_BFLOAT16}, {"|b1", FL_BOOL},
    {"|u1", FL_UINT8},   {"|i1", FL_INT8},    {"<i2", FL_INT16},   {"<i4", FL_INT32},    {"<i8", FL_INT64},    {"<u2", FL_UINT16},
    {"<u4", FL_UINT32},  {"<u8", FL_UINT64},  {"<c8", FL_COMPLEX64}, {"<c16", FL_COMPLEX128},
};

void *read_file(const char *path, size_t *size, const char **reason) {
  FILE *file = fopen(path, "rb");
  void *data = NULL;
  *reason = NULL;
  if (file == NULL) {
    *reason = strerror(errno);
    return NULL;
  }
  long length = -1;
  if (fseek(file, 0, SEEK_END) == 0) {
    length = ftell(file);
  }
  if (length < 0 || length == (long)(~0ul >> 1) || fseek(file, 0, SEEK_SET) != 0) {
    *reason = "it is not a regular file";
  } else {
    *size = (size_t)length;
    data = aligned_alloc(64, (*size + 64) / 64 * 64);
    if (data == NULL) {
      *reason = "not enough memory";
    } else if (fread(data, 1, *size, file) != *size) {
      *reason = "it cannot be read";
      free(data);
      data = NULL;
    }
  }
  fclose(file);
  return data;
}

/* Returns the start of the value of `key` in the header, or NULL. */
static const char *find_key(const char *header, const char *key) {
  const char *at = strstr(header, key);
  return at == NULL ? NULL : at + strlen(key);
}

static const char *parse_sizes(const char *text, npy_array *array) {
  uint8_t rank = 0;
  if (*text != '(') {
    return "its header has no shape";
  }
  ++text;
  for (;;) {
    while (*text == ' ' || *text == ',') {
      ++text;
    }
    if (*text == ')') {
      break;
    }
    char *end = NULL;
    const long size = strtol(text, &end, 10);
    if (end == text || size < 0 || size > INT32_MAX || rank == FL_MAX_RANK) {
      return "its shape is not one that a program can take";
    }
    array->sizes[rank++] = (int32_t)size;
    text = end;
  }
  array->tensor.rank = rank;
  return NULL;
}

static const char *parse_header(const char *header, npy_array *array, size_t *bytes) {
  const char *description = find_key(header, "'descr': '");
  const char *shape = find_key(header, "'shape': ");
  const char *order = find_key(header, "'fortran_order': ");
  if (description == NULL || shape == NULL || order == NULL) {
    return "its header lacks descr, shape or fortran_order";
  }
  array->tensor.dtype = -1;
  for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; ++i) {
    const size_t length = strlen(descriptions[i].text);
    if (strncmp(description, descriptions[i].text, length) == 0 && description[length] == '\'') {
      array->tensor.dtype = descriptions[i].dtype;
    }
  }
  if (array->tensor.dtype < 0) {
    return "its dtype is not one that a program can take";
  }
  const char *fault = parse_sizes(shape, array);
  if (fault != NULL) {
    return fault;
  }
  const int is_fortran = strncmp(order, "True", 4) == 0;
  uint64_t elements = 1;
  for (uint8_t i = 0; i < array->tensor.rank; ++i) {
    const uint8_t d = is_fortran ? i : (uint8_t)(array->tensor.rank - 1 - i);
    array->strides[d] = (int32_t)elements;
    elements *= (uint64_t)array->sizes[d];
    if (elements > INT32_MAX) {
      return "it has too many elements";
    }
  }
  *bytes = (size_t)elements * fl_element_size(array->tensor.dtype);
  return NULL;
}

const char *npy_read(const char *path, npy_array *array) {
  const char *fault = NULL;
  size_t size = 0;
  memset(array, 0, sizeof *array);
  uint8_t *file = (uint8_t *)read_file(path, &size, &fault);
  if (file == NULL) {
    return fault;
  }
  size_t header = 10;
  size_t length = 0;
  size_t bytes = 0;
  if (size < 12 || memcmp(file, "\x93NUMPY", 6) != 0) {
    fault = "it is not a .npy file";
  } else if (file[6] == 1) {
    length = (size_t)file[8] | (size_t)file[9] << 8;
  } else {
    length = (size_t)file[8] | (size_t)file[9] << 8 | (size_t)file[10] << 16 | (size_t)file[11] << 24;
    header = 12;
  }
  if (fault == NULL && (length == 0 || length > size - header)) {
    fault = "it is truncated";
  }
  if (fault == NULL) {
    file[header + length - 1] = 0; /* the newline that ends the header */
    fault = parse_header((const char *)file + header, array, &bytes);
  }
  if (fault == NULL && bytes > size - header - length) {
    fault = "it is truncated";
  }
  if (fault != NULL) {
    free(file);
    return fault;
  }
  array->file = file;
  array->tensor.data = file + header + length;
  array->tensor.sizes = array->sizes;
  array->tensor.strides = array->strides;
  return NULL;
}

static int write_elements(FILE *file, const fl_tensor *tensor) {
  const size_t element = fl_element_size(tensor->dtype);
  const size_t count = fl_numel(tensor);
  int32_t at[FL_MAX_RANK] = {0};
  if (fl_is_contiguous(tensor)) {
    return fwrite(tensor->data, element, count, file) == count;
  }
  for (size_t n = 0; n < count; ++n) {
    size_t offset = 0;
    for (uint8_t i = 0; i < tensor->rank; ++i) {
      offset += (size_t)at[i] * (size_t)tensor->strides[i];
    }
    if (fwrite((const uint8_t *)tensor->data + offset * element, element, 1, file) != 1) {
      return 0;
    }
    for (uint8_t i = tensor->rank; i-- > 0;) {
      if (++at[i] < tensor->sizes[i]) {
        break;
      }
      at[i] = 0;
    }
  }
  return 1;
}

const char *npy_write(const char *path, const fl_tensor *tensor) {
  char header[512];
  const char *description = "|V1";
  for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; ++i) {
    if (descriptions[i].dtype == tensor->dtype) {
      description = descriptions[i].text;
      break;
    }
  }
  size_t length = (size_t)snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", description);
  for (uint8_t i = 0; i < tensor->rank; ++i) {
    length += (size_t)snprintf(header + length, sizeof header - length, "%d,%s", (int)tensor->sizes[i], i + 1 < tensor->rank ? " " : "");
  }
  length += (size_t)snprintf(header + length, sizeof header - length, "), }");
  /* The data start at a multiple of 64 bytes. */
  const size_t total = (10 + length + 1 + 63) / 64 * 64 - 10;
  while (length < total - 1) {
    header[length++] = ' ';
  }
  header[length++] = '\n';
  const uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(total & 0xff), (uint8_t)(total >> 8)};
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    return strerror(errno);
  }
  const int written = fwrite(start, 1, sizeof start, file) == sizeof start && fwrite(header, 1, total, file) == total && write_elements(file, tensor);
  return fclose(file) == 0 && written ? NULL : "it cannot be written";
}
