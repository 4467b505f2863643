"""Reductions, extrema, running sums and softmax against torch, over types, dimensions and layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, check, run

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
LIMITS = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}
SHAPES = [(), (1,), (7,), (3, 5), (4, 37, 6), (2, 5, 6, 7), (3, 700), (700, 3)]


def sample(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 5
    return x > 0 if dtype == torch.bool else x.to(torch.int32).to(dtype) if not dtype.is_floating_point else x.to(dtype)


def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x
    if x.dim() > 1:
        order = [*range(1, x.dim()), 0]
        yield x.permute(order).contiguous().permute([order.index(d) for d in range(x.dim())])
    if x.dim() > 2:
        yield x.movedim(1, -1).contiguous().movedim(-1, 1)


def dimension_lists(rank: int) -> list[list[int]]:
    lists: list[list[int]] = [[]]
    if rank:
        lists += [[0], [-1]]
    if rank > 2:
        lists += [[1], [0, -1], [1, 2], list(range(rank))]
    return lists


def wide(function: Callable[..., torch.Tensor], x: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    """The result computed in double and rounded once."""
    return function(x.double(), *args, **options).to(x.dtype) if x.dtype.is_floating_point else function(x, *args, **options)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool])
def test_sums_and_means(dtype: torch.dtype) -> None:
    for shape in SHAPES:
        for x in layouts(sample(shape, dtype)):
            for dims in dimension_lists(x.dim()):
                for keepdim in (False, True):
                    limit = LIMITS.get(dtype)
                    check("aten::sum.IntList_out", wide(torch.sum, x, dims, keepdim), x, dims, keepdim, tolerance=limit)
                    if dtype.is_floating_point:
                        mean = wide(torch.mean, x, dims, keepdim)
                        check("aten::mean.out", mean, x, dims, keepdim, tolerance=limit)
            check("aten::sum.IntList_out", wide(torch.sum, x), x, None, tolerance=LIMITS.get(dtype))


def test_sum_and_mean_with_a_type() -> None:
    x = torch.tensor([1.7, 2.7, -1.7])
    check("aten::sum.IntList_out", torch.sum(x, [0], dtype=torch.int64), x, [0], False, torch.int64)
    integers = torch.arange(5)
    check("aten::mean.dtype_out", torch.mean(integers, dtype=torch.float32), integers, torch.float32)
    check("aten::mean.out", torch.mean(integers, [0], dtype=torch.float64), integers, [0], False, torch.float64)
    small = torch.full((300,), 100, dtype=torch.int8)
    check("aten::sum.IntList_out", torch.sum(small), small, None)
    with pytest.raises(KernelError, match="floating"):
        run("aten::mean.out", integers, [0], outs=[Out((), torch.int64)])


def test_long_sums_stay_precise() -> None:
    x = torch.rand(3, 200_000, generator=torch.Generator().manual_seed(0)) + 1000
    check("aten::sum.IntList_out", x.double().sum(1).float(), x, [1], tolerance=3e-7)
    check("aten::sum.IntList_out", x.double().sum(1).float(), x.t().contiguous(), [0], tolerance=3e-7)
    check("aten::var.correction_out", x.double().var(1).float(), x, [1], tolerance=1e-4)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool])
def test_extrema(dtype: torch.dtype) -> None:
    for shape in SHAPES:
        for x in layouts(sample(shape, dtype)):
            for dims in dimension_lists(x.dim()):
                for keepdim in (False, True):
                    check("aten::amax.out", torch.amax(x, dims, keepdim), x, dims, keepdim)
                    check("aten::amin.out", torch.amin(x, dims, keepdim), x, dims, keepdim)
            check("aten::max.unary_out", torch.max(x), x)
            check("aten::min.unary_out", torch.min(x), x)


def test_extrema_of_nan_and_nothing() -> None:
    x = sample((40, 70))
    x[3, 50] = float("nan")
    x[7] = float("-inf")
    for y in layouts(x):
        for dims in ([0], [1], []):
            check("aten::amax.out", torch.amax(y, dims), y, dims)
            check("aten::amin.out", torch.amin(y, dims), y, dims)
        for dim in (0, 1):
            check("aten::max.dim_max", torch.max(y, dim), y, dim)
            check("aten::argmin.out", torch.argmin(y, dim), y, dim)
    with pytest.raises(KernelError, match="no elements"):
        run("aten::amax.out", torch.empty(0, 3), [0], outs=[Out((3,), torch.float32)])
    check("aten::amax.out", torch.empty(0), torch.empty(0, 3), [1])
    with pytest.raises(KernelError, match="no elements"):
        run("aten::argmax.out", torch.empty(0), outs=[Out((), torch.int64)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_extrema_with_places(dtype: torch.dtype) -> None:
    for shape in SHAPES:
        for x in layouts(sample(shape, dtype)):
            for dim in range(-1, max(x.dim(), 1)):
                for keepdim in (False, True):
                    # torch's place among equal elements is not fixed: the first is what its documentation of argmax shows.
                    first = torch.stack([(x == x.amax(dim, True)).int(), (x == x.amin(dim, True)).int()])
                    where = [torch.argmax(f, dim if x.dim() else None, keepdim) for f in first] if x.dim() else [torch.tensor(0)] * 2
                    check("aten::max.dim_max", [torch.amax(x, dim, keepdim), where[0]], x, dim, keepdim)
                    check("aten::min.dim_min", [torch.amin(x, dim, keepdim), where[1]], x, dim, keepdim)
                    check("aten::argmax.out", where[0], x, dim, keepdim)
                    check("aten::argmin.out", where[1], x, dim, keepdim)
                    check("aten::aminmax.out", torch.aminmax(x, dim=dim, keepdim=keepdim), x, dim, keepdim)
            flat = x.contiguous().reshape(-1)
            check("aten::argmax.out", (flat == flat.max()).int().argmax(), x)
            check("aten::argmin.out", (flat == flat.min()).int().argmax(), x)
            check("aten::aminmax.out", torch.aminmax(x), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.uint8, torch.float16])
def test_any_and_all(dtype: torch.dtype) -> None:
    for shape in [*SHAPES, (0,), (0, 3)]:
        for x in layouts(sample(shape, dtype)):
            for name, function in (("any", torch.any), ("all", torch.all)):
                check(f"aten::{name}.all_out", function(x), x)
                check(f"aten::{name}.dims_out", function(x), x, None)
                if x.dim():
                    check(f"aten::{name}.out", function(x, -1, True), x, -1, True)
                    check(f"aten::{name}.out", function(x, 0), x, 0)
                    check(f"aten::{name}.dims_out", function(x, [0], keepdim=True), x, [0], True)
                check(f"aten::{name}.dims_out", function(x, []), x, [])
    half = torch.tensor([0.5, 0.25])
    check("aten::all.all_out", torch.all(half), half)


def test_products() -> None:
    for dtype in [*FLOATS, *INTEGERS]:
        for x in layouts(sample((3, 5, 4), dtype) / 4 if dtype.is_floating_point else sample((3, 5, 4), dtype)):
            limit = LIMITS.get(dtype)
            check("aten::prod.int_out", wide(torch.prod, x, 1, True), x, 1, True, tolerance=limit)
            check("aten::prod.out", wide(torch.prod, x), x, tolerance=limit)
    check("aten::prod.out", torch.prod(torch.empty(0)), torch.empty(0))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dtype", FLOATS)
def test_variances(dtype: torch.dtype) -> None:
    for shape in SHAPES[2:]:
        for x in layouts(sample(shape, dtype)):
            for dims in dimension_lists(x.dim()):
                for correction in (0, 1, 2):
                    limit = LIMITS[dtype]
                    variance = wide(torch.var, x, dims, correction=correction, keepdim=True)
                    check("aten::var.correction_out", variance, x, dims, correction, True, tolerance=limit)
                    mean = wide(torch.mean, x, dims, True)
                    check("aten::var_mean.correction_out", [variance, mean], x, dims, correction, True, tolerance=limit)
                    deviation = wide(torch.std, x, dims, correction=correction)
                    check("aten::std.correction_out", deviation, x, dims, correction, tolerance=limit)
                check("aten::var.out", wide(torch.var, x, dims, unbiased=False), x, dims, False, tolerance=limit)
    one = torch.tensor([3.0])
    check("aten::var.correction_out", torch.tensor(float("nan")), one, [0])


def test_empty_reductions() -> None:
    x = torch.empty(0, 3)
    check("aten::sum.IntList_out", x.sum(0), x, [0])
    check("aten::mean.out", x.mean(0), x, [0])
    check("aten::sum.IntList_out", x.sum(1), x, [1])
    for dims in ([0, 0], [2], [-3]):
        with pytest.raises(KernelError):
            run("aten::sum.IntList_out", x, dims, outs=[Out((3,), torch.float32)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool])
def test_running_sums_and_products(dtype: torch.dtype) -> None:
    for shape in SHAPES:
        for x in layouts(sample(shape, dtype)):
            for dim in (-1, 0):
                check("aten::cumsum.out", wide(torch.cumsum, x, dim), x, dim, tolerance=LIMITS.get(dtype))
    y = sample((3, 6), dtype) / 5 if dtype.is_floating_point else sample((3, 6), dtype)
    check("aten::cumprod.out", wide(torch.cumprod, y, 1), y, 1, tolerance=LIMITS.get(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype: torch.dtype) -> None:
    for shape in [*SHAPES, (2, 1000), (0, 3), (3, 0), (3, 1031)]:
        for x in layouts(sample(shape, dtype)):
            for dim in {-1, 0, max(x.dim() - 2, 0)}:
                for name, function in (("_softmax", torch.softmax), ("_log_softmax", torch.log_softmax)):
                    expected = function(x.double(), dim).to(dtype)
                    check(f"aten::{name}.out", expected, x, dim, False, tolerance=LIMITS[dtype])
                    if x.dim() == 3:
                        check(f"aten::{name}.out", expected, x, dim, False, order=[0, 1, 2], tolerance=LIMITS[dtype])


def test_softmax_at_special_values() -> None:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[0.0, -inf, 1.0], [-inf, -inf, -inf], [inf, 0.0, 1.0], [nan, 0.0, 1.0], [1e30, -1e30, 1e30], [-200.0, 0.0, -100.0]])
    check("aten::_softmax.out", torch.softmax(x, 1), x, 1, False)
    check("aten::_log_softmax.out", torch.log_softmax(x, 1), x, 1, False)
    check("aten::_softmax.out", torch.softmax(x.double(), 0), x.double(), 0, False)
    check("aten::_softmax.out", torch.softmax(x[0].half().float(), 0), x[0].half(), 0, True)
    with pytest.raises(KernelError, match="range"):
        run("aten::_softmax.out", x, 2, False, outs=[Out((6, 3), torch.float32)])
    with pytest.raises(KernelError, match="floating"):
        run("aten::_softmax.out", torch.ones(3, dtype=torch.int64), 0, False, outs=[Out((3,), torch.float32)])
