"""Quantized layers in integers: numpy and our C runtime give the same integers, PyTorch's floats are at most one step away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from quantized_programs import compiled_for, large_floats, ops, tensor_of
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.fused.quantized import QuantizedAddOp, QuantizedConv2dOp, QuantizedLinearOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (Tensor.contiguous, torch.relu, F.relu6)
RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255)}


class QuantizedLayer(nn.Module):
    """A layer drawn at random, between quantized numbers."""

    def __init__(self, number: int):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = torch.int8 if rng.random() < 0.7 else torch.uint8
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
        low, high = RANGES[self.dtype]
        self.per_channel, self.zero_points = per_channel, [int(item) for item in rng.integers(low, high + 1, 2)]
        self.input_scale = float(rng.uniform(0.005, 0.05))
        area = int(np.prod(shape[1:]))
        self.output_scale = float(self.input_scale * 0.01 * 74 * np.sqrt(area) / rng.uniform(20, 80))
        if number % 10 == 0:  # sums are multiplied by more than one
            self.output_scale = self.input_scale * 0.001
        self.activation = int(rng.integers(0, 3))
        size = (*(int(item) for item in rng.integers(1, 6, 2)), channels) if self.is_linear else (2, channels, 7, 6)
        self.inputs = (tensor_of(rng.normal(size=size).astype(np.float32) * self.input_scale * 100),)

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


def fused(program: torch.export.ExportedProgram, inputs: tuple[Tensor, ...]) -> tuple[set[type], Any, Any]:
    """The operators in integers, and what numpy and the C runtime give."""
    module, context, data = compiled_for("flambeau", program, "fuse-quantized")
    arrays = [item.numpy() for item in inputs]
    kinds = {type(op) for op in module.walk()} & {QuantizedAddOp, QuantizedConv2dOp, QuantizedLinearOp}
    (by_numpy,) = interpret(module, context).run("forward", arrays)
    (by_runtime,) = Runtime.get().load_program(data).load_method("forward").execute(arrays)
    return kinds, np.asarray(by_numpy), np.asarray(by_runtime)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_random_layers(start: int):
    for number in range(start, start + 20):
        layer = QuantizedLayer(number)
        kinds, by_numpy, by_runtime = fused(torch.export.export(layer, layer.inputs), layer.inputs)
        assert kinds == {QuantizedLinearOp if layer.is_linear else QuantizedConv2dOp}, number
        np.testing.assert_array_equal(by_runtime, by_numpy, err_msg=f"layer {number}")
        steps = np.rint((by_numpy - layer(*layer.inputs).numpy()) / np.float32(layer.output_scale))
        assert np.abs(steps).max() <= 1 and (steps != 0).mean() < 0.05, number


class QuantizedSum(nn.Module):
    """A sum of two quantized tensors with scales drawn at random, and an activation."""

    def __init__(self, number: int):
        super().__init__()
        rng = np.random.default_rng(number)
        self.dtype = torch.int8 if rng.random() < 0.7 else torch.uint8
        low, high = RANGES[self.dtype]
        self.scales = [float(item) for item in np.exp(rng.uniform(-6, 2, 2))]
        self.scales.append(float(max(self.scales) * rng.uniform(0.5, 4)))
        self.zero_points = [int(item) for item in rng.integers(low, high + 1, 3)]
        self.activation = int(rng.integers(0, 3))
        self.inputs = tuple(tensor_of(rng.normal(size=(3, 41)).astype(np.float32) * scale * 80) for scale in self.scales[:2])

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """dequantize(quantize(activation(dequantize(quantize(x)) + dequantize(quantize(y)))))"""
        x = quantized(x, self.scales[0], self.zero_points[0], self.dtype)
        y = quantized(y, self.scales[1], self.zero_points[1], self.dtype)
        return quantized(ACTIVATIONS[self.activation](x + y), self.scales[2], self.zero_points[2], self.dtype)


def test_random_sums():
    for number in range(60):
        total = QuantizedSum(number)
        kinds, by_numpy, by_runtime = fused(torch.export.export(total, total.inputs), total.inputs)
        assert kinds == {QuantizedAddOp}, number
        np.testing.assert_array_equal(by_runtime, by_numpy, err_msg=f"sum {number}")
        steps = np.rint((by_numpy - total(*total.inputs).numpy()) / np.float32(total.scales[2]))
        assert np.abs(steps).max() <= 1 and (steps != 0).mean() < 0.05, number


class Cnn(nn.Module):
    """Convolutions of each kind, what moves between them, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU6(), nn.Conv2d(16, 128, 1), nn.ReLU(), nn.MaxPool2d(4)),
            *(nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def quantize(model: nn.Module, inputs: tuple[Tensor, ...]) -> torch.export.ExportedProgram:
    """As users of ExecuTorch do it: int8, with scales for each channel."""
    prepared = prepare_pt2e(
        torch.export.export(model, inputs).module(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    )
    for _ in range(3):
        prepared(*(torch.randn_like(item) for item in inputs))
    return torch.export.export(convert_pt2e(prepared), inputs)


@pytest.mark.parametrize("target", ["flambeau", "executorch"])
def test_a_model_has_no_float_copy_of_its_weights(target: str):
    seed()
    model, inputs = Cnn().eval(), (torch.randn(2, 3, 16, 16),)
    program = quantize(model, inputs)
    context = FlambeauContext()
    compilation = Compilation(import_program(program, context), context, PipelineOptions(target=target))
    data = compilation.emit()
    assert large_floats(compilation.module, 512) == []
    assert len(data) < 0.45 * sum(item.numel() * item.element_size() for item in model.parameters())
    (found,) = Runtime.get().load_program(data).load_method("forward").execute([inputs[0].numpy()])
    expected = program.module()(*inputs).numpy()
    step = float(np.unique(np.abs(expected - expected.flat[0]))[1])
    assert np.abs(np.asarray(found) - expected).max() <= 1.5 * step
    if target == "flambeau":
        _, by_numpy, by_runtime = fused(program, inputs)
        np.testing.assert_array_equal(by_runtime, by_numpy)
