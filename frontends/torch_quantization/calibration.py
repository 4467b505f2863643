"""Ranges of numbers that the integers of an operator cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import fx
from torchao.quantization.pt2e import FixedQParamsObserver, ObserverBase

_LEAST_STEPS = 8
"""A range of fewer steps of its scale is not represented: its ratio to the noise of rounding is below 20 decibels."""


class Calibration(fx.Interpreter):
    """An interpreter of a graph with observers, which finds the range of each tensor that one of them sees."""

    def __init__(self, prepared: fx.GraphModule) -> None:
        super().__init__(prepared)
        self._observers = {node: observer for node in prepared.graph.nodes if (observer := _observer(prepared, node)) is not None}
        self._ranges: dict[ObserverBase, tuple[float, float]] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Runs a node; the range of a tensor that an observer sees includes 0, as that of its integers does."""
        value = super().run_node(n)
        if n in self._observers and isinstance(value, torch.Tensor) and value.numel():
            # Tensors with one scale, such as those that are joined, have one observer.
            observer = self._observers[n]
            low, high = self._ranges.get(observer, (0.0, 0.0))
            self._ranges[observer] = min(low, float(value.min())), max(high, float(value.max()))
        return value

    def lost(self) -> Mapping[str, str]:
        """Returns the operators whose integers would have too few steps, by their names, with the reason.

        A scale that is fixed is that of the operator; the least scale that observers give is too large for its readers as well.
        """
        found: dict[str, str] = {}
        for node, observer in self._observers.items():
            low, high = self._ranges.get(observer, (0.0, 0.0))
            scale = float(cast(Any, observer).calculate_qparams()[0])
            if 0 < high - low < _LEAST_STEPS * scale:
                steps = (high - low) / scale
                reason = f"its numbers, from {low:.2g} to {high:.2g}, would have {steps:.1f} steps of the scale {scale:.2g}"
                readers = () if isinstance(observer, FixedQParamsObserver) else node.users
                found |= {item.name: reason for item in (*node.all_input_nodes, *readers)}
        return found


def _observer(prepared: fx.GraphModule, node: fx.Node) -> ObserverBase | None:
    """Returns the observer of activations with one scale that a node calls."""
    found = prepared.get_submodule(str(node.target)) if node.op == "call_module" else None
    source = node.args[0] if node.args else None
    sees_constant = isinstance(source, fx.Node) and source.op == "get_attr"
    is_dynamic = getattr(found, "is_dynamic", False)
    return found if isinstance(found, ObserverBase) and not sees_constant and not is_dynamic else None
