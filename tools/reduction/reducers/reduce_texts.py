"""Reducers of text without meaning: locations, names of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from flambeau.tools.reduction.reducer import Reducer


class LocationsReducer(Reducer[Operation]):
    """A reducer that removes locations."""

    name = "locations"

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the operations that have a location, or whose blocks' arguments do."""
        return [op for op in module.walk() if op.location != UNKNOWN_LOC or any(arg.location != UNKNOWN_LOC for arg in _arguments(op))]

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Removes the locations."""
        for op in targets:
            op.location = UNKNOWN_LOC
            for argument in _arguments(op):
                argument.location = UNKNOWN_LOC


def _arguments(op: Operation) -> Iterator[BlockArgument]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


class NamesReducer(Reducer[SSAValue]):
    """A reducer that removes the names of values, which are then numbered."""

    name = "names"

    def targets(self, module: ModuleOp) -> Sequence[SSAValue]:
        """Returns the values with a name."""
        values: Iterator[SSAValue] = (value for op in module.walk() for value in (*op.results, *_arguments(op)))
        return [value for value in values if value.name_hint is not None]

    def apply(self, module: ModuleOp, targets: Sequence[SSAValue]) -> None:
        """Removes the names."""
        for value in targets:
            value.name_hint = None
