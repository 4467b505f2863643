"""Matrix products and convolution of the aten:: namespace against torch, over types, shapes and layouts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import KernelError, Out, check, run

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


@pytest.mark.parametrize("dtype", REAL + WHOLE)
def test_products_of_every_type(dtype: torch.dtype) -> None:
    limit = LIMITS.get(dtype, 0.0)
    for a in orders(random(5, 12, dtype=dtype)):
        for b in orders(random(12, 9, dtype=dtype)):
            check("aten::mm.out", product(a, b), a, b, tolerance=limit)
            batch_a, batch_b = torch.stack([a, a + 1, a]), torch.stack([b, b, b + 1])
            check("aten::bmm.out", product(batch_a, batch_b), batch_a, batch_b, tolerance=limit)
    x, w, b = random(2, 3, 12, dtype=dtype), random(7, 12, dtype=dtype), random(7, dtype=dtype)
    check("aten::linear.out", product(x, w.T) + b, x, w, b, tolerance=limit)
    check("aten::addmm.out", product(x[0], w.T) * 2 + b * 3, b, x[0], w.T.contiguous(), 3, 2, tolerance=2 * limit)


def test_bmm_layouts() -> None:
    a, b = random(3, 20, 30), random(3, 30, 40)
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0]):
        back = [order.index(d) for d in range(3)]
        p = a.permute(order).contiguous().permute(back)
        q = b.permute(order).contiguous().permute(back)
        check("aten::bmm.out", product(a, b), p, b, tolerance=4e-6)
        check("aten::bmm.out", product(a, b), a, q, tolerance=4e-6)
        check("aten::bmm.out", product(a, b), a, b, order=order, tolerance=4e-6)


def test_addmm_broadcasts() -> None:
    a, b = random(6, 10), random(10, 9)
    for shape in [(), (1,), (9,), (6, 9), (6, 1), (1, 9), (1, 1)]:
        self = random(*shape)
        for beta, alpha in [(1, 1), (0.5, 2), (0, 1), (2, 0)]:
            expected = torch.addmm(self.double(), a.double(), b.double(), beta=beta, alpha=alpha).float()
            check("aten::addmm.out", expected, self, a, b, beta, alpha, tolerance=4e-6)
            check("aten::addmm.out", expected, self, a, b, beta, alpha, order=[1, 0], tolerance=4e-6)
    check("aten::addmm.out", a @ b, torch.full((9,), float("nan")), a, b, 0, 1, tolerance=4e-6)
    x, y, z = random(2, 4, 5), random(2, 5, 3), random(4, 3)
    check("aten::baddbmm.out", torch.baddbmm(z, x, y, beta=2, alpha=0.5), z, x, y, 2, 0.5, tolerance=4e-6)


def test_products_keep_nan_and_infinity() -> None:
    for m in (2, 9):
        a, b = random(m, 20), random(20, 18)
        a[1, 3], b[5, 7], b[6, 0] = float("nan"), float("inf"), float("-inf")
        check("aten::mm.out", a @ b, a, b, tolerance=1e-5)


def test_products_refuse() -> None:
    a, b = random(3, 4), random(4, 5)
    out = [Out((3, 5), torch.float32)]
    for name, args in [
        ("aten::mm.out", (a, a)),
        ("aten::mm.out", (a[0], b)),
        ("aten::mm.out", (a, b.double())),
        ("aten::bmm.out", (a, b)),
        ("aten::addmm.out", (random(4), a, b)),
        ("aten::addmm.out", (random(1, 3, 5), a, b)),
        ("aten::linear.out", (a, random(5, 3))),
        ("aten::linear.out", (a, random(5, 4), random(4))),
    ]:
        with pytest.raises(KernelError):
            run(name, *args, outs=out)
    with pytest.raises(KernelError, match="size of"):
        run("aten::mm.out", a, b, outs=[Out((3, 6), torch.float32)])


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


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32])
def test_convolution_of_every_type(case: tuple[Any, ...], dtype: torch.dtype) -> None:
    channels, out, size, kernel, stride, padding, dilation, groups = case
    x, w, b = random(1, channels, *size, dtype=dtype), random(out, channels // groups, *kernel, dtype=dtype), random(out, dtype=dtype)
    rest = (stride, padding, dilation, False, [0], groups)
    check("aten::convolution.out", convolve(x, w, b, *rest), x, w, b, *rest, tolerance=LIMITS.get(dtype, 0.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_transposed_convolution(dtype: torch.dtype) -> None:
    for channels, out, size, kernel, stride, padding, dilation, output_padding, groups in [
        (3, 4, (7,), (3,), [2], [1], [1], [1], 1),
        (4, 6, (5, 6), (3, 3), [2, 1], [1, 0], [1, 2], [1, 0], 2),
        (4, 4, (5, 4), (2, 4), [3, 2], [0, 1], [1, 1], [0, 0], 4),
        (2, 3, (3, 4, 3), (2, 3, 2), [2, 1, 1], [0, 1, 0], [1, 1, 2], [1, 0, 0], 1),
        (17, 20, (9, 8), (4, 4), [2, 2], [1, 1], [1, 1], [0, 0], 1),
    ]:
        x, w, b = random(2, channels, *size, dtype=dtype), random(channels, out // groups, *kernel, dtype=dtype), random(out, dtype=dtype)
        rest = (stride, padding, dilation, True, output_padding, groups)
        expected = convolve(x, w, b, *rest)
        check("aten::convolution.out", expected, x, w, b, *rest, tolerance=LIMITS.get(dtype, 0.0))
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
                tolerance=LIMITS.get(dtype, 0.0),
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


def test_linear_layouts() -> None:
    for rows in (1, 3, 20):
        x, w, b = random(rows, 40), random(30, 40), random(30)
        expected = F.linear(x.double(), w.double(), b.double()).float()
        for weight in orders(w):
            check("aten::linear.out", expected, x, weight, b, tolerance=4e-6)
            check("aten::linear.out", expected - b, x, weight, None, tolerance=4e-6)
    check("aten::linear.out", F.linear(x[0], w), x[0], w, tolerance=4e-6)


def test_convolution_refuses() -> None:
    x, w = random(1, 4, 6, 6), random(8, 4, 3, 3)
    good: list[Any] = [x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    for i, value in [
        (3, [0, 1]),
        (3, [-1, 1]),
        (3, [1, 1, 1]),
        (3, []),
        (3, [2**40, 1]),
        (4, [-1, 0]),
        (4, [2**62, 0]),
        (5, [0, 1]),
        (5, [9, 1]),
        (5, [2**62, 1]),
        (8, 0),
        (8, -1),
        (8, 3),
        (8, 2),
        (2, random(7)),
        (2, random(8).double()),
        (1, random(8, 5, 3, 3)),
        (1, random(8, 4, 3)),
        (1, random(8, 4, 9, 9)),
        (1, random(8, 4, 0, 3)),
        (0, random(4, 6, 6)),
    ]:
        with pytest.raises(KernelError):
            run("aten::convolution.out", *[value if j == i else old for j, old in enumerate(good)], outs=[Out((1, 8, 6, 6), torch.float32)])
    transposed = [x, random(4, 8, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [2, 2], 1]
    with pytest.raises(KernelError, match="output_padding"):
        run("aten::convolution.out", *transposed, outs=[Out((1, 8, 13, 13), torch.float32)])
