"""The report of a partitioned module: the backend of each operator, why the others refuse it, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.cost import flops, traffic
from flambeau.passes.delegation.interface import find_identifier
from flambeau.passes.delegation.options import Choice
from flambeau.passes.delegation.survey import Veto, functions_with_bodies, why_left


@dataclass
class ReportRow:
    """The operations of one name that run in one place for one reason."""

    operator: str
    backend: str | None
    """The backend that has them; None for the kernels of the target."""
    reason: str
    """Why each backend left them; empty where one has them."""
    count: int = 0
    flops: int = 0
    bytes: int = 0
    unbounded: int = 0
    """Operations of sizes without a bound, whose work is not counted."""


def partition_report(module: ModuleOp, choices: Sequence[Choice], veto: Veto) -> list[ReportRow]:
    """Returns the rows of a module whose partitions are cut and not converted yet, most work first."""
    rows: dict[tuple[str, str | None, str], ReportRow] = {}
    for op, backend, reason in _placed(module, choices, veto):
        row = rows.setdefault((op.name, backend, reason), ReportRow(op.name, backend, reason))
        work, size = flops(op), traffic(op)
        row.count += 1
        row.flops += work or 0
        row.bytes += size or 0
        row.unbounded += work is None or size is None
    return sorted(rows.values(), key=lambda row: (row.backend is not None, -row.flops, -row.bytes, row.operator))


def _placed(module: ModuleOp, choices: Sequence[Choice], veto: Veto) -> Iterator[tuple[SchemaOp, str | None, str]]:
    for partition in module.body.block.ops:
        if isinstance(partition, PartitionOp):
            backend = find_identifier(partition.backend.data)
            name = partition.backend.data if backend is None else backend.name
            yield from ((op, name, "") for op in partition.body.block.ops if isinstance(op, SchemaOp))
    for function in functions_with_bodies(module):
        for op in function.walk():
            if isinstance(op, SchemaOp):
                yield op, None, _reason(op, choices, veto)


def _reason(op: Operation, choices: Sequence[Choice], veto: Veto) -> str:
    return veto(op) or "; ".join(f"{choice.backend.name}: {why_left(op, choice)}" for choice in choices)
