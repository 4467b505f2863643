"""Arguments with which to try the operators of other dialects, quantised tensors' and our runtime's: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f16, f64, i8

from flambeau.dialects.fused.packing import pack_conv_weight, pack_gates, pack_linear_weight, pack_quads, pack_quantized_conv_weight
from flambeau.dialects.ir.tensor_types import f32 as f32_type
from flambeau.dialects.ir.tensor_types import ui8
from flambeau.runtime.manifest import activation_names
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, mask


def linear(rng: np.random.Generator) -> list[Sample]:
    """Returns products with packed weights, for each activation."""
    samples: list[Sample] = [
        (f32(rng, 2, 5, 7), pack_linear_weight(f32(rng, 20, 7)), f32(rng, 20), f32(rng, 2, 5, 20), 20, activation)
        for activation in activation_names()
    ]
    return [*samples, (f32(rng, 3, 4), pack_linear_weight(f32(rng, 16, 4)), None, None, 16)]


def convolution(rng: np.random.Generator) -> list[Sample]:
    """Returns convolutions with packed weights, dense and depthwise."""

    def sample(weight: Any, groups: int, channels: int, addend: Any, *window: tuple[int, int], tile: int = -1) -> Sample:
        out_channels = weight.shape[0]
        packed, kernel = pack_conv_weight(weight, groups), weight.shape[2:]
        return f32(rng, 1, channels, 8, 7), packed, f32(rng, out_channels), addend, kernel, *window, groups, out_channels, "relu6", tile

    return [
        sample(f32(rng, 20, 3, 3, 2), 1, 3, None, (2, 1), (1, 0), (1, 2)),
        sample(f32(rng, 5, 1, 3, 3), 5, 5, f32(rng, 1, 5, 8, 7), (1, 1), (1, 1), (1, 1)),
        sample(f32(rng, 16, 32, 3, 3), 1, 32, None, (1, 1), (1, 1), (1, 1), tile=2),
        sample(f32(rng, 16, 32, 3, 3), 1, 32, f32(rng, 1, 16, 8, 7), (1, 1), (1, 1), (1, 1), tile=4),
    ]


def requantization(rng: np.random.Generator, channels: int) -> Any:
    """Returns bias, multiplier and shift of each channel, which bring sums to about 8 bits."""
    ratios = rng.integers(2**30, 2**31, channels)
    return np.stack((rng.integers(-9000, 9000, channels), ratios, rng.integers(36, 40, channels))).astype(np.int32)


def quantized_linear(rng: np.random.Generator) -> list[Sample]:
    """Returns products of integers, signed and not, of depths that are no multiples of 4."""
    return [
        (bytes_of(rng, "int8", 2, 5, 7), pack_quads(bytes_of(rng, "int8", 20, 7)), requantization(rng, 20), 20, 3, -128, 127),
        (bytes_of(rng, "uint8", 3, 8), pack_quads(bytes_of(rng, "int8", 16, 8)), requantization(rng, 16), 16, 128, 100, 200),
        (bytes_of(rng, "int8", 9), pack_quads(bytes_of(rng, "int8", 1, 9)), requantization(rng, 1), 1, -3, -100, 100),
    ]


def weight_only_linear(rng: np.random.Generator) -> list[Sample]:
    """Returns products of floats with integers; rows, depths and features that fill no tile, and scales such as quantizers choose."""
    return [
        (f32(rng, 2, 5, 7), pack_linear_weight(bytes_of(rng, "int8", 20, 7)), f32(rng, 20) / 127, f32(rng, 20), 20),
        (f32(rng, 16, 36), pack_linear_weight(bytes_of(rng, "int8", 48, 36)), f32(rng, 48) / 127, None, 48),
        (f32(rng, 3, 7, 19), pack_linear_weight(bytes_of(rng, "int8", 70, 19)), f32(rng, 70) / 127, f32(rng, 70), 70),
        (f32(rng, 9), pack_linear_weight(bytes_of(rng, "int8", 1, 9)), f32(rng, 1) / 127, f32(rng, 1), 1),
    ]


def dequantize_packed(rng: np.random.Generator) -> list[Sample]:
    """Returns packed integers of dense and depthwise convolutions."""
    return [
        (pack_linear_weight(bytes_of(rng, "int8", 20, 7)), f32(rng, 32)),
        (bytes_of(rng, "int8", 9, 48), f32(rng, 48)),
        (bytes_of(rng, "int8", 0, 5, 16), f32(rng, 0)),
    ]


def dynamic_quantized_linear(rng: np.random.Generator) -> list[Sample]:
    """Returns products of integers with a scale for the whole input, and for each of its rows."""

    def sample(
        dtype: str, rows: tuple[int, ...], depth: int, features: int, scales: tuple[int, ...], kind: Any, zeros: Any, bias: bool
    ) -> Sample:
        weight = bytes_of(rng, "int8", features, depth)
        own = np.abs(f32(rng, *scales)).astype(kind), rng.integers(-90, 100, (1,) if kind == np.float32 else scales).astype(zeros)
        sums = weight.sum(1, dtype=np.int32)
        return (
            bytes_of(rng, dtype, *rows, depth),
            *own,
            pack_quads(weight),
            sums,
            f32(rng, features),
            f32(rng, features) if bias else None,
            features,
        )

    return [
        sample("int8", (2, 5), 7, 20, (1,), np.float64, np.int64, True),
        sample("uint8", (2, 9), 36, 48, (2, 9, 1), np.float64, np.int64, False),
        sample("int8", (9,), 33, 1, (9, 1), np.float32, np.int8, True),
        sample("int8", (), 5, 17, (1,), np.float32, np.int32, False),
    ]


def quantized_convolution(rng: np.random.Generator) -> list[Sample]:
    """Returns convolutions of integers, dense and depthwise, with borders."""

    def sample(dtype: str, weight: Any, groups: int, channels: int, *window: tuple[int, int]) -> Sample:
        packed, low = pack_quantized_conv_weight(weight, groups), 0 if dtype == "uint8" else -128
        more = weight.shape[2:], *window, groups, weight.shape[0], low + 7, low + 120, low + 1, low + 254
        return bytes_of(rng, dtype, 2, channels, 8, 7), packed, requantization(rng, weight.shape[0]), *more

    return [
        sample("int8", bytes_of(rng, "int8", 20, 3, 3, 2), 1, 3, (2, 1), (1, 0), (1, 2)),
        sample("uint8", bytes_of(rng, "int8", 4, 5, 1, 1), 1, 5, (1, 1), (0, 0), (1, 1)),
        sample("int8", bytes_of(rng, "int8", 5, 1, 3, 3), 5, 5, (1, 2), (1, 1), (1, 1)),
    ]


FUSED: dict[str, Samples] = {
    "fused.quantized_add": lambda rng: [
        (bytes_of(rng, "int8", 2, 3, 5), bytes_of(rng, "int8", 2, 3, 5), 2**21, 1234567, 21, -3, 4, -128, -128, 100),
        (bytes_of(rng, "uint8", 33), bytes_of(rng, "uint8", 33), 700000, 2**20, 20, 128, 0, 7, 0, 255),
    ],
    "fused.quantized_mul": lambda rng: [
        (bytes_of(rng, "int8", 2, 3, 5), bytes_of(rng, "int8", 2, 3, 5), 2**14, 21, -3, 4, -128, -128, 100),
        (bytes_of(rng, "uint8", 33), bytes_of(rng, "uint8", 33), 9999, 20, 128, 0, 7, 0, 255),
        (bytes_of(rng, "int8", 2, 5, 3, 7), bytes_of(rng, "int8", 2, 5, 1, 1), 12345, 20, 1, -128, 0, -128, 127),
    ],
    "fused.quantized_table": lambda rng: [
        (bytes_of(rng, "int8", 2, 3, 5), bytes_of(rng, "int8", 256)),
        (bytes_of(rng, "uint8", 70), bytes_of(rng, "int8", 256)),
    ],
    "fused.max_pool2d": lambda rng: [
        (f32(rng, 2, 3, 9, 40), (3, 2), (2, 1), (1, 0), (1, 1), False),
        (f32(rng, 1, 2, 7, 6), (2, 2), (), (1, 1), (2, 2), True),
        (bytes_of(rng, "int8", 2, 19, 7, 6), (3, 2), (2, 1), (1, 0), (1, 1), False),
    ],
    "fused.quantized_avg_pool2d": lambda rng: [
        (bytes_of(rng, "int8", 2, 19, 7, 6), (3, 2), (2, 1), (1, 0), 1431655765, 34, -7, 3, -128, 127),
        (bytes_of(rng, "uint8", 1, 16, 5, 5), (5, 5), (1, 1), (0, 0), 1717986918, 36, 128, 130, 10, 250),
    ],
    "fused.quantized_linear": quantized_linear,
    "fused.quantized_conv2d": quantized_convolution,
    "fused.dequantize_packed": dequantize_packed,
    "fused.weight_only_linear": weight_only_linear,
    "fused.dynamic_quantized_linear": dynamic_quantized_linear,
    "fused.linear": linear,
    "fused.lstm_step": lambda rng: [
        (f32(rng, 1, 5), f32(rng, 1, 5), f32(rng, 1, 20), pack_gates(f32(rng, 20, 5), 4), f32(rng, 20)),
        (f32(rng, 3, 37), f32(rng, 3, 37), f32(rng, 3, 148), pack_gates(f32(rng, 148, 37), 4), None),
    ],
    "fused.conv2d": convolution,
    "fused.scaled_dot_product_attention": lambda rng: [
        (f32(rng, 2, 3, 4, 8), f32(rng, 2, 3, 5, 8), f32(rng, 2, 3, 5, 6), None, False, 0.3, False),
        (f32(rng, 1, 2, 4, 8), f32(rng, 1, 2, 4, 8), f32(rng, 1, 2, 4, 8), None, True, 0.3, False),
        (f32(rng, 1, 4, 3, 8), f32(rng, 1, 2, 5, 8), f32(rng, 1, 2, 5, 8), mask(rng, 3, 5) & (np.arange(3) > 0)[:, None], False, 0.3, True),
    ],
    "fused.cached_attention": lambda rng: [
        (f32(rng, 2, 4, 3, 8), f32(rng, 2, 2, 9, 8), f32(rng, 2, 2, 9, 6), np.array([4], np.int64), 0.3),
        (f32(rng, 1, 4, 1, 8), f32(rng, 1, 1, 9, 8), f32(rng, 1, 1, 9, 8), np.array(8, np.int64), 0.3, 4),
        (f32(rng, 1, 2, 6, 8), f32(rng, 1, 2, 9, 8), f32(rng, 1, 2, 9, 8), np.array([-2], np.int64), 0.3, 2),
    ],
    "fused.layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 2, 3, 4), (4,), f32(rng, 4), f32(rng, 4), 1e-5),
        (f32(rng, 2, 3, 4), None, (3, 4), None, None, 1e-5),
    ],
    "fused.rms_norm": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 2, 3, 4), (4,), f32(rng, 4), 1e-5),
        (f32(rng, 2, 3, 4), None, (3, 4), None, 1e-5),
    ],
}


def bytes_of(rng: np.random.Generator, dtype: str, *shape: int) -> Any:
    """Returns a tensor of any numbers of an integer type."""
    low = 0 if dtype == "uint8" else -128
    return rng.integers(low, low + 256, shape).astype(dtype)


def scales(rng: np.random.Generator, *shape: int) -> Any:
    """Returns positive scales."""
    return rng.uniform(0.01, 0.1, shape).astype(np.float32)


def points(rng: np.random.Generator, *shape: int) -> Any:
    """Returns zero points."""
    return rng.integers(-10, 10, shape)


EMBEDDINGS: dict[str, Samples] = {
    "embedding_byte": lambda rng: [
        (bytes_of(rng, "int8", 5, 8), scales(rng, 5), None, -128, 127, np.array([[4, 0], [1, 1]])),
        (bytes_of(rng, "uint8", 5, 8), scales(rng, 5, 2), np.rint(f32(rng, 5, 2) * 9), 0, 255, np.array([3, 2, 3], np.int32)),
    ],
    "embedding_4bit": lambda rng: [
        (bytes_of(rng, "uint8", 5, 8), scales(rng, 5), None, -8, 7, np.array([4, 0])),
        (bytes_of(rng, "uint8", 5, 8), scales(rng, 5, 4), np.rint(f32(rng, 5, 4)), -8, 7, np.array([[3, 2, 3]])),
    ],
    "embedding_2bit": lambda rng: [
        (bytes_of(rng, "uint8", 5, 4), scales(rng, 5), None, -2, 1, np.array([4, 0])),
        (bytes_of(rng, "uint8", 5, 4), scales(rng, 5, 2), np.rint(f32(rng, 5, 2)), -2, 1, np.array([3, 2, 3])),
    ],
}


def in_half(samples: Samples) -> Samples:
    """Returns the samples with half precision chosen for the result."""
    return lambda rng: [(*sample, f16) for sample in samples(rng)]


QUANT: dict[str, Samples] = {
    "quantize_per_tensor": lambda rng: [
        (f32(rng, 3, 4), 0.02, 3, -128, 127, i8),
        (np.array([0.5, 1.5, 2.5, -0.5, 1e9, -1e9], np.float32), 1.0, 10, 0, 255, ui8),
        (f32(rng, 3, 4).astype(np.float16), 0.02, -3, -127, 127, i8),
        (f32(rng, 3, 4).astype(ml_dtypes.bfloat16), 0.02, -3, -127, 127, i8),
    ],
    "quantize_per_tensor.tensor": lambda rng: [
        (f32(rng, 3, 4), np.array(0.02, np.float64), np.array([3]), -128, 127, i8),
        (f32(rng, 3, 4), np.array(0.02, np.float32), np.array([3], np.int32), -128, 127, i8),
    ],
    "dequantize_per_tensor": lambda rng: [
        (bytes_of(rng, "int8", 3, 4), 0.02, 3, -128, 127, i8),
        (bytes_of(rng, "uint8", 3, 4), 0.02, 3, 0, 255, ui8, f16),
    ],
    "dequantize_per_tensor.tensor": lambda rng: [
        (bytes_of(rng, "int8", 3, 4), np.array([0.02], np.float64), np.array([3]), -128, 127, i8),
        (bytes_of(rng, "int8", 3, 4), np.array([0.02], np.float32), np.array([3], np.int32), -128, 127, i8),
    ],
    "quantize_per_channel": lambda rng: [
        (f32(rng, 3, 4), scales(rng, 3), points(rng, 3), 0, -128, 127, i8),
        (f32(rng, 3, 4), scales(rng, 4).astype(np.float64), points(rng, 4), 1, -128, 127, i8),
    ],
    "dequantize_per_channel": lambda rng: [
        (bytes_of(rng, "int8", 3, 4), scales(rng, 3), points(rng, 3), 0, -128, 127, i8),
        (bytes_of(rng, "int8", 3, 4), scales(rng, 4), None, 1, -128, 127, i8, f16),
        (bytes_of(rng, "int8", 3, 4), np.array([0.5, 2, 0.25, 1], np.float16), None, -1, -128, 127, i8),
    ],
    "quantize_per_token": lambda rng: [(f32(rng, 2, 3, 4), scales(rng, 2, 3, 1), points(rng, 2, 3, 1), -128, 127, i8)],
    "dequantize_per_token": lambda rng: [
        (bytes_of(rng, "int8", 3, 4), scales(rng, 3, 1).astype(np.float64), points(rng, 3, 1), -128, 127, i8, f32_type),
        (bytes_of(rng, "int8", 3, 4), np.array([[0.5], [2], [0.25]], np.float16), points(rng, 3, 1), -128, 127, i8, f32_type),
    ],
    "quantize_per_channel_group": lambda rng: [(f32(rng, 3, 8), scales(rng, 3, 2), points(rng, 3, 2).astype(np.int32), -8, 7, i8, 4)],
    "dequantize_per_channel_group": lambda rng: [
        (bytes_of(rng, "int8", 3, 8), scales(rng, 3, 2), points(rng, 3, 2).astype(np.int32), -8, 7, i8, 4, f32_type),
        (bytes_of(rng, "int8", 3, 8), scales(rng, 3, 2), None, -8, 7, i8, 4, f16),
    ],
    "choose_qparams.tensor": lambda rng: [
        (f32(rng, 3, 4), -128, 127, 1e-7, i8),
        (f32(rng, 3, 4) + 9, 0, 255, 1e-7, ui8),
        (np.zeros((2, 2), np.float32), -128, 127, 1e-5, i8),
        (np.array([[0.0, 127.5], [127.5, 0.0]], np.float16), -128, 127, 1e-7, i8),
    ],
    "choose_qparams_symmetric.tensor": lambda rng: [(f32(rng, 3, 4), -127, 127, 1e-7, i8), (f32(rng, 3, 4), 0, 255, 1e-7, ui8)],
    "choose_qparams_per_token": lambda rng: [(f32(rng, 3, 4), i8), (f32(rng, 2, 3, 4).astype(np.float16), i8)],
    "choose_qparams_per_token_asymmetric": lambda rng: [
        (f32(rng, 3, 4), i8),
        (f32(rng, 2, 3, 4) - 5, i8),
        (np.array([[0.0, 127.5], [127.5, 0.0]], np.float16), i8),
    ],
    **EMBEDDINGS,
    **{f"{name}.dtype": in_half(samples) for name, samples in EMBEDDINGS.items()},
    "add": lambda rng: [
        (bytes_of(rng, "uint8", 3, 4), 0.02, 3, 0, 255, bytes_of(rng, "uint8", 3, 4), 0.05, 9, 0, 255, 0.07, 5, 0, 255),
        (bytes_of(rng, "int8", 3, 4), 0.02, -3, -128, 127, bytes_of(rng, "int8", 4), 0.05, 9, -128, 127, 0.03, 5, -128, 127),
    ],
    "mixed_mm": lambda rng: [
        (f32(rng, 3, 8), bytes_of(rng, "int8", 8, 5), scales(rng, 8), None),
        (f32(rng, 9, 5).astype(np.float64), bytes_of(rng, "int8", 5, 19), scales(rng, 5).astype(np.float64), None),
    ],
    "mixed_linear": lambda rng: [
        (f32(rng, 3, 8), bytes_of(rng, "int8", 5, 8), scales(rng, 5), None),
        (f32(rng, 3, 8), bytes_of(rng, "int8", 5, 8), scales(rng, 5, 2), None, f16),
        (f32(rng, 1, 8), bytes_of(rng, "int8", 19, 8), scales(rng, 19, 2), None, f64),
    ],
}


def boxes(rng: np.random.Generator, count: int) -> Any:
    """Returns boxes with their corners in order."""
    corners = rng.uniform(0, 8, (count, 2))
    return np.concatenate([corners, corners + rng.uniform(0.5, 8, (count, 2))], 1).astype(np.float32)


def regions(rng: np.random.Generator, images: int, count: int) -> Any:
    """Returns boxes, each with the number of its image."""
    return np.concatenate([rng.integers(0, images, (count, 1)), boxes(rng, count)], 1).astype(np.float32)


BOXES: dict[str, Samples] = {
    "torchvision.nms": lambda rng: [
        (boxes(rng, 12), f32(rng, 12), 0.2),
        (np.repeat(boxes(rng, 3), 3, 0), np.zeros(9, np.float32), 0.5),
        (boxes(rng, 0), f32(rng, 0), 0.5),
        (boxes(rng, 3), np.array([0.5, np.nan, 0.7], np.float32), 0.5),
    ],
    "torchvision.roi_align": lambda rng: [
        (f32(rng, 1, 3, 6, 5), regions(rng, 1, 4), 0.5, 2, 3, 2, False),
        (f32(rng, 2, 3, 6, 5), regions(rng, 2, 4), 1.0, 3, 2, 1, True),
    ],
}

SAMPLES: dict[str, Samples] = {f"quantized_decomposed.{name}": samples for name, samples in QUANT.items()} | FUSED | BOXES
"""Generators by full operator name."""
