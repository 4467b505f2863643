"""The operators of a program that a backend has between integers: its table is asked about what they are at the edge level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import fx
from torch.export import ExportedProgram
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.locations import handles_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import import_program
from flambeau.frontends.torch_export.node_locations import DEBUG_HANDLE
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import PIPELINES


@dataclass(frozen=True)
class BackendForms:
    """The forms that a backend has of the operators of a program."""

    backend: str
    table: OperatorTable
    operators: Mapping[str, Sequence[SchemaOp]]
    """The operators of the edge level that a node becomes, by its name. A node of which nothing stays has none."""

    @staticmethod
    def of(program: ExportedProgram, backend: Partitioner) -> BackendForms:
        """Returns the forms of a program's operators. Raises UnsupportedProgramError, PassError."""
        return BackendForms(backend.backend.name, backend.table, _at_edge(program, backend))

    def why_not(self, node: fx.Node) -> str | None:
        """Returns why a node has no form between integers; None if it has one."""
        reasons = map(self.table.why_no_form, self.operators.get(node.name, ()))
        reason = next(filter(None, reasons), None)
        return None if reason is None else f"for {self.backend}: {reason}"

    def has_own(self, node: fx.Node) -> bool:
        """Returns whether the backend has operators between integers for a node: it does not just take quantization itself."""
        return bool(self.table.integers) and bool(self.operators.get(node.name))

    def fixed(self, node: fx.Node) -> tuple[float, int] | None:
        """Returns the scale and the zero point that a node's result must have; None if its range decides."""
        names = (self.table.named(type(op)) for op in self.operators.get(node.name, ())[-1:])
        return next((self.table.numbers.fixed[name] for name in names if name in self.table.numbers.fixed), None)

    def keeps_scale(self, node: fx.Node) -> bool:
        """Returns whether a node's result must have the scale and the zero point of its operand."""
        return any(map(self.table.numbers.keeps_scale, self.operators.get(node.name, ())))


def _at_edge(program: ExportedProgram, backend: Partitioner) -> Mapping[str, Sequence[SchemaOp]]:
    context, recorded = FlambeauContext(), dict[str, ExportedProgram]()
    graphs = [item.graph for item in program.graph_module.modules() if isinstance(item, fx.GraphModule)]
    before = {node: node.meta.get(DEBUG_HANDLE) for graph in graphs for node in graph.nodes}
    with torch.no_grad():
        module = import_program(program, context, recorded=recorded)
    calls = [node for item in recorded.values() for node in item.graph.nodes if node.op == "call_function"]
    names = {node.meta[DEBUG_HANDLE]: node.name for node in calls}
    for node, handle in before.items():
        node.meta.pop(DEBUG_HANDLE, None)
        node.meta |= {} if handle is None else {DEBUG_HANDLE: handle}
    options = PipelineOptions(backends=(backend,))
    steps = [item for name in ("aten-to-core", "optimize-core", "core-to-edge") for item in PIPELINES[name](options)]
    Pipeline.of(steps).run(module, context)
    return _by_name(_operators(module), names)


def _operators(module: ModuleOp) -> Iterable[SchemaOp]:
    return (op for op in module.walk() if isinstance(op, SchemaOp) and op.level() == "edge")


def _by_name(operators: Iterable[SchemaOp], names: Mapping[int, str]) -> Mapping[str, Sequence[SchemaOp]]:
    found: dict[str, list[SchemaOp]] = {}
    for op in operators:
        for handle in handles_of(op.location):
            if handle in names:
                found.setdefault(names[handle], []).append(op)
    return found
