"""Interpreter functions of tensors and their elements: `tensor`, and casts between types that have the same values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.dialects import builtin, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.runtime.interpreter.array_kinds import array_kind
from flambeau.runtime.interpreter.function_interface import InterpreterError, InterpreterFunction, RunRegion
from flambeau.support.lazy import Array, np


def _same(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
    return values


def _extract(op: tensor.ExtractOp, values: Sequence[Array]) -> Sequence[Array]:
    source, *indices = values
    return [source[_element(op, source, indices)]]


def _insert(op: tensor.InsertOp, values: Sequence[Array]) -> Sequence[Array]:
    scalar, target, *indices = values
    result = target.copy()
    result[_element(op, target, indices)] = scalar
    return [result]


def _element(op: Operation, array: Array, indices: Sequence[Array]) -> tuple[int, ...]:
    found = tuple(int(index) for index in indices)
    if len(found) != array.ndim:
        raise InterpreterError(f"{op.name}: {len(found)} indices for {array.ndim} dimensions", op)
    for index, extent in zip(found, array.shape, strict=True):
        if not 0 <= index < extent:
            raise InterpreterError(f"{op.name}: index {index} is out of range for {extent} entries", op)
    return found


def _from_elements(op: tensor.FromElementsOp, values: Sequence[Array]) -> Sequence[Array]:
    shape, dtype = array_kind(op.result.type)
    return [np.array(values, dtype).reshape(shape)]


def _splat(op: tensor.SplatOp, values: Sequence[Array]) -> Sequence[Array]:
    scalar, *sizes = values
    return [np.full(_sizes(op, shape_of(op.result), sizes), scalar, scalar.dtype)]


def _empty(op: tensor.EmptyOp, values: Sequence[Array]) -> Sequence[Array]:
    dtype = array_kind(op.tensor.type)[1]
    # The content is undefined: every run uses the same conspicuous value.
    held = True if dtype.kind == "b" else np.iinfo(cast(Any, dtype)).max - 84 if dtype.kind in "iu" else np.nan
    return [np.full(_sizes(op, shape_of(op.tensor), values), held, dtype)]


def _sizes(op: Operation, shape: Sequence[int], sizes: Sequence[Array]) -> tuple[int, ...]:
    """Returns a shape with the numbers `sizes` in place of its dynamic dimensions."""
    given = iter(sizes)
    found = tuple(int(next(given)) if not is_known(extent) else extent for extent in shape)
    if min(found, default=0) < 0:
        raise InterpreterError(f"{op.name}: a dimension cannot have {min(found)} entries", op)
    return found


def _dim(op: tensor.DimOp, values: Sequence[Array]) -> Sequence[Array]:
    source, dim = values
    if not 0 <= dim < source.ndim:
        raise InterpreterError(f"tensor.dim: there is no dimension {dim} of {source.ndim}", op)
    return [np.asarray(source.shape[int(dim)], np.int64)]


def _concat(op: tensor.ConcatOp, values: Sequence[Array]) -> Sequence[Array]:
    return [np.concatenate(values, op.dim.value.data)]


def _collapse_shape(op: tensor.CollapseShapeOp, values: Sequence[Array]) -> Sequence[Array]:
    (source,) = values
    shape: list[int] = []
    for group in op.reassociation:
        extents = [source.shape[dim.value.data] for dim in group]
        shape.append(int(np.prod(extents, dtype=np.int64)))
    return [source.reshape(shape)]


def _expand_shape(op: tensor.ExpandShapeOp, values: Sequence[Array]) -> Sequence[Array]:
    source, *sizes = values
    return [_reshaped(op, source, _sizes(op, op.static_output_shape.get_values(), sizes))]


def _reshape(op: tensor.ReshapeOp, values: Sequence[Array]) -> Sequence[Array]:
    source, shape = values
    return [_reshaped(op, source, tuple(shape.tolist()))]


def _reshaped(op: Operation, source: Array, shape: tuple[int, ...]) -> Array:
    if min(shape, default=0) < 0 or np.prod(shape, dtype=np.int64) != source.size:
        raise InterpreterError(f"{op.name}: {source.size} elements do not have the shape {list(shape)}", op)
    return source.reshape(shape)


def _slices(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, array: Array, values: Sequence[Array]) -> tuple[slice, ...]:
    """Returns the index of a slice of `array`. Dynamic offsets, sizes and strides come from `values`."""
    given = iter(values)
    offsets, sizes, strides = (_numbers(listed, given) for listed in (op.static_offsets, op.static_sizes, op.static_strides))
    found: list[slice] = []
    for dim, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        last = offset + (size - 1) * stride
        extent = array.shape[dim]
        if size < 0 or stride <= 0 or (size and not 0 <= offset <= last < extent):
            where = f"{size} entries from {offset} in steps of {stride}"
            raise InterpreterError(f"{op.name}: dimension {dim} has {extent} entries, which {where} do not lie in", op)
        found.append(slice(offset, last + 1, stride) if size else slice(0, 0))
    return tuple(found)


def _numbers(static: builtin.DenseArrayBase[Any], given: Iterator[Array]) -> list[int]:
    return [int(next(given)) if number == DYNAMIC_INDEX else int(number) for number in static.get_values()]


def _extract_slice(op: tensor.ExtractSliceOp, values: Sequence[Array]) -> Sequence[Array]:
    source, *rest = values
    found = source[_slices(op, source, rest)]
    # The result may lack dimensions of one entry.
    left_out = found.ndim - len(shape := shape_of(op.result))
    kept: list[int] = []
    for extent, size in zip(found.shape, op.static_sizes.get_values(), strict=True):
        expected = shape[len(kept)] if len(kept) < len(shape) else None
        if left_out and size == 1 and (expected is None or not is_known(expected) or expected != 1):
            left_out -= 1
        else:
            kept.append(extent)
    return [found.reshape(kept)]


def _insert_slice(op: tensor.InsertSliceOp, values: Sequence[Array]) -> Sequence[Array]:
    source, target, *rest = values
    result = target.copy()
    part = result[_slices(op, target, rest)]
    part[...] = _reshaped(op, source, part.shape)
    return [result]


def _pad(op: tensor.PadOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    source, *rest = values
    given = iter(rest)
    low, high = (_numbers(listed, given) for listed in (op.static_low, op.static_high))
    shape = [below + extent + above for below, extent, above in zip(low, source.shape, high, strict=True)]
    if min((*low, *high), default=0) < 0:
        raise InterpreterError("tensor.pad: a tensor cannot be padded by less than 0", op)
    result = np.empty(shape, source.dtype)
    inner = tuple(slice(below, below + extent) for below, extent in zip(low, source.shape, strict=True))
    for index in np.ndindex(*shape):
        if not all(part.start <= at < part.stop for part, at in zip(inner, index, strict=True)):
            (result[index],) = run(op.region, [np.asarray(at, np.int64) for at in index])
    result[inner] = source
    return [result]


FUNCTIONS: dict[type[Operation], InterpreterFunction] = {
    # The check of the results refuses types with different arrays.
    builtin.UnrealizedConversionCastOp: _same,
    tensor.CastOp: _same,
    tensor.CollapseShapeOp: _collapse_shape,
    tensor.ConcatOp: _concat,
    tensor.DimOp: _dim,
    tensor.EmptyOp: _empty,
    tensor.ExpandShapeOp: _expand_shape,
    tensor.ExtractOp: _extract,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.FromElementsOp: _from_elements,
    tensor.InsertOp: _insert,
    tensor.InsertSliceOp: _insert_slice,
    tensor.PadOp: _pad,
    tensor.ReshapeOp: _reshape,
    tensor.SplatOp: _splat,
}
