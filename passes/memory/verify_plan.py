"""`verify-plan`: proves that no instruction of a planned method reads bytes that another value has taken."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation

from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, LabelOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.exec.slots import PlacedOp, StateOp
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.memory.reuse_storage import inplace_arguments
from flambeau.passes.rewriting.actions import analysis, was_restricted
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.runtime.interpreter.kernels import row_kernels
from flambeau.support.suggestions import did_you_mean


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


class _Method:
    """A method, and what to call its instructions."""

    def __init__(self, method: MethodOp):
        self.method = method
        self.operations = [op for op in method.instructions if not isinstance(op, LabelOp)]

    def op(self, index: int) -> Operation:
        """The instruction that a number stands for; the method for the caller and the end."""
        return self.operations[index] if 0 <= index < len(self.operations) else self.method

    def call(self, index: int) -> str:
        """`instruction 3 (aten::add.out)`."""
        if index < 0:
            return "the caller"
        return f"instruction {index} ({_name(self.operations[index])})" if index < len(self.operations) else "the end"

    def fault(self, conflict: Conflict) -> PlanVerificationError:
        """A conflict at the instruction where it shows, with a note at the one that caused it."""
        notes: tuple[Diagnostic, ...] = ()
        if conflict.writer is not None and conflict.writer >= 0:
            notes = (Diagnostic("note", f"{self.call(conflict.writer)} is this one", op=self.op(conflict.writer)),)
        message = f"method @{self.method.sym_name.data}: {self._describe(conflict)}"
        return PlanVerificationError(self.op(conflict.instruction), message, notes)

    def _describe(self, conflict: Conflict) -> str:
        slot, place = describe(conflict.slot), self.call(conflict.instruction)
        other = "" if conflict.other is None else describe(conflict.other)
        by = "" if conflict.writer is None else f"{self.call(conflict.writer)} wrote through {other}"
        match conflict.fault:
            case Fault.BROKEN if by:
                return f"{place} reads {slot}, over whose bytes {by}"
            case Fault.BROKEN:
                written = "not every part of which has been written" if conflict.owners else "which nothing has written"
                return f"{place} reads {slot}, {written}"
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
                return f"{place} writes {slot} over {other} as it reads it, {_refusal(conflict.op)}"


def _refusal(op: Operation | None) -> str:
    """Why an instruction may not write over what it reads: the end of a sentence."""
    if not isinstance(op, CallOp) or op.operator.data in row_kernels():
        return "which its kernel does not allow"
    return f"and there is no kernel {op.operator.data}{did_you_mean(op.operator.data, row_kernels())}"


def _may_overwrite(kernel: str, position: int) -> bool:
    return position in inplace_arguments(kernel)


def _faults(method: MethodOp, *, unplaced: bool = False) -> list[PlanVerificationError]:
    if method.arenas is None:
        return [PlanVerificationError(method, f"method @{method.sym_name.data} is not planned: run plan-memory first")]
    with analysis("contents of slots", method):
        conflicts = ContentAnalysis(method, _may_overwrite).run()
    if not conflicts:
        return []
    described = _Method(method)
    return [described.fault(conflict) for conflict in conflicts if not (unplaced and conflict.fault is Fault.NOWHERE)]


def _raise_first(faults: list[PlanVerificationError]) -> None:
    if faults:
        first, *others = faults
        more = f" (and {len(others)} more)" if others else ""
        notes = tuple(Diagnostic("note", str(fault), op=fault.op) for fault in others)
        raise PlanVerificationError(first.op, f"{first}{more}", (*first.notes, *notes))


def check_places(method: MethodOp) -> None:
    """Checks the places that a method has so far; those that it lacks may be missing. Raises PlanVerificationError."""
    if any(isinstance(slot, PlacedOp) and slot.place is not None for slot in method.slots):
        _raise_first(_faults(method, unplaced=True))


def check_method(method: MethodOp) -> list[str]:
    """Everything that is wrong with the plan of a method, one line each."""
    return [str(fault) for fault in _faults(method)]


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
    works_on = ("exec.method",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Looks at every method."""
        faults: list[PlanVerificationError] = []
        for method in methods_of(op):
            if method.arenas is None and was_restricted():
                continue
            faults += _faults(method)
            count("methods verified")
        _raise_first(faults)
