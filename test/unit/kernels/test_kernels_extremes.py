"""Kernels on what samples of rows do not have: long lines, blocks and tails, every number of a type, numbers near the limits of a type."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import Out, check, run

pytestmark = pytest.mark.every_library

native_group_norm: Any = torch.native_group_norm
LIMITS = {torch.float32: 3e-6, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def sample(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 5).to(dtype)


def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    """The same elements with the last dimension innermost, and with the first."""
    yield x
    yield x.movedim(0, -1).contiguous().movedim(-1, 0)


SHAPES = ((3, 1031), (1031, 3), (2, 300, 5))
LINES: dict[str, tuple[Callable[..., torch.Tensor], Callable[[int], tuple[Any, ...]]]] = {
    # kernel -> the same in torch, and the arguments after the tensor
    "sum.IntList_out": (torch.sum, lambda dim: ([dim],)),
    "mean.out": (torch.mean, lambda dim: ([dim],)),
    "amax.out": (torch.amax, lambda dim: ([dim],)),
    "amin.out": (torch.amin, lambda dim: ([dim],)),
    "var.correction_out": (torch.var, lambda dim: ([dim],)),
    "cumsum.out": (torch.cumsum, lambda dim: (dim,)),
    "_softmax.out": (torch.softmax, lambda dim: (dim, False)),
    "_log_softmax.out": (torch.log_softmax, lambda dim: (dim, False)),
}


@pytest.mark.parametrize("name", list(LINES))
def test_long_lines(name: str) -> None:
    function, rest = LINES[name]
    for dtype, shape in itertools.product(LIMITS, SHAPES):
        for x, dim in itertools.product(layouts(sample(shape, dtype)), range(len(shape))):
            check(f"aten::{name}", function(x.double(), dim).to(dtype).contiguous(), x, *rest(dim), tolerance=LIMITS[dtype])


def test_places_in_long_lines() -> None:
    for shape in SHAPES:
        values = torch.randperm(torch.Size(shape).numel(), generator=torch.Generator().manual_seed(0)).reshape(shape)
        for x, dim in itertools.product(layouts(values), range(len(shape))):
            k = min(x.size(dim), 40)
            check("aten::argmin.out", torch.argmin(x, dim).contiguous(), x, dim)
            check("aten::max.dim_max", [y.contiguous() for y in torch.max(x, dim)], x, dim)
            check("aten::sort.values", [y.contiguous() for y in torch.sort(x, dim)], x, dim)
            check("aten::topk.values", [y.contiguous() for y in torch.topk(x, k, dim)], x, k, dim)


def test_long_sums_stay_precise() -> None:
    x = torch.rand(3, 200_000, generator=torch.Generator().manual_seed(0)) + 1000
    check("aten::sum.IntList_out", x.double().sum(1).float(), x, [1], tolerance=3e-7)
    check("aten::sum.IntList_out", x.double().sum(1).float(), x.t().contiguous(), [0], tolerance=3e-7)
    check("aten::var.correction_out", x.double().var(1).float(), x, [1], tolerance=1e-4)


def test_large_transposes_go_by_blocks() -> None:
    for dtype in (torch.float32, torch.uint8, torch.int64, torch.float16):
        x, y = sample((3, 67, 130), dtype), sample((2, 3, 19, 33), dtype)
        check("aten::transpose_copy.int_out", x.transpose(1, 2).contiguous(), x, 1, 2)
        check("aten::permute_copy.out", y.permute(0, 2, 3, 1).contiguous(), y, [0, 2, 3, 1])
        check("aten::clone.out", y, y, order=[0, 2, 3, 1])


def test_casts_of_every_half_and_of_what_a_type_cannot_hold() -> None:
    halves = torch.arange(0, 65536, dtype=torch.int32).to(torch.int16).view(torch.float16)
    bits = torch.randint(-(2**31), 2**31, (20000,), generator=torch.Generator().manual_seed(0)).to(torch.int32).view(torch.float32)
    large = torch.tensor([2**53 + 1, 2**24 + 1, -(2**62) - 1])
    reals = torch.tensor([65504.0, 65520.0, 1e-7, 6e-8, 2e-8, 3.4e38])
    pairs = [(halves, halves.float()), (halves.float(), halves), (halves.view(torch.bfloat16), halves.view(torch.bfloat16).float())]
    pairs += [(bits, bits.half()), (bits, bits.bfloat16())]
    pairs += [(reals, reals.to(dtype)) for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.bool)]
    pairs += [(large, large.to(dtype)) for dtype in (torch.float32, torch.float64, torch.int32, torch.int8)]
    for given, expected in pairs:
        check("aten::_to_copy.out", expected, given, tolerance=0.0)
    out_of_range = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e20])
    for dtype, lowest in ((torch.int64, -(2**63)), (torch.int32, -(2**31))):
        check("aten::_to_copy.out", torch.full((4,), lowest, dtype=dtype), out_of_range)


def test_small_values_keep_their_relative_precision() -> None:
    x = torch.tensor([1e-7, -1e-7, 1e-20, -1e-20, -30.0, -60.0])
    for name, function in (("elu", F.elu), ("softplus", F.softplus), ("silu", F.silu), ("log_sigmoid", F.logsigmoid)):
        (result,) = run(f"aten::{name}.out", x, outs=[Out((6,), torch.float32)])
        torch.testing.assert_close(result, function(x.double()).float(), rtol=3e-6, atol=0.0)


def test_angles_near_and_far() -> None:
    near = torch.linspace(-100, 100, 20_001)
    far = torch.cat([torch.linspace(-30_001, 30_001, 999), torch.tensor([1e5, -1e10, 3e38]), torch.arange(-40, 41) * (torch.pi / 4)])
    for x, function in itertools.product((near, far), (torch.sin, torch.cos)):
        check(f"aten::{function.__name__}.out", function(x.double()).float(), x, tolerance=1.5e-7)


LOWEST = -(2**63)


@pytest.mark.parametrize(
    ("name", "expected", "x", "y"),
    [
        ("div.out_mode", [LOWEST], [LOWEST], [-1, "trunc"]),
        ("remainder.Tensor_out", [0], [LOWEST], [-1]),
        ("remainder.Tensor_out", [2, 1, -1, -2, 0, 0], [-7, 7, -7, 7, 0, -6], [3, 3, -3, -3, 5, 3]),
        ("fmod.Tensor_out", [-1, 1, -1, 1, 0, 0], [-7, 7, -7, 7, 0, -6], [3, 3, -3, -3, 5, 3]),
        ("floor_divide.out", [-3, 2, 2, -3, 0, -2], [-7, 7, -7, 7, 0, -6], [3, 3, -3, -3, 5, 3]),
        ("pow.Tensor_Tensor_out", [1, -1, 1, 0, 0, 0], [1, -1, -1, 2, -2, 0], [-3, -3, -2, -1, -2, -1]),
        ("mul.out", [0, 0], [2**62, LOWEST], [4]),
        ("bitwise_left_shift.Tensor_out", [0, 0, 0], [5, -5, 5], [64, 100, -1]),
        ("bitwise_right_shift.Tensor_out", [0, -1, -1], [5, -5, -5], [64, 100, -1]),
    ],
)
def test_integers_at_their_limits(name: str, expected: list[int], x: list[int], y: list[Any]) -> None:
    rest = [value for value in y if isinstance(value, str)]
    check(f"aten::{name}", torch.tensor(expected), torch.tensor(x), torch.tensor(y[: len(y) - len(rest)]), *rest)


def test_results_convert_to_the_output() -> None:
    x = torch.tensor([100, -100, 3], dtype=torch.int8)
    check("aten::add.out", torch.tensor([-56, 56, 6], dtype=torch.int32), x, x)
    check("aten::abs.out", torch.abs(x).float(), x)
    check("aten::exp.out", torch.exp(x.float() / 8).double(), (x.float() / 8), tolerance=1e-6)
    check("aten::neg.out", torch.tensor([-128, 1], dtype=torch.int32), torch.tensor([-128, -1], dtype=torch.int8))


def test_a_dynamic_result_may_have_room_for_more() -> None:
    x, mask = sample((4, 5, 6)), sample((5, 1)) > 0
    (result,) = run("aten::neg.out", x, outs=[Out((6, 5, 6), torch.float32, dynamic=True)])
    assert torch.equal(result, -x)
    (result,) = run("aten::masked_select.out", x, mask, outs=[Out((300,), torch.float32, dynamic=True)])
    assert torch.equal(result, torch.masked_select(x, mask))


def test_an_operand_in_another_layout_than_the_result() -> None:
    x, y, scale = sample((2, 5, 6, 7)), sample((2, 5, 6, 7)).flip(0).contiguous(), sample((5, 1, 1))
    last = x.to(memory_format=torch.channels_last)
    for order in ([0, 1, 2, 3], [0, 2, 3, 1], [3, 1, 0, 2]):
        check("aten::add.out", x + y, last, y, order=order)
        check("aten::mul.out", x * scale, last, scale, order=order)
        check("aten::where.self_out", torch.where(x > 0, x, y), last > 0, last, y, order=order)
        check("aten::ceil.out", torch.ceil(x.half()), last.half(), order=order)


def test_largest_in_long_rows() -> None:
    for shape in [(2, 3, 9, 40), (2, 20, 23), (1, 1, 5, 70)]:
        x = sample(shape)
        x.view(-1)[::101] = torch.nan
        for kernel, stride, padding, dilation in [
            ((3, 3), (2, 2), 1, 1),
            ((2, 2), (2, 2), 0, 1),
            ((3, 2), (1, 3), 1, 2),
            ((1, 5), (1, 1), (0, 2), 1),
        ]:
            for dtype in (torch.float32, torch.float64):
                given = x.to(dtype)
                values, places = F.max_pool2d(given, kernel, stride, padding, dilation, return_indices=True)
                outs = [Out(values.shape, dtype), Out(values.shape, torch.int64)]
                pair = [padding, padding] if isinstance(padding, int) else list(padding)
                results = run(
                    "aten::max_pool2d_with_indices.out", given, list(kernel), list(stride), pair, [dilation] * 2, False, outs=outs
                )
                torch.testing.assert_close(results[0], values, rtol=0, atol=0, equal_nan=True)
                torch.testing.assert_close(results[1], places, rtol=0, atol=0)
                arguments = (given, list(kernel), list(stride), pair, [dilation] * 2, False)
                (alone,) = run("flambeau::max_pool2d.out", *arguments, outs=outs[:1])
                torch.testing.assert_close(alone, values, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_largest_bytes_of_channels_side_by_side(dtype: torch.dtype) -> None:
    """More channels than a vector has lanes, and fewer numbers than elements, so that many are equal."""
    low = torch.iinfo(dtype).min
    x = torch.randint(low, low + 6, (2, 70, 7, 6), dtype=dtype)
    x[0, :40] = low
    values, places = F.max_pool2d(x.float(), (3, 2), (2, 1), 1, return_indices=True)
    outs = [Out(tuple(values.shape), dtype, order=[0, 2, 3, 1]), Out(tuple(values.shape), torch.int64, order=[0, 2, 3, 1])]
    given = x.to(memory_format=torch.channels_last)
    arguments = (given, [3, 2], [2, 1], [1, 1], [1, 1], False)
    results = run("aten::max_pool2d_with_indices.out", *arguments, outs=outs)
    assert torch.equal(results[0], values.to(dtype)) and torch.equal(results[1], places)
    assert torch.equal(run("flambeau::max_pool2d.out", *arguments, outs=outs[:1])[0], results[0])


def test_windows_and_positions_outside_of_the_image() -> None:
    x = sample((1, 2, 3, 3))
    values, places = F.max_pool2d(x, 2, 1, 1, 4, return_indices=True)
    outs = [Out(tuple(values.shape), torch.float32), Out(tuple(values.shape), torch.int64)]
    arguments = (x, [2, 2], [1, 1], [1, 1], [4, 4], False)
    results = run("aten::max_pool2d_with_indices.out", *arguments, outs=outs)
    assert torch.equal(results[0], values) and torch.equal(results[1], places)
    assert torch.equal(run("flambeau::max_pool2d.out", *arguments, outs=outs[:1])[0], values)
    for scale in (0.0, -1.0, float("nan")):
        expected = torch.ops.aten._upsample_bilinear2d_aa(x, [3, 3], False, scale, None)
        check("aten::_upsample_bilinear2d_aa.out", expected, x, [3, 3], False, scale, None)
    numbers = [float("nan"), float("inf"), -float("inf"), 1e38, -1e38, 1.0, -1.0, 0.0]
    grid = torch.tensor([[[[a, b] for a in numbers] for b in numbers]])
    for mode, padding in itertools.product((0, 1, 2), (0, 1, 2)):
        result = run("aten::grid_sampler_2d.out", x, grid, mode, padding, False, outs=[Out((1, 2, 8, 8), torch.float32)])[0]
        inner = torch.ops.aten.grid_sampler_2d(x, grid[:, 5:, 5:], mode, padding, False)
        torch.testing.assert_close(result[:, :, 5:, 5:], inner, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("found", [[torch.inf], [torch.nan], [torch.inf, -torch.inf], ["max"], ["max", "max"]], ids=str)
def test_groups_are_normalized_as_pytorch_does_at_the_ends_of_the_range(dtype: torch.dtype, found: list[Any]) -> None:
    x = sample((2, 4, 3, 5), dtype)
    for index, value in enumerate(found):
        x[0, 0, 0, index] = torch.finfo(dtype).max if value == "max" else value
    expected = native_group_norm(x, None, None, 2, 4, 15, 2, 1e-5)
    outs = [Out(tuple(item.shape), item.dtype) for item in expected]
    result, _, deviation = run("aten::native_group_norm.out", x, None, None, 2, 4, 15, 2, 1e-5, outs=outs)
    # The sum of several of the greatest float32 numbers, and what follows from it, is PyTorch's own matter.
    if found != ["max", "max"] or dtype in (torch.bfloat16, torch.float16):
        torch.testing.assert_close(result, expected[0], equal_nan=True)
    torch.testing.assert_close(deviation, expected[2], equal_nan=True)
