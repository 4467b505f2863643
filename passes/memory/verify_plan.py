"""`verify-plan`: proves that no instruction of a planned method reads bytes that another value has taken."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slot_contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.exec.slots import PlacedOp, StateOp, TensorOp, nbytes
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import analysis, was_restricted
from flambeau.passes.storage.classes import inplace_arguments
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.support.suggestions import did_you_mean


class PlanVerificationError(OperationError):
    """A memory plan under which a method would compute wrong results."""


def _name(op: Operation) -> str:
    match op:
        case CallOp():
            return op.operator.data
        case DelegateCallOp():
            return f"delegate @{op.delegate.string_value()}"
        case _:
            return op.name


class _Method:
    """A method, with names for its instructions."""

    def __init__(self, method: MethodOp):
        self.method = method
        self.operations = method.steps

    def op(self, index: int) -> Operation:
        """Returns the instruction that a number stands for; the method for the caller and the end."""
        return self.operations[index] if 0 <= index < len(self.operations) else self.method

    def call(self, index: int) -> str:
        """Returns `instruction 3 (aten::add.out)`."""
        if index < 0:
            return "the caller"
        return f"instruction {index} ({_name(self.operations[index])})" if index < len(self.operations) else "the end"

    def fault(self, conflict: Conflict) -> PlanVerificationError:
        """Returns a conflict at the instruction where it shows, with a note at the one that caused it."""
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
    """Returns why an instruction may not overwrite its operand: the end of a sentence."""
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


def _state_faults(methods: list[MethodOp]) -> list[PlanVerificationError]:
    """Returns where methods of one program disagree about the state in the arenas that they share, which are those after the first."""
    placed = [
        (method, op, op.place) for method in methods for op in method.slots if isinstance(op, StateOp | TensorOp) and op.place is not None
    ]
    first: dict[str, tuple[MethodOp, StateOp, tuple[int, int]]] = {}
    faults: list[PlanVerificationError] = []
    for method, op, place in placed:
        if isinstance(op, StateOp):
            other, _, known = first.setdefault(op.global_name.string_value(), (method, op, place))
            if other is not method and (place != known or place[0] == 1):
                where = f"{_place(known)} in @{other.sym_name.data} and at {_place(place)} in @{method.sym_name.data}"
                why = "the first arena is each method's own" if place == known else "neither method would see what the other writes"
                faults.append(PlanVerificationError(op, f"state @{op.global_name.string_value()} lies at {where}: {why}"))
            elif (here := _bank(method, place[0])) != (there := _bank(other, place[0])):
                where = f"{there} in @{other.sym_name.data} and in {here} in @{method.sym_name.data}"
                faults.append(PlanVerificationError(op, f"state @{op.global_name.string_value()} lies in {where}: they share it"))
    shared = sorted(
        ((place, place[1] + nbytes(op.slot.type), method, op) for method, op, place in first.values() if place[0] > 1),
        key=lambda item: item[:2],
    )
    for (low, end, _, under), (high, _, _, over) in pairwise(shared):
        if low[0] == high[0] and high[1] < end:
            names = f"@{under.global_name.string_value()} and @{over.global_name.string_value()}"
            faults.append(PlanVerificationError(over, f"the states {names} have bytes of arena {low[0]} in common"))
    starts = [place for place, _, _, _ in shared]
    for method, op, place in placed:
        near = shared[max(bisect_left(starts, (place[0], place[1] + nbytes(op.slot.type))) - 1, 0)] if shared else None
        if near is None or isinstance(op, StateOp) or near[2] is method or near[0][0] != place[0] or near[1] <= place[1]:
            continue
        text = (
            f"{describe(op.slot)} of @{method.sym_name.data} lies at {_place(place)}, over the state @{near[3].global_name.string_value()}"
        )
        faults.append(PlanVerificationError(op, f"{text} of @{near[2].sym_name.data}"))
    return faults


def _bank(method: MethodOp, arena: int) -> str:
    return "no bank" if method.bank_names is None else f"the bank {method.bank_names[arena - 1]}"


def _place(place: tuple[int, int]) -> str:
    return f"byte {place[1]} of arena {place[0]}"


def check_method(method: MethodOp) -> list[str]:
    """Returns the faults of a method's plan, one line each."""
    return [str(fault) for fault in _faults(method)]


@dataclass(frozen=True)
class VerifyPlanPass(OperationPass):
    """Checks the memory plan of every `exec.method`, independently of how it was made.

    Needs: planned methods. Changes nothing. On every path through the jumps, each slot that an instruction, an output or a state reads
    must hold, in all of its bytes, what was last written through it or through a view of the same content; constants are never written;
    what is written has memory; and only a reuse may overwrite what the same instruction reads, and
    only where the kernel allows it. State of several methods lies at one place, in an arena after the first, in which nothing else lies.
    Sizes, bounds and alignment are the dialect's own rules.

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
        if isinstance(op, ModuleOp):
            faults += _state_faults(methods_of(op))
        _raise_first(faults)
