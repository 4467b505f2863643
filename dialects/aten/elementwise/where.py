"""Elements chosen by a condition."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import Number, Operand, Pair, pairs_of
from flambeau.dialects.aten.library.numerics import cast_operands
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, promote_operands, shape_of, tensor, ui8
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import operand_shape, promote_values
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class SelectingOp(SchemaOp):
    """Elementwise choices between two operands, tensors or numbers, by a bool (or ui8) tensor; broadcast and promoted."""

    stores = True

    @staticmethod
    def infer(condition: Tensor, a: Tensor | float, b: Tensor | float, /) -> Tensor:
        if element_of(condition) not in (i1, ui8):
            raise TypeError(f"the condition must be a bool tensor, got {element_of(condition)}")
        return tensor(promote_operands(a, b), broadcast(shape_of(condition), operand_shape(a), operand_shape(b)))

    @staticmethod
    def numpy(condition: Array, a: Array | float, b: Array | float, /) -> Array:
        left, right = cast_operands(a, b)
        return np.where(condition.astype(bool), left, right)


@aten("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", core=True)
class WhereSelfOp(SelectingOp):
    """a if the condition is true, else b, for each element."""

    inplace = (1, 2)
    computes_in = "result"
    promotes_from = 1

    @staticmethod
    def on_parts(condition: SSAValue, a: Operand, b: Operand, /) -> Parts:
        (x, y) = pairs_of(a, b)
        return Parts(*(aten.where.self(condition, *(_as_tensor(item, x, y) for item in pair)) for pair in zip(x, y, strict=True)))


def _as_tensor(x: Number, *pairs: Pair) -> SSAValue:
    known = next(item for pair in pairs for item in pair if isinstance(item, SSAValue))
    return x if isinstance(x, SSAValue) else aten.full((), x or 0.0, element_of(known))


@aten("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor")
@aten("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor")
@aten("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor")
class WhereScalarOtherOp(SelectingOp):
    """a if the condition is true, else b, for each element; a, b or both are numbers."""

    @staticmethod
    def decompose(condition: SSAValue, a: SSAValue | float, b: SSAValue | float, /) -> SSAValue:
        element = promote_values(a, b)
        return aten.where.self(condition, as_operand(a, element), as_operand(b, element))
