"""Layers as quantization finds them: recurrent ones as their linear layers, attention as its steps, and with weights that are constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, fx
from torch import _decomp as decompositions
from torch.export import ExportedProgram

from flambeau.frontends.torch_export.functionalization import mutated_arguments
from flambeau.frontends.torch_quantization.operator_forms import layer_of, overload_of, weight_of
from flambeau.frontends.torch_quantization.recurrent_cells import CELLS
from flambeau.passes.analysis.operator_table import OperatorTable

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


def steps_between_integers(program: ExportedProgram, table: OperatorTable) -> Mapping[Any, Callable[..., Any]]:
    """Returns the decompositions of operators that a backend has between integers in parts only, if it has all of their parts.

    Attention with a mask stays whole, and has none: what is added to hide a key has no place in a range of integers.
    """
    if not any(node.target in _STEPS for node in program.graph.nodes):
        return {}
    masked = {node.target for node in program.graph.nodes if node.target is _ATTENTION and _has_mask(node)}
    targets = _STEPS.keys() - masked  # all of them, as PyTorch makes some of others
    return {target: _STEPS[target][0] for target in targets if all(name in table.integers for name in _STEPS[target][1])}


def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, scale: float | None = None, **options: Any) -> Tensor:
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return torch.softmax(query * factor @ key.transpose(-2, -1), -1) @ value


def _consecutive(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    return [x.narrow(dim, sum(sizes[:index]), size) for index, size in enumerate(sizes)]


def _of_size(x: Tensor, size: int, dim: int = 0) -> list[Tensor]:
    return _consecutive(x, [min(size, x.shape[dim] - start) for start in range(0, x.shape[dim], size)], dim)


def _chunks(x: Tensor, count: int, dim: int = 0) -> list[Tensor]:
    return _of_size(x, -(-x.shape[dim] // count), dim)


def _entries(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [x.select(dim, index) for index in range(x.shape[dim])]


def _has_mask(node: fx.Node) -> bool:
    options = dict(zip(("attn_mask", "dropout_p", "is_causal"), node.args[3:], strict=False)) | node.kwargs
    return any(options.get(name) for name in ("attn_mask", "dropout_p", "is_causal", "enable_gqa"))


_ATTENTION = _ATEN.scaled_dot_product_attention.default
_STEPS: Mapping[Any, tuple[Callable[..., Any], Sequence[str]]] = {
    _ATTENTION: (_attention, ("bmm", "_softmax", "mul.Scalar")),
    _ATEN.split_with_sizes.default: (_consecutive, ("slice_copy.Tensor",)),
    _ATEN.split.Tensor: (_of_size, ("slice_copy.Tensor",)),
    _ATEN.chunk.default: (_chunks, ("slice_copy.Tensor",)),
    _ATEN.unbind.int: (_entries, ("select_copy.int",)),
}
"""The decompositions of operators, and the operators of the edge level that they consist of."""


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
