"""Layers of quantized numbers, drawn at random: each knows its inputs, what it becomes in integers, and the step of its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from quantized_programs import ops, tensor_of
from torch import Tensor, nn

from flambeau.dialects.fused.quantized import QuantizedConv2dOp, QuantizedLinearOp
from flambeau.dialects.fused.quantized_elementwise import QuantizedAddOp, QuantizedMulOp, QuantizedTableOp
from flambeau.dialects.fused.quantized_pool import QuantizedAvgPool2dOp
from flambeau.dialects.schema.row import SchemaOp

ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (Tensor.contiguous, torch.relu, F.relu6)
FUNCTIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    *(torch.sigmoid, torch.tanh, F.gelu, F.silu, F.hardswish, F.hardsigmoid, F.elu, F.leaky_relu, torch.exp, F.softplus, F.relu6),
    lambda x: x * torch.sigmoid(1.702 * x),
    lambda x: (x + 1.5).abs().sqrt() - x / 3,
)
"""Of each number alone."""
RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-(2**15), 2**15 - 1)}


def type_of(rng: np.random.Generator, dtype: torch.dtype | None) -> torch.dtype:
    """The given type of integers; without one, int8 or uint8."""
    drawn = torch.int8 if rng.random() < 0.7 else torch.uint8
    return drawn if dtype is None else dtype


def zero_points_of(rng: np.random.Generator, dtype: torch.dtype, count: int) -> list[int]:
    """Zero points of a type: those of int16 are 0."""
    low, high = RANGES[dtype]
    drawn = [int(item) for item in rng.integers(low, high + 1, count)]
    return [0] * count if dtype == torch.int16 else drawn


def steps_in_one(dtype: torch.dtype) -> int:
    """The steps of a type that have the size of one of 8 bits."""
    return 2 ** (torch.iinfo(dtype).bits - 8)


class QuantizedLayer(nn.Module):
    """A layer drawn at random, between quantized numbers."""

    def __init__(self, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = type_of(rng, dtype)
        self.is_linear, depthwise = bool(rng.random() < 0.4), bool(rng.random() < 0.4)
        channels, out_channels = (int(item) for item in rng.integers(1, 40, 2))
        kernel = tuple(int(item) for item in rng.integers(1, 4, 2))
        self.stride, self.padding, self.dilation = ([int(item) for item in rng.integers(low, 3, 2)] for low in (1, 0, 1))
        self.groups = channels if depthwise else 1
        rows = channels if depthwise and not self.is_linear else out_channels
        shape = (rows, channels) if self.is_linear else (rows, 1 if depthwise else channels, *kernel)
        self.register_buffer("weight", tensor_of(rng.integers(-127, 128, shape).astype(np.int8)))
        per_channel = bool(rng.random() < 0.5)
        self.register_buffer("scales", tensor_of(rng.uniform(0.001, 0.02, rows if per_channel else 1).astype(np.float32)))
        self.register_buffer("bias", tensor_of(rng.normal(size=rows).astype(np.float32)) if rng.random() < 0.7 else None)
        self.per_channel, self.zero_points = per_channel, zero_points_of(rng, self.dtype, 2)
        self.input_scale = float(rng.uniform(0.005, 0.05))
        area = int(np.prod(shape[1:]))
        self.output_scale = float(self.input_scale * 0.01 * 74 * np.sqrt(area) / rng.uniform(20, 80))
        if number % 10 == 0:  # sums are multiplied by more than one
            self.output_scale = self.input_scale * 0.001
        self.activation = int(rng.integers(0, 3))
        self.kind: type[SchemaOp] = QuantizedLinearOp if self.is_linear else QuantizedConv2dOp
        size = (*(int(item) for item in rng.integers(1, 6, 2)), channels) if self.is_linear else (2, channels, 7, 6)
        self.inputs = (tensor_of(rng.normal(size=size).astype(np.float32) * self.input_scale * 100),)
        self.input_scale /= steps_in_one(self.dtype)
        self.output_scale /= steps_in_one(self.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """dequantize(quantize(activation(layer(dequantize(quantize(x)), dequantize(weight)))))"""
        x = quantized(x, self.input_scale, self.zero_points[0], self.dtype)
        weight, scales = cast(Tensor, self.weight), cast(Tensor, self.scales)
        if self.per_channel:
            zeros = torch.zeros(len(scales), dtype=torch.int64)
            kernel = ops.dequantize_per_channel(weight, scales, zeros, 0, -127, 127, torch.int8)
        else:
            kernel = ops.dequantize_per_tensor(weight, 0.0125, 0, -127, 127, torch.int8)
        bias = cast("Tensor | None", self.bias)
        if self.is_linear:
            y = F.linear(x, kernel, bias)
        else:
            y = F.conv2d(x, kernel, bias, self.stride, self.padding, self.dilation, self.groups)
        y = ACTIVATIONS[self.activation](y)
        return quantized(y, self.output_scale, self.zero_points[1], self.dtype)


def quantized(x: Tensor, scale: float, zero_point: int, dtype: torch.dtype) -> Tensor:
    """As integers, and back."""
    given = scale, zero_point, *RANGES[dtype], dtype
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *given), *given)


class QuantizedSum(nn.Module):
    """A sum of two quantized tensors with scales drawn at random, and an activation."""

    def __init__(self, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = type_of(rng, dtype)
        self.scales = [float(item) for item in np.exp(rng.uniform(-6, 2, 2))]
        self.output_scale = float(max(self.scales) * rng.uniform(0.5, 4)) / steps_in_one(self.dtype)
        self.zero_points = zero_points_of(rng, self.dtype, 3)
        self.kind: type[SchemaOp] = QuantizedAddOp
        self.activation = int(rng.integers(0, 3))
        self.inputs = tuple(tensor_of(rng.normal(size=(3, 41)).astype(np.float32) * scale * 80) for scale in self.scales)
        self.scales = [scale / steps_in_one(self.dtype) for scale in self.scales]

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """dequantize(quantize(activation(dequantize(quantize(x)) + dequantize(quantize(y)))))"""
        x = quantized(x, self.scales[0], self.zero_points[0], self.dtype)
        y = quantized(y, self.scales[1], self.zero_points[1], self.dtype)
        return quantized(ACTIVATIONS[self.activation](x + y), self.output_scale, self.zero_points[2], self.dtype)


class QuantizedProduct(nn.Module):
    """A product of two quantized tensors of one shape, or with a number for each channel of the first, and an activation."""

    kind: type[SchemaOp] = QuantizedMulOp

    def __init__(self, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = type_of(rng, dtype)
        self.scales = [float(item) for item in np.exp(rng.uniform(-6, 2, 2))]
        self.output_scale = float(self.scales[0] * self.scales[1] * np.exp(rng.uniform(1, 5))) / steps_in_one(self.dtype)
        self.zero_points = zero_points_of(rng, self.dtype, 3)
        self.activation, self.swapped = int(rng.integers(0, 3)), bool(rng.random() < 0.3)
        shape = tuple(int(item) for item in rng.integers(1, 20, 4))
        shapes = shape, (*shape[:2], 1, 1) if rng.random() < 0.5 else shape
        given = zip(shapes, self.scales, strict=True)
        self.inputs = tuple(tensor_of(rng.normal(size=size).astype(np.float32) * np.float32(scale * 80)) for size, scale in given)
        self.scales = [scale / steps_in_one(self.dtype) for scale in self.scales]

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """dequantize(quantize(activation(dequantize(quantize(x)) * dequantize(quantize(y)))))"""
        x = quantized(x, self.scales[0], self.zero_points[0], self.dtype)
        y = quantized(y, self.scales[1], self.zero_points[1], self.dtype)
        product = y * x if self.swapped else x * y
        return quantized(ACTIVATIONS[self.activation](product), self.output_scale, self.zero_points[2], self.dtype)


class QuantizedFunction(nn.Module):
    """A function of each number of a quantized tensor, perhaps made of two, whose result may be of another type."""

    kind: type[SchemaOp] = QuantizedTableOp

    def __init__(self, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtypes = [type_of(rng, dtype) for _ in range(2)]
        self.scales = [float(item) for item in np.exp(rng.uniform(-6, 0, 2))]
        self.zero_points = [int(rng.integers(*RANGES[kind])) * (kind != torch.int16) for kind in self.dtypes]
        self.functions = [FUNCTIONS[int(item)] for item in rng.integers(0, len(FUNCTIONS), int(rng.integers(1, 3)))]
        shape = tuple(int(item) for item in rng.integers(1, 20, int(rng.integers(1, 5))))
        self.inputs = (tensor_of(rng.normal(size=shape).astype(np.float32) * np.float32(self.scales[0] * 80)),)
        self.scales = [scale / steps_in_one(kind) for scale, kind in zip(self.scales, self.dtypes, strict=True)]
        self.output_scale = self.scales[1]

    def forward(self, x: Tensor) -> Tensor:
        """dequantize(quantize(functions(dequantize(quantize(x)))))"""
        x = quantized(x, self.scales[0], self.zero_points[0], self.dtypes[0])
        for function in self.functions:
            x = function(x)
        return quantized(x, self.scales[1], self.zero_points[1], self.dtypes[1])


class QuantizedPool(nn.Module):
    """The averages of windows of quantized images, or of whole images, and an activation."""

    kind: type[SchemaOp] = QuantizedAvgPool2dOp

    def __init__(self, number: int, dtype: torch.dtype | None = None):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = type_of(rng, dtype)
        self.input_scale = float(rng.uniform(0.005, 0.05))
        self.output_scale = float(self.input_scale * rng.uniform(0.3, 2)) / steps_in_one(self.dtype)
        self.zero_points = zero_points_of(rng, self.dtype, 2)
        self.activation, self.is_mean = int(rng.integers(0, 3)), bool(rng.random() < 0.4)
        self.keepdim = bool(rng.random() < 0.5)
        self.kernel = [int(item) for item in rng.integers(2, 5, 2)]
        self.stride, self.padding = ([int(item) for item in rng.integers(low, 3, 2)] for low in (1, 0))
        self.padding = [min(pad, size // 2) for pad, size in zip(self.padding, self.kernel, strict=True)]
        shape = (*(int(item) for item in rng.integers(1, 40, 2)), *(int(item) for item in rng.integers(4, 9, 2)))
        self.inputs = (tensor_of(rng.normal(size=shape).astype(np.float32) * np.float32(self.input_scale * 80)),)
        self.input_scale /= steps_in_one(self.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """dequantize(quantize(activation(average(dequantize(quantize(x))))))"""
        x = quantized(x, self.input_scale, self.zero_points[0], self.dtype)
        y = x.mean((2, 3), self.keepdim) if self.is_mean else F.avg_pool2d(x, self.kernel, self.stride, self.padding)
        return quantized(ACTIVATIONS[self.activation](y), self.output_scale, self.zero_points[1], self.dtype)


LAYERS: tuple[Callable[[int], Any], ...] = (QuantizedLayer, QuantizedSum, QuantizedProduct, QuantizedFunction, QuantizedPool)
