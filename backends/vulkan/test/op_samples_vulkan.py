"""Arguments with which to try the operators of the dialect: bound arguments in schema order."""

from __future__ import annotations

import numpy as np

from flambeau.backends.vulkan.dialect.elementwise import ARITHMETIC, BINARY, UNARY
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5),), (f32(rng),)]


def positive(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 2, 3, 5)) + np.float32(0.1),)]


def binary(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 5), f32(rng, 2, 3, 5)),
        (f32(rng, 1), f32(rng, 2, 1, 3) + np.float32(4)),
        (f32(rng, 2, 3), np.full((), 4.5, np.float32)),
    ]


SAMPLES: dict[str, Samples] = {
    **{kind.name: unary for kind in UNARY.values()},
    **{f"vulkan.{name}": positive for name in ("log", "reciprocal", "rsqrt", "sqrt")},
    **{kind.name: binary for kind in (*ARITHMETIC.values(), *BINARY.values())},
    "vulkan.clamp": lambda rng: [(f32(rng, 2, 3), -0.5, 0.5), (f32(rng, 4), 0.0, float("inf"))],
    "vulkan.elu": lambda rng: [(f32(rng, 2, 3), 0.5)],
    "vulkan.gelu": unary,
    "vulkan.gelu_tanh": unary,
    "vulkan.leaky_relu": lambda rng: [(f32(rng, 2, 3), 0.25)],
}
