"""Models that are compiled for processors of integers: whole ones, which campaigns run, and small ones of the same operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from device_models import ds_cnn, mobilenet_v3
from models import MobileNetV2, mobilenet_v2, resnet18
from torch import Tensor, nn

Model = tuple[nn.Module, tuple[Tensor, ...]]
"""A model in floats, and its inputs."""


class FirstStages(MobileNetV2):
    """MobileNetV2's blocks, each kind at least once."""

    STAGES = MobileNetV2.STAGES[:3]


class UNet(nn.Module):
    """Two scales of an image, one of them enlarged by a transposed convolution, one by copies of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1)
        self.up, self.mixed, self.last = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(32, 8, 3, 1, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Two classes for each pixel."""
        first = torch.relu(self.first(x))
        second = torch.relu(self.second(first))
        third = torch.relu(self.third(second))
        second = torch.relu(self.mixed(torch.cat([torch.relu(self.up(third)), second], 1)))
        return self.last(torch.cat([nn.functional.interpolate(second, scale_factor=2.0), first], 1))


class Letters(nn.Module):
    """Convolutions along time, as wav2letter has them."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [(40, 64, 11, 2), (64, 64, 11, 1), (64, 96, 7, 1), (96, 29, 1, 1)]
        self.layers = nn.ModuleList(nn.Conv1d(a, b, kernel, step, kernel // 2) for a, b, kernel, step in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """The letters [N, 29, T / 2] of features [N, 40, T]."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class Words(nn.Module):
    """MiniLM's encoder, on embedded words without padding."""

    def __init__(self, size: int, heads: int, layers: int) -> None:
        super().__init__()
        from transformers import BertConfig
        from transformers.models.bert.modeling_bert import BertEncoder

        numbers = {"hidden_size": size, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": 4 * size}
        self.encoder: Any = cast(Any, BertEncoder)(cast(Any, BertConfig)(**numbers, attn_implementation="sdpa"))

    def forward(self, x: Tensor) -> Tensor:
        """The states of words."""
        return self.encoder(x, return_dict=True).last_hidden_state


class Cell(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(size, size)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """The next state."""
        return self.cell(x, hidden)


def _of(case: Any) -> Model:
    return case.module, case.calls[0]


WHOLE: Mapping[str, Callable[[], Model]] = {
    "mobilenet_v2": lambda: mobilenet_v2(224),
    "mobilenet_v3": lambda: _of(mobilenet_v3()),
    "resnet18": lambda: resnet18(224),
    "ds_cnn": lambda: _of(ds_cnn()),
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 64, 64),)),
    "minilm": lambda: (Words(384, 12, 6), (torch.randn(1, 128, 384),)),
    "gru": lambda: (Cell(128), (torch.randn(1, 128), torch.randn(1, 128).tanh())),
    "wav2letter": lambda: (Letters(), (torch.randn(1, 40, 64),)),
}
SMALL: Mapping[str, Callable[[], Model]] = {
    **WHOLE,
    "mobilenet_v2": lambda: (FirstStages(), (torch.randn(1, 3, 32, 32),)),
    "resnet18": lambda: resnet18(32, width=16),
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 8, 8),)),
    "minilm": lambda: (Words(24, 2, 1), (torch.randn(1, 8, 24),)),
    "gru": lambda: (Cell(8), (torch.randn(8, 8), torch.randn(8, 8).tanh())),
    "wav2letter": lambda: (Letters(), (torch.randn(1, 40, 12),)),
}
