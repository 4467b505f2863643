"""Converts Python values to the values of a bundled program, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flambeau.runtime.binding.arrays import DTYPE_CODES, as_array, numpy_dtype
from flambeau.runtime.binding.metadata import DTYPE_NAMES, TensorInfo
from flambeau.runtime.bundled_program.bundle_records import BundleError, Tensor, Value
from flambeau.runtime.pte.records import Bool, Double, Int, ScalarType
from flambeau.support.lazy import np

if TYPE_CHECKING:
    from flambeau.support.lazy import Array

_ANY = TensorInfo((), (), "", 0, is_dynamic=False, planned=True, constant=False)


def to_array(value: object, where: str) -> Array:
    """Returns a tensor of numpy, torch or another package as a numpy array. Raises FlambeauError, which names `where`, for other values."""
    return as_array(value, _ANY, where)


def encode_value(value: object, dim_order: Sequence[int] | None, where: str) -> Value:
    """Returns the record of a tensor or number. The tensor is laid out in `dim_order`; None means the order of its dimensions.

    Raises:
        BundleError: the format has no such value, or the tensor's rank is not that of `dim_order`; the message names `where`.
        FlambeauError: the memory of a tensor cannot be shared.
    """
    match value:
        case bool():
            return Bool(value)
        case int():
            return Int(value)
        case float():
            return Double(value)
        case _:
            array = to_array(value, where)
    code = DTYPE_CODES.get(array.dtype.name)
    if code is None:
        raise BundleError(f"{where}: tensors of {array.dtype} cannot be in a program")
    order = tuple(range(array.ndim) if dim_order is None else dim_order)
    if len(order) != array.ndim:
        raise BundleError(f"{where}: expected {len(order)} dimensions, got {array.ndim}")
    dense = np.ascontiguousarray(array.transpose(order)) if array.ndim else array
    return Tensor(ScalarType(code), tuple(array.shape), memoryview(dense.tobytes()), order)


def decode_value(value: Value) -> Any:
    """Returns a record's tensor as a numpy array, a view of the file, or its number."""
    match value:
        case Int():
            return value.int_val
        case Bool():
            return value.bool_val
        case Double():
            return value.double_val
        case Tensor():
            dtype = numpy_dtype(DTYPE_NAMES[value.scalar_type])
            shape = [value.sizes[dimension] for dimension in value.dim_order]
            inverse = sorted(range(len(shape)), key=value.dim_order.__getitem__)
            return np.frombuffer(value.data[: value.nbytes], np.uint8).view(dtype).reshape(shape).transpose(inverse)
