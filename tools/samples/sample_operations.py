"""Samples as operations: their tensors, the operation on them, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Block

from flambeau.dialects.edge.layout import with_dim_order
from flambeau.dialects.ir.tensor_types import Tensor, element_of, from_numpy_name, may_equal, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import FLOATS


def type_of(array: Any) -> Tensor:
    """Returns the tensor type of an array, with its dim order if that is not row-major."""
    row = from_numpy_name(array.dtype.name)
    assert row is not None, array.dtype
    kind = tensor(row.element, array.shape)
    order = sorted(range(array.ndim), key=lambda dim: (-array.strides[dim], dim))
    return kind if array.flags.c_contiguous or not array.transpose(order).flags.c_contiguous else with_dim_order(kind, order)


def arrays_of(sample: Sequence[Any]) -> list[Array]:
    """Returns the tensors of a sample in the order of an operation's operands."""
    flat: list[Any] = []
    for value in sample:
        flat += value if isinstance(value, list) else [value]
    return [value for value in flat if isinstance(value, np.ndarray)]


def with_tensors(sample: Sequence[Any], change: Callable[[int, Array], Any]) -> tuple[Any, ...]:
    """Returns the sample with each tensor replaced by a function of its number and array."""
    number = iter(range(1 << 20))

    def value(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            return change(next(number), cast(Array, item))
        return [value(part) for part in cast("list[Any]", item)] if isinstance(item, list) else item

    return tuple(value(item) for item in sample)


def operation(op: type[SchemaOp], sample: Sequence[Any]) -> tuple[SchemaOp, Block]:
    """Returns the operation on a sample, and a block whose arguments are its operands."""
    block = Block(arg_types=[type_of(array) for array in arrays_of(sample)])
    return op(*with_tensors(sample, lambda number, _: block.args[number])), block


def meaning(op: SchemaOp, arrays: Sequence[Array]) -> list[Array]:
    """Returns the results of an operation's numpy meaning, which must be of its inferred types."""
    with np.errstate(all="ignore"):
        results = [np.asarray(result) for result in flat_results(op.call("numpy", op.bind(arrays, op.properties)))]
    for result, kind in zip(results, op.result_types, strict=True):
        inferred = shape_of(kind)
        fits = may_equal(inferred, result.shape)
        assert fits, f"numpy gives shape {result.shape}, the row infers {kind}"
        assert result.dtype == numpy_dtype(element_of(kind)), f"numpy gives {result.dtype}, the row infers {kind}"
    return results


def numpy_type(name: str) -> np.dtype[Any]:
    """Returns the numpy type with this name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def converted(array: Array, name: str) -> Array:
    """Returns the values in another element type; those that it cannot hold become small ones."""
    if name == "bool":
        return np.asarray(array.astype(np.float64) > 0)
    if name in FLOATS:
        with np.errstate(over="ignore"):  # a large number is infinite in a narrow type, which kernels are tried with too
            return np.asarray(array.astype(numpy_type(name)))
    values = np.nan_to_num(array.astype(np.float64), posinf=9, neginf=-9).clip(-100, 100)
    return np.asarray((np.abs(values) if name == "uint8" else values).astype(name))


def permuted(array: Array, order: Sequence[int]) -> Array:
    """Returns the array with its elements in memory in another dim order, outermost dimension first."""
    return np.asarray(np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order)))
