"""The analysis behind `verify-plan` against brute force: every path of small random programs, byte by byte."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, InstructionOp, JumpFalseOp, LabelOp, MoveOp, ReturnOp, reads_and_writes
from flambeau.dialects.exec.literals import BoolOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_contents import ContentAnalysis, Fault
from flambeau.dialects.exec.slots import ReuseOp, StateOp, TensorOp, TensorSlotOp, ViewOp, nbytes, place_of
from flambeau.dialects.ir.tensor_types import tensor, ui8

ARENA = 12


def random_method(seed: int, *, moves: bool) -> MethodOp:
    choose = random.Random(seed)
    slots: list[TensorSlotOp] = []
    for _ in range(choose.randint(2, 6)):
        kind = choose.choice(["plain", "plain", "plain", "view", "reuse", "state"])
        size = choose.choice([1, 2, 4])
        if kind in ("view", "reuse") and slots:
            source = choose.choice(slots).slot
            size = min(size, nbytes(source.type))
            offset = choose.randint(0, nbytes(source.type) - size)
            slots.append(ViewOp(source, tensor(ui8, (size,)), offset) if kind == "view" else ReuseOp(source, tensor(ui8, (size,))))
        elif kind == "state":
            slots.append(StateOp("s", tensor(ui8, (size,)), 1, choose.randint(0, ARENA - size)))
        else:
            slots.append(TensorOp(tensor(ui8, (size,)), 1, choose.randint(0, ARENA - size)))
    condition = TensorOp(tensor(i1, ()), 2, 0)
    no = BoolOp(False)
    body: list[InstructionOp] = []
    count = choose.randint(1, 7)
    labels = [LabelOp(name) for name in ("a", "b")[: choose.randint(0, 2)]]
    for _ in range(count):
        kind = choose.random()
        if labels and kind < 0.25:
            body.append(JumpFalseOp(choose.choice([condition.slot, no.slot]), choose.choice(labels).label.data))
        elif moves and kind < 0.45:
            source, target = choose.choice(slots).slot, choose.choice(slots).slot
            if source.type == target.type:
                body.append(MoveOp(source, target))
        else:
            ins = [choose.choice(slots).slot for _ in range(choose.randint(0, 2))]
            body.append(CallOp("t::op.out", ins, [choose.choice(slots).slot]))
    for label in labels:
        body.insert(choose.randint(0, len(body)), label)
    inputs = choose.sample([op.slot for op in slots], choose.randint(0, 2))
    outputs = choose.sample([op.slot for op in slots], choose.randint(0, 2))
    return MethodOp("m", [*slots, condition, no, *body, ReturnOp([*inputs, condition.slot], outputs)], arenas=[ARENA, 1])


def content(slot: SSAValue) -> SSAValue:
    while isinstance(slot.owner, ViewOp):
        slot = slot.owner.source
    return slot


@dataclass
class Machine:
    """One path: which content was last written to each byte, and where each slot lies now.

    A slot that was moved to is, from then on, the content that it was moved from.
    """

    bytes_: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])
    place: dict[SSAValue, tuple[int, int]] = field(default_factory=dict[SSAValue, tuple[int, int]])
    content: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def copy(self) -> "Machine":
        return Machine(dict(self.bytes_), dict(self.place), dict(self.content))

    def key(self) -> object:
        return frozenset(self.bytes_.items()), frozenset(self.place.items()), frozenset(self.content.items())

    def span(self, slot: SSAValue) -> Iterator[tuple[int, int]]:
        arena, offset = self.place[slot]
        return ((arena, offset + index) for index in range(nbytes(slot.type)))

    def write(self, slot: SSAValue) -> None:
        for byte in self.span(slot):
            self.bytes_[byte] = self.content[slot]

    def holds(self, slot: SSAValue) -> bool:
        return all(self.bytes_.get(byte) is self.content[slot] for byte in self.span(slot))


def brute_force(method: MethodOp) -> set[tuple[int, SSAValue]]:
    """Every (instruction, slot) at which some path reads what it should not; the end counts as an instruction."""
    steps = [op for op in method.instructions if not isinstance(op, LabelOp)]
    targets: dict[str, int] = {}
    for op in method.instructions:
        if isinstance(op, LabelOp):
            targets[op.label.data] = sum(not isinstance(before, LabelOp) for before in method.instructions[: method.instructions.index(op)])
    start = Machine()
    tensors = [op.slot for op in method.slots if isinstance(op, TensorSlotOp)]
    states = [slot for slot in tensors if isinstance(slot.owner, StateOp)]
    for slot in tensors:
        place = place_of(slot)
        assert place is not None
        start.place[slot], start.content[slot] = place, content(slot)
    for slot in (*states, *method.terminator.inputs):
        start.write(slot)
    faults: set[tuple[int, SSAValue]] = set()
    pending = [(0, start)]
    seen: set[object] = set()
    while pending:
        position, machine = pending.pop()
        while position < len(steps):
            op = steps[position]
            if isinstance(op, JumpFalseOp):
                if (position, machine.key()) in seen:
                    break
                seen.add((position, machine.key()))
            reads, writes = reads_and_writes(op)
            faults |= {(position, slot) for slot in reads if not machine.holds(slot)}
            if isinstance(op, MoveOp):
                machine.place[op.target], machine.content[op.target] = machine.place[op.source], machine.content[op.source]
            for slot in writes:
                machine.write(slot)
            position += 1
            if isinstance(op, JumpFalseOp):
                target = targets[op.label.data]
                if isinstance(op.condition.owner, BoolOp):
                    position = target
                else:
                    pending.append((target, machine.copy()))
        if position == len(steps):
            faults |= {(position, slot) for slot in (*method.terminator.outputs, *states) if not machine.holds(slot)}
    return faults


def analysis(method: MethodOp) -> set[tuple[int, SSAValue]]:
    wanted = (Fault.BROKEN, Fault.LOST)
    return {(conflict.instruction, conflict.slot) for conflict in ContentAnalysis(method).run() if conflict.fault in wanted}


@pytest.mark.parametrize("block", range(8))
def test_without_moves_the_analysis_finds_exactly_the_faults_of_all_paths(block: int) -> None:
    found = 0
    for seed in range(block * 100, block * 100 + 100):
        method = random_method(seed, moves=False)
        expected = brute_force(method)
        found += bool(expected)
        assert analysis(method) == expected, f"seed {seed}\n{method}"
    assert 20 < found < 100


@pytest.mark.parametrize(
    "seeds", [range(0, 200), range(200, 400), (1102, 3433, 5759)], ids=["first", "second", "writes through moved views"]
)
def test_with_moves_the_analysis_misses_no_fault(seeds: Sequence[int]) -> None:
    for seed in seeds:
        method = random_method(seed, moves=True)
        assert analysis(method) >= brute_force(method), f"seed {seed}\n{method}"


def test_a_right_plan_stays_right_however_long_it_is() -> None:
    kind = tensor(f32, (4,))
    first = TensorOp(kind, 1, 0)
    slots: list[Operation] = [first]
    calls: list[Operation] = []
    previous = first.slot
    for index in range(2000):
        op = TensorOp(kind, 1, 16 * (1 + index % 3))
        calls.append(CallOp("aten::relu.out", [previous], [op.slot]))
        slots.append(op)
        previous = op.slot
    method = MethodOp("m", [*slots, *calls, ReturnOp([first.slot], [previous])], arenas=[64])
    assert ContentAnalysis(method).run() == []
