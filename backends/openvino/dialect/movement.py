"""Layers that place elements elsewhere."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino
from flambeau.dialects.ir.tensor_types import Tensor, f32, shape_of, tensor
from flambeau.support.lazy import Array


@openvino("Transpose(Tensor arg, int[] input_order) -> Tensor")
class TransposeOp(LayerOp):
    """The dimensions in another order: dimension i of the result is dimension input_order[i] of the input."""

    @staticmethod
    def infer(x: Tensor, order: Numbers, /) -> Tensor:
        shape = shape_of(x)
        if sorted(order) != list(range(len(shape))):
            raise ValueError(f"input_order {list(order)} is no order of {len(shape)} dimensions")
        return tensor(f32, tuple(shape[dim] for dim in order))

    @staticmethod
    def numpy(x: Array, order: Numbers, /) -> Array:
        return x.transpose(order)


def reshaped(shape: Numbers, pattern: Numbers, special_zero: bool) -> Numbers:
    """The shape that a pattern stands for: -1 follows from the others, and 0 is the extent that the input has there."""
    if special_zero and any(extent == 0 and dim >= len(shape) for dim, extent in enumerate(pattern)):
        raise ValueError(f"{list(shape)} has no extent for each 0 of {list(pattern)}")
    wanted = [shape[dim] if special_zero and extent == 0 else extent for dim, extent in enumerate(pattern)]
    # What both have at one place cancels: nothing need be known of it.
    total, known = 1, 1
    for dim, extent in enumerate(shape):
        total *= 1 if special_zero and dim < len(pattern) and pattern[dim] == 0 else extent
    for asked in pattern:
        known *= 1 if asked == -1 or (special_zero and asked == 0) else asked
    missing = pattern.count(-1)
    if missing > 1 or min(pattern, default=0) < -1 or (known == 0 or total % known if missing else total != known):
        raise ValueError(f"{list(shape)} cannot have the shape {list(pattern)}")
    return tuple(total // known if asked == -1 else extent for asked, extent in zip(pattern, wanted, strict=True))


@openvino("Reshape(Tensor data, int[] pattern, *, bool special_zero=False) -> Tensor")
class ReshapeOp(LayerOp):
    """The same elements in another shape."""

    @staticmethod
    def infer(x: Tensor, pattern: Numbers, /, special_zero: bool) -> Tensor:
        return tensor(f32, reshaped(shape_of(x), pattern, special_zero))

    @staticmethod
    def numpy(x: Array, pattern: Numbers, /, special_zero: bool) -> Array:
        return x.reshape(reshaped(x.shape, pattern, special_zero))
