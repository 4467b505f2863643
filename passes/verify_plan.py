"""`verify-plan`: proof that no instruction of a planned method reads bytes that another value has taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.exec.contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, LabelOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import StateOp
from flambeau.dialects.exec.syntax import describe
from flambeau.passes.reuse_storage import inplace_arguments
from flambeau.passes.rewriting.locations import where


class PlanVerificationError(ValueError):
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


def check_method(method: MethodOp) -> list[str]:
    """Everything that is wrong with the plan of a method, one line each."""
    if method.arenas is None:
        return [f"method @{method.sym_name.data} is not planned: run plan-memory first"]
    return [f"method @{method.sym_name.data}: {_describe(method, conflict)}" for conflict in ContentAnalysis(method, _may_overwrite).run()]


def _faults(module: ModuleOp) -> Iterator[str]:
    for op in module.body.block.ops:
        if isinstance(op, MethodOp):
            yield from check_method(op)


@dataclass(frozen=True)
class VerifyPlanPass(ModulePass):
    """Checks the memory plan of every `exec.method`, independently of how it was made.

    Needs: planned methods. Changes nothing. On every path through the jumps, each slot that an instruction, an output or a state reads
    must hold, in all of its bytes, what was last written through it or through a view of the same content; constants are never written;
    what is written has memory; and only a reuse may overwrite what the same instruction reads, and
    only where the kernel allows it. Sizes, bounds and alignment are the
    dialect's own rules.

    Raises:
        PlanVerificationError: with the first fault and the number of the others.
    """

    name = "verify-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Looks at every method of `op`."""
        faults = list(_faults(op))
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise PlanVerificationError(faults[0] + more)
