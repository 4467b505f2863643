"""Copies, reshapes, permutations, parts, joins and pads against torch, over element sizes and layouts; the results are bit-exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import KernelError, Out, check, run

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int16, torch.int64, torch.bool]


def sample(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * 50
    return x > 0 if dtype == torch.bool else x.to(torch.int32).to(dtype) if not dtype.is_floating_point else x.to(dtype)


def layouts(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Iterator[torch.Tensor]:
    """The same elements contiguous, with the second dimension innermost, and with the dimensions reversed."""
    x = sample(shape, dtype)
    yield x
    if len(shape) > 2:
        yield x.movedim(1, -1).contiguous().movedim(-1, 1)
    if len(shape) > 1:
        yield x.permute(*reversed(range(len(shape)))).contiguous().permute(*reversed(range(len(shape))))


REARRANGEMENTS: list[tuple[str, tuple[Any, ...], Callable[[torch.Tensor], torch.Tensor]]] = [
    ("permute_copy.out", ([2, 0, 3, 1],), lambda x: x.permute(2, 0, 3, 1)),
    ("permute_copy.out", ([0, -1, 1, 2],), lambda x: x.permute(0, 3, 1, 2)),
    ("permute_copy.out", ([0, 1, 2, 3],), lambda x: x),
    ("transpose_copy.int_out", (1, -1), lambda x: x.transpose(1, -1)),
    ("transpose_copy.int_out", (0, 0), lambda x: x),
    ("flip.out", ([1, -1],), lambda x: x.flip(1, 3)),
    ("flip.out", ([],), lambda x: x),
    ("roll.out", ([2], [2]), lambda x: x.roll(2, 2)),
    ("roll.out", ([-3, 5, 1], [0, 1, 3]), lambda x: x.roll((-3, 5, 1), (0, 1, 3))),
    ("roll.out", ([5], []), lambda x: x.roll(5)),
    ("repeat.out", ([2, 1, 3, 1],), lambda x: x.repeat(2, 1, 3, 1)),
    ("repeat.out", ([2, 2, 1, 1, 3],), lambda x: x.repeat(2, 2, 1, 1, 3)),
    ("repeat.out", ([0, 1, 1, 1],), lambda x: x.repeat(0, 1, 1, 1)),
    ("unsqueeze_copy.out", (-2,), lambda x: x.unsqueeze(-2)),
    ("unsqueeze_copy.out", (0,), lambda x: x.unsqueeze(0)),
    ("view_copy.out", ([6, -1],), lambda x: x.reshape(6, -1)),
    ("view_copy.out", ([-1],), lambda x: x.reshape(-1)),
    ("tril.out", (), torch.tril),
    ("tril.out", (2,), lambda x: torch.tril(x, 2)),
    ("tril.out", (-9,), lambda x: torch.tril(x, -9)),
    ("triu.out", (-1,), lambda x: torch.triu(x, -1)),
    ("triu.out", (9,), lambda x: torch.triu(x, 9)),
    ("select_copy.int_out", (1, -2), lambda x: x.select(1, -2)),
    ("select_copy.int_out", (-1, 0), lambda x: x.select(-1, 0)),
    ("slice_copy.Tensor_out", (1, 1, None, 2), lambda x: x[:, 1::2]),
    ("slice_copy.Tensor_out", (3, -3, 100), lambda x: x[..., -3:]),
    ("slice_copy.Tensor_out", (2, 3, 1), lambda x: x[:, :, 3:1]),
    ("slice_copy.Tensor_out", (0, None, -1), lambda x: x[:-1]),
    ("narrow_copy.out", (2, 1, 2), lambda x: x.narrow(2, 1, 2)),
    ("narrow_copy.out", (1, -3, 3), lambda x: x.narrow(1, -3, 3)),
    ("diagonal_copy.out", (0, 1, 3), lambda x: x.diagonal(0, 1, 3)),
    ("diagonal_copy.out", (2, -1, 0), lambda x: x.diagonal(2, -1, 0)),
    ("diagonal_copy.out", (-3, 1, 2), lambda x: x.diagonal(-3, 1, 2)),
    ("diagonal_copy.out", (50, 1, 2), lambda x: x.diagonal(50, 1, 2)),
    ("unfold_copy.out", (1, 3, 2), lambda x: x.unfold(1, 3, 2)),
    ("unfold_copy.out", (-1, 7, 1), lambda x: x.unfold(-1, 7, 1)),
    ("constant_pad_nd.out", ([1, 2], 3), lambda x: F.pad(x, (1, 2), value=3)),
    ("constant_pad_nd.out", ([1, -2, 0, 3, -1, 1],), lambda x: F.pad(x, (1, -2, 0, 3, -1, 1))),
    ("constant_pad_nd.out", ([-3, -4],), lambda x: F.pad(x, (-3, -4))),
    ("constant_pad_nd.out", ([],), lambda x: x),
    ("clone.out", (), lambda x: x),
    ("_to_copy.out", (), lambda x: x),
    ("alias_copy.out", (), lambda x: x),
    ("detach_copy.out", (), lambda x: x),
    ("lift_fresh_copy.out", (), lambda x: x),
    ("_conj_physical.out", (), lambda x: x),
]


@pytest.mark.parametrize(("name", "arguments", "function"), REARRANGEMENTS)
def test_rearrangements(name: str, arguments: tuple[Any, ...], function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    for shape in ((2, 6, 5, 7), (3, 4, 16, 8)):
        for dtype in DTYPES:
            for x in layouts(shape, dtype):
                expected = function(x)
                check(f"aten::{name}", expected.contiguous(), x, *arguments)
                if expected.dim() == 4:
                    check(f"aten::{name}", expected.contiguous(), x, *arguments, order=[0, 2, 3, 1])


def test_large_transposes_go_by_blocks() -> None:
    for dtype in (torch.float32, torch.uint8, torch.int64, torch.float16):
        x = sample((3, 67, 130), dtype)
        check("aten::transpose_copy.int_out", x.transpose(1, 2).contiguous(), x, 1, 2)
        y = sample((2, 3, 19, 33), dtype)
        check("aten::permute_copy.out", y.permute(0, 2, 3, 1).contiguous(), y, [0, 2, 3, 1])
        check("aten::clone.out", y, y, order=[0, 2, 3, 1])


def test_small_ranks() -> None:
    for shape in ((), (1,), (4,), (2, 3), (0,), (0, 3), (2, 0)):
        x = sample(shape)
        check("aten::clone.out", x, x)
        check("aten::view_copy.out", x.reshape(-1), x, [x.numel()])
        check("aten::unsqueeze_copy.out", x.unsqueeze(-1), x, -1)
        check("aten::repeat.out", x.repeat(2, 3, 1), x, [2, 3, 1])
        check("aten::expand_copy.out", x.expand(3, *shape).contiguous(), x, [3, *[-1] * len(shape)])
        check("aten::flip.out", x.flip(0) if shape else x, x, [0])
        if len(shape) <= 2:
            check("aten::t_copy.out", x.t().contiguous(), x)
    scalar = sample(())
    check("aten::unfold_copy.out", scalar.unfold(0, 1, 1), scalar, 0, 1, 1)
    check("aten::permute_copy.out", scalar, scalar, [])
    check("aten::squeeze_copy.dim_out", scalar, scalar, -1)


def test_squeezes_and_expansions() -> None:
    for x in layouts((1, 3, 1, 4)):
        check("aten::squeeze_copy.dim_out", x.squeeze(2).contiguous(), x, 2)
        check("aten::squeeze_copy.dim_out", x.contiguous(), x, 1)
        check("aten::squeeze_copy.dims_out", x.squeeze((0, 2)).contiguous(), x, [0, -2])
        check("aten::squeeze_copy.out", x.squeeze().contiguous(), x)
        check("aten::expand_copy.out", x.expand(5, 3, 2, 4).contiguous(), x, [5, -1, 2, 4])
    for arguments in ([2, 3, 1, 5], [-1, -1, 1, 4, -1], [4]):
        with pytest.raises(KernelError):
            run("aten::expand_copy.out", sample((1, 3, 1, 4)), arguments, outs=[Out((2, 3, 1, 5), torch.float32)])


def test_pixels() -> None:
    for dtype in (torch.float32, torch.int64, torch.uint8):
        for x in layouts((2, 18, 4, 5), dtype):
            y = F.pixel_shuffle(x, 3)
            check("aten::pixel_shuffle.out", y.contiguous(), x, 3)
            check("aten::pixel_shuffle.out", y.contiguous(), x, 3, order=[0, 2, 3, 1])
            check("aten::pixel_unshuffle.out", x.contiguous(), y.contiguous(), 3)
            check("aten::pixel_unshuffle.out", x.contiguous(), y.contiguous(), 3, order=[0, 2, 3, 1])
    with pytest.raises(KernelError, match="multiple"):
        run("aten::pixel_shuffle.out", sample((1, 5, 2, 2)), 2, outs=[Out((1, 1, 4, 4), torch.float32)])


def test_index_based_pads() -> None:
    for kind, mode in (("reflection", "reflect"), ("replication", "replicate")):
        for dims, padding in ((1, [2, 3]), (1, [-1, 2]), (2, [1, 2, 3, 0]), (3, [1, 1, 2, 0, 0, 2])):
            shape = (4, 5, 6)[-dims:]
            for lead in ((2,), (2, 3)):
                for x in layouts((*lead, *shape)):
                    check(f"aten::{kind}_pad{dims}d.out", F.pad(x, padding, mode=mode).contiguous(), x, padding)
    with pytest.raises(KernelError, match="smaller"):
        run("aten::reflection_pad1d.out", sample((2, 3)), [3, 0], outs=[Out((2, 6), torch.float32)])


def test_as_strided() -> None:
    x = sample((4, 6))
    check("aten::as_strided_copy.out", x.as_strided((3, 2), (7, 2), 1).contiguous(), x, [3, 2], [7, 2], 1)
    check("aten::as_strided_copy.out", x.as_strided((2, 3), (0, 1)).contiguous(), x, [2, 3], [0, 1])
    for sizes, strides, offset in (([5, 6], [6, 1], 0), ([2], [23], 1), ([1], [1], 24), ([2], [-1], 5)):
        with pytest.raises(KernelError):
            run("aten::as_strided_copy.out", x, sizes, strides, offset, outs=[Out(sizes, torch.float32)])


def parts(function: Callable[..., Sequence[torch.Tensor]], *args: Any) -> list[torch.Tensor]:
    return [part.contiguous() for part in function(*args)]


def test_splits() -> None:
    for dtype in DTYPES:
        for x in layouts((6, 7, 4), dtype):
            check("aten::split_copy.Tensor_out", parts(torch.split, x, 3, 1), x, 3, 1)
            check("aten::split_with_sizes_copy.out", parts(torch.split, x, [1, 0, 4, 2], 1), x, [1, 0, 4, 2], 1)
            check("aten::unbind_copy.int_out", parts(torch.unbind, x, -1), x, -1)
    x = sample((6, 7))
    for name, arguments in (("split_with_sizes_copy.out", ([3, 3], 1)), ("split_copy.Tensor_out", (0, 1)), ("unbind_copy.int_out", (1,))):
        with pytest.raises(KernelError):
            run(f"aten::{name}", x, *arguments, outs=[Out((6, 3), torch.float32), Out((6, 3), torch.float32)])


def test_joins() -> None:
    for dtype in DTYPES:
        for x in layouts((2, 3, 4), dtype):
            y = sample((2, 5, 4), dtype, 1)
            check("aten::cat.out", torch.cat([x, y, x], 1), [x, y, x], 1)
            check("aten::cat.out", torch.cat([x, x], -1), [x, x], -1)
            check("aten::cat.out", torch.cat([x, x], 0), [x, x], 0)
            check("aten::stack.out", torch.stack([x, x.flip(0), x], 1).contiguous(), [x, x.flip(0), x], 1)
            check("aten::stack.out", torch.stack([x, x], -1).contiguous(), [x, x], -1)
    empty = torch.empty(0)
    x = sample((2, 3))
    check("aten::cat.out", x, [empty, x], 1)
    mixed = [torch.tensor([1, 2]), torch.tensor([0.5]), torch.tensor([True])]
    check("aten::cat.out", torch.cat(mixed), mixed)
    images = [sample((1, 2, 3, 4), seed=s).to(memory_format=torch.channels_last) for s in range(3)]
    check("aten::cat.out", torch.cat(images, 1), images, 1, order=[0, 2, 3, 1])
    for tensors, dim in (([x, sample((3, 3))], 1), ([x, sample((2,))], 0), ([x], 2), ([], 0)):
        with pytest.raises(KernelError):
            run("aten::cat.out", tensors, dim, outs=[Out((2, 6), torch.float32)])


def test_replaced_parts() -> None:
    for dtype in DTYPES:
        for x in layouts((4, 6, 5), dtype):
            part = sample((4, 2, 5), dtype, 1)
            check("aten::slice_scatter.out", torch.slice_scatter(x, part, 1, 1, 5, 2).contiguous(), x, part, 1, 1, 5, 2)
            row = sample((4, 5), dtype, 1)
            check("aten::select_scatter.out", torch.select_scatter(x, row, 1, -2).contiguous(), x, row, 1, -2)
    with pytest.raises(KernelError, match="shape"):
        run("aten::slice_scatter.out", sample((4, 6)), sample((3, 6)), 0, 0, 2, outs=[Out((4, 6), torch.float32)])


def test_casts() -> None:
    dtypes = [*DTYPES, torch.int8, torch.int32]
    for source in dtypes:
        for target in dtypes:
            for x in layouts((3, 5, 7), source):
                check("aten::_to_copy.out", x.to(target).contiguous(), x, tolerance=0.0)
    reals = torch.tensor([1.5, -1.5, 0.0, -0.0, 100.7, -100.7, 65504.0, 65520.0, 1e-7, 6e-8, 2e-8, 3.4e38, float("inf"), float("nan")])
    for target in (torch.float16, torch.bfloat16, torch.float64, torch.bool):
        check("aten::_to_copy.out", reals.to(target), reals, tolerance=0.0)
    halves = torch.arange(0, 65536, dtype=torch.int32).to(torch.int16).view(torch.float16)
    check("aten::_to_copy.out", halves.float(), halves, tolerance=0.0)
    check("aten::_to_copy.out", halves, halves.float(), tolerance=0.0)
    check("aten::_to_copy.out", halves.view(torch.bfloat16).float(), halves.view(torch.bfloat16), tolerance=0.0)
    bits = torch.randint(-(2**31), 2**31, (20000,), generator=torch.Generator().manual_seed(0)).to(torch.int32).view(torch.float32)
    check("aten::_to_copy.out", bits.to(torch.float16), bits, tolerance=0.0)
    check("aten::_to_copy.out", bits.to(torch.bfloat16), bits, tolerance=0.0)
    large = torch.tensor([2**53 + 1, 2**24 + 1, -(2**62) - 1])
    for target in (torch.float32, torch.float64, torch.int32, torch.int8):
        check("aten::_to_copy.out", large.to(target), large, tolerance=0.0)
    out_of_range = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e20])
    check("aten::_to_copy.out", torch.tensor([-(2**63)] * 4), out_of_range)
    check("aten::_to_copy.out", torch.tensor([-(2**31)] * 4, dtype=torch.int32), out_of_range)


def test_dim_order_operators() -> None:
    x = sample((2, 3, 4, 5))
    check("aten::clone.out", x.contiguous(memory_format=torch.channels_last), x)
    for name in ("_to_dim_order_copy", "_clone_dim_order"):
        check(f"dim_order_ops::{name}.out", x, x, False, [0, 2, 3, 1], order=[0, 2, 3, 1])
    check("dim_order_ops::_to_dim_order_copy.out", x.half(), x, False, [0, 1, 2, 3])
    (result,) = run("dim_order_ops::_empty_dim_order.out", [2, 3], outs=[Out((2, 3), torch.float32)])
    assert result.shape == (2, 3)


def test_copies_into_a_tensor() -> None:
    x, row = sample((3, 4)), sample((4,), torch.int64, 1)
    check("aten::copy.out", row.float().expand(3, 4).contiguous(), x, row)
    (result,) = run("aten::copy_", row, outs=[Out((3, 4), torch.float32, initial=x)])
    assert torch.equal(result, row.float().expand(3, 4))
    with pytest.raises(KernelError, match="broadcast"):
        run("aten::copy_", sample((3,)), outs=[Out((3, 4), torch.float32, initial=x)])


def test_loop_helpers() -> None:
    x = sample((6, 4))
    (result,) = run(
        "executorch_prim::et_copy_index.tensor", sample((4,), seed=1), 2, outs=[Out((6, 4), torch.float32, initial=x)], in_place=True
    )
    x[2] = sample((4,), seed=1)
    assert torch.equal(result, x)
    with pytest.raises(KernelError, match="range"):
        run("executorch_prim::et_copy_index.tensor", sample((4,)), 6, outs=[Out((6, 4), torch.float32, initial=x)], in_place=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("permute_copy.out", ([0, 0],)),
        ("permute_copy.out", ([0],)),
        ("permute_copy.out", ([0, 2],)),
        ("select_copy.int_out", (0, 3)),
        ("select_copy.int_out", (0, -4)),
        ("select_copy.int_out", (2, 0)),
        ("slice_copy.Tensor_out", (0, 0, 2, 0)),
        ("narrow_copy.out", (0, 2, 2)),
        ("narrow_copy.out", (0, 0, -1)),
        ("view_copy.out", ([5, 2],)),
        ("view_copy.out", ([-1, -1],)),
        ("view_copy.out", ([-1, 0],)),
        ("unfold_copy.out", (0, 4, 1)),
        ("unfold_copy.out", (0, 1, 0)),
        ("repeat.out", ([2],)),
        ("repeat.out", ([2, -1],)),
        ("roll.out", ([1, 2], [0])),
        ("flip.out", ([0, 0],)),
        ("constant_pad_nd.out", ([1],)),
        ("constant_pad_nd.out", ([-3, -2],)),
        ("unsqueeze_copy.out", (4,)),
        ("diagonal_copy.out", (0, 0, 0)),
    ],
)
def test_bad_arguments(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(KernelError):
        run(f"aten::{name}", sample((3, 4)), *arguments, outs=[Out((3, 4), torch.float32)])


def test_the_output_must_have_the_inputs_type() -> None:
    for name, arguments in (("permute_copy.out", ([1, 0],)), ("slice_copy.Tensor_out", (0,)), ("view_copy.out", ([4, 3],))):
        with pytest.raises(KernelError, match="type"):
            run(f"aten::{name}", sample((3, 4)), *arguments, outs=[Out((4, 3), torch.int32)])
