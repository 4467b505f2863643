"""Padding, and the parts of matrices above or below a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp, RealNumberOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.movement.shape import expand
from flambeau.dialects.ir.extents import exceeds, maximum, minimum, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import NUMBERS, require_category, require_number
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def margins(pad: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """Returns the entries before and after each of `rank` dimensions; `pad` names the last dimension first. Raises ValueError."""
    if len(pad) % 2 or len(pad) > 2 * rank:
        raise ValueError(f"pad {list(pad)} must have two entries per dimension, at most {2 * rank}")
    pairs = [(pad[index], pad[index + 1]) for index in range(0, len(pad), 2)]
    return [(0, 0)] * (rank - len(pairs)) + pairs[::-1]


def padded_shape(shape: Sequence[int], pad: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape after padding; negative entries take away. Raises ValueError when less than nothing is left."""
    result: list[int] = []
    for extent, (before, after) in zip(shape, margins(pad, len(shape)), strict=True):
        if exceeds(0, extent + before + after) or exceeds(-before, extent) or exceeds(-after, extent):
            raise ValueError(f"pad {list(pad)} takes more than there is of shape {list(shape)}")
        result.append(extent + before + after)
    return tuple(result)


@aten("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", core=True)
class ConstantPadNdOp(RealNumberOp):
    """The tensor padded with `value` before and after each dimension; `pad` lists the last dimension first. Negative entries crop."""

    dim_order = "kept"
    stores = True

    @staticmethod
    def infer(x: Tensor, /, pad: tuple[int, ...], value: float = 0) -> Tensor:
        require_number(value, element_of(x))
        return tensor(element_of(x), padded_shape(shape_of(x), pad))

    @staticmethod
    def numpy(x: Array, /, pad: tuple[int, ...], value: float) -> Array:
        pairs = margins(pad, x.ndim)
        kept = x[tuple(slice(max(-low, 0), extent - max(-high, 0)) for extent, (low, high) in zip(x.shape, pairs, strict=True))]
        return np.pad(kept, [(max(low, 0), max(high, 0)) for low, high in pairs], constant_values=cast_to(value, element_of_array(x)))


def without_margins(x: SSAValue, dim: int, low: int, high: int) -> SSAValue:
    """Gives x without the entries before and after a dimension that negative numbers take away."""
    if exceeds(low, -1) and exceeds(high, -1):
        return x
    return aten.slice.Tensor(x, dim, maximum(-low, 0), maximum(shape_of(x)[dim] + minimum(high, 0), 0))


def with_margins(x: SSAValue, dim: int, low: int, high: int) -> SSAValue:
    """Gives x with zeros before and after a dimension; a negative number takes entries away."""
    x = without_margins(x, dim, low, high)
    after = (0, 0) * (len(shape_of(x)) - 1 - dim)
    return x if exceeds(1, maximum(low, high)) else aten.constant_pad_nd(x, (*after, maximum(low, 0), maximum(high, 0)))


class EdgePadOp(PartwiseOp):
    """Padding of the last `rank` dimensions with entries of the tensor itself."""

    rank: ClassVar[int]
    """The number of padded dimensions."""
    reflects: ClassVar[bool] = False
    """Mirrored about the border entry; otherwise the border entry repeated."""

    @classmethod
    def check(cls, shape: Sequence[int], padding: Sequence[int]) -> None:
        """Raises ValueError when the padding does not fit."""
        if len(shape) not in (cls.rank + 1, cls.rank + 2) or len(padding) != 2 * cls.rank:
            raise ValueError(f"shape {list(shape)} and padding {list(padding)} must have {cls.rank} spatial dimensions")
        if any(provably_equal(0, extent) for extent in shape[len(shape) - cls.rank - 1 :]):
            raise ValueError(f"only the batch may be empty, got shape {list(shape)}")
        for extent, pair in zip(shape, margins(padding, len(shape)), strict=True):
            if cls.reflects and exceeds(maximum(*pair) + 1, extent) and exceeds(extent, 0):
                raise ValueError(f"padding {list(padding)} must be smaller than the dimension of size {extent} that it mirrors")

    @classmethod
    def infer(cls, x: Tensor, /, padding: tuple[int, ...]) -> Tensor:
        cls.check(shape_of(x), padding)
        return tensor(element_of(x), padded_shape(shape_of(x), padding))

    @classmethod
    def numpy(cls, x: Array, /, padding: tuple[int, ...]) -> Array:
        for axis, (low, high) in enumerate(margins(padding, x.ndim)):
            places = np.arange(-low, x.shape[axis] + high, dtype=np.int64)
            last = x.shape[axis] - 1
            places = last - np.abs(last - np.abs(places)) if cls.reflects else np.clip(places, 0, last)
            x = np.take(x, places, axis)
        return x


@aten("reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", core=True)
class ReflectionPad1dOp(EdgePadOp):
    """The last dimension mirrored about its border entries."""

    takes = NUMBERS
    rank, reflects = 1, True


@aten("reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", core=True)
class ReflectionPad2dOp(EdgePadOp):
    """The last two dimensions mirrored about their border entries."""

    takes = NUMBERS
    rank, reflects = 2, True


@aten("reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", core=True)
class ReflectionPad3dOp(EdgePadOp):
    """The last three dimensions mirrored about their border entries."""

    takes = NUMBERS
    rank, reflects = 3, True


@aten("replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", core=True)
class ReplicationPad2dOp(EdgePadOp):
    """The border entries of the last two dimensions repeated."""

    takes = NUMBERS
    rank = 2


@aten("replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", core=True)
class ReplicationPad3dOp(EdgePadOp):
    """The border entries of the last three dimensions repeated."""

    takes = NUMBERS
    rank = 3


@aten("replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", keep=True)
class ReplicationPad1dOp(EdgePadOp):
    """The border entries of the last dimension repeated."""

    takes = NUMBERS
    rank = 1

    @classmethod
    def decompose(cls, x: SSAValue, /, padding: tuple[int, ...]) -> SSAValue:
        (low, high), shape = padding, shape_of(x)
        first = aten.slice.Tensor(x, -1, 0, 1)
        last = aten.slice.Tensor(x, -1, shape[-1] - 1, shape[-1])
        before = [] if exceeds(1, low) else [expand(first, (*shape[:-1], maximum(low, 0)))]
        after = [] if exceeds(1, high) else [expand(last, (*shape[:-1], maximum(high, 0)))]
        return aten.cat([*before, without_margins(x, len(shape) - 1, low, high), *after], -1)


_EDGE_PADS: dict[tuple[str, int], type[EdgePadOp]] = {
    ("reflect", 1): ReflectionPad1dOp,
    ("reflect", 2): ReflectionPad2dOp,
    ("reflect", 3): ReflectionPad3dOp,
    ("replicate", 1): ReplicationPad1dOp,
    ("replicate", 2): ReplicationPad2dOp,
    ("replicate", 3): ReplicationPad3dOp,
}


@aten('pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor')
class PadOp(SchemaOp):
    """Padding of the last dimensions: `constant`, `reflect`, `replicate` or `circular`."""

    stores = True

    @staticmethod
    def edge_pad(rank: int, pad: Sequence[int], mode: str) -> type[EdgePadOp]:
        """Returns the operator of a mode that pads with entries of the tensor. Raises ValueError."""
        found = _EDGE_PADS.get((mode, len(pad) // 2))
        if found is None or len(pad) % 2 or rank - len(pad) // 2 not in (1, 2):
            raise ValueError(f'mode "{mode}" does not pad {rank} dimensions by {list(pad)}')
        return found

    @staticmethod
    def circular(shape: Sequence[int], pad: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the margins of circular padding. Raises ValueError when they wrap around more than once."""
        pairs = margins(pad, len(shape))
        if any(exceeds(maximum(*pair), extent + minimum(0, minimum(*pair))) for extent, pair in zip(shape, pairs, strict=True)):
            raise ValueError(f"circular pad {list(pad)} wraps around shape {list(shape)} more than once")
        return pairs

    @staticmethod
    def infer(x: Tensor, /, pad: tuple[int, ...], mode: str, value: float | None) -> Tensor:
        shape = shape_of(x)
        if mode != "constant" and value:
            raise ValueError(f'mode "{mode}" takes no value, got {value}')
        if mode == "circular":
            PadOp.circular(shape, pad)
        elif mode != "constant":
            require_category(f'padding of the mode "{mode}"', x, at_least=1)
            return PadOp.edge_pad(len(shape), pad, mode).infer(x, pad)
        return tensor(element_of(x), padded_shape(shape, pad))

    @staticmethod
    def numpy(x: Array, /, pad: tuple[int, ...], mode: str, value: float | None) -> Array:
        if mode == "constant":
            return ConstantPadNdOp.numpy(x, pad, value or 0)
        if mode != "circular":
            return PadOp.edge_pad(x.ndim, pad, mode).numpy(x, pad)
        for axis, (low, high) in enumerate(PadOp.circular(x.shape, pad)):
            x = np.take(x, np.arange(max(-low, 0), x.shape[axis] + min(high, 0), dtype=np.int64), axis)
            x = np.take(x, np.arange(min(-low, 0), x.shape[axis] + max(high, 0), dtype=np.int64) % max(x.shape[axis], 1), axis)
        return x

    @staticmethod
    def decompose(x: SSAValue, /, pad: tuple[int, ...], mode: str, value: float | None) -> SSAValue:
        shape = shape_of(x)
        if mode == "constant":
            return x if all(provably_equal(entry, 0) for entry in pad) else aten.constant_pad_nd(x, pad, value or 0)
        if mode != "circular":
            return PadOp.edge_pad(len(shape), pad, mode)(x, pad).result
        for axis, (low, high) in enumerate(PadOp.circular(shape, pad)):
            x = without_margins(x, axis, low, high)
            extent = shape_of(x)[axis]
            before = [] if exceeds(1, low) else [aten.slice.Tensor(x, axis, extent - maximum(low, 0), extent)]
            after = [] if exceeds(1, high) else [aten.slice.Tensor(x, axis, 0, maximum(high, 0))]
            if before or after:
                x = aten.cat([*before, x, *after], axis)
        return x


def sliced_and_padded(x: SSAValue, pad: tuple[int, ...], value: float) -> SSAValue:
    """Returns `constant_pad_nd` without negative numbers: slices first, then pads."""
    for index in range(0, len(pad), 2):
        dim = len(shape_of(x)) - 1 - index // 2
        x = without_margins(x, dim, *pad[index : index + 2])
    return aten.constant_pad_nd(x, tuple(maximum(number, 0) for number in pad), value)
