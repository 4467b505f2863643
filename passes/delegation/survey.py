"""A survey of what a backend takes of a module, in which groups, and why it refuses the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.grouping import group
from flambeau.passes.delegation.interface import Backend, find_backend


def why_refused(op: Operation, backend: Backend) -> str | None:
    """Why `backend` does not take an operation; None when it does."""
    if not isinstance(op, SchemaOp) or op.level() != "edge":
        return "it is not an operator of the edge level"
    return backend.refuse(op)


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
    """What the backend `name` would take of the functions of an edge module. Raises BackendError when there is no such backend."""
    backend = find_backend(name)
    refused: Counter[tuple[str, str]] = Counter()
    taken = partitions = 0
    for function in functions_with_bodies(module):
        groups = groups_for(function, backend)
        inside = {op for items in groups for op in items}
        partitions += len(groups)
        taken += len(inside)
        for op in function.body.block.ops:
            if isinstance(op, SchemaOp) and op not in inside:
                refused[op.name, why_left(op, backend)] += 1
    return Survey(name, taken, partitions, dict(refused))


def why_left(op: Operation, backend: Backend) -> str:
    """Why an operation is in no group."""
    return why_refused(op, backend) or f"its group has fewer than {backend.least} operators, too few for a delegate"


def functions_with_bodies(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module from which something can be taken: a declaration has no body."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def groups_for(function: FuncOp, backend: Backend) -> list[list[Operation]]:
    """The operations of a function that go to `backend`, in groups that become one delegate each."""
    return group(function.body.block, lambda op: why_refused(op, backend) is None, backend.least, backend.most)
