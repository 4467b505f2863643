"""Pools of images."""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import SSAValue

from flambeau.backends.xnnpack.dialect.nodes import LIMITS, NodeOp, limited, xnnpack
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, shape_of
from flambeau.support.lazy import Array, np

KEEP_DIMS = 0x40
"""The flag of a reduction whose result keeps the reduced dimensions as 1."""


def has_dynamic_means(image: SSAValue) -> bool:
    """Returns whether the run decides how many means over height and width an image has, by its batch or its channels.

    XNNPACK sums float16 and integers in a workspace, which it plans at the sizes of the first call and does not enlarge for later ones, so
    it would write beyond it. Means of float32 need no workspace. A test of dynamic sizes says whether the installed XNNPACK is mended.
    """
    shape = shape_of(image)
    return not (is_known(shape[0]) and is_known(shape[3]))


_POOL = (
    "(int padding_top=0, int padding_right=0, int padding_bottom=0, int padding_left=0, int pooling_height, int pooling_width, "
    "int stride_height=1, int stride_width=1, int dilation_height=1, int dilation_width=1, Tensor input, int flags=0, "
    f"{LIMITS}) -> Tensor"
)

Numbers = tuple[int, ...]


class PoolingNodeOp(NodeOp):
    """A pool. The ten numbers before the tensor are those of the format. Flag 64 has no effect: height and width always stay."""

    known_flags = KEEP_DIMS

    @classmethod
    def infer(cls, *arguments: Any) -> Tensor:
        numbers = cast(Numbers, arguments[:10])
        top, right, bottom, left, height, width, tall_step, wide_step, *_ = numbers
        x, flags, least, most = arguments[10:]
        shape = shape_of(x)
        if len(shape) != 4:
            raise ValueError(f"input must have 4 dimensions, got {list(shape)}")
        if min(numbers) < 0 or min(*numbers[4:8], *cls.gaps(numbers)) < 1:
            raise ValueError(f"the numbers {list(numbers)} must not be negative, and the sizes and steps among them positive")
        tall_gap, wide_gap = cls.gaps(numbers)
        if max(top, bottom) > tall_gap * (height - 1) or max(left, right) > wide_gap * (width - 1):
            raise ValueError(f"the padding {list(numbers[:4])} is as large as the window {[height, width]}: some windows hold nothing")
        tall = (shape[1] + top + bottom - tall_gap * (height - 1) - 1) // tall_step + 1
        wide = (shape[2] + left + right - wide_gap * (width - 1) - 1) // wide_step + 1
        return cls.typed([x], (shape[0], tall, wide, shape[3]), flags, least, most)

    @classmethod
    def gaps(cls, numbers: Numbers) -> Numbers:
        """Returns the dilations: the vertical and the horizontal distance between neighbouring elements of a window."""
        return numbers[8:]

    @classmethod
    def windows(cls, x: Array, numbers: Numbers, outside: float) -> Array:
        """Returns the windows of images padded with `outside`: [batch, height, width, channels, window height, window width]."""
        top, right, bottom, left, height, width, tall_step, wide_step, *_ = numbers
        tall_gap, wide_gap = cls.gaps(numbers)
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=x.dtype.type(outside))
        reach = (tall_gap * (height - 1) + 1, wide_gap * (width - 1) + 1)
        views = np.lib.stride_tricks.sliding_window_view(padded, reach, (1, 2))
        return views[:, ::tall_step, ::wide_step, :, ::tall_gap, ::wide_gap]


@xnnpack(f"max_pooling2d{_POOL}")
class MaxPooling2dNodeOp(PoolingNodeOp):
    """The largest element of each window."""

    @classmethod
    def numpy(cls, *arguments: Any) -> Array:
        x, _, least, most = arguments[10:]
        return limited(cls.windows(x, arguments[:10], -np.inf).max((-2, -1)), least, most)


@xnnpack(f"avg_pooling2d{_POOL}")
class AvgPooling2dNodeOp(PoolingNodeOp):
    """The mean of those elements of each window that lie inside of the image. Ignores the dilations: windows have no gaps."""

    @classmethod
    def gaps(cls, numbers: Numbers) -> Numbers:
        """Returns 1 for both distances, because a mean ignores the dilations."""
        return (1, 1)

    @classmethod
    def numpy(cls, *arguments: Any) -> Array:
        x, _, least, most = arguments[10:]
        wide = widened(x)
        counts = cls.windows(np.ones_like(wide), arguments[:10], 0).sum((-2, -1))
        return limited((cls.windows(wide, arguments[:10], 0).sum((-2, -1)) / counts).astype(x.dtype), least, most)


@xnnpack(f"global_avg_pooling2d(Tensor input, int flags=0, {LIMITS}) -> Tensor")
class GlobalAvgPooling2dNodeOp(NodeOp):
    """The mean of each channel of an image. Flag 64: the result keeps height and width, as 1."""

    known_flags = KEEP_DIMS

    @classmethod
    def infer(cls, x: Tensor, /, flags: int, output_min: float | None, output_max: float | None) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4:
            raise ValueError(f"input must have 4 dimensions, got {list(shape)}")
        kept = (1, 1) if flags & KEEP_DIMS else ()
        return cls.typed([x], (shape[0], *kept, shape[3]), flags, output_min, output_max)

    @staticmethod
    def numpy(x: Array, /, flags: int, output_min: float | None, output_max: float | None) -> Array:
        mean = widened(x).mean((1, 2), keepdims=bool(flags & KEEP_DIMS))
        return limited(mean.astype(x.dtype), output_min, output_max)
