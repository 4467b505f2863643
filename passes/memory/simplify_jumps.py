"""`simplify-jumps`: removes jumps to jumps, jumps to the next instruction, and unreachable instructions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from flambeau.dialects.exec.instructions import JumpFalseOp, LabelOp, ReturnOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.storage.jumps import always_jumps
from flambeau.passes.storage.slot_rewrites import erase_instruction, unplanned_methods_of


def _thread(jumps: list[JumpFalseOp], always: set[Operation], labels: dict[str, LabelOp]) -> int:
    """Redirects each jump to a jump to its final target; returns the number redirected."""
    found = 0
    for jump in jumps:
        target, passed = jump.label.data, set[str]()
        while target not in passed:
            passed.add(target)
            first = labels[target].next_op
            while isinstance(first, LabelOp):
                first = first.next_op
            # The jump to the end of a method is kept, because it marks the failing instructions that it skips.
            if not isinstance(first, JumpFalseOp) or first not in always or isinstance(labels[first.label.data].next_op, ReturnOp):
                break
            target = first.label.data
        if target != jump.label.data and may_rewrite("simplify-jumps", jump):
            jump.label = StringAttr(target)
            found += 1
    return found


def _is_next(jump: JumpFalseOp) -> bool:
    """Returns whether a jump goes to the next instruction."""
    following = jump.next_op
    while isinstance(following, LabelOp):
        if following.label.data == jump.label.data:
            return True
        following = following.next_op
    return False


def simplify_jumps(method: MethodOp) -> int:
    """Simplifies the jumps of a method; returns the number of rewrites."""
    jumps = [op for op in method.instructions if isinstance(op, JumpFalseOp)]
    if not jumps:
        return 0
    always = always_jumps(method)
    labels = {op.label.data: op for op in method.instructions if isinstance(op, LabelOp)}
    found = _thread(jumps, always, labels)
    pending = True
    while pending:
        pending = False
        used = {op.label.data for op in method.instructions if isinstance(op, JumpFalseOp)}
        is_dead = False
        for op in method.instructions:
            is_dead = is_dead and not (isinstance(op, LabelOp) and op.label.data in used)
            is_unused = isinstance(op, LabelOp) and op.label.data not in used
            if (is_dead or is_unused or (isinstance(op, JumpFalseOp) and _is_next(op))) and may_rewrite("simplify-jumps", op):
                pending = True
                found += 1
                erase_instruction(op)
            else:
                is_dead = is_dead or op in always
    return found


@dataclass(frozen=True)
class SimplifyJumpsPass(OperationPass):
    """Removes jumps to jumps, jumps to what comes next, instructions that no path reaches, and labels that nothing names.

    Needs: `exec` methods before planning. Leaves: the same instructions on every path, with fewer jumps between them.
    """

    name = "simplify-jumps"
    works_on = ("exec.method",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already."""
        for method in unplanned_methods_of(op):
            count("jumps", simplify_jumps(method))
