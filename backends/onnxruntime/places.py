"""The places that operators read or replace, as the table and the converters see them."""

from __future__ import annotations

from typing import TypeAlias

from flambeau.dialects.ir.tensor_types import broadcast, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.normalized import dim_of

_END = 2**63 - 1
"""The end of a slice that has the last entry of its dimension."""

_Numbers: TypeAlias = tuple[int]


def open_slice(op: SchemaOp) -> tuple[_Numbers, _Numbers, _Numbers, _Numbers]:
    """Returns starts, ends, axes and steps of a slice along a size that only the run knows, as ONNX counts them."""
    start, end = op.argument("start") or 0, op.argument("end")
    return (start,), (_END if end is None else end,), (dim_of(op),), (op.argument("step"),)


def replaced_shape(op: SchemaOp) -> tuple[int, ...]:
    """Returns the shape of what an `index_put` replaces, whose indices are for neighbouring dimensions."""
    shape = shape_of(op.operands[0])
    given = [(dim, index) for dim, index in enumerate(op.argument("indices")) if index is not None]
    first = given[0][0]
    return (*shape[:first], *broadcast(*(shape_of(index) for _, index in given)), *shape[first + len(given) :])
