"""Reductions over one dimension, which stays with one entry."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32

from flambeau.backends.tosa.dialect.operators import ELEMENTS, TosaOp, tosa
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np

_OVER = "(Tensor input, *, int axis) -> Tensor"


class ReductionOp(TosaOp):
    """A reduction."""

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        shape = shape_of(x)
        if not 0 <= axis < len(shape):
            raise ValueError(f"{x} has no dimension {axis}")
        return tensor(element_of(x), (*shape[:axis], 1, *shape[axis + 1 :]))


class _ExtremeOp(ReductionOp):
    takes = ELEMENTS


@tosa(f"reduce_max{_OVER}")
class ReduceMaxOp(_ExtremeOp):
    """The largest element; NaN if there is a NaN."""

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return np.max(x, axis, keepdims=True)


@tosa(f"reduce_min{_OVER}")
class ReduceMinOp(_ExtremeOp):
    """The smallest element; NaN if there is a NaN."""

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return np.min(x, axis, keepdims=True)


@tosa(f"reduce_sum{_OVER}")
class ReduceSumOp(ReductionOp):
    """The sum, in the type of the elements."""

    takes = frozenset((f32, i32))

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return np.sum(x, axis, dtype=x.dtype, keepdims=True)


@tosa(f"reduce_product{_OVER}")
class ReduceProductOp(ReductionOp):
    """The product."""

    takes = frozenset((f32,))

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return np.prod(x, axis, dtype=x.dtype, keepdims=True)
