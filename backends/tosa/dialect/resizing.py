"""Images of another size."""

from __future__ import annotations

from flambeau.backends.tosa.dialect.operators import FACTORS, Numbers, TosaOp, as_sums, tosa, wide
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np

MOST_STEPS, MOST_TIMES, MOST_PIXELS = 2**11, 256, 16384
"""The largest numerator of a scale, the largest scale at level 8K, and the number of pixels that a side has less than."""


def why_no_scale(extent: int, size: int, scale: Numbers, offset: int, border: int) -> str | None:
    """Returns why a dimension of `extent` pixels does not become one of `size` pixels; None if it does.

    Args:
        extent: the number of pixels before.
        size: the number of pixels behind; the one that follows from the other numbers.
        scale: numerator and denominator of the quotient of the sizes.
        offset: where the first pixel is, in steps of the numerator.
        border: by how much the last pixel is behind that of the image.
    """
    times, share = scale
    if not 0 < times <= MOST_STEPS or not 0 < share < 16 * times or times > MOST_TIMES * share:
        return f"the scale {times}/{share} is not from 1/16 to {MOST_TIMES}, with a numerator of up to {MOST_STEPS}"
    if not -times <= offset < 16 * times or not -16 * times <= border < times:
        return f"the offset {offset} and the border {border} are too large for the scale {times}/{share}"
    if max(extent, size) >= MOST_PIXELS:
        return f"a side of {max(extent, size)} pixels is too long"
    room = (extent - 1) * times - offset + border
    return None if room == (size - 1) * share else f"with the offset {offset} and the border {border}, {extent} pixels do not become {size}"


@tosa("resize(Tensor input, int[] scale, int[] offset, int[] border, *, str mode) -> Tensor")
class ResizeOp(TosaOp):
    """Images of another size, by the nearest pixel or by four; integers by four are sums, multiplied by both numerators."""

    takes = FACTORS

    @staticmethod
    def infer(x: Tensor, /, scale: Numbers, offset: Numbers, border: Numbers, mode: str) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4 or len(scale) != 4 or len(offset) != 2 or len(border) != 2 or mode not in ("nearest", "bilinear"):
            raise ValueError(f"an image {list(shape)} is not resized by {list(scale)}, {list(offset)}, {list(border)}, {mode!r}")
        sizes: list[int] = []
        for extent, pair, first, more in zip(shape[1:3], (scale[:2], scale[2:]), offset, border, strict=True):
            sizes.append(((extent - 1) * pair[0] - first + more) // (pair[1] or 1) + 1)
            if (reason := why_no_scale(extent, sizes[-1], pair, first, more)) is not None:
                raise ValueError(reason)
        return tensor(wide(element_of(x)) if mode == "bilinear" else element_of(x), (shape[0], *sizes, shape[3]))

    @staticmethod
    def numpy(x: Array, /, scale: Numbers, offset: Numbers, border: Numbers, mode: str) -> Array:
        found = x if mode == "nearest" else x.astype(np.int64 if x.dtype.kind == "i" else np.float32)
        for dim, pair, start, more in zip((1, 2), (scale[:2], scale[2:]), offset, border, strict=True):
            before, behind, rest = _places(x.shape[dim], pair, start, more)
            if mode == "nearest":
                found = found.take(np.where(2 * rest >= pair[0], behind, before), dim)
            else:
                shares = rest.reshape((-1,) + (1,) * (3 - dim))
                found = _between(found.take(before, dim), found.take(behind, dim), shares, pair[0])
        return as_sums(found, x) if mode == "bilinear" else found


def _places(extent: int, scale: Numbers, start: int, more: int) -> tuple[Array, Array, Array]:
    """Returns for each new pixel the places of the two next to it, and the way from the first of them in steps of the numerator."""
    times, share = scale
    steps: Array = np.arange(((extent - 1) * times - start + more) // share + 1)
    low, rest = np.divmod(steps * share + start, times)
    return np.maximum(low, 0), np.minimum(low + 1, extent - 1), rest


def _between(a: Array, b: Array, shares: Array, times: int) -> Array:
    """Returns a * (times - shares) + b * shares, divided by `times` in floats."""
    if a.dtype.kind != "f":
        return a * (times - shares) + b * shares
    weights = (shares / times).astype(a.dtype)
    return a * (a.dtype.type(1) - weights) + b * weights
