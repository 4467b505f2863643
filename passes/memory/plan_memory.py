"""`plan-memory`: gives every tensor its place in an arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import PlacedOp, StateOp
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.memory.verify_plan import check_places
from flambeau.passes.planning.banks import bank_of, banks_of
from flambeau.passes.planning.buffers import align
from flambeau.passes.planning.portfolio import EFFORT, check_algorithm
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.method_plan import PlanOptions, plan_method
from flambeau.passes.storage.pins import named_classes, pins_of
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.support.suggestions import did_you_mean

LOWER_BOUND = "flambeau.arena_lower_bound"
"""Attribute of a planned method: the most bytes that are live at once, which no plan can go below."""
ALGORITHM = "flambeau.arena_algorithm"
"""Attribute of a planned method: what found the plan of each bank that holds anything."""


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

    With `banks`, each bank is an arena. A bank takes all that fits into it, those with the most traffic per byte first, and leaves the
    others to the next bank. State of several methods lies in the last bank, in an arena after those of the banks.

    Needs: `exec` methods that read nothing that was not written. Places that a method has already must be right, and are forgotten.
    Leaves: a plan that passed a check of its own; `arenas`, with banks their names, the lower bound `flambeau.arena_lower_bound` and the
    algorithm `flambeau.arena_algorithm` on each method. The plan is never larger than what ExecuTorch's greedy planner makes of the same
    lifetimes.
    Raises OperationError that lists the tensors for which no bank has room.
    """

    name = "plan-memory"
    works_on = ("exec.method",)
    alignment: Annotated[int, _check_alignment] = 16
    """Of every offset and of the arena's size, in bytes."""
    algorithm: Annotated[str, check_algorithm] = "best"
    """`best`, `first-fit`, `best-fit`, `greedy` (ExecuTorch's), `naive` (nothing is shared), or a plug-in's."""
    arena: Annotated[int, _check_arena] = 1
    """Which arena to fill; those below it stay empty. With banks, they are the arenas from 1 on."""
    effort: int = EFFORT
    """Bounds the search for a better plan where the lower bound is not reached, in looks at a neighbour (a million: about a second)."""

    methods: tuple[str, ...] = ()
    """The methods to plan; without names, all."""
    banks: tuple[Annotated[str, bank_of], ...] = ()
    """The memories of the device, the fastest first, with their sizes: `sram:512K,dram`."""
    pins: tuple[str, ...] = ()
    """What has to lie in a certain bank: names of tensors, inputs, outputs or state, or paths of modules, as `encoder.conv1:sram`."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises ValueError for options that make no sense."""
        _check_alignment(self.alignment)
        _check_arena(self.arena)
        check_algorithm(self.algorithm)
        banks = banks_of(self.banks)
        if banks and self.arena != 1:
            raise ValueError(f"banks fill the arenas from 1 on: give either banks or arena={self.arena}")
        options = PlanOptions(self.alignment, self.algorithm, self.effort, banks, pins_of(self.pins, banks))
        methods = [method for method in methods_of(op) if not self.methods or method.sym_name.data in self.methods]
        _check_pins(methods_of(op), list(options.pins))
        for method in methods:
            if may_rewrite(self.name, method):
                self._plan(method, options)

    def _plan(self, method: MethodOp, options: PlanOptions) -> None:
        # Existing places must be correct, because with wrong places the method already computes wrong results.
        check_places(method)
        planned = plan_method(method, options)
        for slot in method.slots:
            if isinstance(slot, PlacedOp):
                slot.place = None
        plans = planned.placement.plans
        for arena, (members, plan) in enumerate(zip(planned.placement.members, plans, strict=True), self.arena):
            for index, offset in zip(members, plan.offsets, strict=True):
                if isinstance(root := planned.classes[index].root.owner, PlacedOp):
                    root.place = (arena, offset)
        first = self.arena + len(plans)
        for slot in method.slots:
            if isinstance(slot, StateOp) and planned.shared.places:
                arena, offset = planned.shared.places[slot.global_name.string_value()]
                slot.place = (first + arena, offset)
        sizes = (*(align(plan.size, self.alignment) for plan in plans), *planned.shared.sizes)
        method.arena_sizes = (*(0 for _ in range(1, self.arena)), *sizes)
        banks = (*range(len(plans)), *planned.shared.banks)
        method.bank_names = [options.banks[bank].name for bank in banks] if options.banks else None
        count("tensors placed", len(planned.buffers))
        count("bytes of arena", sum(sizes))
        method.attributes[LOWER_BOUND] = syntax.integer(planned.lower_bound + sum(planned.shared.sizes))
        algorithms = dict.fromkeys(plan.algorithm for plan in plans if plan.size) or {plans[0].algorithm: None}
        method.attributes[ALGORITHM] = StringAttr(", ".join(algorithms))


def _check_pins(methods: Sequence[MethodOp], pins: Sequence[str]) -> None:
    """Raises ValueError for a pin of something that no method has."""
    if not pins:
        return
    known = dict.fromkeys(name for method in methods for name in named_classes(MethodStorage(method)))
    if unknown := next((name for name in pins if name not in known), None):
        raise ValueError(f"the pin of {unknown!r} names no tensor, state or module of the program{did_you_mean(unknown, known)}")
