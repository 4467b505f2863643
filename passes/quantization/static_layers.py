"""Linear layers and convolutions between integers, with constant weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.conv2d import Pair
from flambeau.dialects.fused.packing import pack_quads, pack_quantized_conv_weight
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, QuantizedConv2dOp, QuantizedLinearOp, fixed_point
from flambeau.dialects.ir.tensor_types import has_static_entries, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, QuantizedType, integer_bias
from flambeau.passes.quantization.integer_pattern import IntegerPattern
from flambeau.passes.rewriting.explanation import decline
from flambeau.support.lazy import Array, np

_INT32 = 2**31 - 1


@dataclass(frozen=True)
class LayerPattern(IntegerPattern):
    """quantize(clamp(linear or convolution(dequantize(x), dequantize(constant), bias))): the layer in integers."""

    operators = (LinearOp, ConvolutionOp)
    counter = "layers fused"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a layer; None, with a reason, where no kernel computes them."""
        if not self.has(QuantizedLinearOp if isinstance(op, LinearOp) else QuantizedConv2dOp):
            return None
        (source, kernel), to, bias = found.inputs[:2], found.to, op.argument("bias")
        if source is None or kernel is None:
            return decline("stays in floats: its input or its weight is not dequantized with constant parameters")
        storage = source.type.storage
        if source.type.axis is not None or storage not in RANGES or storage != to.storage or kernel.type.storage != i8:
            return decline(f"stays in floats: {storage} times {kernel.type.storage} as {to.storage} has no kernel")
        if any(kernel.type.zero_points) or kernel.type.axis not in (None, 0):
            return decline("stays in floats: the weight's zero points are not 0, or it has scales for other than output channels")
        integers, biases = self.constants.array(kernel.value), None if bias is None else self.constants.array(bias)
        if integers is None or (bias is not None and biases is None):
            return decline("stays in floats: its weight or its bias is not a constant")
        x, value = op.operands[0], op.results[0]
        if not is_row_major(x) or not is_row_major(value):
            return decline("stays in floats: it has another layout than row-major")
        if isinstance(op, ConvolutionOp) and not (has_static_entries(x) and _has_kernel(op)):
            return decline("stays in floats: of convolutions, only those of static images or rows, not transposed, have a kernel")
        parameters = _parameters(source.type, kernel.type, to, integers, biases)
        if parameters is None:
            return None
        name, numbers = self.constants.name(kernel.value), (to.zero_point, found.low, found.high)
        if isinstance(op, LinearOp):
            loads = self._loads(name, pack_quads(integers), parameters)
            return QuantizedLinearOp(source.value, *loads, integers.shape[0], *numbers).result
        assert isinstance(op, ConvolutionOp)
        image, kernel_size, *places, groups = _as_image(op, source.value)
        loads = self._loads(name, pack_quantized_conv_weight(integers.reshape(*integers.shape[:2], *kernel_size), groups), parameters)
        fused = QuantizedConv2dOp(
            ToDimOrderCopyOp(image, dim_order=CHANNELS_LAST).result,
            *loads,
            kernel_size,
            *places,
            groups,
            integers.shape[0],
            source.type.zero_point,
            *numbers,
            result_types=[with_dim_order(tensor(storage, _of_image(shape_of(result))), CHANNELS_LAST)],
        )
        fused.result.name_hint = result.name_hint
        back = ToDimOrderCopyOp(fused.result, dim_order=(0, 1, 2, 3)).result
        return back if image is source.value else ViewOp.at("edge")(back, shape_of(result)).result

    def _loads(self, name: str, packed: Array, parameters: Array) -> Sequence[SSAValue]:
        weight = self.constants.add(f"{name}.packed", packed, tensor(i8, packed.shape))
        numbers = self.constants.add(f"{name}.requantization", parameters, tensor(i32, parameters.shape))
        return weight.results[0], numbers.results[0]


def _has_kernel(op: ConvolutionOp) -> bool:
    x, weight, _, _, _, _, transposed, _, groups = op.arguments()
    shape = shape_of(weight)
    return not transposed and len(shape) in (3, 4) and (groups == 1 or groups == shape_of(x)[1] == shape[0])


def _as_image(op: ConvolutionOp, x: SSAValue) -> tuple[SSAValue, Pair, Pair, Pair, Pair, int]:
    """Returns the integers `x` as images, with the kernel's size, stride, padding, dilation and groups: of one dimension, of one row."""
    _, weight, _, stride, padding, dilation, _, _, groups = op.arguments()
    size = shape_of(weight)[2:]
    if len(size) == 1:
        row = ViewOp.at("edge")(x, _of_image(shape_of(x))).result
        return row, (1, size[0]), (1, stride[0]), (0, padding[0]), (1, dilation[0]), groups
    return x, (size[0], size[1]), (stride[0], stride[-1]), (padding[0], padding[-1]), (dilation[0], dilation[-1]), groups


def _of_image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of images; of rows, [batch, channels, width], as images of one row."""
    return (*shape[:2], *(1,) * (4 - len(shape)), *shape[2:])


def _parameters(x: QuantizedType, weight: QuantizedType, to: QuantizedType, integers: Array, bias: Array | None) -> Array | None:
    """Bias, multiplier and shift of each output channel; None, with a reason, where numbers do not fit."""
    channels = integers.shape[0]
    rows = integers.reshape(channels, -1).astype(np.int64)
    if rows.shape[1] > MOST_PRODUCTS:
        return decline(f"stays in floats: a sum of {rows.shape[1]} products may not fit int32")
    whole, scales = integer_bias(x, weight, bias, channels)
    whole = whole - x.zero_point * rows.sum(1)
    if (np.abs(whole) + 256 * np.abs(rows).sum(1) > _INT32).any():
        return decline("stays in floats: the sum of products and bias may not fit int32")
    try:
        multipliers, shifts = fixed_point(scales / to.scale)
    except ValueError as error:
        return decline(f"stays in floats: {error}")
    return np.stack((whole.astype(np.int32), multipliers, shifts))
