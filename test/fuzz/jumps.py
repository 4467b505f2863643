"""The passes on storage and memory on random methods with branches and loops: valid IR after each, plans that hold, the same results.

A case is as one of `passes`: a module below a line that names the pipeline.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, InstructionOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.literals import BoolOp, IntOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_contents import ContentAnalysis, Fault
from flambeau.dialects.exec.slots import SlotOp, TensorOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module
from flambeau.passes.manager import PassError, Pipeline
from fuzz import passes
from fuzz.campaign import Campaign
from fuzz.modules import random_function
from fuzz.structure import fill_globals, store_globals

_LOWERING = ",".join(
    name for pipeline in ("aten-to-core", "core-to-edge", "edge-to-exec") for name in passes.needed(pipeline, "executorch")
)
_STORAGE = ("elide-views", "place-concat", "reuse-storage", "remove-dead-code", "cse", "canonicalize")
_ALGORITHMS = ("best", "first-fit", "best-fit", "greedy", "naive")


class _Jumps:
    def __init__(self, chosen: random.Random, method: MethodOp):
        self.chosen = chosen
        self.method = method
        self.labels = 0

    def label(self) -> str:
        self.labels += 1
        return f"label{self.labels}"

    def slot(self, op: SlotOp) -> SSAValue:
        block = self.method.body.block
        assert block.first_op is not None
        block.insert_op_before(op, block.first_op)
        return op.results[0]

    def run(self) -> Sequence[InstructionOp]:
        """Some instructions that stand behind each other."""
        instructions = self.method.instructions
        if not instructions:
            return ()
        first = self.chosen.randrange(len(instructions))
        found = instructions[first : first + self.chosen.choice((1, 2, 4, 9))]
        # A jump needs its label, which is there once: such runs end before.
        end = next((index for index, op in enumerate(found) if isinstance(op, JumpFalseOp | LabelOp)), len(found))
        return found[:end]

    def before(self, place: Operation, *ops: Operation) -> None:
        self.method.body.block.insert_ops_before(ops, place)

    def after(self, place: Operation, *ops: Operation) -> None:
        self.method.body.block.insert_ops_after(ops, place)

    def again(self) -> None:
        """Instructions that may run once more, right behind or at the end."""
        if ops := self.run():
            end = self.label()
            place = self.chosen.choice((ops[-1], self.method.instructions[-1]))
            copies = [op.clone() for op in ops]
            self.after(place, JumpFalseOp(self.condition(), end), *copies, LabelOp(end))

    def either(self) -> None:
        """Instructions twice, of which the ones or the others run."""
        if ops := self.run():
            other, end = self.label(), self.label()
            copies = [op.clone() for op in ops]
            self.before(ops[0], JumpFalseOp(self.condition(), other))
            self.after(ops[-1], JumpFalseOp(self.slot(BoolOp(False)), end), LabelOp(other), *copies, LabelOp(end))

    def loop(self) -> None:
        """Instructions that run three times."""
        if ops := self.run():
            again, done = self.label(), self.slot(BoolOp(False))
            zero, one, limit, counter = (self.slot(IntOp(number)) for number in (0, 1, 3, 0))
            self.before(ops[0], MoveOp(zero, counter), LabelOp(again))
            count = CallOp("executorch_prim::add.Scalar", [counter, one, counter])
            compare = CallOp("executorch_prim::ge.Scalar", [counter, limit, done])
            self.after(ops[-1], count, compare, JumpFalseOp(done, again))

    def move(self) -> None:
        """A slot that becomes what another one is, for those that read it from there on."""
        calls = [op for op in self.run() if isinstance(op, CallOp) and len(op.outs) == 1 and isinstance(op.outs[0].owner, TensorOp)]
        if calls:
            written = calls[0].outs[0]
            moved = self.slot(TensorOp(written.type))
            self.after(calls[0], MoveOp(written, moved))
            following = self.method.instructions
            later = set(following[following.index(calls[0]) + 2 :])
            written.replace_uses_with_if(moved, lambda use: use.operation in later and self.chosen.random() < 0.7)

    def condition(self) -> SSAValue:
        return self.slot(BoolOp(self.chosen.random() < 0.5))


def _jumping(chosen: random.Random) -> ModuleOp | None:
    """A module of one method; None for one that cannot be lowered, or in which a path reads what it does not write."""
    module = ModuleOp([random_function(chosen)])
    store_globals(chosen, module)
    context = FlambeauContext()
    fill_globals(module, context)
    try:
        Pipeline.parse(_LOWERING).run(module, context)
    except PassError:
        return None
    jumps = _Jumps(chosen, next(op for op in module.body.block.ops if isinstance(op, MethodOp)))
    for _ in range(chosen.choice((1, 2, 3, 5))):
        chosen.choice((jumps.again, jumps.either, jumps.loop, jumps.move))()
    faults = {conflict.fault for conflict in ContentAnalysis(jumps.method).run()}
    return None if faults & {Fault.BROKEN, Fault.LOST} else module


def make(chosen: random.Random) -> str:
    """A pipeline, and a module of one method."""
    while (module := _jumping(chosen)) is None:
        pass
    names: list[str] = []
    while chosen.random() < 0.6:
        names.append(chosen.choice(_STORAGE))
    names += [f"plan-memory{{effort=1000 algorithm={chosen.choice(_ALGORITHMS)}}}", "verify-plan"]
    return f"// -1 {','.join(names)}\n{print_module(module, locations=True)}"


CAMPAIGN = Campaign(make, passes.check)
