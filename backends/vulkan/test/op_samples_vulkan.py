"""Arguments with which to try the operators of the dialect: bound arguments in schema order."""

from __future__ import annotations

import numpy as np

from flambeau.backends.vulkan.dialect.elementwise import ARITHMETIC, BINARY, UNARY
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5),), (f32(rng),)]


def positive(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 2, 3, 5)) + np.float32(0.1),)]


def i8(rng: np.random.Generator, *shape: int) -> Array:
    """Integers of a weight."""
    return rng.integers(-127, 128, shape).astype(np.int8)


def f16(rng: np.random.Generator, *shape: int) -> Array:
    """Halves."""
    return f32(rng, *shape).astype(np.float16)


def binary(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 5), f32(rng, 2, 3, 5)),
        (f32(rng, 1), f32(rng, 2, 1, 3) + np.float32(4)),
        (f32(rng, 2, 3), np.full((), 4.5, np.float32)),
    ]


def pool(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 7, 6), (2, 3), (2, 1), (0, 1), (1, 1)), (f32(rng, 1, 3, 7, 6), (2, 2), (1, 2), (1, 0), (1, 1))]


def reduction(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 4), (1, 2)), (f32(rng, 2, 70, 3), (1,)), (f32(rng, 100), (0,)), (f32(rng, 2, 3, 100), (0,))]


def softmax(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 4), 2), (f32(rng, 2, 3), 0), (f32(rng, 3, 100), 1)]


SAMPLES: dict[str, Samples] = {
    **{kind.name: unary for kind in UNARY.values()},
    **{f"vulkan.{name}": positive for name in ("log", "reciprocal", "rsqrt", "sqrt")},
    **{kind.name: binary for kind in (*ARITHMETIC.values(), *BINARY.values())},
    **{f"vulkan.reduce_{name}": reduction for name in ("max", "mean", "min", "sum")},
    **{f"vulkan.{name}": softmax for name in ("log_softmax", "softmax")},
    **{f"vulkan.{name}": pool for name in ("avg_pool2d", "avg_pool2d_inside", "max_pool2d")},
    "vulkan.chain": lambda rng: [
        ([f32(rng, 2, 3, 4), f32(rng, 3, 1)], "add 0 1; sigmoid 2; mul 0 3"),
        ([f32(rng, 2, 3), f32(rng, 3), f32(rng, 1), f32(rng)], "clamp 0 -0.5 0.5; sub 4 1; maximum 5 2; div 6 3; neg 7; leaky_relu 8 0.25"),
    ],
    "vulkan.clamp": lambda rng: [(f32(rng, 2, 3), -0.5, 0.5), (f32(rng, 4), 0.0, float("inf"))],
    "vulkan.concat": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1), ([f32(rng, 4)], 0)],
    "vulkan.conv2d": lambda rng: [
        (f32(rng, 2, 3, 7, 6), f32(rng, 5, 3, 3, 2), f32(rng, 5), None, (1, 2), (1, 0), (1, 2)),
        (f32(rng, 1, 4, 7, 6), f32(rng, 4, 1, 3, 3), None, None, (1, 1), (1, 1), (1, 1), 4, "clamp", 0.0, 6.0),
        (f32(rng, 1, 4, 5, 5), i8(rng, 6, 2, 1, 1), f32(rng, 6), np.abs(f32(rng, 6)), (1, 1), (0, 0), (1, 1), 2, "relu"),
    ],
    "vulkan.conv_transpose2d": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3, 4, 3, 2), f32(rng, 4), None, (2, 1), (1, 0), (1, 2), 1, "", 0.0, 0.0, (1, 0)),
        (f32(rng, 1, 4, 4, 5), i8(rng, 4, 3, 2, 2), None, np.abs(f32(rng, 6)), (2, 2), (0, 0), (1, 1), 2, "relu", 0.0, 0.0, (0, 0)),
    ],
    "vulkan.dequantize": lambda rng: [(i8(rng, 3, 5), np.abs(f32(rng, 3)), 0), (i8(rng, 2, 3, 4), np.abs(f32(rng, 3)), 1)],
    "vulkan.elu": lambda rng: [(f32(rng, 2, 3), 0.5)],
    "vulkan.gelu": unary,
    "vulkan.gelu_tanh": unary,
    "vulkan.gemm": lambda rng: [
        (f32(rng, 40, 7), f32(rng, 7, 35), f32(rng, 35)),
        (f32(rng, 2, 3, 4), f32(rng, 2, 5, 4), f32(rng, 3, 1), None, True, "leaky_relu", 0.5, 0.0),
        (f16(rng, 3, 4), f16(rng, 2, 4, 5), None, None, False, "gelu"),
        (f32(rng, 3, 4), i8(rng, 5, 4), None, np.abs(f32(rng, 5)), True),
        (i8(rng, 3, 4), f32(rng, 2, 4, 5), f32(rng, 3, 1), np.abs(f32(rng, 3))),
    ],
    "vulkan.layer_norm": lambda rng: [
        (f32(rng, 3, 100), f32(rng, 100), f32(rng, 100), 1, 1e-5),
        (f32(rng, 2, 3, 4), None, None, 2, 1e-3),
        (f32(rng, 2, 3, 4), f32(rng, 3, 4), None, 2, 1e-3),
    ],
    "vulkan.leaky_relu": lambda rng: [(f32(rng, 2, 3), 0.25)],
    "vulkan.pad": lambda rng: [(f32(rng, 2, 3), (0, 1), (2, 0), 0.5)],
    "vulkan.reshape": lambda rng: [(f32(rng, 2, 3, 4), (4, 6)), (f32(rng, 1), ())],
    "vulkan.resize_bilinear": lambda rng: [(f32(rng, 1, 2, 3, 4), (6, 2)), (f32(rng, 1, 2, 3, 4), (6, 5), True)],
    "vulkan.resize_nearest": lambda rng: [(f32(rng, 1, 2, 3, 4), (6, 5)), (f32(rng, 2, 1, 3, 4), (2, 9))],
    "vulkan.to_float": lambda rng: [(f16(rng, 2, 3),)],
    "vulkan.to_half": lambda rng: [(f32(rng, 2, 3),)],
    "vulkan.strided": lambda rng: [(f32(rng, 2, 3, 4), (4, 2), (1, 12), 4), (f32(rng, 5), (3, 2), (-1, 0), 4)],
}
