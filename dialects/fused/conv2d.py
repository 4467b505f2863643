"""The fused 2-D convolution of channels-last images."""

from __future__ import annotations

from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.fused.epilogue import apply_epilogue, check_activation
from flambeau.dialects.fused.packing import PANEL, panels, unpack_conv_weight
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array

Pair = tuple[int, int]

TILES = (-1, 0, 2, 4)
"""The values of `tile`."""


def convolved_size(
    shape: tuple[int, ...], kernel_size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, out_channels: int
) -> tuple[int, ...]:
    """Returns the height and width of a dense or depthwise convolution's result. Raises ValueError when there is none."""
    if len(shape) != 4:
        raise ValueError(f"input must have 4 dimensions, got {len(shape)}")
    channels = shape[1]
    if groups != 1 and not groups == channels == out_channels:
        raise ValueError(f"groups must be 1, or both numbers of channels; got {groups} with {channels} and {out_channels} channels")
    spatial: list[int] = []
    for extent, size, step, pad, spread in zip(shape[2:], kernel_size, stride, padding, dilation, strict=True):
        if step < 1 or spread < 1 or size < 1 or pad < 0:
            raise ValueError("kernel_size, stride and dilation must be positive and padding not negative")
        spatial.append((extent + 2 * pad - spread * (size - 1) - 1) // step + 1)
    if min(spatial) < 1:
        raise ValueError(f"the kernel {list(kernel_size)} does not fit the padded input {list(shape)}")
    return tuple(spatial)


@row(
    "fused",
    "flambeau",
    "conv2d(Tensor input, Tensor packed_weight, Tensor? bias, Tensor? addend, int[2] kernel_size, int[2] stride, int[2] padding,"
    " int[2] dilation, int groups, int out_channels, str activation='none', int tile=-1) -> Tensor",
)
class FusedConv2dOp(SchemaOp):
    """activation(convolution + bias + addend) of channels-last images, dense (groups 1) or depthwise, with a packed weight.

    `tile` changes the speed alone: the side of the tiles of Winograd's algorithm, 2 or 4; 0: none; -1: what the kernel takes for the
    fastest. Without effect where that algorithm is impossible.
    """

    takes = frozenset((f32,))

    @staticmethod
    def infer(
        x: Tensor,
        packed: Tensor,
        bias: Tensor | None,
        /,
        addend: Tensor | None,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
        out_channels: int,
        activation: str,
        tile: int,
    ) -> Tensor:
        check_activation(activation)
        if tile not in TILES:
            raise ValueError(f"tile must be -1, 0, 2 or 4, got {tile}")
        require_same_element(x, packed, bias, addend)
        shape = shape_of(x)
        spatial = convolved_size(shape, kernel_size, stride, padding, dilation, groups, out_channels)
        channels = shape[1]
        area = kernel_size[0] * kernel_size[1]
        expected = (panels(out_channels), area * channels, PANEL) if groups == 1 else (area, panels(out_channels) * PANEL)
        if shape_of(packed) != expected:
            raise ValueError(f"packed_weight must have the shape {list(expected)}, got {list(shape_of(packed))}")
        result = (shape[0], out_channels, *spatial)
        if addend is not None and shape_of(addend) != result:
            raise ValueError(f"addend must have the result's shape {list(result)}, got {list(shape_of(addend))}")
        return tensor(element_of(x), result)

    @staticmethod
    def numpy(
        x: Array,
        packed: Array,
        /,
        bias: Array | None,
        addend: Array | None,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
        out_channels: int,
        activation: str,
    ) -> Array:
        weight = unpack_conv_weight(packed, kernel_size, groups, out_channels)
        result = ConvolutionOp.numpy(x, weight, bias, stride, padding, dilation, False, (0, 0), groups)
        return apply_epilogue(result, addend, activation)
