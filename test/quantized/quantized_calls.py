"""Calls of functions between quantized tensors, drawn at random: each knows its inputs, and the step of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from quantized_images import IMAGES
from quantized_layers import RANGES, quantized, steps_in_one
from quantized_moves import MOVES
from quantized_programs import ops, tensor_of
from quantized_rows import ROWS
from torch import Tensor, nn

Function = Callable[..., Tensor]
Draw = Callable[[np.random.Generator], tuple[Function, Sequence[Sequence[int]]]]
"""Draws a function, and the shapes of its operands."""

CALLS: Mapping[str, Draw] = {**MOVES, **IMAGES, **ROWS}


class QuantizedCall(nn.Module):
    """dequantize(quantize(function(dequantize(quantize(x)), …))), with scales drawn at random, and of int8 zero points."""

    def __init__(self, kind: str, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        self.dtype = dtype or torch.int8
        rng = np.random.default_rng([number, *kind.encode()])
        self.function, shapes = CALLS[kind](rng)
        self.scales = [float(np.exp(rng.uniform(-5, -1))) for _ in shapes]
        self.zero_points = [int(item) for item in rng.integers(-100, 101, len(shapes))]
        given = zip(shapes, self.scales, strict=True)
        self.inputs = tuple(tensor_of(rng.normal(size=shape).astype(np.float32) * np.float32(scale * 50)) for shape, scale in given)
        if self.dtype == torch.int16:
            self.scales = [scale / steps_in_one(self.dtype) for scale in self.scales]
            self.zero_points = [0] * len(shapes)
        with torch.no_grad():
            found = self.function(*self._operands(self.inputs))
        low, high = min(0.0, float(found.min())), max(0.0, float(found.max()))
        if self.dtype == torch.int16:
            self.output_scale, self.output_zero_point = 2 * max(-low, high) / (2**16 - 1) or 1.0, 0
        else:
            self.output_scale = (high - low) / 255 or 1.0
            self.output_zero_point = int(np.clip(-128 - round(low / self.output_scale), -128, 127))
        self.clamps = bool(rng.random() < 0.3)

    def _operands(self, inputs: Sequence[Tensor]) -> list[Any]:
        given = zip(inputs, self.scales, self.zero_points, strict=True)
        return [quantized(x, scale, zero_point, self.dtype) for x, scale, zero_point in given]

    def forward(self, *inputs: Tensor) -> Tensor:
        """The call."""
        found = self.function(*self._operands(inputs))
        return quantized(found.relu() if self.clamps else found, self.output_scale, self.output_zero_point, self.dtype)


class QuantizedCalls(nn.Module):
    """Calls and layers of one type, whose integers are put in one row as they are, so that all are one graph."""

    def __init__(self, parts: Sequence[Any]):
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.inputs = tuple(item for part in parts for item in part.inputs)
        self.dtype = parts[0].dtype

    def integers(self, *inputs: Tensor) -> list[Tensor]:
        """The integers of each part, as floats."""
        rest, found = iter(inputs), list[Tensor]()
        for part in self.parts:
            call: Any = part
            zero_point = call.output_zero_point if isinstance(part, QuantizedCall) else call.zero_points[-1]
            kind = call.output_scale, zero_point, *RANGES[self.dtype], self.dtype
            integers = ops.quantize_per_tensor(part(*(next(rest) for _ in call.inputs)), *kind)
            found.append(ops.dequantize_per_tensor(integers, 1.0, 0, *RANGES[self.dtype], self.dtype).flatten())
        return found

    def forward(self, *inputs: Tensor) -> Tensor:
        """The integers of all parts, as floats."""
        return quantized(torch.cat(self.integers(*inputs)), 1.0, 0, self.dtype)
