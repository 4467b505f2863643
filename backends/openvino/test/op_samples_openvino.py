"""Arguments with which to try the layers of OpenVINO: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.backends.openvino.dialect.elementwise import ARITHMETIC, BINARY, UNARY
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32


def unary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5),), (f32(rng),)]


def positive(rng: np.random.Generator) -> list[Sample]:
    return [(np.abs(f32(rng, 2, 3, 5)) + np.float32(0.1),)]


def binary(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 5), f32(rng, 2, 3, 5)), (f32(rng, 1), f32(rng, 2, 1, 3) + np.float32(4)), (f32(rng, 2, 3), f32(rng))]


def reduction(rng: np.random.Generator) -> list[Sample]:
    return [(f32(rng, 2, 3, 4), (1, -1)), (f32(rng, 2, 3, 4), (0,), True)]


def pool(*more: Any) -> Samples:
    def samples(rng: np.random.Generator) -> list[Sample]:
        last = ("floor", "explicit", *more) if more else ()
        return [
            (f32(rng, 2, 3, 7, 6), (2, 1), (0, 0), (0, 0), (2, 3), *last),
            (f32(rng, 1, 3, 7, 6), (1, 2), (1, 0), (0, 1), (2, 2), *last),
        ]

    return samples


SAMPLES: dict[str, Samples] = {
    **{layer.name: unary for layer in UNARY.values()},
    **{f"openvino.{name}": positive for name in ("Log", "Sqrt")},
    **{layer.name: binary for layer in (*ARITHMETIC.values(), *BINARY.values())},
    **{f"openvino.Reduce{name}": reduction for name in ("Max", "Mean", "Min", "Sum")},
    "openvino.Convert": lambda rng: [
        (rng.integers(-128, 128, (2, 3)).astype(np.int8), "f32"),
        (rng.integers(0, 256, (5,)).astype(np.uint8), "f32"),
        (np.rint(f32(rng, 2, 3) * 20), "i8"),
        (np.rint(np.abs(f32(rng, 7)) * 20), "u8"),
    ],
    "openvino.FakeQuantize": lambda rng: [
        (f32(rng, 2, 3, 5), -1.28, 1.27, -128.0, 127.0, 256),
        (f32(rng, 30), -0.5, 1.25, 0.0, 255.0, 256, "numpy"),
    ],
    "openvino.AdaptiveAvgPool": lambda rng: [(f32(rng, 1, 2, 7, 6), (3, 4))],
    "openvino.AvgPool": lambda rng: [*pool(True)(rng), *pool(False)(rng)],
    "openvino.Broadcast": lambda rng: [(f32(rng, 3, 1), (2, 1, 4))],
    "openvino.Clamp": lambda rng: [(f32(rng, 2, 3), -0.5, 0.5), (f32(rng, 4), 0.0, float("inf"))],
    "openvino.Concat": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1), ([f32(rng, 4)], -1)],
    "openvino.Convolution": lambda rng: [
        (f32(rng, 2, 3, 7, 6), f32(rng, 4, 3, 3, 2), (1, 1), (0, 0), (0, 0), (1, 1)),
        (f32(rng, 1, 3, 9), f32(rng, 4, 3, 3), (2,), (1,), (2,), (2,)),
    ],
    "openvino.ConvolutionBackpropData": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3, 4, 3, 2), (2, 1), (1, 0), (0, 1), (1, 2), "explicit", (1, 0)),
    ],
    "openvino.DepthToSpace": lambda rng: [(f32(rng, 2, 8, 3, 4), "depth_first", 2)],
    "openvino.Elu": lambda rng: [(f32(rng, 2, 3), 0.5)],
    "openvino.Gather": lambda rng: [(f32(rng, 2, 3, 4), 1, -1), (f32(rng, 2, 3), -2, 0)],
    "openvino.Gelu": lambda rng: [(f32(rng, 2, 3), "ERF"), (f32(rng, 2, 3), "TANH")],
    "openvino.GroupConvolution": lambda rng: [
        (f32(rng, 2, 4, 7, 6), f32(rng, 2, 3, 2, 3, 3), (2, 1), (1, 1), (1, 0), (1, 2)),
    ],
    "openvino.GroupConvolutionBackpropData": lambda rng: [
        (f32(rng, 1, 4, 5), f32(rng, 2, 2, 3, 3), (2,), (1,), (1,), (1,), "explicit", (0,)),
    ],
    "openvino.Interpolate": lambda rng: [
        (f32(rng, 1, 2, 3, 4), (6, 5), (2.0, 1.25), (2, 3), "linear_onnx", "sizes", "align_corners"),
        (f32(rng, 1, 2, 3, 4), (6, 2), (2.0, 0.5), (2, 3), "linear_onnx", "sizes", "pytorch_half_pixel"),
        (f32(rng, 1, 2, 3, 4), (6, 5), (2.0, 1.25), (2, 3), "nearest", "sizes", "asymmetric"),
    ],
    "openvino.MVN": lambda rng: [(f32(rng, 2, 3, 4), (-1,), 1e-5), (f32(rng, 2, 3, 4), (1, 2), 1e-3)],
    "openvino.MatMul": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4, 5)),
        (f32(rng, 4, 3), f32(rng, 2, 5, 4), True, True),
    ],
    "openvino.MaxPool": pool(),
    "openvino.PReLU": lambda rng: [(f32(rng, 2, 3), f32(rng, 1))],
    "openvino.Pad": lambda rng: [(f32(rng, 2, 3), (0, 1), (2, 0), 0.5)],
    "openvino.Power": lambda rng: [(np.abs(f32(rng, 2, 3)), f32(rng)), (f32(rng, 2, 3), np.full((), 2, np.float32))],
    "openvino.Reshape": lambda rng: [(f32(rng, 2, 3, 4), (4, -1)), (f32(rng, 2, 3, 4), (0, -1, 2), True)],
    "openvino.ScaledDotProductAttention": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 2, 5, 4), f32(rng, 2, 5, 6), f32(rng), f32(rng), True),
        (f32(rng, 2, 3, 4), f32(rng, 2, 5, 4), f32(rng, 2, 5, 6), f32(rng, 3, 5), f32(rng), False),
        (f32(rng, 2, 3, 4), f32(rng, 2, 5, 4), f32(rng, 2, 5, 6), f32(rng), f32(rng), False),
    ],
    "openvino.Select": lambda rng: [(f32(rng, 2, 3) > 0, f32(rng, 2, 3), f32(rng, 1))],
    "openvino.Slice": lambda rng: [(f32(rng, 2, 7), (1,), (6,), (2,), (1,)), (f32(rng, 4, 3), (0, 1), (9, 2), (1, 1), (0, -1))],
    "openvino.SoftMax": lambda rng: [(f32(rng, 2, 3, 4), -1), (f32(rng, 2, 3), 0)],
    "openvino.Squeeze": lambda rng: [(f32(rng, 2, 1, 3, 1), (1, -1))],
    "openvino.Transpose": lambda rng: [(f32(rng, 2, 3, 4), (2, 0, 1))],
    "openvino.Unsqueeze": lambda rng: [(f32(rng, 2, 3), (0, -1))],
    "openvino.VariadicSplit": lambda rng: [(f32(rng, 2, 7), 1, (3, 4)), (f32(rng, 4), -1, (4,))],
}
