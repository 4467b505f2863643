"""Matrices cut along a diagonal."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


class TriangleOp(PartwiseOp):
    """The elements on one side of a diagonal of the last two dimensions; zeros on the other side."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        if len(shape_of(x)) < 2:
            raise ValueError(f"input must have at least 2 dimensions, got shape {list(shape_of(x))}")
        return tensor(element_of(x), shape_of(x))


def coordinates(x: SSAValue, diagonal: int) -> tuple[SSAValue, SSAValue]:
    """Returns the rows moved by the diagonal, as a column, and the columns, as a row; built detached."""
    rows, columns = shape_of(x)[-2:]
    down = aten.arange.start_step(diagonal, rows + diagonal, 1, dtype=i64)
    return aten.unsqueeze(down, 1), aten.arange.start_step(0, columns, 1, dtype=i64)


def zero_of(x: SSAValue) -> bool | int:
    """Returns a zero that leaves the element type as it is."""
    return False if element_of(x) == i1 else 0


@aten("tril(Tensor self, SymInt diagonal=0) -> Tensor", keep=True)
class TrilOp(TriangleOp):
    """The elements on and below a diagonal, zero above."""

    @staticmethod
    def numpy(x: Array, /, diagonal: int) -> Array:
        return np.tril(x, diagonal)

    @staticmethod
    def decompose(x: SSAValue, /, diagonal: int) -> SSAValue:
        rows, columns = coordinates(x, diagonal)
        return aten.where.ScalarOther(aten.ge.Tensor(rows, columns), x, zero_of(x))


@aten("triu(Tensor self, SymInt diagonal=0) -> Tensor")
class TriuOp(TriangleOp):
    """The elements on and above a diagonal, zero below."""

    @staticmethod
    def numpy(x: Array, /, diagonal: int) -> Array:
        return np.triu(x, diagonal)

    @staticmethod
    def decompose(x: SSAValue, /, diagonal: int) -> SSAValue:
        rows, columns = coordinates(x, diagonal)
        return aten.where.ScalarOther(aten.le.Tensor(rows, columns), x, zero_of(x))
