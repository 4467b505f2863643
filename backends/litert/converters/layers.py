"""Convolutions and linear layers. In floats and between integers they differ in the bias, and what becomes of the sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.litert.converters.building import (
    CONVERTERS,
    ended,
    floats_of,
    limited,
    on_images,
    operator_of,
    part,
    types,
    with_margin,
)
from flambeau.backends.litert.dialect.images import Conv2dOp, DepthwiseConv2dOp, FullyConnectedOp, TransposeConvOp, around, padding_word
from flambeau.backends.litert.dialect.movement import ConcatenationOp, SliceOp
from flambeau.backends.litert.dialect.operators import FILTER, WIDE
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS
from flambeau.passes.analysis.quantized_types import IntegerOperator, QuantizedType
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.layer_weights import integer_layer, weight_by_outputs, with_gaps
from flambeau.passes.delegation.normalized import Windows, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


def padded(x: SSAValue, windows: Windows, number: float, kind: QuantizedType | None, constants: ModuleConstants) -> tuple[SSAValue, str]:
    """Returns images, integers of type `kind`, with so much padding that the returned word says the rest."""
    word = padding_word(shape_of(x)[1:3], windows.kernel, windows.stride, windows.dilation, windows.padding)
    if word is not None:
        return x, word
    tall, wide = windows.padding
    return with_margin(x, (0, tall, wide, 0), (0, tall, wide, 0), number, kind, constants), "VALID"


@dataclass(frozen=True)
class _Layer:
    """What is called with the images of a layer, or of some of its outputs.

    Attributes:
        weight: [outputs, inputs of a group, *kernel].
        bias: of the sums of each output.
        kind: the type of the image between integers.
        name: that of the weight.
        filter_scales: between integers, those of the weight.
        numbers: other arguments of the operator: an activation, the types of integers.
    """

    weight: Array
    bias: Array | None
    kind: QuantizedType | None
    name: str
    constants: ModuleConstants
    filter_scales: tuple[float, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict[str, Any])

    def some(self, first: int, count: int) -> _Layer:
        """Returns the layer of consecutive outputs."""
        own = slice(first, first + count)
        scales = self.filter_scales[own] if len(self.filter_scales) > 1 else self.filter_scales
        return replace(self, weight=self.weight[own], bias=None if self.bias is None else self.bias[own], filter_scales=scales)

    def _parameters(self, image: SSAValue, kernel: Array) -> tuple[SSAValue, SSAValue | None]:
        """Returns a filter and the bias as constants."""
        element = WIDE[element_of(image)]
        bias = None if self.bias is None else np.asarray(self.bias, numpy_dtype(element))
        sums = None if bias is None else self.constants.add(f"{self.name}.bias", bias, tensor(element, bias.shape)).result
        kept = np.asarray(kernel, numpy_dtype(FILTER[element_of(image)]), order="C")
        return self.constants.add(self.name, kept, tensor(FILTER[element_of(image)], kept.shape)).result, sums

    def _call(self, kind: Any, image: SSAValue, kernel: Array, **numbers: Any) -> SSAValue:
        return kind(image, *self._parameters(image, kernel), filter_scales=self.filter_scales, **numbers, **self.numbers).result

    def linear(self, x: SSAValue) -> SSAValue:
        """Returns the products of rows with the weight."""
        return self._call(FullyConnectedOp, x, self.weight)

    def convolution(self, op: SchemaOp, x: SSAValue) -> SSAValue:
        """Returns the convolution of images, or of lines, which are images of height 1."""
        windows, groups, is_transposed = windows_of(op), op.argument("groups"), op.argument("transposed")
        layer, windows = (self, windows) if self.weight.ndim == 4 else (replace(self, weight=self.weight[:, :, None]), windows.of_images())
        size, inputs = len(self.weight) // groups, self.weight.shape[1]

        def convolved(image: SSAValue) -> SSAValue:
            if not is_transposed:
                return layer._of_images(image, windows, groups)
            parts = [layer.some(group * size, size)._undone(part(image, 3, group * inputs, inputs), windows) for group in range(groups)]
            return parts[0] if groups == 1 else ConcatenationOp(parts, axis=3).result

        return on_images(x, convolved)

    def _of_images(self, image: SSAValue, windows: Windows, groups: int) -> SSAValue:
        image, padding = padded(image, windows, 0 if self.kind is None else self.kind.zero_point, self.kind, self.constants)
        steps = {"stride_h": windows.stride[0], "stride_w": windows.stride[1]}
        gaps = {"dilation_h_factor": windows.dilation[0], "dilation_w_factor": windows.dilation[1]}
        if groups > 1 and self.weight.shape[1] == 1:
            return self._call(DepthwiseConv2dOp, image, self.weight.transpose(1, 2, 3, 0), padding=padding, **steps, **gaps)
        return self._call(Conv2dOp, image, self.weight.transpose(0, 2, 3, 1), padding=padding, **steps, **gaps)

    def _undone(self, image: SSAValue, windows: Windows) -> SSAValue:
        """Returns a transposed convolution without groups: with the word `SAME`, or whole, and its margin is cut off."""
        kernel = with_gaps(self.weight, windows.dilation).transpose(0, 2, 3, 1)
        batch, *sides, _ = shape_of(image)
        whole = [(size - 1) * step + window for size, step, window in zip(sides, windows.stride, kernel.shape[1:3], strict=True)]
        final = [size + more - 2 * pad for size, more, pad in zip(whole, windows.output_padding, windows.padding, strict=True)]
        word = "SAME"
        for size, to, step, window, pad in zip(sides, final, windows.stride, kernel.shape[1:3], windows.padding, strict=True):
            if -(-to // step) != size or around(to, window, step, 1, word)[0] != pad:
                word = "VALID"
        made = final if word == "SAME" else [size + more for size, more in zip(whole, windows.output_padding, strict=True)]
        weight, sums = self._parameters(image, kernel)
        numbers: dict[str, Any] = {"stride_h": windows.stride[0], "stride_w": windows.stride[1], **self.numbers}
        shape = (batch, *made, len(kernel))
        found = TransposeConvOp(shape, weight, image, sums, padding=word, filter_scales=self.filter_scales, **numbers).result
        return found if made == final else SliceOp(found, (0, *windows.padding, 0), (batch, *final, len(kernel))).result


def _results(op: SchemaOp, x: SSAValue, layer: _Layer) -> SSAValue:
    return layer.linear(x) if op.schema.base == "linear" else layer.convolution(op, x)


@CONVERTERS("convolution", "linear")
def _float_layer(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, value, bias = op.arguments()[:3]
    weight = weight_by_outputs(op, floats_of(value, constants))
    numbers = np.zeros(len(weight), weight.dtype) if bias is None else constants.array(bias)  # a convolution always has a bias
    source = value.owner
    name = constants.name(source.operands[0] if isinstance(source, DEQUANTIZATIONS) else value)
    return _results(op, x, _Layer(weight, numbers, None, name, constants))


_SUMS: Mapping[Attribute, tuple[int, int, str, int]] = {i8: (2**8, 31, "int32", 2**30), i16: (2**15, 47, "48 bits", 2**7)}
"""The greatest distance of an activation from its zero point, the bits of sums, their name, and the ratio up to which they are scaled."""


@CONVERTERS.integers("convolution", "linear")
def _integer_layer(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x, given = operator_of(found), found.x, integer_layer(found, constants)
    largest, bits, name, most_ratio = _SUMS[x.type.storage]
    most, ratios = given.most(largest), given.scales / found.to.scale
    if most.max() > 2**bits - 1:
        raise RefusedError({op: f"its sums of products and bias may not fit {name}"})
    if (most * ratios).max() > 2**31 - 1 or ratios.max() >= most_ratio:
        reason = f"its sums, in steps of up to {given.scales.max():.4g}, are too many steps of {found.to.scale:.4g} for int32"
        raise RefusedError({op: reason})
    own = types(x.type, found.to)
    layer = _Layer(given.weight, given.bias, x.type, given.name, constants, given.weight_scales, own)
    if op.schema.base == "convolution" and op.argument("transposed"):
        return limited(_results(op, x.value, layer), found, constants)

    def build(activation: str) -> SSAValue:
        return _results(op, x.value, replace(layer, numbers={**layer.numbers, "fused_activation_function": activation}))

    return ended(found, build, constants)
