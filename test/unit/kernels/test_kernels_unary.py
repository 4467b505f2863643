"""Mathematical functions of one tensor against torch, over types, shapes and layouts."""

from __future__ import annotations

import pytest
import torch
from kernel_harness import KernelError, Out, check, run

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SHAPES = [(), (0,), (1,), (5,), (3, 37), (2, 3, 4, 5), (2, 0, 3), (1031,)]

# Kernels that programs of other compilers call; those that ours call are compared with their rows.
REAL = ("erfc", "exp2")
SAME_TYPE = ("sgn", "square", "frac")
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1e-30,
    -1e-30,
    1e-40,
    88.0,
    -88.0,
    104.0,
    -104.0,
    1e30,
    float("inf"),
    float("-inf"),
    float("nan"),
]
# Half precision results are rounded from a float result, which may differ from torch's by a last place.
LIMITS = {torch.float32: 4e-6, torch.float64: 1e-11, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def sample(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0, scale: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * scale
    return (x > 0) if dtype == torch.bool else (x * 10).to(torch.int32).to(dtype) if not dtype.is_floating_point else x.to(dtype)


@pytest.mark.parametrize("name", REAL)
def test_real_functions(name: str) -> None:
    function = getattr(torch, name)
    for dtype in FLOATS:
        for i, shape in enumerate(SHAPES):
            x = sample(shape, dtype, i, 1.0)
            check(f"aten::{name}.out", function(x), x, tolerance=LIMITS[dtype])
    for dtype in [*INTEGERS, torch.bool]:
        x = sample((3, 7), dtype)
        check(f"aten::{name}.out", function(x), x, tolerance=4e-6)
    x = torch.tensor(SPECIAL)
    check(f"aten::{name}.out", function(x), x, tolerance=4e-6)


@pytest.mark.parametrize("name", SAME_TYPE)
def test_functions_that_keep_the_type(name: str) -> None:
    function = getattr(torch, name)
    for dtype in FLOATS + (INTEGERS if name != "frac" else []):
        for i, shape in enumerate(SHAPES):
            x = sample(shape, dtype, i)
            check(f"aten::{name}.out", function(x), x)
    special = torch.tensor([*SPECIAL, 1.5, 2.5, -1.5, -2.5])
    check(f"aten::{name}.out", function(special), special)


def test_integers_wrap() -> None:
    x = torch.tensor([-128, 127, 0, 3], dtype=torch.int8)
    for name in ("neg", "abs", "square"):
        check(f"aten::{name}.out", getattr(torch, name)(x), x)
    x = torch.tensor([-(2**63), 2**63 - 1])
    for name in ("neg", "abs", "square"):
        check(f"aten::{name}.out", getattr(torch, name)(x), x)


@pytest.mark.parametrize("name", ("isposinf", "isneginf", "signbit"))
def test_predicates(name: str) -> None:
    for dtype in [*FLOATS, *INTEGERS, torch.bool]:
        x = sample((4, 9), dtype)
        check(f"aten::{name}.out", getattr(torch, name)(x), x)
    x = torch.tensor(SPECIAL)
    check(f"aten::{name}.out", getattr(torch, name)(x), x)


def test_bitwise_not_refuses_floats() -> None:
    with pytest.raises(KernelError, match="integers"):
        run("aten::bitwise_not.out", torch.ones(3), outs=[Out((3,), torch.float32)])


def test_logit_and_nan_to_num() -> None:
    x = torch.tensor([-0.5, 0.0, 1e-8, 0.3, 0.5, 0.999, 1.0, 2.0, float("nan")])
    for dtype in FLOATS:
        check("aten::logit.out", torch.logit(x.to(dtype).to(torch.float64), 1e-3).to(dtype), x.to(dtype), 1e-3, tolerance=LIMITS[dtype])
        check("aten::nan_to_num.out", torch.nan_to_num(x.to(dtype)), x.to(dtype))
    check("aten::logit.out", torch.logit(x), x, tolerance=4e-6)
    special = torch.tensor(SPECIAL)
    for dtype in FLOATS:
        check("aten::nan_to_num.out", torch.nan_to_num(special.to(dtype)), special.to(dtype))
    check("aten::nan_to_num.out", torch.nan_to_num(special, 1.0, 2.0, -3.0), special, 1.0, 2.0, -3.0)


def test_layouts() -> None:
    x = sample((2, 5, 6, 7), torch.float32)
    last = x.to(memory_format=torch.channels_last)
    check("aten::exp.out", torch.exp(last), last)
    check("aten::exp.out", torch.exp(x), last, order=[0, 1, 2, 3])
    check("aten::exp.out", torch.exp(x), x, order=[0, 2, 3, 1])
    check("aten::ceil.out", torch.ceil(x.half()), last.half(), order=[3, 1, 0, 2])


def test_results_convert_to_the_output() -> None:
    x = torch.tensor([1, -2, 3], dtype=torch.int8)
    check("aten::abs.out", torch.abs(x).float(), x)
    check("aten::exp.out", torch.exp(x.float()).double(), x, tolerance=1e-6)
    check("aten::neg.out", torch.tensor([-128, 1], dtype=torch.int32), torch.tensor([-128, -1], dtype=torch.int8))
    with pytest.raises(KernelError, match="type"):
        run("aten::exp.out", torch.ones(3), outs=[Out((3,), torch.int32)])


def test_dynamic_outputs_are_resized_within_their_bounds() -> None:
    x = sample((3, 4), torch.float32)
    (result,) = run("aten::neg.out", x, outs=[Out((6, 4), torch.float32, dynamic=True)])
    assert torch.equal(result, -x)
    for shape in ((2, 4), (12,)):
        with pytest.raises(KernelError):
            run("aten::neg.out", x, outs=[Out(shape, torch.float32, dynamic=True)])
    with pytest.raises(KernelError):
        run("aten::neg.out", x, outs=[Out((6, 4), torch.float32)])


def test_angles_near_and_far() -> None:
    near = torch.linspace(-100, 100, 20_001)
    far = torch.cat([torch.linspace(-30_001, 30_001, 999), torch.tensor([1e5, -1e10, 3e38]), torch.arange(-40, 41) * (torch.pi / 4)])
    for x in (near, far):
        for name, function in (("sin", torch.sin), ("cos", torch.cos)):
            check(f"aten::{name}.out", function(x.double()).float(), x, tolerance=1.5e-7)
