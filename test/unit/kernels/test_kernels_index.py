"""Gathers, scatters, advanced indexing, masks, sorting and creation against torch; bad indices are refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, check, run, run_number

DTYPES = [torch.float32, torch.float64, torch.float16, torch.uint8, torch.int16, torch.int64, torch.bool]


def sample(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 50
    return x > 0 if dtype == torch.bool else x.to(torch.int32).to(dtype) if not dtype.is_floating_point else x.to(dtype)


def indices(shape: tuple[int, ...], size: int, seed: int = 0, low: int = 0) -> torch.Tensor:
    return torch.randint(low, size, shape, generator=torch.Generator().manual_seed(seed))


def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x
    if x.dim() > 1:
        yield x.t().contiguous().t() if x.dim() == 2 else x.movedim(1, -1).contiguous().movedim(-1, 1)


def test_index_select_and_embedding() -> None:
    for dtype in DTYPES:
        for x in layouts(sample((5, 6, 7), dtype)):
            for dim in (0, 1, -1):
                index = indices((4,), 5)
                check("aten::index_select.out", x.index_select(dim, index).contiguous(), x, dim, index)
                check("aten::index_select.out", x.index_select(dim, index).contiguous(), x, dim, index.int())
        for weight in layouts(sample((9, 5), dtype)):
            for shape in ((), (3,), (2, 4), (0,)):
                index = indices(shape, 9)
                check("aten::embedding.out", torch.nn.functional.embedding(index, weight).contiguous(), weight, index)
    scalar = sample(())
    check("aten::index_select.out", scalar.index_select(0, torch.tensor([0])), scalar, 0, torch.tensor([0]))
    for bad in (-1, 9):
        with pytest.raises(KernelError, match="range"):
            run("aten::embedding.out", sample((9, 5)), torch.tensor([0, bad]), outs=[Out((2, 5), torch.float32)])
        with pytest.raises(KernelError, match="range"):
            run("aten::index_select.out", sample((9, 5)), 0, torch.tensor([0, bad]), outs=[Out((2, 5), torch.float32)])
    with pytest.raises(KernelError, match="int64"):
        run("aten::embedding.out", sample((9, 5)), torch.tensor([0.0]), outs=[Out((1, 5), torch.float32)])


def test_gather_and_scatter() -> None:
    for dtype in DTYPES:
        limit = 5e-2 if dtype == torch.float16 else None  # sums of half precision depend on their order
        for x in layouts(sample((4, 5, 6), dtype)):
            for dim in (0, 1, -1):
                for index in layouts(indices((3, 4, 2), 4)):
                    check("aten::gather.out", torch.gather(x, dim, index).contiguous(), x, dim, index)
                    source = sample((4, 4, 3), dtype, 2)
                    if dtype != torch.bool:
                        check(
                            "aten::scatter_add.out", x.scatter_add(dim, index, source).contiguous(), x, dim, index, source, tolerance=limit
                        )
                    value = True if dtype == torch.bool else 3
                    check("aten::scatter.value_out", x.scatter(dim, index, value).contiguous(), x, dim, index, value)
                permutation = torch.stack([torch.randperm(x.size(dim), generator=torch.Generator().manual_seed(s)) for s in range(3)])
                wide = permutation.view(3, 1, -1).expand(3, 2, -1).movedim(-1, dim).contiguous()
                source = sample(tuple(wide.shape), dtype, 4)
                if all(w <= s for d, (w, s) in enumerate(zip(wide.shape, x.shape, strict=True)) if d != dim % 3):
                    check("aten::scatter.src_out", x.scatter(dim, wide, source).contiguous(), x, dim, wide, source)
    x = sample((4, 5))
    for index, dim in (
        (indices((3, 4), 4), 2),
        (torch.tensor([[4]]), 0),
        (torch.tensor([[-1]]), 0),
        (indices((5, 5), 4), 1),
        (torch.tensor([0]), 0),
    ):
        with pytest.raises(KernelError):
            run("aten::gather.out", x, dim, index, outs=[Out(tuple(index.shape), torch.float32)])
        with pytest.raises(KernelError):
            run("aten::scatter.value_out", x, dim, index, 1.0, outs=[Out((4, 5), torch.float32)])
    check("aten::gather.out", torch.empty(0), x[0], 0, torch.empty(0, dtype=torch.int64))
    scalar = sample(())
    check("aten::gather.out", scalar, scalar, 0, torch.tensor(0))


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_scatter_with_a_reduction(reduce: str) -> None:
    for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8, torch.int16):
        for x in layouts(sample((4, 5, 6), dtype)):
            for dim in (0, 1, -1):
                index = indices((3, 4, 5), 4)
                source = sample((4, 5, 6), dtype, 1)
                for include_self in (True, False):
                    expected = torch.scatter_reduce(x, dim, index, source, reduce, include_self=include_self).contiguous()
                    check("aten::scatter_reduce.two_out", expected, x, dim, index, source, reduce, include_self)
    nan = torch.tensor([float("nan"), 1.0])
    expected = torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 0]), nan, reduce)
    check("aten::scatter_reduce.two_out", expected, torch.zeros(2), 0, torch.tensor([0, 0]), nan, reduce)
    with pytest.raises(KernelError, match="amax"):
        run("aten::scatter_reduce.two_out", nan, 0, torch.tensor([0]), nan, "median", outs=[Out((2,), torch.float32)])


INDEXINGS: list[list[Any]] = [
    [indices((3,), 4)],
    [None, indices((2, 3), 5, low=-5)],
    [indices((3, 1), 4), indices((4,), 5)],
    [None, indices((3, 1), 5), indices((1, 2), 6)],
    [indices((3,), 4), None, indices((3,), 6)],
    [None, None, indices((), 6)],
    [indices((0,), 4)],
    [indices((2,), 4), indices((1,), 5), indices((2,), 6, low=-6)],
    [sample((4,), torch.bool)],
    [sample((4, 5), torch.bool)],
    [None, sample((5, 6), torch.bool)],
    [torch.zeros(4, dtype=torch.bool)],
]


@pytest.mark.parametrize("case", range(len(INDEXINGS)))
def test_advanced_indexing(case: int) -> None:
    given = INDEXINGS[case]
    for dtype in DTYPES:
        for x in layouts(sample((4, 5, 6), dtype)):
            expected = torch.ops.aten.index.Tensor(x, given).contiguous()
            check("aten::index.Tensor_out", expected, x, given, dynamic=True)
            values = sample(tuple(expected.shape), dtype, 1)
            for accumulate in (False, True) if dtype != torch.bool else (False,):
                if not accumulate and case in (2, 3):
                    continue  # equal places: which value stays is not fixed
                written = torch.ops.aten.index_put(x, given, values, accumulate)
                limit = 5e-2 if dtype == torch.float16 else None
                check("aten::index_put.out", written.contiguous(), x, given, values, accumulate, tolerance=limit)
                (result,) = run("aten::index_put_", given, values, accumulate, outs=[Out((4, 5, 6), dtype, initial=x.contiguous())])
                torch.testing.assert_close(result, written, rtol=limit, atol=limit, check_stride=False)
            one = sample((1,), dtype, 2)
            check("aten::index_put.out", torch.ops.aten.index_put(x, given, one).contiguous(), x, given, one)


def test_bad_indexing_leaves_the_tensor_alone() -> None:
    x = sample((4, 5))
    for given in (
        [torch.tensor([4])],
        [None, torch.tensor([-6])],
        [torch.tensor([0]), torch.tensor([0]), torch.tensor([0])],
        [torch.tensor([0, 1]), torch.tensor([0, 1, 2])],
        [None, None],
        [torch.zeros(5, dtype=torch.bool)],
        [torch.tensor([0.0])],
    ):
        with pytest.raises(KernelError):
            run("aten::index.Tensor_out", x, given, outs=[Out((4, 5), torch.float32, dynamic=True)])
        with pytest.raises(KernelError):
            run("aten::index_put_", given, torch.tensor([1.0]), outs=[Out((4, 5), torch.float32, initial=x)])
    with pytest.raises(KernelError, match="broadcast"):
        run("aten::index_put_", [torch.tensor([0, 1])], sample((3, 5)), outs=[Out((4, 5), torch.float32, initial=x)])


def test_data_dependent_shapes() -> None:
    for dtype in DTYPES:
        for x in layouts(sample((4, 5, 6), dtype)):
            mask = sample((5, 1), torch.bool, 3)
            for out_rows in (120, 300):
                (result,) = run("aten::masked_select.out", x, mask, outs=[Out((out_rows,), dtype, dynamic=True)])
                assert torch.equal(result, torch.masked_select(x, mask))
            (places,) = run("aten::nonzero.out", x, outs=[Out((120, 3), torch.int64, dynamic=True)])
            assert torch.equal(places, torch.nonzero(x))
            source = sample((200,), dtype, 4)
            check("aten::masked_scatter.out", torch.masked_scatter(x, mask, source).contiguous(), x, mask, source)
    x = sample((3, 4))
    with pytest.raises(KernelError):
        run("aten::nonzero.out", x, outs=[Out((3, 2), torch.int64, dynamic=True)])
    with pytest.raises(KernelError, match="too few"):
        run("aten::masked_scatter.out", x, x > -1000, torch.ones(3), outs=[Out((3, 4), torch.float32)])
    (places,) = run("aten::nonzero.out", torch.tensor(5.0), outs=[Out((1, 0), torch.int64, dynamic=True)])
    assert places.shape == (1, 0)
    for dtype in (torch.int64, torch.int32):
        repeats = torch.tensor([2, 0, 3], dtype=dtype)
        check("aten::repeat_interleave.Tensor_out", torch.repeat_interleave(repeats), repeats, dynamic=True)
    with pytest.raises(KernelError, match="negative"):
        run("aten::repeat_interleave.Tensor_out", torch.tensor([1, -1]), outs=[Out((4,), torch.int64, dynamic=True)])


def test_sorting() -> None:
    for dtype in DTYPES:
        x = sample((4, 33, 3), dtype)
        x[0, 3:9] = x[0, 2]
        for y in layouts(x):
            for dim in (0, 1, -1):
                for descending in (False, True):
                    expected = torch.sort(y, dim=dim, stable=True, descending=descending)
                    check("aten::sort.values_stable", [e.contiguous() for e in expected], y, True, dim, descending)
                    check("aten::sort.values", [e.contiguous() for e in expected], y, dim, descending)
                    check("aten::argsort.stable_out", expected.indices.contiguous(), y, True, dim, descending)
    special = torch.tensor([0.0, float("nan"), -0.0, float("inf"), -1.0, float("-inf"), 2.0, float("nan")])
    for descending in (False, True):
        check("aten::sort.values_stable", list(torch.sort(special, stable=True, descending=descending)), special, True, 0, descending)
    check("aten::sort.values", list(torch.sort(torch.tensor(3.0))), torch.tensor(3.0))


def test_topk() -> None:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.int64, torch.float16):
        x = torch.stack([torch.randperm(200, generator=generator) for _ in range(6)]).to(dtype).reshape(2, 3, 200)
        for y in layouts(x):
            for dim in (-1, 1):
                for k in (0, 1, 3, y.size(dim)):
                    for largest in (True, False):
                        expected = torch.topk(y, k, dim, largest)
                        check("aten::topk.values", [e.contiguous() for e in expected], y, k, dim, largest)
    nan = torch.tensor([1.0, float("nan"), 3.0])
    check("aten::topk.values", list(torch.topk(nan, 2)), nan, 2)
    for k in (4, -1):
        with pytest.raises(KernelError, match="range"):
            run("aten::topk.values", nan, k, outs=[Out((3,), torch.float32), Out((3,), torch.int64)])


def test_creation() -> None:
    for dtype in [*DTYPES, torch.bfloat16]:
        check("aten::full.out", torch.full((2, 3), 3, dtype=dtype), [2, 3], 3)
        check("aten::full_like.out", torch.full((2, 3), 1, dtype=dtype), sample((2, 3)), True)
        check("aten::zeros.out", torch.zeros((2, 3), dtype=dtype), [2, 3])
        check("aten::ones.out", torch.ones((2, 0), dtype=dtype), [2, 0])
        check("aten::zeros_like.out", torch.zeros((4,), dtype=dtype), sample((4,)))
        check("aten::scalar_tensor.out", torch.scalar_tensor(2.5, dtype=dtype), 2.5)
        check("aten::fill.Scalar_out", torch.full((3,), 7.0).to(dtype), sample((3,)), 7.0)
        check("aten::fill.Tensor_out", torch.full((3,), 7.0).to(dtype), sample((3,)), torch.tensor(7))
        check("aten::new_zeros.out", torch.zeros((2,), dtype=dtype), sample((3,)), [2])
        check("aten::new_full.out", torch.full((2,), 4, dtype=dtype), sample((3,)), [2], 4)
        check("aten::eye.out", torch.eye(3, dtype=dtype), 3)
        check("aten::eye.m_out", torch.eye(2, 4, dtype=dtype), 2, 4)
    check("aten::full.out", torch.full((2, 3, 4, 5), 1.5).contiguous(memory_format=torch.channels_last), [2, 3, 4, 5], 1.5)
    check("aten::full.out", torch.full((3,), float("-inf")), [3], float("-inf"))
    run("aten::empty.out", [3], outs=[Out((3,), torch.float32)])
    with pytest.raises(KernelError):
        run("aten::full.out", [-1], 0, outs=[Out((1,), torch.float32)])


def test_ranges() -> None:
    for dtype in (torch.int64, torch.int32, torch.float32, torch.float64, torch.float16):
        check("aten::arange.out", torch.arange(7, dtype=dtype), 7)
        check("aten::arange.start_out", torch.arange(3, 20, 4, dtype=dtype), 3, 20, 4)
        check("aten::arange.start_out", torch.arange(3, -9, -2, dtype=dtype), 3, -9, -2)
        check("aten::arange.start_out", torch.arange(3, 3, dtype=dtype), 3, 3)
    check("aten::arange.start_out", torch.arange(0.5, 3.0, 0.3), 0.5, 3.0, 0.3)
    check("aten::arange.out", torch.arange(2.5), 2.5)
    check("aten::arange.start_out", torch.arange(2**60, 2**60 + 3), 2**60, 2**60 + 3)
    check("aten::linspace.out", torch.linspace(-1, 2, 7), -1.0, 2.0, 7)
    check("aten::linspace.out", torch.linspace(3, 3, 1), 3, 3, 1)
    for arguments in ((0, 5, -1), (0, 5, 0), (0, float("nan"), 1)):
        with pytest.raises(KernelError):
            run("aten::arange.start_out", *arguments, outs=[Out((5,), torch.float32)])


def test_dropout_outside_training() -> None:
    x = sample((3, 4))
    check("aten::native_dropout.out", [x, torch.ones(3, 4, dtype=torch.bool)], x, 0.5, False)
    with pytest.raises(KernelError, match="eval"):
        run("aten::native_dropout.out", x, 0.5, True, outs=[Out((3, 4), torch.float32), Out((3, 4), torch.bool)])


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
def test_program_numbers(name: str, arguments: tuple[Any, ...], expected: float) -> None:
    result = run_number(name, *arguments)
    assert result == expected
    assert type(result) is type(expected)


def test_bad_program_numbers() -> None:
    for name, arguments in (
        ("executorch_prim::floordiv.Scalar", (1, 0)),
        ("executorch_prim::mod.Scalar", (1, 0)),
        ("executorch_prim::truediv.Scalar", (1, 0)),
        ("executorch_prim::add.Scalar", (1, "x")),
        ("executorch_prim::trunc.Scalar", (float("nan"),)),
        ("executorch_prim::ceil.Scalar", (1e30,)),
        ("aten::sym_size.int", (torch.ones(3), 1)),
        ("aten::_local_scalar_dense", (torch.ones(2),)),
    ):
        with pytest.raises(KernelError):
            run_number(name, *arguments)


def test_views_share_storage() -> None:
    x = sample((3, 4))
    (result,) = run("executorch_prim::et_view.default", x, [4, 3], outs=[Out((4, 3), torch.float32)])
    assert result.shape == (4, 3)
    with pytest.raises(KernelError, match="elements"):
        run("executorch_prim::et_view.default", x, [5, 3], outs=[Out((5, 3), torch.float32)])


@pytest.mark.parametrize(
    ("shape", "indices", "values"),
    [
        ((3, 4), [[True, False, True], [1]], (2,)),
        ((3, 4), [[True, False, True], [1, 3]], (2,)),
        ((3, 4, 2), [[False, True, False], [3, 0, 3]], (3, 2)),
        ((3, 4, 2), [None, [True, False, True, True], [0, 1, 1]], (3, 3)),
        ((3, 4, 2), [[0, 2], None, [True, True]], (2, 4)),
        ((2, 2, 3), [[[True, False], [True, True]], [2, 1, 0]], (3,)),
        ((3, 4), [[False, False, False], [1]], (1,)),
    ],
)
@pytest.mark.parametrize("accumulate", [False, True])
def test_a_mask_stands_beside_indices(
    shape: tuple[int, ...], indices: list[list[Any] | None], values: tuple[int, ...], accumulate: bool
) -> None:
    x, source = torch.randn(shape), torch.randn(values)
    given = [None if index is None else torch.tensor(index) for index in indices]
    check("aten::index_put.out", torch.ops.aten.index_put(x, given, source, accumulate), x, given, source, accumulate)
    chosen = torch.ops.aten.index.Tensor(x, given)
    check("aten::index.Tensor_out", chosen, x, given)
