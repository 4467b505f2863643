"""Arguments with which to try the operators of TOSA: bound arguments in schema order."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f16, i8, i16, i32
from xdsl.dialects.builtin import f32 as f32_type

from flambeau.backends.tosa.dialect.choices import COMPARISONS, LOGIC
from flambeau.backends.tosa.dialect.elements import BINARY, UNARY
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, mask


def half(rng: np.random.Generator, *shape: int) -> Array:
    return f32(rng, *shape).astype(np.float16)


def int8(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-128, 128, shape).astype(np.int8)


def int32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-1000, 1000, shape).astype(np.int32)


def int16(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(2**15), 2**15, shape).astype(np.int16)


def int48(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(2**40), 2**40, shape)


def bits(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(0, 32, shape).astype(np.int32)


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(x) + x.dtype.type(0.1),) for x in (f32(rng, 2, 3, 5), half(rng, 2, 3))]


def binary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3), f32(rng, 2, 1)), (half(rng, 2, 3), half(rng, 1, 3)), (int32(rng, 2, 3), int32(rng, 2, 3))]


def convolution(*weight: int) -> Samples:
    def samples(rng: np.random.Generator) -> list[Sample]:
        numbers = (1, 0, 1, 1), (2, 1), (1, 2)
        outputs = weight[0] if weight[-1] == 4 else weight[2] * weight[3]
        return [
            *((draw(rng, 1, 6, 7, 4), draw(rng, *weight), draw(rng, outputs), 0, 0, *numbers) for draw in (f32, half)),
            (int8(rng, 1, 6, 7, 4), int8(rng, *weight), int32(rng, 1), -3, 2, *numbers),
            (int16(rng, 1, 6, 7, 4), int8(rng, *weight), int48(rng, outputs), 0, 0, *numbers),
        ]

    return samples


SAMPLES: dict[str, Samples] = {
    **{row.name: binary for row in COMPARISONS.values()},
    **{row.name: lambda rng: [(mask(rng, 2, 3), mask(rng, 2, 1))] for row in LOGIC.values()},
    "tosa.logical_not": lambda rng: [(mask(rng, 2, 3),)],
    "tosa.select": lambda rng: [(mask(rng, 2, 1), f32(rng, 2, 3), f32(rng, 1, 3)), (mask(rng, 4), int8(rng, 4), int8(rng, 1))],
    "tosa.cast": lambda rng: [
        (f32(rng, 2, 3) * np.float32(100), i8),
        (np.array([0.5, 1.5, 3e9], np.float32), i32),
        (int32(rng, 4), f32_type),
        (f32(rng, 4), f16),
        (half(rng, 4), f32_type),
    ],
    "tosa.pow": lambda rng: [(np.abs(f32(rng, 2, 3)), f32(rng, 1, 3))],
    **{row.name: unary for row in UNARY.values()},
    "tosa.negate": lambda rng: [(draw(rng, 2, 3, 5), 0, 0) for draw in (f32, half)],
    **{row.name: binary for row in BINARY.values()},
    "tosa.mul": lambda rng: [
        *((draw(rng, 2, 3), draw(rng, 2, 1), 0) for draw in (f32, half, int32)),
        (int32(rng, 4), int32(rng, 4), 5),
    ],
    "tosa.conv2d": convolution(5, 3, 2, 4),
    "tosa.depthwise_conv2d": convolution(3, 2, 4, 2),
    "tosa.max_pool2d": lambda rng: [
        (x, (2, 3), (2, 1), (1, 1, 0, 1))
        for x in (f32(rng, 1, 6, 7, 4), half(rng, 1, 6, 7, 1), int8(rng, 2, 6, 7, 1), int16(rng, 1, 6, 7, 2))
    ],
    "tosa.avg_pool2d": lambda rng: [
        *((draw(rng, 1, 6, 7, 4), 0, 0, (2, 3), (2, 1), (1, 1, 0, 1)) for draw in (f32, half)),
        (int8(rng, 2, 6, 7, 3), 4, -7, (2, 3), (2, 1), (1, 1, 0, 1)),
        (int16(rng, 1, 6, 7, 3), 0, 0, (2, 3), (2, 1), (1, 1, 0, 1)),
    ],
    "tosa.clamp": lambda rng: [
        *((draw(rng, 2, 3), -0.5, 0.5) for draw in (f32, half)),
        (int8(rng, 4), -7, 100),
        (int16(rng, 4), -700, 1000),
    ],
    "tosa.table": lambda rng: [
        (int8(rng, 2, 3), tuple(int(item) for item in int8(rng, 256))),
        (int16(rng, 2, 3), tuple(int(item) for item in int32(rng, 513))),
    ],
    "tosa.rescale": lambda rng: [
        (int8(rng, 2, 3), (1 << 30,), (30,), -3, 0, i32),
        (int32(rng, 2, 3), (1 << 30,), (25,), 0, 0, i16),
        (int32(rng, 2, 3), (1 << 30, 1518500250, 2147483647), (36, 40, 33), 0, 5, i8),
        (int48(rng, 2, 3), (1 << 14, 20000, 32767), (40, 36, 40), 0, 0, i16),
    ],
    "tosa.reshape": lambda rng: [(f32(rng, 2, 3), (3, 1, 2)), (int8(rng, 4), (2, 2))],
    "tosa.transpose": lambda rng: [(f32(rng, 2, 3, 4), (2, 0, 1)), (int8(rng, 2, 3), (1, 0))],
    "tosa.matmul": lambda rng: [
        *((draw(rng, 2, 3, 4), draw(rng, 2, 4, 5), 0, 0) for draw in (f32, half)),
        (int8(rng, 2, 3, 4), int8(rng, 2, 4, 5), -3, 7),
        (int16(rng, 2, 3, 4), int16(rng, 2, 4, 5), 0, 0),
    ],
    "tosa.reduce_max": lambda rng: [(f32(rng, 2, 3, 4), 1), (int8(rng, 5, 2), 0), (half(rng, 2, 3), 1)],
    "tosa.reduce_min": lambda rng: [(f32(rng, 2, 3, 4), 2), (int32(rng, 5), 0), (half(rng, 2, 3), 0)],
    "tosa.reduce_sum": lambda rng: [(f32(rng, 2, 3, 4), 0), (int32(rng, 5, 2), 1)],
    "tosa.reduce_product": lambda rng: [(f32(rng, 2, 3, 4), 1)],
    "tosa.arithmetic_right_shift": lambda rng: [(int32(rng, 2, 3), bits(rng, 2, 1), rounds) for rounds in (False, True)],
    "tosa.logical_left_shift": lambda rng: [(int32(rng, 2, 3), bits(rng, 1, 3))],
    "tosa.clz": lambda rng: [(int32(rng, 2, 3) >> bits(rng, 2, 3),)],
    "tosa.concat": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1), ([int8(rng, 4)], 0), ([int16(rng, 2), int16(rng, 1)], 0)],
    "tosa.slice": lambda rng: [(f32(rng, 3, 4), (1, 0), (2, 3)), (int8(rng, 5), (4,), (1,)), (mask(rng, 2, 3), (0, 1), (2, 2))],
    "tosa.pad": lambda rng: [*((draw(rng, 2, 3), (1, 0, 0, 2), 0.5) for draw in (f32, half)), (int8(rng, 4), (2, 1), -7)],
    "tosa.tile": lambda rng: [(f32(rng, 1, 3), (4, 2)), (int8(rng, 2, 1, 2), (1, 3, 1))],
    "tosa.reverse": lambda rng: [(f32(rng, 2, 3), 1), (int8(rng, 4), 0)],
    "tosa.gather": lambda rng: [
        (f32(rng, 2, 5, 3), rng.integers(0, 5, (2, 4)).astype(np.int32)),
        (int8(rng, 1, 2, 1), np.ones((1, 1), np.int32)),
    ],
    "tosa.transpose_conv2d": lambda rng: [
        *((draw(rng, 1, 3, 4, 5), draw(rng, 2, 3, 2, 5), draw(rng, 2), 0, 0, (-1, 0, 2, -1), (2, 3)) for draw in (f32, half)),
        (int8(rng, 2, 2, 3, 4), int8(rng, 3, 2, 2, 4), int32(rng, 3), -3, 0, (1, 1, 0, 0), (1, 2)),
        (int16(rng, 1, 2, 3, 4), int8(rng, 40, 2, 2, 4), int48(rng, 40), 0, 0, (1, 1, 0, 0), (1, 2)),
    ],
    "tosa.resize": lambda rng: [
        (item, scale, offset, border, mode)
        for item in (f32(rng, 1, 3, 4, 2), half(rng, 1, 3, 4, 1), int8(rng, 2, 3, 2, 3), int16(rng, 1, 3, 2, 2))
        for scale, offset, border in (((4, 2, 2, 1), (-1, 0), (1, 1)), ((2, 3, 1, 1), (1, 0), (0, 0)))
        for mode in ("nearest", "bilinear")
    ],
}
