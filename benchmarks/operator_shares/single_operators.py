"""Models of one operator each, in the sizes that networks have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Case:
    """A model whose time is almost that of one operator.

    Attributes:
        name: what it is, in words.
        module: the model.
        inputs: its inputs.
        recipe: how it is quantized; None for floats.
        reasons: for each target that may be slow, why.
    """

    name: str
    module: nn.Module
    inputs: tuple[Tensor, ...]
    recipe: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])


class Function(nn.Module):
    """A function of tensors."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        """Returns the results of the function."""
        return self.function(*inputs)


def _unary(function: Callable[[Tensor], Any]) -> nn.Module:
    return Function(function)


def _binary(function: Callable[[Tensor, Tensor], Any]) -> nn.Module:
    return Function(function)


def _ternary(function: Callable[[Tensor, Tensor, Tensor], Any]) -> nn.Module:
    return Function(function)


def _products() -> Iterator[Case]:
    for rows, columns, inner, where in (
        (512, 512, 512, ""),
        (128, 1536, 384, ", MiniLM"),
        (197, 192, 192, ", DeiT"),
        (49, 1280, 320, ", MobileNetV2"),
        (1, 1408, 512, ", a token of Llama"),
        (1, 4096, 4096, ""),
    ):
        yield Case(f"linear {rows}×{columns}×{inner}{where}", nn.Linear(inner, columns), (torch.randn(rows, inner),))
    yield Case("matmul of 12 pairs 128×128×64", Function(torch.matmul), (torch.randn(12, 128, 64), torch.randn(12, 64, 128)))


_CONVOLUTIONS = (
    ("7×7 3→64 of 224², stride 2", 3, 64, 224, 7, 2, 1),
    ("3×3 3→32 of 224², stride 2", 3, 32, 224, 3, 2, 1),
    ("3×3 64→64 of 56²", 64, 64, 56, 3, 1, 1),
    ("3×3 128→128 of 28²", 128, 128, 28, 3, 1, 1),
    ("3×3 512→512 of 7²", 512, 512, 7, 3, 1, 1),
    ("1×1 256→512 of 14²", 256, 512, 14, 1, 1, 1),
    ("1×1 24→144 of 56²", 24, 144, 56, 1, 1, 1),
    ("3×3 of 64 channels of 25×5, depthwise", 64, 64, 25, 3, 1, 64),
    ("3×3 of 144 channels of 56², depthwise", 144, 144, 56, 3, 1, 144),
    ("3×3 of 96 channels of 112², stride 2, depthwise", 96, 96, 112, 3, 2, 96),
    ("5×5 of 120 channels of 28², depthwise", 120, 120, 28, 5, 1, 120),
    ("3×3 64→64 of 28², 4 groups", 64, 64, 28, 3, 1, 4),
)


def _convolutions() -> Iterator[Case]:
    for name, channels, filters, size, kernel, stride, groups in _CONVOLUTIONS:
        width = 5 if size == 25 else size
        module = nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups)
        yield Case(f"convolution {name}", module, (torch.randn(1, channels, size, width),))
    wave = torch.randn(1, 64, 1024)
    yield Case("convolution of rows 64→64 of 1024, width 3", nn.Conv1d(64, 64, 3, padding=1), (wave,))
    yield Case("convolution of rows 64→64 of 1024, width 7, dilation 3", nn.Conv1d(64, 64, 7, padding=9, dilation=3), (wave,))
    yield Case("transposed convolution of rows 64→32, stride 8", nn.ConvTranspose1d(64, 32, 16, 8, 4), (torch.randn(1, 64, 128),))
    yield Case("transposed convolution 32→16 of 28², stride 2", nn.ConvTranspose2d(32, 16, 4, 2, 1), (torch.randn(1, 32, 28, 28),))


def _quantized() -> Iterator[Case]:
    image, pixels = torch.randn(1, 64, 28, 28), torch.randn(1, 256, 14, 14)
    for recipe in ("w8", "int8", "int8-dynamic"):
        yield Case(f"linear 128×1536×384, {recipe}", nn.Linear(384, 1536), (torch.randn(128, 384),), recipe)
        yield Case(f"linear 1×1408×512, {recipe}", nn.Linear(512, 1408), (torch.randn(1, 512),), recipe)
    for recipe in ("w8", "int8"):
        yield Case(f"convolution 1×1 256→512 of 14², {recipe}", nn.Conv2d(256, 512, 1), (pixels,), recipe)
        yield Case(f"convolution 3×3 64→64 of 28², {recipe}", nn.Conv2d(64, 64, 3, padding=1), (image,), recipe)
        yield Case(
            f"convolution 3×3 of 64 channels of 28², depthwise, {recipe}", nn.Conv2d(64, 64, 3, padding=1, groups=64), (image,), recipe
        )
        yield Case(
            f"convolution of rows 64→64 of 1024, width 3, {recipe}", nn.Conv1d(64, 64, 3, padding=1), (torch.randn(1, 64, 1024),), recipe
        )


def _windows() -> Iterator[Case]:
    image = torch.randn(1, 64, 56, 56)
    yield Case("max pool 3×3, stride 2", nn.MaxPool2d(3, 2, 1), (torch.randn(1, 64, 112, 112),))
    yield Case("mean pool 2×2", nn.AvgPool2d(2), (image,))
    yield Case("mean pool 3×3, stride 1", nn.AvgPool2d(3, 1, 1), (image,))
    yield Case("adaptive mean pool to 7²", nn.AdaptiveAvgPool2d(7), (image,))
    yield Case("adaptive mean pool to 1", nn.AdaptiveAvgPool2d(1), (image,))
    yield Case("resize 2×, nearest", nn.Upsample(scale_factor=2), (image,))
    yield Case("resize 2×, bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), (image,))
    yield Case("pad by zeros", nn.ZeroPad2d(1), (image,))
    yield Case("pad by reflection", nn.ReflectionPad2d(1), (image,))


def _rows() -> Iterator[Case]:
    wide = torch.randn(256, 768)
    yield Case("softmax of 256×768", nn.Softmax(-1), (wide,))
    yield Case("softmax of 64 side by side", nn.Softmax(1), (torch.randn(1, 64, 56, 56),))
    yield Case("log softmax of 256×768", nn.LogSoftmax(-1), (wide,))
    yield Case("layer norm of 256×768", nn.LayerNorm(768), (wide,))
    yield Case("RMS norm of 256×768", nn.RMSNorm(768), (wide,))
    yield Case("group norm of 8 groups", nn.GroupNorm(8, 64), (torch.randn(1, 64, 56, 56),))
    for length, keys, name in ((128, 128, ""), (1, 512, ", one query")):
        shapes = torch.randn(1, 12, length, 64), torch.randn(1, 12, keys, 64), torch.randn(1, 12, keys, 64)
        yield Case(f"attention of 12 heads, {keys} keys{name}", Function(functional.scaled_dot_product_attention), shapes)


def _chain(x: Tensor, y: Tensor) -> Tensor:
    return functional.gelu(torch.tanh(x + y) * y * 3 + x) - torch.sigmoid(x)


def _elements() -> Iterator[Case]:
    wide = torch.randn(256, 768)
    yield Case("add", Function(torch.add), (wide, wide + 1))
    yield Case("mul of rows by a column", Function(torch.mul), (wide, wide[:, :1].clone()))
    yield Case("chain of six operators", Function(_chain), (wide, wide + 1))
    activations: tuple[tuple[str, Callable[[Tensor], Any]], ...] = (
        ("relu", torch.relu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("gelu", functional.gelu),
        ("hardswish", functional.hardswish), ("exp", torch.exp), ("rsqrt", lambda x: torch.rsqrt(x.abs() + 1)),
        ("where", lambda x: torch.where(x > 0, x, x * 0.1)), ("to float16", lambda x: x.half()),
    )  # fmt: skip
    for name, function in activations:
        yield Case(name, _unary(function), (wide,))


def _reductions() -> Iterator[Case]:
    wide, image = torch.randn(256, 768), torch.randn(1, 64, 56, 56)
    sums: tuple[tuple[str, Callable[[Tensor], Any]], ...] = (
        ("sum of rows", lambda x: x.sum(-1)), ("sum of columns", lambda x: x.sum(0)), ("mean of all", torch.mean),
        ("maximum of rows", lambda x: x.amax(-1)), ("argmax of rows", lambda x: x.argmax(-1)), ("variance of rows", lambda x: x.var(-1)),
        ("cumulative sum of rows", lambda x: x.cumsum(-1)),
    )  # fmt: skip
    for name, function in sums:
        yield Case(name, _unary(function), (wide,))
    yield Case("mean of images", _unary(lambda x: x.mean((2, 3))), (image,))
    compares = "each step waits for the outcome of a comparison, and only the elements count as operations, not the comparisons"
    reasons = {target: compares for target in ("flambeau", "executorch")}
    yield Case("ten largest of rows", _unary(lambda x: x.topk(10)[0]), (wide,), None, reasons)
    yield Case("sort of rows", _unary(lambda x: x.sort()[0]), (wide,), None, reasons)


def _overlap(windows: Tensor, places: Tensor) -> Tensor:
    return torch.zeros(4, 1216).index_put((torch.arange(4)[:, None, None], places), windows, accumulate=True)


def _movements() -> Iterator[Case]:
    wide, image, rows = torch.randn(256, 768), torch.randn(1, 64, 56, 56), torch.randint(0, 4096, (128,))
    yield Case("embedding, 128 of 4096 rows of 384", nn.Embedding(4096, 384), (rows,))
    yield Case("permute to channels last", _unary(lambda x: x.permute(0, 2, 3, 1).clone()), (image,))
    yield Case("permute of heads", _unary(lambda x: x.permute(1, 0, 2).clone()), (torch.randn(128, 12, 64),))
    yield Case("cat of rows", _binary(lambda x, y: torch.cat((x, y))), (wide, wide + 1))
    yield Case("cat of columns", _binary(lambda x, y: torch.cat((x, y), 1)), (wide, wide + 1))
    yield Case("slice of columns", _unary(lambda x: x[:, 100:600].clone()), (wide,))
    yield Case("gather", _binary(lambda x, i: x.gather(1, i)), (wide, torch.randint(0, 768, (256, 768))))
    yield Case("index of rows", _binary(lambda x, i: x[i]), (wide, torch.randint(0, 256, (256,))))
    yield Case(
        "index_put, overlapping windows", Function(_overlap), (torch.randn(4, 16, 256), torch.arange(16)[:, None] * 64 + torch.arange(256))
    )
    yield Case("index_put of rows", _ternary(lambda x, i, y: x.index_put((i,), y)), (wide, torch.randperm(256)[:128], wide[:128].clone()))
    yield Case("scatter_add", _ternary(lambda x, i, y: x.scatter_add(1, i, y)), (wide, torch.randint(0, 768, (256, 768)), wide + 1))
    yield Case("unfold of windows", nn.Unfold(3, padding=1), (torch.randn(1, 16, 56, 56),))
    yield Case("roll", _unary(lambda x: x.roll(3, 1)), (wide,))
    yield Case("pixel shuffle", nn.PixelShuffle(2), (image,))
    yield Case(
        "spectrum of 128 windows of 512", _unary(lambda x: torch.view_as_real(cast(Any, torch).fft.rfft(x))), (torch.randn(128, 512),)
    )


class _Last(nn.Module):
    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0][:, -1]


def _recurrences() -> Iterator[Case]:
    yield Case("LSTM of 64 to 128, 32 steps", _Last(nn.LSTM(64, 128, batch_first=True)), (torch.randn(1, 32, 64),))
    yield Case("GRU of 40 to 128, 32 steps", _Last(nn.GRU(40, 128, batch_first=True)), (torch.randn(1, 32, 40),))


def cases() -> list[Case]:
    """Returns all of them, with seeded numbers."""
    cast(Any, torch).manual_seed(0)
    groups = _products, _convolutions, _quantized, _windows, _rows, _elements, _reductions, _movements, _recurrences
    return [case for group in groups for case in group()]
