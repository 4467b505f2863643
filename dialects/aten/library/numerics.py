"""numpy with PyTorch's types, for the meanings of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import f32

from flambeau.dialects.ir.tensor_types import (
    dtype_of,
    format_of,
    from_numpy_name,
    is_float8,
    numpy_dtype,
    promote_operands,
    tensor,
    ui64,
)
from flambeau.support.lazy import Array, np


def element_of_array(x: Array) -> Any:
    """Returns the element type of an array. Raises TypeError for arrays that no tensor can hold."""
    row = from_numpy_name(x.dtype.name)
    if row is None:
        raise TypeError(f"arrays of {x.dtype.name} are not tensors of a program")
    return row.element


def operand_kind(operand: Array | bool | int | float) -> Any:
    """Returns an operand as type promotion sees it: a tensor type, or the Python number itself."""
    return operand if isinstance(operand, bool | int | float) else tensor(element_of_array(operand), operand.shape)


def real_part(x: Array) -> Array:
    """Returns the real parts of complex numbers."""
    return cast("Array", np.asarray(cast(Any, x).real))


def imaginary_part(x: Array) -> Array:
    """Returns the imaginary parts of complex numbers."""
    return cast("Array", np.asarray(cast(Any, x).imag))


def cast_to(x: Any, element: Any) -> Array:
    """Returns an array or a Python number as an array of an element type.

    A real number becomes an integer of up to 32 bits (but ui8 and ui32) by way of int32 and another one by way of int64; outside the range
    of that type it is the smallest of it, as where PyTorch runs on x86-64. Float8 is made from float32; e4m3fn has no infinity, and what is
    larger than its largest number becomes that.
    """
    array: Array = np.asarray(x)
    if is_float8(element) and array.dtype != numpy_dtype(element):
        array, format = cast_to(array, f32), format_of(element)
        array = np.clip(array, -format.largest, format.largest) if format.specials == "FN" else array
    if array.dtype.kind == "c" and dtype_of(element).category in (1, 2):
        array = real_part(array)
    if array.dtype.kind in "iub" or element == ui64 or dtype_of(element).category != 1:
        return array.astype(numpy_dtype(element), copy=False)
    by = np.iinfo(f"int{dtype_of(element).by}")
    real = array.astype(np.float64)
    fits = (real >= by.min) & (real < 2.0 ** (by.bits - 1))
    return np.where(fits, real, by.min).astype(by.dtype).astype(numpy_dtype(element))


def cast_operands(*operands: Any) -> tuple[Array, ...]:
    """Returns the operands (arrays, or Python numbers) in the type that `torch.result_type` gives them."""
    element = promote_operands(*map(operand_kind, operands))
    return tuple(cast_to(operand, element) for operand in operands)


def float_operands(*operands: Any) -> tuple[Array, ...]:
    """Converts operands as `cast_operands` does; integers and bools become the default float type."""
    element = promote_operands(*map(operand_kind, operands))
    element = element if dtype_of(element).category >= 2 else f32
    return tuple(cast_to(operand, element) for operand in operands)


def to_float(x: Array) -> Array:
    """Returns integers and bools as the default float type; other arrays unchanged."""
    return x if dtype_of(element_of_array(x)).category >= 2 else x.astype(numpy_dtype(f32))


def widened(x: Array) -> Array:
    """Returns arrays of half types as float32, in which PyTorch computes several operations before it rounds; other arrays unchanged."""
    return x.astype(numpy_dtype(f32)) if x.dtype.name in ("float16", "bfloat16") else x


def in_float(function: Callable[[Any], Any], x: Array) -> Array:
    """Returns `function` of `x` as a float, computed widened, rounded once."""
    x = to_float(x)
    return np.asarray(function(widened(x))).astype(x.dtype, copy=False)


def erf(x: Array) -> Array:
    """Returns the error function, correct to the last bits of float64."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(x.dtype)


def sigmoid(x: Array) -> Array:
    """Returns 1 / (1 + exp(-x)) of floats without overflow."""
    if x.dtype.kind == "c":
        return np.asarray(1 / (1 + np.exp(-x)))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype, copy=False)


def softplus(x: Array) -> Array:
    """Returns log(1 + exp(x)) without overflow, of floats."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
