"""`verify-plan`: proof that no instruction of a planned method reads bytes that another value has taken."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.diagnostics import Diagnostic, OperationError
from flambeau.dialects.exec.contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, LabelOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import StateOp
from flambeau.dialects.exec.syntax import describe
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.reuse_storage import inplace_arguments
from flambeau.passes.rewriting.actions import analysis, was_restricted
from flambeau.passes.rewriting.locations import where
from flambeau.passes.storage.rewrite import methods_of


class PlanVerificationError(OperationError):
    """A memory plan under which a method would compute something else."""


def _name(op: Operation) -> str:
    match op:
        case CallOp():
            return op.operator.data
        case DelegateCallOp():
            return f"delegate @{op.delegate.string_value()}"
        case _:
            return op.name


def _instruction(method: MethodOp, index: int) -> str:
    """`instruction 3 (aten::add.out at layers.0 (model.py:12))`."""
    if index < 0:
        return "the caller"
    operations = [op for op in method.instructions if not isinstance(op, LabelOp)]
    if index >= len(operations):
        return "the end"
    return f"instruction {index} ({_name(operations[index])}{where(operations[index])})"


def _slot(slot: SSAValue) -> str:
    owner = slot.owner
    return f"{describe(slot)}{where(owner)}" if isinstance(owner, Operation) else describe(slot)


def _describe(method: MethodOp, conflict: Conflict) -> str:
    slot, place = describe(conflict.slot), _instruction(method, conflict.instruction)
    other = "" if conflict.other is None else _slot(conflict.other)
    by = "" if conflict.writer is None else f"{_instruction(method, conflict.writer)} wrote through {other}"
    match conflict.fault:
        case Fault.BROKEN if by:
            return f"{place} reads {slot}, over whose bytes {by}"
        case Fault.BROKEN:
            return f"{place} reads {slot}, {'not every part of which has been written' if conflict.owners else 'which nothing has written'}"
        case Fault.LOST:
            kind = "state" if isinstance(conflict.slot.owner, StateOp) else "output"
            return f"at its end, {kind} {slot} is lost: {by + ' over its bytes' if by else 'not every path writes all of it'}"
        case Fault.CONSTANT:
            return f"{place} writes {slot}, which is a constant"
        case Fault.NOWHERE:
            return f"{place} writes {slot}, which has no place in an arena"
        case Fault.OVERLAP:
            return f"{place} writes {slot} over bytes of {other}, which it reads, without an exec.reuse of just these"
        case Fault.UNSAFE:
            return f"{place} writes {slot} over {other} as it reads it, which its kernel does not allow"


def _may_overwrite(kernel: str, position: int) -> bool:
    return position in inplace_arguments().get(kernel, ())


def _faults(method: MethodOp) -> list[tuple[Operation, str]]:
    """Everything that is wrong with the plan of a method, and the instruction at which it goes wrong."""
    head = f"method @{method.sym_name.data}"
    if method.arenas is None:
        return [(method, f"{head} is not planned: run plan-memory first")]
    operations = [op for op in method.instructions if not isinstance(op, LabelOp)]
    with analysis("contents of slots", method):
        conflicts = ContentAnalysis(method, _may_overwrite).run()
    return [
        (operations[item.instruction] if 0 <= item.instruction < len(operations) else method, f"{head}: {_describe(method, item)}")
        for item in conflicts
    ]


def check_method(method: MethodOp) -> list[str]:
    """Everything that is wrong with the plan of a method, one line each."""
    return [message for _, message in _faults(method)]


@dataclass(frozen=True)
class VerifyPlanPass(OperationPass):
    """Checks the memory plan of every `exec.method`, independently of how it was made.

    Needs: planned methods. Changes nothing. On every path through the jumps, each slot that an instruction, an output or a state reads
    must hold, in all of its bytes, what was last written through it or through a view of the same content; constants are never written;
    what is written has memory; and only a reuse may overwrite what the same instruction reads, and
    only where the kernel allows it. Sizes, bounds and alignment are the
    dialect's own rules.

    Raises:
        PlanVerificationError: with the first fault, the number of the others, and these as notes.
    """

    name = "verify-plan"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Looks at every method."""
        faults: list[tuple[Operation, str]] = []
        for method in methods_of(op):
            if method.arenas is None and was_restricted():
                continue
            faults += _faults(method)
            count("methods verified")
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            notes = tuple(Diagnostic("note", message, op=place) for place, message in faults[1:])
            raise PlanVerificationError(faults[0][0], faults[0][1] + more, notes)
