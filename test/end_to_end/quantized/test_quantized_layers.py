"""Quantized layers in integers: numpy and our C runtime give the same integers, PyTorch's floats are at most one step away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from quantized_layers import LAYERS
from quantized_programs import compiled_for, large_floats
from shares import block
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.fused.quantized_elementwise import QuantizedTableOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret


def fused(program: torch.export.ExportedProgram, inputs: tuple[Tensor, ...]) -> tuple[set[type], Any, Any]:
    """The operators in integers, and what numpy and the C runtime give."""
    module, context, data = compiled_for("flambeau", program, "fuse-quantized")
    arrays = [item.numpy() for item in inputs]
    kinds = {type(op) for op in module.walk() if isinstance(op, SchemaOp) and op.level() == "fused"}
    (by_numpy,) = interpret(module, context).run("forward", arrays)
    (by_runtime,) = Runtime.get().load_program(data).load_method("forward").execute(arrays)
    return kinds, np.asarray(by_numpy), np.asarray(by_runtime)


def test_random_layers():
    for number in block(200):
        layer = LAYERS[number % len(LAYERS)](number)
        kinds, by_numpy, by_runtime = fused(torch.export.export(layer, layer.inputs), layer.inputs)
        assert layer.kind in kinds and not kinds - {layer.kind, QuantizedTableOp}, number
        np.testing.assert_array_equal(by_runtime, by_numpy, err_msg=f"layer {number}")
        steps = np.rint((by_numpy - layer(*layer.inputs).numpy()) / np.float32(layer.output_scale))
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
