"""Quantized types: scale, zero point and range of a tensor's integers, read from its dequantize or quantize operator."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.aten.elementwise.conversion import ToCopyOp
from flambeau.dialects.ir.tensor_types import element_of, is_float, normalize_dim, shape_of
from flambeau.dialects.quantized_decomposed.quantize import (
    RANGES,
    DequantizePerChannelOp,
    DequantizePerTensorOp,
    QuantizePerTensorOp,
    quantize,
)
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.linear_layers import PRODUCTS
from flambeau.passes.analysis.quantized_operators import DEQUANTIZE, QuantizedOperator
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


@dataclass(frozen=True)
class QuantizedType:
    """(q - zero_point) * scale, with numbers for the whole tensor, or for each entry of dimension `axis`: MLIR's `!quant.uniform`."""

    storage: Attribute
    low: int
    high: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def scale(self) -> float:
        """The per-tensor value; per-channel types have none."""
        assert self.axis is None
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The per-tensor value; per-channel types have none."""
        assert self.axis is None
        return self.zero_points[0]

    def stands_for_same(self, other: QuantizedType) -> bool:
        """Returns whether both types map equal integers to equal floats."""
        return (self.storage, self.scales, self.zero_points, self.axis) == (other.storage, other.scales, other.zero_points, other.axis)

    def floats(self, integers: Array) -> Array:
        """Returns the floats that integers stand for, as `dequantize_per_tensor` computes them."""
        return (integers.astype(np.int32) - self.zero_point).astype(np.float32) * np.float32(self.scale)

    def quantize(self, number: float) -> int:
        """Returns the quantized integer of a float, computed in float32 as by `quantize_per_tensor`."""
        return int(np.clip(np.rint(np.float32(number) * np.float32(1.0 / self.scale)) + self.zero_point, self.low, self.high))


@dataclass(frozen=True)
class Quantized:
    """A tensor of integers, and its quantized type."""

    value: SSAValue
    type: QuantizedType


def dequantized(value: SSAValue, constants: ModuleConstants) -> Quantized | None:
    """Returns the integers that `value` dequantizes to float32; None unless it does, with constant parameters."""
    op = value.owner
    if not isinstance(op, DEQUANTIZE) or element_of(value) != f32:
        return None
    match op:
        case DequantizePerTensorOp():
            integers, scale, zero_point, low, high, _, _ = op.arguments()
            return Quantized(integers, QuantizedType(element_of(integers), low, high, (_single(scale),), (zero_point,)))
        case DequantizePerChannelOp():
            integers, scale, zero_point, axis, low, high, _, _ = op.arguments()
            scales = constants.array(scale)
            zeros = None if zero_point is None else constants.array(zero_point)
            if scales is None or (zero_point is not None and zeros is None):
                return None
            numbers = tuple(float(item) for item in scales)
            zero_points = (0,) * len(numbers) if zeros is None else tuple(int(item) for item in zeros)
            dim = normalize_dim(axis, len(shape_of(integers)))
            return Quantized(integers, QuantizedType(element_of(integers), low, high, numbers, zero_points, dim))
        case _:
            return None


@dataclass(frozen=True)
class IntegerOperator:
    """An operator between integers, with the numbers that say what its integers are.

    Attributes:
        operator: computes the same in floats; None where integers of one quantized type become those of another.
        inputs: the integers of its operands, or of the one whose type changes; None for operands that are not dequantized.
        to: the quantized type of the result.
        low: the least integer of the result, with the limits of the clamps behind the operator.
        high: the greatest.
    """

    operator: SchemaOp | None
    inputs: tuple[Quantized | None, ...]
    to: QuantizedType
    low: int
    high: int

    @property
    def x(self) -> Quantized:
        """The integers of the first operand."""
        found = self.inputs[0]
        assert found is not None
        return found

    def table(self) -> tuple[int, ...]:
        """Returns the result for each integer that the storage of the first operand has, the least first, of a function of each element."""
        least, most = RANGES[self.x.type.storage]
        return tuple(int(item) for item in self.results(np.arange(least, most + 1)))

    def results(self, integers: Array) -> Array:
        """Returns the results for integers of the first operand, of a function of each element."""
        to, numbers = self.to, self.x.type.floats(integers)
        if self.operator is not None:
            with np.errstate(all="ignore"):
                numbers = self.operator.call("numpy", self.operator.bind([numbers], self.operator.properties))
        return quantize(numbers, np.float32(1.0 / to.scale), np.float32(to.zero_point), self.low, self.high, to.storage)


def integer_operator(found: QuantizedOperator, constants: ModuleConstants) -> IntegerOperator:
    """Returns the integers and types of an operator between integers."""
    to = quantized_type(found.quantize)
    low, high = to.low, to.high
    for clamp in found.clamps:
        bounds = bounds_of_clamp(clamp)
        assert bounds is not None
        least, most = narrowed(to, bounds)
        low, high = (min(max(number, least), most) for number in (low, high))
    return IntegerOperator(found.operator, tuple(dequantized(value, constants) for value in found.floats), to, low, high)


def integer_bias(x: QuantizedType, weight: QuantizedType, bias: Array | None, outputs: int) -> tuple[Array, Array]:
    """Returns the bias of a layer in steps of its sums of products, whole numbers in float64, and the scale of a step for each output."""
    scales = x.scale * np.broadcast_to(np.array(weight.scales, np.float64), outputs)
    return (np.zeros(outputs) if bias is None else np.rint(bias.astype(np.float64) / scales)), scales


def widens_weight(op: Operation) -> bool:
    """Returns whether `op` makes floats or int32 of int8 for matrix products only: a dequantization whose scales come after the product."""
    if not isinstance(op, ToCopyOp) or element_of(op.operands[0]) != i8:
        return False
    if not is_float(element_of(op.results[0])) and element_of(op.results[0]) != i32:
        return False
    return all(isinstance(use.operation, PRODUCTS) for use in op.results[0].uses)


def quantized_type(op: QuantizePerTensorOp) -> QuantizedType:
    """Returns the quantized type of the result."""
    _, scale, zero_point, low, high, _ = op.arguments()
    return QuantizedType(element_of(op.result), low, high, (_single(scale),), (zero_point,))


def _single(scale: float) -> float:
    """Returns a scale rounded to float32, as kernels read it."""
    return float(np.float32(scale))


def narrowed(to: QuantizedType, bounds: tuple[float, float]) -> tuple[int, int]:
    """Returns the range of integers of `to` for floats between `bounds`."""
    low, high = (to.quantize(bound) for bound in bounds)
    return max(low, to.low), max(low, min(high, to.high))
