"""Arguments with which to try the operators that only Flambeau's runtime has: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_samples import Samples
from sample_tensors import Sample, f32, mask

from flambeau.dialects.fused.packing import pack_conv_weight, pack_linear_weight
from flambeau.runtime.manifest import activation_names


def linear(rng: np.random.Generator) -> list[Sample]:
    samples: list[Sample] = [
        (f32(rng, 2, 5, 7), pack_linear_weight(f32(rng, 20, 7)), f32(rng, 20), f32(rng, 2, 5, 20), 20, activation)
        for activation in activation_names()
    ]
    return [*samples, (f32(rng, 3, 4), pack_linear_weight(f32(rng, 16, 4)), None, None, 16)]


def convolution(rng: np.random.Generator) -> list[Sample]:
    def sample(weight: Any, groups: int, channels: int, addend: Any, *window: tuple[int, int]) -> Sample:
        out_channels = weight.shape[0]
        packed, kernel = pack_conv_weight(weight, groups), weight.shape[2:]
        return f32(rng, 1, channels, 8, 7), packed, f32(rng, out_channels), addend, kernel, *window, groups, out_channels, "relu6"

    return [
        sample(f32(rng, 20, 3, 3, 2), 1, 3, None, (2, 1), (1, 0), (1, 2)),
        sample(f32(rng, 5, 1, 3, 3), 5, 5, f32(rng, 1, 5, 8, 7), (1, 1), (1, 1), (1, 1)),
    ]


SAMPLES: dict[str, Samples] = {
    "fused.linear": linear,
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
"""Generators by full operator name."""
