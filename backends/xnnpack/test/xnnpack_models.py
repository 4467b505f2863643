"""Models that a device runs, small: what they consist of is what counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from models import deit_tiny, gpt2, llama, lstm_classifier, minilm, mobilenet_v2, resnet18
from torch import Tensor, nn
from torch.nn import functional as F

Tensors = tuple[Tensor, ...]


@dataclass
class Case:
    """A model, what it is called with, and which sizes only the run knows."""

    module: nn.Module
    calls: list[Tensors]
    dynamic_shapes: Any = None
    left: dict[str, str] = field(default_factory=dict[str, str])
    """The operators that stay, with the reasons."""

    def export(self) -> torch.export.ExportedProgram:
        """The program."""
        with torch.no_grad():
            return torch.export.export(self.module, self.calls[0], dynamic_shapes=self.dynamic_shapes)


def _norm(module: nn.Module, channels: int) -> tuple[nn.Module, nn.Module]:
    norm = nn.BatchNorm2d(channels)
    with torch.no_grad():
        cast(Tensor, norm.running_mean).uniform_(-0.5, 0.5)
        cast(Tensor, norm.running_var).uniform_(0.5, 2)
    return module, norm


class SqueezeExcite(nn.Module):
    """A gate for each channel."""

    def __init__(self, channels: int, squeezed: int):
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))


class InvertedBottleneck(nn.Module):
    """A block of MobileNetV3."""

    def __init__(self, inputs: int, hidden: int, outputs: int, kernel: int, stride: int, gated: bool, act: type[nn.Module]):
        super().__init__()
        depthwise = nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False)
        self.layers = nn.Sequential(
            *_norm(nn.Conv2d(inputs, hidden, 1, bias=False), hidden),
            act(),
            *_norm(depthwise, hidden),
            act(),
            SqueezeExcite(hidden, 8) if gated else nn.Identity(),
            *_norm(nn.Conv2d(hidden, outputs, 1, bias=False), outputs),
        )
        self.has_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.has_residual else self.layers(x)


def mobilenet_v3() -> Case:
    """MobileNetV3-Small's blocks, each kind once."""
    layers = nn.Sequential(
        *_norm(nn.Conv2d(3, 16, 3, 2, 1, bias=False), 16),
        nn.Hardswish(),
        InvertedBottleneck(16, 16, 16, 3, 2, True, nn.ReLU),
        InvertedBottleneck(16, 72, 24, 3, 2, False, nn.ReLU),
        InvertedBottleneck(24, 96, 40, 5, 2, True, nn.Hardswish),
        InvertedBottleneck(40, 120, 40, 5, 1, True, nn.Hardswish),
        *_norm(nn.Conv2d(40, 64, 1, bias=False), 64),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 96),
        nn.Hardswish(),
        nn.Dropout(0.2),
        nn.Linear(96, 10),
    )
    return Case(layers.eval(), [(torch.rand(1, 3, 64, 64),)])


def ds_cnn() -> Case:
    """Keyword spotting: separable convolutions of a spectrogram."""
    layers: list[nn.Module] = [*_norm(nn.Conv2d(1, 64, (10, 4), 2, (5, 1), bias=False), 64), nn.ReLU()]
    for _ in range(4):
        layers += [*_norm(nn.Conv2d(64, 64, 3, 1, 1, groups=64, bias=False), 64), nn.ReLU()]
        layers += [*_norm(nn.Conv2d(64, 64, 1, bias=False), 64), nn.ReLU()]
    layers += [nn.AvgPool2d((25, 5)), nn.Flatten(), nn.Linear(64, 12), nn.Softmax(-1)]
    return Case(nn.Sequential(*layers).eval(), [(torch.rand(1, 1, 49, 10),)])


def _case(model: tuple[nn.Module, Tensors], left: dict[str, str] | None = None) -> Case:
    return Case(model[0], [model[1]], left=left or {})


NO_NODE = "XNNPACK has no node for it"
MASK = "a tensor is of i1, and XNNPACK takes f32 here"
LOOKUP = {"edge.embedding": NO_NODE}

CASES: dict[str, Callable[[], Case]] = {
    "mobilenet_v2": lambda: _case(mobilenet_v2(32)),
    "mobilenet_v3": mobilenet_v3,
    "resnet18": lambda: _case(resnet18(32)),
    "ds_cnn": ds_cnn,
    "deit_tiny": lambda: _case(deit_tiny(32, 1)),
    "gpt2": lambda: _case(gpt2(16, 1, vocabulary=256), LOOKUP),
    "llama": lambda: _case(llama(16, 1), LOOKUP),
    "lstm_classifier": lambda: _case(lstm_classifier(8), LOOKUP),
    "minilm": lambda: _case(
        minilm(16, 1),
        LOOKUP
        | dict.fromkeys(("edge._to_copy", "edge.index.Tensor", "edge.bitwise_and.Tensor", "edge.any.dim"), NO_NODE)
        | {"edge.where.self": MASK, "edge.view_copy": "a tensor is of i64, and XNNPACK takes f32 here"},
    ),
}
