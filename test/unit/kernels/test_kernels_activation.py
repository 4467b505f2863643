"""Activation functions against torch; half precision is compared with the float result, rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import KernelError, Out, check, run

Function = Callable[[torch.Tensor], torch.Tensor]
CASES: list[tuple[str, tuple[Any, ...], Function]] = [
    ("relu", (), torch.relu),
    ("silu", (), F.silu),
    ("mish", (), F.mish),
    ("hardswish", (), F.hardswish),
    ("hardsigmoid", (), F.hardsigmoid),
    ("log_sigmoid", (), F.logsigmoid),
    ("gelu", (), F.gelu),
    ("gelu", ("tanh",), lambda x: F.gelu(x, approximate="tanh")),
    ("hardtanh", (), F.hardtanh),
    ("hardtanh", (0, 6), lambda x: F.hardtanh(x, 0, 6)),
    ("elu", (), F.elu),
    ("elu", (1.5, 1.2, 0.7), lambda x: torch.ops.aten.elu(x, 1.5, 1.2, 0.7)),
    ("celu", (0.7,), lambda x: F.celu(x, 0.7)),
    ("leaky_relu", (), F.leaky_relu),
    ("leaky_relu", (0.3,), lambda x: F.leaky_relu(x, 0.3)),
    ("softplus", (), F.softplus),
    ("softplus", (2.0, 3.0), lambda x: F.softplus(x, 2.0, 3.0)),
    ("hardshrink", (0.7,), lambda x: F.hardshrink(x, 0.7)),
    ("softshrink", (0.7,), lambda x: F.softshrink(x, 0.7)),
    ("threshold", (0.3, -2.0), lambda x: F.threshold(x, 0.3, -2.0)),
    ("glu", (0,), lambda x: F.glu(x, 0)),
    ("glu", (-1,), lambda x: F.glu(x, -1)),
]
LIMITS = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}
SPECIAL = [
    0.0,
    -0.0,
    1e-30,
    1e-6,
    -1e-6,
    0.3,
    0.7,
    -0.7,
    3.0,
    -3.0,
    6.0,
    20.0,
    -20.0,
    100.0,
    -100.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]


@pytest.mark.parametrize(("name", "arguments", "function"), CASES)
def test_against_torch(name: str, arguments: tuple[Any, ...], function: Function) -> None:
    generator = torch.Generator().manual_seed(0)
    for dtype, limit in LIMITS.items():
        for shape in ((4, 66), (2, 6, 4, 2), (1030, 2), (0, 4)):
            x = (torch.randn(shape, generator=generator) * 4).to(dtype)
            check(f"aten::{name}.out", function(x.double()).to(dtype), x, *arguments, tolerance=limit)
    # PyTorch's AVX-512 code for gelu gives NaN for infinities, its scalar code does not.
    special = torch.tensor([number for number in SPECIAL if name != "gelu" or math.isfinite(number)])
    check(f"aten::{name}.out", function(special), special, *arguments, tolerance=2e-6)
    last = torch.randn(2, 4, 6, 8, generator=generator).to(memory_format=torch.channels_last)
    check(f"aten::{name}.out", function(last), last, *arguments, order=[0, 2, 3, 1])


def test_small_values_keep_their_relative_precision() -> None:
    x = torch.tensor([1e-7, -1e-7, 1e-20, -1e-20, -30.0, -60.0])
    for name, function in (("elu", F.elu), ("softplus", F.softplus), ("silu", F.silu), ("log_sigmoid", F.logsigmoid)):
        (result,) = run(f"aten::{name}.out", x, outs=[Out((6,), torch.float32)])
        torch.testing.assert_close(result, function(x.double()).float(), rtol=3e-6, atol=0.0)


def test_integers_where_torch_has_them() -> None:
    x = torch.tensor([-7, -1, 0, 3, 100], dtype=torch.int32)
    check("aten::relu.out", torch.relu(x), x)
    check("aten::hardtanh.out", F.hardtanh(x, -2, 6), x, -2, 6)
    check("aten::threshold.out", F.threshold(x, 0, 5), x, 0, 5)


def test_bad_arguments() -> None:
    x = torch.ones(3)
    with pytest.raises(KernelError, match="approximate"):
        run("aten::gelu.out", x, "fast", outs=[Out((3,), torch.float32)])
    with pytest.raises(KernelError, match="even"):
        run("aten::glu.out", x, 0, outs=[Out((1,), torch.float32)])
    with pytest.raises(KernelError, match="range"):
        run("aten::glu.out", x, 1, outs=[Out((3,), torch.float32)])
