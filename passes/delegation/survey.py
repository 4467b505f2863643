"""A survey of what a backend takes of a module, in which groups, and why it refuses the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.grouping import group
from flambeau.passes.delegation.options import Choice, find_choice

Veto = Callable[[Operation], str | None]
"""Why the user keeps an operation from every backend; None for one that may go."""


def no_veto(op: Operation) -> str | None:
    """Returns None: the veto that keeps nothing."""
    return None


@dataclass(frozen=True)
class Survey:
    """The operators that a backend would take of a module, and the reasons for the others."""

    backend: str
    taken: int
    partitions: int
    refused: dict[tuple[str, str], int]
    """The number of operations of a name that were refused for a reason."""

    def __str__(self) -> str:
        total = self.taken + sum(self.refused.values())
        head = f"{self.backend} takes {self.taken} of {total} operators in {self.partitions} partitions"
        rest = [f"  {name}{f' ({count} times)' if count > 1 else ''}: {why}" for (name, why), count in self.refused.items()]
        return "\n".join([head, *rest])


def survey(module: ModuleOp, name: str) -> Survey:
    """Returns the operators of an edge module that the backend `name`, perhaps with options in braces, would take. Raises BackendError."""
    choice = find_choice(name)
    refused: Counter[tuple[str, str]] = Counter()
    taken = partitions = 0
    for function in functions_with_bodies(module):
        for block in blocks_of(function):
            groups = groups_for(block, choice)
            inside = {op for items in groups for op in items}
            partitions += len(groups)
            taken += len(inside)
            for op in block.ops:
                if isinstance(op, SchemaOp) and op not in inside:
                    refused[op.name, why_left(op, choice)] += 1
    return Survey(choice.backend.name, taken, partitions, dict(refused))


def why_left(op: Operation, choice: Choice, veto: Veto = no_veto) -> str:
    """Returns why an operation is in no group."""
    few = f"its group has fewer than {choice.options.least} operators, too few for a delegate"
    return veto(op) or choice.table.why_not(op) or few


def functions_with_bodies(module: ModuleOp) -> list[FuncOp]:
    """Returns the functions of a module from which something can be taken: a declaration has no body."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def blocks_of(op: Operation) -> Iterator[Block]:
    """Yields the blocks in the regions of an operation, and those of control flow inside of them."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                if inner.regions and not inner.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                    yield from blocks_of(inner)


def groups_for(block: Block, choice: Choice, veto: Veto = no_veto) -> list[list[Operation]]:
    """Returns the operations of a block that go to a backend, in groups that become one delegate each."""
    table = choice.table
    return group(block, lambda op: table.why_not(op) is None and veto(op) is None, choice.options.least, table.most)
