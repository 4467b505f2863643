"""Normalisation, pooling, resizing, sampling, distances and dropout of the aten:: namespace against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import KernelError, Out, check, run

torch.set_num_threads(1)

REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
LIMITS = {torch.float32: 4e-6, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}
ORDERS = [[0, 1, 2, 3], [0, 2, 3, 1]]
aten = torch.ops.aten


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))
    return x.to(dtype) if dtype.is_floating_point else (x * 20).to(torch.int32).to(dtype)


def laid_out(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    return x.permute(order).contiguous().permute([order.index(d) for d in range(len(order))])


def wide(x: torch.Tensor | None) -> torch.Tensor | None:
    return None if x is None else x.double()


def close(results: list[torch.Tensor], expected: Any, dtype: torch.dtype) -> None:
    for result, value in zip(results, expected, strict=True):
        torch.testing.assert_close(result.double(), value.double(), rtol=LIMITS[dtype] * 4, atol=LIMITS[dtype] * 4)


@pytest.mark.parametrize("dtype", REAL)
def test_layer_norm(dtype: torch.dtype) -> None:
    for shape, size in [((3, 17), [17]), ((2, 3, 40), [40]), ((2, 3, 4), [3, 4]), ((5,), [5]), ((1, 1, 1), [1]), ((0, 4), [4])]:
        x, w, b = random(*shape, dtype=dtype), random(*size, dtype=dtype), random(*size, dtype=dtype, seed=1)
        for weight, bias in [(w, b), (None, None), (w, None)]:
            expected = aten.native_layer_norm(x.double(), size, wide(weight), wide(bias), 1e-5)
            outs = [Out(tuple(value.shape), dtype) for value in expected]
            close(run("aten::native_layer_norm.out", x, size, weight, bias, 1e-5, outs=outs), expected, dtype)


@pytest.mark.parametrize("dtype", REAL)
def test_group_norm(dtype: torch.dtype) -> None:
    for shape, groups in [((2, 6, 5, 3), 3), ((1, 8, 7), 8), ((3, 4), 1), ((2, 6, 2, 2, 2), 2)]:
        x, w, b = random(*shape, dtype=dtype), random(shape[1], dtype=dtype), random(shape[1], dtype=dtype, seed=1)
        area = x[0, 0].numel()
        for weight, bias in [(w, b), (None, None)]:
            expected = aten.native_group_norm(x.double(), wide(weight), wide(bias), shape[0], shape[1], area, groups, 1e-5)
            outs = [Out(tuple(value.shape), dtype) for value in expected]
            args = (x, weight, bias, shape[0], shape[1], area, groups, 1e-5)
            close(run("aten::native_group_norm.out", *args, outs=outs), expected, dtype)


@pytest.mark.parametrize("dtype", REAL)
def test_batch_norm(dtype: torch.dtype) -> None:
    for shape in [(2, 5, 4, 3), (3, 9), (2, 3, 7), (2, 3, 2, 3, 2), (1, 16, 4, 4)]:
        x, mean, var = random(*shape, dtype=dtype), random(shape[1], dtype=dtype), random(shape[1], dtype=dtype).abs() + 0.5
        w, b = random(shape[1], dtype=dtype, seed=1), random(shape[1], dtype=dtype, seed=2)
        orders = ORDERS if len(shape) == 4 else [list(range(len(shape)))]
        for weight, bias in [(w, b), (None, None)]:
            for order in orders:
                y = laid_out(x, order)
                expected = F.batch_norm(x.double(), mean.double(), var.double(), wide(weight), wide(bias), False, 0.1, 1e-3)
                outs = [Out(shape, dtype, order), Out((0,), dtype), Out((0,), dtype)]
                results = run("aten::_native_batch_norm_legit_no_training.out", y, weight, bias, mean, var, 0.1, 1e-3, outs=outs)
                close(results[:1], [expected], dtype)
                outs = [Out(shape, dtype, order), Out((shape[1],), dtype), Out((shape[1],), dtype)]
                expected = aten._native_batch_norm_legit.no_stats(x.double(), wide(weight), wide(bias), True, 0.1, 1e-3)
                results = run("aten::_native_batch_norm_legit.no_stats_out", y, weight, bias, True, 0.1, 1e-3, outs=outs)
                close(results, expected, dtype)
                results = run("aten::_native_batch_norm_legit.out", y, weight, bias, mean, var, True, 0.1, 1e-3, outs=outs)
                close(results, expected, dtype)


def test_batch_norm_leaves_no_result_as_it_was() -> None:
    x, ones = random(2, 3, 4), torch.ones(3)
    outs = [Out(tuple(x.shape), x.dtype), Out((3,), x.dtype), Out((3,), x.dtype)]
    with pytest.raises(KernelError, match="size"):
        run("aten::_native_batch_norm_legit_no_training.out", x, ones, ones, ones, ones, 0.1, 1e-3, outs=outs)
    with pytest.raises(KernelError, match="size"):
        run("aten::_native_batch_norm_legit.out", x, ones, ones, ones, ones, False, 0.1, 1e-3, outs=outs)


POOLS: list[tuple[list[int], list[int], list[int]]] = [
    # kernel, stride, padding
    ([2, 2], [2, 2], [0, 0]),
    ([3, 3], [2, 2], [1, 1]),
    ([3], [], [1]),
    ([2, 4], [1, 3], [1, 2]),
    ([5, 1], [2, 1], [2, 0]),
]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("pool", POOLS)
def test_avg_pool2d(pool: tuple[list[int], ...], dtype: torch.dtype) -> None:
    for shape in [(2, 11, 9, 10), (1, 3, 7, 5)]:
        x = random(*shape, dtype=dtype)
        for order in ORDERS:
            y = laid_out(x, order)
            for ceil, padded, divisor in [(False, True, None), (True, False, None), (True, True, None), (False, False, 7)]:
                expected = F.avg_pool2d(x.double(), pool[0], pool[1] or None, pool[2], ceil, padded, divisor).to(dtype)
                args = (y, *pool, ceil, padded, divisor)
                check("aten::avg_pool2d.out", expected, *args, order=order, tolerance=LIMITS[dtype])
        check(
            "aten::avg_pool2d.out",
            F.avg_pool2d(x[0].double(), pool[0], pool[1] or None, pool[2]).to(dtype),
            x[0],
            *pool,
            tolerance=LIMITS[dtype],
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.int64, torch.uint8])
@pytest.mark.parametrize("pool", POOLS)
def test_max_pool2d(pool: tuple[list[int], ...], dtype: torch.dtype) -> None:
    for shape in [(2, 17, 9, 10), (1, 3, 7, 8)]:
        x = random(*shape, dtype=dtype)
        if dtype.is_floating_point:
            x[0, 1, 3, 4], x[0, 2, 2, 2], x[0, 0, :4] = torch.nan, torch.inf, -torch.inf
        for dilation, ceil in [([1, 1], False), ([2, 1], True)]:
            reference = x if dtype != torch.bfloat16 else x.float()
            values, indices = F.max_pool2d(reference, pool[0], pool[1] or None, pool[2], dilation, ceil, return_indices=True)
            for order in ORDERS:
                outs = [Out(tuple(values.shape), dtype, order), Out(tuple(values.shape), torch.int64, order)]
                results = run("aten::max_pool2d_with_indices.out", laid_out(x, order), *pool, dilation, ceil, outs=outs)
                torch.testing.assert_close(results[0], values.to(dtype), rtol=0, atol=0, equal_nan=True, check_stride=False)
                torch.testing.assert_close(results[1], indices, rtol=0, atol=0, check_stride=False)


def test_max_pool2d_of_a_window_that_misses_the_image() -> None:
    x = random(1, 2, 3, 3)
    values, indices = F.max_pool2d(x, 2, 1, 1, 4, return_indices=True)
    outs = [Out(tuple(values.shape), torch.float32), Out(tuple(values.shape), torch.int64)]
    results = run("aten::max_pool2d_with_indices.out", x, [2, 2], [1, 1], [1, 1], [4, 4], False, outs=outs)
    assert torch.equal(results[0], values) and torch.equal(results[1], indices)


@pytest.mark.parametrize("dtype", REAL)
def test_adaptive_avg_pool2d(dtype: torch.dtype) -> None:
    for shape, size in [((2, 20, 7, 7), [1, 1]), ((1, 3, 10, 11), [3, 4]), ((3, 5, 6), [6, 2]), ((1, 2, 3, 3), [5, 7])]:
        x = random(*shape, dtype=dtype)
        expected = aten._adaptive_avg_pool2d(x.double(), size).to(dtype)
        for order in ORDERS if len(shape) == 4 else [[0, 1, 2]]:
            check("aten::_adaptive_avg_pool2d.out", expected, laid_out(x, order), size, order=order, tolerance=LIMITS[dtype])


def test_pools_refuse() -> None:
    x = random(1, 2, 6, 6)
    out, both = [Out((1, 2, 6, 6), torch.float32)], [Out((1, 2, 6, 6), torch.float32), Out((1, 2, 6, 6), torch.int64)]
    refused: list[tuple[list[int], list[int], list[int]]] = [
        ([0, 1], [1, 1], [0, 0]),
        ([2, 2], [0, 1], [0, 0]),
        ([2, 2], [1, 1], [2, 0]),
        ([2, 2], [1, 1], [-1, 0]),
        ([9, 9], [1, 1], [0, 0]),
        ([], [], [0]),
    ]
    for pool in refused:
        with pytest.raises(KernelError):
            run("aten::avg_pool2d.out", x, *pool, outs=out)
        with pytest.raises(KernelError):
            run("aten::max_pool2d_with_indices.out", x, *pool, outs=both)
    for args in [([2, 2], [1, 1], [0, 0], [0, 1]), ([2, 2], [1, 1], [0, 0], [2**40, 1]), ([2**62, 2], [1, 1], [0, 0], [1, 1])]:
        with pytest.raises(KernelError):
            run("aten::max_pool2d_with_indices.out", x, *args, outs=both)
    with pytest.raises(KernelError, match="divisor"):
        run("aten::avg_pool2d.out", x, [2, 2], [1, 1], [0, 0], False, True, 0, outs=out)
    with pytest.raises(KernelError):
        run("aten::_adaptive_avg_pool2d.out", x, [-1, 1], outs=out)


RESIZES = [(7, 9), (12, 10), (3, 2), (6, 5), (1, 1), (24, 31)]


@pytest.mark.parametrize("dtype", REAL)
def test_upsample(dtype: torch.dtype) -> None:
    x = random(2, 3, 6, 5, dtype=dtype)
    reference = x.float() if dtype != torch.float64 else x
    limit = max(LIMITS[dtype], 1e-5) if dtype != torch.float64 else 1e-12
    for order in ORDERS:
        y = laid_out(x, order)
        for size in RESIZES:
            check("aten::upsample_nearest2d.vec_out", F.interpolate(x, size), y, list(size), None, order=order, tolerance=0)
            for corners in (False, True):
                expected = F.interpolate(reference, size, mode="bilinear", align_corners=corners).to(dtype)
                check("aten::upsample_bilinear2d.vec_out", expected, y, list(size), corners, None, order=order, tolerance=limit)
                expected = F.interpolate(reference, size, mode="bilinear", align_corners=corners, antialias=True).to(dtype)
                check("aten::_upsample_bilinear2d_aa.out", expected, y, list(size), corners, None, None, order=order, tolerance=limit)
        for factors in [[2.0, 2.0], [1.5, 2.3], [0.5, 0.7]]:
            expected = aten.upsample_nearest2d.vec(x, None, factors)
            check("aten::upsample_nearest2d.vec_out", expected, y, None, factors, order=order, tolerance=0)
            expected = aten.upsample_bilinear2d.vec(reference, None, False, factors).to(dtype)
            check("aten::upsample_bilinear2d.vec_out", expected, y, None, False, factors, order=order, tolerance=limit)


def test_upsample_refuses() -> None:
    x = random(1, 2, 4, 4)
    for args in [
        (x, None, None),
        (x, [2], None),
        (x, [0, 3], None),
        (x, [3, 3], [1.0, 1.0]),
        (x, None, [0.0, 1.0]),
        (x, None, [-1.0, 1.0]),
        (x, None, [1e300, 1.0]),
        (x[0], [3, 3], None),
    ]:
        with pytest.raises(KernelError):
            run("aten::upsample_nearest2d.vec_out", *args, outs=[Out((1, 2, 3, 3), torch.float32)])
    with pytest.raises(KernelError, match="scale"):
        run("aten::_upsample_bilinear2d_aa.out", x, [3, 3], False, 1e-300, None, outs=[Out((1, 2, 3, 3), torch.float32)])
    for scale in (0.0, -1.0, float("nan")):
        expected = torch.ops.aten._upsample_bilinear2d_aa(x, [3, 3], False, scale, None)
        check("aten::_upsample_bilinear2d_aa.out", expected, x, [3, 3], False, scale, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_grid_sampler(mode: int, padding: int, dtype: torch.dtype) -> None:
    for shape in [(2, 3, 5, 7), (1, 1, 1, 4)]:
        x, grid = random(*shape, dtype=dtype), random(shape[0], 4, 6, 2, dtype=dtype, seed=3) * 1.3
        for corners in (False, True):
            expected = aten.grid_sampler_2d(x, grid, mode, padding, corners)
            limit = 2e-4 if dtype == torch.float32 else 1e-10
            for order in ORDERS:
                check("aten::grid_sampler_2d.out", expected, laid_out(x, order), grid, mode, padding, corners, order=order, tolerance=limit)


def test_grid_sampler_at_odd_positions() -> None:
    x = random(1, 2, 4, 4)
    values = [float("nan"), float("inf"), -float("inf"), 1e38, -1e38, 1.0, -1.0, 0.0]
    grid = torch.tensor([[[[a, b] for a in values] for b in values]])
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            result = run("aten::grid_sampler_2d.out", x, grid, mode, padding, False, outs=[Out((1, 2, 8, 8), torch.float32)])[0]
            inner = aten.grid_sampler_2d(x, grid[:, 5:, 5:], mode, padding, False)
            torch.testing.assert_close(result[:, :, 5:, 5:], inner, rtol=1e-5, atol=1e-5)
    for mode, padding in [(3, 0), (-1, 0), (0, 3), (0, -1)]:
        with pytest.raises(KernelError):
            run("aten::grid_sampler_2d.out", x, grid, mode, padding, False, outs=[Out((1, 2, 8, 8), torch.float32)])


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.5, float("inf")])
def test_distances(p: float) -> None:
    for a, b in [((5, 4), (3, 4)), ((2, 5, 4), (2, 3, 4)), ((2, 1, 5, 4), (3, 2, 4)), ((5, 0), (3, 0)), ((0, 4), (3, 4))]:
        x, y = random(*a), random(*b, seed=1)
        if x.dim() == y.dim():
            check("aten::_cdist_forward.out", aten._cdist_forward(x, y, p, 2), x, y, p, 2, tolerance=1e-5)
        else:
            expected = torch.cdist(x.double(), y.double(), p, compute_mode="donot_use_mm_for_euclid_dist").float()
            check("aten::_cdist_forward.out", expected, x, y, p, None, tolerance=1e-5)
    for rows in (0, 1, 2, 6):
        x = random(rows, 5)
        check("aten::_pdist_forward.out", aten._pdist_forward(x, p), x, p, tolerance=1e-5)
    with pytest.raises(KernelError, match="negative"):
        run("aten::_pdist_forward.out", random(3, 2), -1.0, outs=[Out((3,), torch.float32)])
