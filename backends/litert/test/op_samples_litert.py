"""Arguments with which to try the operators of TFLite: bound arguments in schema order."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i8, i16

from flambeau.backends.litert.dialect.choices import COMPARISONS
from flambeau.backends.litert.dialect.elements import BINARY, LIMITED
from flambeau.backends.litert.dialect.functions import UNARY
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, mask


def int8(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-128, 128, shape).astype(np.int8)


def int16(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(2**15), 2**15, shape).astype(np.int16)


def int64(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-(10**7), 10**7, shape)


def int32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-1000, 1000, shape).astype(np.int32)


FLOATS: tuple[tuple[float, ...], tuple[int, ...]] = (), ()
"""The types of floats: none."""
LAYER = (0.05, 0.3), (-3, 7)
WIDE_LAYER = (0.0002, 0.001), (0, 0)
"""The types of a layer between int16."""
FINE = tuple(np.linspace(0.001, 0.002, 5))


def convolution(*shape: int) -> Samples:
    outputs = shape[0] if shape[0] > 1 else shape[3]
    scales = tuple(np.linspace(0.001, 0.002, outputs))

    def samples(rng: np.random.Generator) -> list[Sample]:
        return [
            (f32(rng, 1, 6, 7, 4), f32(rng, *shape), f32(rng, outputs), "SAME", 2, 1, "RELU6", 1, 2, *FLOATS, ()),
            (f32(rng, 1, 6, 7, 4), f32(rng, *shape), f32(rng, outputs), "VALID", 1, 2, "NONE", 2, 1, *FLOATS, ()),
            (int8(rng, 2, 6, 7, 4), int8(rng, *shape), int32(rng, outputs), "SAME", 1, 2, "NONE", 2, 1, *LAYER, (0.002,)),
            (int8(rng, 1, 6, 7, 4), int8(rng, *shape), int32(rng, outputs), "VALID", 2, 2, "RELU", 1, 1, *LAYER, scales),
            (int16(rng, 2, 6, 7, 4), int8(rng, *shape), int64(rng, outputs), "SAME", 1, 2, "NONE", 2, 1, *WIDE_LAYER, (0.002,)),
            (int16(rng, 1, 6, 7, 4), int8(rng, *shape), int64(rng, outputs), "VALID", 2, 2, "RELU6", 1, 1, *WIDE_LAYER, scales),
        ]

    return samples


def pool(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 1, 6, 7, 4), "SAME", 2, 1, "NONE", 3, 2, *FLOATS),
        (int8(rng, 2, 6, 7, 3), "VALID", 1, 2, "RELU6", 2, 3, (0.1,), (4,)),
        (int8(rng, 2, 6, 7, 3), "SAME", 2, 2, "NONE", 3, 3, (0.1,), (-128,)),
        (int16(rng, 2, 6, 7, 3), "SAME", 2, 1, "RELU6", 3, 3, (0.0004,), (0,)),
    ]


def of_two(rng: np.random.Generator) -> list[Sample]:
    types, wide = ((0.05, 0.02, 0.07), (3, -7, 11)), ((0.0005, 0.0002, 0.0007), (0, 0, 0))
    return [
        (f32(rng, 2, 3), f32(rng, 2, 1), "NONE", *FLOATS),
        (int8(rng, 2, 3), int8(rng, 1, 3), "NONE", *types),
        (int8(rng, 4), int8(rng, 4), "RELU_N1_TO_1", *types),
        (int16(rng, 2, 300), int16(rng, 1, 300), "NONE", *wide),
        (int16(rng, 400), int16(rng, 400), "RELU6", *wide),
    ]


def of_sums(rng: np.random.Generator) -> list[Sample]:
    """Those of sums, which have a kernel of their own for int16 whose scales are powers of two."""
    return [(a, b, activation, a.dtype != np.int16, *types) for a, b, activation, *types in of_two(rng)]


def to_fixed(scale: float, zero_point: int) -> Samples:
    return lambda rng: [
        (f32(rng, 2, 3), *FLOATS),
        (int8(rng, 2, 300), (0.04, scale), (5, zero_point)),
        *((int16(rng, 2, 300), (step, 1 / 32768), (0, 0)) for step in (0.0003, 0.02, 2.0**-12, 2.0**-11, 1e-6, 3.9)),
    ]


def rescaling(*numbers: object) -> Samples:
    """Samples of a function of one tensor, before whose types there are numbers."""
    return lambda rng: [
        (f32(rng, 2, 3), *numbers, *FLOATS),
        (int8(rng, 2, 300), *numbers, (0.04, 0.03), (5, -20)),
        (int8(rng, 2, 300), *numbers, (0.031, 0.031), (-128, -100)),
        (int16(rng, 2, 300), *numbers, (0.0004, 0.0003), (0, 0)),
    ]


def reduced(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 4), (0, 2), False, *FLOATS),
        (f32(rng, 2, 3, 4), (1,), True, *FLOATS),
        (int8(rng, 2, 30, 7), (2,), False, (0.04, 0.03), (5, -20)),
        (int8(rng, 40, 3, 7), (2, 0), True, (0.04, 0.05), (5, -20)),
        (int16(rng, 40, 3, 7), (2, 0), True, (0.0004, 0.00005), (0, 0)),
    ]


def chosen(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 4), (0, 2), False),
        (f32(rng, 2, 3), (1,), True),
        (int8(rng, 2, 3, 7), (2,), False),
        (int16(rng, 2, 3, 7), (0,), False),
    ]


def resized(rng: np.random.Generator) -> list[Sample]:
    return [
        (image, size, aligned, halves)
        for aligned, halves in ((False, False), (True, False), (False, True))
        for image in (f32(rng, 2, 3, 4, 3), int8(rng, 1, 5, 4, 2), int16(rng, 1, 5, 4, 2))
        for size in ((6, 8), (7, 5), (1, 2))
    ]


def of_two_floats(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3), f32(rng, 2, 1)), (np.abs(f32(rng, 4)) + 1, f32(rng, 4))]


def of_conditions(rng: np.random.Generator) -> list[Sample]:
    return [(mask(rng, 2, 3), mask(rng, 3))]


def compared(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3).round(), f32(rng, 2, 1).round())]


SAMPLES: dict[str, Samples] = {
    "litert.conv_2d": convolution(5, 3, 2, 4),
    "litert.depthwise_conv_2d": convolution(1, 3, 2, 8),
    "litert.fully_connected": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 5, 4), f32(rng, 5), "RELU", True, *FLOATS, ()),
        (int8(rng, 2, 4), int8(rng, 5, 4), int32(rng, 5), "NONE", True, *LAYER, (0.02,)),
        (int8(rng, 9, 4), int8(rng, 60, 4), int32(rng, 60), "NONE", True, *LAYER, (0.0071,)),
        (int8(rng, 4), int8(rng, 5, 4), None, "NONE", True, *LAYER, tuple(np.linspace(0.01, 0.02, 5))),
        (int8(rng, 9, 4), int8(rng, 60, 4), int32(rng, 60), "NONE", True, *LAYER, tuple(np.linspace(0.001, 0.008, 60))),
        (int16(rng, 2, 4), int8(rng, 5, 4), int64(rng, 5), "RELU", True, *WIDE_LAYER, (0.002,)),
        (int16(rng, 9, 4), int8(rng, 60, 4), None, "NONE", True, *WIDE_LAYER, tuple(np.linspace(0.001, 0.008, 60))),
    ],
    "litert.max_pool_2d": pool,
    "litert.average_pool_2d": pool,
    **dict.fromkeys(("litert.add", "litert.sub"), of_sums),
    "litert.mul": of_two,
    **{
        row.name: lambda rng: [(f32(rng, 2, 3), f32(rng, 2, 1)), (int8(rng, 2, 3), int8(rng, 3)), (int16(rng, 2, 3), int16(rng, 3))]
        for row in BINARY.values()
    },
    **{row.name: lambda rng: [(f32(rng, 2, 3), *FLOATS), (int8(rng, 40), (0.1,), (-3,))] for row in LIMITED.values()},
    **{
        LIMITED[name].name: lambda rng: [(f32(rng, 2, 3), *FLOATS), (int8(rng, 40), (0.1,), (-3,)), (int16(rng, 40), (0.0003,), (0,))]
        for name in ("RELU", "RELU6")
    },
    "litert.quantize": lambda rng: [
        (int8(rng, 2, 30), i8, (0.05, 0.03), (3, -7)),
        (int8(rng, 40), i8, (0.02, 0.5), (0, 100)),
        (f32(rng, 2, 30), i8, (0.03,), (-7,)),
        (int16(rng, 2, 30), i16, (0.0005, 0.0003), (0, 0)),
        (f32(rng, 2, 30), i16, (0.00003,), (0,)),
    ],
    "litert.dequantize": lambda rng: [
        (int8(rng, 2, 30), (0.05,), (3,)),
        (int8(rng, 40), (0.02,), (-128,)),
        (int16(rng, 40), (0.0002,), (0,)),
        (f32(rng, 40).astype(np.float16), *FLOATS),
    ],
    "litert.logistic": to_fixed(1 / 256, -128),
    "litert.tanh": to_fixed(1 / 128, 0),
    "litert.softmax": lambda rng: [
        (f32(rng, 2, 3), 1.0, *FLOATS),
        (int8(rng, 2, 30), 1.0, (0.04, 1 / 256), (5, -128)),
        *((int16(rng, 20, 30), 1.0, (step, 1 / 32768), (0, 0)) for step in (0.00002, 0.0004, 0.01, 3.9)),
    ],
    "litert.reshape": lambda rng: [(f32(rng, 2, 3), (3, 1, 2)), (int8(rng, 4), (2, 2)), (int16(rng, 4), (2, 2))],
    "litert.transpose": lambda rng: [(f32(rng, 2, 3, 4), (2, 0, 1)), (int8(rng, 2, 3), (1, 0)), (int16(rng, 2, 3), (1, 0))],
    "litert.concatenation": lambda rng: [
        ([f32(rng, 2, 3), f32(rng, 2, 1)], 1, "NONE"),
        ([int8(rng, 4)], 0, "NONE"),
        ([int16(rng, 4), int16(rng, 2)], 0, "NONE"),
    ],
    "litert.slice": lambda rng: [(f32(rng, 3, 4), (1, 0), (2, 3)), (int8(rng, 5), (4,), (1,)), (int16(rng, 5), (1,), (3,))],
    "litert.pad": lambda rng: [
        (f32(rng, 2, 3), (1, 0, 0, 2), *FLOATS),
        (int8(rng, 4), (2, 1), (0.1,), (-3,)),
        (int16(rng, 4), (2, 1), (0.1,), (0,)),
    ],
    "litert.padv2": lambda rng: [
        (f32(rng, 2, 3), (1, 0, 0, 2), f32(rng, 1)),
        (f32(rng, 2, 3), (1, 0, 0, 2), f32(rng, 1).reshape(())),
        (int8(rng, 4), (2, 1), int8(rng, 1)),
        (int16(rng, 4), (2, 1), int16(rng, 1)),
    ],
    **{row.name: lambda rng: [(np.abs(f32(rng, 2, 30)) + np.float32(0.01),)] for row in UNARY.values()},
    "litert.square": lambda rng: [(f32(rng, 2, 3),)],
    **dict.fromkeys(("litert.abs", "litert.exp"), rescaling()),
    "litert.elu": lambda rng: rescaling()(rng)[:3],
    "litert.hard_swish": lambda rng: [
        *rescaling()(rng)[:3],
        (int8(rng, 300), (0.2, 0.1), (3, -120)),
        (int8(rng, 300), (0.01, 0.1), (3, -12)),
    ],
    "litert.gelu": lambda rng: [*rescaling(False)(rng), *rescaling(True)(rng)],
    "litert.leaky_relu": lambda rng: [*rescaling(0.1)(rng), *rescaling(-0.3)(rng)],
    "litert.prelu": lambda rng: [
        (f32(rng, 2, 3), f32(rng, 3), *FLOATS),
        (int8(rng, 2, 30, 4), int8(rng, 1, 1, 4), (0.04, 0.01, 0.03), (5, 3, -20)),
    ],
    **dict.fromkeys(("litert.div", "litert.squared_difference"), of_two_floats),
    "litert.pow": lambda rng: [(np.abs(f32(rng, 2, 3)), f32(rng, 2, 1))],
    **{row.name: compared for row in COMPARISONS.values()},
    "litert.equal": lambda rng: [*compared(rng), *of_conditions(rng)],
    "litert.not_equal": lambda rng: [*compared(rng), *of_conditions(rng)],
    **dict.fromkeys(("litert.logical_and", "litert.logical_or"), of_conditions),
    "litert.logical_not": lambda rng: [(mask(rng, 2, 3),)],
    "litert.select_v2": lambda rng: [
        (mask(rng, 2, 3), f32(rng, 2, 1), f32(rng, 3)),
        (mask(rng, 4), int8(rng, 2, 4), int8(rng, 4)),
        (mask(rng, 4), int16(rng, 2, 4), int16(rng, 4)),
    ],
    "litert.cast": lambda rng: [
        (f32(rng, 2, 30) * 9, "FLOAT32", "INT32"),
        (f32(rng, 2, 3).round(), "FLOAT32", "BOOL"),
        (int32(rng, 4), "INT32", "FLOAT32"),
        (int32(rng, 4), "INT32", "INT64"),
        (mask(rng, 4), "BOOL", "FLOAT32"),
    ],
    "litert.mean": reduced,
    **dict.fromkeys(("litert.reduce_max", "litert.reduce_min"), chosen),
    **dict.fromkeys(("litert.reduce_prod", "litert.sum"), lambda rng: chosen(rng)[:2]),
    **dict.fromkeys(("litert.arg_max", "litert.arg_min"), lambda rng: [(f32(rng, 2, 3, 4), (1,), "INT64")]),
    "litert.cumsum": lambda rng: [(f32(rng, 2, 3, 4), (1,), False, False)],
    "litert.log_softmax": lambda rng: [(f32(rng, 2, 3, 4),)],
    "litert.batch_matmul": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4, 5), False, False, *FLOATS),
        (f32(rng, 2, 1, 4, 3), f32(rng, 3, 5, 4), True, True, *FLOATS),
        (int8(rng, 2, 9, 16), int8(rng, 2, 16, 9), False, False, (0.04, 0.05, 0.7), (3, -4, 5)),
        (int8(rng, 1, 2, 9, 16), int8(rng, 3, 2, 9, 16), False, True, (0.04, 0.05, 0.7), (3, -4, 5)),
        (int16(rng, 1, 2, 9, 16), int16(rng, 3, 2, 9, 16), False, True, (0.0004, 0.0005, 0.07), (0, 0, 0)),
    ],
    "litert.transpose_conv": lambda rng: [
        ((1, 7, 6, 5), f32(rng, 5, 3, 2, 4), f32(rng, 1, 3, 3, 4), f32(rng, 5), "VALID", 2, 2, *FLOATS, ()),
        ((2, 6, 5, 5), f32(rng, 5, 3, 3, 4), f32(rng, 2, 3, 3, 4), f32(rng, 5), "SAME", 2, 2, *FLOATS, ()),
        ((1, 8, 6, 5), int8(rng, 5, 2, 2, 4), int8(rng, 1, 4, 3, 4), int32(rng, 5), "VALID", 2, 2, *LAYER, FINE),
        ((1, 9, 9, 5), int8(rng, 5, 3, 3, 4), int8(rng, 1, 5, 5, 4), int32(rng, 5), "SAME", 2, 2, *LAYER, (0.0013,)),
        ((1, 8, 6, 5), int8(rng, 5, 2, 2, 4), int16(rng, 1, 4, 3, 4), int64(rng, 5), "VALID", 2, 2, *WIDE_LAYER, FINE),
    ],
    **dict.fromkeys(("litert.resize_bilinear", "litert.resize_nearest_neighbor"), resized),
    "litert.depth_to_space": lambda rng: [(f32(rng, 1, 2, 3, 8), 2), (int8(rng, 2, 2, 3, 9), 3)],
    "litert.space_to_depth": lambda rng: [(f32(rng, 1, 4, 6, 2), 2), (int8(rng, 2, 3, 6, 1), 3)],
    "litert.strided_slice": lambda rng: [
        (f32(rng, 3, 7), (1, 0), (3, 6), (1, 2)),
        (int8(rng, 9), (1,), (9,), (3,)),
        (int16(rng, 9), (1,), (9,), (3,)),
    ],
    "litert.tile": lambda rng: [(f32(rng, 3, 2), (1, 3)), (int8(rng, 2), (2,)), (int16(rng, 2), (2,))],
    "litert.mirror_pad": lambda rng: [
        (f32(rng, 3, 4), (1, 2, 0, 3), "REFLECT"),
        (int8(rng, 5), (0, 2), "REFLECT"),
        (int16(rng, 5), (0, 2), "REFLECT"),
    ],
    "litert.reverse_v2": lambda rng: [(f32(rng, 3, 4), (1,)), (int8(rng, 5), (0,)), (int16(rng, 5), (0,))],
    "litert.gather": lambda rng: [
        (f32(rng, 3, 4), rng.integers(0, 4, (2, 3)), 1, 0),
        (int8(rng, 5, 2), rng.integers(0, 5, 3).astype(np.int32), 0, 0),
        (int16(rng, 5, 2), rng.integers(0, 5, 3), 0, 0),
    ],
}
