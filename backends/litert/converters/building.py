"""What the converters share: shapes, constants, and integers of another quantized type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect.movement import EVERY, PadOp, PadV2Op, ReshapeOp, SliceOp, StridedSliceOp, TransposeOp
from flambeau.backends.litert.dialect.operators import ACTIVATIONS, OPEN, limits_of
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import element_of, is_static, numpy_dtype, same_shape, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import RANGES
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("litert")
_CHANNELS_FIRST = (0, 3, 1, 2)
_SWAPPED = (0, 2, 1)


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns the same elements in another shape."""
    return value if same_shape(shape_of(value), shape) else ReshapeOp(value, as_numbers(shape)).result


def as_numbers(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns sizes as numbers of an operator: -1, which is the rest of the elements, for one that only the run knows."""
    return tuple(size if is_known(size) else OPEN for size in shape)


def constant(constants: ModuleConstants, name: str, array: Array, like: SSAValue) -> SSAValue:
    """Returns an array as a constant of the element type of another value."""
    element = element_of(like)
    return constants.add(name, np.asarray(array, numpy_dtype(element), order="C"), tensor(element, array.shape)).result


def of_numbers(constants: ModuleConstants, name: str, numbers: Sequence[float] | float, like: SSAValue) -> SSAValue:
    """Returns numbers as a constant with one dimension, of the element type of another value."""
    return constant(constants, name, np.atleast_1d(np.asarray(numbers)), like)


def transposed(x: SSAValue, order: Sequence[int]) -> SSAValue:
    """Returns a value with its dimensions in another order."""
    return TransposeOp(x, tuple(order)).result


def on_images(x: SSAValue, function: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """Returns what a function makes of images [batch, height, width, channels], of images or lines with the channels first."""
    if len(shape_of(x)) == 4:
        return transposed(function(transposed(x, CHANNELS_LAST)), _CHANNELS_FIRST)
    batch, channels, length = shape_of(x)
    found = function(reshaped(transposed(x, _SWAPPED), (batch, 1, length, channels)))
    return transposed(reshaped(found, (batch, *shape_of(found)[2:])), _SWAPPED)


def part(x: SSAValue, dim: int, start: int, size: int) -> SSAValue:
    """Returns consecutive entries of one dimension."""
    begin, sizes = [0] * len(shape_of(x)), list(shape_of(x))
    begin[dim], sizes[dim] = start, size
    return sliced(x, begin, sizes)


def sliced(x: SSAValue, begin: Sequence[int], sizes: Sequence[int]) -> SSAValue:
    """Returns so many entries of each dimension, all of one whose size only the run knows."""
    if same_shape(sizes, shape_of(x)):
        return x
    if is_static(x):
        return SliceOp(x, tuple(begin), tuple(sizes)).result
    ends = tuple(first + size if is_known(size) else EVERY for first, size in zip(begin, sizes, strict=True))
    return StridedSliceOp(x, tuple(begin), ends, (1,) * len(ends)).result


def with_margin(
    x: SSAValue, before: Sequence[int], behind: Sequence[int], number: float, kind: QuantizedType | None, constants: ModuleConstants
) -> SSAValue:
    """Returns a tensor with a number around it, and without what negative padding takes away. Integers are of type `kind`."""
    begin = tuple(max(-low, 0) for low in before)
    size = tuple(extent + min(low, 0) + min(high, 0) for extent, low, high in zip(shape_of(x), before, behind, strict=True))
    x = sliced(x, begin, size)
    pads = tuple(max(item, 0) for pair in zip(before, behind, strict=True) for item in pair)
    if not any(pads):
        return x
    if number == (0 if kind is None else kind.zero_point):  # more runtimes and accelerators have this operator
        return PadOp(x, pads, **({} if kind is None else types(kind))).result
    return PadV2Op(x, pads, constant(constants, "padding", np.asarray(number), x)).result  # OpenVINO takes a scalar only


# Quantized types


def operator_of(found: IntegerOperator) -> SchemaOp:
    """Returns what an operator between integers computes in floats."""
    assert found.operator is not None
    return found.operator


def inputs_of(found: IntegerOperator) -> list[Quantized]:
    """Returns the operands that are dequantized."""
    return [item for item in found.inputs if item is not None]


def types(*kinds: QuantizedType) -> dict[str, Any]:
    """Returns the scales and the zero points of quantized types, as arguments."""
    return {"scales": tuple(kind.scale for kind in kinds), "zero_points": tuple(kind.zero_point for kind in kinds)}


def own_type(element: Attribute, scale: float, zero_point: int = 0) -> QuantizedType:
    """Returns a type with all integers of an element type."""
    return QuantizedType(element, *RANGES[element], (scale,), (zero_point,))


def fixed_type(node: Any, x: QuantizedType) -> QuantizedType:
    """Returns the type of the integers that an operator with a scale of its own gives, of integers of the same element type."""
    return own_type(x.storage, *node.fixed[x.storage])


def same(x: Quantized, to: QuantizedType) -> SSAValue:
    """Returns integers as integers of another type."""
    if (x.type.scale, x.type.zero_point) == (to.scale, to.zero_point):
        return x.value
    return e.QuantizeOp(x.value, dtype=to.storage, **types(x.type, to)).result


def ended(found: IntegerOperator, build: Callable[[str], SSAValue], constants: ModuleConstants) -> SSAValue:
    """Returns an operator between integers within the limits of its clamps: those of an activation, or of more operators."""
    activation = _activation(found)
    return build(activation) if activation else limited(build("NONE"), found, constants)


def limited(value: SSAValue, found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Returns integers within the limits of the clamps behind an operator."""
    activation = _activation(found)
    if activation and (activation == "NONE" or has_activation(element_of(value), activation)):
        return value if activation == "NONE" else e.LIMITED[activation](value, **types(found.to)).result
    return clamped(value, found.low, found.high, constants)


def has_activation(element: Attribute, activation: str) -> bool:
    """Returns whether the limits of an activation are an operator of a type."""
    return element in (e.LIMITED[activation].takes or ())


def clamped(value: SSAValue, low: int, high: int, constants: ModuleConstants) -> SSAValue:
    """Returns integers within limits, by no operator where these are those of their type."""
    least, most = RANGES[element_of(value)]
    for name, limit, default in (("maximum", low, least), ("minimum", high, most)):
        if limit != default:
            value = e.BINARY[name](value, of_numbers(constants, name, limit, value)).result
    return value


def floats_of(value: SSAValue, constants: ModuleConstants) -> Array:
    """Returns a constant of floats, perhaps a dequantized one."""
    found, op = constants.array(value), value.owner
    if found is None:
        assert isinstance(op, SchemaOp)
        found = op.call("numpy", op.bind([constants.elements(operand) for operand in op.operands], op.properties))
    return found


def _activation(found: IntegerOperator) -> str | None:
    """Returns the activation with the limits of the clamps behind an operator; None if there is none."""
    limits, kind = (found.low, found.high), found.to
    dtype = numpy_dtype(kind.storage)
    return next((name for name in ACTIVATIONS if limits_of(name, kind.scale, kind.zero_point, dtype) == limits), None)
