"""Convolutions of images and lines, and images of another size, drawn at random: a function of a tensor, and its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch.nn.functional as F
from quantized_moves import Drawn, of_one
from quantized_programs import ops, tensor_of
from torch import Tensor, int8, int64, zeros


def _numbers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(item) for item in rng.integers(low, high, count)]


class _Convolution:
    """A convolution whose weight is dequantized in each call, as in a program."""

    def __init__(self, rng: np.random.Generator, rank: int, is_transposed: bool):
        self.groups = (1, 2, 4)[int(rng.integers(0, 3))]
        inputs, outputs = 4, self.groups * int(rng.integers(1, 3))
        kernel = _numbers(rng, 1, 4, rank)
        stride = _numbers(rng, 1, 4, rank)
        self.numbers: dict[str, Any] = {"stride": stride, "dilation": _numbers(rng, 1, 3, rank), "groups": self.groups}
        self.numbers["padding"] = [int(rng.integers(0, size)) for size in kernel]
        self.function: Callable[..., Tensor] = (F.conv1d, F.conv2d)[rank - 1]
        sides = _numbers(rng, 7, 10, rank)
        self.shape = (2, inputs, *sides)
        self.axis, shape = int(is_transposed), (outputs, inputs // self.groups, *kernel)
        if is_transposed:
            self.function = (F.conv_transpose1d, F.conv_transpose2d)[rank - 1]
            self.numbers["output_padding"] = [int(rng.integers(0, step)) for step in stride]
            shape = (inputs, outputs // self.groups, *kernel)
        self.weight = tensor_of(rng.integers(-127, 128, shape).astype(np.int8))
        self.scales = tensor_of(rng.uniform(0.001, 0.02, shape[self.axis]).astype(np.float32))
        self.bias = tensor_of(rng.normal(size=outputs).astype(np.float32))

    def __call__(self, x: Tensor) -> Tensor:
        weight = ops.dequantize_per_channel(self.weight, self.scales, zeros(len(self.scales), dtype=int64), self.axis, -127, 127, int8)
        return self.function(x, weight, self.bias, **self.numbers)


def _convolution(rank: int, is_transposed: bool) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        found = _Convolution(rng, rank, is_transposed)
        return of_one(found, *found.shape)

    return draw


def _resizing(mode: str) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        aligned: dict[str, Any] = {"align_corners": bool(rng.random() < 0.5)} if mode == "bilinear" else {}
        old = _numbers(rng, 1, 10, 2)
        size = [2 * item for item in old] if rng.random() < 0.4 else _numbers(rng, 1, 20, 2)
        return of_one(lambda x: F.interpolate(x, size, mode=mode, **aligned), 2, 3, *old)

    return draw


IMAGES: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "convolution": _convolution(2, False),
    "convolution of lines": _convolution(1, False),
    "transposed convolution": _convolution(2, True),
    "nearest pixels": _resizing("nearest"),
    "four pixels": _resizing("bilinear"),
}
