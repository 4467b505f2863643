"""Linear layers whose weights alone are quantized: they stay integers, and the results are those of the quantized model."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from quantized_programs import compiled_for, large_floats, ops, tensor_of, unwrap_tensor_subclass
from shares import block
from torch import Tensor, nn
from torch_programs import seed
from torchao.core.config import AOBaseConfig
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_

from flambeau.dialects.fused.weight_only import WeightOnlyLinearOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZE
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret


class DequantizedLayer(nn.Module):
    """A layer of floats with a weight that is dequantized, drawn at random."""

    def __init__(self, number: int):
        super().__init__()
        rng = np.random.default_rng(number)
        inputs, outputs = (int(item) for item in rng.integers(1, 70, 2))
        self.register_buffer("weight", tensor_of(rng.integers(-128, 128, (outputs, inputs)).astype(np.int8)))
        self.register_buffer("scales", tensor_of(rng.uniform(0.001, 0.02, outputs).astype(np.float32)))
        self.register_buffer("bias", tensor_of(rng.normal(size=outputs).astype(np.float32)) if rng.random() < 0.5 else None)
        self.per_channel = bool(rng.random() < 0.7)
        size = (*(int(item) for item in rng.integers(1, 20, int(rng.integers(0, 3)))), inputs)
        self.inputs = (tensor_of(rng.normal(size=size).astype(np.float32)),)

    def forward(self, x: Tensor) -> Tensor:
        """linear(x, dequantize(weight), bias)"""
        weight, scales = cast(Tensor, self.weight), cast(Tensor, self.scales)
        if self.per_channel:
            zeros = torch.zeros(len(scales), dtype=torch.int64)
            kernel = ops.dequantize_per_channel(weight, scales, zeros, 0, -128, 127, torch.int8)
        else:
            kernel = ops.dequantize_per_tensor(weight, 0.0125, 0, -128, 127, torch.int8)
        return nn.functional.linear(x, kernel, cast("Tensor | None", self.bias))


def test_random_layers():
    for number in block(60):
        layer = DequantizedLayer(number)
        module, context, program = compiled_for("flambeau", torch.export.export(layer, layer.inputs), "fuse-quantized")
        assert [op for op in module.walk() if isinstance(op, DEQUANTIZE) and op.results[0].uses] == [], number
        arrays = [item.numpy() for item in layer.inputs]
        (by_numpy,) = interpret(module, context).run("forward", arrays)
        (by_runtime,) = Runtime.get().load_program(program).load_method("forward").execute(arrays)
        expected = layer(*layer.inputs).numpy()
        bound = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(np.asarray(by_numpy), expected, rtol=0, atol=bound, err_msg=f"layer {number}")
        np.testing.assert_allclose(np.asarray(by_runtime), expected, rtol=0, atol=bound, err_msg=f"layer {number}")


@pytest.mark.parametrize("rows", [(1,), (3, 5), (64,)])
def test_a_model_of_torchao_has_no_float_copy_of_its_weights(rows: tuple[int, ...]):
    seed()
    model = nn.Sequential(nn.Linear(256, 384), nn.ReLU(), nn.Linear(384, 100, bias=False)).eval()
    floats = sum(item.numel() * item.element_size() for item in model.parameters())
    inputs = (torch.randn(*rows, 256),)
    quantize_(model, Int8WeightOnlyConfig())
    unwrap_tensor_subclass(model)
    module, _, program = compiled_for("flambeau", torch.export.export(model, inputs), "optimize-edge{target=flambeau}")
    assert sum(isinstance(op, WeightOnlyLinearOp) for op in module.walk()) == 2
    assert large_floats(module, 512) == []
    assert len(program) < floats / 3
    method = Runtime.get().load_program(program).load_method("forward")
    (found,) = method.execute([inputs[0].numpy()])
    expected = model(*inputs).detach().numpy()
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("config", [Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()], ids=lambda item: type(item).__name__)
@pytest.mark.parametrize("strict", [False, True])
def test_weights_of_tensor_subclasses_are_their_plain_tensors(config: AOBaseConfig, strict: bool):
    seed()
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 20)).eval()
    quantize_(model, config)
    x = torch.randn(3, 64)
    program = torch.export.export(model, (x,), strict=strict)
    unwrapped = compiled_for("flambeau", cast(Any, program).run_decompositions({}), "optimize-edge{target=flambeau}")[2]
    _, _, found = compiled_for("flambeau", program, "optimize-edge{target=flambeau}")
    assert found == unwrapped
    (result,) = Runtime.get().load_program(found).load_method("forward").execute([x.numpy()])
    np.testing.assert_allclose(np.asarray(result), model(x).detach().numpy(), rtol=0, atol=1e-4)
