"""Kernels that work on several short rows, or several lines, at once: sizes that fill and do not fill what they take together."""

from __future__ import annotations

from math import log2
from typing import Any, cast

import pytest
import torch
from kernel_harness import Out, check, run

pytestmark = pytest.mark.every_library

fft: Any = cast(Any, torch).fft
LENGTHS = (1, 2, 3, 5, 8, 15, 16, 17, 31, 50, 63, 64, 100, 127, 128, 130)
DTYPES = (torch.float32, torch.float64, torch.int32, torch.float16, torch.bool)


def drawn(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(shape, generator=generator) * 4).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operands_are_repeated_over_short_rows(dtype: torch.dtype) -> None:
    for n in LENGTHS:
        for rows in (2, 7, 133):
            x = drawn(3, rows, n, dtype=dtype)
            others = (drawn(3, rows, 1, dtype=dtype), drawn(rows, 1, dtype=dtype), drawn(n, dtype=dtype), drawn(3, 1, n, dtype=dtype))
            for other in (*others, drawn(3, 1, 1, dtype=dtype)):
                check("aten::mul.out", x * other, x, other)
                check("aten::mul.out", other * x, other, x)
            column, row, condition = others[1], others[2], drawn(3, rows, 1, dtype=torch.bool)
            check("aten::mul.out", column * row, column, row)
            check("aten::where.self_out", torch.where(condition, x, row), condition, x, row)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
def test_lines_are_transformed_side_by_side(count: int) -> None:
    for n in (1, 2, 3, 4, 6, 7, 8, 16, 20, 24, 48, 60, 64, 101, 202, 400):
        x = drawn(count, n, dtype=torch.float64)
        expected = fft.rfft(x)
        found = run("aten::_fft_r2c.out", x, [1], 0, True, outs=[Out(tuple(expected.shape), torch.complex128)])[0]
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
        for forward, transform in ((True, fft.fft), (False, fft.ifft)):
            z = torch.complex(x, drawn(count, n, dtype=torch.float64).flip(0))
            for axis, given in ((1, z), (0, z.T.contiguous())):
                norm = 0 if forward else 2
                found = run("aten::_fft_c2c.out", given, [axis], norm, forward, outs=[Out(tuple(given.shape), torch.complex128)])[0]
                torch.testing.assert_close(found, transform(given, dim=axis), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("count", [1, 3, 4, 15, 16, 17, 37])
def test_real_lines_of_an_even_size_are_transformed_as_pairs(count: int) -> None:
    for n in (2, 4, 6, 8, 10, 12, 14, 16, 18, 22, 26, 30, 50, 64, 98, 120, 250, 400, 480, 512, 1000, 1024):
        x = drawn(count, n, dtype=torch.float32)
        expected = fft.rfft(x.double())
        for norm, scale in ((0, 1.0), (1, n**-0.5), (2, 1 / n)):
            (found,) = run("aten::_fft_r2c.out", x, [1], norm, True, outs=[Out(tuple(expected.shape), torch.complex64)])
            away = (found - expected * scale).abs().max() / (x.double().square().sum(1).sqrt().max() * scale)
            assert away < 1.2e-7 * (2 + log2(n)), (n, norm)


def test_a_line_without_finite_numbers_leaves_those_beside_it() -> None:
    x = drawn(16, 64, dtype=torch.float32)
    x[3, 5], x[9, 0] = torch.nan, torch.inf
    (found,) = run("aten::_fft_r2c.out", x, [1], 0, True, outs=[Out((16, 33), torch.complex64)])
    is_finite = torch.ones(16, dtype=torch.bool)
    is_finite[[3, 9]] = False
    torch.testing.assert_close(found[is_finite], fft.rfft(x[is_finite]), rtol=1e-5, atol=1e-4)
    assert not found[~is_finite].isfinite().any()
