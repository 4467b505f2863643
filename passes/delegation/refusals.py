"""Finds the operators that a backend's compiler refuses, before they are cut out of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, ModuleOp
from xdsl.ir import Attribute, Operation

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.diagnostics import listening, warn
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import watching
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.counters import counting

MOST_ROUNDS = 8
"""The number of times that a program is cut and compiled on trial. In the last round, a partition that is refused stays as a whole."""


def note_refusals(
    module: ModuleOp, context: Context, partitioner: Partitioner, cut: Callable[[ModuleOp], None], are_compiled: bool = False
) -> None:
    """Notes on the operators of a module why the compiler of a backend refuses them, by compiling copies of the module on trial.

    Nothing is tried of a backend that refuses nothing, or that is `strict`. Where its compiler is not here, partitions are converted only;
    if they are to be compiled, all operators are refused, with a warning.

    Args:
        module: nothing but these notes is added to it.
        context: owns the weights.
        partitioner: the backend.
        cut: cuts what the backend takes out of a module.
        are_compiled: whether its compiler gets the partitions next.
    """
    backend = partitioner.backend
    if not backend.refuses or partitioner.options.strict:
        return
    if are_compiled and (missing := backend.missing()) is not None:
        taken = _Trial(module, cut).taken
        for op in taken:
            partitioner.note_refusal(op, missing)
        if taken:
            warn(taken[0], f"{missing}; {len(taken)} operators stay")
        return
    for number in range(1, MOST_ROUNDS + 1):
        refused = _Trial(module, cut).refused(context, partitioner, whole=number == MOST_ROUNDS)
        if not refused:
            return
        for op, reason in refused.items():
            partitioner.note_refusal(op, reason)
        count("operators given back", len(refused))


class _Trial:
    """A copy of a module out of which partitions are cut.

    Each operation has a location of its own, equal to that of the original, which conversions hand on: so the original is found again.
    """

    def __init__(self, module: ModuleOp, cut: Callable[[ModuleOp], None]):
        self._module = module.clone()
        self._originals: dict[int, tuple[Attribute, Operation]] = {}
        """The originals by the identity of locations, which are kept here so that they exist as long as this table."""
        for old, new in zip(module.walk(), self._module.walk(), strict=True):
            new.location = copy(old.location)
            self._originals[id(new.location)] = new.location, old
        before = self._partitions()
        with _quietly():
            cut(self._module)
        self._cut = [partition for partition in self._partitions() if partition not in before]
        self._inside = {partition: [op for item in partition.walk() for op in self._found(item.location)] for partition in self._cut}

    @property
    def taken(self) -> Sequence[Operation]:
        """The originals of the operators in partitions."""
        return list(dict.fromkeys(op for inside in self._inside.values() for op in inside))

    def refused(self, context: Context, partitioner: Partitioner, whole: bool) -> Mapping[Operation, str]:
        """Returns the originals of the operators that the backend refuses, or, if `whole`, of all operators of their partitions."""
        reasons: dict[Operation, str] = {}
        constants = ModuleConstants(context, self._module)
        backend, options = partitioner.backend, partitioner.options
        # The passes that follow meet any other error again, where it has a place in the user's text.
        with _quietly():
            for partition in self._cut if backend.convert is not None else ():
                reasons.update(_reasons(lambda partition=partition: backend.convert and backend.convert(partition, constants, options)))
            if not reasons and self._cut and backend.missing() is None:
                reasons.update(_reasons(lambda: backend.encode(self._cut, constants, options)))
        found: dict[Operation, str] = {}
        for op, reason in reasons.items():
            for original in self._originals_of(op, whole):
                found.setdefault(original, reason)
        return found

    def _partitions(self) -> Sequence[PartitionOp]:
        return [op for op in self._module.body.block.ops if isinstance(op, PartitionOp)]

    def _originals_of(self, op: Operation, whole: bool) -> Sequence[Operation]:
        """Returns the operators that an operation was made of; those of its partition if that is not known."""
        found = tuple(self._found(op.location))
        around: Operation | None = op
        while around is not None and not isinstance(around, PartitionOp):
            around = around.parent_op()
        inside = self._inside.get(around, ()) if around is not None else ()
        return inside or found if whole or isinstance(op, PartitionOp) else found or inside

    def _found(self, location: Attribute) -> Iterator[Operation]:
        """Yields the operators that have a location, or a part of it."""
        if id(location) in self._originals:
            op = self._originals[id(location)][1]
            yield from (op,) if isinstance(op, SchemaOp) else ()
            return
        match location:
            case FusedLoc(locations=ArrayAttr() as children):
                for child in children:
                    yield from self._found(child)
            case _:
                return


def _reasons(trial: Callable[[], object]) -> Mapping[Operation, str]:
    """Returns the operations that a trial refuses, perhaps inside of a pattern, whose driver says where; none for another error."""
    try:
        trial()
    except ValueError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, RefusedError):
            cause = cause.__cause__
        return {} if cause is None else cause.reasons
    return {}


@contextmanager
def _quietly() -> Generator[None, None, None]:
    """Tells, announces and counts nothing of the block."""
    with listening(lambda found: None, ()), watching(None), counting(Counter()):
        yield
