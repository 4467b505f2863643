"""Parts, padding, repetition and other moves of elements, in floats or between integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, constant, limited, reshaped, same
from flambeau.backends.tosa.dialect.movement import ConcatOp, GatherOp, PadOp, ReverseOp, SliceOp, TileOp, TransposeOp
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.normalized import dim_of, pads_of, sizes_before, start_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


def part(x: SSAValue, dim: int, start: int, size: int) -> SSAValue:
    """Returns consecutive entries of one dimension."""
    shape, places = list(shape_of(x)), [0] * len(shape_of(x))
    if shape[dim] == size:
        return x
    shape[dim], places[dim] = size, start
    return SliceOp(x, tuple(places), tuple(shape)).result


def tiled(x: SSAValue, multiples: Sequence[int]) -> SSAValue:
    """Returns a tensor repeated along its dimensions."""
    return x if all(count == 1 for count in multiples) else TileOp(x, tuple(multiples)).result


def padded(x: SSAValue, before: Sequence[int], behind: Sequence[int], number: float) -> SSAValue:
    """Returns a tensor with a number around it, and without what negative padding takes away."""
    for dim, (low, high) in enumerate(zip(before, behind, strict=True)):
        x = part(x, dim, max(-low, 0), shape_of(x)[dim] + min(low, 0) + min(high, 0))
    pads = tuple(max(item, 0) for pair in zip(before, behind, strict=True) for item in pair)
    return PadOp(x, pads, number).result if any(pads) else x


# What a move makes of floats, or of integers of one type


def _sliced(op: SchemaOp, x: SSAValue) -> SSAValue:
    """Returns every step-th entry: the first of each group of that many, or another where the last group would not be whole."""
    dim, first, step = dim_of(op), start_of(op), op.argument("step")
    shape, count = list(shape_of(x)), shape_of(op.result)[dim]
    if step == 1 or count == 1:
        return part(x, dim, first, count)
    place = min(first, max(first + count * step - shape[dim], 0))
    whole = part(x, dim, first - place, min(count * step, shape[dim] - first + place))
    lacking = count * step - shape_of(whole)[dim]
    whole = padded(whole, [0] * len(shape), [lacking * (other == dim) for other in range(len(shape))], 0)
    groups = reshaped(whole, (prod(shape[:dim]), count, step, prod(shape[dim + 1 :])))
    return reshaped(part(groups, 2, place, 1), shape_of(op.result))


def _selected(op: SchemaOp, x: SSAValue) -> SSAValue:
    return reshaped(part(x, dim_of(op), start_of(op), 1), shape_of(op.result))


def _expanded(op: SchemaOp, x: SSAValue) -> SSAValue:
    old, new = sizes_before(op), shape_of(op.result)
    return tiled(reshaped(x, old), [after // before for before, after in zip(old, new, strict=True)])


def _flipped(op: SchemaOp, x: SSAValue) -> SSAValue:
    for axis in normalize_dims(op.argument("dims"), len(shape_of(x))):
        x = x if shape_of(x)[axis] == 1 else ReverseOp(x, axis=axis).result
    return x


def _with_another_shape(op: SchemaOp, x: SSAValue) -> SSAValue:
    return reshaped(x, shape_of(op.result))


def _shuffled(op: SchemaOp, x: SSAValue) -> SSAValue:
    """Returns squares of pixels made of channels, or channels made of squares."""
    *batch, channels, tall, wide = shape_of(x)
    count = prod(batch)
    if op.schema.base == "pixel_shuffle":
        side = op.argument("upscale_factor")
        parts = reshaped(x, (count, channels // side**2, side, side, tall, wide))
        order = (0, 1, 4, 2, 5, 3)
    else:
        side = op.argument("downscale_factor")
        parts = reshaped(x, (count * channels, tall // side, side, wide // side, side))
        order = (0, 2, 4, 1, 3)
    return reshaped(TransposeOp(parts, order).result, shape_of(op.result))


_SMALLER: dict[str, Callable[[SchemaOp, SSAValue], SSAValue]] = {
    "slice_copy.Tensor": _sliced,
    "select_copy.int": _selected,
    "flip": _flipped,
    "pixel_shuffle": _shuffled,
    "pixel_unshuffle": _shuffled,
    **dict.fromkeys(("unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "clone"), _with_another_shape),
}
"""The moves after which integers become those of another type."""
_LARGER: dict[str, Callable[[SchemaOp, SSAValue], SSAValue]] = {"expand_copy": _expanded, "repeat": _expanded}
"""The moves before which they do."""

for _name, _move in (_SMALLER | _LARGER).items():
    CONVERTERS(_name)(lambda op, constants, move=_move: move(op, op.operands[0]))


def _moved(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = found.operator, found.x
    assert op is not None
    if op.schema.name in _LARGER:
        return limited(_LARGER[op.schema.name](op, same(x, found.to)), found)
    return limited(same(Quantized(_SMALLER[op.schema.name](op, x.value), x.type), found.to), found)


CONVERTERS.integers(*_SMALLER, *_LARGER)(_moved)


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return padded(op.operands[0], *pads_of(op), float(np.float32(op.argument("value"))))


@CONVERTERS.integers("constant_pad_nd")
def _integer_pad(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    assert found.operator is not None
    number = found.to.quantize(found.operator.argument("value"))
    return limited(padded(same(found.x, found.to), *pads_of(found.operator), number), found)


def _stacked(op: SchemaOp, values: Sequence[SSAValue]) -> SSAValue:
    dim = dim_of(op, op.result)
    shape = (*shape_of(op.result)[:dim], 1, *shape_of(op.result)[dim + 1 :])
    return ConcatOp([reshaped(value, shape) for value in values], axis=dim).result


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _stacked(op, op.operands)


@CONVERTERS.integers("stack")
def _integer_stack(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    assert found.operator is not None
    return limited(_stacked(found.operator, [same(x, found.to) for x in found.inputs if x is not None]), found)


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    dim, sizes = dim_of(op), op.argument("split_sizes")
    return [part(op.operands[0], dim, sum(sizes[:index]), size) for index, size in enumerate(sizes)]


def _gathered(op: SchemaOp, x: SSAValue, constants: ModuleConstants) -> SSAValue:
    indices = op.operands[1]
    shape, dim = shape_of(x), 0 if op.schema.base == "embedding" else dim_of(op)
    batch, count = prod(shape[:dim]), prod(shape_of(indices))
    array = constants.array(indices)
    if array is None:
        places = tiled(reshaped(indices, (1, count)), (batch, 1))
    else:
        array = np.broadcast_to(array.reshape(1, count), (batch, count))
        places = constant(constants, constants.name(indices), array.astype(np.int32), i32)
    values = reshaped(x, (batch, shape[dim], prod(shape[dim + 1 :])))
    return reshaped(GatherOp(values, places).result, shape_of(op.result))


@CONVERTERS("index_select", "embedding")
def _gather(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _gathered(op, op.operands[0], constants)


@CONVERTERS.integers("index_select", "embedding")
def _integer_gather(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    assert found.operator is not None
    return limited(same(Quantized(_gathered(found.operator, found.x.value, constants), found.x.type), found.to), found)
