"""Edits that several reducers make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator


def is_terminator(op: Operation) -> bool:
    """Returns whether `op` ends its block."""
    return op.next_op is None and op.has_trait(IsTerminator, value_if_unregistered=bool(op.successors))


def erase_all(ops: Iterable[Operation]) -> None:
    """Erases operations whose results are used only by each other."""
    doomed = [op for op in ops if op.parent is not None]
    for op in doomed:
        op.detach()
    for op in doomed:
        op.drop_all_references()
    for op in doomed:
        op.erase(safe_erase=False, drop_references=False)


def value_of_type(op: Operation, kind: Attribute) -> SSAValue | None:
    """Returns an operand of `op` with a type, else an argument of an enclosing block, or None."""
    for operand in op.operands:
        if operand.type == kind:
            return operand
    block = op.parent
    while block is not None:
        for value in block.args:
            if value.type == kind:
                return value
        around = block.parent_op()
        if around is None or around.has_trait(IsolatedFromAbove):
            return None
        block = around.parent
    return None


def replace_results(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces each result of `op`, and erases it."""
    for result, value in zip(op.results, values, strict=True):
        if value is not result:
            result.replace_all_uses_with(value)
    erase_all([op])
