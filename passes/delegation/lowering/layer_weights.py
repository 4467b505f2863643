"""Weights of layers in one form, for converters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, integer_bias
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


def weight_by_outputs(op: SchemaOp, weight: Array) -> Array:
    """Returns a weight as [outputs, inputs of a group, *kernel]; a transposed convolution has [inputs, outputs of a group, *kernel]."""
    if op.schema.base == "linear" or not op.argument("transposed"):
        return weight
    grouped = weight.reshape(op.argument("groups"), -1, *weight.shape[1:])
    return np.swapaxes(grouped, 1, 2).reshape(-1, grouped.shape[1], *weight.shape[2:])


def with_gaps(weight: Array, dilation: Sequence[int]) -> Array:
    """Returns a weight with zeros between its elements, instead of gaps between those of the windows."""
    sizes = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], dilation, strict=True)]
    found = np.zeros((*weight.shape[:2], *sizes), weight.dtype)
    found[:, :, :: dilation[0], :: dilation[1]] = weight
    return found


@dataclass(frozen=True)
class IntegerLayer:
    """The constants of a convolution or linear layer between integers.

    Attributes:
        name: that of the weight.
        weight: int8, [outputs, inputs of a group, *kernel].
        bias: a number for each output, in steps of the sums of products: whole numbers in float64.
        weight_scales: one, or one for each output.
        scales: a step of the sums of each output.
    """

    name: str
    weight: Array
    bias: Array
    weight_scales: tuple[float, ...]
    scales: Array

    def most(self, largest: int) -> Array:
        """Returns the greatest absolute sum of products and bias of each output, where activations are up to `largest`, as float64."""
        return np.abs(self.bias) + largest * np.abs(self.weight.reshape(len(self.weight), -1).astype(np.int64)).sum(1)


def integer_layer(found: IntegerOperator, constants: ModuleConstants) -> IntegerLayer:
    """Returns the constants of a layer between integers."""
    op, kernel = found.operator, found.inputs[1]
    assert op is not None and kernel is not None
    array, bias, kind = constants.array(kernel.value), op.argument("bias"), kernel.type
    assert array is not None
    weight = weight_by_outputs(op, array)
    if len(kind.scales) > 1:  # the groups of a transposed convolution have them in common
        kind = replace(kind, scales=kind.scales * (len(weight) // len(kind.scales)))
    whole, scales = integer_bias(found.x.type, kind, None if bias is None else constants.array(bias), len(weight))
    return IntegerLayer(constants.name(kernel.value), weight, whole, kind.scales, scales)
