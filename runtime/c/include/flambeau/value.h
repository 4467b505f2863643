/* Values, with which a program computes. Shared by the executor, kernels, backends and applications. */
#ifndef FLAMBEAU_VALUE_H
#define FLAMBEAU_VALUE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FL_ALIGN_8 __attribute__((aligned(8)))
#else
#define FL_ALIGN_8
#endif

/* Element types. The numbers are those of the .pte format (ExecuTorch's scalar_type.fbs). */
typedef enum fl_dtype {
#define FL_SCALAR_TYPE(constant, number, ...) FL_##constant = number,
#include "flambeau/scalar_types.def"
} fl_dtype;

/* Highest rank of a tensor that the format admits. */
#define FL_MAX_RANK 16

/* A dense tensor. Sizes, strides and dim_order are indexed by logical dimension; strides are in elements and follow
 * from sizes and dim_order (dim_order[0] is the outermost dimension in memory). */
typedef struct fl_tensor {
  void *data;
  int32_t *sizes;
  int32_t *strides;
  const uint8_t *dim_order;
  const int32_t *bounds; /* upper bound of each size of a dynamic tensor; NULL: only the capacity limits the sizes */
  size_t capacity;       /* bytes of the memory at `data` */
  uint8_t rank;
  int8_t dtype;      /* fl_dtype */
  uint8_t dynamic;   /* 0: the sizes are fixed; 1: they may change, up to the bounds */
  uint8_t flags;     /* private to the executor */
} fl_tensor;

/* The kind of a value. */
typedef enum fl_tag {
  FL_NONE = 0,
  FL_TENSOR,
  FL_STRING,
  FL_DOUBLE,
  FL_INT,
  FL_BOOLEAN,
  FL_BOOL_LIST,
  FL_DOUBLE_LIST,
  FL_INT_LIST,
  FL_TENSOR_LIST,
  FL_OPTIONAL_TENSOR_LIST
} fl_tag;

struct fl_value;

/* A list. Its items are uint8_t (FL_BOOL_LIST), double (FL_DOUBLE_LIST; they may be unaligned, so read them with memcpy), or pointers to other
 * values (the other lists; ints are boxed because an earlier instruction may write them, and NULL in an optional list is None). */
typedef struct fl_list {
  const void *items;
  uint32_t count;
} fl_list;

typedef struct fl_string {
  const char *data;  /* zero-terminated */
  uint32_t length;   /* bytes without the zero */
} fl_string;

/* A tagged value of 24 bytes, or 16 where pointers have 4. (All 32-bit machines align it alike, so that its memory can be computed elsewhere.) */
typedef struct fl_value {
  union {
    fl_tensor *tensor;
    fl_string string;
    double real;
    int64_t integer;
    uint8_t boolean;
    fl_list list;
  } as FL_ALIGN_8;
  uint8_t tag;   /* fl_tag */
  uint8_t flags; /* private to the executor */
} fl_value;

#endif
