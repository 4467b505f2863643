"""Operators that cut a tensor into a list of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.select import SliceTensorOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def split_dim(shape: Sequence[int], dim: int) -> int:
    """The dimension to split, counted from the front. Raises IndexError, also for a 0-d tensor, and ValueError for a dynamic one."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to split")
    dim = normalize_dim(dim, len(shape))
    if shape[dim] < 0:
        raise ValueError(f"dimension {dim} is dynamic, so the number of parts is unknown")
    return dim


def chunk_sizes(extent: int, size: int) -> list[int]:
    """The sizes of parts of `size` entries, the last one smaller when they do not divide `extent`. Raises ValueError."""
    if size < 0 or (size == 0 and extent):
        raise ValueError(f"parts of {size} entries do not make up {extent}")
    if extent == 0 or size == 0:
        return [extent]
    return [min(size, extent - start) for start in range(0, extent, size)]


@aten("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", core=True)
class SplitWithSizesOp(SchemaOp):
    """Consecutive parts of the given sizes along `dim`."""

    @staticmethod
    def infer(x: Tensor, split_sizes: tuple[int, ...], dim: int) -> list[Tensor]:
        shape = shape_of(x)
        dim = split_dim(shape, dim)
        if sum(split_sizes) != shape[dim] or any(size < 0 for size in split_sizes):
            raise ValueError(f"split sizes {list(split_sizes)} must add up to {shape[dim]}, the size of dimension {dim}")
        return [tensor(element_of(x), (*shape[:dim], size, *shape[dim + 1 :])) for size in split_sizes]

    @staticmethod
    def numpy(x: Array, split_sizes: tuple[int, ...], dim: int) -> list[Array]:
        ends = np.cumsum(split_sizes, dtype=np.int64)
        return np.split(x, ends[:-1], axis=dim) if split_sizes else []


class SplitFamilyOp(SchemaOp):
    """Splits that are `split_with_sizes` with sizes that follow from the shape."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """The sizes of the parts."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, count: int, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        return SplitWithSizesOp.infer(x, tuple(cls.sizes(shape[split_dim(shape, dim)], count)), dim)

    @classmethod
    def numpy(cls, x: Array, count: int, dim: int) -> list[Array]:
        return SplitWithSizesOp.numpy(x, tuple(cls.sizes(x.shape[dim], count)), dim)

    @classmethod
    def decompose(cls, x: SSAValue, count: int, dim: int) -> list[SSAValue]:
        shape = shape_of(x)
        return list(aten.split_with_sizes.results(x, tuple(cls.sizes(shape[split_dim(shape, dim)], count)), dim))


@aten("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
class SplitTensorOp(SplitFamilyOp):
    """Parts of `split_size` entries along `dim`; the last may be smaller."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """Parts of `count` entries."""
        return chunk_sizes(extent, count)


@aten("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
class UnsafeSplitTensorOp(SplitTensorOp):
    """As `split.Tensor`, not a view."""


@aten("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
class ChunkOp(SplitFamilyOp):
    """At most `chunks` equal parts along `dim`; the last may be smaller."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """`count` parts of the size that suffices; empty dimensions give `count` empty parts."""
        if count < 1:
            raise ValueError(f"chunks must be at least 1, got {count}")
        return chunk_sizes(extent, -(-extent // count)) if extent else [0] * count


@aten("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
class UnsafeChunkOp(ChunkOp):
    """As `chunk`, not a view."""


@aten("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")
class TensorSplitSectionsOp(SplitFamilyOp):
    """Exactly `sections` parts along `dim`; the first ones are one larger when they cannot be equal."""

    @staticmethod
    def sizes(extent: int, count: int) -> list[int]:
        """`count` parts whose sizes differ by at most one."""
        if count < 1:
            raise ValueError(f"sections must be at least 1, got {count}")
        return [extent // count + (part < extent % count) for part in range(count)]


class SameAsSplitWithSizesOp(SchemaOp):
    """Other spellings of `split_with_sizes`."""

    infer = staticmethod(SplitWithSizesOp.infer)
    numpy = staticmethod(SplitWithSizesOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, split_sizes: tuple[int, ...], dim: int) -> list[SSAValue]:
        return list(aten.split_with_sizes.results(x, split_sizes, dim))


@aten("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
class SplitSizesOp(SameAsSplitWithSizesOp):
    """Consecutive parts of the given sizes along `dim`."""


@aten("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
class UnsafeSplitWithSizesOp(SameAsSplitWithSizesOp):
    """As `split_with_sizes`, not a view."""


@aten("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
class TensorSplitIndicesOp(SchemaOp):
    """The parts between consecutive `indices` of dimension `dim`."""

    @staticmethod
    def infer(x: Tensor, indices: tuple[int, ...], dim: int) -> list[Tensor]:
        split_dim(shape_of(x), dim)
        return [SliceTensorOp.infer(x, dim, start, end, 1) for start, end in zip((0, *indices), (*indices, None), strict=True)]

    @staticmethod
    def numpy(x: Array, indices: tuple[int, ...], dim: int) -> list[Array]:
        return [SliceTensorOp.numpy(x, dim, start, end, 1) for start, end in zip((0, *indices), (*indices, None), strict=True)]

    @staticmethod
    def decompose(x: SSAValue, indices: tuple[int, ...], dim: int) -> list[SSAValue]:
        return [aten.slice.Tensor(x, dim, start, end) for start, end in zip((0, *indices), (*indices, None), strict=True)]


@aten("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
class UnbindIntOp(SchemaOp):
    """The entries of dimension `dim`, which disappears."""

    @staticmethod
    def infer(x: Tensor, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        dim = split_dim(shape, dim)
        return [tensor(element_of(x), (*shape[:dim], *shape[dim + 1 :]))] * shape[dim]

    @staticmethod
    def numpy(x: Array, dim: int) -> list[Array]:
        return list(np.moveaxis(x, dim, 0))

    @staticmethod
    def decompose(x: SSAValue, dim: int) -> list[SSAValue]:
        shape = shape_of(x)
        return [aten.select.int(x, dim, index) for index in range(shape[split_dim(shape, dim)])]


class AxisSplitOp(SchemaOp):
    """`tensor_split` of one dimension by name: along the width, the height or the depth."""

    @staticmethod
    def axis(rank: int) -> int:
        """The dimension to split. Raises ValueError."""
        raise NotImplementedError

    @classmethod
    def general(cls) -> Any:
        """The row of `tensor_split` with the same kind of argument."""
        return TensorSplitSectionsOp if cls.schema.overload == "int" else TensorSplitIndicesOp

    @classmethod
    def checked(cls, shape: Sequence[int], sections: int | tuple[int, ...]) -> int:
        """The dimension to split. Raises ValueError when the sections cannot be equal."""
        axis = cls.axis(len(shape))
        if isinstance(sections, int) and (sections < 1 or shape[axis] % sections):
            raise ValueError(f"dimension {axis} of size {shape[axis]} does not divide into {sections} sections")
        return axis

    @classmethod
    def infer(cls, x: Tensor, sections: int | tuple[int, ...]) -> list[Tensor]:
        return cls.general().infer(x, sections, cls.checked(shape_of(x), sections))

    @classmethod
    def numpy(cls, x: Array, sections: int | tuple[int, ...]) -> list[Array]:
        return cls.general().numpy(x, sections, cls.checked(x.shape, sections))

    @classmethod
    def decompose(cls, x: SSAValue, sections: int | tuple[int, ...]) -> list[SSAValue]:
        return list(cls.general()(x, sections, cls.checked(shape_of(x), sections)).results)


class WidthSplitOp(AxisSplitOp):
    """Splits along dimension 1, or 0 of a vector."""

    @staticmethod
    def axis(rank: int) -> int:
        """The second dimension where there is one."""
        if rank < 1:
            raise ValueError("needs at least 1 dimension")
        return min(rank - 1, 1)


class HeightSplitOp(AxisSplitOp):
    """Splits along dimension 0 of a matrix."""

    @staticmethod
    def axis(rank: int) -> int:
        """The first dimension."""
        if rank < 2:
            raise ValueError("needs at least 2 dimensions")
        return 0


class DepthSplitOp(AxisSplitOp):
    """Splits along dimension 2."""

    @staticmethod
    def axis(rank: int) -> int:
        """The third dimension."""
        if rank < 3:
            raise ValueError("needs at least 3 dimensions")
        return 2


@aten("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class HsplitIntOp(WidthSplitOp):
    """Equal parts along the second dimension (the first of a vector)."""


@aten("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
class HsplitArrayOp(WidthSplitOp):
    """The parts between consecutive indices along the second dimension (the first of a vector)."""


@aten("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class VsplitIntOp(HeightSplitOp):
    """Equal parts along the first dimension."""


@aten("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
class VsplitArrayOp(HeightSplitOp):
    """The parts between consecutive indices along the first dimension."""


@aten("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
class DsplitIntOp(DepthSplitOp):
    """Equal parts along the third dimension."""


@aten("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
class DsplitArrayOp(DepthSplitOp):
    """The parts between consecutive indices along the third dimension."""
