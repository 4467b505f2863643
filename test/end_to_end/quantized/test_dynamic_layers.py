"""Linear layers whose inputs the run quantizes: products of integers, with the results of the quantized model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from quantized_programs import compiled_for, large_floats, ops, tensor_of, unwrap_tensor_subclass
from shares import block
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from flambeau.dialects.fused.dynamic_quantized import DynamicQuantizedLinearOp
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

INT8 = (-128, 127, torch.int8)


class DynamicLayer(nn.Module):
    """A layer drawn at random, whose input is quantized as a whole or row by row."""

    def __init__(self, number: int):
        super().__init__()
        rng = np.random.default_rng(number)
        inputs, outputs = (int(item) for item in rng.integers(1, 70, 2))
        self.register_buffer("weight", tensor_of(rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)))
        self.register_buffer("scales", tensor_of(rng.uniform(0.001, 0.02, outputs).astype(np.float32)))
        self.register_buffer("bias", tensor_of(rng.normal(size=outputs).astype(np.float32)) if rng.random() < 0.5 else None)
        self.by_rows = bool(rng.random() < 0.5)
        size = (*(int(item) for item in rng.integers(1, 20, int(rng.integers(1, 3)))), inputs)
        self.inputs = (tensor_of((rng.normal(size=size) + rng.normal()).astype(np.float32)),)

    def forward(self, x: Tensor) -> Tensor:
        """linear(dequantize(quantize(x)), dequantize(weight), bias)"""
        if self.by_rows:
            scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
            x = ops.dequantize_per_token(ops.quantize_per_token(x, scale, zero, *INT8), scale, zero, *INT8, torch.float32)
        else:
            scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
            x = ops.dequantize_per_tensor.tensor(ops.quantize_per_tensor.tensor(x, scale, zero, *INT8), scale, zero, *INT8)
        scales = cast(Tensor, self.scales)
        kernel = ops.dequantize_per_channel(self.weight, scales, torch.zeros(len(scales), dtype=torch.int64), 0, *INT8)
        return nn.functional.linear(x, kernel, cast("Tensor | None", self.bias))


def test_random_layers():
    for number in block(60):
        layer = DynamicLayer(number)
        module, context, program = compiled_for("flambeau", torch.export.export(layer, layer.inputs), "fuse-quantized")
        assert sum(isinstance(op, DynamicQuantizedLinearOp) for op in module.walk()) == 1, number
        arrays = [item.numpy() for item in layer.inputs]
        (by_numpy,) = interpret(module, context).run("forward", arrays)
        (by_runtime,) = Runtime.get().load_program(program).load_method("forward").execute(arrays)
        expected = layer(*layer.inputs).numpy()
        bound = 1e-5 * np.abs(expected).max()
        np.testing.assert_array_equal(np.asarray(by_runtime), np.asarray(by_numpy), err_msg=f"layer {number}")
        np.testing.assert_allclose(np.asarray(by_numpy), expected, rtol=0, atol=bound, err_msg=f"layer {number}")


def of_pt2e(model: nn.Module, inputs: tuple[Tensor, ...], is_per_channel: bool) -> nn.Module:
    """The model, quantized as users of ExecuTorch do it."""
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=True)
    prepared: Any = prepare_pt2e(torch.export.export(model, inputs).module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    return convert_pt2e(prepared)


def of_torchao(model: nn.Module, _: tuple[Tensor, ...]) -> nn.Module:
    """The model, whose layers torchao quantizes row by row."""
    quantize_(model, Int8DynamicActivationInt8WeightConfig())
    unwrap_tensor_subclass(model)
    return model


FLOWS: dict[str, Callable[[nn.Module, tuple[Tensor, ...]], nn.Module]] = {
    "pt2e, per tensor": lambda model, inputs: of_pt2e(model, inputs, is_per_channel=False),
    "pt2e, per channel": lambda model, inputs: of_pt2e(model, inputs, is_per_channel=True),
    "torchao": of_torchao,
}


@pytest.mark.parametrize("rows", [(1,), (3, 5), (64,)])
@pytest.mark.parametrize("flow", FLOWS)
def test_a_model_quantized_dynamically_has_no_float_copy_of_its_weights(rows: tuple[int, ...], flow: str):
    seed()
    model = nn.Sequential(nn.Linear(256, 384), nn.ReLU(), nn.Linear(384, 100, bias=False)).eval()
    floats = sum(item.numel() * item.element_size() for item in model.parameters())
    inputs = (torch.randn(*rows, 256),)
    quantized = FLOWS[flow](model, inputs)
    module, _, program = compiled_for("flambeau", torch.export.export(quantized, inputs), "optimize-edge{target=flambeau}")
    assert sum(isinstance(op, DynamicQuantizedLinearOp) for op in module.walk()) == 2
    assert large_floats(module, 512) == []
    assert len(program) < floats / 3
    method = Runtime.get().load_program(program).load_method("forward")
    for factor in (1, 7):  # the second range is not the one that the observers saw
        given = inputs[0] * factor
        (found,) = method.execute([given.numpy()])
        expected = quantized(given).detach().numpy()
        # A number halfway between two integers may be rounded to either in the second layer.
        np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=2e-3 * np.abs(expected).max())
