"""Delegates operators to backends, and counts delegated operators in ExecuTorch's terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp, compile_specs, spec_value
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.ir.locations import handle_of, handles_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.partitioner import CompileSpec
from flambeau.passes.rewriting.constants import blob_store
from flambeau.support.executorch_names import ExplainsMembers


@dataclass(frozen=True)
class DelegationBreakdown:
    """The numbers of delegated and non-delegated operations of one operator."""

    op_type: str
    delegated: int = 0
    non_delegated: int = 0


@dataclass(frozen=True)
class DelegationInfo(ExplainsMembers):
    """The numbers of delegated and non-delegated operations of a program; `str` gives a table."""

    num_delegated_subgraphs: int
    num_delegated_nodes: int
    num_non_delegated_nodes: int
    delegation_by_operator: dict[str, DelegationBreakdown]

    def get_summary(self) -> str:
        """Returns a summary of three lines for the user."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def __str__(self) -> str:
        rows = [f"{item.op_type}: {item.delegated} delegated, {item.non_delegated} not" for item in self.delegation_by_operator.values()]
        return self.get_summary() + "\n".join(rows)


@dataclass(frozen=True)
class Handed:
    """The content of a partition before its backend compiled it: the operations per operator, and the debug handles of each operation."""

    operators: Counter[str]
    handles: tuple[tuple[int, ...], ...]


def _handles(op: SchemaOp) -> tuple[int, ...]:
    named = (handle for result in op.results if (handle := handle_of(result)) is not None)
    return tuple(dict.fromkeys((*handles_of(op.location), *named)))


def operators_in(op: Operation) -> Counter[str]:
    """Returns the number of operations of each operator inside of an operation."""
    return Counter(item.name for item in op.walk() if isinstance(item, SchemaOp))


@dataclass(frozen=True)
class HandOver(ModulePass):
    """A pass that gives partitions the compile specs of their backends, and records the content of each partition."""

    name = "hand-over"
    specs: Mapping[str, Sequence[CompileSpec]]
    handed: dict[str, Handed] = field(default_factory=dict[str, Handed])

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        for partition in op.body.block.ops:
            if isinstance(partition, PartitionOp) and partition.backend.data in self.specs:
                handles = tuple(_handles(item) for item in partition.walk() if isinstance(item, SchemaOp))
                self.handed[partition.sym_name.data] = Handed(operators_in(partition), handles)
                if specs := self.specs[partition.backend.data]:
                    name, blobs = partition.sym_name.data, blob_store(ctx)
                    given = compile_specs({spec.key: spec_value(name, spec.key, spec.value, blobs) for spec in specs})
                    partition.specs = DictionaryAttr({**(partition.specs.data if partition.specs else {}), **given.data})


def count_delegated(module: ModuleOp, context: FlambeauContext, known: Mapping[str, Handed]) -> DelegationInfo:
    """Counts the operators of a module at the edge level.

    Args:
        module: the module.
        context: owns the payloads.
        known: the content of payloads, by name. For any other payload, the operations are counted if the payload can be decoded.
    """
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    subgraphs = 0
    named_data = named_data_of(module, context.blobs)
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            outside += operators_in(op)
        elif isinstance(op, PartitionOp | PayloadOp):
            subgraphs += 1
            found = known.get(op.sym_name.data)
            inside += _operators_of(op, named_data, context) if found is None else found.operators
    operators = {name: DelegationBreakdown(name, inside[name], outside[name]) for name in sorted(inside.keys() | outside.keys())}
    return DelegationInfo(subgraphs, inside.total(), outside.total(), operators)


def _operators_of(op: PartitionOp | PayloadOp, named_data: Mapping[str, memoryview], context: FlambeauContext) -> Counter[str]:
    if isinstance(op, PartitionOp):
        return operators_in(op)
    try:
        return operators_in(disassemble(op, named_data, context.blobs).partition)
    except BackendError:
        return Counter()
