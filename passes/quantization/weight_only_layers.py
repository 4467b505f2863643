"""Linear layers of floats with weights of int8, which stay integers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, MulTensorOp
from flambeau.dialects.aten.elementwise.conversion import ToCopyOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.fused.dynamic_quantized import DynamicQuantizedLinearOp
from flambeau.dialects.fused.packing import pack_linear_weight
from flambeau.dialects.fused.weight_only import WeightOnlyLinearOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.linear_layers import EDGE_PRODUCTS, LinearParts, linear_parts
from flambeau.passes.analysis.quantized_operators import DEQUANTIZE
from flambeau.passes.analysis.quantized_types import dequantized
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import Array, np

_LAYERS = (WeightOnlyLinearOp, DynamicQuantizedLinearOp)
"""Whose last arguments are scales, bias and the number of output features."""


@dataclass(frozen=True)
class IntegerWeight:
    """The weight of a linear layer: [outputs, inputs] in int8, and a scale in float32 for each output."""

    name: str
    integers: Array
    scales: Array


def integer_weight(parts: LinearParts, constants: ModuleConstants) -> IntegerWeight | None:
    """Returns the constant int8 weight of a layer with its scales; None, with a reason, for another form of weight."""
    source = parts.weight.owner
    if isinstance(source, ToCopyOp) and element_of(source.operands[0]) == i8:
        value, scales = source.operands[0], np.ones(1, np.float32)
    elif (found := dequantized(parts.weight, constants)) is not None:
        value, scales = found.value, np.array(found.type.scales, np.float32)
        if found.type.storage != i8 or any(found.type.zero_points) or found.type.axis not in (None, parts.output_axis):
            return decline("its weight becomes floats: it is not of int8, its zero points are not 0, or its scales not of output features")
    else:
        return decline("its weight becomes floats: their parameters are no constants") if isinstance(source, DEQUANTIZE) else None
    array = constants.array(value)
    if array is None or array.ndim != 2:
        return decline("its weight becomes floats: the integers are not a constant matrix")
    integers = array.T if parts.transposed else array
    return IntegerWeight(constants.name(value), integers, np.broadcast_to(scales, len(integers)))


@dataclass(frozen=True)
class _Weights:
    """The rewrites of layers with an integer weight."""

    target: Target
    constants: ModuleConstants

    def layer(self, op: SchemaOp) -> SchemaOp | None:
        """Keeps the dequantized constant of a linear, mm or addmm of floats int8: its scales come after the product."""
        parts = linear_parts(op)
        weight = None if parts is None else integer_weight(parts, self.constants)
        if parts is None or weight is None:
            return None
        if not self.target.has(WeightOnlyLinearOp):
            return decline(f"its weight becomes floats: the target {self.target.name!r} has no kernel for {WeightOnlyLinearOp.name}")
        if any(element_of(value) != f32 or not is_row_major(value) for value in (parts.input, op.results[0])):
            return decline("its weight becomes floats: only row-major tensors of f32 are multiplied with integers")
        packed = pack_linear_weight(weight.integers)
        load = self.constants.add(f"{weight.name}.packed", packed, tensor(i8, packed.shape))
        scales = self.constants.add(f"{weight.name}.scales", weight.scales, tensor(f32, weight.scales.shape))
        return WeightOnlyLinearOp(parts.input, load.results[0], scales.results[0], parts.bias, len(weight.integers))

    def scale(self, op: SchemaOp) -> SchemaOp | None:
        """Makes a constant for each output feature, by which the result of a layer is multiplied, its scales."""
        for value, factor in (op.operands, reversed(op.operands)):
            layer, array = value.owner, self.constants.array(factor)
            if not isinstance(layer, _LAYERS) or not value.has_one_use() or array is None or array.dtype != np.float32:
                continue
            *given, scales, bias, features = layer.arguments()
            own = self.constants.array(scales)
            if own is None or bias is not None or array.shape not in ((), (1,), (features,)) or op.results[0].type != value.type:
                continue
            product = own * array
            load = self.constants.add(self.constants.name(scales), product, tensor(f32, product.shape))
            return type(layer)(*given, load.results[0], None, features)
        return None


@rewrites(AddTensorOp, counter="biases fused")
def _bias(op: AddTensorOp) -> SchemaOp | None:
    """Makes a vector of the output features, which is added to the result of a layer, perhaps in another view of its rows, its bias."""
    for value, vector in (op.operands, reversed(op.operands)):
        view = value.owner if isinstance(value.owner, ViewOp) else None
        inner = value if view is None else view.operands[0]
        layer = inner.owner
        if not isinstance(layer, _LAYERS) or not value.has_one_use() or not inner.has_one_use() or op.argument("alpha") != 1:
            continue
        *given, scales, bias, features = layer.arguments()
        ends_alike = shape_of(value)[-1:] == shape_of(vector) == (features,)
        if bias is not None or not ends_alike or element_of(vector) != f32 or op.results[0].type != value.type:
            continue
        fused = type(layer)(*given, scales, vector, features)
        return fused if view is None else ViewOp.at("edge")(fused.result, view.argument("size"))
    return None


def weight_only_patterns(target: Target, constants: ModuleConstants) -> list[Pattern]:
    """Returns the patterns; they match layers with an integer weight only."""
    weights = _Weights(target, constants)
    layers = [rewrites(kind, counter="weights kept as integers")(weights.layer) for kind in EDGE_PRODUCTS]
    return [*layers, rewrites(MulTensorOp, counter="scales fused")(weights.scale), _bias]
