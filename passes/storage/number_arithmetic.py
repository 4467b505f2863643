"""Lays out `arith` on numbers as calls of ExecuTorch's `executorch_prim` operators, which compute on slots of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import BoolOp, DoubleOp, IntOp
from flambeau.dialects.exec.types import BoolType, IntType
from flambeau.dialects.flambeau.symbol_operations import Relation
from flambeau.passes.storage.number_slots import NumberSlots

_PRIMITIVES: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.AddfOp: "add",
    arith.SubiOp: "sub",
    arith.SubfOp: "sub",
    arith.MuliOp: "mul",
    arith.MulfOp: "mul",
    arith.DivfOp: "truediv",
    arith.FloorDivSIOp: "floordiv",
    arith.MinSIOp: "sym_min",
    arith.MaxSIOp: "sym_max",
    arith.NegfOp: "neg",
    arith.SIToFPOp: "sym_float",
    arith.FPToSIOp: "trunc",
    arith.SelectOp: "sym_ite",
}
"""The operator that computes what an operation on numbers does, from the same operands."""
_ARRANGED: dict[type[Operation], Callable[[Sequence[SSAValue], Callable[[int], SSAValue]], Sequence[SSAValue]]] = {
    arith.AndIOp: lambda given, _: (given[0], given[1], given[0]),
    arith.OrIOp: lambda given, _: (given[0], given[0], given[1]),
    arith.ExtUIOp: lambda given, number: (given[0], number(1), number(0)),
}
"""The operands of `sym_ite` for operations that are a choice."""
_INTEGERS: tuple[tuple[Relation, bool], ...] = (("eq", False), ("ne", False), ("lt", False), ("le", False), ("lt", True), ("le", True))
"""By the number of a predicate of `arith.cmpi`: the relation, and whether its sides are exchanged."""
_FLOATS: dict[int, tuple[Relation, bool]] = {
    1: ("eq", False),
    2: ("lt", True),
    3: ("le", True),
    4: ("lt", False),
    5: ("le", False),
    13: ("ne", False),
}
"""By the number of a predicate of `arith.cmpf`, as `_INTEGERS`."""

NUMBERS: tuple[type[Operation], ...] = (arith.CmpiOp, arith.CmpfOp, arith.ExtFOp, arith.XOrIOp, *_PRIMITIVES, *_ARRANGED)
"""The operations that `number_slot` converts."""


def slot_of(kind: Attribute) -> IntOp | DoubleOp | BoolOp:
    """Returns a slot for a number of a type, or like another slot."""
    if kind in (i1, BoolType()):
        return BoolOp(False)
    return IntOp(0) if isinstance(kind, IntegerType | IndexType | IntType) else DoubleOp(0.0)


def why_not(op: Operation) -> str | None:
    """Returns why an operation of `NUMBERS` has no form as instructions; None where it has one."""
    if not isinstance(op, arith.ExtFOp):
        other = next((kind for kind in (*op.operand_types, *op.result_types) if kind not in (i1, i64, f64, IndexType())), None)
        if other is not None:
            return f"the numbers of slots are i1, i64 and f64, got {other}"
    if isinstance(op, arith.CmpiOp) and op.predicate.value.data >= len(_INTEGERS):
        return "unsigned numbers have no form as slots"
    if isinstance(op, arith.CmpfOp) and op.predicate.value.data not in _FLOATS:
        return "of the comparisons of floats, oeq, ogt, oge, olt, ole and une have a form as instructions"
    return None


def number_slot(op: Operation, given: Sequence[SSAValue], numbers: NumberSlots) -> SSAValue:
    """Returns the slot of what an operation of `NUMBERS` that has a form computes from the numbers in slots, with its instructions."""
    match op:
        case arith.ExtFOp():
            # A float in a slot has 64 bits.
            return given[0]
        case arith.CmpiOp() | arith.CmpfOp():
            predicate = op.predicate.value.data
            relation, exchanged = _INTEGERS[predicate] if isinstance(op, arith.CmpiOp) else _FLOATS[predicate]
            left, right = reversed(given) if exchanged else given
            return numbers.compare(relation, left, right, before=False)
        case arith.XOrIOp():
            opposite = numbers.builder.slot(BoolOp(True))
            numbers.builder.emit(CallOp("executorch_prim::sym_not.Scalar", [given[1]], (), [opposite]))
            name, operands = "sym_ite", (given[0], opposite, given[1])
        case _ if type(op) in _ARRANGED:
            name, operands = "sym_ite", _ARRANGED[type(op)](given, numbers.builder.integer)
        case _:
            name, operands = _PRIMITIVES[type(op)], given
    result = numbers.builder.slot(slot_of(op.results[0].type))
    numbers.builder.emit(CallOp(f"executorch_prim::{name}.Scalar", operands, (), [result]))
    return result
