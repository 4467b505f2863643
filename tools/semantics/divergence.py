"""The divergence of two forms of a module: the first value that both compute with different results.

A loop computes a value many times; its n-th result is compared with the n-th result of the other form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp as FunctionCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from flambeau.dialects.delegate.ops import CallOp as PartitionCallOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.flambeau.method_interface import outputs_of
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.support.lazy import Array
from flambeau.tools.semantics.computed_values import Computed, ValueRecorder, counterparts
from flambeau.tools.semantics.reference_results import NOISY_RUNS, Difference, Reference, operator_name
from flambeau.tools.semantics.result_comparison import Rounding, difference_of, noise_of


@dataclass(frozen=True)
class Divergence:
    """The first value of a form of a module that differs from its counterpart in the other form."""

    before: Computed
    after: Computed
    detail: str
    """The difference of the two values, in words."""

    def __str__(self) -> str:
        earlier, now = operator_name(self.before.op), operator_name(self.after.op)
        name = f"%{self.after.value.name_hint}, " if self.after.value.name_hint else ""
        by = f"{now} ({earlier} before)" if earlier != now else now
        time = f" in round {self.after.time + 1}" if self.after.time else ""
        return f"the first value that differs is {name}computed by {by}{time}: {self.detail}"


def first_divergence(
    reference: Reference,
    difference: Difference,
    before: tuple[ModuleOp, FlambeauContext],
    after: tuple[ModuleOp, FlambeauContext],
) -> Divergence | None:
    """Returns the first value, in order of execution, that leads to the differing result and differs from before.

    A value with several counterparts, which have the same location, differs if it equals none of them.

    Raises:
        SemanticsError: one of the forms cannot run.
    """
    old = _values(reference, difference, *before)
    new = _values(reference, difference, *after)
    found = counterparts(old, new)
    relevant = _leading_to(difference, after[0])
    finite_only = reference.is_extreme(difference.session, difference.call)
    noisy: list[list[Computed]] | None = None
    for item in new:
        earlier = found.get(item, ())
        if not earlier or (relevant is not None and item.op not in relevant):
            continue
        details = [difference_of(candidate.array, item.array, reference.options, finite_only=finite_only) for candidate in earlier]
        if not all(details):
            continue
        if noisy is None:
            noisy = [_values(reference, difference, *before, Rounding(seed)) for seed in range(NOISY_RUNS)]
        noises = [_noise(candidate, old, noisy) for candidate in earlier]
        details = [
            difference_of(candidate.array, item.array, reference.options, noise=noise, finite_only=finite_only)
            for candidate, noise in zip(earlier, noises, strict=True)
        ]
        if all(details) and (detail := details[-1]) is not None:
            return Divergence(earlier[-1], item, detail)
    return None


def _noise(item: Computed, values: Sequence[Computed], noisy: Sequence[Sequence[Computed]]) -> Array | None:
    """Returns the distance by which rounding moves a value, over the runs that took the same path."""
    index = values.index(item)
    same = [run[index].array for run in noisy if index < len(run) and run[index].value is item.value and run[index].time == item.time]
    return noise_of(item.array, same)


def _values(
    reference: Reference, difference: Difference, module: ModuleOp, context: FlambeauContext, rounding: Rounding | None = None
) -> list[Computed]:
    recorder = ValueRecorder(rounding)
    reference.run(module, context, observers={(difference.session, difference.call): recorder.observe})
    return recorder.values


def _leading_to(difference: Difference, module: ModuleOp) -> set[Operation] | None:
    """Returns the operations that a function's output depends on; None if unknown, because slots are written more than once."""
    bodies = {op.sym_name.data: op.body for op in module.body.block.ops if isinstance(op, FuncOp | PartitionOp)}
    function = next((op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == difference.method), None)
    if function is None:
        return None
    ends = [block.last_op for block in function.body.blocks]
    work: list[SSAValue] = []
    if difference.output is not None:
        position = sum(leaf.is_tensor for leaf in outputs_of(function)[: difference.output])
        work += [end.operands[position] for end in ends if isinstance(end, ReturnOp)]
    work += [operand for end in ends if end is not None and end.successors for operand in end.operands]
    # A later call reads the stored state.
    work += [op.value for op in module.walk() if isinstance(op, GlobalStoreOp)] if difference.call or difference.state else []
    found: set[Operation] = set()
    while work:
        value = work.pop()
        op = value.op if isinstance(value, OpResult) else cast(Block, value.owner).parent_op()
        # A value inside a loop depends on the loop.
        while op is not None and op not in found and not isinstance(op, FuncOp | PartitionOp | ModuleOp):
            found.add(op)
            work += op.operands
            called = bodies.get(op.callee.string_value()) if isinstance(op, FunctionCallOp | PartitionCallOp) else None
            for region in (*op.regions, *(() if called is None else (called,))):
                work += [operand for block in region.blocks if block.last_op is not None for operand in block.last_op.operands]
            op = op.parent_op()
    return found
