"""Every elementwise kernel may write over an operand of the output's type and shape, in every type and layout."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_harness import Out, dim_order, run

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8]
UNARY = "abs neg relu exp tanh sigmoid gelu silu sqrt sin erf log hardswish leaky_relu elu floor round square reciprocal"
BINARY = "add.out sub.out mul.out maximum.out minimum.out div.out remainder.Tensor_out pow.Tensor_Tensor_out"


def sample(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    x = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 4 + 1
    return x.to(dtype)


def layouts(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    x = sample(shape, dtype, seed)
    return [x, x.movedim(1, -1).contiguous().movedim(-1, 1)]


def both_ways(name: str, args: list[Any], positions: tuple[int, ...]) -> None:
    for position in positions:
        target = args[position]
        out = Out(tuple(target.shape), target.dtype, dim_order(target))
        (apart,) = run(name, *args, outs=[out])
        (over,) = run(name, *args, outs=[out], over=position)
        torch.testing.assert_close(over, apart, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("name", UNARY.split())
def test_unary(name: str) -> None:
    real_only = name not in ("abs", "neg", "relu", "floor", "round", "square")
    for dtype in DTYPES:
        if dtype.is_floating_point or not real_only:
            for x in layouts((2, 6, 5, 61), dtype):
                both_ways(f"aten::{name}.out", [x], (0,))


@pytest.mark.parametrize("name", BINARY.split())
def test_binary(name: str) -> None:
    for dtype in DTYPES:
        if dtype.is_floating_point or name != "div.out":
            for x, y in zip(layouts((2, 6, 5, 61), dtype), layouts((2, 6, 5, 61), dtype, 1), strict=True):
                both_ways(f"aten::{name}", [x, y], (0, 1))
                both_ways(f"aten::{name}", [x, sample((61,), dtype, 2)], (0,))
                both_ways(f"aten::{name}", [sample((6, 1, 1), dtype, 2), x], (1,))


def test_choices() -> None:
    for dtype in DTYPES:
        for x, y in zip(layouts((2, 6, 5, 61), dtype), layouts((2, 6, 5, 61), dtype, 1), strict=True):
            both_ways("aten::where.self_out", [x > 2, x, y], (1, 2))
            both_ways("aten::masked_fill.Scalar_out", [x, y > 2, 3], (0,))
            both_ways("aten::clamp.out", [x, 2, 3], (0,))
            both_ways("aten::clone.out", [x], (0,))
            both_ways("aten::tril.out", [x], (0,))
    mask = sample((3, 300), torch.float32) > 2
    both_ways("aten::logical_not.out", [mask], (0,))
    both_ways("aten::logical_and.out", [mask, ~mask], (0, 1))
    both_ways("aten::where.self_out", [mask, mask, ~mask], (1,))


def test_lines() -> None:
    for dtype in DTYPES[:4]:
        for x in layouts((2, 6, 5, 61), dtype):
            for dim in (1, 3):
                both_ways("aten::_softmax.out", [x, dim, False], (0,))
                both_ways("aten::_log_softmax.out", [x, dim, False], (0,))
                both_ways("aten::cumsum.out", [x, dim], (0,))
