"""Arguments with which to try the nodes of XNNPACK: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16

from flambeau.backends.xnnpack.dialect.elementwise import ARITHMETIC, BINARY, UNARY, CopyNodeOp, PreluNodeOp, SoftmaxNodeOp, SquareNodeOp
from flambeau.dialects.ir.tensor_types import f32 as f32_type
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32

POSITIVE = ("log", "reciprocal_square_root", "square_root")


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5),), (f32(rng, 7),)]


def positive(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 2, 3, 5)) + np.float32(0.1),)]


def binary(limits: tuple[Any, ...] = ()) -> Samples:
    def samples(rng: np.random.Generator) -> list[Sample]:
        return [
            (f32(rng, 2, 3, 5), f32(rng, 2, 3, 5)),
            (f32(rng, 2, 3, 5), f32(rng, 5) + np.float32(4)),
            (f32(rng, 1), f32(rng, 2, 1, 3) + np.float32(4), 0, *limits),
        ]

    return samples


def convolution(kind: str) -> Samples:
    def sample(rng: np.random.Generator, inputs: int, outputs: int, groups: int, *numbers: int, **more: Any) -> Sample:
        height, width = numbers[4:6]
        shapes = {
            "conv2d": (groups * outputs, height, width, inputs),
            "depthwise_conv2d": (1, height, width, groups * outputs),
            "conv_transpose2d": (groups * outputs, height, width, inputs),
        }
        adjustment = numbers[10:] or (0, 0)
        weight, bias = f32(rng, *shapes[kind]), f32(rng, groups * outputs) if more.get("bias", True) else None
        image = f32(rng, 2, 7, 6, groups * inputs)
        return (*numbers[:10], inputs, outputs, groups, *adjustment, image, weight, bias, 0, *more.get("limits", ()))

    def samples(rng: np.random.Generator) -> list[Sample]:
        plain, moved = (0, 0, 0, 0, 3, 2, 1, 1, 1, 1), (1, 0, 2, 1, 3, 3, 2, 1, 1, 2)
        if kind == "depthwise_conv2d":
            return [sample(rng, 1, 2, 3, *plain), sample(rng, 1, 1, 5, *moved, bias=False, limits=(0.0, 1.0))]
        more = (1, 0) if kind == "conv_transpose2d" else (0, 0)
        return [sample(rng, 3, 4, 1, *plain), sample(rng, 2, 3, 2, *moved, *more, bias=False, limits=(-0.5, None))]

    return samples


def pool(rng: np.random.Generator) -> list[Sample]:
    return [
        (0, 0, 0, 0, 2, 3, 2, 1, 1, 1, f32(rng, 2, 7, 6, 3)),
        (1, 0, 0, 1, 2, 2, 1, 2, 2, 1, f32(rng, 1, 7, 6, 3), 64, -0.5, 0.5),
    ]


SAMPLES: dict[str, Samples] = {
    **{node.name: unary for node in (*UNARY.values(), CopyNodeOp, SoftmaxNodeOp, SquareNodeOp)},
    **{f"xnnpack.{name}": positive for name in POSITIVE},
    **{node.name: binary((-0.5, 0.5)) for node in ARITHMETIC.values()},
    **{node.name: binary() for node in (*BINARY.values(), PreluNodeOp)},
    **{f"xnnpack.{name}": convolution(name) for name in ("conv2d", "depthwise_conv2d", "conv_transpose2d")},
    **{f"xnnpack.{name}": pool for name in ("max_pooling2d", "avg_pooling2d")},
    **{f"xnnpack.concatenate{count}": lambda rng, count=count: [(1, *(f32(rng, 2, 3) for _ in range(count)))] for count in range(2, 6)},
    "xnnpack.batch_matrix_multiply": lambda rng: [(f32(rng, 2, 3, 4), f32(rng, 2, 4, 5)), (f32(rng, 3, 4), f32(rng, 2, 5, 4), 1)],
    "xnnpack.clamp": lambda rng: [(f32(rng, 2, 3), 0, -0.5, 0.5), (f32(rng, 4), 0, None, 0.0)],
    "xnnpack.convert": lambda rng: [(f16, f32(rng, 2, 3)), (f32_type, f32(rng, 2, 3).astype(np.float16))],
    "xnnpack.dequantize": lambda rng: [(0.05, -3, rng.integers(-128, 128, (2, 3), np.int8)), (0.5, 0, np.array([7, -70000], np.int32))],
    "xnnpack.dequantize_channels": lambda rng: [(1, rng.integers(-127, 128, (2, 3), np.int8), np.array([0.1, 2, 3e-3], np.float32))],
    "xnnpack.elu": lambda rng: [(0.5, f32(rng, 2, 3))],
    "xnnpack.fully_connected": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 5, 4), f32(rng, 5), 0, 0.0),
        (f32(rng, 2, 4), f32(rng, 4, 5), None, 1),
    ],
    "xnnpack.global_avg_pooling2d": lambda rng: [(f32(rng, 2, 3, 4, 5), 64), (f32(rng, 2, 3, 4, 5), 0, 0.0, 1.0)],
    "xnnpack.leaky_relu": lambda rng: [(0.1, f32(rng, 2, 3))],
    "xnnpack.quantize": lambda rng: [(0.05, -3, f32(rng, 2, 3)), (1e-3, 127, f32(rng, 7))],
    "xnnpack.round_rows": lambda rng: [
        (1, f32(rng, 2, 3, 5) + np.float32(1)),
        (3, f32(rng, 2, 3, 4, 5)),
        (1, np.zeros((2, 3), np.float32)),
    ],
    "xnnpack.static_constant_pad": lambda rng: [((0, 1), (2, 0), 0.5, f32(rng, 2, 3))],
    "xnnpack.static_reshape": lambda rng: [((3, 2), f32(rng, 2, 3)), ((4, 0), f32(rng, 2, 3, 4))],
    "xnnpack.static_resize_bilinear2d": lambda rng: [(5, 7, f32(rng, 1, 3, 4, 2)), (2, 9, f32(rng, 1, 3, 4, 2), 8)],
    "xnnpack.static_slice": lambda rng: [((0, 1), (2, 2), f32(rng, 2, 3))],
    "xnnpack.static_transpose": lambda rng: [((2, 0, 1), f32(rng, 2, 3, 4))],
}
