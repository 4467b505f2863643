"""How much scratch memory kernels ask for: what the shapes need, and nothing where operands are used where they lie."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import pytest
import torch
from kernel_harness import CContext, Out, call_of, dim_order, kernels, read, run, scratch_of

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


def convolved(x: torch.Tensor, largest: torch.Tensor, memory: int | None, *args: Any) -> tuple[int, torch.Tensor]:
    """The bytes that a convolution of a dynamic image asks for, and its result, with so much memory (None: with what it asks for)."""
    out, bound, name = torch.convolution(x, *args), torch.convolution(largest, *args), "aten::convolution.out"
    order = dim_order(largest)
    call, kernel = call_of(name, (x, *args), [Out(out.shape, F32, order, dynamic=True)], False), kernels()[name]
    for value, sizes in ((call.values[0], largest.shape), (call.values[-1], bound.shape)):
        tensor = value.payload.tensor.contents
        tensor.dynamic, tensor.dim_order = 1, (ctypes.c_uint8 * 4)(*order)
        ctypes.memmove(tensor.bounds, (ctypes.c_int32 * 4)(*sizes), 16)
    asked = kernel.scratch(call.array(), len(call.values))
    size = asked if memory is None else memory
    context = CContext(scratch=call.frame.storage(b"\xee" * size)[1], scratch_size=size)
    status = kernel.run(ctypes.pointer(context), call.array(), len(call.values))
    assert status == 0, context.text()
    made, value, buffer, start, _ = call.written[0]
    return asked, read(made, value, buffer, start)


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("size", [(9, 9), (9, 1), (1, 9)], ids=str)
@pytest.mark.parametrize(
    "layer",
    [
        torch.nn.Conv2d(6, 20, 3, padding=1),
        torch.nn.Conv2d(96, 96, 3, padding=1),
        torch.nn.Conv2d(6, 2, 1),
        torch.nn.Conv2d(6, 1, 5, padding=4, stride=2),
        torch.nn.Conv2d(1, 6, 3, padding=1),
        torch.nn.Conv2d(8, 8, 3, padding=1, groups=8),
        torch.nn.Conv2d(6, 24, 3, padding=1, groups=3),
        torch.nn.ConvTranspose2d(6, 20, 3, padding=1),
        torch.nn.ConvTranspose2d(6, 1, 4, stride=2),
    ],
    ids=str,
)
def test_images_down_to_one_pixel_need_no_more_than_the_largest(layer: Any, size: tuple[int, int], format: torch.memory_format) -> None:
    def image(*sizes: int) -> torch.Tensor:
        return torch.randn(2, layer.in_channels, *sizes).contiguous(memory_format=format)

    settings = layer.stride, layer.padding, layer.dilation, layer.transposed, layer.output_padding, layer.groups
    args = layer.weight.detach(), layer.bias.detach(), *settings
    largest = image(*size)
    most, _ = convolved(largest, largest, None, *args)
    for height, width in product(range(1, size[0] + 1), range(1, size[1] + 1)):
        x = image(height, width)
        asked, result = convolved(x, largest, most, *args)
        assert asked <= most, (height, width)
        torch.testing.assert_close(result, torch.convolution(x, *args), atol=1e-5, rtol=1e-5)
