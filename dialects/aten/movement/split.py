"""Operators that split a tensor into a list of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.movement.select import SliceTensorOp
from flambeau.dialects.ir.extents import differ, exceeds, minimum
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def split_dim(shape: Sequence[int], dim: int) -> int:
    """Returns the dimension to split, counted from the front. Raises IndexError, also for a 0-d tensor; ValueError for a dynamic one."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to split")
    return normalize_dim(dim, len(shape))


def chunk_sizes(extent: int, size: int) -> list[int]:
    """Returns the sizes of parts of `size` entries, the last one smaller when they do not divide `extent`. Raises ValueError."""
    if size < 0 or (size == 0 and extent):
        raise ValueError(f"parts of {size} entries do not make up {extent}")
    if extent == 0 or size == 0:
        return [extent]
    sizes, start = list[int](), 0
    while start < extent:
        sizes.append(minimum(size, extent - start))
        start += size
    return sizes


@aten("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", core=True)
class SplitWithSizesOp(PartwiseOp):
    """Consecutive parts of the given sizes along `dim`."""

    @staticmethod
    def infer(x: Tensor, split_sizes: tuple[int, ...], /, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        dim = split_dim(shape, dim)
        if differ(sum(split_sizes), shape[dim]) or any(exceeds(0, size) for size in split_sizes):
            raise ValueError(f"split sizes {list(split_sizes)} must add up to {shape[dim]}, the size of dimension {dim}")
        return [tensor(element_of(x), (*shape[:dim], size, *shape[dim + 1 :])) for size in split_sizes]

    @staticmethod
    def numpy(x: Array, split_sizes: tuple[int, ...], /, dim: int) -> list[Array]:
        ends = np.cumsum(split_sizes, dtype=np.int64)
        return np.split(x, ends[:-1], axis=dim) if split_sizes else []


class SplitFamilyOp(SchemaOp):
    """Splits that are `split_with_sizes` with sizes that follow from the shape."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """Returns the sizes of the parts."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, count: int, /, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        return SplitWithSizesOp.infer(x, tuple(cls.sizes(shape[split_dim(shape, dim)], count)), dim)

    @classmethod
    def numpy(cls, x: Array, count: int, /, dim: int) -> list[Array]:
        return SplitWithSizesOp.numpy(x, tuple(cls.sizes(x.shape[dim], count)), dim)

    @classmethod
    def decompose(cls, x: SSAValue, count: int, /, dim: int) -> Sequence[SSAValue]:
        shape = shape_of(x)
        return aten.split_with_sizes.results(x, tuple(cls.sizes(shape[split_dim(shape, dim)], count)), dim)


@aten("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
@aten("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
class SplitTensorOp(SplitFamilyOp):
    """Parts of `split_size` entries along `dim`; the last may be smaller."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """Returns the sizes of parts of `count` entries; the last may be smaller."""
        return chunk_sizes(extent, count)


@aten("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
@aten("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
class ChunkOp(SplitFamilyOp):
    """At most `chunks` equal parts along `dim`; the last may be smaller."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """Returns `count` parts of the size that suffices; empty dimensions give `count` empty parts."""
        if count < 1:
            raise ValueError(f"chunks must be at least 1, got {count}")
        size = -(-extent // count)
        if exceeds(extent, (count - 1) ** 2):
            # Then all parts have entries, and the last is not larger than the others.
            return [*[size] * (count - 1), extent - size * (count - 1)]
        return chunk_sizes(extent, size) if extent else [0] * count


@aten("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")
class TensorSplitSectionsOp(SplitFamilyOp):
    """Exactly `sections` parts along `dim`; if they cannot be equal, the first parts are larger by one."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """Returns `count` parts whose sizes differ by at most one."""
        if count < 1:
            raise ValueError(f"sections must be at least 1, got {count}")
        return [(extent + count - 1 - part) // count for part in range(count)]


@aten("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
@aten("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
class SplitSizesOp(SchemaOp):
    """Consecutive parts of the given sizes along `dim`."""

    infer = staticmethod(SplitWithSizesOp.infer)
    numpy = staticmethod(SplitWithSizesOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, sizes: tuple[int, ...], /, dim: int) -> Sequence[SSAValue]:
        return aten.split_with_sizes.results(x, sizes, dim)


@aten("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
class TensorSplitIndicesOp(SchemaOp):
    """The parts between consecutive `indices` of dimension `dim`."""

    @staticmethod
    def infer(x: Tensor, /, indices: tuple[int, ...], dim: int) -> list[Tensor]:
        split_dim(shape_of(x), dim)
        return [SliceTensorOp.infer(x, dim, start, end, 1) for start, end in zip((0, *indices), (*indices, None), strict=True)]

    @staticmethod
    def numpy(x: Array, /, indices: tuple[int, ...], dim: int) -> list[Array]:
        return [SliceTensorOp.numpy(x, dim, start, end, 1) for start, end in zip((0, *indices), (*indices, None), strict=True)]

    @staticmethod
    def decompose(x: SSAValue, /, indices: tuple[int, ...], dim: int) -> Sequence[SSAValue]:
        return [aten.slice.Tensor(x, dim, start, end) for start, end in zip((0, *indices), (*indices, None), strict=True)]


@aten("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
class UnbindIntOp(PartwiseOp):
    """The entries of dimension `dim` as separate tensors, which lack this dimension."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        dim = split_dim(shape, dim)
        return [tensor(element_of(x), (*shape[:dim], *shape[dim + 1 :]))] * shape[dim]

    @staticmethod
    def numpy(x: Array, /, dim: int) -> list[Array]:
        return list(np.moveaxis(x, dim, 0))

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> Sequence[SSAValue]:
        shape = shape_of(x)
        return [aten.select.int(x, dim, index) for index in range(shape[split_dim(shape, dim)])]


class AxisSplitOp(SchemaOp):
    """`tensor_split` of one dimension by name: along the width, the height or the depth."""

    dimension: ClassVar[int]
    """The dimension to split; the last one if there are fewer."""
    least: ClassVar[int]
    """The number of dimensions that a tensor must have."""

    @classmethod
    def general(cls) -> Any:
        """Returns the row of `tensor_split` with the same kind of argument."""
        return TensorSplitSectionsOp if cls.schema.overload == "int" else TensorSplitIndicesOp

    @classmethod
    def checked(cls, shape: Sequence[int], sections: int | tuple[int, ...]) -> int:
        """Returns the dimension to split. Raises ValueError when there is none or the sections cannot be equal."""
        if len(shape) < cls.least:
            raise ValueError(f"needs at least {cls.least} dimension{'s' if cls.least > 1 else ''}")
        axis = min(cls.dimension, len(shape) - 1)
        if isinstance(sections, int) and (sections < 1 or shape[axis] % sections):
            raise ValueError(f"dimension {axis} of size {shape[axis]} does not divide into {sections} sections")
        return axis

    @classmethod
    def infer(cls, x: Tensor, sections: int | tuple[int, ...], /) -> list[Tensor]:
        return cls.general().infer(x, sections, cls.checked(shape_of(x), sections))

    @classmethod
    def numpy(cls, x: Array, sections: int | tuple[int, ...], /) -> list[Array]:
        return cls.general().numpy(x, sections, cls.checked(x.shape, sections))

    @classmethod
    def decompose(cls, x: SSAValue, sections: int | tuple[int, ...], /) -> Sequence[SSAValue]:
        return cls.general()(x, sections, cls.checked(shape_of(x), sections)).results


@aten("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
@aten("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class HsplitIntOp(AxisSplitOp):
    """Equal parts, or the parts between consecutive indices, along the second dimension (the first of a vector)."""

    dimension, least = 1, 1


@aten("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
@aten("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class VsplitIntOp(AxisSplitOp):
    """Equal parts, or the parts between consecutive indices, along the first dimension."""

    dimension, least = 0, 2


@aten("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
@aten("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class DsplitIntOp(AxisSplitOp):
    """Equal parts, or the parts between consecutive indices, along the third dimension."""

    dimension, least = 2, 3
