"""Arguments with which to try the operators of MIL: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.backends.coreml.dialect.elementwise import ARITHMETIC, BINARY, UNARY
from flambeau.backends.coreml.dialect.logic import COMPARISONS, LOGICAL
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5),), (f32(rng, 4).astype(np.float16),)]


def positive(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 2, 3, 5)) + np.float32(0.1), 0.0), (np.abs(f32(rng, 4)), 1e-3)]


def binary(rng: np.random.Generator) -> list[Sample]:
    halves = [array.astype(np.float16) for array in (f32(rng, 2, 3), f32(rng, 3) + np.float32(4))]
    return [(f32(rng, 2, 3, 5), f32(rng, 2, 3, 5)), (f32(rng, 1), f32(rng, 2, 1, 3) + np.float32(4)), tuple(halves)]


def reduction(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 4), (1, -1), False), (f32(rng, 2, 3, 4), (0,), True), (f32(rng, 2, 3).astype(np.float16), (1,), True)]


def pool(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 7, 6), (2, 3), (2, 1), "custom", (0, 0, 0, 0), False),
        (f32(rng, 1, 3, 7, 6), (2, 2), (1, 2), "custom", (1, 0, 0, 1), False),
        (f32(rng, 1, 3, 7), (3,), (2,), "custom", (1, 2), False),
    ]


def convolution(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 4, 7, 6), f32(rng, 4, 2, 3, 2), f32(rng, 4), (1, 2), "custom", (1, 0, 2, 1), (1, 2), 2),
        (f32(rng, 1, 3, 9), f32(rng, 3, 3, 3), None, (2,), "custom", (1, 1), (1,), 1),
    ]


def integers(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-8, 8, shape).astype(np.int8)


def logical(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3) > 0, f32(rng, 2, 3), f32(rng, 1))]


def compared(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3), f32(rng, 3)), (integers(rng, 2, 1).astype(np.int32), integers(rng, 4).astype(np.int32))]


def truths(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3) > 0, f32(rng, 3) > 0)]


SAMPLES: dict[str, Samples] = {
    **{row.name: unary for row in UNARY.values()},
    "coreml.sqrt": lambda rng: [(np.abs(f32(rng, 2, 3)),)],
    **{row.name: binary for row in (*ARITHMETIC.values(), *BINARY.values())},
    **{f"coreml.reduce_{name}": reduction for name in ("log_sum_exp", "max", "mean", "min", "sum")},
    **{row.name: compared for row in COMPARISONS.values()},
    **{row.name: truths for row in LOGICAL.values()},
    "coreml.logical_not": lambda rng: [(f32(rng, 2, 3) > 0,)],
    "coreml.gather_nd": lambda rng: [
        (f32(rng, 3, 4), np.array([[1, 2], [0, 3]], np.int32), 0),
        (f32(rng, 3, 4), np.array([[[2]]], np.int32), 0),
    ],
    "coreml.log": positive,
    "coreml.rsqrt": positive,
    "coreml.select": logical,
    "coreml.conv": convolution,
    "coreml.conv_transpose": convolution,
    "coreml.max_pool": pool,
    "coreml.avg_pool": lambda rng: [(*sample, is_excluded) for is_excluded in (False, True) for sample in pool(rng)],
    "coreml.cast": lambda rng: [
        (f32(rng, 2, 3), "fp16"),
        (f32(rng, 4).astype(np.float16), "fp32"),
        (rng.integers(-9, 9, (3,)), "int32"),
        (f32(rng, 3) > 0, "fp32"),
        (rng.integers(-9, 9, (3,)).astype(np.int32), "int64"),
    ],
    "coreml.clip": lambda rng: [(f32(rng, 2, 3), -0.5, 0.5), (f32(rng, 4), 0.0, float("inf"))],
    "coreml.concat": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1, False), ([f32(rng, 4)], 0, False)],
    "coreml.constexpr_affine_dequantize": lambda rng: [
        (integers(rng, 3, 4), np.array([1, -2, 0], np.int8), np.abs(f32(rng, 3)) + np.float32(0.1), 0),
        (integers(rng, 2, 3), np.full((), 3, np.int8), f32(rng), -1),
    ],
    "coreml.constexpr_blockwise_shift_scale": lambda rng: [
        (integers(rng, 4, 6), f32(rng, 4, 2), integers(rng, 4, 2)),
        (integers(rng, 3, 4), f32(rng, 1, 1), None),
    ],
    "coreml.constexpr_lut_to_dense": lambda rng: [(rng.integers(0, 16, (3, 5)).astype(np.uint8), f32(rng, 16))],
    "coreml.elu": lambda rng: [(f32(rng, 2, 3), 0.5)],
    "coreml.expand_dims": lambda rng: [(f32(rng, 2, 3), (0, 2)), (f32(rng, 4), (-1,))],
    "coreml.gather": lambda rng: [(f32(rng, 5, 3), np.array([[0, 4], [2, 2]], np.int32), 0), (f32(rng, 2, 3), np.array([1], np.int32), 1)],
    "coreml.gelu": lambda rng: [(f32(rng, 2, 3), "EXACT"), (f32(rng, 2, 3), "TANH_APPROXIMATION")],
    "coreml.identity": lambda rng: [(f32(rng, 2, 3),)],
    "coreml.layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4), f32(rng, 4), (2,), 1e-5),
        (f32(rng, 2, 3, 4), None, None, (1, -1), 1e-3),
    ],
    "coreml.leaky_relu": lambda rng: [(f32(rng, 2, 3), 0.1)],
    "coreml.linear": lambda rng: [(f32(rng, 2, 3), f32(rng, 4, 3), f32(rng, 4)), (f32(rng, 2, 2, 3), f32(rng, 4, 3), None)],
    "coreml.matmul": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4, 5), False, False),
        (f32(rng, 4, 3), f32(rng, 2, 5, 4), True, True),
    ],
    "coreml.pad": lambda rng: [(f32(rng, 2, 3), (0, 1, 2, 0), "constant", 0.5)],
    "coreml.pixel_shuffle": lambda rng: [(f32(rng, 2, 8, 3, 4), 2)],
    "coreml.pow": lambda rng: [(np.abs(f32(rng, 2, 3)), f32(rng)), (f32(rng, 2, 3), np.full((1,), 2, np.float32))],
    "coreml.reshape": lambda rng: [(f32(rng, 2, 3, 4), (4, 6)), (f32(rng, 6), (1, 2, 3))],
    "coreml.scatter": lambda rng: [
        (f32(rng, 5, 3), np.array([4, 1], np.int32), f32(rng, 2, 3), 0, "update"),
        (f32(rng, 2, 4), np.array([2], np.int32), f32(rng, 2, 1), -1, "update"),
    ],
    "coreml.scaled_dot_product_attention": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 2, 5, 4), f32(rng, 2, 5, 2), None),
        (f32(rng, 1, 2, 3, 4), f32(rng, 1, 2, 3, 4), f32(rng, 1, 2, 3, 4), np.tril(np.ones((3, 3), np.bool_))),
    ],
    "coreml.sigmoid_hard": lambda rng: [(f32(rng, 2, 3), 0.25, 0.5)],
    "coreml.slice_by_index": lambda rng: [(f32(rng, 4, 7), (0, 1), (4, 6), (2, 2)), (f32(rng, 5), (4,), (5,), (1,))],
    "coreml.softmax": lambda rng: [(f32(rng, 2, 3, 4), -1), (f32(rng, 2, 3), 0)],
    "coreml.split": lambda rng: [(f32(rng, 2, 5), (2, 3), 1), (f32(rng, 4, 2), (1, 1, 2), -2)],
    "coreml.squeeze": lambda rng: [(f32(rng, 1, 3, 1), (0, 2)), (f32(rng, 2, 1), (-1,))],
    "coreml.stack": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 3)], 1), ([f32(rng, 2)], 0)],
    "coreml.tile": lambda rng: [(f32(rng, 2, 1), (1, 3)), (f32(rng, 3), (2,))],
    "coreml.transpose": lambda rng: [(f32(rng, 2, 3, 4), (2, 0, 1))],
    "coreml.upsample_bilinear": lambda rng: [(f32(rng, 1, 2, 3, 4), 2.0, 1.25, True), (f32(rng, 1, 2, 3, 4), 2.0, 3.0, False)],
    "coreml.upsample_nearest_neighbor": lambda rng: [(f32(rng, 1, 2, 3, 4), 2.0, 1.25)],
}
