"""The largest and smallest elements along a dimension, and their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.reductions.reduction import AmaxOp, AminOp, ExtremeOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def position(function: Callable[..., Any], x: Array, dim: int | None, keepdim: bool) -> Array:
    """Returns `np.argmax` or `np.argmin` over one dimension, or of all elements in order."""
    if dim is None:
        return np.asarray(function(widened(x))).astype(np.int64).reshape((1,) * x.ndim if keepdim else ())
    if x.ndim == 0:
        return np.zeros((), np.int64)
    return np.asarray(function(widened(x), axis=dim, keepdims=keepdim)).astype(np.int64)


def element_shape(x: Tensor, dim: int | None, keepdim: bool) -> tuple[int, ...]:
    """Returns the shape of an extreme over one dimension. Raises ValueError when there is no element."""
    return shape_of(ExtremeOp.infer(x, dim, keepdim))


class PositionOp(SchemaOp):
    """The int64 index of the largest or smallest element."""

    @staticmethod
    def infer(x: Tensor, /, dim: int | None = None, keepdim: bool = False) -> Tensor:
        require_category("argmax or argmin", x, at_least=1)
        return tensor(i64, element_shape(x, dim, keepdim))


@aten("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", core=True)
class ArgmaxOp(PositionOp):
    """The int64 index of the largest element along `dim`, or in the flattened tensor; of the first NaN if there is a NaN."""

    @staticmethod
    def numpy(x: Array, /, dim: int | None, keepdim: bool) -> Array:
        return position(np.argmax, x, dim, keepdim)


@aten("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", core=True)
class ArgminOp(PositionOp):
    """The int64 index of the smallest element along `dim`, or in the flattened tensor; of the first NaN if there is a NaN."""

    @staticmethod
    def numpy(x: Array, /, dim: int | None, keepdim: bool) -> Array:
        return position(np.argmin, x, dim, keepdim)


class ExtremeWithPositionOp(SchemaOp):
    """The largest or smallest elements along one dimension, and their int64 indices."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        shape = element_shape(x, dim, keepdim)
        return tensor(element_of(x), shape), tensor(i64, shape)


@aten("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", core=True)
class MaxDimOp(ExtremeWithPositionOp):
    """The largest elements along `dim`, and their int64 indices."""

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return AmaxOp.numpy(x, dim, keepdim), position(np.argmax, x, dim, keepdim)


@aten("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", core=True)
class MinDimOp(ExtremeWithPositionOp):
    """The smallest elements along `dim`, and their int64 indices."""

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return AminOp.numpy(x, dim, keepdim), position(np.argmin, x, dim, keepdim)


@aten("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
class AminmaxOp(SchemaOp):
    """The smallest and the largest element along `dim`, or of all elements without `dim`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        found = ExtremeOp.infer(x, dim, keepdim)
        return found, found

    @staticmethod
    def numpy(x: Array, /, dim: int | None, keepdim: bool) -> tuple[Array, Array]:
        return AminOp.numpy(x, dim, keepdim), AmaxOp.numpy(x, dim, keepdim)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        dims = [] if dim is None else [dim]
        return aten.amin(x, dims, keepdim), aten.amax(x, dims, keepdim)
