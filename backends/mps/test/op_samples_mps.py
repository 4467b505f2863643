"""Arguments with which to try the nodes: bound arguments in schema order."""

from __future__ import annotations

import numpy as np

from flambeau.backends.mps.dialect.functions import ARITHMETIC, BINARY, UNARY
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def of_one(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 3, 2)) + np.float32(0.2),)]


def of_two(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 3, 2), f32(rng, 2) + np.float32(5)), (f32(rng, 1, 4), f32(rng, 3, 1) + np.float32(5))]


def scaled(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 3, 2), f32(rng, 2), 1.0), (f32(rng, 4), f32(rng, 4), -0.5)]


def limited(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 3, 2), -0.5, 0.25)]


def along(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 4), 1, False), (f32(rng, 5), 0, False)]


def pool(rng: np.random.Generator) -> list[Sample]:
    # Kernel, stride, padding left, right, top and bottom, dilation, ceil_mode, count_include_pad, divisor_override.
    return [
        (f32(rng, 2, 3, 6, 5), 3, 2, 2, 1, 1, 0, 1, 2, 1, 1, False, True, 0),
        (f32(rng, 1, 2, 6, 6), 2, 2, 1, 2, 0, 0, 0, 1, 1, 1, False, False, 0),
    ]


def convolution(channels: int) -> Samples:
    def samples(rng: np.random.Generator) -> list[Sample]:
        # Strides and dilations in x and y, groups, padding left, right, top and bottom.
        return [
            (f32(rng, 2, 4, 6, 5), f32(rng, 4, channels, 3, 2), f32(rng, 4), 2, 1, 1, 2, 4 // channels, 0, 1, 2, 1),
            (f32(rng, 1, 4, 4, 4), f32(rng, 8, channels, 3, 3), None, 1, 1, 1, 1, 4 // channels, 1, 1, 1, 1),
        ]

    return samples


SAMPLES: dict[str, Samples] = {
    **{row.name: of_one for row in UNARY.values()},
    **{row.name: of_two for row in (*ARITHMETIC.values(), *BINARY.values())},
    **{f"mps.{name}": scaled for name in ("Add", "Sub")},
    **{f"mps.{name}": limited for name in ("HardTanh", "Clamp")},
    **{f"mps.{name}": along for name in ("Softmax", "LogSoftmax")},
    **{f"mps.{name}": pool for name in ("MaxPool2DWithIndices", "AvgPool2D")},
    "mps.Conv2D": convolution(2),
    "mps.DepthwiseConv2D": convolution(1),
    "mps.Addmm": lambda rng: [(f32(rng, 5), f32(rng, 3, 4), f32(rng, 4, 5), 0.5, 2.0)],
    "mps.Cat": lambda rng: [([f32(rng, 3, 2), f32(rng, 1, 2)], 0)],
    "mps.ConstantPadND": lambda rng: [(f32(rng, 2, 3), (1, 0, 0, 2), 0.5), (f32(rng, 2, 3), (2, 1), -1.0)],
    "mps.Expand": lambda rng: [(f32(rng, 3, 1), (3, 4))],
    "mps.GELU": lambda rng: [(f32(rng, 3, 2), "none")],
    "mps.LayerNorm": lambda rng: [(f32(rng, 2, 3, 4), f32(rng, 3, 4), f32(rng, 3, 4), (3, 4), 1e-5)],
    "mps.LeakyReLU": lambda rng: [(f32(rng, 3, 2), 0.2)],
    "mps.MatMul": lambda rng: [(f32(rng, 2, 3, 4), f32(rng, 4, 5))],
    "mps.Mean": lambda rng: [(f32(rng, 2, 3, 4), (0, 2), True), (f32(rng, 2, 3), (1,), False)],
    "mps.Permute": lambda rng: [(f32(rng, 2, 3, 4), (1, 2, 0))],
    "mps.PixelShuffle": lambda rng: [(f32(rng, 1, 8, 2, 3), 2)],
    "mps.Pow": lambda rng: [(np.abs(f32(rng, 3, 2)), f32(rng, 1))],
    "mps.Select": lambda rng: [(f32(rng, 3, 2), 0, 2)],
    "mps.Slice": lambda rng: [(f32(rng, 3, 7), 1, 1, 6, 2)],
    "mps.SplitWithSizes": lambda rng: [(f32(rng, 3, 5), (1, 4), 1)],
    "mps.Squeeze": lambda rng: [(f32(rng, 1, 3, 1), (0, 2))],
    "mps.Unsqueeze": lambda rng: [(f32(rng, 3, 2), 1)],
    "mps.View": lambda rng: [(f32(rng, 3, 4), (2, 6))],
    "mps.Where": lambda rng: [(f32(rng, 3, 2) > 0, f32(rng, 3, 2), f32(rng, 1))],
}
