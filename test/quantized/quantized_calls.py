"""Calls of functions between quantized tensors, drawn at random: each knows its inputs, and the step of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from quantized_images import IMAGES
from quantized_moves import MOVES
from quantized_programs import ops, tensor_of
from quantized_rows import ROWS
from torch import Tensor, nn

Function = Callable[..., Tensor]
Draw = Callable[[np.random.Generator], tuple[Function, Sequence[Sequence[int]]]]
"""Draws a function, and the shapes of its operands."""

CALLS: Mapping[str, Draw] = {**MOVES, **IMAGES, **ROWS}


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
