"""Lookups in tensors, and updates of them, at places that indices say."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.backends.onnxruntime.converters.building import CONVERTERS, constant, in_type
from flambeau.backends.onnxruntime.dialect import movement, scatters
from flambeau.backends.onnxruntime.dialect.elements import ARITHMETIC
from flambeau.backends.onnxruntime.places import replaced_shape
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import broadcast, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.normalized import dim_of
from flambeau.passes.rewriting.constants import ModuleConstants


@CONVERTERS("index.Tensor")
def _index(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a lookup: by one tensor along its dimension, by several in places that they name together."""
    x, given = op.operands[0], _given(op)
    if len(given) == 1:
        return movement.GatherOp(x, given[0][1], axis=given[0][0]).result
    return movement.GatherNDOp(x, _joined([index for _, index in given])).result


@CONVERTERS("index_put")
def _index_put(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts an update: of whole entries of the first dimensions, or of the lines along another one."""
    x, given = op.operands[0], _given(op)
    reduction = "add" if op.argument("accumulate") else "none"
    (dim, index), wanted = given[0], replaced_shape(op)
    values = _spread(op.argument("values"), wanted)
    if dim == 0:
        return scatters.ScatterNDOp(x, _joined([index for _, index in given]), values, reduction=reduction).result
    behind = tuple(range(1, len(wanted) - dim))
    line = movement.UnsqueezeOp(index, behind).result if behind else index
    places = movement.ExpandOp(line, (*wanted[:dim], 1, *wanted[dim + 1 :])).result
    return scatters.ScatterElementsOp(x, places, values, axis=dim, reduction=reduction).result


@CONVERTERS("slice_scatter", "select_scatter")
def _slice_scatter(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts an update of neighbours along a dimension: what is before them, they, and what is behind."""
    x, source = op.operands[:2]
    dim = dim_of(op)
    if op.schema.base == "select_scatter":
        source = movement.UnsqueezeOp(source, (dim,)).result
    size, count = shape_of(x)[dim], shape_of(source)[dim]
    first = first_of(op, size)
    pieces = [movement.SliceOp(x, (0,), (first,), (dim,), (1,)).result] if first else []
    behind = [movement.SliceOp(x, (first + count,), (size,), (dim,), (1,)).result] if first + count < size else []
    return movement.ConcatOp([*pieces, source, *behind], axis=dim).result


def first_of(op: SchemaOp, size: int) -> int:
    """Returns the first entry that an update of neighbours replaces."""
    first = op.argument("index" if op.schema.base == "select_scatter" else "start") or 0
    return min(max(first + size if first < 0 else first, 0), size)


def _given(op: SchemaOp) -> list[tuple[int, SSAValue]]:
    return [(dim, index) for dim, index in enumerate(op.argument("indices")) if index is not None]


def _spread(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return (
        value
        if len(shape_of(value)) == len(shape) and all(map(provably_equal, shape_of(value), shape))
        else movement.ExpandOp(value, shape).result
    )


def _joined(indices: Sequence[SSAValue]) -> SSAValue:
    """Returns tensors of indices as one, whose last dimension has an entry of each."""
    shape = broadcast(*map(shape_of, indices))
    columns = [_spread(in_type(index, i64), shape) for index in indices]
    columns = [movement.UnsqueezeOp(column, (len(shape),)).result for column in columns]
    return columns[0] if len(columns) == 1 else movement.ConcatOp(columns, axis=len(shape)).result


@CONVERTERS("arange.start_step")
def _arange(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts numbers of which the run decides how many there are, by a size of an input."""
    start, end, step = (op.argument(name) for name in ("start", "end", "step"))
    block = op.parent
    assert block is not None
    sizes = [(item, dim, size) for item in block.args for dim, size in enumerate(shape_of(item))]
    found = next(((item, dim, end - size) for item, dim, size in sizes if is_known(end - size)), None)
    if found is None:
        raise BackendError(f"onnxruntime: no input has the size {end} of numbers from {start}")
    item, dim, more = found
    limit = movement.SqueezeOp(movement.ShapeOp(item, start=dim, end=dim + 1).result, (0,)).result
    if more:
        limit = ARITHMETIC["add"](limit, constant(constants, "number", more, i64)).result
    first, delta = (constant(constants, "number", number, i64) for number in (start, step))
    return movement.RangeOp(first, limit, delta, result_types=[op.result.type]).result
