"""The values that operations compute in a run of a module, and their counterparts in another form of the module."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.literals import TensorListOp
from flambeau.dialects.ir.locations import describe_location
from flambeau.support.lazy import Array
from flambeau.tools.semantics.result_comparison import Rounding

RECORDED, RECORDED_BYTES = 100_000, 2**30
"""The number of values of a run that are compared, and their bytes. The limit keeps the values of a long loop from filling the memory."""


@dataclass(frozen=True, eq=False)
class Computed:
    """A value, with its content at one time in one call."""

    value: SSAValue
    op: Operation
    """The operation that computed it."""
    array: Array
    time: int
    """The number of earlier times that a loop computed the value in the same call."""


class ValueRecorder:
    """A recorder of the results of each operation, perturbed by `rounding` if given; its `observe` is an observer of the interpreter."""

    def __init__(self, rounding: Rounding | None = None):
        self.values: list[Computed] = []
        self._rounding = rounding
        self._times: Counter[SSAValue] = Counter()
        self._left = RECORDED_BYTES

    def observe(self, op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
        """Records the results of an operation, and returns the values that the run continues with."""
        values = results_of(op)
        arrays = arrays if self._rounding is None else self._rounding.observe(op, arrays)
        # Weights are in memory anyway, so their loads do not count.
        self._left -= sum(array.nbytes for array in arrays) if op.operands else 0
        if len(values) != len(arrays) or len(self.values) >= RECORDED or self._left < 0:
            return arrays
        for value, array in zip(values, arrays, strict=True):
            # Slots of an arena are overwritten later.
            self.values.append(Computed(value, op, array if op.results else array.copy(), self._times[value] if op.results else 0))
            self._times[value] += 1
        return arrays


def results_of(op: Operation) -> Sequence[SSAValue]:
    """Returns the values that `op` writes: its results, or the slots that an instruction names."""
    if not isinstance(op, CallOp | DelegateCallOp):
        return op.results
    named = op.outs if isinstance(op, DelegateCallOp) else (*(op.outs or (() if op.writes else op.returns)), *op.writes)
    slots: list[SSAValue] = []
    for slot in named:
        slots += slot.owner.items if isinstance(slot.owner, TensorListOp) else [slot]
    return slots


def counterparts(old: Sequence[Computed], new: Sequence[Computed]) -> dict[Computed, Sequence[Computed]]:
    """Returns the possible earlier counterparts of each value of the new form, the likeliest last.

    Two values of one type correspond in three cases. First, they share a name that no other value has. Second, they share a name that is
    unique in one of the forms, and both forms compute it equally often: a loop may have been unrolled. Third, the new value is the last of
    its location, and the earlier value has that location: the new values before it are parts of a decomposed operator.
    """
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
    for place, item in {describe_location(item.op.location): item for item in new}.items():
        if place and item not in found and (key := _place_key(item)) in places:
            found[item] = places[key]
    return found


def _by_name(items: Iterable[Computed], by_function: bool) -> dict[Hashable, list[Computed]]:
    """Returns the named values in order of execution."""
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
    """Returns whether one operation computed all values."""
    return len({(item.op, item.value) for item in items}) == 1


def _place_key(item: Computed) -> Hashable:
    return (describe_location(item.op.location), item.array.dtype, item.array.shape)
