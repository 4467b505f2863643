"""Convolutions and linear layers. In floats and between integers they differ in the zero point, the bias, and what becomes of the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, check_sums, constant, largest, limited, quantized, reshaped
from flambeau.backends.tosa.converters.images import on_images, without_rest
from flambeau.backends.tosa.converters.movement import part
from flambeau.backends.tosa.dialect.images import Conv2dOp, DepthwiseConv2dOp, TransposeConv2dOp
from flambeau.backends.tosa.dialect.movement import ConcatOp
from flambeau.backends.tosa.dialect.operators import weight_type, wide
from flambeau.backends.tosa.legality import windows_inside
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, QuantizedType
from flambeau.passes.delegation.lowering.layer_weights import integer_layer, weight_by_outputs, with_gaps
from flambeau.passes.delegation.normalized import Windows, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


@dataclass(frozen=True)
class _Layer:
    """A layer, or some of its outputs.

    Attributes:
        weight: [outputs, inputs of a group, *kernel].
        bias: a number for each output, in the element type of sums.
        name: that of the weight.
        zero_point: that of the image.
        ratios: between integers, by what the sums of each output are multiplied; None for floats.
        to: between integers, the type of the results.
    """

    weight: Array
    bias: Array
    name: str
    constants: ModuleConstants
    zero_point: int = 0
    ratios: Array | None = None
    to: QuantizedType | None = None

    def some(self, first: int, count: int) -> _Layer:
        """Returns the layer of consecutive outputs."""
        ratios = self.ratios if self.ratios is None or len(self.ratios) == 1 else self.ratios[first : first + count]
        return replace(self, weight=self.weight[first : first + count], bias=self.bias[first : first + count], ratios=ratios)

    def call(self, kind: Any, image: SSAValue, kernel: Array, **numbers: Any) -> SSAValue:
        """Returns the results of an operator of TOSA on images."""
        element = element_of(image)
        weight = constant(self.constants, self.name, kernel, weight_type(element))
        bias = constant(self.constants, f"{self.name}.bias", self.bias, wide(element))
        sums = kind(image, weight, bias, self.zero_point, **numbers).result
        return sums if self.to is None or self.ratios is None else quantized(sums, self.ratios, self.to)

    def linear(self, op: SchemaOp, x: SSAValue) -> SSAValue:
        """Returns the products of rows with the weight."""
        outputs, inputs = self.weight.shape
        rows = reshaped(x, (prod(shape_of(x)[:-1]), 1, 1, inputs))
        numbers: dict[str, Any] = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
        return reshaped(self.call(Conv2dOp, rows, self.weight.reshape(outputs, 1, 1, inputs), **numbers), shape_of(op.result))

    def convolution(self, op: SchemaOp, x: SSAValue) -> SSAValue:
        """Returns the convolution of images, or of lines, which are images of height 1."""
        windows, groups, is_transposed = windows_of(op), op.argument("groups"), op.argument("transposed")
        layer, windows = (self, windows) if self.weight.ndim == 4 else (replace(self, weight=self.weight[:, :, None]), windows.of_images())
        size, inputs = len(self.weight) // groups, self.weight.shape[1]

        def convolved(image: SSAValue) -> SSAValue:
            if groups == 1 or (inputs == 1 and not is_transposed):
                return layer.of_group(image, windows, is_transposed, groups)
            results = [
                layer.some(group * size, size).of_group(part(image, 3, group * inputs, inputs), windows, is_transposed, 1)
                for group in range(groups)
            ]
            return ConcatOp(results, axis=3).result

        return on_images(x, convolved)

    def of_group(self, image: SSAValue, windows: Windows, is_transposed: bool, groups: int) -> SSAValue:
        """Returns the convolution of images without groups, or with one for each channel."""
        if is_transposed:
            pairs = zip(windows.padding, windows.output_padding, strict=True)
            out_pad = tuple(item for pad, more in pairs for item in (-pad, more - pad))
            kernel = with_gaps(self.weight, windows.dilation).transpose(0, 2, 3, 1)
            return self.call(TransposeConv2dOp, image, kernel, out_pad=out_pad, stride=windows.stride)
        shape = shape_of(image)
        pad, cut = windows_inside((shape[0], shape[3], *shape[1:3]), windows)
        numbers: dict[str, Any] = {"pad": pad, "stride": windows.stride, "dilation": windows.dilation}
        image = without_rest(image, cut)
        if groups > 1:
            kernel = self.weight.reshape(groups, -1, *self.weight.shape[2:]).transpose(2, 3, 0, 1)
            return self.call(DepthwiseConv2dOp, image, kernel, **numbers)
        return self.call(Conv2dOp, image, self.weight.transpose(0, 2, 3, 1), **numbers)


def _results(op: SchemaOp, x: SSAValue, layer: _Layer) -> SSAValue:
    return layer.linear(op, x) if op.schema.base == "linear" else layer.convolution(op, x)


@CONVERTERS("convolution", "linear")
def _float_layer(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, value, bias = op.arguments()[:3]
    array = constants.array(value)
    assert array is not None
    weight, numbers = weight_by_outputs(op, array), None if bias is None else constants.array(bias)
    numbers = np.zeros(len(weight), weight.dtype) if numbers is None else numbers
    return _results(op, x, _Layer(weight, numbers, constants.name(value), constants))


@CONVERTERS.integers("convolution", "linear")
def _integer_layer(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x, given = found.operator, found.x, integer_layer(found, constants)
    assert op is not None
    sums, ratios = wide(element_of(x.value)), given.scales / found.to.scale
    check_sums(op, sums, float(given.most(largest(x.type)).max()), float(ratios.max()))
    layer = _Layer(given.weight, given.bias.astype(numpy_dtype(sums)), given.name, constants, x.type.zero_point, ratios, found.to)
    return limited(_results(op, x.value, layer), found)
