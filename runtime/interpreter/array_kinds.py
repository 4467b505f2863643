"""Computes the shapes and dtypes of arrays from types, and checks arrays against the types of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation

from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, numpy_dtype, shape_of
from flambeau.runtime.interpreter.function_interface import InterpreterError, UnsupportedError, op_name
from flambeau.runtime.interpreter.symbol_values import SymbolValues
from flambeau.support.lazy import Array, np

Kind: TypeAlias = "tuple[tuple[int, ...], np.dtype[np.generic]]"
"""Shape, with extents for dynamic dimensions, and dtype."""


LARGEST = 2**34
"""The bytes that one array may have: more would fill the memory of most machines before it fails."""


def check_size(shape: Sequence[int], dtype: np.dtype[np.generic], what: str, op: Operation | None = None) -> None:
    """Raises InterpreterError when an array would have more than LARGEST bytes. Counts dimensions of unknown size as 1."""
    size = math.prod(extent for extent in shape if is_known(extent)) * dtype.itemsize
    if size > LARGEST:
        raise InterpreterError(f"{what} would have {size} bytes, and the interpreter makes arrays of at most {LARGEST}", op)


def array_kind(kind: Attribute) -> Kind:
    """Returns the shape and the dtype of the arrays of a type, which is a tensor's or a number's. Raises TypeError for other types."""
    if isinstance(kind, TensorType):
        found = cast(Tensor, kind)
        return shape_of(found), _dtype(found.element_type)
    return (), _dtype(kind)


def _dtype(element: Attribute) -> np.dtype[np.generic]:
    return np.dtype(np.int64) if isinstance(element, IndexType) else numpy_dtype(element)


def array_kinds(op: Operation, types: Sequence[Attribute]) -> list[Kind]:
    """Returns the kinds of the arrays of `types`, of operands or results of `op`. Raises InterpreterError for types without arrays."""
    try:
        kinds = [array_kind(kind) for kind in types]
    except TypeError as error:
        raise UnsupportedError(f"{op_name(op)} has no meaning to the interpreter: {error}", op) from error
    for shape, dtype in kinds:
        check_size(shape, dtype, f"a tensor of {op_name(op)}", op)
    return kinds


def check_arrays(op: Operation, arrays: Sequence[Array], kinds: Sequence[Kind], symbols: SymbolValues) -> None:
    """Raises InterpreterError unless the arrays of `op` have these kinds, with the sizes that symbols have."""
    for array, (shape, dtype) in zip(arrays, kinds, strict=True):
        found = array.shape
        if array.dtype == dtype and len(found) == len(shape) and all(map(symbols.fits, shape, found)):
            continue
        raise InterpreterError(f"{op_name(op)} gave {_described((found, array.dtype))}, but its type says {_described((shape, dtype))}", op)


def _described(kind: tuple[Sequence[int], np.dtype[Any]]) -> str:
    return f"{kind[1]} [{', '.join(map(str, kind[0]))}]"
