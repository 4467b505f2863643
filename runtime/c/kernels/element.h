/* Reads and writes single elements of a tensor, for code where clarity counts for more than speed. */
#ifndef FLAMBEAU_KERNELS_ELEMENT_H
#define FLAMBEAU_KERNELS_ELEMENT_H

#include "dtype.h"

/* Returns element i of a real tensor as a double; an int64 beyond 2^53 is rounded. */
static inline double fl_read_real(int8_t dtype, const void *data, size_t i) {
  switch (dtype) {
#define FL_COMPLEX_TYPE(...)
#define FL_HALF_TYPE(constant, number, bytes, storage, mlir, ...) \
    case FL_##constant: return fl_has(FL_##constant) ? (double)fl_f32_of_##mlir(((const storage *)data)[i]) : 0.0;
#define FL_SCALAR_TYPE(constant, number, bytes, storage, ...) \
    case FL_##constant: return fl_has(FL_##constant) ? (double)((const storage *)data)[i] : 0.0;
#include "flambeau/scalar_types.def"
    default: return 0.0;
  }
}

/* Returns element i of an integer or bool tensor, sign-extended. */
static inline uint64_t fl_read_integer(int8_t dtype, const void *data, size_t i) {
  switch (dtype) {
#define FL_INTEGER_TYPE(constant, number, bytes, storage, ...) \
    case FL_##constant: return fl_has(FL_##constant) ? (uint64_t)((const storage *)data)[i] : 0;
#include "flambeau/scalar_types.def"
    default: return ((const uint8_t *)data)[i];
  }
}

/* Stores x in element i of an integer or bool tensor, modulo 2^n for an integer of n bits. */
static inline void fl_write_integer(int8_t dtype, void *data, size_t i, uint64_t x) {
  switch (fl_dtype_size(dtype)) {
    case 1: ((uint8_t *)data)[i] = dtype == FL_BOOL ? (uint8_t)(x != 0) : (uint8_t)x; break;
    case 2: ((uint16_t *)data)[i] = (uint16_t)x; break;
    case 4: ((uint32_t *)data)[i] = (uint32_t)x; break;
    default: ((uint64_t *)data)[i] = x; break;
  }
}

/* Stores x in element i of a real tensor, rounded to its dtype. */
static inline void fl_write_real(int8_t dtype, void *data, size_t i, double x) {
  switch (dtype) {
#define FL_FLOAT_TYPE(constant, number, bytes, storage, ...) \
    case FL_##constant: if (fl_has(FL_##constant)) { ((storage *)data)[i] = (storage)x; } break;
#define FL_HALF_TYPE(constant, number, bytes, storage, mlir, ...) \
    case FL_##constant: if (fl_has(FL_##constant)) { ((storage *)data)[i] = fl_##mlir##_of_f32((float)x); } break;
#include "flambeau/scalar_types.def"
    default: if (FL_HAS_INTEGERS) { fl_write_integer(dtype, data, i, (uint64_t)fl_i64_of_real(x)); } break;
  }
}

#endif
