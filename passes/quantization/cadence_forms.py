"""Layers and sums between integers, as ExecuTorch's runtime for Cadence's DSPs computes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.layers.norm import LayerNormOp
from flambeau.dialects.aten.linear_algebra.matmul import BmmOp, MmOp
from flambeau.dialects.aten.movement.permute import PermuteOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.cadence.cadence_elementwise import (
    DequantizeOp,
    QuantizedAddSignedOp,
    QuantizedAddUnsignedOp,
    QuantizedReluOp,
    QuantizedSumOp,
    QuantizeOp,
)
from flambeau.dialects.cadence.cadence_layers import (
    QuantizedConvolutionLastOp,
    QuantizedConvolutionOp,
    QuantizedLinearOp,
    QuantizedMatmulOp,
    QuantizedRowsLastOp,
    QuantizedRowsOp,
)
from flambeau.dialects.cadence.cadence_norm import MOST_NUMBERS, QuantizedLayerNormOp
from flambeau.dialects.cadence.fixed_point import MOST_BITS
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, fixed_point
from flambeau.dialects.ir.tensor_types import element_of, same_shape, shape_of, tensor, tensor_type, ui8
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType, integer_bias, integer_operator
from flambeau.passes.quantization.integer_pattern import IntegerPattern
from flambeau.passes.quantization.sums_and_products import PairPattern
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.lookup import op as find
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import Array, np

_INT32 = 2**31 - 1
_OF_A_ROW = find("cadence.quantized_fully_connected.per_tensor")
_SUMS: dict[Attribute, type[QuantizedSumOp]] = {i8: QuantizedAddSignedOp, ui8: QuantizedAddUnsignedOp}


def _ratio(ratio: float) -> tuple[int, int]:
    """Returns a ratio as out_multiplier and out_shift. Raises ValueError where it is too large."""
    multiplier, shift = fixed_point(np.array([ratio]))
    return int(multiplier[0]), MOST_BITS - int(shift[0])


def _computed(found: IntegerOperator, target: Target) -> QuantizedType | None:
    """Returns the quantized type in which an operator is computed, before a relu if that is another one than the result's.

    It begins with zero then, so that the operator saturates there: the vendor's relu only goes from one type to another. None, with a
    reason, where the results are limited in another way.
    """
    to, (low, high) = found.to, RANGES[found.to.storage]
    if (found.low, found.high) == (low, high):
        return to
    if (found.low, found.high) == (to.zero_point, high) and to.zero_point < high and target.has(QuantizedReluOp):
        return replace(to, scales=(to.scale * (high - to.zero_point) / (high - low),), zero_points=(low,))
    return decline(f"stays in floats: of limits, only that of a relu has a kernel, not {found.low} to {found.high}")


def _with_relu(value: SSAValue, computed: QuantizedType, to: QuantizedType) -> SSAValue:
    """Returns the numbers of a result in its type."""
    if computed is to:
        return value
    return QuantizedReluOp(value, computed.zero_point, to.zero_point, *_ratio(computed.scale / to.scale)).result


def _last(value: SSAValue) -> SSAValue | None:
    """Returns the images or rows, channels last, of which a permutation makes these, channels first; None for other values."""
    owner = value.owner
    rank = len(shape_of(value))
    if not isinstance(owner, PermuteOp) or owner.level() != "edge" or not is_row_major(owner.operands[0]):
        return None
    return owner.operands[0] if tuple(d % rank for d in owner.argument("dims")) == (0, rank - 1, *range(1, rank - 1)) else None


def _first(value: SSAValue) -> SSAValue:
    """Returns images or rows, whose channels come last, channels first."""
    rank = len(shape_of(value))
    return PermuteOp.at("edge")(value, (0, rank - 1, *range(1, rank - 1))).result


def _behind_permutations(compute: Callable[..., SSAValue], *values: SSAValue) -> SSAValue:
    """Returns what an elementwise operator computes: of images or rows before permutations made them channels first, where all were."""
    origins = [_last(value) for value in values]
    return compute(*values) if None in origins else _first(compute(*origins))


@dataclass(frozen=True)
class _Convolution:
    """A convolution of integers, channels last where a permutation has made its input of such ones.

    The permutation is then behind it, where another one may cancel it: of convolutions in a row, one remains.
    """

    op: SchemaOp
    source: SSAValue
    kernel: SSAValue
    weight: Array
    """The numbers of `kernel`."""
    bias: SSAValue
    numbers: tuple[float, ...]
    """The arguments behind the window and the groups."""

    def result(self, constants: ModuleConstants, with_relu: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Returns the integers, after the relu."""
        _, _, _, *window, _, _, groups = self.op.arguments()
        source, weight = _last(self.source), self.weight
        last, is_of_rows = source is not None, weight.ndim == 3
        x = self.source if source is None else source
        if is_of_rows and groups == 1:
            kernel = self._repacked(constants, np.moveaxis(weight, 1, -1)) if last else self.kernel
            return self._placed(self._layer(QuantizedRowsLastOp if last else QuantizedRowsOp, x, kernel, window, groups), last, with_relu)
        if is_of_rows:
            # The vendor's functions for rows have no groups: an image of one row has them.
            weight, window = weight[:, :, None], [(neutral, *item) for neutral, item in zip((1, 0, 1), window, strict=True)]
            shape = shape_of(x)
            x = ViewOp.at("edge")(x, (shape[0], 1, *shape[1:]) if last else (*shape[:2], 1, *shape[2:])).result
        if not last:
            kernel = self._repacked(constants, weight) if is_of_rows else self.kernel
            value = self._layer(QuantizedConvolutionOp, x, kernel, window, groups)
        elif weight.shape[2:] == (1, 1) and window == [(1, 1), (0, 0), (1, 1)] and groups == 1:
            zero, weight_zero, _, _, out_zero, *ratio = self.numbers
            kernel = self._repacked(constants, weight[:, :, 0, 0])
            value = QuantizedLinearOp(x, kernel, self.bias, zero, weight_zero, *ratio, out_zero, None).result
        else:
            # The vendor's depthwise function has no dilation, and does not see one: it is only for weights without a dimension of inputs.
            is_depthwise = groups == shape_of(x)[-1] and window[2] == (1, 1)
            kernel = self._repacked(constants, np.moveaxis(weight[:, 0], 0, -1) if is_depthwise else np.moveaxis(weight, 1, -1))
            value = self._layer(QuantizedConvolutionLastOp, x, kernel, window, groups)
        if is_of_rows:
            shape = shape_of(value)
            value = ViewOp.at("edge")(value, (shape[0], *shape[2:]) if last else (*shape[:2], *shape[3:])).result
        return self._placed(value, last, with_relu)

    def _layer(self, form: type[SchemaOp], x: SSAValue, kernel: SSAValue, window: Sequence[Any], groups: int) -> SSAValue:
        offset = (None,) * (form.schema.arguments[-1].name == "offset")
        return form(x, kernel, self.bias, *window, groups, *self.numbers, *offset).results[0]

    def _repacked(self, constants: ModuleConstants, weight: Array) -> SSAValue:
        kind = tensor(element_of(self.kernel), weight.shape)
        return constants.add(f"{constants.name(self.kernel)}.repacked", np.ascontiguousarray(weight), kind).results[0]

    def _placed(self, value: SSAValue, last: bool, with_relu: Callable[[SSAValue], SSAValue]) -> SSAValue:
        found = with_relu(value)
        return _first(found) if last else found


@dataclass(frozen=True)
class LayerPattern(IntegerPattern):
    """quantize(relu(linear or convolution(dequantize(x), dequantize(constant), bias))): the layer, and the relu where it does something."""

    operators = (LinearOp, ConvolutionOp)
    counter = "layers converted"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a layer; None, with a reason, where no kernel computes them."""
        if not self.has(QuantizedLinearOp if isinstance(op, LinearOp) else QuantizedConvolutionOp):
            return None
        (source, kernel), to, bias = found.inputs[:2], found.to, op.argument("bias")
        if source is None or kernel is None:
            return decline("stays in floats: its input or its weight is not dequantized with constant parameters")
        if source.type.axis is not None or kernel.type.axis is not None:
            return decline("stays in floats: its weight has a scale for each output, and the kernels take one for all")
        if to.storage not in RANGES or {source.type.storage, kernel.type.storage} != {to.storage}:
            return decline(f"stays in floats: {source.type.storage} times {kernel.type.storage} as {to.storage} has no kernel")
        integers, biases = self.constants.array(kernel.value), None if bias is None else self.constants.array(bias)
        if integers is None or (bias is not None and biases is None):
            return decline("stays in floats: its weight or its bias is not a constant")
        if not is_row_major(op.operands[0]) or not is_row_major(op.results[0]):
            return decline("stays in floats: it has another layout than row-major")
        computed = _computed(found, self.target)
        numbers = None if computed is None else self._numbers(op, source, kernel, computed, integers, biases)
        if numbers is None or computed is None:
            return None
        whole, ratio = numbers
        name = self.constants.name(kernel.value)
        sums = self.constants.add(f"{name}.bias", whole.astype(np.int32), tensor(i32, whole.shape)).results[0]
        zero_points = source.type.zero_point, kernel.type.zero_point
        if isinstance(op, LinearOp):
            # Of one row, the vendor has another function.
            form = _OF_A_ROW if shape_of(source.value)[:-1] == (1,) and self.target.has(_OF_A_ROW) else QuantizedLinearOp
            layer: SchemaOp = form(source.value, kernel.value, sums, *zero_points, *ratio, computed.zero_point, None)
        else:
            scales = source.type.scale * kernel.type.scale, computed.scale
            convolution = _Convolution(op, source.value, kernel.value, integers, sums, (*zero_points, *scales, computed.zero_point, *ratio))
            return convolution.result(self.constants, lambda value: _with_relu(value, computed, to))
        return _with_relu(layer.results[0], computed, to)

    def _numbers(
        self, op: SchemaOp, source: Quantized, kernel: Quantized, to: QuantizedType, integers: Array, biases: Array | None
    ) -> tuple[Array, tuple[int, int]] | None:
        """Returns the bias in steps of the sums, and the ratio of scales; None, with a reason, where they do not fit."""
        ratio = source.type.scale * kernel.type.scale / to.scale
        if isinstance(op, ConvolutionOp):
            if op.argument("transposed") or integers.ndim not in (3, 4):
                return decline("stays in floats: of convolutions, only those of images or rows, not transposed, have a kernel")
            if ratio >= 1:
                return decline(f"stays in floats: of convolutions, only those with a ratio of scales below 1 have a kernel, not {ratio}")
        rows = integers.reshape(integers.shape[0], -1).astype(np.int64) - kernel.type.zero_point
        whole, _ = integer_bias(source.type, kernel.type, biases, len(rows))
        if rows.shape[1] > MOST_PRODUCTS or (np.abs(whole) + 255 * np.abs(rows).sum(1) > _INT32).any():
            return decline("stays in floats: the sum of products and bias may not fit int32")
        try:
            return whole, _ratio(ratio)
        except ValueError as error:
            return decline(f"stays in floats: {error}")


@dataclass(frozen=True)
class SumPattern(PairPattern):
    """quantize(relu(dequantize(x) + dequantize(y))): the sum, and the relu where it does something."""

    operators = (AddTensorOp,)
    counter = "sums converted"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a sum; None, with a reason, where no kernel computes them."""
        form = _SUMS.get(found.to.storage, QuantizedAddSignedOp)
        if op.argument("alpha") != 1 or (operands := self.pair(found, form)) is None:
            return None
        (x, y), to = operands, found.to
        if x.value.type != y.value.type or not same_shape(shape_of(x.value), shape_of(y.value)):
            return decline("stays in floats: its operands have different sizes or layouts")
        if (computed := _computed(found, self.target)) is None:
            return None

        def total(left: SSAValue, right: SSAValue) -> SSAValue:
            numbers = (item for value, kind in ((left, x.type), (right, y.type)) for item in (value, kind.scale, kind.zero_point))
            return _with_relu(form(*numbers, computed.scale, computed.zero_point).result, computed, to)

        return _behind_permutations(total, x.value, y.value)


@dataclass(frozen=True)
class ProductPattern(PairPattern):
    """quantize(relu(dequantize(x) @ dequantize(y))): the products of matrices, and the relu where it does something."""

    operators = (MmOp, BmmOp)
    counter = "products converted"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of products; None, with a reason, where no kernel computes them."""
        if (operands := self.pair(found, QuantizedMatmulOp)) is None or (computed := _computed(found, self.target)) is None:
            return None
        x, y = operands
        try:
            ratio = _ratio(x.type.scale * y.type.scale / computed.scale)
        except ValueError as error:
            return decline(f"stays in floats: {error}")
        if not all(is_row_major(item) for item in (x.value, y.value, result)) or (shape_of(x.value)[-1:] > (MOST_PRODUCTS,)):
            return decline(f"stays in floats: only row-major matrices have a kernel, with sums of at most {MOST_PRODUCTS} products")
        product = QuantizedMatmulOp(x.value, x.type.zero_point, y.value, y.type.zero_point, None, *ratio, computed.zero_point)
        return _with_relu(product.result, computed, found.to)


@dataclass(frozen=True)
class NormPattern(IntegerPattern):
    """quantize(layer_norm(dequantize(x), weight, bias))."""

    operators = (LayerNormOp,)
    counter = "norms converted"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a norm; None, with a reason, where no kernel computes them."""
        source, to = found.inputs[0], found.to
        if not self.has(QuantizedLayerNormOp) or source is None:
            return None
        if source.type.axis is not None or to.storage not in RANGES or source.type.storage != to.storage:
            return decline(f"stays in floats: a norm of {source.type.storage} as {to.storage} has no kernel")
        if (found.low, found.high) != RANGES[to.storage] or not is_row_major(op.operands[0]):
            return decline("stays in floats: its results are limited, or it has another layout than row-major")
        _, shape, weight, bias, eps, _ = op.arguments()
        if not 0 < math.prod(shape) <= MOST_NUMBERS or not 0 < eps <= 1:
            return decline(f"stays in floats: a norm over {list(shape)} with the epsilon {eps} has no kernel")
        kind = tensor(f32, tuple(shape))
        factors = weight if weight is not None else self.constants.add("ones", np.ones(shape, np.float32), kind).results[0]
        addends = bias if bias is not None else self.constants.add("zeros", np.zeros(shape, np.float32), kind).results[0]
        numbers = source.type.scale, source.type.zero_point, shape, factors, addends, eps, to.scale, to.zero_point
        return QuantizedLayerNormOp(source.value, *numbers).result


@dataclass(frozen=True)
class ReluPattern(Pattern):
    """quantize(relu(dequantize(x))), where the result's type begins with zero."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "relus converted"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, which quantizes a limited number of another quantized type."""
        found = quantized_operator(op)
        if found is None or found.operator is not None or not self.target.has(QuantizedReluOp):
            return
        integers = integer_operator(found, self.constants)
        source, to = integers.inputs[0], integers.to
        if source is None or source.type.axis is not None or to.storage not in RANGES or source.type.storage != to.storage:
            return
        low, high = RANGES[to.storage]
        if len(found.clamps) == 1 and (integers.low, integers.high) == (to.zero_point, high) and to.zero_point == low:
            try:
                ratio = _ratio(source.type.scale / to.scale)
            except ValueError as error:
                return decline(f"stays in floats: {error}")
            zero_point = source.type.zero_point

            def relu(value: SSAValue) -> SSAValue:
                return QuantizedReluOp(value, zero_point, low, *ratio).result

            replace_with_values(op, [_behind_permutations(relu, source.value)], rewriter)


def moved_dequantizations() -> list[Pattern]:
    """Returns the patterns that give views and permutations of dequantized numbers the integers, so that what reads them finds these."""

    def moved(op: SchemaOp) -> SchemaOp | None:
        source = op.operands[0].owner
        if not isinstance(source, DequantizePerTensorOp) or len(op.operands) != 1 or element_of(op.operands[0]) != f32:
            return None
        kind = tensor(element_of(source.operands[0]), shape_of(op.results[0]), tensor_type(op.results[0]).encoding)
        integers = op.rebuilt([source.operands[0]], result_types=[kind])
        return DequantizePerTensorOp.from_attributes(integers.results, list(op.result_types), dict(source.properties))

    return [rewrites(kind.at("edge"), counter="dequantizations moved")(moved) for kind in (ViewOp, PermuteOp)]


def remaining_patterns(target: Target) -> list[Pattern]:
    """Returns the patterns that make what quantizes and dequantizes for other operators the target's."""

    @rewrites(QuantizePerTensorOp, counter="quantizations converted")
    def quantized(op: QuantizePerTensorOp) -> SchemaOp | None:
        return QuantizeOp(*op.arguments(), result_types=list(op.result_types)) if target.has(QuantizeOp) else None

    @rewrites(DequantizePerTensorOp, counter="dequantizations converted")
    def dequantized(op: DequantizePerTensorOp) -> SchemaOp | None:
        if not target.has(DequantizeOp):
            return None
        *arguments, _ = op.arguments()
        new = DequantizeOp(*arguments)
        return new if new.result_types == op.result_types else decline("stays: it dequantizes to another type than float32")

    return [quantized, dequantized]
