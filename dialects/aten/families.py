"""Families: bases of rows that share an argument list's rule for types."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, i1

from flambeau.dialects.row import SchemaOp
from flambeau.dialects.types import Tensor, broadcast, dtype_of, element_of, promote_operands, shape_of, tensor


class UnaryOp(SchemaOp):
    """Elementwise, one operand, same type out."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        return tensor(element_of(x), shape_of(x))


class FloatUnaryOp(UnaryOp):
    """Elementwise, one operand; integers and bools give the default float."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        element = element_of(x)
        return tensor(element if dtype_of(element).category == 2 else f32, shape_of(x))


class UnaryPredicateOp(UnaryOp):
    """Elementwise, one operand, bool out."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        return tensor(i1, shape_of(x))


def operand_shape(operand: Tensor | bool | int | float) -> tuple[int, ...]:
    """The shape of a tensor operand; a number has none."""
    return () if isinstance(operand, bool | int | float) else shape_of(operand)


class BinaryOp(SchemaOp):
    """Elementwise, two operands of which the second may be a number, broadcast and promoted."""

    inplace = (0, 1)

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        return tensor(promote_operands(a, b), broadcast(operand_shape(a), operand_shape(b)))


class FloatBinaryOp(BinaryOp):
    """As BinaryOp; integers and bools give the default float."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        element = promote_operands(a, b)
        return tensor(element if dtype_of(element).category == 2 else f32, broadcast(operand_shape(a), operand_shape(b)))


class CompareOp(BinaryOp):
    """As BinaryOp, bool out."""

    inplace = ()

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        promote_operands(a, b)
        return tensor(i1, broadcast(operand_shape(a), operand_shape(b)))
