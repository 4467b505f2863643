"""What kernels refuse when they are called with arguments that no program of ours has, and why they say so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, run, run_number

pytestmark = pytest.mark.every_library

X = torch.arange(12.0).reshape(3, 4)
WHOLE = X.long()
IMAGE = torch.ones(1, 4, 6, 6)
LAST = IMAGE.to(memory_format=torch.channels_last)
FILTER = torch.ones(8, 4, 3, 3)
PACKED = torch.ones(1, 8, 16)
PACKED_FILTER = torch.ones(1, 36, 16)
QUERY, KEY = torch.ones(1, 4, 5, 8), torch.ones(1, 2, 6, 8)


def at(place: int, value: Any, *arguments: Any) -> tuple[Any, ...]:
    """The arguments with another one at a place."""
    return (*arguments[:place], value, *arguments[place + 1 :])


def convolution(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, IMAGE, FILTER, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)


def fused_convolution(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, LAST, PACKED_FILTER, None, None, [3, 3], [1, 1], [1, 1], [1, 1], 1, 8, "none", -1)


def linear(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, torch.ones(2, 8), PACKED, None, None, 4, "none")


def attention(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, QUERY, KEY, KEY, None, False, 1.0, True)


def cached_attention(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, QUERY, KEY, KEY, torch.tensor([2]), 1.0, None)


def norm(place: int, value: Any) -> tuple[Any, ...]:
    return at(place, value, torch.ones(3, 8), None, [8], None, None, 1e-5)


def nearest(*arguments: Any) -> tuple[Any, ...]:
    return (IMAGE, *arguments)


def index(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


# kernel; the shape, and the element type, of its result; arguments; a part of the message..
Refusal = tuple[str, tuple[int, ...], torch.dtype, str, tuple[Any, ...]]


def each(kernel: str, shape: tuple[int, ...], message: str, *calls: tuple[Any, ...], dtype: torch.dtype = torch.float32) -> list[Refusal]:
    return [(kernel, shape, dtype, message, call) for call in calls]


REFUSED: list[Refusal] = [
    # activations
    *each("aten::gelu.out", (3, 4), "approximate", (X, "fast")),
    *each("aten::glu.out", (1, 4), "even", (X, 0)),
    *each("aten::glu.out", (3, 4), "range", (X, 2)),
    # arithmetic
    *each("aten::add.out", (3,), "alpha", (WHOLE[0], WHOLE[0], 1.5), dtype=torch.int64),
    *each("aten::add.out", (4,), "broadcast", (X[0], X[0, :3])),
    *each("aten::add.out", (3,), "", (X[0], X[0])),
    *each("aten::add.out", (4,), "type", (X[0], X[0]), dtype=torch.int64),
    *each("aten::add.out", (4,), "number", (X[0], "x")),
    *each("aten::exp.out", (3, 4), "type", (X,), dtype=torch.int32),
    *each("aten::pow.Tensor_Scalar_out", (3, 4), "negative", (WHOLE, -1), dtype=torch.int64),
    *each("aten::floor_divide.out", (4,), "division by zero", (WHOLE[1], WHOLE[0]), dtype=torch.int64),
    *each("aten::remainder.Tensor_out", (4,), "division by zero", (WHOLE[1], WHOLE[0]), dtype=torch.int64),
    *each("aten::fmod.Tensor_out", (4,), "division by zero", (WHOLE[1], WHOLE[0]), dtype=torch.int64),
    *each("aten::remainder.Scalar_out", (4,), "division by zero", (WHOLE[1], 0), dtype=torch.int64),
    *each("aten::clamp.out", (3, 4), "bound", (X, None, None)),
    *each("aten::bitwise_not.out", (3, 4), "integers", (X,)),
    *each("aten::bitwise_and.Tensor_out", (3, 4), "integers", (X, X)),
    *each("aten::bitwise_or.Tensor_out", (3, 4), "integers", (X, X)),
    *each("aten::bitwise_xor.Tensor_out", (3, 4), "integers", (X, X)),
    # products
    *each("aten::mm.out", (3, 5), "", (X, X), (X[0], torch.ones(4, 5)), (X, torch.ones(4, 5).double())),
    *each("aten::mm.out", (3, 6), "size of", (X, torch.ones(4, 5))),
    *each("aten::bmm.out", (3, 5), "", (X, torch.ones(4, 5))),
    *each("aten::addmm.out", (3, 5), "", (X[0], X, torch.ones(4, 5)), (torch.ones(1, 3, 5), X, torch.ones(4, 5))),
    *each("aten::linear.out", (3, 5), "", (X, torch.ones(5, 3)), (X, torch.ones(5, 4), X[0])),
    *each("aten::convolution.out", (1, 8, 6, 6), "", *(convolution(3, x) for x in ([0, 1], [-1, 1], [1, 1, 1], [], [2**40, 1]))),
    *each("aten::convolution.out", (1, 8, 6, 6), "", convolution(4, [-1, 0]), convolution(4, [2**62, 0])),
    *each("aten::convolution.out", (1, 8, 6, 6), "", *(convolution(5, x) for x in ([0, 1], [9, 1], [2**62, 1]))),
    *each("aten::convolution.out", (1, 8, 6, 6), "", *(convolution(8, x) for x in (0, -1, 3, 2))),
    *each("aten::convolution.out", (1, 8, 6, 6), "", convolution(2, torch.ones(7)), convolution(2, torch.ones(8).double())),
    *each("aten::convolution.out", (1, 8, 6, 6), "", convolution(1, torch.ones(8, 5, 3, 3)), convolution(1, torch.ones(8, 4, 3))),
    *each("aten::convolution.out", (1, 8, 6, 6), "", convolution(1, torch.ones(8, 4, 9, 9)), convolution(1, torch.ones(8, 4, 0, 3))),
    *each("aten::convolution.out", (1, 8, 6, 6), "", convolution(0, IMAGE[0])),
    *each(
        "aten::convolution.out",
        (1, 8, 13, 13),
        "output_padding",
        (IMAGE, torch.ones(4, 8, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [2, 2], 1),
    ),
    # images
    *each("aten::avg_pool2d.out", (1, 4, 6, 6), "", (IMAGE, [0, 1], [1, 1], [0, 0]), (IMAGE, [2, 2], [0, 1], [0, 0])),
    *each("aten::avg_pool2d.out", (1, 4, 6, 6), "", (IMAGE, [2, 2], [1, 1], [2, 0]), (IMAGE, [2, 2], [1, 1], [-1, 0])),
    *each("aten::avg_pool2d.out", (1, 4, 6, 6), "", (IMAGE, [9, 9], [1, 1], [0, 0]), (IMAGE, [], [], [0])),
    *each("aten::avg_pool2d.out", (1, 4, 6, 6), "divisor", (IMAGE, [2, 2], [1, 1], [0, 0], False, True, 0)),
    *each("aten::_adaptive_avg_pool2d.out", (1, 4, 6, 6), "", (IMAGE, [-1, 1])),
    *each("aten::upsample_nearest2d.vec_out", (1, 4, 3, 3), "", nearest(None, None), nearest([2], None), nearest([0, 3], None)),
    *each("aten::upsample_nearest2d.vec_out", (1, 4, 3, 3), "", nearest([3, 3], [1.0, 1.0]), nearest(None, [0.0, 1.0])),
    *each("aten::upsample_nearest2d.vec_out", (1, 4, 3, 3), "", nearest(None, [-1.0, 1.0]), nearest(None, [1e300, 1.0])),
    *each("aten::upsample_nearest2d.vec_out", (1, 4, 3, 3), "", (IMAGE[0], [3, 3], None)),
    *each("aten::_upsample_bilinear2d_aa.out", (1, 4, 3, 3), "scale", (IMAGE, [3, 3], False, 1e-300, None)),
    *each(
        "aten::grid_sampler_2d.out",
        (1, 4, 2, 3),
        "",
        *((IMAGE, torch.ones(1, 2, 3, 2), mode, padding, False) for mode, padding in ((3, 0), (-1, 0), (0, 3), (0, -1))),
    ),
    *each("aten::_pdist_forward.out", (3,), "negative", (X, -1.0)),
    # quantization
    *each(
        "quantized_decomposed::quantize_per_tensor.out",
        (3, 4),
        "quant_m",
        *((X, 0.1, 0, low, high, torch.int8) for low, high in ((-129, 127), (-128, 128), (5, 4))),
        dtype=torch.int8,
    ),
    *each(
        "quantized_decomposed::quantize_per_channel.out",
        (3, 4),
        "dimension",
        (X, X[0, :3], torch.zeros(3), 2, -128, 127, torch.int8),
        dtype=torch.int8,
    ),
    # fused
    *each("flambeau::linear.out", (2, 4), "activation", linear(5, "swish")),
    *each("flambeau::linear.out", (2, 4), "output features", linear(4, 40), linear(4, -1)),
    *each("flambeau::linear.out", (2, 4), "last dimension", linear(0, torch.ones(2, 9))),
    *each("flambeau::linear.out", (2, 4), "bias", linear(2, torch.ones(5))),
    *each("flambeau::linear.out", (2, 4), "addend", linear(3, torch.ones(2, 5))),
    *each("flambeau::linear.out", (2, 4), "packed", linear(1, torch.ones(1, 8, 15))),
    *each("flambeau::linear.out", (2, 4), "float32", linear(0, torch.ones(2, 8).double())),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "stride", fused_convolution(5, [0, 1]), fused_convolution(5, [1, 2**62])),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "two integers", fused_convolution(5, [1])),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "padding", fused_convolution(6, [-1, 0]), fused_convolution(6, [2**62, 1])),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "dilation", fused_convolution(7, [1, 0]), fused_convolution(7, [2**62, 1])),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "kernel", *(fused_convolution(4, x) for x in ([0, 3], [9, 9], [2**62, 1]))),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "group", *(fused_convolution(8, x) for x in (2, 0, -4))),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "size", fused_convolution(9, 9)),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "out_channels", fused_convolution(9, -1)),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "channels last", fused_convolution(0, IMAGE)),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "activation", fused_convolution(10, "")),
    *each("flambeau::conv2d.out", (1, 8, 6, 6), "tile", *(fused_convolution(11, x) for x in (1, 3, -2, 2**32, 2**62))),
    *each("flambeau::cached_attention.out", (1, 3, 5, 8), "heads", cached_attention(0, QUERY[:, :3])),
    *each("flambeau::cached_attention.out", (1, 4, 5, 8), "last size", cached_attention(1, KEY[..., :7])),
    *each("flambeau::cached_attention.out", (1, 4, 5, 8), "one number of int64", cached_attention(3, torch.tensor([1, 2]))),
    *each("flambeau::cached_attention.out", (1, 4, 5, 8), "one number of int64", cached_attention(3, torch.tensor([1.0]))),
    *each("flambeau::cached_attention.out", (1, 4, 5, 8), "at least one key", cached_attention(5, 0)),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "heads", attention(6, False)),
    *each("flambeau::scaled_dot_product_attention.out", (1, 3, 5, 8), "heads", attention(0, QUERY[:, :3])),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "length", attention(2, KEY[:, :, :5])),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "last size", attention(1, KEY[..., :7])),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "mask", attention(3, torch.ones(5, 7))),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "mask", attention(3, torch.ones(1, 5, 6).int())),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "float32", attention(0, QUERY.double())),
    *each("flambeau::scaled_dot_product_attention.out", (1, 4, 5, 8), "innermost", attention(0, QUERY.transpose(2, 3))),
    *each("flambeau::layer_norm.out", (3, 8), "", *(norm(2, x) for x in ([7], [], [1, 3, 8])), norm(1, torch.ones(2, 8))),
    *each("flambeau::rms_norm.out", (3, 8), "weight", (torch.ones(3, 8), None, [8], torch.ones(7), 1e-5)),
    # reductions
    *each("aten::mean.out", (), "floating", (WHOLE[0], [0]), dtype=torch.int64),
    *each("aten::amax.out", (3,), "no elements", (torch.empty(0, 3), [0])),
    *each("aten::argmax.out", (), "no elements", (torch.empty(0),), dtype=torch.int64),
    *each("aten::sum.IntList_out", (3,), "", *((torch.empty(0, 3), dims) for dims in ([0, 0], [2], [-3]))),
    *each("aten::_softmax.out", (3, 4), "range", (X, 2, False)),
    *each("aten::_softmax.out", (3, 4), "floating", (WHOLE, 0, False)),
    # shapes
    *each("aten::permute_copy.out", (3, 4), "", (X, [0, 0]), (X, [0]), (X, [0, 2])),
    *each("aten::permute_copy.out", (4, 3), "type", (X, [1, 0]), dtype=torch.int32),
    *each("aten::select_copy.int_out", (3, 4), "", (X, 0, 3), (X, 0, -4), (X, 2, 0)),
    *each("aten::slice_copy.Tensor_out", (3, 4), "", (X, 0, 0, 2, 0)),
    *each("aten::slice_copy.Tensor_out", (3, 4), "type", (X, 0), dtype=torch.int32),
    *each("aten::narrow_copy.out", (3, 4), "", (X, 0, 2, 2), (X, 0, 0, -1)),
    *each("aten::view_copy.out", (3, 4), "", (X, [5, 2]), (X, [-1, -1]), (X, [-1, 0])),
    *each("aten::view_copy.out", (4, 3), "type", (X, [4, 3]), dtype=torch.int32),
    *each("aten::unfold_copy.out", (3, 4), "", (X, 0, 4, 1), (X, 0, 1, 0)),
    *each("aten::repeat.out", (3, 4), "", (X, [2]), (X, [2, -1])),
    *each("aten::roll.out", (3, 4), "", (X, [1, 2], [0])),
    *each("aten::flip.out", (3, 4), "", (X, [0, 0])),
    *each("aten::constant_pad_nd.out", (3, 4), "", (X, [1]), (X, [-3, -2])),
    *each("aten::unsqueeze_copy.out", (3, 4), "", (X, 4)),
    *each("aten::diagonal_copy.out", (3, 4), "", (X, 0, 0, 0)),
    *each("aten::expand_copy.out", (2, 3, 1, 5), "", *((torch.ones(1, 3, 1, 4), x) for x in ([2, 3, 1, 5], [-1, -1, 1, 4, -1], [4]))),
    *each("aten::pixel_shuffle.out", (1, 1, 4, 4), "multiple", (torch.ones(1, 5, 2, 2), 2)),
    *each("aten::reflection_pad1d.out", (3, 7), "smaller", (X, [4, 0])),
    *each("aten::as_strided_copy.out", (5, 4), "", (X, [5, 4], [4, 1], 0)),
    *each("aten::as_strided_copy.out", (1,), "", (X, [1], [1], 12)),
    *each("aten::as_strided_copy.out", (2,), "", (X, [2], [11], 1), (X, [2], [-1], 5)),
    *each("aten::cat.out", (2, 6), "", ([X, torch.ones(2, 3)], 1), ([X, X[0]], 0), ([X], 2), ([], 0)),
    *each("aten::select_scatter.out", (3, 4), "", (X, X[0], 0, 3), (X, X[:, 0], 0, 1)),
    *each("aten::full.out", (1,), "", ([-1], 0)),
    *each("aten::arange.start_out", (5,), "", (0, 5, -1), (0, 5, 0), (0, float("nan"), 1)),
    # indices
    *each("aten::embedding.out", (2, 4), "range", (X, index(0, -1)), (X, index(0, 3))),
    *each("aten::embedding.out", (1, 4), "int64", (X, index(0.0))),
    *each("aten::index_select.out", (2, 4), "range", (X, 0, index(0, -1)), (X, 0, index(0, 3))),
    *each("aten::gather.out", (1, 1), "", (X, 0, index([3])), (X, 0, index([-1])), (X, 2, index([0]))),
    *each("aten::gather.out", (1,), "", (X, 0, index(0))),
    *each("aten::scatter.value_out", (3, 4), "", (X, 0, index([3]), 1.0), (X, 0, index([-1]), 1.0), (X, 2, index([0]), 1.0)),
    *each("aten::scatter.value_out", (3, 4), "", (X, 0, torch.zeros(1, 5).long(), 1.0), (X, 0, index(0), 1.0)),
    *each("aten::scatter_reduce.two_out", (4,), "amax", (X[0], 0, index(0), X[0], "median")),
    *each("aten::masked_scatter.out", (3, 4), "too few", (X, X > -1, X[0])),
    *each("aten::slice_scatter.out", (3, 4), "", (X, X, 0, 1)),
]


@pytest.mark.parametrize(
    ("kernel", "shape", "dtype", "message", "arguments"), REFUSED, ids=[f"{kernel} {place}" for place, (kernel, *_) in enumerate(REFUSED)]
)
def test_arguments_are_refused(kernel: str, shape: tuple[int, ...], dtype: torch.dtype, message: str, arguments: tuple[Any, ...]) -> None:
    order = [0, 2, 3, 1] if kernel == "flambeau::conv2d.out" else None
    with pytest.raises(KernelError, match=message or None):
        run(kernel, *arguments, outs=[Out(shape, dtype, order)])


@pytest.mark.parametrize("pool", [([0, 1], [1, 1]), ([2, 2], [0, 1]), ([2, 2], [1, 1], [2, 0]), ([9, 9], [1, 1]), ([], [], [0])])
def test_pools_with_places_refuse_what_pools_do(pool: tuple[list[int], ...]) -> None:
    with pytest.raises(KernelError):
        run("aten::max_pool2d_with_indices.out", IMAGE, *pool, outs=[Out((1, 4, 6, 6), torch.float32), Out((1, 4, 6, 6), torch.int64)])


@pytest.mark.parametrize("dilation", [[0, 1], [2**40, 1]])
def test_pools_refuse_dilations(dilation: list[int]) -> None:
    outs = [Out((1, 4, 6, 6), torch.float32), Out((1, 4, 6, 6), torch.int64)]
    with pytest.raises(KernelError):
        run("aten::max_pool2d_with_indices.out", IMAGE, [2, 2], [1, 1], [0, 0], dilation, outs=outs)


@pytest.mark.parametrize("k", [5, -1])
def test_more_of_the_largest_than_there_are(k: int) -> None:
    with pytest.raises(KernelError, match="range"):
        run("aten::topk.values", X, k, outs=[Out((3, 4), torch.float32), Out((3, 4), torch.int64)])


@pytest.mark.parametrize(
    ("name", "arguments"), [("split_with_sizes_copy.out", ([3, 3], 1)), ("split_copy.Tensor_out", (0, 1)), ("unbind_copy.int_out", (1,))]
)
def test_parts_that_are_not_there(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(KernelError):
        run(f"aten::{name}", X, *arguments, outs=[Out((3, 3), torch.float32), Out((3, 3), torch.float32)])


def test_batch_norm_leaves_no_result_as_it_was() -> None:
    x, ones = torch.ones(2, 3, 4), torch.ones(3)
    outs = [Out((2, 3, 4), x.dtype), Out((3,), x.dtype), Out((3,), x.dtype)]
    for name, training in (("_native_batch_norm_legit_no_training.out", ()), ("_native_batch_norm_legit.out", (False,))):
        with pytest.raises(KernelError, match="size"):
            run(f"aten::{name}", x, ones, ones, ones, ones, *training, 0.1, 1e-3, outs=outs)


@pytest.mark.parametrize(
    "given",
    [[index(3)], [None, index(-5)], [index(0)] * 3, [index(0, 1), index(0, 1, 2)], [None, None], [X[0] > 0], [index(0.0)]],
)
def test_bad_indices_leave_the_tensor_alone(given: list[Any]) -> None:
    with pytest.raises(KernelError):
        run("aten::index.Tensor_out", X, given, outs=[Out((3, 4), torch.float32, dynamic=True)])
    for name, values in (("index_put_", index(1.0)), ("index_put_", torch.ones(3, 5))):
        with pytest.raises(KernelError):
            run(f"aten::{name}", given, values, outs=[Out((3, 4), torch.float32, initial=X)])


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("executorch_prim::floordiv.Scalar", (1, 0)),
        ("executorch_prim::mod.Scalar", (1, 0)),
        ("executorch_prim::truediv.Scalar", (1, 0)),
        ("executorch_prim::add.Scalar", (1, "x")),
        ("executorch_prim::trunc.Scalar", (float("nan"),)),
        ("executorch_prim::ceil.Scalar", (1e30,)),
        ("aten::sym_size.int", (X, 2)),
        ("aten::_local_scalar_dense", (X,)),
    ],
)
def test_numbers_that_are_not_there(kernel: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(KernelError):
        run_number(kernel, *arguments)


@pytest.mark.parametrize("shape", [(2, 4), (12,)])
def test_a_dynamic_result_stays_within_its_bounds(shape: tuple[int, ...]) -> None:
    with pytest.raises(KernelError):
        run("aten::neg.out", X, outs=[Out(shape, torch.float32, dynamic=True)])
    with pytest.raises(KernelError):
        run("aten::nonzero.out", X, outs=[Out((3, 2), torch.int64, dynamic=True)])
    with pytest.raises(KernelError, match="negative"):
        run("aten::repeat_interleave.Tensor_out", index(1, -1), outs=[Out((4,), torch.int64, dynamic=True)])
