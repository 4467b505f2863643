"""`plan-memory`: gives every tensor its place in an arena."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import PlacedOp, StateOp, nbytes
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.memory.verify_plan import check_places
from flambeau.passes.planning.buffers import Buffer, Plan, align, check_plan, lower_bound
from flambeau.passes.planning.portfolio import EFFORT, check_algorithm, plan_buffers
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.storage.classes import MethodStorage, StorageClass
from flambeau.passes.storage.slot_rewrites import methods_of

LOWER_BOUND = "flambeau.arena_lower_bound"
"""Attribute of a planned method: the most bytes that are live at once, which no plan can go below."""
ALGORITHM = "flambeau.arena_algorithm"
"""Attribute of a planned method: what found the plan."""


def state_layout(method: MethodOp, alignment: int = 16) -> tuple[dict[str, int], int]:
    """Returns the offset of each state in the arena that methods of the program share, and the size of that arena.

    In it is the state of every method that shares some. Empty for a method that shares none.
    """
    module = method.parent_op()
    states = {item: _states(item) for item in (methods_of(module) if isinstance(module, ModuleOp) else [])}
    users = Counter(name for found in states.values() for name in found)
    sharing = {item: found for item, found in states.items() if any(users[name] > 1 for name in found)}
    offsets: dict[str, int] = {}
    end = 0
    for name, slot in ((name, slot) for found in sharing.values() if method in sharing for name, slot in found.items()):
        if name not in offsets:
            offsets[name] = end
            end += align(nbytes(slot.type), alignment)
    return offsets, end


def _states(method: MethodOp) -> dict[str, SSAValue]:
    """Returns the slots of the state of a method by the names of the globals."""
    return {op.global_name.string_value(): op.slot for op in method.slots if isinstance(op, StateOp)}


@dataclass(frozen=True)
class MethodPlan:
    """The plan of one method's memory."""

    method: MethodOp
    classes: Sequence[StorageClass]
    """The storage classes that have a place in the method's own arena."""
    buffers: Sequence[Buffer]
    """Their lifetimes and sizes."""
    plan: Plan
    lower_bound: int
    shared: dict[str, int]
    """The offset of each state in the arena that methods share."""
    shared_size: int


def plan_method(method: MethodOp, *, alignment: int = 16, algorithm: str = "best", effort: int = EFFORT) -> MethodPlan:
    """Plans the memory of a method without changing it.

    Raises:
        ValueError: for an unknown algorithm or a useless alignment.
        PlanError: should a planner ever give a plan in which tensors clash.
    """
    with analysis("lifetimes", method):
        storage = MethodStorage(method)
    shared, shared_size = state_layout(method, alignment)
    spans = {item: span for item in storage.classes() if (span := item.span) is not None and not (shared and item.is_state)}
    buffers = [Buffer(start, end, item.size) for item, (start, end) in spans.items()]
    with analysis("placement", method):
        plan = plan_buffers(buffers, alignment=alignment, algorithm=algorithm, effort=effort)
    check_plan(buffers, plan, alignment)
    return MethodPlan(method, tuple(spans), buffers, plan, lower_bound(buffers, alignment), shared, shared_size)


def _check_alignment(alignment: int) -> None:
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"alignment must be a power of two, got {alignment}")


def _check_arena(arena: int) -> None:
    if arena < 1:
        raise ValueError(f"arenas count from 1, got {arena}")


@dataclass(frozen=True)
class PlanMemoryPass(OperationPass):
    """Gives each tensor and state of an `exec` method its arena and offset, and the method the sizes of its arenas.

    Lifetimes count instructions. Inputs live from the call to their last use, outputs to the end, state always; what a loop touches lives
    through it where it may carry a value around. Slots that no instruction, input or output mentions stay without a place. In a program
    of several methods, state lies in the arena after `arena`, at the same offset in each method: the runtime gives it to all of them.

    Needs: `exec` methods that read nothing that was not written. Places that a method has already must be right, and are forgotten.
    Leaves: a plan that passed a check of its own; `arenas`, the lower bound `flambeau.arena_lower_bound` and the algorithm
    `flambeau.arena_algorithm` on each method. The plan is never larger than what ExecuTorch's greedy planner makes of the same lifetimes.
    """

    name = "plan-memory"
    works_on = ("exec.method",)
    alignment: Annotated[int, _check_alignment] = 16
    """Of every offset and of the arena's size, in bytes."""
    algorithm: Annotated[str, check_algorithm] = "best"
    """`best`, `first-fit`, `best-fit`, `greedy` (ExecuTorch's), `naive` (nothing is shared), or a plug-in's."""
    arena: Annotated[int, _check_arena] = 1
    """Which arena to fill; those below it stay empty."""
    effort: int = EFFORT
    """Bounds the search for a better plan where the lower bound is not reached, in looks at a neighbour (a million: about a second)."""

    methods: tuple[str, ...] = ()
    """The methods to plan; without names, all."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises ValueError for options that make no sense."""
        _check_alignment(self.alignment)
        _check_arena(self.arena)
        check_algorithm(self.algorithm)
        for method in methods_of(op):
            if (not self.methods or method.sym_name.data in self.methods) and may_rewrite(self.name, method):
                self._plan(method)

    def _plan(self, method: MethodOp) -> None:
        # Existing places must be correct, because with wrong places the method already computes wrong results.
        check_places(method)
        planned = plan_method(method, alignment=self.alignment, algorithm=self.algorithm, effort=self.effort)
        for slot in method.slots:
            if isinstance(slot, PlacedOp):
                slot.place = None
        for item, offset in zip(planned.classes, planned.plan.offsets, strict=True):
            if isinstance(item.root.owner, PlacedOp):
                item.root.owner.place = (self.arena, offset)
        for slot in method.slots:
            if isinstance(slot, StateOp) and planned.shared:
                slot.place = (self.arena + 1, planned.shared[slot.global_name.string_value()])
        shared = (planned.shared_size,) if planned.shared else ()
        method.arena_sizes = (*(0 for _ in range(1, self.arena)), align(planned.plan.size, self.alignment), *shared)
        count("tensors placed", len(planned.buffers))
        count("bytes of arena", planned.plan.size + planned.shared_size)
        method.attributes[LOWER_BOUND] = syntax.integer(planned.lower_bound + planned.shared_size)
        method.attributes[ALGORITHM] = StringAttr(planned.plan.algorithm)
