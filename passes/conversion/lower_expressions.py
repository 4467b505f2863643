"""`lower-expressions`: converts expressions over symbols to calls of ExecuTorch's operators on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, EvaluateOp, written_literals
from flambeau.dialects.exec.literals import IntOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.expressions import Call, Expression, of_symbol
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.passes.storage.slot_rewrites import unplanned_methods_of

_PRIMITIVES = {"floordiv": "floordiv", "mod": "mod", "min": "sym_min", "max": "sym_max"}


class _Integers:
    """The slots of a method that hold one integer in every run."""

    def __init__(self, method: MethodOp):
        changed = {*written_literals(method.instructions), *method.terminator.operands}
        self._slots = {op.number: op for op in method.slots if isinstance(op, IntOp) and op.slot not in changed}
        self._places: dict[Operation, int] = {op: place for place, op in enumerate(method.slots)}

    def before(self, declaration: Operation, number: int) -> SSAValue:
        """Returns the slot of a number, which is declared before another slot."""
        place = self._places[declaration]
        op = self._slots.get(number)
        if op is not None and self._places[op] > place:
            op.detach()
        elif op is not None:
            return op.slot
        else:
            op = self._slots[number] = IntOp(number)
        _insert(op, declaration)
        self._places[op] = place
        return op.slot


def _insert(op: Operation, anchor: Operation) -> None:
    assert anchor.parent is not None
    anchor.parent.insert_op_before(op, anchor)


@dataclass
class _Lowering:
    """An `exec.evaluate` that becomes calls."""

    op: EvaluateOp
    integers: _Integers
    known: dict[Expression, SSAValue]
    pending: dict[Expression, SSAValue]
    """What is still to be computed, in order: all that it takes is declared before the first of it."""

    @property
    def anchor(self) -> Operation:
        return cast(Operation, next(iter(self.pending.values())).owner)

    def value(self, expression: Expression) -> SSAValue:
        """Returns the slot of an expression, and adds the calls that compute it."""
        if (number := expression.constant) is not None:
            return self.integers.before(self.anchor, number)
        if expression in self.known:
            return self.known[expression]
        total: SSAValue | None = None
        for monomial, factor in expression.terms:
            times = factor if total is None else abs(factor)
            term: SSAValue | None = None
            for atom in monomial:
                if isinstance(atom, Call):
                    found = self.call(_PRIMITIVES[atom.function], self.value(atom.left), self.value(atom.right))
                else:
                    found = self.known[of_symbol(atom)]
                term = found if term is None else self.call("mul", term, found)
            if term is None:
                term = self.integers.before(self.anchor, times)
            elif times != 1:
                term = self.call("mul", term, self.integers.before(self.anchor, times))
            total = term if total is None else self.call("sub" if factor < 0 else "add", total, term)
        assert total is not None, "an expression that is not constant has a term"
        return self.keep(expression, total)

    def call(self, name: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Returns the slot of what an operator computes, and adds its call."""
        result = IntOp(0)
        _insert(result, self.anchor)
        call = CallOp(f"executorch_prim::{name}.Scalar", [left, right], (), [result.slot])
        call.location = self.op.location
        _insert(call, self.op)
        count("calls")
        return result.slot

    def keep(self, expression: Expression, found: SSAValue) -> SSAValue:
        """Puts the slot of an expression in the place of the one that was declared for it."""
        declared = self.pending.pop(expression)
        replace_uses(declared, found)
        cast(Operation, declared.owner).detach()
        self.known[expression] = found
        return found


def lower_expressions(method: MethodOp) -> None:
    """Converts the expressions of a method."""
    found = [op for op in method.instructions if isinstance(op, EvaluateOp) and may_rewrite("lower-expressions", op)]
    integers = _Integers(method) if found else None
    for op in found:
        assert integers is not None
        lowering = _Lowering(op, integers, op.known_slots, op.computed_slots)
        while lowering.pending:
            # Lowering the last expression also lowers the earlier expressions that it uses.
            lowering.value(next(reversed(lowering.pending)))
        op.detach()
        op.erase()


@dataclass(frozen=True)
class LowerExpressionsPass(OperationPass):
    """Converts `exec.evaluate` to calls of `executorch_prim` operators, which add, subtract, multiply, divide and compare two integers.

    Needs: `exec` methods before planning. Leaves: no `exec.evaluate`, which the format does not have; an expression that another takes
    is computed once.
    """

    name = "lower-expressions"
    works_on = ("exec.method",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already."""
        for method in unplanned_methods_of(op):
            lower_expressions(method)
