"""The vector product."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import cast_operands
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, normalize_dim, promote_operands, shape_of, tensor
from flambeau.dialects.schema.families import NUMBERS, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def cross_dim(a: Sequence[int], b: Sequence[int], dim: int) -> int:
    """Returns `dim`, the dimension of the vectors, counted from the front.

    Raises ValueError if the ranks of the shapes differ, or if the dimension is not of size 3 in both. Raises IndexError if there is no such
    dimension.
    """
    common = broadcast(a, b)
    found = normalize_dim(dim, len(common))
    if len(a) != len(b) or a[found] != 3 or b[found] != 3:
        raise ValueError(f"dimension {dim} of shapes {list(a)} and {list(b)} must hold vectors of 3 elements")
    return found


@aten("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor")
class LinalgCrossOp(SchemaOp):
    """The vector products of the vectors of 3 elements along `dim` of two tensors."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, dim: int) -> Tensor:
        require_same_element(a, b)
        cross_dim(shape_of(a), shape_of(b), dim)
        return tensor(promote_operands(a, b), broadcast(shape_of(a), shape_of(b)))

    @staticmethod
    def numpy(a: Array, b: Array, /, dim: int) -> Array:
        left, right = cast_operands(a, b)
        axis = cross_dim(a.shape, b.shape, dim)
        return np.roll(left, -1, axis) * np.roll(right, -2, axis) - np.roll(left, -2, axis) * np.roll(right, -1, axis)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, dim: int) -> SSAValue:
        axis = cross_dim(shape_of(a), shape_of(b), dim)
        forward = aten.mul.Tensor(aten.roll(a, (-1,), (axis,)), aten.roll(b, (-2,), (axis,)))
        return aten.sub.Tensor(forward, aten.mul.Tensor(aten.roll(a, (-2,), (axis,)), aten.roll(b, (-1,), (axis,))))


@aten("cross(Tensor self, Tensor other, int? dim=None) -> Tensor")
class CrossOp(SchemaOp):
    """The vector products along `dim`, or along the first dimension of size 3."""

    takes = NUMBERS

    @staticmethod
    def found(shape: Sequence[int], dim: int | None) -> int:
        """Returns `dim`; for None, the first dimension of size 3. Raises ValueError if `dim` is None and no dimension has size 3."""
        if dim is not None:
            return dim
        if 3 not in shape:
            raise ValueError(f"no dimension of shape {list(shape)} has 3 elements")
        return list(shape).index(3)

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, dim: int | None) -> Tensor:
        return LinalgCrossOp.infer(a, b, CrossOp.found(shape_of(a), dim))

    @staticmethod
    def numpy(a: Array, b: Array, /, dim: int | None) -> Array:
        return LinalgCrossOp.numpy(a, b, CrossOp.found(a.shape, dim))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, dim: int | None) -> SSAValue:
        return aten.linalg_cross(a, b, dim=CrossOp.found(shape_of(a), dim))
