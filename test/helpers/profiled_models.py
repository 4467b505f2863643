"""Models of several kinds, of which events are recorded: layers, attention, recurrence, control flow, a delegate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from models import Model, digits_cnn, lstm_classifier, minilm
from torch import Tensor, nn
from torch._higher_order_ops import map as higher_order_map

untyped: Any = torch
map_rows: Any = higher_order_map


class Branches(nn.Module):
    """One of two branches, as the data decides."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return untyped.cond(x.sum() > 0, self.positive, self.negative, (x,)) + 1

    def positive(self, x: Tensor) -> Tensor:
        return self.linear(x).relu()

    def negative(self, x: Tensor) -> Tensor:
        return x * 2


class Loop(nn.Module):
    """A product for each row."""

    def forward(self, rows: Tensor, weight: Tensor) -> Tensor:
        return map_rows(self.step, rows, weight)

    def step(self, row: Tensor, weight: Tensor) -> Tensor:
        return (row * weight).tanh()


def branches() -> Model:
    return Branches().eval(), (torch.ones(2, 4),)


def loop() -> Model:
    return Loop().eval(), (torch.ones(5, 3), torch.ones(3))


def perceptron() -> Model:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)).eval(), (torch.ones(2, 8),)


MODELS: dict[str, tuple[Callable[[], Model], str | None]] = {
    "cnn": (digits_cnn, None),
    "transformer": (lambda: minilm(16, 1, 100), None),
    "lstm": (lambda: lstm_classifier(4), None),
    "branches": (branches, None),
    "loop": (loop, None),
    "delegate": (perceptron, "xnnpack"),
}
"""Each model, and the backend that has a part of it."""

LAYERS = """import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Squares(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x * x + x)


torch.manual_seed(0)
squares = Squares(), (torch.ones(1, 8),)
model = torch.nn.Sequential(Layer(), Layer()).eval(), (torch.ones(1, 8),)
"""
"""The source of a model of two equal layers, for tests of what names modules and lines."""
