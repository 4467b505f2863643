"""How much scratch memory kernels ask for: what the shapes need, and nothing where operands are used where they lie."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_harness import Out, run, scratch_of

pytestmark = pytest.mark.every_library

F32, NEST, CHANNELS_LAST = torch.float32, 704, (0, 2, 3, 1)


def floats(*shape: int) -> torch.Tensor:
    return torch.ones(shape)


@pytest.mark.parametrize(
    "name", ["aten::relu.out", "aten::exp.out", "aten::isnan.out", "aten::add.out", "aten::mul.out", "aten::hardtanh.out"]
)
def test_elementwise_on_floats_side_by_side(name: str) -> None:
    for x in (floats(5), floats(2, 3, 2, 2), floats(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)):
        order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
        out = Out(x.shape, torch.bool if "isnan" in name else F32, order)
        args: tuple[Any, ...] = (x, x) if name in ("aten::add.out", "aten::mul.out") else (x,)
        assert scratch_of(name, *args, outs=[out]) == (2048 if "isnan" in name else 0)
        run(name, *args, outs=[out])


def test_elementwise_with_conversions() -> None:
    assert scratch_of("aten::add.Scalar_out", floats(5), 2, outs=[Out((5,), F32)]) == 512
    assert scratch_of("aten::relu.out", floats(5).half(), outs=[Out((5,), torch.float16)]) == 2048
    assert scratch_of("aten::relu.out", floats(5000).half(), outs=[Out((5000,), torch.float16)]) == 4096
    assert scratch_of("aten::add.out", floats(3, 5), floats(5), outs=[Out((3, 5), F32)]) == NEST + 3 * 1024


def test_softmax() -> None:
    assert scratch_of("aten::_softmax.out", floats(1, 5), -1, False, outs=[Out((1, 5), F32)]) == NEST


@pytest.mark.parametrize("rows", [1, 3])
def test_products_of_few_rows(rows: int) -> None:
    out = Out((rows, 40), F32)
    assert scratch_of("aten::linear.out", floats(rows, 30), floats(40, 30), None, outs=[out]) == 0
    for weight in (floats(30, 40), floats(40, 30).T):
        assert scratch_of("aten::mm.out", floats(rows, 30), weight, outs=[out]) == 0
        assert scratch_of("aten::addmm.out", floats(40), floats(rows, 30), weight, outs=[out]) == 0


def test_products_pack_the_second_operand_only() -> None:
    assert scratch_of("aten::linear.out", floats(64, 30), floats(40, 30), None, outs=[Out((64, 40), F32)]) == 4 * 48 * 30
    assert scratch_of("aten::mm.out", floats(64, 30), floats(30, 40), outs=[Out((64, 40), F32)]) == 4 * 48 * 30
    assert scratch_of("aten::mm.out", floats(30, 64).T, floats(30, 40), outs=[Out((64, 40), F32)]) == 4 * (48 * 30 + 64 * 30)


def test_none_is_taken_where_none_is_asked_for() -> None:
    x, ones = torch.arange(24, dtype=torch.int8).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last), [1, 1]
    weight, numbers = torch.zeros(1, 1, 16, 4, dtype=torch.int8), torch.zeros(3, 5, dtype=torch.int32)
    weight[0, 0, :, 0], numbers[1], numbers[2] = 1, 2**30, 30
    args = (x, weight, numbers, ones, ones, [0, 0], ones, 1, 5, 0, 0, -128, 127)
    outs = [Out((1, 5, 3, 4), torch.int8, CHANNELS_LAST)]
    assert scratch_of("flambeau::quantized_conv2d.out", *args, outs=outs) == 0
    assert torch.equal(run("flambeau::quantized_conv2d.out", *args, outs=outs)[0], x[:, :1].expand(1, 5, 3, 4))
