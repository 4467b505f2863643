"""Matrix products and convolutions of sizes that reach blocks and tails, in every layout, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import check

pytestmark = pytest.mark.every_library

torch.set_num_threads(1)

REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
WHOLE = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
LIMITS = {torch.float32: 4e-6, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))
    return x.to(dtype) if dtype.is_floating_point else (x * 20).to(torch.int32).to(dtype)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b in double or int64, brought back to the operands' type."""
    wide = torch.float64 if a.dtype.is_floating_point else torch.int64
    return (a.to(wide) @ b.to(wide)).to(a.dtype)


def orders(x: torch.Tensor) -> list[torch.Tensor]:
    """The same matrix (or batch) row by row and column by column."""
    return [x, x.transpose(-1, -2).contiguous().transpose(-1, -2)]


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7, 50, 300])
def test_mm(m: int) -> None:
    for k, n in [(1, 1), (7, 5), (64, 16), (33, 17), (100, 65), (1, 40), (40, 1)]:
        for a in orders(random(m, k)):
            for b in orders(random(k, n, seed=1)):
                expected = product(a, b)
                for order in ([0, 1], [1, 0]):
                    check("aten::mm.out", expected, a, b, order=order, tolerance=1e-5)


@pytest.mark.parametrize("k", [0, 1023, 1024, 1025, 2500])
def test_mm_depth_blocks(k: int) -> None:
    for m, n in [(2, 30), (5, 90), (90, 5)]:
        for a in orders(random(m, k)):
            check("aten::mm.out", product(a, random(k, n)), a, random(k, n), tolerance=2e-4)  # of sums near 100


def test_bmm_layouts() -> None:
    a, b = random(3, 20, 30), random(3, 30, 40)
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0]):
        back = [order.index(d) for d in range(3)]
        p = a.permute(order).contiguous().permute(back)
        q = b.permute(order).contiguous().permute(back)
        check("aten::bmm.out", product(a, b), p, b, tolerance=4e-6)
        check("aten::bmm.out", product(a, b), a, q, tolerance=4e-6)
        check("aten::bmm.out", product(a, b), a, b, order=order, tolerance=4e-6)


CONVOLUTIONS = [
    # channels, out, size, kernel, stride, padding, dilation, groups
    (3, 8, (17,), (3,), [1], [1], [1], 1),
    (4, 6, (30,), (5,), [2], [0], [2], 2),
    (3, 8, (9, 11), (3, 3), [1, 1], [1, 1], [1, 1], 1),
    (3, 20, (15, 14), (3, 3), [2, 2], [1, 1], [1, 1], 1),
    (16, 5, (7, 7), (1, 1), [1, 1], [0, 0], [1, 1], 1),
    (8, 8, (10, 12), (3, 3), [1, 1], [1, 1], [1, 1], 8),
    (8, 16, (10, 12), (3, 5), [2, 1], [1, 4], [1, 2], 8),
    (6, 24, (5, 6), (3, 3), [1, 1], [1, 1], [1, 1], 6),
    (6, 4, (9, 9), (2, 3), [1, 2], [3, 0], [2, 1], 2),
    (2, 3, (4, 5, 6), (3, 2, 3), [1, 1, 2], [1, 0, 1], [1, 2, 1], 1),
    (4, 4, (3, 4, 5), (2, 2, 2), [2], [1], [1], 2),
]


def convolve(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, *rest: Any) -> torch.Tensor:
    wide = torch.float64 if x.dtype.is_floating_point else torch.int64
    bias = None if b is None else b.to(wide)
    if wide == torch.float64:
        return torch.ops.aten.convolution.default(x.to(wide), w.to(wide), bias, *rest).to(x.dtype)
    # int64 convolution is exact in double for these small values
    exact = torch.ops.aten.convolution.default(x.double(), w.double(), None if b is None else b.double(), *rest)
    return exact.round().to(torch.int64).to(x.dtype)


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case: tuple[Any, ...]) -> None:
    channels, out, size, kernel, stride, padding, dilation, groups = case
    for batch in (1, 2):
        x, w, b = random(batch, channels, *size), random(out, channels // groups, *kernel), random(out)
        rest = (stride, padding, dilation, False, [0], groups)
        for bias in (b, None):
            check("aten::convolution.out", convolve(x, w, bias, *rest), x, w, bias, *rest, tolerance=4e-6)
        if len(size) == 2:
            last = x.to(memory_format=torch.channels_last)
            order = [0, 2, 3, 1]
            expected = convolve(x, w, b, *rest)
            check("aten::convolution.out", expected, last, w, b, *rest, order=order, tolerance=4e-6)
            check("aten::convolution.out", expected, last, w.to(memory_format=torch.channels_last), b, *rest, order=order, tolerance=4e-6)
            check("aten::convolution.out", expected, x, w.to(memory_format=torch.channels_last), b, *rest, tolerance=4e-6)
            check("aten::convolution.out", expected, last, w, b, *rest, order=[0, 1, 2, 3], tolerance=4e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_transposed_convolution(dtype: torch.dtype) -> None:
    for channels, out, size, kernel, stride, padding, dilation, output_padding, groups in [
        (3, 4, (7,), (3,), [2], [1], [1], [1], 1),
        (4, 6, (5, 6), (3, 3), [2, 1], [1, 0], [1, 2], [1, 0], 2),
        (4, 4, (5, 4), (2, 4), [3, 2], [0, 1], [1, 1], [0, 0], 4),
        (2, 3, (3, 4, 3), (2, 3, 2), [2, 1, 1], [0, 1, 0], [1, 1, 2], [1, 0, 0], 1),
        (17, 20, (9, 8), (4, 4), [2, 2], [1, 1], [1, 1], [0, 0], 1),
        (40, 70, (70,), (16,), [8], [4], [1], [0], 1),
        (20, 22, (40, 9), (5, 9), [2, 1], [7, 3], [1, 3], [1, 0], 2),
    ]:
        x, w, b = random(2, channels, *size, dtype=dtype), random(channels, out // groups, *kernel, dtype=dtype), random(out, dtype=dtype)
        rest = (stride, padding, dilation, True, output_padding, groups)
        expected = convolve(x, w, b, *rest)
        limit = LIMITS.get(dtype, 0.0) * max(1.0, channels / 8)
        check("aten::convolution.out", expected, x, w, b, *rest, tolerance=limit)
        if len(size) == 2:
            last = x.to(memory_format=torch.channels_last)
            check(
                "aten::convolution.out",
                expected,
                last,
                w,
                b,
                *rest,
                order=[0, 2, 3, 1],
                tolerance=limit,
            )


def test_wide_and_deep_convolutions() -> None:
    for channels, out, size, kernel, stride in [(3, 16, (8, 420), (3, 3), 1), (40, 40, (20, 21), (5, 5), 2), (150, 30, (9, 9), (3, 3), 1)]:
        x, w = random(1, channels, *size), random(out, channels, *kernel)
        rest = ([stride, stride], [2, 2], [1, 1], False, [0, 0], 1)
        expected = F.conv2d(x.double(), w.double(), None, stride, 2).float()
        check("aten::convolution.out", expected, x, w, None, *rest, tolerance=2e-4)  # of sums near 100
        check(
            "aten::convolution.out", expected, x.to(memory_format=torch.channels_last), w, None, *rest, order=[0, 2, 3, 1], tolerance=2e-4
        )


WINDOWS = [
    # kernel, stride, padding, dilation
    ((3, 3), [1, 1], [1, 1], [1, 1]),
    ((3, 3), [2, 2], [1, 1], [1, 1]),
    ((5, 2), [1, 1], [2, 1], [1, 1]),
    ((5, 5), [2, 2], [2, 2], [1, 1]),
    ((7, 7), [1, 1], [3, 3], [1, 1]),
    ((7, 3), [2, 4], [3, 0], [1, 1]),
    ((2, 3), [2, 1], [2, 2], [1, 2]),
    ((3, 1), [3, 2], [1, 2], [2, 1]),
    ((1, 4), [1, 5], [0, 3], [1, 1]),
    ((2, 2), [5, 1], [4, 0], [3, 1]),
]


@pytest.mark.parametrize(
    ("channels", "out", "groups"), [(3, 3, 3), (2, 6, 2), (4, 4, 2), (5, 3, 1), (6, 24, 6), (8, 16, 2), (7, 7, 7), (37, 37, 37)]
)
def test_convolution_of_planes(channels: int, out: int, groups: int) -> None:
    # Rows shorter than vectors, and longer; images of one band of rows, and of several.
    for size in [(5, 5), (7, 7), (9, 14), (3, 17), (12, 33), (4, 36), (90, 200), (4, 300)]:
        for kernel, stride, padding, dilation in WINDOWS:
            x, w, b = random(2, channels, *size), random(out, channels // groups, *kernel), random(out)
            rest = (stride, padding, dilation, False, [0, 0], groups)
            check("aten::convolution.out", convolve(x, w, b, *rest), x, w, b, *rest, tolerance=3e-5)
            check("aten::convolution.out", convolve(x, w, None, *rest), x, w, None, *rest, tolerance=3e-5)


def test_linear_layouts() -> None:
    for rows in (1, 3, 20):
        x, w, b = random(rows, 40), random(30, 40), random(30)
        expected = F.linear(x.double(), w.double(), b.double()).float()
        for weight in orders(w):
            check("aten::linear.out", expected, x, weight, b, tolerance=4e-6)
            check("aten::linear.out", expected - b, x, weight, None, tolerance=4e-6)
    check("aten::linear.out", F.linear(x[0], w), x[0], w, tolerance=4e-6)
