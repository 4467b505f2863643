"""Shapes and dtypes of arrays, and the check that arrays have the types of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation

from flambeau.dialects.ir.tensor_types import Tensor, numpy_dtype
from flambeau.runtime.interpreter.function_interface import InterpreterError, UnsupportedError, op_name
from flambeau.support.lazy import Array, np

Kind: TypeAlias = "tuple[tuple[int, ...], np.dtype[np.generic]]"
"""Shape and dtype; an extent below 0 is any."""


LARGEST = 2**34
"""The bytes that one array may have: more would fill the memory of most machines before it fails."""


def check_size(shape: Sequence[int], dtype: np.dtype[np.generic], what: str, op: Operation | None = None) -> None:
    """Raises InterpreterError when an array would have more than LARGEST bytes. Extents below 0 are not known."""
    size = math.prod(extent for extent in shape if extent >= 0) * dtype.itemsize
    if size > LARGEST:
        raise InterpreterError(f"{what} would have {size} bytes, and the interpreter makes arrays of at most {LARGEST}", op)


def array_kind(kind: Attribute) -> Kind:
    """Shape and dtype of the arrays of a type: a tensor's, or a number's. Raises TypeError for other types."""
    if isinstance(kind, TensorType):
        found = cast(Tensor, kind)
        return found.get_shape(), _dtype(found.element_type)
    return (), _dtype(kind)


def _dtype(element: Attribute) -> np.dtype[np.generic]:
    return np.dtype(np.int64) if isinstance(element, IndexType) else numpy_dtype(element)


def array_kinds(op: Operation, types: Sequence[Attribute]) -> list[Kind]:
    """The kinds of the arrays that `op` makes or takes. Raises InterpreterError for types that no array has."""
    try:
        kinds = [array_kind(kind) for kind in types]
    except TypeError as error:
        raise UnsupportedError(f"{op_name(op)} has no meaning to the interpreter: {error}", op) from error
    for shape, dtype in kinds:
        check_size(shape, dtype, f"a tensor of {op_name(op)}", op)
    return kinds


def check_arrays(op: Operation, arrays: Sequence[Array], kinds: Sequence[Kind]) -> None:
    """Whether arrays are what the types of `op` say. Raises InterpreterError."""
    for array, (shape, dtype) in zip(arrays, kinds, strict=True):
        found = array.shape
        if array.dtype == dtype and (
            found == shape or (len(found) == len(shape) and all(a == b for a, b in zip(found, shape, strict=True) if b >= 0))
        ):
            continue
        raise InterpreterError(f"{op_name(op)} gave {_described((found, array.dtype))}, but its type says {_described((shape, dtype))}", op)


def _described(kind: tuple[Sequence[int], np.dtype[Any]]) -> str:
    return f"{kind[1]} [{', '.join('?' if extent < 0 else str(extent) for extent in kind[0])}]"
