"""Imports the outputs of an exported program: its results, the new values of its state, and the writes to its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.flambeau.method_interface import Leaf
from flambeau.dialects.ir.extents import Extent
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor, tensor_type
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.frontends.torch_export.data_numbers import Arithmetic, DataNumber
from flambeau.frontends.torch_export.exported_graph import FlatProgram
from flambeau.frontends.torch_export.functionalization import Variable
from flambeau.frontends.torch_export.graph_signature import constant_leaf, is_constant, leaf_names
from flambeau.frontends.torch_export.import_report import POISON
from flambeau.frontends.torch_export.model_globals import GlobalState
from flambeau.frontends.torch_export.symbolic_numbers import described

STORED = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
"""The outputs that are the next value of state."""


class Report(Protocol):
    """A protocol for reporting constructs that cannot be imported."""

    def __call__(self, construct: str, reason: str, node: fx.Node | None = None) -> None:
        """Reports one construct."""
        ...


@dataclass
class Outputs:
    """The outputs of one method while they are collected."""

    program: ExportedProgram
    flat: FlatProgram
    variables: Mapping[fx.Node, Variable]
    states: Mapping[fx.Node, GlobalState]
    arguments: Mapping[fx.Node, SSAValue]
    """The tensors among the inputs."""
    writers: Mapping[Variable, fx.Node]
    """The first call that writes each variable that is written."""
    resolve: Callable[[Any], Any]
    emit: Callable[[Operation], None]
    problem: Report
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    results: list[SSAValue] = field(default_factory=list[SSAValue])
    _stores: list[tuple[GlobalState, SSAValue]] = field(default_factory=list[tuple[GlobalState, SSAValue]])
    _written: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The new value of each input that the program writes, by its name."""

    def collect(self) -> None:
        """Collects the leaves and the results of the method, and emits the stores."""
        spec = self.program.call_spec.out_spec
        users = [item for item in self.program.graph_signature.output_specs if item.kind is OutputKind.USER_OUTPUT]
        names = leaf_names(spec, "output") if spec is not None else []
        if len(names) != len(users):
            names = [f"output_{index}" for index in range(len(users))]
        for item, output in zip(self.program.graph_signature.output_specs, self.flat.outputs, strict=True):
            value = self.resolve(output)
            if item.kind is OutputKind.USER_OUTPUT:
                self._return(names[len(self.leaves)], value)
            elif item.kind in STORED:
                if _is_value(value):
                    self._stores.append((self._stored_state(item), value))
            elif item.kind is OutputKind.USER_INPUT_MUTATION:
                node = next(node for node in self.flat.placeholders if node.name == item.target)
                self._write_input(node, value)
            else:
                self.problem(f"output {getattr(item.arg, 'name', '')!r}", f"{item.kind.name} outputs are not supported")
        self._find_writes_in_place()
        for state, value in self._stores:
            if value.type == state.type:
                self.emit(GlobalStoreOp(state.symbol, value))
            else:
                self.problem(f"buffer {state.key!r}", f"the program changes its type from {state.type} to {value.type}")
        for name, value in self._written.items():
            self.leaves.append(Leaf(name, writes=name))
            self.results.append(value)

    def _return(self, name: str, value: Any) -> None:
        if isinstance(value, Extent | DataNumber):
            value = Arithmetic(self.emit).value(value)
        if _is_value(value):
            self.leaves.append(Leaf(name))
            self.results.append(value)
        elif is_constant(value):
            self.leaves.append(constant_leaf(name, value))
        else:
            self.leaves.append(Leaf(name))
            if value is not POISON:
                self.problem(f"output {name!r}", f"{described(value)} is not supported as an output")

    def _write_input(self, node: fx.Node, value: Any) -> None:
        """Notes the new value of an input, under the name of the input's leaf."""
        spec = self.program.graph_signature.input_specs[self.flat.placeholders.index(node)]
        name = getattr(spec.arg, "name", node.name)
        argument = self.arguments.get(node)
        if not _is_value(value) or argument is None or value is argument:
            return
        if value.type == argument.type:
            self._written[name] = value
            return
        why = f"the program writes to it, and changes its type from {argument.type} to {value.type}"
        if _row_major(argument) == _row_major(value):
            why = f"the program writes to it, and it is laid out as {argument.type}; give an input with contiguous elements"
        self.problem(f"input {name!r}", why, self.writers.get(self.variables[node], node))

    def _stored_state(self, spec: OutputSpec) -> GlobalState:
        for node, given in zip(self.flat.placeholders, self.program.graph_signature.input_specs, strict=True):
            if given.target == spec.target and node in self.states:
                return self.states[node]
        raise ValueError(f"the graph signature names no input for {spec.target!r}")

    def _find_writes_in_place(self) -> None:
        for node, spec in zip(self.flat.placeholders, self.program.graph_signature.input_specs, strict=True):
            if self.variables[node] not in self.writers:
                continue
            value = self.variables[node].value
            if spec.kind is InputKind.USER_INPUT:
                self._write_input(node, value)
            elif _is_value(value) and node in self.states:
                self._stores.append((self.states[node], value))


def _row_major(value: SSAValue) -> Tensor:
    return tensor(element_of(tensor_type(value)), shape_of(value))


def _is_value(value: object) -> TypeGuard[SSAValue]:
    return isinstance(value, SSAValue)
