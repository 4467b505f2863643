"""Quantization kernels against torch's quantized_decomposed operators."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch
from kernel_harness import SCHEMAS, KernelError, Out, dim_order, run

torch.set_num_threads(1)
import_module("torch.ao.quantization.fx._decomposed")  # registers the operators

for schema in (
    "quantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype",
    "quantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype",
    "dequantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, "
    "ScalarType? out_dtype",
    "dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, "
    "ScalarType? out_dtype",
    "quantize_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype",
    "dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
    "ScalarType dtype, ScalarType? out_dtype",
    "quantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype",
    "dequantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, "
    "ScalarType output_dtype",
):
    SCHEMAS["quantized_decomposed::" + schema.partition("(")[0]] = f"quantized_decomposed::{schema}, *, Tensor(a!) out) -> Tensor(a!)"
for schema in (
    "choose_qparams.Tensor_out(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype",
    "choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype",
):
    SCHEMAS["quantized_decomposed::" + schema.partition("(")[0]] = (
        f"quantized_decomposed::{schema}, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))"
    )

ops = torch.ops.quantized_decomposed
RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-1000, 1000), torch.int32: (-100000, 100000)}


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def out(x: torch.Tensor) -> list[Out]:
    return [Out(tuple(x.shape), x.dtype, dim_order(x))]


@pytest.mark.parametrize("dtype", list(RANGES))
def test_per_tensor(dtype: torch.dtype) -> None:
    low, high = RANGES[dtype]
    for x in (random(3, 50) * 40, random(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.arange(-40, 40) * 0.125):
        for scale, zero in [(0.25, 0), (0.037, 5), (1.5, 17)]:
            q = ops.quantize_per_tensor(x, scale, zero, low, high, dtype)
            result = run("quantized_decomposed::quantize_per_tensor.out", x, scale, zero, low, high, dtype, outs=out(q))[0]
            assert torch.equal(result, q)
            tensors = (torch.tensor(scale, dtype=torch.float64), torch.tensor(zero))
            result = run("quantized_decomposed::quantize_per_tensor.Tensor_out", x, *tensors, low, high, dtype, outs=out(q))[0]
            assert torch.equal(result, q)
            y = ops.dequantize_per_tensor(q, scale, zero, low, high, dtype)
            result = run("quantized_decomposed::dequantize_per_tensor.out", q, scale, zero, low, high, dtype, None, outs=out(y))[0]
            torch.testing.assert_close(result, y, rtol=1e-7, atol=0, check_stride=False)
            result = run("quantized_decomposed::dequantize_per_tensor.Tensor_out", q, *tensors, low, high, dtype, None, outs=out(y))[0]
            torch.testing.assert_close(result, y, rtol=1e-7, atol=0, check_stride=False)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_per_channel(axis: int) -> None:
    x = random(3, 4, 5, 6) * 5
    scales, zeros = random(x.shape[axis]).abs() + 0.01, torch.arange(x.shape[axis]) - 2
    for tensor in (x, x.to(memory_format=torch.channels_last)):
        q = ops.quantize_per_channel(x, scales, zeros, axis, -128, 127, torch.int8)
        outs = [Out(tuple(q.shape), torch.int8, dim_order(tensor))]
        result = run("quantized_decomposed::quantize_per_channel.out", tensor, scales, zeros, axis, -128, 127, torch.int8, outs=outs)[0]
        assert torch.equal(result, q)
        for zero_points in (zeros, None):
            y = ops.dequantize_per_channel(q, scales, zero_points, axis, -128, 127, torch.int8)
            args = (q, scales, zero_points, axis, -128, 127, torch.int8, None)
            result = run("quantized_decomposed::dequantize_per_channel.out", *args, outs=[Out(tuple(y.shape), torch.float32)])[0]
            torch.testing.assert_close(result, y, rtol=1e-6, atol=0)


def test_choose_qparams() -> None:
    for x in (random(40) * 3, random(5, 6).abs(), torch.zeros(3), -random(9).abs() - 1):
        expected = ops.choose_qparams.tensor(x, -128, 127, 1e-7, torch.int8)
        outs = [Out((1,), torch.float64), Out((1,), torch.int64)]
        results = run("quantized_decomposed::choose_qparams.Tensor_out", x, -128, 127, 1e-7, torch.int8, outs=outs)
        torch.testing.assert_close(results[0], expected[0].reshape(1).double(), rtol=1e-6, atol=0)
        assert int(results[1]) == int(expected[1])


def test_refuses() -> None:
    x = random(3, 4)
    outs = [Out((3, 4), torch.int8)]
    for args in [(0.1, 0, -129, 127), (0.1, 0, -128, 128), (0.1, 0, 5, 4)]:
        with pytest.raises(KernelError, match="quant_m"):
            run("quantized_decomposed::quantize_per_tensor.out", x, *args, torch.int8, outs=outs)
    with pytest.raises(KernelError, match="dimension"):
        run("quantized_decomposed::quantize_per_channel.out", x, random(3), torch.zeros(3), 2, -128, 127, torch.int8, outs=outs)
    with pytest.raises(KernelError, match="scale"):
        run("quantized_decomposed::quantize_per_channel.out", x, random(4), torch.zeros(4), 0, -128, 127, torch.int8, outs=outs)
