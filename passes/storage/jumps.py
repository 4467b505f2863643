"""Jumps of a method that always jump."""

from __future__ import annotations

from xdsl.ir import Operation

from flambeau.dialects.exec.instructions import JumpFalseOp, written_literals
from flambeau.dialects.exec.literals import BoolOp
from flambeau.dialects.exec.method import MethodOp


def always_jumps(method: MethodOp) -> set[Operation]:
    """Returns the jumps whose condition is false whenever they run: nothing writes it."""
    written = written_literals((*method.instructions, method.terminator))
    return {
        op
        for op in method.instructions
        if isinstance(op, JumpFalseOp)
        and isinstance(op.condition.owner, BoolOp)
        and not op.condition.owner.truth
        and op.condition not in written
    }
