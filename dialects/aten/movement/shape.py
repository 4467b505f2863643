"""Operators that change the shape of a tensor, or expand it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.ir.extents import differ, exceeds, is_known, is_unknown, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, same_shape, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def resolve_size(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that `view` to `size` gives: one -1 in `size` is replaced by the remaining factor of the number of elements.

    Raises ValueError when the elements do not fit.
    """
    inferred = [axis for axis, extent in enumerate(size) if is_known(extent) and extent == -1]
    if len(inferred) > 1 or any(exceeds(-1, extent) for extent in size):
        raise ValueError(f"size {list(size)} may have one -1 and no other negative number")
    total = math.prod(shape)
    known = math.prod(extent for axis, extent in enumerate(size) if axis not in inferred)
    if inferred and not provably_equal(known, 0) and not differ(total % known, 0):
        return tuple(total // known if axis in inferred else extent for axis, extent in enumerate(size))
    if inferred or differ(known, total):
        raise ValueError(f"{total} elements of shape {list(shape)} do not fit size {list(size)}")
    return tuple(size)


def expanded_shape(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that `expand` to `size` gives: -1 keeps a dimension, new dimensions are leading. Raises ValueError."""
    added = len(size) - len(shape)
    if added < 0:
        raise ValueError(f"size {list(size)} has fewer dimensions than shape {list(shape)}")
    result: list[int] = []
    for axis, extent in enumerate(size):
        old = 1 if axis < added else shape[axis - added]
        kept = is_known(extent) and extent == -1
        if kept and axis < added:
            raise ValueError(f"size {list(size)} keeps dimension {axis}, which shape {list(shape)} does not have")
        if not kept and differ(old, 1) and differ(old, extent):
            raise ValueError(f"shape {list(shape)} does not expand to size {list(size)}")
        result.append(old if kept else extent)
    return tuple(result)


def normalize_dims(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns `dims` counted from the front. Raises IndexError for one out of range and ValueError for one given twice."""
    result = tuple(normalize_dim(dim, rank) for dim in dims)
    if len(set(result)) < len(result):
        raise ValueError(f"dims {list(dims)} name a dimension twice")
    return result


def squeezed_shape(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Returns `shape` without the dimensions among `dims` that have size 1."""
    removed = {dim for dim in normalize_dims(dims, len(shape)) if dim < len(shape) and shape[dim] == 1}
    return tuple(extent for dim, extent in enumerate(shape) if dim not in removed)


@aten("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", core=True)
class ViewOp(PartwiseOp):
    """The elements in row-major order in the shape `size`, in which one -1 is inferred."""

    @staticmethod
    def infer(x: Tensor, /, size: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), resolve_size(shape_of(x), size))

    @staticmethod
    def numpy(x: Array, /, size: tuple[int, ...]) -> Array:
        return x.reshape(resolve_size(x.shape, size))


@aten("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", core=True)
class ExpandOp(PartwiseOp):
    """The tensor with dimensions of size 1 repeated and new leading dimensions; -1 in `size` keeps a dimension."""

    @staticmethod
    def infer(x: Tensor, /, size: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), expanded_shape(shape_of(x), size))

    @staticmethod
    def numpy(x: Array, /, size: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, expanded_shape(x.shape, size))


@aten("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", core=True)
class SqueezeDimOp(PartwiseOp):
    """The tensor without dimension `dim` if its size is 1, else unchanged."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> Tensor:
        return tensor(element_of(x), squeezed_shape(shape_of(x), (dim,)))

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return x.reshape(squeezed_shape(x.shape, (dim,)))


@aten("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", core=True)
class SqueezeDimsOp(PartwiseOp):
    """The tensor without the dimensions among `dim` whose size is 1."""

    @staticmethod
    def infer(x: Tensor, /, dim: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), squeezed_shape(shape_of(x), dim))

    @staticmethod
    def numpy(x: Array, /, dim: tuple[int, ...]) -> Array:
        return x.reshape(squeezed_shape(x.shape, dim))


@aten("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", core=True)
class UnsqueezeOp(PartwiseOp):
    """The tensor with a new dimension of size 1 at `dim`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> Tensor:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape) + 1)
        return tensor(element_of(x), (*shape[:dim], 1, *shape[dim:]))

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return np.expand_dims(x, normalize_dim(dim, x.ndim + 1))


def sizes(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns a shape as the argument of an operator: -1 for an extent that cannot be written down."""
    return tuple(-1 if is_unknown(extent) else extent for extent in shape)


def view(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns `x` under another shape, built detached; `x` itself when it has that shape."""
    return x if same_shape(shape_of(x), shape) else aten.view(x, sizes(shape))


def expand(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns `x` expanded, built detached; `x` itself when it has that shape. Raises ValueError for an extent that only the run knows."""
    old = (*(1 for _ in range(len(shape) - len(shape_of(x)))), *shape_of(x))
    if any(provably_equal(before, 1) and is_unknown(after) for before, after in zip(old, shape, strict=False)):
        raise ValueError(f"{list(shape_of(x))} is to be expanded to {list(shape)}, and how far only the run knows")
    return x if same_shape(shape_of(x), shape) else aten.expand(x, sizes(shape))


class ViewFamilyOp(SchemaOp):
    """Operators that give the elements in row-major order another shape, in terms of `view`."""

    moves = True

    @staticmethod
    def target(*args: Any, **kwargs: Any) -> tuple[int, ...]:
        """Returns the result shape, from the operand's shape and the other arguments."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, /, *args: Any) -> Tensor:
        return tensor(element_of(x), cls.target(shape_of(x), *args))

    @classmethod
    def numpy(cls, x: Array, /, *args: Any) -> Array:
        return x.reshape(cls.target(x.shape, *args))

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        return view(x, cls.target(shape_of(x), *args))


@aten("_unsafe_view(Tensor self, SymInt[] size) -> Tensor")
@aten("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
class ReshapeOp(ViewFamilyOp):
    """The elements in row-major order in another shape, in which one -1 is inferred."""

    target = staticmethod(resolve_size)


@aten("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
class FlattenUsingIntsOp(ViewFamilyOp):
    """The tensor with dimensions start_dim to end_dim (included) merged into one."""

    @staticmethod
    def target(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...]:
        """Returns the dimensions multiplied; a 0-d tensor becomes 1-d."""
        if not shape:
            return (1,)
        start, end = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
        if start > end:
            raise ValueError(f"start_dim {start_dim} comes after end_dim {end_dim}")
        flat = shape[start : end + 1]
        return (*shape[:start], math.prod(flat), *shape[end + 1 :])


@aten("ravel(Tensor(a) self) -> Tensor(a)")
class RavelOp(ViewFamilyOp):
    """All elements in row-major order in one dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns one dimension."""
        return FlattenUsingIntsOp.target(shape, 0, -1)


@aten("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
class UnflattenIntOp(ViewFamilyOp):
    """The tensor with dimension `dim` split into dimensions of `sizes`, one of which may be -1."""

    @staticmethod
    def target(shape: tuple[int, ...], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns `sizes` in the place of `dim`."""
        if not shape or not sizes:
            raise ValueError(f"a tensor of shape {list(shape)} cannot be unflattened to sizes {list(sizes)}")
        dim = normalize_dim(dim, len(shape))
        return (*shape[:dim], *resolve_size(shape[dim : dim + 1], sizes), *shape[dim + 1 :])


@aten("squeeze(Tensor(a) self) -> Tensor(a)")
class SqueezeOp(ViewFamilyOp):
    """The tensor without its dimensions of size 1."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the dimensions that are not 1."""
        return squeezed_shape(shape, range(len(shape)))


@aten("atleast_1d(Tensor self) -> Tensor")
class Atleast1dOp(ViewFamilyOp):
    """The tensor with at least one dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns one new dimension for a 0-d tensor."""
        return shape or (1,)


@aten("atleast_2d(Tensor self) -> Tensor")
class Atleast2dOp(ViewFamilyOp):
    """The tensor with at least two dimensions; new dimensions are leading."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns new dimensions in front."""
        return (1,) * (2 - len(shape)) + shape


@aten("atleast_3d(Tensor self) -> Tensor")
class Atleast3dOp(ViewFamilyOp):
    """The tensor with at least three dimensions: a vector becomes [1, n, 1], and a matrix gets a last dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns new dimensions around."""
        return (*Atleast2dOp.target(shape), 1) if len(shape) < 3 else shape


@aten("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)")
@aten("view_as(Tensor(a) self, Tensor other) -> Tensor(a)")
class ViewAsOp(SchemaOp):
    """The elements in row-major order in the shape of `other`."""

    @staticmethod
    def infer(x: Tensor, other: Tensor, /) -> Tensor:
        return tensor(element_of(x), resolve_size(shape_of(x), shape_of(other)))

    @staticmethod
    def numpy(x: Array, other: Array, /) -> Array:
        return x.reshape(other.shape)

    @staticmethod
    def decompose(x: SSAValue, other: SSAValue, /) -> SSAValue:
        return view(x, shape_of(other))


@aten("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
class ExpandAsOp(SchemaOp):
    """The tensor expanded to the shape of `other`."""

    @staticmethod
    def infer(x: Tensor, other: Tensor, /) -> Tensor:
        return tensor(element_of(x), expanded_shape(shape_of(x), shape_of(other)))

    @staticmethod
    def numpy(x: Array, other: Array, /) -> Array:
        return np.broadcast_to(x, other.shape)

    @staticmethod
    def decompose(x: SSAValue, other: SSAValue, /) -> SSAValue:
        return expand(x, shape_of(other))


@aten("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
class BroadcastToOp(SchemaOp):
    """The tensor with dimensions of size 1 repeated and new leading dimensions; -1 in `size` keeps a dimension."""

    infer = staticmethod(ExpandOp.infer)
    numpy = staticmethod(ExpandOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /, size: tuple[int, ...]) -> SSAValue:
        return expand(x, expanded_shape(shape_of(x), size))
