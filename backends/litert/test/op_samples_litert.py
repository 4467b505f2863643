"""Arguments with which to try the operators of TFLite: bound arguments in schema order."""

from __future__ import annotations

import numpy as np

from flambeau.backends.litert.dialect.elements import BINARY, LIMITED
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def int8(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-128, 128, shape).astype(np.int8)


def int32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-1000, 1000, shape).astype(np.int32)


FLOATS: tuple[tuple[float, ...], tuple[int, ...]] = (), ()
"""The types of floats: none."""
LAYER = (0.05, 0.3), (-3, 7)


def convolution(*shape: int) -> Samples:
    outputs = shape[0] if shape[0] > 1 else shape[3]
    scales = tuple(np.linspace(0.001, 0.002, outputs))

    def samples(rng: np.random.Generator) -> list[Sample]:
        return [
            (f32(rng, 1, 6, 7, 4), f32(rng, *shape), f32(rng, outputs), "SAME", 2, 1, "RELU6", 1, 2, *FLOATS, ()),
            (f32(rng, 1, 6, 7, 4), f32(rng, *shape), f32(rng, outputs), "VALID", 1, 2, "NONE", 2, 1, *FLOATS, ()),
            (int8(rng, 2, 6, 7, 4), int8(rng, *shape), int32(rng, outputs), "SAME", 1, 2, "NONE", 2, 1, *LAYER, (0.002,)),
            (int8(rng, 1, 6, 7, 4), int8(rng, *shape), int32(rng, outputs), "VALID", 2, 2, "RELU", 1, 1, *LAYER, scales),
        ]

    return samples


def pool(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 1, 6, 7, 4), "SAME", 2, 1, "NONE", 3, 2, *FLOATS),
        (int8(rng, 2, 6, 7, 3), "VALID", 1, 2, "RELU6", 2, 3, (0.1,), (4,)),
        (int8(rng, 2, 6, 7, 3), "SAME", 2, 2, "NONE", 3, 3, (0.1,), (-128,)),
    ]


def of_two(rng: np.random.Generator) -> list[Sample]:
    types = (0.05, 0.02, 0.07), (3, -7, 11)
    return [
        (f32(rng, 2, 3), f32(rng, 2, 1), "NONE", *FLOATS),
        (int8(rng, 2, 3), int8(rng, 1, 3), "NONE", *types),
        (int8(rng, 4), int8(rng, 4), "RELU_N1_TO_1", *types),
    ]


def to_fixed(scale: float, zero_point: int) -> Samples:
    return lambda rng: [(f32(rng, 2, 3), *FLOATS), (int8(rng, 2, 300), (0.04, scale), (5, zero_point))]


SAMPLES: dict[str, Samples] = {
    "litert.conv_2d": convolution(5, 3, 2, 4),
    "litert.depthwise_conv_2d": convolution(1, 3, 2, 8),
    "litert.fully_connected": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 5, 4), f32(rng, 5), "RELU", True, *FLOATS, ()),
        (int8(rng, 2, 4), int8(rng, 5, 4), int32(rng, 5), "NONE", True, *LAYER, (0.02,)),
        (int8(rng, 9, 4), int8(rng, 60, 4), int32(rng, 60), "NONE", True, *LAYER, (0.0071,)),
        (int8(rng, 4), int8(rng, 5, 4), None, "NONE", True, *LAYER, tuple(np.linspace(0.01, 0.02, 5))),
        (int8(rng, 9, 4), int8(rng, 60, 4), int32(rng, 60), "NONE", True, *LAYER, tuple(np.linspace(0.001, 0.008, 60))),
    ],
    "litert.max_pool_2d": pool,
    "litert.average_pool_2d": pool,
    **dict.fromkeys(("litert.add", "litert.sub", "litert.mul"), of_two),
    **{row.name: lambda rng: [(f32(rng, 2, 3), f32(rng, 2, 1)), (int8(rng, 2, 3), int8(rng, 3))] for row in BINARY.values()},
    **{row.name: lambda rng: [(f32(rng, 2, 3), *FLOATS), (int8(rng, 40), (0.1,), (-3,))] for row in LIMITED.values()},
    "litert.quantize": lambda rng: [
        (int8(rng, 2, 30), (0.05, 0.03), (3, -7)),
        (int8(rng, 40), (0.02, 0.5), (0, 100)),
        (f32(rng, 2, 30), (0.03,), (-7,)),
    ],
    "litert.dequantize": lambda rng: [(int8(rng, 2, 30), (0.05,), (3,)), (int8(rng, 40), (0.02,), (-128,))],
    "litert.logistic": to_fixed(1 / 256, -128),
    "litert.tanh": to_fixed(1 / 128, 0),
    "litert.softmax": lambda rng: [(f32(rng, 2, 3), 1.0, *FLOATS), (int8(rng, 2, 30), 1.0, (0.04, 1 / 256), (5, -128))],
    "litert.reshape": lambda rng: [(f32(rng, 2, 3), (3, 1, 2)), (int8(rng, 4), (2, 2))],
    "litert.transpose": lambda rng: [(f32(rng, 2, 3, 4), (2, 0, 1)), (int8(rng, 2, 3), (1, 0))],
    "litert.concatenation": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1, "NONE"), ([int8(rng, 4)], 0, "NONE")],
    "litert.slice": lambda rng: [(f32(rng, 3, 4), (1, 0), (2, 3)), (int8(rng, 5), (4,), (1,))],
    "litert.padv2": lambda rng: [(f32(rng, 2, 3), (1, 0, 0, 2), f32(rng, 1)), (int8(rng, 4), (2, 1), int8(rng, 1))],
}
