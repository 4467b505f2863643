/* Kernels of a program's numbers: sizes, and results computed from sizes. The last argument is the value that receives the result. Arithmetic is
 * Python's: integers have integer results, except for true division, and // and % round down. */
#include <math.h>

#include "dtype.h"
#include "prim.def"

static fl_status give_int(fl_value *out, int64_t x) {
  out->as.integer = x;
  out->tag = FL_INT;
  return FL_OK;
}

static fl_status give_real(fl_value *out, double x) {
  out->as.real = x;
  out->tag = FL_DOUBLE;
  return FL_OK;
}

static fl_status give_bool(fl_value *out, int x) {
  out->as.boolean = (uint8_t)(x != 0);
  out->tag = FL_BOOLEAN;
  return FL_OK;
}

/* A number, which is an integer or a real number. */
typedef struct number {
  int is_integer;
  int64_t integer;
  double real;
} number;

static fl_status read_number(fl_context *context, const fl_value *value, number *x) {
  *x = (number){0, 0, 0.0};
  FL_CHECK(context, fl_get_real(value, &x->real), "the operands must be numbers");
  x->is_integer = fl_get_int(value, &x->integer);
  return FL_OK;
}

#define BINARY(name, give_integer, integer_expression, give_real_, real_expression, check)     \
  fl_status fl_prim_##name(fl_context *context, fl_value *const *args, size_t count) {         \
    number a;                                                                                  \
    number b;                                                                                  \
    (void)count;                                                                               \
    FL_TRY_NUMBERS(a, b);                                                                      \
    check;                                                                                     \
    if (a.is_integer && b.is_integer) {                                                        \
      const int64_t x = a.integer;                                                             \
      const int64_t y = b.integer;                                                             \
      return give_integer(args[2], integer_expression);                                        \
    }                                                                                          \
    const double x = a.real;                                                                   \
    const double y = b.real;                                                                   \
    return give_real_(args[2], real_expression);                                               \
  }
#define FL_TRY_NUMBERS(a, b)                                                                   \
  if (read_number(context, args[0], &(a)) != FL_OK || read_number(context, args[1], &(b)) != FL_OK) { \
    return FL_INVALID_ARGUMENT;                                                                \
  }

static int64_t floor_divide(int64_t x, int64_t y) {
  if (y == -1) {
    return fl_wrap_sub(0, x);
  }
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static int64_t modulo(int64_t x, int64_t y) {
  const int64_t rest = y == -1 ? 0 : x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double real_modulo(double x, double y) {
  const double rest = fmod(x, y);
  return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

#define DIVISOR FL_CHECK(context, b.real != 0.0, "division by zero")
BINARY(add, give_int, fl_wrap_add(x, y), give_real, x + y, (void)0)
BINARY(sub, give_int, fl_wrap_sub(x, y), give_real, x - y, (void)0)
BINARY(mul, give_int, fl_wrap_mul(x, y), give_real, x *y, (void)0)
BINARY(floordiv, give_int, floor_divide(x, y), give_real, floor(x / y), DIVISOR)
BINARY(truediv, give_real, (double)x / (double)y, give_real, x / y, DIVISOR)
BINARY(mod, give_int, modulo(x, y), give_real, real_modulo(x, y), DIVISOR)
BINARY(max, give_int, x > y ? x : y, give_real, x > y || x != x ? x : y, (void)0)
BINARY(min, give_int, x < y ? x : y, give_real, x < y || x != x ? x : y, (void)0)
BINARY(eq, give_bool, x == y, give_bool, x == y, (void)0)
BINARY(ge, give_bool, x >= y, give_bool, x >= y, (void)0)
BINARY(gt, give_bool, x > y, give_bool, x > y, (void)0)
BINARY(le, give_bool, x <= y, give_bool, x <= y, (void)0)
BINARY(lt, give_bool, x < y, give_bool, x < y, (void)0)

/* Defines a kernel that converts a number to an integer, rounding reals by `function`. */
#define ROUNDING(name, function)                                                               \
  fl_status fl_prim_##name(fl_context *context, fl_value *const *args, size_t count) {         \
    number a;                                                                                  \
    (void)count;                                                                               \
    if (read_number(context, args[0], &a) != FL_OK) {                                          \
      return FL_INVALID_ARGUMENT;                                                              \
    }                                                                                          \
    if (a.is_integer) {                                                                        \
      return give_int(args[1], a.integer);                                                     \
    }                                                                                          \
    const double x = function(a.real);                                                         \
    FL_CHECK(context, x >= -0x1p63 && x < 0x1p63, "the number does not fit an integer");       \
    return give_int(args[1], (int64_t)x);                                                      \
  }
ROUNDING(ceil, ceil)
ROUNDING(round, rint)
ROUNDING(trunc, trunc)

fl_status fl_prim_neg(fl_context *context, fl_value *const *args, size_t count) {
  number a;
  (void)count;
  if (read_number(context, args[0], &a) != FL_OK) {
    return FL_INVALID_ARGUMENT;
  }
  return a.is_integer ? give_int(args[1], fl_wrap_sub(0, a.integer)) : give_real(args[1], -a.real);
}

fl_status fl_prim_float(fl_context *context, fl_value *const *args, size_t count) {
  number a;
  (void)count;
  return read_number(context, args[0], &a) != FL_OK ? FL_INVALID_ARGUMENT : give_real(args[1], a.real);
}

fl_status fl_prim_not(fl_context *context, fl_value *const *args, size_t count) {
  number a;
  (void)count;
  return read_number(context, args[0], &a) != FL_OK ? FL_INVALID_ARGUMENT : give_bool(args[1], a.real == 0.0);
}

fl_status fl_prim_ite(fl_context *context, fl_value *const *args, size_t count) {
  number condition;
  number chosen;
  (void)count;
  if (read_number(context, args[0], &condition) != FL_OK) {
    return FL_INVALID_ARGUMENT;
  }
  const fl_value *value = condition.real != 0.0 ? args[1] : args[2];
  if (read_number(context, value, &chosen) != FL_OK) {
    return FL_INVALID_ARGUMENT;
  }
  const fl_value copy = *value;
  *args[3] = copy;
  return FL_OK;
}

fl_status fl_sym_size(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  int64_t dim = 0;
  (void)count;
  FL_CHECK(context, self != NULL && fl_get_int(args[1], &dim), "sym_size takes a tensor and a dimension");
  FL_CHECK_NUMBERS(context, dim >= -(int64_t)self->rank && dim < (int64_t)self->rank, "dimension % is out of range for % dimensions", dim, self->rank);
  return give_int(args[2], self->sizes[dim < 0 ? dim + self->rank : dim]);
}

fl_status fl_sym_numel(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  (void)count;
  FL_CHECK(context, self != NULL, "sym_numel takes a tensor");
  return give_int(args[1], (int64_t)fl_numel(self));
}

/* Stores the only element of a tensor as a number. */
fl_status fl_local_scalar_dense(fl_context *context, fl_value *const *args, size_t count) {
  const fl_tensor *self = fl_get_tensor(args[0]);
  union {
    double real;
    int64_t integer;
    uint8_t boolean;
  } element = {0.0};
  (void)count;
  FL_CHECK(context, self != NULL && fl_dtype_size(self->dtype) > 0 && fl_numel(self) == 1, "the input must be a tensor of one element");
  const fl_compute type = self->dtype == FL_BOOL ? FL_COMPUTE_BOOL : fl_is_float(self->dtype) ? FL_COMPUTE_F64 : FL_COMPUTE_I64;
  const fl_convert_fn convert = fl_widen(self->dtype, type);
  if (convert != NULL) {
    convert(1, &element, self->data);
  } else {
    memcpy(&element, self->data, fl_dtype_size(self->dtype));
  }
  return type == FL_COMPUTE_BOOL  ? give_bool(args[1], element.boolean)
         : type == FL_COMPUTE_I64 ? give_int(args[1], element.integer)
                                  : give_real(args[1], element.real);
}
