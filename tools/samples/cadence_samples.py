"""Arguments with which to try the operators of Cadence's DSPs: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import i8

from flambeau.dialects.ir.tensor_types import ui8
from flambeau.tools.samples.other_dialects_samples import bytes_of
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def bias(rng: np.random.Generator, channels: int) -> Any:
    """Returns biases of sums."""
    return rng.integers(-9000, 9000, channels).astype(np.int32)


def ratio(rng: np.random.Generator) -> tuple[int, int]:
    """Returns out_multiplier and out_shift, which bring sums to about 8 bits."""
    return int(rng.integers(2**30, 2**31)), int(rng.integers(-9, -5))


def linear(*dtypes: str) -> Samples:
    """Returns samples of linear layers, of one row and of several."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found: list[Sample] = []
        for dtype in dtypes:
            low = 0 if dtype == "uint8" else -128
            for shape, features in (((1, 7), 20), ((2, 3, 16), 5), ((9,), 1)):
                operands = bytes_of(rng, dtype, *shape), bytes_of(rng, dtype, features, shape[-1]), bias(rng, features)
                found.append((*operands, low + 131, low + 128, *ratio(rng), low + 7, None))
        return found

    return samples


Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The strides, the padding and the dilations of a convolution."""
Convolutions = tuple[tuple[tuple[int, ...], int, Window], ...]
"""The shape of a weight, the groups and the window of each."""
IMAGES: Convolutions = (
    ((6, 3, 3, 2), 1, ((2, 1), (1, 0), (1, 2))),
    ((4, 2, 1, 1), 2, ((1, 1), (0, 0), (1, 1))),
    ((5, 1, 3, 3), 5, ((1, 2), (4, 1), (1, 1))),
)
"""Convolutions of images: with borders, in groups, depthwise, dilated."""
ROWS: Convolutions = (((4, 3, 3), 1, ((2,), (3,), (2,))), ((6, 2, 4), 2, ((1,), (0,), (1,))))
DEPTHWISE_ROWS: Convolutions = (((4, 1, 3), 4, ((1,), (3,), (1,))), ((6, 1, 2), 3, ((2,), (0,), (1,))))


def convolution(*dtypes: str, of: Convolutions = (*IMAGES, ROWS[0]), last: bool = False) -> Samples:
    """Returns samples of convolutions, whose channels come first or last. A depthwise one, channels last, has both forms of weights."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found: list[Sample] = []
        for dtype in dtypes:
            low = 0 if dtype == "uint8" else -128
            for weight, groups, window in of:
                image = (2, weight[1] * groups, *(8, 7)[: len(weight) - 2])
                x, kernel = bytes_of(rng, dtype, *image), bytes_of(rng, dtype, *weight)
                numbers = bias(rng, weight[0]), *window, groups, low + 100, low + 128, 0.01, 0.5, low + 9, *ratio(rng)
                if not last:
                    found.append((x, kernel, *numbers))
                    continue
                kernels = [np.moveaxis(kernel, 1, -1)]
                if weight[1] == 1 and len(weight) == 4:
                    kernels.append(np.moveaxis(kernel[:, 0], 0, -1))
                found += [(np.ascontiguousarray(np.moveaxis(x, 1, -1)), np.ascontiguousarray(item), *numbers) for item in kernels]
        return found

    return samples


def with_offset(samples: Samples) -> Samples:
    """Returns the samples with the last argument, of which there is none."""
    return lambda rng: [(*sample, None) for sample in samples(rng)]


def matmul(*dtypes: str) -> Samples:
    """Returns samples of products of matrices, in batches, and transposed."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found: list[Sample] = []
        for dtype in dtypes:
            low = 0 if dtype == "uint8" else -128
            for x, y, transposed in (((2, 3, 16), (2, 16, 5), False), ((7, 9), (9, 2), False), ((2, 2, 4, 20), (2, 2, 6, 20), True)):
                operands = bytes_of(rng, dtype, *x), low + 131, bytes_of(rng, dtype, *y), low + 120, None
                found.append((*operands, *ratio(rng), low + 7, transposed))
        return found

    return samples


def layer_norm(rng: np.random.Generator) -> list[Sample]:
    """Returns samples of layer norms over one dimension and over two, and of equal numbers."""
    return [
        (bytes_of(rng, "int8", 2, 5, 16), 0.1, 3, (16,), f32(rng, 16), f32(rng, 16), 1e-5, 0.03, -7),
        (bytes_of(rng, "uint8", 3, 4, 6), 0.02, 120, (4, 6), f32(rng, 4, 6), f32(rng, 4, 6), 1e-3, 0.02, 130),
        (np.full((2, 8), 5, np.int8), 0.5, 5, (8,), f32(rng, 8), f32(rng, 8), 1e-5, 0.03, 0),
    ]


def relu(*dtypes: str) -> Samples:
    """Returns samples of a relu to another quantized type, and within one."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        lows = {dtype: 0 if dtype == "uint8" else -128 for dtype in dtypes}
        return [
            (bytes_of(rng, dtype, 3, 5, 2), low + zero, low + 10, *ratio)
            for dtype, low in lows.items()
            for zero, ratio in ((120, (1518500250, 1)), (10, (2**30, 1)))
        ]

    return samples


def pair(dtype: str) -> Samples:
    """Returns samples of operators on two tensors, and sums that lie between two integers."""
    low = 0 if dtype == "uint8" else -128
    return lambda rng: [
        (bytes_of(rng, dtype, 2, 3, 5), 0.1, low + 3, bytes_of(rng, dtype, 2, 3, 5), 0.07, low + 200, 0.13, low + 9),
        (bytes_of(rng, dtype, 70), 0.5, low, bytes_of(rng, dtype, 70), 0.25, low + 128, 1.0, low + 128),
    ]


def quantize(rng: np.random.Generator) -> list[Sample]:
    """Returns samples of floats, and numbers between two integers and beyond all."""
    return [
        (f32(rng, 3, 4), 0.02, 3, -128, 127, i8),
        (np.array([0.5, 1.5, 2.5, -0.5, 1e9, -1e9], np.float32), 1.0, 10, 0, 255, ui8),
    ]


def dequantize(rng: np.random.Generator) -> list[Sample]:
    """Returns samples of integers."""
    return [(bytes_of(rng, "int8", 3, 4), 0.02, 3, -128, 127, i8), (bytes_of(rng, "uint8", 3, 4), 0.02, 3, 0, 255, ui8)]


_LINEAR = ("quantized_linear{}.per_tensor", "quantized_fully_connected{}.per_tensor")
_IMAGES = (
    "quantized_conv2d_nchw{}.per_tensor",
    "quantized_conv2d_nchw_depthwise{}.per_tensor",
    "quantized_conv2d_nchw_dilated{}.per_tensor",
)
_LAST = tuple(name.replace("nchw", "nhwc") for name in _IMAGES)

SAMPLES: dict[str, Samples] = {
    f"cadence.{name}": samples
    for name, samples in {
        **{name.format(""): linear("int8", "uint8") for name in _LINEAR},
        **{name.format("_asym8sxasym8s_asym8s"): linear("int8") for name in _LINEAR},
        **{name.format("_asym8uxasym8u_asym8u"): linear("uint8") for name in _LINEAR},
        _IMAGES[0].format(""): convolution("int8", "uint8"),
        **{name.format("_asym8sxsym8s_asym8s"): convolution("int8") for name in _IMAGES},
        **{name.format("_asym8uxsym8u_asym8u"): convolution("uint8") for name in _IMAGES},
        _LAST[0].format(""): with_offset(convolution("int8", "uint8", of=IMAGES, last=True)),
        **{name.format("_asym8sxsym8s_asym8s"): convolution("int8", of=IMAGES, last=True) for name in _LAST},
        **{name.format("_asym8uxsym8u_asym8u"): convolution("uint8", of=IMAGES, last=True) for name in _LAST},
        "quantized_conv1d_ncl.per_tensor": convolution("int8", "uint8", of=ROWS),
        "quantized_conv1d_nlc.per_tensor": with_offset(convolution("int8", "uint8", of=ROWS, last=True)),
        "quantized_depthwise_conv1d_ncl.per_tensor": convolution("int8", "uint8", of=DEPTHWISE_ROWS),
        "quantized_depthwise_conv1d_nlc.per_tensor": convolution("int8", "uint8", of=DEPTHWISE_ROWS, last=True),
        "quantized_matmul": matmul("int8", "uint8"),
        "quantized_matmul_asym8sxasym8s_asym8s": matmul("int8"),
        "quantized_matmul_asym8uxasym8u_asym8u": matmul("uint8"),
        "quantized_layer_norm.per_tensor": layer_norm,
        "quantized_relu.per_tensor": relu("int8", "uint8"),
        "quantized_relu_asym8s_asym8s.per_tensor": relu("int8"),
        "quantized_relu_asym8u_asym8u.per_tensor": relu("uint8"),
        "quantized_add_asym8sxasym8s_asym8s.per_tensor": pair("int8"),
        "quantized_add_asym8uxasym8u_asym8u.per_tensor": pair("uint8"),
        "quantize_per_tensor": quantize,
        "dequantize_per_tensor": dequantize,
    }.items()
}
"""Generators by full operator name."""
