"""Quantizing per channel and per token: channels longer and shorter than vectors, along each dimension, bit for bit."""

from __future__ import annotations

import itertools

import pytest
import torch
from kernel_harness import Out, dim_order, run

pytestmark = pytest.mark.every_library

RANGES = {torch.int8: (-128, 127), torch.uint8: (3, 250), torch.int16: (-900, 32767)}
SHAPES = [(5, 200), (200, 5), (3, 64), (2, 3, 130), (40, 3, 3, 3), (2, 70, 5, 1), (1, 1)]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def numbers(shape: tuple[int, ...]) -> torch.Tensor:
    """Numbers of which some are quantized to limits, some lie half between integers, and some are none."""
    x = torch.randn(shape, generator=generator()) * 60
    flat = x.view(-1)
    flat[::7] = flat[::7].round() / 2
    flat[1::31], flat[2::37], flat[3::41] = torch.nan, torch.inf, -1e30
    return x


def parameters(count: int, wide: torch.dtype, integer: torch.dtype, farthest: int) -> tuple[torch.Tensor, torch.Tensor]:
    scales = torch.rand(count, generator=generator()).to(wide) + 0.25
    scales[::3] = 0.5
    zeros = torch.randint(-20, 20, (count,), generator=generator()).to(integer)
    zeros[-1] = farthest
    return scales, zeros


def along(parameter: torch.Tensor, x: torch.Tensor, axis: int) -> torch.Tensor:
    return parameter.reshape([-1 if d == axis else 1 for d in range(x.dim())])


def to_integers(v: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return v.clamp(*RANGES[dtype]).nan_to_num(0).to(torch.int64).to(dtype)


def check(name: str, expected: torch.Tensor, *args: object) -> None:
    (got,) = run(f"quantized_decomposed::{name}.out", *args, outs=[Out(expected.shape, expected.dtype, dim_order(expected))])
    assert torch.equal(got, expected)


@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
@pytest.mark.parametrize("farthest", [7, 2**20 + 1])
def test_each_channel(wide: torch.dtype, farthest: int) -> None:
    for shape, dtype, integer in itertools.product(SHAPES, RANGES, (torch.int64, torch.int32)):
        straight = numbers(shape)
        for x in (straight, straight.contiguous(memory_format=torch.channels_last)) if len(shape) == 4 else (straight,):
            for axis in range(len(shape)):
                scales, zeros = parameters(shape[axis], wide, integer, farthest)
                scale, zero = along(scales, x, axis), along(zeros, x, axis).double()
                low, high = RANGES[dtype]
                quantized = to_integers((x * (1 / scale)).double().round() + zero, dtype)
                check("quantize_per_channel", quantized, x, scales, zeros, axis, low, high, dtype)
                shifted = (quantized.double() - zero).to(wide)
                check("dequantize_per_channel", (shifted * scale).float(), quantized, scales, zeros, axis, low, high, dtype)
                check("dequantize_per_channel", (quantized.to(wide) * scale).float(), quantized, scales, None, axis, low, high, dtype)


@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
@pytest.mark.parametrize("farthest", [7, 2**20 + 1])
def test_each_token(wide: torch.dtype, farthest: int) -> None:
    for shape, dtype in itertools.product(SHAPES, RANGES):
        x, (low, high) = numbers(shape), RANGES[dtype]
        scales, zeros = (each.reshape(*shape[:-1], 1) for each in parameters(x[..., 0].numel(), wide, torch.int64, farthest))
        quantized = to_integers((x * (1 / scales) + zeros.to(wide)).double().round(), dtype)
        check("quantize_per_token", quantized, x, scales, zeros, low, high, dtype)
        expected = ((quantized - zeros).to(wide) * scales).float()
        check("dequantize_per_token", expected, quantized, scales, zeros, low, high, dtype, torch.float32)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_nothing_is_read_of_nothing(shape: tuple[int, int]) -> None:
    x, (low, high) = torch.zeros(shape), RANGES[torch.int8]
    quantized, none = x.to(torch.int8), torch.zeros(0)
    for zeros in (none.to(torch.int64), none):
        check("quantize_per_token", quantized, x, none[:, None], zeros[:, None], low, high, torch.int8)
        check("dequantize_per_token", x, quantized, none[:, None], zeros[:, None], low, high, torch.int8, torch.float32)
        axis = shape.index(0)
        check("quantize_per_channel", quantized, x, none, zeros, axis, low, high, torch.int8)
        check("dequantize_per_channel", x, quantized, none, zeros, axis, low, high, torch.int8)


def test_one_scale_for_all() -> None:
    for shape, dtype, zero in itertools.product(SHAPES, RANGES, (7, 2**20 + 1)):
        x, (low, high) = numbers(shape), RANGES[dtype]
        quantized = to_integers((x * 2).double().round() + zero, dtype)
        check("quantize_per_tensor", quantized, x, 0.5, zero, low, high, dtype)
        check("dequantize_per_tensor", (quantized.double() - zero).float() * 0.5, quantized, 0.5, zero, low, high, dtype)
