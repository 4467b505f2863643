"""Errors of quantization by operator: the numbers of both programs on the same samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from flambeau.frontends.torch_export.node_locations import module_path
from flambeau.frontends.torch_quantization.operator_forms import operator_name
from flambeau.frontends.torch_quantization.recipe_quantizer import Choice


@dataclass(frozen=True)
class OperatorReport:
    """A report on the quantization of one operator: scheme, signal-to-noise ratio, range of the result, and sizes of the weights."""

    path: str
    """The path of the operator's module; empty for the model itself."""
    operator: str
    scheme: str
    reason: str
    """Why the operator stays in floats; empty if it is quantized."""
    snr: float
    """The signal-to-noise ratio of the result in decibels; infinite for equal results."""
    low: float
    high: float
    """`low` and `high` are the least and the greatest number of the result in floats."""
    bytes_before: int
    bytes_after: int
    """`bytes_before` and `bytes_after` are the sizes of the operator's weights in floats and quantized."""


@dataclass(frozen=True)
class QuantizationReport:
    """The errors of the operators of a program, and of the whole program."""

    operators: Sequence[OperatorReport]
    snr: float
    """The signal-to-noise ratio of the outputs in decibels; infinite for equal outputs."""
    bytes_before: int
    bytes_after: int
    """`bytes_before` and `bytes_after` are the sizes of all weights in floats and quantized."""

    def data(self) -> dict[str, Any]:
        """Returns the report for JSON, with null for infinite numbers."""
        found = asdict(self)
        for item in (found, *found["operators"]):
            item["snr"] = item["snr"] if math.isfinite(item["snr"]) else None
        return found


@dataclass
class _Noise:
    """The power of a signal and of its noise, and the range of the signal."""

    signal: float = 0.0
    noise: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, expected: torch.Tensor, actual: torch.Tensor) -> None:
        """Counts the numbers of one sample."""
        if not expected.numel():
            return
        signal = expected.double()
        self.signal += float(signal.square().sum())
        self.noise += float((actual.double() - signal).square().sum())
        self.low, self.high = min(self.low, float(signal.min())), max(self.high, float(signal.max()))

    @property
    def decibels(self) -> float:
        """Returns the ratio in decibels; infinite without noise."""
        if self.noise == 0:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf


def run_graph(graph: fx.GraphModule, leaves: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Returns the result of each node of a graph by its name, and the leaves of its outputs, for the leaves of the arguments."""
    interpreter = fx.Interpreter(graph, garbage_collect_values=False)
    outputs = interpreter.run(*leaves, enable_io_processing=False)
    return {node.name: value for node, value in interpreter.env.items()}, pytree.tree_leaves(outputs)


def compare(
    floats: fx.GraphModule, integers: fx.GraphModule, samples: Sequence[Sequence[Any]], choices: Mapping[str, Choice]
) -> QuantizationReport:
    """Compares a program with its quantized form, whose nodes have the same names, on samples."""
    before, after = ({node.name: node for node in graph.graph.nodes} for graph in (floats, integers))
    names = [name for name in before if name in choices]
    noises, total = {name: _Noise() for name in names}, _Noise()
    with torch.no_grad():
        for leaves in samples:
            expected, outputs = run_graph(floats, leaves)
            actual, results = run_graph(integers, leaves)
            for name in names:
                noises[name].add(expected[name], actual[_as_used(after[name])])
            for output, result in zip(outputs, results, strict=True):
                if isinstance(output, torch.Tensor):
                    total.add(output, result)
    operators = [
        OperatorReport(
            module_path(before[name]),
            operator_name(before[name]) or str(before[name].target),
            choices[name].scheme,
            choices[name].reason,
            noises[name].decibels,
            noises[name].low,
            noises[name].high,
            _bytes(_weights(before[name])),
            _bytes(_weights(after[name])),
        )
        for name in names
    ]
    return QuantizationReport(operators, total.decibels, *(_bytes(_state(graph)) for graph in (floats, integers)))


def _as_used(node: fx.Node) -> str:
    """Returns the name of the node that the users of `node` read: its dequantization if the result is quantized, else `node`."""
    users = [*node.users]
    if len(users) == 1 and str(users[0].target).startswith("quantized_decomposed.quantize"):
        return next(iter(users[0].users)).name
    return node.name


def _weights(node: fx.Node) -> Iterator[torch.Tensor]:
    """Yields the tensors of the model that a node reads, directly or through a dequantization."""
    for item in node.all_input_nodes:
        if item.op == "get_attr":
            if isinstance(tensor := _attribute(item), torch.Tensor):
                yield tensor
        elif str(item.target).startswith("quantized_decomposed.dequantize"):
            yield from _weights(item)


def _attribute(node: fx.Node) -> object:
    module: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        module = getattr(module, part)
    return module


def _state(graph: fx.GraphModule) -> Iterator[torch.Tensor]:
    """Yields each parameter, buffer and constant of a graph once."""
    found = {
        id(tensor): tensor for node in graph.graph.nodes if node.op == "get_attr" and isinstance(tensor := _attribute(node), torch.Tensor)
    }
    return iter(found.values())


def _bytes(tensors: Iterator[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
