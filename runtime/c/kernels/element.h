/* One element of a tensor at a time, for the paths where clarity counts for more than speed. */
#ifndef FLAMBEAU_KERNELS_ELEMENT_H
#define FLAMBEAU_KERNELS_ELEMENT_H

#include "dtype.h"

/* Element i as a double. An int64 beyond 2^53 is rounded. */
static inline double fl_read_real(int8_t dtype, const void *data, size_t i) {
  switch (dtype) {
    case FL_FLOAT32: return (double)((const float *)data)[i];
    case FL_FLOAT64: return ((const double *)data)[i];
    case FL_FLOAT16: return (double)fl_f32_of_f16(((const uint16_t *)data)[i]);
    case FL_BFLOAT16: return (double)fl_f32_of_bf16(((const uint16_t *)data)[i]);
    case FL_FLOAT8_E5M2: return (double)fl_f32_of_e5m2(((const uint8_t *)data)[i]);
    case FL_FLOAT8_E4M3FN: return (double)fl_f32_of_e4m3fn(((const uint8_t *)data)[i]);
    case FL_FLOAT8_E5M2FNUZ: return (double)fl_f32_of_e5m2fnuz(((const uint8_t *)data)[i]);
    case FL_FLOAT8_E4M3FNUZ: return (double)fl_f32_of_e4m3fnuz(((const uint8_t *)data)[i]);
    case FL_INT8: return (double)((const int8_t *)data)[i];
    case FL_INT16: return (double)((const int16_t *)data)[i];
    case FL_INT32: return (double)((const int32_t *)data)[i];
    case FL_INT64: return (double)((const int64_t *)data)[i];
    case FL_UINT16: return (double)((const uint16_t *)data)[i];
    case FL_UINT32: return (double)((const uint32_t *)data)[i];
    case FL_UINT64: return (double)((const uint64_t *)data)[i];
    default: return (double)((const uint8_t *)data)[i];
  }
}

/* Element i of an integer or bool tensor, sign-extended. */
static inline uint64_t fl_read_integer(int8_t dtype, const void *data, size_t i) {
  switch (dtype) {
    case FL_INT8: return (uint64_t)((const int8_t *)data)[i];
    case FL_INT16: return (uint64_t)((const int16_t *)data)[i];
    case FL_INT32: return (uint64_t)((const int32_t *)data)[i];
    case FL_INT64: return (uint64_t)((const int64_t *)data)[i];
    case FL_UINT16: return ((const uint16_t *)data)[i];
    case FL_UINT32: return ((const uint32_t *)data)[i];
    case FL_UINT64: return ((const uint64_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
  }
}

/* Stores modulo 2^n, as integer arithmetic in that type would. */
static inline void fl_write_integer(int8_t dtype, void *data, size_t i, uint64_t x) {
  switch (fl_dtype_size(dtype)) {
    case 1: ((uint8_t *)data)[i] = dtype == FL_BOOL ? (uint8_t)(x != 0) : (uint8_t)x; break;
    case 2: ((uint16_t *)data)[i] = (uint16_t)x; break;
    case 4: ((uint32_t *)data)[i] = (uint32_t)x; break;
    default: ((uint64_t *)data)[i] = x; break;
  }
}

static inline void fl_write_real(int8_t dtype, void *data, size_t i, double x) {
  switch (dtype) {
    case FL_FLOAT32: ((float *)data)[i] = (float)x; break;
    case FL_FLOAT64: ((double *)data)[i] = x; break;
    case FL_FLOAT16: ((uint16_t *)data)[i] = fl_f16_of_f32((float)x); break;
    case FL_BFLOAT16: ((uint16_t *)data)[i] = fl_bf16_of_f32((float)x); break;
    case FL_FLOAT8_E5M2: ((uint8_t *)data)[i] = fl_e5m2_of_f32((float)x); break;
    case FL_FLOAT8_E4M3FN: ((uint8_t *)data)[i] = fl_e4m3fn_of_f32((float)x); break;
    case FL_FLOAT8_E5M2FNUZ: ((uint8_t *)data)[i] = fl_e5m2fnuz_of_f32((float)x); break;
    case FL_FLOAT8_E4M3FNUZ: ((uint8_t *)data)[i] = fl_e4m3fnuz_of_f32((float)x); break;
    default: fl_write_integer(dtype, data, i, (uint64_t)fl_i64_of_real(x)); break;
  }
}

#endif
