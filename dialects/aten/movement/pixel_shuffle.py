"""Elements moved between channels and pixels, and channels in another order."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.movement.permute import permute, swapped
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


@aten("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", keep=True)
class PixelShuffleOp(SchemaOp):
    """[…, C·r², H, W] to […, C, H·r, W·r]: channels become the places of an r × r block."""

    @staticmethod
    def shapes(shape: tuple[int, ...], factor: int) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
        """Returns the shape with the blocks apart, the order that puts them in place, and the result shape. Raises ValueError."""
        if len(shape) < 3 or factor < 1 or shape[-3] % factor**2:
            raise ValueError(f"shape {list(shape)} does not fit upscale factor {factor}")
        *batch, channels, height, width = shape
        count, channels = len(batch), channels // factor**2
        order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
        return (*batch, channels, factor, factor, height, width), order, (*batch, channels, height * factor, width * factor)

    @staticmethod
    def infer(x: Tensor, /, upscale_factor: int) -> Tensor:
        return tensor(element_of(x), PixelShuffleOp.shapes(shape_of(x), upscale_factor)[2])

    @staticmethod
    def numpy(x: Array, /, upscale_factor: int) -> Array:
        apart, order, result = PixelShuffleOp.shapes(x.shape, upscale_factor)
        return x.reshape(apart).transpose(order).reshape(result)

    @staticmethod
    def decompose(x: SSAValue, /, upscale_factor: int) -> SSAValue:
        apart, order, result = PixelShuffleOp.shapes(shape_of(x), upscale_factor)
        return view(permute(view(x, apart), order), result)


@aten("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", keep=True)
class PixelUnshuffleOp(SchemaOp):
    """[…, C, H·r, W·r] to […, C·r², H, W]: the places of an r × r block become channels."""

    @staticmethod
    def shapes(shape: tuple[int, ...], factor: int) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
        """Returns the shape with the blocks apart, the order that puts them in place, and the result shape. Raises ValueError."""
        if len(shape) < 3 or factor < 1 or shape[-2] % factor or shape[-1] % factor:
            raise ValueError(f"shape {list(shape)} does not fit downscale factor {factor}")
        *batch, channels, height, width = shape
        count, height, width = len(batch), height // factor, width // factor
        order = [*range(count + 1), count + 2, count + 4, count + 1, count + 3]
        return (*batch, channels, height, factor, width, factor), order, (*batch, channels * factor**2, height, width)

    @staticmethod
    def infer(x: Tensor, /, downscale_factor: int) -> Tensor:
        return tensor(element_of(x), PixelUnshuffleOp.shapes(shape_of(x), downscale_factor)[2])

    @staticmethod
    def numpy(x: Array, /, downscale_factor: int) -> Array:
        apart, order, result = PixelUnshuffleOp.shapes(x.shape, downscale_factor)
        return x.reshape(apart).transpose(order).reshape(result)

    @staticmethod
    def decompose(x: SSAValue, /, downscale_factor: int) -> SSAValue:
        apart, order, result = PixelUnshuffleOp.shapes(shape_of(x), downscale_factor)
        return view(permute(view(x, apart), order), result)


@aten("channel_shuffle(Tensor self, SymInt groups) -> Tensor")
class ChannelShuffleOp(SchemaOp):
    """Channel c of group g moves to place c · groups + g."""

    @staticmethod
    def apart(shape: tuple[int, ...], groups: int) -> tuple[int, ...]:
        """Returns the shape with the groups apart. Raises ValueError."""
        if len(shape) < 3 or groups < 1 or shape[1] % groups:
            raise ValueError(f"shape {list(shape)} does not fit {groups} groups")
        return (shape[0], groups, shape[1] // groups, *shape[2:])

    @staticmethod
    def infer(x: Tensor, /, groups: int) -> Tensor:
        ChannelShuffleOp.apart(shape_of(x), groups)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, groups: int) -> Array:
        return x.reshape(ChannelShuffleOp.apart(x.shape, groups)).swapaxes(1, 2).reshape(x.shape)

    @staticmethod
    def decompose(x: SSAValue, /, groups: int) -> SSAValue:
        shape = shape_of(x)
        apart = ChannelShuffleOp.apart(shape, groups)
        return view(permute(view(x, apart), swapped(len(apart), 1, 2)), shape)
