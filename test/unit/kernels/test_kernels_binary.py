"""Arithmetic, comparisons, bits and choices against torch, over types, broadcasts and layouts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, check, run

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
BROADCASTS = [
    ((5,), (5,)),
    ((), ()),
    ((4, 1, 3), (1, 5, 3)),
    ((2, 3, 37), (37,)),
    ((2, 3, 37), (3, 1)),
    ((2, 3, 5, 7), (3, 1, 1)),
    ((1,), (4, 6)),
    ((0, 3), (1, 3)),
    ((3, 600), (3, 1)),
    ((), (7,)),
]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-40, 1e30, float("inf"), float("-inf"), float("nan")]
LIMITS = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def sample(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    x = torch.randn(shape, generator=generator) * 4
    if dtype.is_floating_point:
        return x.to(dtype)
    return (x * 8).to(torch.int64).abs().to(dtype) if dtype == torch.uint8 else (x * 8).to(dtype)


def nonzero(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, torch.ones_like(x), x)


def in_double(function: Callable[..., torch.Tensor], dtype: torch.dtype, *args: Any, **options: Any) -> torch.Tensor:
    """Half precision computes in float and rounds once; torch's own half kernels sometimes round in between."""
    if dtype not in (torch.float16, torch.bfloat16):
        return function(*args, **options)
    return function(*[x.double() if isinstance(x, torch.Tensor) else x for x in args], **options).to(dtype)


@pytest.mark.parametrize(("name", "function"), [("mul.out", torch.mul), ("maximum.out", torch.maximum), ("minimum.out", torch.minimum)])
def test_arithmetic(name: str, function: Callable[..., torch.Tensor]) -> None:
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        for i, (a, b) in enumerate(BROADCASTS):
            x, y = sample(a, dtype, i), sample(b, dtype, i + 100)
            check(f"aten::{name}", function(x, y), x, y)
    x, y = (torch.tensor(v) for v in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    check(f"aten::{name}", function(x, y), x, y)
    check(f"aten::{name}", function(x.double(), y.double()), x.double(), y.double())


def test_sums_with_alpha() -> None:
    for dtype in FLOATS + INTEGERS:
        for i, (a, b) in enumerate(BROADCASTS):
            x, y = sample(a, dtype, i), sample(b, dtype, i + 100)
            for alpha in (1, 3) if not dtype.is_floating_point else (1, 2.5, -1):
                limit = LIMITS.get(dtype)
                three = torch.tensor(3, dtype=dtype)
                for name, first, second in (("add.out", x, y), ("sub.out", x, y), ("rsub.Tensor_out", y, x)):
                    function = getattr(torch, name[:3].replace("rsu", "rsub"))
                    expected = in_double(function, dtype, first, second, alpha=alpha)
                    check(f"aten::{name}", expected, first, second, alpha, tolerance=limit)
                    expected = in_double(function, dtype, x, three, alpha=alpha)
                    check(f"aten::{name[:-4].replace('.Tensor', '')}.Scalar_out", expected, x, 3, alpha, tolerance=limit)
    x = sample((3, 4), torch.bool, 0)
    check("aten::add.out", torch.add(x, x), x, x)
    with pytest.raises(KernelError, match="alpha"):
        run("aten::add.out", torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64), 1.5, outs=[Out((3,), torch.int64)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_division(dtype: torch.dtype) -> None:
    for i, (a, b) in enumerate(BROADCASTS):
        x, y = sample(a, dtype, i), nonzero(sample(b, dtype, i + 100))
        check("aten::div.out", torch.div(x, y), x, y)
        for mode in ("floor", "trunc"):
            divided = in_double(torch.div, dtype, x, y, rounding_mode=mode)
            check("aten::div.out_mode", divided, x, y, mode)
        check("aten::div.out_mode", torch.div(x, y), x, y, None)
        check("aten::floor_divide.out", in_double(torch.floor_divide, dtype, x, y), x, y)
        check("aten::remainder.Tensor_out", in_double(torch.remainder, dtype, x, y), x, y)
        check("aten::fmod.Tensor_out", in_double(torch.fmod, dtype, x, y), x, y)
        check("aten::remainder.Scalar_out", torch.remainder(x, 3), x, 3)
        check("aten::fmod.Scalar_out", torch.fmod(x, 3), x, 3)
        check("aten::div.Scalar_out", torch.div(x, 3), x, 3)
        check("aten::div.Scalar_mode_out", torch.div(x, 3, rounding_mode="floor"), x, 3, "floor")


def test_remainder_has_the_sign_of_the_divisor() -> None:
    x = torch.tensor([-7, 7, -7, 7, 0, -6], dtype=torch.int64)
    y = torch.tensor([3, 3, -3, -3, 5, 3], dtype=torch.int64)
    check("aten::remainder.Tensor_out", torch.tensor([2, 1, -1, -2, 0, 0]), x, y)
    check("aten::fmod.Tensor_out", torch.tensor([-1, 1, -1, 1, 0, 0]), x, y)
    check("aten::floor_divide.out", torch.tensor([-3, 2, 2, -3, 0, -2]), x, y)


def test_integer_division_has_no_traps() -> None:
    lowest = torch.tensor([-(2**63)])
    minus_one = torch.tensor([-1])
    check("aten::div.out_mode", lowest, lowest, minus_one, "trunc")
    check("aten::remainder.Tensor_out", torch.tensor([0]), lowest, minus_one)
    zero = torch.tensor([3, 0])
    for name in ("floor_divide.out", "remainder.Tensor_out", "fmod.Tensor_out"):
        with pytest.raises(KernelError, match="division by zero"):
            run(f"aten::{name}", torch.tensor([1, 2]), zero, outs=[Out((2,), torch.int64)])
    with pytest.raises(KernelError, match="division by zero"):
        run("aten::remainder.Scalar_out", torch.tensor([1, 2]), 0, outs=[Out((2,), torch.int64)])


def test_real_division_at_special_values() -> None:
    x, y = (torch.tensor(v) for v in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    for name, function in (
        ("div.out", torch.div),
        ("floor_divide.out", torch.floor_divide),
        ("atan2.out", torch.atan2),
        ("hypot.out", torch.hypot),
    ):
        check(f"aten::{name}", function(x.double(), y.double()), x.double(), y.double())
    check("aten::copysign.out", torch.copysign(x, y), x, y)
    check("aten::fmax.out", torch.fmax(x, y), x, y)
    check("aten::fmin.out", torch.fmin(x, y), x, y)
    finite = x.isfinite() & y.isfinite()
    check("aten::logaddexp.out", torch.logaddexp(x[finite], y[finite]), x[finite], y[finite])


def test_powers() -> None:
    for dtype in FLOATS:
        x = sample((5, 9), dtype, 0)
        for exponent in (2, 3, 0.5, -1, -0.5, 1, 0, 2.5, -2):
            check(
                "aten::pow.Tensor_Scalar_out",
                in_double(torch.pow, dtype, x, exponent),
                x,
                exponent,
                tolerance=LIMITS[dtype],
            )
        y = sample((9,), dtype, 1)
        check("aten::pow.Tensor_Tensor_out", in_double(torch.pow, dtype, x.abs(), y), x.abs(), y, tolerance=LIMITS[dtype])
        check("aten::pow.Scalar_out", in_double(torch.pow, dtype, 2.5, x), 2.5, x, tolerance=LIMITS[dtype])
    for dtype in INTEGERS:
        x = sample((5, 9), dtype, 0)
        for exponent in (0, 1, 2, 3, 7):
            check("aten::pow.Tensor_Scalar_out", torch.pow(x, exponent), x, exponent)
        check("aten::pow.Tensor_Scalar_out", torch.pow(x, 2.5), x, 2.5)
        check("aten::pow.Scalar_out", torch.pow(3, x.abs() % 20), 3, x.abs() % 20)
    base = torch.tensor([1, -1, -1, 2, -2, 0])
    exponent = torch.tensor([-3, -3, -2, -1, -2, -1])
    check("aten::pow.Tensor_Tensor_out", torch.tensor([1, -1, 1, 0, 0, 0]), base, exponent)
    with pytest.raises(KernelError, match="negative"):
        run("aten::pow.Tensor_Scalar_out", base, -1, outs=[Out((6,), torch.int64)])


def test_promotion_follows_dimensions_before_scalars() -> None:
    dtypes = [*FLOATS, *INTEGERS, torch.bool]
    for a, b in itertools.product(dtypes, dtypes):
        x, y = sample((3, 4), a, 0), sample((4,), b, 1)
        z = sample((), b, 2)
        check("aten::mul.out", torch.mul(x, y), x, y)
        check("aten::mul.out", torch.mul(x, z), x, z)
        check("aten::eq.Tensor_out", torch.eq(x, z), x, z)
    for dtype in dtypes:
        x = sample((3, 4), dtype, 0)
        for scalar in (2, 2.5, True):
            check("aten::mul.Scalar_out", torch.mul(x, scalar), x, scalar)
    tenth = torch.tensor(0.1, dtype=torch.float64)
    check("aten::eq.Tensor_out", torch.tensor([True]), torch.tensor([0.1]), tenth)


def test_integers_wrap_in_the_type_they_are_computed_in() -> None:
    x = torch.tensor([100, -100], dtype=torch.int8)
    check("aten::add.out", torch.tensor([-56, 56], dtype=torch.int8), x, x)
    check("aten::add.out", torch.tensor([-56, 56], dtype=torch.int32), x, x)
    y = torch.tensor([2**62, -(2**63)])
    check("aten::mul.out", torch.mul(y, 4), y, torch.tensor(4))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bitwise_operators_refuse_floats(name: str) -> None:
    with pytest.raises(KernelError, match="integers"):
        run(f"aten::{name}.Tensor_out", torch.ones(3), torch.ones(3), outs=[Out((3,), torch.float32)])


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts_beyond_the_width(name: str) -> None:
    x = torch.tensor([5, -5])
    for by in (64, 100, -1):
        check(f"aten::{name}.Tensor_Scalar_out", torch.tensor([0, 0] if "left" in name else [0, -1]), x, by)


def test_clamp() -> None:
    for dtype in FLOATS + INTEGERS:
        x = sample((5, 40), dtype, 0)
        for low, high in ((1, 5), (None, 3), (2, None), (5, 1)):
            check("aten::clamp.out", torch.clamp(x, low, high), x, low, high)
            low_tensor = None if low is None else torch.full((40,), low, dtype=dtype)
            high_tensor = None if high is None else torch.full((5, 1), high, dtype=dtype)
            check("aten::clamp.Tensor_out", torch.clamp(x, low_tensor, high_tensor), x, low_tensor, high_tensor)
        check("aten::clamp.out", torch.clamp(x, 0.5, 2.5), x, 0.5, 2.5)
    special = torch.tensor(SPECIAL)
    check("aten::clamp.out", torch.clamp(special, -1.0, 1.0), special, -1.0, 1.0)
    check("aten::clamp.Tensor_out", torch.clamp(torch.ones(11), special), torch.ones(11), special, None)
    check("aten::clamp_min.out", torch.clamp_min(special, 0.0), special, 0.0)
    check("aten::clamp_max.out", torch.clamp_max(special, 0.0), special, 0.0)
    with pytest.raises(KernelError, match="bound"):
        run("aten::clamp.out", special, None, None, outs=[Out((11,), torch.float32)])


def test_layouts() -> None:
    x = sample((2, 5, 6, 7), torch.float32, 0)
    y = sample((2, 5, 6, 7), torch.float32, 1)
    last = x.to(memory_format=torch.channels_last)
    scale = sample((5, 1, 1), torch.float32, 2)
    check("aten::add.out", x + y, last, y, order=[0, 1, 2, 3])
    check("aten::add.out", x + y, last, y, order=[0, 2, 3, 1])
    check("aten::mul.out", x * scale, last, scale, order=[0, 2, 3, 1])
    check("aten::where.self_out", torch.where(x > 0, x, y), last > 0, last, y, order=[0, 2, 3, 1])


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(KernelError, match="broadcast"):
        run("aten::add.out", torch.ones(3), torch.ones(4), outs=[Out((3,), torch.float32)])
    with pytest.raises(KernelError):
        run("aten::add.out", torch.ones(3), torch.ones(3), outs=[Out((4,), torch.float32)])
    with pytest.raises(KernelError, match="type"):
        run("aten::add.out", torch.ones(3), torch.ones(3), outs=[Out((3,), torch.int64)])
    with pytest.raises(KernelError, match="number"):
        run("aten::add.out", torch.ones(3), "x", outs=[Out((3,), torch.float32)])
