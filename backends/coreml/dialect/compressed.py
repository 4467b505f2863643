"""Operators that make weights of integers, when a model is loaded."""

from __future__ import annotations

from xdsl.dialects.builtin import i8

from flambeau.backends.coreml.dialect.operators import MilOp, coreml, like
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, ui8
from flambeau.support.lazy import Array, np

PALETTE = 16
"""The entries of a table, which 4 bits name."""


class ConstexprMilOp(MilOp):
    """An operator whose operands are constants: integers, what is subtracted from them, and what the differences are multiplied by."""

    takes = frozenset((i8, ui8))


def _check_elements(data: Tensor, other: Tensor | None) -> None:
    if other is not None and element_of(other) != element_of(data):
        raise TypeError(f"what is subtracted is of {element_of(other)}, and the integers of {element_of(data)}")


@coreml("constexpr_affine_dequantize(Tensor quantized_data, Tensor zero_point, Tensor scale, *, int axis) -> Tensor")
class AffineDequantizeMilOp(ConstexprMilOp):
    """(quantized_data - zero_point) * scale, with one zero point and one scale, or one for each entry of a dimension."""

    since = 16

    @staticmethod
    def infer(data: Tensor, zero_point: Tensor, scale: Tensor, /, axis: int) -> Tensor:
        _check_elements(data, zero_point)
        shape = shape_of(data)
        sizes = {(), (shape[normalize_dim(axis, len(shape))],)}
        if not {shape_of(zero_point), shape_of(scale)} <= sizes:
            raise ValueError(f"{list(shape_of(zero_point))} and {list(shape_of(scale))} are not for dimension {axis} of {list(shape)}")
        return like(scale, shape)

    @staticmethod
    def numpy(data: Array, zero_point: Array, scale: Array, /, axis: int) -> Array:
        each = [-1 if dim == axis % data.ndim else 1 for dim in range(data.ndim)]
        zeros, scales = (value.reshape(each) if value.ndim else value for value in (zero_point, scale))
        return ((data.astype(np.float32) - zeros) * scales.astype(np.float32)).astype(scale.dtype)


@coreml("constexpr_blockwise_shift_scale(Tensor data, Tensor scale, Tensor? offset=None) -> Tensor")
class BlockwiseShiftScaleMilOp(ConstexprMilOp):
    """(data - offset) * scale, with one offset and one scale for each block."""

    since = 18

    @staticmethod
    def infer(data: Tensor, scale: Tensor, offset: Tensor | None, /) -> Tensor:
        _check_elements(data, offset)
        shape, blocks = shape_of(data), shape_of(scale)
        if len(shape) != len(blocks) or any(size % count for size, count in zip(shape, blocks, strict=True)):
            raise ValueError(f"{list(shape)} is not in {list(blocks)} blocks of one size")
        if offset is not None and shape_of(offset) != blocks:
            raise ValueError(f"there are offsets {list(shape_of(offset))}, and scales {list(blocks)}")
        return like(scale, shape)

    @staticmethod
    def numpy(data: Array, scale: Array, offset: Array | None, /) -> Array:
        scales, offsets = (None if value is None else _spread(value.astype(np.float32), data.shape) for value in (scale, offset))
        assert scales is not None
        return ((data.astype(np.float32) - (0 if offsets is None else offsets)) * scales).astype(scale.dtype)


@coreml("constexpr_lut_to_dense(Tensor indices, Tensor lut) -> Tensor")
class LutToDenseMilOp(ConstexprMilOp):
    """The entries of a table of 16 that integers from 0 to 15 name: a palette."""

    since = 16

    @staticmethod
    def infer(indices: Tensor, lut: Tensor, /) -> Tensor:
        if element_of(indices) != ui8 or not shape_of(indices) or shape_of(lut) != (PALETTE,):
            raise ValueError(f"{indices} are no places in a table of {PALETTE}, or {lut} is none")
        return like(lut, shape_of(indices))

    @staticmethod
    def numpy(indices: Array, lut: Array, /) -> Array:
        return lut[indices]


def _spread(value: Array, shape: tuple[int, ...]) -> Array:
    """Returns the value of its block for each element."""
    for dim, (size, count) in enumerate(zip(shape, value.shape, strict=True)):
        value = value.repeat(size // count, dim)
    return value
