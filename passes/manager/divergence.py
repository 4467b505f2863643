"""Where two forms of a module part: the first value that both compute, and that they disagree about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.literals import TensorListOp
from flambeau.dialects.interface import outputs_of
from flambeau.dialects.lazy import Array
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.passes.manager.semantics import Difference, Reference, difference_of, operator_name
from flambeau.passes.rewriting.locations import describe_location


@dataclass(frozen=True, eq=False)
class Computed:
    """A value, and what it was in one call."""

    value: SSAValue
    op: Operation
    """What computed it."""
    array: Array


@dataclass(frozen=True)
class Divergence:
    """The first value of a form of a module that is not what the other form computed in its place."""

    before: Computed
    after: Computed
    detail: str
    """How they differ."""

    def __str__(self) -> str:
        earlier, now = operator_name(self.before.op), operator_name(self.after.op)
        name = f"%{self.after.value.name_hint}, " if self.after.value.name_hint else ""
        return f"the first value that differs is {name}computed by {now}{f' ({earlier} before)' if earlier != now else ''}: {self.detail}"


def first_divergence(
    reference: Reference,
    difference: Difference,
    before: tuple[ModuleOp, FlambeauContext],
    after: tuple[ModuleOp, FlambeauContext],
) -> Divergence | None:
    """The first value, in program order, that lies on the way to the result that differs and is another than before.

    Values of the two forms are taken for the same when they are of one type and share a name that nothing else has; or when they are the
    last of their type with the same location, where none of that location before had this content.

    Raises:
        SemanticsError: one of the forms cannot run.
    """
    old = _values(reference, difference, *before)
    new = _values(reference, difference, *after)
    counterparts = _counterparts(old, new)
    relevant = _leading_to(difference, after[0])
    for item in new:
        earlier = counterparts.get(item, ())
        if not earlier or (relevant is not None and item.op not in relevant):
            continue
        details = [difference_of(candidate.array, item.array, reference.options) for candidate in earlier]
        if all(details) and (detail := details[-1]) is not None:
            return Divergence(earlier[-1], item, detail)
    return None


def _values(reference: Reference, difference: Difference, module: ModuleOp, context: FlambeauContext) -> list[Computed]:
    found: list[Computed] = []

    def observe(op: Operation, arrays: Sequence[Array]) -> None:
        values = _results(op)
        if len(values) == len(arrays):
            # Slots of an arena are written again later.
            found.extend(Computed(v, op, a if op.results else a.copy()) for v, a in zip(values, arrays, strict=True))

    reference.run(module, context, observers={(difference.method, difference.call): observe})
    return found


def _results(op: Operation) -> Sequence[SSAValue]:
    """The values that `op` writes: its results, or the slots that an instruction names."""
    if not isinstance(op, CallOp | DelegateCallOp):
        return op.results
    named = op.outs if isinstance(op, DelegateCallOp) else op.outs or op.returns
    slots: list[SSAValue] = []
    for slot in named:
        slots += slot.owner.items if isinstance(slot.owner, TensorListOp) else [slot]
    return slots


def _counterparts(old: Sequence[Computed], new: Sequence[Computed]) -> dict[Computed, Sequence[Computed]]:
    """For values of the new form, what they may have been before, the likeliest last."""
    found: dict[Computed, Sequence[Computed]] = {}
    names = _unique(old, _name_key)
    for key, item in _unique(new, _name_key).items():
        if key in names:
            found[item] = [names[key]]
    taken = {item for items in found.values() for item in items}
    places: defaultdict[Hashable, list[Computed]] = defaultdict(list)
    for item in old:
        if item not in taken:
            places[_place_key(item)].append(item)
    for key, item in {_place_key(item): item for item in new}.items():
        if key is not None and item not in found and key in places:
            found[item] = places[key]
    return found


def _unique(items: Iterable[Computed], key: Callable[[Computed], Hashable]) -> dict[Hashable, Computed]:
    counts = Counter(key(item) for item in items)
    return {found: item for item in items if (found := key(item)) is not None and counts[found] == 1}


def _name_key(item: Computed) -> Hashable:
    return None if item.value.name_hint is None else (item.value.name_hint, item.array.dtype, item.array.shape)


def _place_key(item: Computed) -> Hashable:
    place = describe_location(item.op.location)
    return (place, item.array.dtype, item.array.shape) if place else None


def _leading_to(difference: Difference, module: ModuleOp) -> set[Operation] | None:
    """The operations that a function's output is made of; None where that is not to be read off: slots are written more than once."""
    function = next((op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == difference.method), None)
    if function is None:
        return None
    leaves = outputs_of(function)
    position = sum(leaf.is_tensor for leaf in leaves[: difference.output])
    found: set[Operation] = set()
    returned = function.body.block.last_op
    work: list[SSAValue] = [returned.operands[position]] if isinstance(returned, ReturnOp) else []
    # What is stored to state comes back in a later call.
    work += [op.value for op in function.body.block.ops if isinstance(op, GlobalStoreOp)] if difference.call else []
    while work:
        value = work.pop()
        if isinstance(value, OpResult) and value.op not in found:
            found.add(value.op)
            work += value.op.operands
    return found
