"""Operators that reorder dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def checked_permutation(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns `dims` counted from the front. Raises ValueError unless these are `rank` dimensions, each once."""
    if len(dims) != rank:
        raise ValueError(f"dims {list(dims)} must name each of {rank} dimensions once")
    return normalize_dims(dims, rank)


class PermutingOp(SchemaOp):
    """Operators that put the dimensions in another order."""

    @staticmethod
    def order(*args: Any, **kwargs: Any) -> Sequence[int]:
        """Returns for each dimension of the result its dimension in the operand, from the rank and the other arguments."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, /, *args: Any) -> Tensor:
        shape = shape_of(x)
        return tensor(element_of(x), [shape[dim] for dim in cls.order(len(shape), *args)])

    @classmethod
    def numpy(cls, x: Array, /, *args: Any) -> Array:
        return x.transpose(cls.order(x.ndim, *args))


@aten("permute(Tensor(a) self, int[] dims) -> Tensor(a)", core=True)
class PermuteOp(PermutingOp, PartwiseOp):
    """Dimension i of the result is dimension dims[i] of the operand."""

    @staticmethod
    def order(rank: int, dims: Sequence[int]) -> Sequence[int]:
        """Returns `dims`, counted from the front. Raises ValueError if a dimension is missing or repeated."""
        return checked_permutation(dims, rank)


def permute(x: SSAValue, order: Sequence[int]) -> SSAValue:
    """Returns `x` with its dimensions in another order, built detached; `x` itself when the order stays."""
    return x if list(order) == list(range(len(order))) else aten.permute(x, tuple(order))


class PermuteFamilyOp(PermutingOp):
    """Operators that are `permute` with an order that follows from the rank."""

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        return permute(x, cls.order(len(shape_of(x)), *args))


def swapped(rank: int, dim0: int, dim1: int) -> list[int]:
    """Returns the order with two dimensions exchanged. Raises IndexError."""
    order = list(range(rank))
    first, second = normalize_dim(dim0, rank), normalize_dim(dim1, rank)
    if rank:
        order[first], order[second] = second, first
    return order


@aten("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
@aten("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
@aten("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
class TransposeIntOp(PermuteFamilyOp):
    """The tensor with two dimensions exchanged."""

    order = staticmethod(swapped)


@aten("t(Tensor(a) self) -> Tensor(a)")
class TOp(PermuteFamilyOp):
    """The transpose of a matrix; a vector or a 0-d tensor unchanged."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """Returns the order that exchanges the two dimensions of a matrix. Raises ValueError for a higher rank."""
        if rank > 2:
            raise ValueError(f"t takes at most 2 dimensions, got {rank}")
        return range(rank)[::-1]


@aten("mT(Tensor(a) self) -> Tensor(a)")
class MTOp(PermuteFamilyOp):
    """The tensor with the last two dimensions exchanged."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """Returns the order that exchanges the last two dimensions; an empty order for rank 0. Raises ValueError for rank 1."""
        if rank == 1:
            raise ValueError("a vector has no two dimensions to exchange")
        return swapped(rank, -2, -1) if rank else ()


@aten("mH(Tensor(a) self) -> Tensor(a)")
@aten("adjoint(Tensor(a) self) -> Tensor(a)")
class AdjointOp(MTOp):
    """The complex conjugate of the tensor with the last two dimensions exchanged."""

    @classmethod
    def numpy(cls, x: Array, /, *args: Any) -> Array:
        found = x.transpose(cls.order(x.ndim))
        return np.conj(found) if x.dtype.kind == "c" else found

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        return aten.conj_physical(permute(x, cls.order(len(shape_of(x)))))


@aten("numpy_T(Tensor(a) self) -> Tensor(a)")
class NumpyTOp(PermuteFamilyOp):
    """The tensor with its dimensions in reverse order."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """Returns the dimensions in reverse order."""
        return range(rank)[::-1]


def moved(rank: int, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """Returns the order of dimensions after `source` moved to `destination`; the rest keep their order. Raises IndexError, ValueError."""
    if len(source) != len(destination):
        raise ValueError(f"source {list(source)} and destination {list(destination)} must be as many")
    places = dict(zip(normalize_dims(destination, rank), normalize_dims(source, rank), strict=True))
    rest = iter(dim for dim in range(rank) if dim not in places.values())
    return checked_permutation([places[dim] if dim in places else next(rest) for dim in range(rank)], rank)


@aten("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
@aten("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
class MovedimIntlistOp(PermuteFamilyOp):
    """The tensor with dimensions `source` moved to `destination`; the other dimensions keep their order."""

    order = staticmethod(moved)


@aten("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
@aten("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
class MovedimIntOp(PermuteFamilyOp):
    """The tensor with dimension `source` moved to `destination`; the other dimensions keep their order."""

    @staticmethod
    def order(rank: int, source: int, destination: int) -> Sequence[int]:
        """Returns the order of dimensions after dimension `source` moved to `destination`."""
        return moved(rank, (source,), (destination,)) if rank else ()
