"""The divergence of two forms of a module: the first value that both compute with different results.

A loop computes a value many times; its n-th result is compared with the n-th result of the other form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp as FunctionCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from flambeau.dialects.delegate.ops import CallOp as PartitionCallOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.literals import TensorListOp
from flambeau.dialects.flambeau.method_interface import outputs_of
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.rewriting.locations import describe_location
from flambeau.support.lazy import Array
from flambeau.tools.semantics.reference_results import NOISY_RUNS, Difference, Reference, operator_name
from flambeau.tools.semantics.result_comparison import Rounding, difference_of, noise_of

RECORDED, RECORDED_BYTES = 100_000, 2**30
"""The number of values of a run that are compared, and their bytes. The limit keeps the values of a long loop from filling the memory."""


@dataclass(frozen=True, eq=False)
class Computed:
    """A value, and what it was at one time in one call."""

    value: SSAValue
    op: Operation
    """The operation that computed it."""
    array: Array
    time: int
    """The number of times that a loop computed it before."""


@dataclass(frozen=True)
class Divergence:
    """The first value of a form of a module that is not what the other form computed in its place."""

    before: Computed
    after: Computed
    detail: str
    """The difference, in words."""

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
    """The first value, in order of execution, that lies on the way to the result that differs and is another than before.

    Values of the two forms are taken for the same when they are of one type and share a name that nothing else has; or that nothing else
    has in one of the forms, where a loop may have been unrolled, and as many times; or when they are the last of their type with the same
    location, where none of that location before had this content.

    Raises:
        SemanticsError: one of the forms cannot run.
    """
    old = _values(reference, difference, *before)
    new = _values(reference, difference, *after)
    counterparts = _counterparts(old, new)
    relevant = _leading_to(difference, after[0])
    finite_only = reference.is_extreme(difference.session, difference.call)
    noisy: list[list[Computed]] | None = None
    for item in new:
        earlier = counterparts.get(item, ())
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
    """The distance by which rounding moves a value, over the runs that took the same path."""
    index = values.index(item)
    same = [run[index].array for run in noisy if index < len(run) and run[index].value is item.value and run[index].time == item.time]
    return noise_of(item.array, same)


def _values(
    reference: Reference, difference: Difference, module: ModuleOp, context: FlambeauContext, rounding: Rounding | None = None
) -> list[Computed]:
    found: list[Computed] = []
    times: Counter[SSAValue] = Counter()
    left = RECORDED_BYTES

    def observe(op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
        nonlocal left
        values = _results(op)
        arrays = arrays if rounding is None else rounding.observe(op, arrays)
        # Weights are there anyway.
        left -= sum(array.nbytes for array in arrays) if op.operands else 0
        if len(values) != len(arrays) or len(found) >= RECORDED or left < 0:
            return arrays
        for value, array in zip(values, arrays, strict=True):
            # Slots of an arena are written again later, by others.
            found.append(Computed(value, op, array if op.results else array.copy(), times[value] if op.results else 0))
            times[value] += 1
        return arrays

    reference.run(module, context, observers={(difference.session, difference.call): observe})
    return found


def _results(op: Operation) -> Sequence[SSAValue]:
    """The values that `op` writes: its results, or the slots that an instruction names."""
    if not isinstance(op, CallOp | DelegateCallOp):
        return op.results
    named = op.outs if isinstance(op, DelegateCallOp) else (*(op.outs or (() if op.writes else op.returns)), *op.writes)
    slots: list[SSAValue] = []
    for slot in named:
        slots += slot.owner.items if isinstance(slot.owner, TensorListOp) else [slot]
    return slots


def _counterparts(old: Sequence[Computed], new: Sequence[Computed]) -> dict[Computed, Sequence[Computed]]:
    """For values of the new form, what they may have been before, the likeliest last."""
    found: dict[Computed, Sequence[Computed]] = {}
    taken: set[Computed] = set()
    # Names are those of a function; but values may have moved to another.
    for by_function in (True, False):
        names = _by_name((item for item in old if item not in taken), by_function)
        for name, items in _by_name((item for item in new if item not in found), by_function).items():
            earlier = names.get(name, ())
            one = _is_one(items), _is_one(earlier)
            if all(one) or (any(one) and len(items) == len(earlier)):
                found |= {item: [before] for item, before in zip(items, earlier, strict=False)}
                taken.update(earlier)
    places: defaultdict[Hashable, list[Computed]] = defaultdict(list)
    for item in old:
        if item not in taken:
            places[_place_key(item)].append(item)
    for key, item in {_place_key(item): item for item in new}.items():
        if key is not None and item not in found and key in places:
            found[item] = places[key]
    return found


def _by_name(items: Iterable[Computed], by_function: bool) -> dict[Hashable, list[Computed]]:
    """The named values in order of execution."""
    found: defaultdict[Hashable, list[Computed]] = defaultdict(list)
    functions: dict[Operation, str] = {}
    for item in items:
        if item.value.name_hint is None:
            continue
        if by_function and item.op not in functions:
            functions[item.op] = _function_of(item.op)
        key = (functions.get(item.op, ""), item.value.name_hint, item.array.dtype, item.array.shape)
        found[key].append(item)
    return found


def _function_of(op: Operation) -> str:
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    return "" if around is None else around.sym_name.data


def _is_one(items: Iterable[Computed]) -> bool:
    """Whether one operation computed them all."""
    return len({(item.op, item.value) for item in items}) == 1


def _place_key(item: Computed) -> Hashable:
    place = describe_location(item.op.location)
    return (place, item.array.dtype, item.array.shape) if place else None


def _leading_to(difference: Difference, module: ModuleOp) -> set[Operation] | None:
    """The operations that a function's output is made of; None where that is not to be read off: slots are written more than once."""
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
    # A later call reads what is stored to state.
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
