"""The networks of compare.py: `factory() -> (module, example inputs)`, in evaluation mode, with seeded random weights, in float32."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.append(str(Path(__file__).resolve().parent.parent / "test"))
from device_models import InvertedBottleneck, ds_cnn
from models import ConvNorm, deit_tiny, minilm, mobilenet_v2, resnet18

Network: TypeAlias = tuple[nn.Module, tuple[Tensor, ...]]


class Picked(nn.Module):
    """A model of `transformers` with tensors as inputs, and one of its results."""

    def __init__(self, model: nn.Module, result: str | None = None, **fixed: Any):
        super().__init__()
        self.model, self.result, self.fixed = model, result, fixed

    def forward(self, *inputs: Tensor) -> Tensor:
        """Returns the result of that name."""
        found = self.model(*inputs, **self.fixed)
        return found if self.result is None else getattr(found, self.result)


def mobilenet_v3_small() -> Network:
    """MobileNetV3-Small, as in table 2 of its paper (arXiv:1905.02244)."""
    layers: list[nn.Module] = [ConvNorm(3, 16, 3, 2, activation=nn.Hardswish())]
    inputs = 16
    for kernel, hidden, outputs, is_gated, act, stride in (
        (3, 16, 16, True, nn.ReLU, 2),
        (3, 72, 24, False, nn.ReLU, 2),
        (3, 88, 24, False, nn.ReLU, 1),
        (5, 96, 40, True, nn.Hardswish, 2),
        (5, 240, 40, True, nn.Hardswish, 1),
        (5, 240, 40, True, nn.Hardswish, 1),
        (5, 120, 48, True, nn.Hardswish, 1),
        (5, 144, 48, True, nn.Hardswish, 1),
        (5, 288, 96, True, nn.Hardswish, 2),
        (5, 576, 96, True, nn.Hardswish, 1),
        (5, 576, 96, True, nn.Hardswish, 1),
    ):
        layers.append(InvertedBottleneck(inputs, hidden, outputs, kernel, stride, is_gated, act))
        inputs = outputs
    layers += [ConvNorm(96, 576, 1, activation=nn.Hardswish()), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    layers += [nn.Linear(576, 1024), nn.Hardswish(), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


def efficientnet_b0() -> Network:
    """EfficientNet-B0 with images of its own size."""
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    config = EfficientNetConfig(width_coefficient=1.0, depth_coefficient=1.0, image_size=224, hidden_dim=1280)
    return Picked(EfficientNetForImageClassification(config), "logits"), (torch.randn(1, 3, 224, 224),)


def convnext_tiny() -> Network:
    """ConvNeXt-T."""
    from transformers import ConvNextConfig, ConvNextForImageClassification

    return Picked(ConvNextForImageClassification(ConvNextConfig()), "logits"), (torch.randn(1, 3, 224, 224),)


def whisper_encoder() -> Network:
    """The encoder of Whisper-tiny, on 30 seconds."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return Picked(WhisperEncoder(WhisperConfig()), "last_hidden_state"), (torch.randn(1, 80, 3000),)


def hifi_gan() -> Network:
    """A HiFi-GAN vocoder of 128 channels, on 32 frames of 80 bands."""
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig

    return Picked(SpeechT5HifiGan(SpeechT5HifiGanConfig(upsample_initial_channel=128))), (torch.randn(1, 32, 80),)


class CrossStage(nn.Module):
    """Half of the channels pass through residual bottlenecks and are joined with the rest, as in YOLO's blocks."""

    def __init__(self, inputs: int, outputs: int, count: int):
        super().__init__()
        half = outputs // 2
        self.first, self.last = (
            ConvNorm(inputs, outputs, 1, activation=nn.SiLU()),
            ConvNorm(half * (count + 2), outputs, 1, activation=nn.SiLU()),
        )
        self.blocks = nn.ModuleList(
            nn.Sequential(ConvNorm(half, half, 3, activation=nn.SiLU()), ConvNorm(half, half, 3, activation=nn.SiLU()))
            for _ in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Returns the joined channels."""
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """A detector like YOLO's small ones: three scales, features joined upwards, boxes of the candidates of all scales."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.SiLU
        self.stem = nn.Sequential(ConvNorm(3, 16, 3, 2, activation=act()), ConvNorm(16, 32, 3, 2, activation=act()), CrossStage(32, 32, 1))
        self.fine = nn.Sequential(ConvNorm(32, 64, 3, 2, activation=act()), CrossStage(64, 64, 2))
        self.middle = nn.Sequential(ConvNorm(64, 128, 3, 2, activation=act()), CrossStage(128, 128, 2))
        self.coarse = nn.Sequential(ConvNorm(128, 256, 3, 2, activation=act()), CrossStage(256, 256, 1))
        self.join_middle, self.join_fine = CrossStage(256 + 128, 128, 1), CrossStage(128 + 64, 64, 1)
        self.heads = nn.ModuleList(nn.Sequential(ConvNorm(size, 64, 3, activation=act()), nn.Conv2d(64, 84, 1)) for size in (64, 128, 256))

    def forward(self, x: Tensor) -> Tensor:
        """Returns 4 + 80 numbers for each candidate."""
        fine = self.fine(self.stem(x))
        middle = self.middle(fine)
        coarse = self.coarse(middle)
        middle = self.join_middle(torch.cat((F.interpolate(coarse, scale_factor=2.0), middle), 1))
        fine = self.join_fine(torch.cat((F.interpolate(middle, scale_factor=2.0), fine), 1))
        found = [head(level).flatten(2) for head, level in zip(self.heads, (fine, middle, coarse), strict=True)]
        joined = torch.cat(found, 2)
        return torch.cat((joined[:, :4], joined[:, 4:].sigmoid()), 1)


class DecoderLayer(nn.Module):
    """A layer of Llama for one token: 8 heads of queries, 4 of keys and values."""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(features, 1e-6) for _ in range(2))
        self.query, self.out = (nn.Linear(features, features, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(features, features // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(features, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, features, bias=False)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, angles: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the features, and this token's key and value."""

        def rotated(y: Tensor) -> Tensor:
            first, second = y.chunk(2, -1)
            return y * angles.cos() + torch.cat((-second, first), -1) * angles.sin()

        y = self.norms[0](x)
        query, key = rotated(self.query(y).view(4, 2, 64)), rotated(self.key(y).view(4, 1, 64))
        keys, values = torch.cat((keys, key), 1), torch.cat((values, self.value(y).view(4, 1, 64)), 1)
        found = torch.softmax(query @ keys.transpose(1, 2) * 0.125, -1) @ values
        x = x + self.out(found.reshape(1, -1))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), key, values[:, -1:]


class Decoder(nn.Module):
    """One token of Llama after 200 of them, whose keys and values are inputs: every engine can express this."""

    def __init__(self, layers: int = 8, features: int = 512, vocabulary: int = 4096):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(vocabulary, features), nn.RMSNorm(features, 1e-6)
        self.layers = nn.ModuleList(DecoderLayer(features, 1408) for _ in range(layers))
        self.head = nn.Linear(features, vocabulary, bias=False)
        self.register_buffer("frequencies", 1e4 ** -(torch.arange(0, 64, 2) / 64).repeat(2))

    def forward(self, token: Tensor, position: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        """Returns the logits, and the keys and values to store."""
        x, new = self.embedding(token), list[Tensor]()
        angles = position.to(torch.float32) * self.get_buffer("frequencies")
        for layer, keys, values in zip(self.layers, caches[::2], caches[1::2], strict=True):
            x, *added = layer(x, keys, values, angles)
            new += added
        return self.head(self.norm(x)), *new


def llama_decode() -> Network:
    """One step of a Llama of 8 layers and 512 features."""
    return Decoder(), (torch.tensor([17]), torch.tensor([200]), *(torch.randn(4, 200, 64) for _ in range(16)))


class Lstm(nn.Module):
    """The last step of an LSTM, and a class."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.last = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Returns 12 logits."""
        return self.last(self.rnn(x)[0][:, -1])


class Chain(nn.Module):
    """Elementwise operators, softmax and layer norm: passes over memory."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.LayerNorm(768), nn.LayerNorm(768)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the last norm, and the second input added."""
        a = self.first(torch.tanh(x + y) * y)
        b = torch.softmax(a * 0.5 + x, -1)
        return self.last(F.gelu(b * 3 + a) - torch.sigmoid(x)) + y


NETWORKS: dict[str, Callable[[], Network]] = {
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3_small": mobilenet_v3_small,
    "resnet18": resnet18,
    "deit_tiny": lambda: deit_tiny(224, 12),
    "minilm": minilm,
    "llama_decode": llama_decode,
    "ds_cnn": lambda: (ds_cnn().module, ds_cnn().calls[0]),
    "lstm": lambda: (Lstm(), (torch.randn(1, 32, 64),)),
    "gemm_512": lambda: (nn.Linear(512, 512, bias=False), (torch.randn(512, 512),)),
    "conv_3x3": lambda: (nn.Conv2d(64, 64, 3, padding=1), (torch.randn(1, 64, 56, 56),)),
    "chain": lambda: (Chain(), (torch.randn(256, 768), torch.randn(256, 768))),
    "efficientnet_b0": efficientnet_b0,
    "convnext_tiny": convnext_tiny,
    "whisper_encoder": whisper_encoder,
    "detector": lambda: (Detector(), (torch.randn(1, 3, 320, 320),)),
    "hifi_gan": hifi_gan,
}


def network(name: str) -> Network:
    """Returns a network, the same in every process, with statistics of batch norms as training leaves them."""
    generator: Any = torch
    generator.manual_seed(0)
    module, inputs = NETWORKS[name]()
    for child in module.modules():
        if isinstance(child, nn.BatchNorm2d) and child.running_mean is not None and child.running_var is not None:
            child.running_mean.normal_(0, 0.1)
            child.running_var.uniform_(0.5, 1.5)
    return module.eval().requires_grad_(False), inputs
