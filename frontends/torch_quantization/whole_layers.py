"""Layers as quantization finds them: recurrent ones as their linear layers, and with weights that are constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import torch
from torch import _decomp as decompositions
from torch import fx
from torch.export import ExportedProgram

from flambeau.frontends.torch_export.functionalization import mutated_arguments
from flambeau.frontends.torch_quantization.operator_forms import layer_of, overload_of, weight_of
from flambeau.frontends.torch_quantization.recurrent_cells import CELLS

_ATEN = torch.ops.aten
RECURRENT = (_ATEN.gru.input, _ATEN.lstm.input, _ATEN.rnn_tanh.input, _ATEN.rnn_relu.input)
"""Operators that run linear layers for each step of a sequence."""


def steps_of_recurrent_layers(program: ExportedProgram) -> Mapping[Any, Callable[..., Any]]:
    """Returns the decompositions of the recurrent layers and cells of a program. A dynamic number of steps stays whole, and has none."""
    cells = {node.target for node in program.graph.nodes} & CELLS.keys()
    found = [node for node in program.graph.nodes if node.target in RECURRENT]
    kinds = {node.target for node in found} - {node.target for node in found if _has_dynamic_steps(node)}
    layers: Mapping[Any, Callable[..., Any]] = cast(Any, decompositions).get_decompositions(sorted(kinds, key=str)) if kinds else {}
    return {**layers, **{cell: CELLS[cell] for cell in cells}}


def fold_weights(graph: fx.GraphModule, written: Iterable[str]) -> None:
    """Computes weights that follow from parameters alone, such as those with weight normalization, and makes constants of them.

    Buffers whose names are in `written` change from run to run.
    """
    values = _Constants(graph, frozenset(written))
    for node in [*graph.graph.nodes]:
        if layer_of(node) is not None and (weight := weight_of(node)).op == "call_function" and values.has(weight):
            _replace(graph, weight, values[weight])
    for node in reversed([*graph.graph.nodes]):
        if not node.users and (node.op == "get_attr" or (node.op == "call_function" and values.has(node))):
            graph.graph.erase_node(node)
    graph.recompile()


class _Constants:
    """The values of nodes that depend on parameters only."""

    def __init__(self, graph: fx.GraphModule, written: frozenset[str]) -> None:
        self._graph, self._written = graph, written
        self._known: dict[fx.Node, bool] = {}

    def has(self, node: fx.Node) -> bool:
        """Returns whether a node always has one value."""
        if node not in self._known:
            self._known[node] = self._depends_on_parameters(node)
        return self._known[node]

    def __getitem__(self, node: fx.Node) -> Any:
        if node.op == "get_attr":
            return _attribute(self._graph, node)
        args, kwargs = fx.map_arg((node.args, node.kwargs), self.__getitem__)
        return cast(Any, node.target)(*args, **kwargs)

    def _depends_on_parameters(self, node: fx.Node) -> bool:
        if node.op == "get_attr":
            return node.target not in self._written and isinstance(_attribute(self._graph, node), torch.Tensor)
        if node.op != "call_function" or not node.all_input_nodes:
            return False
        overload = overload_of(node)
        is_random = overload is not None and torch.Tag.nondeterministic_seeded in overload.tags
        changes = overload is not None and bool(mutated_arguments(overload))
        return not is_random and not changes and all(map(self.has, node.all_input_nodes))


def _replace(graph: fx.GraphModule, node: fx.Node, value: torch.Tensor) -> None:
    name = f"_constant_{node.name}"
    graph.register_buffer(name, value.detach())
    with graph.graph.inserting_before(node):
        constant = graph.graph.get_attr(name)
    constant.meta |= {**node.meta}
    node.replace_all_uses_with(constant)


def _attribute(graph: fx.GraphModule, node: fx.Node) -> Any:
    found: Any = graph
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found


def _has_dynamic_steps(node: fx.Node) -> bool:
    sizes = node.args[0].meta["val"].shape if isinstance(node.args[0], fx.Node) else ()
    return any(isinstance(size, torch.SymInt) for size in sizes[:2])
