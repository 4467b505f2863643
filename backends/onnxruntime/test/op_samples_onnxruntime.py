"""Arguments with which to try the operators of ONNX: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np
import xdsl.dialects.builtin as types

from flambeau.backends.onnxruntime.dialect.elements import ARITHMETIC, BINARY, BITWISE, COMPARISONS, LOGIC, UNARY, SignOnnxOp
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, i64, mask


def f16(rng: np.random.Generator, *shape: int) -> Any:
    return f32(rng, *shape).astype(np.float16)


def i32(rng: np.random.Generator, *shape: int) -> Any:
    return i64(rng, *shape).astype(np.int32)


MAKERS = {types.f32: f32, types.f16: f16, types.i64: i64, types.i32: i32, types.i1: mask}
"""What makes arrays of an element type."""


def arrays(rng: np.random.Generator, row: Any, *shapes: tuple[int, ...]) -> list[list[Any]]:
    """Arrays of these shapes in each element type that a row takes."""
    return [[np.asarray(MAKERS[element](rng, *shape)) for shape in shapes] for element in MAKERS if element in row.takes]


def one(row: Any) -> Samples:
    """Samples of a function of each element."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found = [tuple(item) for shape in ((2, 3, 5), ()) for item in arrays(rng, row, shape)]
        return [(np.asarray(_inside(row.schema.name, item[0])),) for item in found]

    return samples


def _inside(name: str, x: Any) -> Any:
    """Numbers for which a function gives some."""
    match name:
        case "Acos" | "Asin" | "Atanh":
            return np.tanh(x)
        case "Acosh":
            return np.abs(x) + x.dtype.type(1)
        case "Log" | "Sqrt":
            return np.abs(x) + x.dtype.type(0.125)
        case "Reciprocal":
            return np.copysign(np.abs(x) + x.dtype.type(0.5), x)
        case "Tan":
            return np.tanh(x)
        case _:
            return x


def two(row: Any) -> Samples:
    """Samples of a function of two tensors."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        pairs = (((2, 3, 5), (2, 3, 5)), ((3, 1), (2, 1, 4)), ((2, 3), ()))
        return [tuple(item) for pair in pairs for item in arrays(rng, row, *pair)]

    return samples


def reduction(rng: np.random.Generator) -> list[Sample]:
    return [
        (f32(rng, 2, 3, 4), (1, -1)),
        (f32(rng, 2, 3, 4), (0,), False),
        (f32(rng, 2, 3), None, False),
        (f16(rng, 2, 3), (1,)),
    ]


def of_numbers(rng: np.random.Generator) -> list[Sample]:
    return [*reduction(rng), (i64(rng, 2, 3, 4), (1,)), (i32(rng, 2, 3), None, False)]


def moved(*calls: tuple[Any, ...]) -> Samples:
    """Samples of one tensor of a shape, in all types for the first shape, with further arguments."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found: list[Sample] = [(f32(rng, *shape), *rest) for shape, *rest in calls]
        (shape, *rest) = calls[0]
        others = (f16(rng, *shape), i64(rng, *shape), i32(rng, *shape), mask(rng, *shape), i64(rng, *shape).astype(np.int8))
        return [*found, *((x, *rest) for x in others)]

    return samples


def int8(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-128, 128, shape).astype(np.int8)


def _zeros(kind: Any, *shape: int) -> Any:
    return np.zeros(shape, kind)


def quantize(rng: np.random.Generator) -> list[Sample]:
    scale, scales = np.full((), 0.05, np.float32), np.array([0.02, 0.1, 0.3], np.float32)
    kinds = (np.int8, np.uint8, np.int16, np.uint16)
    return [
        *((f32(rng, 2, 3, 4), scale, np.full((), 5, kind)) for kind in kinds),
        (f32(rng, 2, 3, 4), scales, np.array([1, 0, -3], np.int8), 1),
        (f32(rng, 3, 8), np.abs(f32(rng, 3, 2)) + np.float32(0.01), _zeros(np.int8, 3, 2), 1, 4),
    ]


def dequantize(rng: np.random.Generator) -> list[Sample]:
    scale, scales = np.full((), 0.05, np.float32), np.array([0.02, 0.1, 0.3], np.float32)
    kinds = (np.int8, np.uint8, np.int16, np.uint16)
    return [
        *((int8(rng, 2, 3, 4).view(np.uint8).astype(kind), scale, np.full((), 5, kind)) for kind in kinds),
        (int8(rng, 2, 3, 4), scales, np.array([1, 0, -3], np.int8), 1),
        (i32(rng, 3), scales, np.zeros(3, np.int32), 0),
        (int8(rng, 3, 8), np.abs(f32(rng, 3, 2)), np.array([[1, 2], [3, -4], [0, 0]], np.int8), 1, 4),
    ]


def places(rng: np.random.Generator, *shape: int, below: int) -> Any:
    return rng.integers(0, below, shape)


TYPES = (types.f32, types.f16, types.i64, types.i32, types.i1, types.i8)

SAMPLES: dict[str, Samples] = {
    **{row.name: one(row) for row in (*UNARY.values(), SignOnnxOp)},
    **{row.name: two(row) for table in (ARITHMETIC, BINARY, BITWISE, COMPARISONS, LOGIC) for row in table.values()},
    **{f"onnxruntime.Reduce{name}": of_numbers for name in ("Max", "Min", "Prod", "Sum")},
    "onnxruntime.ReduceMean": reduction,
    "onnxruntime.ArgMax": lambda rng: [(f32(rng, 2, 3, 4), 1, False), (f32(rng, 5), 0)],
    "onnxruntime.ArgMin": lambda rng: [(f32(rng, 2, 3, 4), -1, True)],
    "onnxruntime.AveragePool": lambda rng: [
        (f32(rng, 2, 3, 7, 6), "NOTSET", False, True, (1, 1), (2, 3), (1, 1, 1, 1), (2, 1)),
        (f32(rng, 1, 3, 7, 6), "NOTSET", False, False, (1, 1), (3, 3), (1, 0, 1, 0), (1, 2)),
    ],
    "onnxruntime.BatchNormalization": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3), f32(rng, 3), f32(rng, 3), np.abs(f32(rng, 3)) + np.float32(0.1)),
        (f32(rng, 4, 3), f32(rng, 3), f32(rng, 3), f32(rng, 3), np.abs(f32(rng, 3)) + np.float32(0.1), 1e-3),
    ],
    "onnxruntime.Cast": lambda rng: [(x(rng, 2, 3), to) for x in MAKERS.values() for to in TYPES],
    "onnxruntime.Clip": lambda rng: [
        (f32(rng, 2, 3), -0.5, 0.5),
        (f16(rng, 2, 3), 0.0, None),
        (f32(rng, 4), None, 0.25),
        (i64(rng, 5), -2.0, 3.0),
        (i32(rng, 5), -2.0, None),
    ],
    "onnxruntime.Concat": lambda rng: [([f32(rng, 2, 3), f32(rng, 2, 1)], 1), ([i64(rng, 4)], -1), ([mask(rng, 2), mask(rng, 3)], 0)],
    "onnxruntime.Conv": lambda rng: [
        (f32(rng, 2, 3, 7, 6), f32(rng, 4, 3, 3, 2), f32(rng, 4), "NOTSET", (1, 1), 1, (3, 2), (0, 0, 0, 0), (1, 1)),
        (f32(rng, 2, 4, 7, 6), f32(rng, 6, 2, 3, 3), None, "NOTSET", (1, 2), 2, (3, 3), (1, 2, 1, 2), (2, 1)),
        (f32(rng, 1, 3, 9), f32(rng, 4, 3, 3), f32(rng, 4), "NOTSET", (2,), 1, (3,), (1, 1), (2,)),
        (f16(rng, 1, 3, 9), f16(rng, 4, 3, 3), f16(rng, 4), "NOTSET", (1,), 1, (3,), (1, 1), (2,)),
    ],
    "onnxruntime.ConvTranspose": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3, 4, 3, 2), f32(rng, 4), "NOTSET", (1, 2), 1, (3, 2), (1, 0), (1, 0, 1, 0), (2, 1)),
        (f32(rng, 1, 4, 5), f32(rng, 4, 2, 3), None, "NOTSET", (1,), 2, (3,), (0,), (1, 1), (2,)),
    ],
    "onnxruntime.CumSum": lambda rng: [(f32(rng, 2, 3), 1), (i64(rng, 4, 2), 0), (i32(rng, 3), -1)],
    "onnxruntime.DepthToSpace": lambda rng: [(f32(rng, 2, 8, 3, 4), 2, "CRD")],
    "onnxruntime.DequantizeLinear": dequantize,
    "onnxruntime.Div": lambda rng: [
        (f32(rng, 2, 3), np.abs(f32(rng, 3)) + np.float32(0.5)),
        (i64(rng, 2, 3), np.full((), 4, np.int64)),
        (i32(rng, 2, 3), np.full((), -3, np.int32)),
    ],
    "onnxruntime.Elu": lambda rng: [(f32(rng, 2, 3), 0.5), (f16(rng, 2, 3),)],
    "onnxruntime.Expand": moved(((3, 1), (2, 1, 4)), ((2, 3), (1, 1))),
    "onnxruntime.Gather": lambda rng: [
        (f32(rng, 5, 3), places(rng, 2, 4, below=5), 0),
        (i64(rng, 2, 3, 4), np.full((), -1), 2),
        (mask(rng, 2, 3), places(rng, 2, below=3).astype(np.int32), -1),
    ],
    "onnxruntime.GatherElements": lambda rng: [
        (f32(rng, 4, 3), places(rng, 2, 3, below=4), 0),
        (i64(rng, 2, 5), places(rng, 2, 2, below=5), 1),
    ],
    "onnxruntime.Shape": lambda rng: [(f32(rng, 2, 5, 3),), (i64(rng, 4, 6), 2, 1)],
    "onnxruntime.Range": lambda rng: [tuple(np.array(number) for number in numbers) for numbers in ((0, 7, 1), (5, -3, -2))],
    "onnxruntime.ScatterElements": lambda rng: [
        (f32(rng, 2, 5, 3), np.broadcast_to(rng.permutation(5)[:2, None], (2, 2, 3)).copy(), f32(rng, 2, 2, 3), 1),
        (i64(rng, 4), np.array([-1, 0], np.int32), i64(rng, 2)),
        (f32(rng, 4), np.array([1, 1, 3]), f32(rng, 3), 0, "add"),
    ],
    "onnxruntime.ScatterND": lambda rng: [
        (f32(rng, 4, 3), np.array([[2], [-4]]), f32(rng, 2, 3)),
        (i32(rng, 4, 3), np.array([[[2, 1], [0, 0]]]), i32(rng, 1, 2)),
        (f32(rng, 4, 3), np.array([[1], [1]]), f32(rng, 2, 3), "add"),
    ],
    "onnxruntime.GatherND": lambda rng: [(f32(rng, 4, 3), places(rng, 2, 2, below=3)), (i64(rng, 4, 3, 2), places(rng, 5, 1, below=4))],
    "onnxruntime.Gelu": lambda rng: [(f32(rng, 2, 3),), (f32(rng, 2, 3), "tanh")],
    "onnxruntime.Gemm": lambda rng: [
        (f32(rng, 2, 3), f32(rng, 3, 4), f32(rng, 4)),
        (f32(rng, 3, 2), f32(rng, 4, 3), f32(rng, 2, 1), 0.5, 2.0, True, True),
        (f32(rng, 2, 3), f32(rng, 3, 4), None),
    ],
    "onnxruntime.GlobalAveragePool": lambda rng: [(f32(rng, 2, 3, 4, 5),), (f32(rng, 2, 3, 4),)],
    "onnxruntime.GroupNormalization": lambda rng: [(f32(rng, 2, 6, 4, 5), f32(rng, 6), f32(rng, 6), 1e-5, 3)],
    "onnxruntime.HardSigmoid": lambda rng: [(f32(rng, 2, 3) * np.float32(4), 1 / 6), (f32(rng, 3), 0.25, 0.4)],
    "onnxruntime.Identity": moved(((2, 3),)),
    "onnxruntime.IsInf": lambda rng: [(np.array([1, np.inf, -np.inf, np.nan], np.float32),)],
    "onnxruntime.IsNaN": lambda rng: [(np.array([1, np.inf, np.nan], np.float32),)],
    "onnxruntime.LayerNormalization": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4), f32(rng, 4)),
        (f32(rng, 2, 3, 4), f32(rng, 3, 4), None, 1, 1e-3),
    ],
    "onnxruntime.LeakyRelu": lambda rng: [(f32(rng, 2, 3), 0.2), (f16(rng, 3),)],
    "onnxruntime.LogSoftmax": lambda rng: [(f32(rng, 2, 3, 4), 1), (f32(rng, 3),)],
    "onnxruntime.MatMul": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4, 5)),
        (f32(rng, 4, 3), f32(rng, 2, 3, 4)),
        (i64(rng, 2, 3), i64(rng, 3, 4)),
        (i32(rng, 2, 3), i32(rng, 3, 4)),
    ],
    "onnxruntime.MaxPool": lambda rng: [
        (f32(rng, 2, 3, 7, 6), "NOTSET", False, (1, 1), (2, 3), (1, 1, 1, 1), (2, 1)),
        (f32(rng, 1, 3, 7, 6), "NOTSET", False, (2, 1), (2, 2), (0, 0, 0, 0), (1, 2)),
    ],
    "onnxruntime.Mod": lambda rng: [
        (i64(rng, 2, 3), np.full((), -4, np.int64)),
        (i32(rng, 2, 3), np.full((), 3, np.int32)),
        (f32(rng, 4), np.full((), 0.7, np.float32), True),
    ],
    "onnxruntime.PRelu": lambda rng: [(f32(rng, 2, 3, 4), f32(rng, 3, 1)), (f32(rng, 3), f32(rng, 1))],
    "onnxruntime.Pad": lambda rng: [
        (f32(rng, 2, 3), (0, 1, 2, 0), 0.5),
        (f32(rng, 2, 5), (0, -1, 1, -2), 0.0),
        (i64(rng, 2, 3), (1, 0, 0, 1), 7.0),
        (f32(rng, 3, 4), (1, 2, 0, 1), None, None, "reflect"),
        (f32(rng, 3, 4), (1, 2, 0, 1), None, None, "edge"),
    ],
    "onnxruntime.Pow": lambda rng: [(np.abs(f32(rng, 2, 3)), f32(rng)), (f32(rng, 2, 3), np.full((), 2, np.float32))],
    "onnxruntime.QuantizeLinear": quantize,
    "onnxruntime.Reshape": moved(((2, 3, 4), (4, -1)), ((2, 3, 4), (0, -1, 2))),
    "onnxruntime.Resize": lambda rng: [
        (f32(rng, 1, 2, 3, 4), None, None, (1, 2, 6, 5), "align_corners", "linear"),
        (f32(rng, 1, 2, 3, 4), None, None, (1, 2, 6, 2), "pytorch_half_pixel", "linear"),
        (f32(rng, 1, 2, 3, 4), None, None, (1, 2, 6, 5), "asymmetric", "nearest", "floor"),
    ],
    "onnxruntime.Slice": moved(((2, 7), (1,), (6,), (1,), (2,)), ((4, 3), (0, -1), (9, -(2**63)), (0, -1), (1, -1))),
    "onnxruntime.Softmax": lambda rng: [(f32(rng, 2, 3, 4), -1), (f32(rng, 2, 3), 0), (f16(rng, 2, 3), 1)],
    "onnxruntime.Softplus": lambda rng: [(f32(rng, 2, 3) * np.float32(9),)],
    "onnxruntime.Split": moved(((2, 7), (3, 4), 1), ((4,), (4,), -1)),
    "onnxruntime.Squeeze": moved(((2, 1, 3, 1), (1, -1))),
    "onnxruntime.Tile": moved(((2, 3), (2, 1)), ((1, 2), (3, 2))),
    "onnxruntime.Transpose": moved(((2, 3, 4), (2, 0, 1))),
    "onnxruntime.Trilu": lambda rng: [(f32(rng, 3, 4), 1), (f32(rng, 2, 3, 3), -1, False), (i64(rng, 3, 3), 0)],
    "onnxruntime.Unsqueeze": moved(((2, 3), (0, -1))),
    "onnxruntime.Where": lambda rng: [
        (mask(rng, 2, 3), f32(rng, 2, 3), f32(rng, 1)),
        (mask(rng, 3), f16(rng, 2, 3), f16(rng, 3)),
        (mask(rng, 3), i64(rng, 2, 3), i64(rng, 3)),
        (mask(rng, 3), i32(rng, 2, 3), i32(rng, 3)),
    ],
}
