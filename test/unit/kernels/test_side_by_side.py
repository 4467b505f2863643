"""Kernels that work on several rows, lines, columns or places at once: sizes that fill and do not fill what they take together."""

from __future__ import annotations

from math import log2
from typing import Any, cast

import pytest
import torch
from kernel_harness import Out, check, run
from torch.nn import functional

pytestmark = pytest.mark.every_library

fft: Any = cast(Any, torch).fft
LENGTHS = (1, 2, 3, 5, 8, 15, 16, 17, 31, 50, 63, 64, 100, 127, 128, 130)
DTYPES = (torch.float32, torch.float64, torch.int32, torch.float16, torch.bool)
WIDTHS = (1, 15, 16, 17, 19, 33, 50)
WINDOWS = (((2, 2), (2, 2), (0, 0)), ((3, 3), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)), ((1, 5), (1, 3), (0, 2)), ((9, 9), (1, 1), (4, 4)))
FORMATS = (torch.contiguous_format, torch.channels_last)


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


def image(width: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(2, 5, 9, width).to(dtype)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_pools_of_wide_images(window: tuple[tuple[int, int], ...], ceil: bool) -> None:
    (height, width), stride, padding = window
    for x in (image(n).contiguous(memory_format=form) for n in WIDTHS if n >= width for form in FORMATS):
        for counts in (True, False):
            expected = functional.avg_pool2d(x.double(), (height, width), stride, padding, ceil, counts)
            check("aten::avg_pool2d.out", expected.float(), x, [height, width], [*stride], [*padding], ceil, counts, None)
        values, places = functional.max_pool2d(x, (height, width), stride, padding, 1, ceil, return_indices=True)
        arguments = x, [height, width], [*stride], [*padding], [1, 1], ceil
        outs = [Out(tuple(values.shape), torch.float32), Out(tuple(values.shape), torch.int64)]
        found = run("aten::max_pool2d_with_indices.out", *arguments, outs=outs)
        assert torch.equal(found[0], values) and torch.equal(found[1], places)
        assert torch.equal(run("flambeau::max_pool2d.out", *arguments, outs=outs[:1])[0], values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.uint8])
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_resizes_of_wide_images(dtype: torch.dtype, form: torch.memory_format) -> None:
    for width in WIDTHS:
        x = (image(width) * 8).to(dtype).contiguous(memory_format=form)
        for size in ([18, 2 * width], [9, 3 * width], [4, width // 2 + 1], [13, width + 5]):
            check("aten::upsample_nearest2d.vec_out", torch.ops.aten.upsample_nearest2d.vec(x, size, None), x, size, None)
            if dtype.is_floating_point:
                for corners in (False, True):
                    wide = x.float() if dtype == torch.float16 else x  # torch rounds in between
                    expected = torch.ops.aten.upsample_bilinear2d.vec(wide, size, corners, None).to(dtype)
                    check("aten::upsample_bilinear2d.vec_out", expected, x, size, corners, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
@pytest.mark.parametrize("index", [torch.int64, torch.int32])
def test_indices_of_a_few_elements_each(dtype: torch.dtype, index: torch.dtype) -> None:
    def drawn(*shape: int) -> torch.Tensor:
        return (torch.randn(shape) * 100).to(dtype)

    overlapping = (torch.arange(5)[:, None] * 3 + torch.arange(8) - 20).to(index)
    rows = torch.tensor([[1], [0], [-1], [2], [1]], dtype=index)
    for self, indices, values in (
        (drawn(20), [overlapping], drawn(5, 8)),
        (drawn(3, 20), [rows, overlapping], drawn(5, 8)),
        (drawn(3, 20), [rows, overlapping], drawn(8)),
        (drawn(3, 20), [rows, overlapping], drawn(1)),
        (drawn(2, 3, 20), [None, rows, overlapping], drawn(2, 5, 8)),
        (drawn(2, 20, 2, 2), [None, overlapping], drawn(2, 5, 8, 1, 2)),
        (drawn(20, 3, 3), [overlapping], drawn(5, 8, 3, 3)),
        (drawn(3, 2, 20), [rows, None, overlapping], drawn(5, 8, 2)),
        (drawn(20), [torch.tensor(3, dtype=index)], drawn()),
    ):
        given = [None if one is None else one.long() for one in indices]
        check("aten::index_put.out", torch.ops.aten.index_put(self, given, values, True), self, indices, values, True)
    apart = torch.randperm(20)[:12].view(3, 4).to(index)
    self, values = drawn(2, 20), drawn(2, 3, 4)
    check("aten::index_put.out", torch.ops.aten.index_put(self, [None, apart.long()], values), self, [None, apart], values, False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_sums_at_places_that_repeat(dtype: torch.dtype) -> None:
    for width in WIDTHS:
        x, more, places = image(width)[0, 0].to(dtype), (image(width)[0, 0] * 4).to(dtype), torch.randint(0, width, (9, width))
        for axis, at in ((1, places), (0, places % 9)):
            check("aten::scatter_add.out", x.scatter_add(axis, at, more), x, axis, at, more)
