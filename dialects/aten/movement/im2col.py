"""Images as columns of sliding blocks, and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.windows import require_elements, spread, window_count, windows
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS_AND_BOOL
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Numbers = tuple[int, ...]


def block_counts(size: Sequence[int], kernel: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> list[int]:
    """Returns the number of blocks down and across. Raises ValueError."""
    names = (("kernel_size", kernel), ("stride", stride), ("padding", padding), ("dilation", dilation))
    spreads = [spread(numbers, 2, name) for name, numbers in names]
    return [window_count(*numbers) for numbers in zip(size, *spreads, strict=True)]


def tap_slices(counts: Sequence[int], kernel: Numbers, dilation: Numbers, stride: Numbers) -> list[tuple[tuple[int, int, int], ...]]:
    """Returns for each place in a block start, end and step, per dimension, of the elements at that place of all blocks."""
    return [
        tuple(
            (tap * gap, tap * gap + (count - 1) * step + 1, step)
            for tap, gap, count, step in zip(taps, dilation, counts, stride, strict=True)
        )
        for taps in itertools.product(*map(range, kernel))
    ]


@aten("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")
class Im2colOp(SchemaOp):
    """The sliding blocks of images [N, C, H, W] as columns [N, C · block size, blocks]; the batch may be missing."""

    takes = FLOATS_AND_BOOL

    @staticmethod
    def infer(x: Tensor, /, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> Tensor:
        shape = shape_of(x)
        if len(shape) not in (3, 4):
            raise ValueError(f"input must have 3 or 4 dimensions, got shape {list(shape)}")
        require_elements(shape, 4)
        counts = block_counts(shape[-2:], kernel_size, dilation, padding, stride)
        return tensor(element_of(x), (*shape[:-3], shape[-3] * math.prod(spread(kernel_size, 2, "kernel_size")), math.prod(counts)))

    @staticmethod
    def numpy(x: Array, /, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> Array:
        counts = block_counts(x.shape[-2:], kernel_size, dilation, padding, stride)
        kernel, gaps, margins, steps = (spread(numbers, 2, "") for numbers in (kernel_size, dilation, padding, stride))
        blocks = windows(x, kernel, steps, margins, gaps, counts, 0)
        rank = blocks.ndim
        columns = blocks.transpose(*range(rank - 4), rank - 2, rank - 1, rank - 4, rank - 3)
        return columns.reshape(*x.shape[:-3], x.shape[-3] * math.prod(kernel), math.prod(counts))

    @staticmethod
    def decompose(x: SSAValue, /, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> SSAValue:
        shape = shape_of(x)
        counts = block_counts(shape[-2:], kernel_size, dilation, padding, stride)
        kernel, gaps, margins, steps = (spread(numbers, 2, "") for numbers in (kernel_size, dilation, padding, stride))
        if any(margins):
            x = aten.constant_pad_nd(x, (margins[1], margins[1], margins[0], margins[0]))
        taps = [aten.slice.Tensor(aten.slice.Tensor(x, -2, *down), -1, *across) for down, across in tap_slices(counts, kernel, gaps, steps)]
        return view(aten.stack(taps, len(shape) - 2), (*shape[:-3], shape[-3] * len(taps), math.prod(counts)))


@aten("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", core=True)
class Col2imOp(SchemaOp):
    """The image [N, C, H, W] from blocks [N, C · block size, blocks]; elements of overlapping blocks are added."""

    takes = FLOATS_AND_BOOL

    @staticmethod
    def infer(x: Tensor, /, output_size: Numbers, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> Tensor:
        shape = shape_of(x)
        counts = block_counts(output_size, kernel_size, dilation, padding, stride)
        size = math.prod(spread(kernel_size, 2, "kernel_size"))
        if len(shape) not in (2, 3) or shape[-2] % size or shape[-1] != math.prod(counts):
            raise ValueError(f"columns {list(shape)} do not fit {math.prod(counts)} blocks of {size} elements")
        require_elements(shape, 3)
        return tensor(element_of(x), (*shape[:-2], shape[-2] // size, *output_size))

    @staticmethod
    def numpy(x: Array, /, output_size: Numbers, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> Array:
        counts = block_counts(output_size, kernel_size, dilation, padding, stride)
        kernel, gaps, margins, steps = (spread(numbers, 2, "") for numbers in (kernel_size, dilation, padding, stride))
        batch = x.shape[:-2]
        taps = x.reshape(*batch, x.shape[-2] // math.prod(kernel), math.prod(kernel), *counts)
        result = np.zeros((*batch, taps.shape[-4], *(size + 2 * pad for size, pad in zip(output_size, margins, strict=True))), x.dtype)
        for index, (down, across) in enumerate(tap_slices(counts, kernel, gaps, steps)):
            result[..., slice(*down), slice(*across)] += taps[..., index, :, :]
        return result[..., margins[0] : margins[0] + output_size[0], margins[1] : margins[1] + output_size[1]]

    @staticmethod
    def decompose(
        x: SSAValue, /, output_size: Numbers, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers
    ) -> SSAValue:
        counts = block_counts(output_size, kernel_size, dilation, padding, stride)
        kernel, gaps, margins, steps = (spread(numbers, 2, "") for numbers in (kernel_size, dilation, padding, stride))
        batch, channels = shape_of(x)[:-2], shape_of(x)[-2] // math.prod(kernel)
        taps = view(x, (*batch, channels, math.prod(kernel), *counts))
        padded = [size + 2 * pad for size, pad in zip(output_size, margins, strict=True)]
        total = aten.full((*batch, channels, *padded), 0, dtype=element_of(x))
        for index, (down, across) in enumerate(tap_slices(counts, kernel, gaps, steps)):
            rows = aten.slice.Tensor(total, -2, *down)
            summed = aten.add.Tensor(aten.slice.Tensor(rows, -1, *across), aten.select.int(taps, len(batch) + 1, index))
            total = aten.slice_scatter(total, aten.slice_scatter(rows, summed, -1, *across), -2, *down)
        for axis, pad, size in zip((-2, -1), margins, output_size, strict=True):
            if pad:
                total = aten.slice.Tensor(total, axis, pad, pad + size)
        return total
