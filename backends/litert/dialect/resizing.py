"""Images of another size, and squares of pixels as channels."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i8, i16

from flambeau.backends.litert.dialect.operators import OF_BYTES, LiteRtOp, Numbers, litert
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np

FINE = 1 << 10
"""The steps between two pixels, between which integers are interpolated."""


class _ResizeOp(LiteRtOp):
    keeps_type = True
    versions: ClassVar = {i8: 2, i16: 4}

    @property
    def version(self) -> int:
        """The version with pixel centers at halves, if they are."""
        return max(3 if self.argument("half_pixel_centers") else 1, super().version)

    @staticmethod
    def infer(x: Tensor, size: Numbers, /, align_corners: bool, half_pixel_centers: bool) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4 or len(size) != 2 or min(size) < 1 or (align_corners and half_pixel_centers):
            raise ValueError(f"an image {list(shape)} cannot be resized to {list(size)}, or corners are aligned and centers at halves")
        return tensor(element_of(x), (shape[0], *size, shape[3]))


def places(size: int, to: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array, Array]:
    """Returns the pixels before and behind each new one, and how far it is from the first, in float32."""
    scale = np.float32(size - 1) / np.float32(to - 1) if align_corners and to > 1 else np.float32(size) / np.float32(to)
    half = np.float32(0.5 if half_pixel_centers else 0)
    at = (np.arange(to, dtype=np.float32) + half) * scale - half
    low = np.maximum(np.floor(at).astype(np.int64), 0)
    return low, np.minimum(np.ceil(at).astype(np.int64), size - 1), at - low.astype(np.float32)


def fine_places(size: int, to: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array, Array]:
    """Returns the pixels before and behind each new one, and how many fine steps it is from the first."""
    old, new = (size - 1, to - 1) if align_corners and to > 1 else (size, to)
    scale = (FINE * old + new // 2) // new
    at = np.arange(to) * scale + (scale // 2 - FINE // 2 if half_pixel_centers else 0)
    low = np.maximum(at // FINE, 0)
    return low, np.minimum(-(-at // FINE), size - 1), at - low * FINE


@litert("resize_bilinear(Tensor input, int[] size, *, bool align_corners=False, bool half_pixel_centers=False) -> Tensor")
class ResizeBilinearOp(_ResizeOp):
    """Images interpolated between four pixels; of integers, in steps of 1/1024 between pixels, halves away from zero."""

    @staticmethod
    def numpy(x: Array, size: Numbers, /, align_corners: bool, half_pixel_centers: bool) -> Array:
        scaled = x.dtype != np.float32
        find, one = (fine_places, FINE) if scaled else (places, np.float32(1))
        sides = [find(old, new, align_corners, half_pixel_centers) for old, new in zip(x.shape[1:3], size, strict=True)]
        (top, bottom, down), (left, right, along) = sides
        down, along = down[:, None, None], along[:, None]
        wide = x.astype(np.int64) if scaled else x
        found = wide[:, top][:, :, left] * (one - down) * (one - along) + wide[:, bottom][:, :, left] * down * (one - along)
        found = found + wide[:, top][:, :, right] * (one - down) * along + wide[:, bottom][:, :, right] * down * along
        if not scaled:
            return found
        return (np.sign(found) * ((np.abs(found) + FINE**2 // 2) // FINE**2)).astype(x.dtype)


@litert("resize_nearest_neighbor(Tensor input, int[] size, *, bool align_corners=False, bool half_pixel_centers=False) -> Tensor")
class ResizeNearestNeighborOp(_ResizeOp):
    """Images made of the nearest pixels."""

    @staticmethod
    def numpy(x: Array, size: Numbers, /, align_corners: bool, half_pixel_centers: bool) -> Array:
        for axis, to in enumerate(size, 1):
            old = x.shape[axis]
            scale = np.float32(old - 1) / np.float32(to - 1) if align_corners and to > 1 else np.float32(old) / np.float32(to)
            at = (np.arange(to, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0)) * scale
            near = np.trunc(at + np.float32(0.5)) if align_corners else np.floor(at)
            x = x.take(np.minimum(near.astype(np.int64), old - 1), axis)
        return x


@litert("depth_to_space(Tensor input, *, int block_size) -> Tensor")
class DepthToSpaceOp(LiteRtOp):
    """Channels as squares of pixels: [..., side * side * channels] as [side, side, channels]."""

    keeps_type = True
    takes = OF_BYTES

    @staticmethod
    def infer(x: Tensor, /, block_size: int) -> Tensor:
        batch, tall, wide, channels = _image(x)
        if block_size < 1 or channels % block_size**2:
            raise ValueError(f"{channels} channels are no squares of {block_size}")
        return tensor(element_of(x), (batch, tall * block_size, wide * block_size, channels // block_size**2))

    @staticmethod
    def numpy(x: Array, /, block_size: int) -> Array:
        batch, tall, wide, channels = x.shape
        apart = x.reshape(batch, tall, wide, block_size, block_size, channels // block_size**2)
        return apart.transpose(0, 1, 3, 2, 4, 5).reshape(batch, tall * block_size, wide * block_size, -1)


@litert("space_to_depth(Tensor input, *, int block_size) -> Tensor")
class SpaceToDepthOp(LiteRtOp):
    """Squares of pixels as channels: [side, side, channels] as [side * side * channels]."""

    keeps_type = True
    takes = OF_BYTES

    @staticmethod
    def infer(x: Tensor, /, block_size: int) -> Tensor:
        batch, tall, wide, channels = _image(x)
        if block_size < 1 or tall % block_size or wide % block_size:
            raise ValueError(f"an image of {tall} x {wide} has no squares of {block_size}")
        return tensor(element_of(x), (batch, tall // block_size, wide // block_size, channels * block_size**2))

    @staticmethod
    def numpy(x: Array, /, block_size: int) -> Array:
        batch, tall, wide, channels = x.shape
        apart = x.reshape(batch, tall // block_size, block_size, wide // block_size, block_size, channels)
        return apart.transpose(0, 1, 3, 2, 4, 5).reshape(batch, tall // block_size, wide // block_size, -1)


def _image(x: Tensor) -> tuple[int, int, int, int]:
    """Returns the sizes of images. Raises ValueError unless there are four."""
    if len(shape_of(x)) != 4:
        raise ValueError(f"an image has 4 dimensions, got {list(shape_of(x))}")
    batch, tall, wide, channels = shape_of(x)
    return batch, tall, wide, channels
