"""Errors of quantization by operator: the numbers of both programs on the same samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from flambeau.frontends.quantization_choices import FLOAT
from flambeau.frontends.torch_export.node_locations import module_path
from flambeau.frontends.torch_quantization.operator_forms import operator_name
from flambeau.frontends.torch_quantization.recipe_quantizer import Choice

_MOST_NAMES = 4
"""Of layers in one line."""


@dataclass(frozen=True)
class OperatorReport:
    """A report on the quantization of one operator: scheme, signal-to-noise ratio, range of the result, and sizes of the weights."""

    path: str
    """The path of the operator's module; empty for the model itself."""
    operator: str
    scheme: str
    reason: str
    """Why the operator stays in floats; empty if it is quantized."""
    is_lost: bool
    """Whether it stays in floats because integers would not tell its numbers apart."""
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
    share_in_integers: float
    """The share of the elements of weights, buffers and constants that are integers, from 0 to 1."""

    @property
    def layers_in_floats(self) -> Sequence[OperatorReport]:
        """The operators that stay in floats though they have weights, or though they have a form of integers."""
        return [item for item in self.operators if item.scheme == FLOAT and (item.bytes_before or item.is_lost)]

    def __str__(self) -> str:
        """Returns the totals in a line, and a line for each reason for which layers stay in floats."""
        sizes = f"weights: {self.share_in_integers:.1%} in integers, {self.bytes_before} bytes before and {self.bytes_after} after"
        lines = [f"{sizes}; outputs: {decibels(self.snr)} dB"]
        reasons: dict[str, list[str]] = {}
        for item in self.layers_in_floats:
            reasons.setdefault(item.reason, []).append(item.path or item.operator)
        for reason, paths in reasons.items():
            names = ", ".join(paths[:_MOST_NAMES]) + (f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else "")
            lines.append(f"in floats: {names}: {reason}")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Returns the report for JSON, with null for infinite numbers."""
        found = asdict(self)
        for item in (found, *found["operators"]):
            item["snr"] = item["snr"] if math.isfinite(item["snr"]) else None
        return found


def decibels(ratio: float) -> str:
    """Returns a signal-to-noise ratio for people."""
    return f"{ratio:.1f}" if math.isfinite(ratio) else "equal" if ratio > 0 else "-"


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
    """Compares a program with its quantized form, whose nodes have the same names, on samples.

    Operators that torchao has folded, because they read constants alone, are left out.
    """
    nodes_before, nodes_after = ({node.name: node for node in graph.graph.nodes} for graph in (floats, integers))
    names = [name for name in nodes_before if name in choices and name in nodes_after]
    noises, total = {name: _Noise() for name in names}, _Noise()
    with torch.no_grad():
        for leaves in samples:
            expected, outputs = run_graph(floats, leaves)
            actual, results = run_graph(integers, leaves)
            for name in names:
                noises[name].add(expected[name], actual[_as_used(nodes_after[name])])
            for output, result in zip(outputs, results, strict=True):
                if isinstance(output, torch.Tensor):
                    total.add(output, result)
    operators = [
        OperatorReport(
            module_path(nodes_before[name]),
            operator_name(nodes_before[name]) or str(nodes_before[name].target),
            choices[name].scheme,
            choices[name].reason,
            choices[name].is_lost,
            noises[name].decibels,
            noises[name].low,
            noises[name].high,
            _bytes(_weights(nodes_before[name])),
            _bytes(_weights(nodes_after[name])),
        )
        for name in names
    ]
    before, after = (_bytes(_state(graph)) for graph in (floats, integers))
    return QuantizationReport(operators, total.decibels, before, after, _share_in_integers(integers))


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


def _share_in_integers(graph: fx.GraphModule) -> float:
    counts = {False: 0, True: 0}
    for node in graph.graph.nodes:
        if node.op == "get_attr" and isinstance(tensor := _attribute(node), torch.Tensor):
            readers = [user for user in node.users if _is_quantization(user)]
            if not readers or any(user.args[0] is node for user in readers):
                counts[bool(readers)] += tensor.numel()
    return counts[True] / max(sum(counts.values()), 1)


def _is_quantization(node: fx.Node) -> bool:
    return str(node.target).startswith("quantized_decomposed.")


def _bytes(tensors: Iterator[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
