"""Calls of functions between quantized tensors, drawn at random: each knows its inputs, and the step of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from quantized_programs import ops, tensor_of
from torch import Tensor, nn

Function = Callable[..., Tensor]
Draw = Callable[[np.random.Generator], tuple[Function, Sequence[Sequence[int]]]]
"""Draws a function, and the shapes of its operands."""


def _sizes(rng: np.random.Generator, rank: int, most: int = 9) -> tuple[int, ...]:
    return tuple(int(item) for item in rng.integers(1, most, rank))


def _dims(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    return tuple(int(item) for item in rng.permutation(rank)[: rng.integers(1, rank + (rank == 1))])


def _matrices(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    batch, rows, inner, columns = _sizes(rng, 4, 20)
    return (
        (torch.mm, ((rows, inner), (inner, columns)))
        if rng.random() < 0.4
        else (torch.bmm, ((batch, rows, inner), (batch, inner, columns)))
    )


def _with_bias(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    rows, inner, columns = _sizes(rng, 3, 20)
    bias = tensor_of(rng.normal(size=columns).astype(np.float32))

    def function(a: Tensor, b: Tensor) -> Tensor:
        return torch.addmm(bias, a, b)

    return function, ((rows, inner), (inner, columns))


def _along(function: Function) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
        shape = (*_sizes(rng, int(rng.integers(0, 3))), int(np.exp(rng.uniform(0, 7))), *_sizes(rng, int(rng.integers(0, 2)), 4))
        dim = int(np.argmax(shape))

        def of_dim(x: Tensor) -> Tensor:
            return function(x, dim)

        return of_dim, (shape,)

    return draw


def _norm(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    rows, count = int(rng.integers(1, 8)), int(np.exp(rng.uniform(0, 7)))
    weight, bias = (tensor_of(rng.normal(size=count).astype(np.float32)) if rng.random() < 0.7 else None for _ in range(2))
    is_rms = bool(rng.random() < 0.3)

    def function(x: Tensor) -> Tensor:
        return F.rms_norm(x, (count,), weight) if is_rms else F.layer_norm(x, (count,), weight, bias)

    return function, ((rows, count),)


def _group_norm(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    batch, groups, each, height, width = _sizes(rng, 5, 6)
    weight, bias = (tensor_of(rng.normal(size=groups * each).astype(np.float32)) for _ in range(2))

    def function(x: Tensor) -> Tensor:
        return F.group_norm(x, groups, weight, bias)

    return function, ((batch, groups * each, height, width),)


def _reduction(function: Function) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
        shape = _sizes(rng, int(rng.integers(2, 5)))
        dims, keeps = _dims(rng, len(shape)), bool(rng.random() < 0.5)

        def of_dims(x: Tensor) -> Tensor:
            return function(x, dims, keeps)

        return of_dims, (shape,)

    return draw


def _largest(x: Tensor, dims: Sequence[int], keeps: bool) -> Tensor:
    return torch.max(x, dims[0], keeps)[0]


CALLS: Mapping[str, Draw] = {
    "product": _matrices,
    "product and bias": _with_bias,
    "softmax": _along(torch.softmax),
    "log_softmax": _along(torch.log_softmax),
    "layer_norm": _norm,
    "group_norm": _group_norm,
    "sum": _reduction(torch.sum),
    "mean": _reduction(torch.mean),
    "amax": _reduction(torch.amax),
    "amin": _reduction(torch.amin),
    "max.dim": _reduction(_largest),
}


class QuantizedCall(nn.Module):
    """dequantize(quantize(function(dequantize(quantize(x)), …))), in int8, with scales and zero points drawn at random."""

    dtype = torch.int8

    def __init__(self, kind: str, number: int):
        super().__init__()
        rng = np.random.default_rng([number, *kind.encode()])
        self.function, shapes = CALLS[kind](rng)
        self.scales = [float(np.exp(rng.uniform(-5, -1))) for _ in shapes]
        self.zero_points = [int(item) for item in rng.integers(-100, 101, len(shapes))]
        given = zip(shapes, self.scales, strict=True)
        self.inputs = tuple(tensor_of(rng.normal(size=shape).astype(np.float32) * np.float32(scale * 50)) for shape, scale in given)
        with torch.no_grad():
            found = self.function(*self._operands(self.inputs))
        low, high = min(0.0, float(found.min())), max(0.0, float(found.max()))
        self.output_scale = (high - low) / 255 or 1.0
        self.output_zero_point = int(np.clip(-128 - round(low / self.output_scale), -128, 127))
        self.clamps = bool(rng.random() < 0.3)

    def _operands(self, inputs: Sequence[Tensor]) -> list[Any]:
        given = zip(inputs, self.scales, self.zero_points, strict=True)
        return [quantized(x, scale, zero_point) for x, scale, zero_point in given]

    def forward(self, *inputs: Tensor) -> Tensor:
        """The call."""
        found = self.function(*self._operands(inputs))
        return quantized(found.relu() if self.clamps else found, self.output_scale, self.output_zero_point)


def quantized(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """As integers of int8, and back."""
    given = scale, zero_point, -128, 127, torch.int8
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *given), *given)
