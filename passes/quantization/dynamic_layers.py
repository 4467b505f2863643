"""Linear layers with dynamically quantized inputs: scale and zero point are computed at run time."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.elementwise.arithmetic import MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.conversion import ToCopyOp
from flambeau.dialects.aten.linear_algebra.matmul import MmOp
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.fused.dynamic_quantized import DynamicQuantizedLinearOp
from flambeau.dialects.fused.packing import pack_quads
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES
from flambeau.dialects.ir.tensor_types import element_of, is_float, shape_of, tensor, ui8
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorTensorOp, DequantizePerTokenOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.linear_layers import EDGE_PRODUCTS, linear_parts
from flambeau.passes.quantization.weight_only_layers import IntegerWeight, integer_weight
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import Array, np


@dataclass(frozen=True)
class DynamicInput:
    """A dynamically quantized tensor: its integers, with a scale and zero point for the tensor or for each row."""

    integers: SSAValue
    scale: SSAValue
    zero_point: SSAValue


def dynamic_input(value: SSAValue) -> DynamicInput | None:
    """Returns the integers that `value` dequantizes to float32, with scale and zero point in tensors; None otherwise."""
    match value.owner:
        case DequantizePerTensorTensorOp() | DequantizePerTokenOp() as op if element_of(value) == f32:
            found = DynamicInput(*op.operands[:3])
        case _:
            return None
    zero_points = element_of(found.zero_point)
    if element_of(found.integers) not in RANGES or not is_float(element_of(found.scale)) or zero_points not in (i8, i32, i64):
        return decline("its input becomes floats: only int8 and uint8, with zero points of integers, have a kernel")
    return found


def _integer_product(x: DynamicInput, weight: IntegerWeight, bias: SSAValue | None, constants: ModuleConstants) -> SSAValue:
    """Returns the layer as one operator, on constants for the packed weight, its sums and its scales."""
    packed, sums = pack_quads(weight.integers), weight.integers.sum(1, dtype=np.int32)
    load = constants.add(f"{weight.name}.packed", packed, tensor(i8, packed.shape))
    totals = constants.add(f"{weight.name}.sums", sums, tensor(i32, sums.shape))
    scales = constants.add(f"{weight.name}.scales", weight.scales, tensor(f32, weight.scales.shape))
    loads = (item.results[0] for item in (load, totals, scales))
    return DynamicQuantizedLinearOp(x.integers, x.scale, x.zero_point, *loads, bias, shape_of(scales.results[0])[0]).result


@dataclass(frozen=True)
class _Layers:
    """The rewrites of layers whose inputs are quantized when they run."""

    target: Target
    constants: ModuleConstants

    def layer(self, op: SchemaOp) -> SSAValue | None:
        """Multiplies the integers of a dynamically quantized input of a linear, mm or addmm with those of a dequantized constant."""
        parts = linear_parts(op)
        x = None if parts is None else dynamic_input(parts.input)
        weight = None if parts is None or x is None else integer_weight(parts, self.constants)
        if parts is None or x is None or weight is None:
            return None
        if not self.target.has(DynamicQuantizedLinearOp):
            return decline(f"its input becomes floats: the target {self.target.name!r} has no kernel for {DynamicQuantizedLinearOp.name}")
        depth = weight.integers.shape[1]
        if depth > MOST_PRODUCTS or any(not is_row_major(value) for value in (x.integers, op.results[0])):
            return decline("its input becomes floats: only row-major tensors, and sums that fit int32, are multiplied as integers")
        return _integer_product(x, weight, parts.bias, self.constants)

    def written_out(self, op: SchemaOp) -> SSAValue | None:
        """Finds float(mm(int32(x), int32(constant)) - zero_point * sums) * scale, as torchao writes a layer."""
        if not self.target.has(DynamicQuantizedLinearOp):
            return None
        for value, scale in (op.operands, reversed(op.operands)):
            source = _widened_from(value, f32)
            if source is None or element_of(source) != i32 or not _are_for_rows(scale, value) or not is_row_major(op.result):
                continue
            product, offsets = source.owner, None
            if isinstance(product, SubTensorOp) and product.argument("alpha") == 1:
                offsets, product = self.constants.array(product.operands[1]), product.operands[0].owner
                if offsets is None:
                    continue
            if isinstance(product, MmOp) and (parts := self._parts(product, offsets)) is not None:
                integers, zero_point, weight = parts
                zero = self.constants.add(f"{weight.name}.zero_point", np.array([zero_point], np.int32), tensor(i32, (1,)))
                return _integer_product(DynamicInput(integers, scale, zero.results[0]), weight, None, self.constants)
        return None

    def _parts(self, product: MmOp, offsets: Array | None) -> tuple[SSAValue, int, IntegerWeight] | None:
        """Returns the input's integers and zero point, and the weight; None unless `offsets` is the zero point times the weight's sums."""
        integers, matrix = (_widened_from(operand, i32) for operand in product.operands)
        array = None if matrix is None else self.constants.array(matrix)
        if integers is None or element_of(integers) not in RANGES or matrix is None or array is None or array.dtype != np.int8:
            return None
        if array.shape[0] > MOST_PRODUCTS or not is_row_major(integers):
            return None
        weight = IntegerWeight(self.constants.name(matrix), array.T, np.ones(array.shape[1], np.float32))
        zero_point = 0 if offsets is None else _ratio(offsets.reshape(-1), array.sum(0, dtype=np.int64))
        if zero_point is None or not RANGES[element_of(integers)][0] <= zero_point <= RANGES[element_of(integers)][1]:
            return None
        if zero_point == 128 and (signed := _before_128_was_added(integers)) is not None:
            return signed, 0, weight
        return integers, zero_point, weight


def dynamic_patterns(target: Target, constants: ModuleConstants) -> list[Pattern]:
    """Returns the patterns."""
    found = _Layers(target, constants)
    layers = [rewrites(kind, counter="dynamically quantized layers fused")(found.layer) for kind in EDGE_PRODUCTS]
    return [*layers, rewrites(MulTensorOp.at("edge"), counter="products of integers fused")(found.written_out)]


def _widened_from(value: SSAValue, element: Attribute) -> SSAValue | None:
    """Returns the operand of the `_to_copy` to this element type that computes `value`; None without one."""
    return value.owner.operands[0] if isinstance(value.owner, ToCopyOp) and element_of(value) == element else None


def _are_for_rows(scale: SSAValue, product: SSAValue) -> bool:
    """Returns whether `scale` is float32, for the whole matrix `product` or for each of its rows."""
    shape = shape_of(scale)
    return element_of(scale) == f32 and is_row_major(scale) and (shape == (*shape_of(product)[:1], 1) or shape in ((), (1,)))


def _ratio(numbers: Array, sums: Array) -> int | None:
    """Returns the integer factor from `sums` to `numbers`, 0 if all are 0; None without one."""
    if numbers.shape not in ((1,), sums.shape):
        return None
    first = int(np.argmax(sums != 0))
    factor = int(numbers[min(first, len(numbers) - 1)]) // int(sums[first]) if sums[first] else 0
    return factor if (numbers == factor * sums).all() else None


def _before_128_was_added(value: SSAValue) -> SSAValue | None:
    """Returns the int8 tensor to which 128 was added to make a uint8 tensor; None for other values."""
    total = _widened_from(value, ui8)
    added = None if total is None else total.owner
    if (
        not isinstance(added, SchemaOp)
        or added.schema.name != "add.Scalar"
        or added.argument("other") != 128
        or added.argument("alpha") != 1
    ):
        return None
    source = _widened_from(added.operands[0], i32)
    return source if source is not None and element_of(source) == i8 else None
