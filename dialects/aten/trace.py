"""Reading and making diagonals, in terms of the general operators."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.diagonal import DiagEmbedOp
from flambeau.dialects.aten.reduction import SumDimIntListOp
from flambeau.dialects.aten.view import DiagonalOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import sum_element
from flambeau.dialects.schema.row import SchemaOp, aten
from flambeau.support.lazy import Array


@aten("trace(Tensor self) -> Tensor")
class TraceOp(SchemaOp):
    """The sum of a matrix's main diagonal."""

    @staticmethod
    def infer(x: Tensor) -> Tensor:
        if len(shape_of(x)) != 2:
            raise ValueError(f"needs a matrix, got shape {list(shape_of(x))}")
        return tensor(sum_element(element_of(x)), ())

    @staticmethod
    def numpy(x: Array) -> Array:
        return SumDimIntListOp.numpy(DiagonalOp.numpy(x, 0, 0, 1), (0,), False, None)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return SumDimIntListOp(DiagonalOp(x), (0,)).result


@aten("diag(Tensor self, int diagonal=0) -> Tensor")
class DiagOp(SchemaOp):
    """A diagonal of a matrix, or a matrix with a vector on that diagonal."""

    @staticmethod
    def infer(x: Tensor, diagonal: int) -> Tensor:
        if len(shape_of(x)) == 1:
            return DiagEmbedOp.infer(x, diagonal, 0, 1)
        if len(shape_of(x)) != 2:
            raise ValueError(f"needs a vector or a matrix, got shape {list(shape_of(x))}")
        return DiagonalOp.infer(x, diagonal, 0, 1)

    @staticmethod
    def numpy(x: Array, diagonal: int) -> Array:
        return DiagEmbedOp.numpy(x, diagonal, 0, 1) if x.ndim == 1 else DiagonalOp.numpy(x, diagonal, 0, 1)

    @staticmethod
    def decompose(x: SSAValue, diagonal: int) -> SSAValue:
        if len(shape_of(x)) == 1:
            return DiagEmbedOp(x, diagonal, 0, 1).result
        return DiagonalOp(x, diagonal).result
