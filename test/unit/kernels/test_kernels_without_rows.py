"""Kernels that no row describes: of numbers, of memory, and those that only programs of other compilers call; against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_harness import Out, check, run, run_number

pytestmark = pytest.mark.every_library

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 88.0, -104.0, 1e30, float("inf"), float("-inf"), float("nan")]
REALS = {torch.float32: 4e-6, torch.float64: 1e-11, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
X = torch.randn((4, 5, 6), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("executorch_prim::add.Scalar", (2, 3), 5),
        ("executorch_prim::add.Scalar", (2, 0.5), 2.5),
        ("executorch_prim::add.Scalar", (2**63 - 1, 1), -(2**63)),
        ("executorch_prim::sub.Scalar", (2, 3), -1),
        ("executorch_prim::mul.Scalar", (2, 3.0), 6.0),
        ("executorch_prim::floordiv.Scalar", (-7, 2), -4),
        ("executorch_prim::floordiv.int", (-(2**63), -1), -(2**63)),
        ("executorch_prim::floordiv.Scalar", (7.5, -2), -4.0),
        ("executorch_prim::truediv.Scalar", (7, 2), 3.5),
        ("executorch_prim::mod.Scalar", (-7, 3), 2),
        ("executorch_prim::mod.int", (7, -3), -2),
        ("executorch_prim::neg.Scalar", (3,), -3),
        ("executorch_prim::eq.Scalar", (3, 3.0), True),
        ("executorch_prim::lt.Scalar", (2**53, 2**53 + 1), True),
        ("executorch_prim::le.Scalar", (4, 3), False),
        ("executorch_prim::gt.Scalar", (4, 3), True),
        ("executorch_prim::ge.Scalar", (2.5, 3), False),
        ("executorch_prim::sym_max.Scalar", (4, 3), 4),
        ("executorch_prim::sym_min.Scalar", (4, 3.5), 3.5),
        ("executorch_prim::sym_not.Scalar", (True,), False),
        ("executorch_prim::sym_ite.Scalar", (True, 3, 4.5), 3),
        ("executorch_prim::sym_ite.Scalar", (False, 3, 4.5), 4.5),
        ("executorch_prim::sym_float.Scalar", (3,), 3.0),
        ("executorch_prim::sym_int.Scalar", (-3.7,), -3),
        ("executorch_prim::ceil.Scalar", (2.1,), 3),
        ("executorch_prim::round.Scalar", (2.5,), 2),
        ("executorch_prim::trunc.Scalar", (-2.9,), -2),
        ("aten::sym_size.int", (torch.ones(3, 4), -1), 4),
        ("aten::sym_numel", (torch.ones(3, 4),), 12),
        ("aten::_local_scalar_dense", (torch.tensor([5], dtype=torch.int32),), 5),
        ("aten::_local_scalar_dense", (torch.tensor(2.5, dtype=torch.float16),), 2.5),
        ("aten::_local_scalar_dense", (torch.tensor(True),), True),
    ],
)
def test_numbers(name: str, arguments: tuple[Any, ...], expected: float) -> None:
    result = run_number(name, *arguments)
    assert result == expected
    assert type(result) is type(expected)


def test_views_and_copies() -> None:
    images, row = X.reshape(2, 3, 4, 5), torch.arange(6)
    (viewed,) = run("executorch_prim::et_view.default", X, [20, 6], outs=[Out((20, 6), torch.float32)])
    assert viewed.shape == (20, 6)
    (copied,) = run("aten::copy_", row, outs=[Out((4, 5, 6), torch.float32, initial=X)])
    assert torch.equal(copied, row.float().expand(4, 5, 6))
    (placed,) = run("executorch_prim::et_copy_index.tensor", X[0], 2, outs=[Out((4, 5, 6), torch.float32, initial=X)], in_place=True)
    assert torch.equal(placed, torch.cat([X[:2], X[:1], X[3:]]))
    check("dim_order_ops::_clone_dim_order.out", images, images, False, [0, 2, 3, 1], order=[0, 2, 3, 1])
    for name, order in (("_clone_dim_order", [0, 2, 3, 1]), ("_to_dim_order_copy", [0, 1, 2, 3])):
        check(f"dim_order_ops::{name}.out", images, images.to(memory_format=torch.channels_last), False, order, order=order)
    padded = torch.constant_pad_nd(images, (0, 1, 2, -1), 3.0)
    check("aten::constant_pad_nd.out", padded, images.to(memory_format=torch.channels_last), [0, 1, 2, -1], 3.0, order=[0, 2, 3, 1])
    (made,) = run("dim_order_ops::_empty_dim_order.out", [2, 3], outs=[Out((2, 3), torch.float32)])
    assert made.shape == (2, 3)
    check("aten::_conj_physical.out", X, X)


def test_bad_places_to_copy_to() -> None:
    with pytest.raises(Exception, match="elements"):
        run("executorch_prim::et_view.default", X, [5, 3], outs=[Out((5, 3), torch.float32)])
    with pytest.raises(Exception, match="broadcast"):
        run("aten::copy_", torch.ones(3), outs=[Out((4, 5, 6), torch.float32, initial=X)])
    with pytest.raises(Exception, match="range"):
        run("executorch_prim::et_copy_index.tensor", X[0], 4, outs=[Out((4, 5, 6), torch.float32, initial=X)], in_place=True)


@pytest.mark.parametrize("dtype", [*REALS, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool])
def test_functions_and_running_products(dtype: torch.dtype) -> None:
    values = torch.tensor(SPECIAL) if dtype.is_floating_point else X.clamp(0, 9).reshape(-1)
    x = torch.cat([values.to(dtype), X.reshape(-1).clamp(0, 3).to(dtype)])
    check("aten::erfc.out", torch.erfc(x), x, tolerance=REALS.get(dtype, 4e-6))
    product = torch.cumprod(X.double(), 1).to(dtype) if dtype.is_floating_point else torch.cumprod(X.clamp(0, 9).to(dtype), 1)
    check("aten::cumprod.out", product, X.to(dtype) if dtype.is_floating_point else X.clamp(0, 9).to(dtype), 1, tolerance=REALS.get(dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_repeats_as_a_tensor(dtype: torch.dtype) -> None:
    repeats = torch.tensor([2, 0, 3], dtype=dtype)
    check("aten::repeat_interleave.Tensor_out", torch.repeat_interleave(repeats), repeats, dynamic=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.uint8])
def test_elements_written_in_place(dtype: torch.dtype) -> None:
    x = (X * 9).abs().to(dtype)
    for given in ([torch.tensor([0, 3])], [None, torch.tensor([[1, -2]])], [x[:, 0, 0] > 5, torch.tensor([1])]):
        values = torch.ones((), dtype=dtype).expand(torch.ops.aten.index.Tensor(x, given).shape).contiguous()
        for accumulate in (False, True):
            written = torch.ops.aten.index_put(x, given, values, accumulate)
            (result,) = run("aten::index_put_", given, values, accumulate, outs=[Out((4, 5, 6), dtype, initial=x)])
            assert torch.equal(result, written)


@pytest.mark.parametrize("dtype", list(REALS))
def test_batch_norm_in_training(dtype: torch.dtype) -> None:
    x, ones, limit = X.to(dtype), torch.ones(5, dtype=dtype), REALS[dtype] * 4
    for weight, bias in ((X[0, :, 0].to(dtype), X[1, :, 0].to(dtype)), (None, None)):
        wide = [None if value is None else value.double() for value in (weight, bias)]
        expected = torch.ops.aten._native_batch_norm_legit.no_stats(x.double(), *wide, True, 0.1, 1e-3)
        outs = [Out((4, 5, 6), dtype), Out((5,), dtype), Out((5,), dtype)]
        results = run("aten::_native_batch_norm_legit.out", x, weight, bias, ones, ones, True, 0.1, 1e-3, outs=outs)
        for result, value in zip(results, expected, strict=True):
            torch.testing.assert_close(result.double(), value, rtol=limit, atol=limit)
