"""Who runs each operator of a module, and why the backends leave the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.cost import flops, traffic
from flambeau.passes.delegation.candidates import Veto, functions_with_bodies, no_veto, why_left
from flambeau.passes.delegation.contents import recorded_operators
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError, find_identifier
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.rewriting.constants import blob_store
from flambeau.support.executorch_names import ExplainsMembers


@dataclass
class DelegationRow:
    """The operations of one name that run in one place for one reason."""

    operator: str
    backend: str | None
    """The backend that has them; None for the kernels of the target."""
    reason: str = ""
    """Why each backend left them; empty where one has them."""
    count: int = 0
    flops: int = 0
    bytes: int = 0
    unbounded: int = 0
    """Operations of sizes without a bound, or in a payload, whose work is not counted."""


@dataclass(frozen=True)
class DelegationBreakdown:
    """The numbers of delegated and non-delegated operations of one operator."""

    op_type: str
    delegated: int = 0
    non_delegated: int = 0


@dataclass(frozen=True)
class DelegationInfo(ExplainsMembers):
    """Who runs each operator of a module, in ExecuTorch's terms; `str` says it for people.

    Attributes:
        rows: the operators by place and reason: first those that no backend has, and of these the most work first.
        subgraphs: the number of delegates of each backend, of those asked that have none too.
    """

    rows: Sequence[DelegationRow]
    subgraphs: Mapping[str, int]

    @property
    def num_delegated_subgraphs(self) -> int:
        """The number of delegates."""
        return sum(self.subgraphs.values())

    @property
    def num_delegated_nodes(self) -> int:
        """The number of operations that backends have."""
        return sum(row.count for row in self.rows if row.backend is not None)

    @property
    def num_non_delegated_nodes(self) -> int:
        """The number of operations that no backend has."""
        return sum(row.count for row in self.rows if row.backend is None)

    @property
    def delegation_by_operator(self) -> dict[str, DelegationBreakdown]:
        """The numbers by operator."""
        inside: Counter[str] = Counter()
        outside: Counter[str] = Counter()
        for row in self.rows:
            (outside if row.backend is None else inside)[row.operator] += row.count
        return {name: DelegationBreakdown(name, inside[name], outside[name]) for name in sorted(inside | outside)}

    @property
    def refused(self) -> dict[tuple[str, str], int]:
        """The number of operations that no backend has, by name and reason."""
        return {(row.operator, row.reason): row.count for row in self.rows if row.backend is None}

    def get_summary(self) -> str:
        """Returns a summary of three lines for the user."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def __str__(self) -> str:
        lines: list[str] = []
        total = sum(row.count for row in self.rows)
        for backend, partitions in self.subgraphs.items():
            rows = [row for row in self.rows if row.backend == backend]
            lines.append(f"{backend} takes {sum(row.count for row in rows)} of {total} operators in {partitions} partitions")
            lines += [f"  {row.operator}{_times(row)}" for row in rows]
        left = [row for row in self.rows if row.backend is None]
        lines += [f"left: {sum(row.count for row in left)} of {total} operators"] if left else []
        lines += [f"  {row.operator}{_times(row)}{row.reason and ': '}{row.reason}" for row in left]
        return "\n".join(lines)


def _times(row: DelegationRow) -> str:
    return f" ({row.count} times)" if row.count > 1 else ""


def delegation_info(module: ModuleOp, context: Context, partitioners: Sequence[Partitioner] = (), veto: Veto = no_veto) -> DelegationInfo:
    """Returns what backends have taken of a module: the operators of partitions and payloads as they were at the edge level.

    Args:
        module: at the edge level.
        context: owns the payloads. Those that note no operators are decoded, where someone can.
        partitioners: the backends that were asked, whose reasons are told.
        veto: why the user keeps an operation.
    """
    rows, subgraphs = _Rows(), {partitioner.backend.name: 0 for partitioner in partitioners}
    blobs = blob_store(context)
    named_data = named_data_of(module, blobs)
    for delegate in module.body.block.ops:
        if isinstance(delegate, PartitionOp | PayloadOp):
            backend = find_identifier(delegate.backend.data)
            name = delegate.backend.data if backend is None else backend.name
            subgraphs[name] = subgraphs.get(name, 0) + 1
            if (noted := recorded_operators(delegate)) is not None:
                rows.count(noted, name)
            elif isinstance(delegate, PayloadOp):
                with suppress(BackendError):
                    rows.count(Counter(op.name for op in _operators(disassemble(delegate, named_data, blobs).partition)), name)
            else:
                for op in _operators(delegate):
                    rows.add(op, name, "")
    for op in _outside(module):
        names = [f"{partitioner.backend.name}: " if len(partitioners) > 1 else "" for partitioner in partitioners]
        reasons = [f"{name}{why_left(op, partitioner, veto)}" for name, partitioner in zip(names, partitioners, strict=True)]
        rows.add(op, None, veto(op) or "; ".join(reasons))
    return DelegationInfo(rows.sorted(), subgraphs)


def _outside(module: ModuleOp) -> Iterator[SchemaOp]:
    """Yields the operators of the functions of a module."""
    for function in functions_with_bodies(module):
        yield from _operators(function)


def _operators(op: Operation) -> Iterator[SchemaOp]:
    return (inner for inner in op.walk() if isinstance(inner, SchemaOp))


class _Rows:
    """The rows of a report that is being made."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str | None, str], DelegationRow] = {}

    def _row(self, operator: str, backend: str | None, reason: str) -> DelegationRow:
        return self._rows.setdefault((operator, backend, reason), DelegationRow(operator, backend, reason))

    def add(self, op: SchemaOp, backend: str | None, reason: str) -> None:
        """Adds an operation with its work."""
        row, work, size = self._row(op.name, backend, reason), flops(op), traffic(op)
        row.count += 1
        row.flops += work or 0
        row.bytes += size or 0
        row.unbounded += work is None or size is None

    def count(self, operators: Counter[str], backend: str) -> None:
        """Adds operations whose work is not known any more."""
        for operator, number in operators.items():
            row = self._row(operator, backend, "")
            row.count += number
            row.unbounded += number

    def sorted(self) -> Sequence[DelegationRow]:
        """Returns the rows: what no backend has first, and of these the most work first."""
        return sorted(self._rows.values(), key=lambda row: (row.backend is not None, -row.flops, -row.bytes, row.operator))
