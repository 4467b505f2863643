"""The plan of a method's memory: the bank and the place of each storage class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.exec.slots import nbytes
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.passes.planning.banks import Bank, Placement, free_bytes, place_in_banks
from flambeau.passes.planning.buffers import Buffer, Plan, align, check_plan, lower_bound
from flambeau.passes.planning.portfolio import EFFORT, plan_buffers
from flambeau.passes.rewriting.actions import analysis
from flambeau.passes.storage.classes import MethodStorage, StorageClass
from flambeau.passes.storage.pins import named_classes, pinned_classes, state_names
from flambeau.passes.storage.shared_state import SharedState, shared_state, states_of
from flambeau.passes.storage.traffic import traffic_of

_ANY_MEMORY = (Bank("memory"),)


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is made for, and by what."""

    alignment: int = 16
    algorithm: str = "best"
    effort: int = EFFORT
    banks: Sequence[Bank] = ()
    """The memories of the device, the fastest first; none: one of any size."""
    pins: Mapping[str, int] = field(default_factory=dict[str, int])
    """The index of the bank of what has a name; of several names of one class, the last counts."""

    def pack(self, buffers: Sequence[Buffer], effort: int) -> Plan:
        """Returns a plan of buffers in one arena."""
        return plan_buffers(buffers, alignment=self.alignment, algorithm=self.algorithm, effort=effort)


@dataclass(frozen=True)
class MethodPlan:
    """The plan of one method's memory."""

    method: MethodOp
    classes: Sequence[StorageClass]
    """The storage classes that have a place in the method's own arenas."""
    buffers: Sequence[Buffer]
    """Their lifetimes and sizes."""
    pins: Mapping[int, int]
    """The banks of those that have to lie in one."""
    placement: Placement
    """The plan of each bank; without banks, of one arena."""
    shared: SharedState
    lower_bound: int


def plan_method(method: MethodOp, options: PlanOptions = PlanOptions()) -> MethodPlan:
    """Plans the memory of a method without changing it.

    Raises:
        ValueError: for an unknown algorithm or a useless alignment.
        PlanError: should a planner ever give a plan in which tensors clash.
        OperationError: for tensors that no bank has room for.
    """
    with analysis("lifetimes", method):
        storage = MethodStorage(method)
    banks = options.banks or _ANY_MEMORY
    shared = shared_state(
        method,
        options.alignment,
        # Methods must agree on it, and a run touches state less often than the tensors that it computes.
        lambda op: next((options.pins[name] for name in state_names(op) if name in options.pins), len(banks) - 1),
        everything=bool(options.banks),
    )
    spans = {item: span for item in storage.classes() if (span := item.span) is not None and not (shared.places and item.is_state)}
    buffers = [Buffer(start, end, item.size) for item, (start, end) in spans.items()]
    traffic = traffic_of(storage) if options.banks else Counter[StorageClass]()
    pinned = pinned_classes(named_classes(storage), options.pins) if options.pins else {}
    pins = {index: pinned[item] for index, item in enumerate(spans) if item in pinned}
    sizes = [None if bank.size is None else bank.size - shared.bytes_in(index) for index, bank in enumerate(banks)]
    with analysis("placement", method):
        placement = place_in_banks(
            buffers,
            [traffic[item] for item in spans],
            sizes,
            options.pack,
            alignment=options.alignment,
            effort=options.effort,
            pins=pins,
        )
    for members, plan in zip(placement.members, placement.plans, strict=True):
        check_plan([buffers[index] for index in members], plan, options.alignment)
    bound = max(lower_bound(buffers, options.alignment), *(plan.bound for plan in placement.plans))
    planned = MethodPlan(method, tuple(spans), buffers, pins, placement, shared, bound)
    if placement.unplaced or any(size is not None and size < 0 for size in sizes):
        raise _does_not_fit(planned, options)
    return planned


def _does_not_fit(planned: MethodPlan, options: PlanOptions) -> OperationError:
    """Returns the error for the tensors without a place: which they are, what was free for them, and what would help."""
    method, banks, members = planned.method, options.banks, planned.placement.members
    buffers = [Buffer(start, end, align(size, options.alignment)) for start, end, size in planned.buffers]
    state = [planned.shared.bytes_in(bank) for bank in range(len(banks))]
    sizes = [bank.size or 0 for bank in banks]
    notes: list[Diagnostic] = []
    missing: dict[int, list[int]] = {bank: [] for bank, item in enumerate(banks) if item.size is not None and item.size < state[bank]}
    for name, op in states_of(method).items() if missing else ():
        if (bank := planned.shared.banks[planned.shared.places[name][0]]) in missing:
            text = f"the state {describe(op.slot)} has {nbytes(op.slot.type)} bytes, and {banks[bank].name} only {sizes[bank]} for all"
            notes.append(Diagnostic("note", text, op=op))
    for index in planned.placement.unplaced:
        tried = [planned.pins[index]] if index in planned.pins else range(len(banks))
        missing.setdefault(tried[-1], []).append(index)
        start, end, _ = buffers[index]
        free = [free_bytes([buffers[i] for i in members[bank]], sizes[bank] - state[bank], (start, end)) for bank in tried]
        words = [f"{max(left, 0)} of the {sizes[bank]} bytes of {banks[bank].name}" for bank, left in zip(tried, free, strict=True)]
        root = planned.classes[index].root
        text = f"{describe(root)} has {planned.buffers[index].size} bytes; while it lives, {' and '.join(words)} are free"
        notes.append(Diagnostic("note", text, op=root.owner if isinstance(root.owner, Operation) else method))
    enough = [
        f"{banks[bank].name}={options.pack([buffers[i] for i in (*members[bank], *more)], options.effort).size + state[bank]}"
        for bank, more in missing.items()
    ]
    pinned = ", or fewer pins" if planned.pins else ""
    count = f"{len(notes)} tensor{'s have' if len(notes) > 1 else ' has'}"
    return OperationError(
        method, f"{count} no room in the banks of @{method.sym_name.data}: {', '.join(enough)} would do{pinned}", tuple(notes)
    )
