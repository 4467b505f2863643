"""Images as TOSA has them: [batch, height, width, channels], and windows that end where the image does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import reshaped
from flambeau.backends.tosa.dialect.movement import SliceOp, TransposeOp
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.tensor_types import shape_of

_CHANNELS_FIRST = (0, 3, 1, 2)
_SWAPPED = (0, 2, 1)


def on_images(x: SSAValue, function: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """Returns what a function makes of images [batch, height, width, channels], of images or lines with the channels first."""
    if len(shape_of(x)) == 4:
        return TransposeOp(function(TransposeOp(x, CHANNELS_LAST).result), _CHANNELS_FIRST).result
    lines = TransposeOp(x, _SWAPPED).result
    batch, length, channels = shape_of(lines)
    found = function(reshaped(lines, (batch, 1, length, channels)))
    return TransposeOp(reshaped(found, (batch, *shape_of(found)[2:])), _SWAPPED).result


def without_rest(image: SSAValue, cut: Sequence[int]) -> SSAValue:
    """Returns images without so many of their last rows and columns."""
    batch, tall, wide, channels = shape_of(image)
    return SliceOp(image, (0, 0, 0, 0), (batch, tall - cut[0], wide - cut[1], channels)).result if any(cut) else image
