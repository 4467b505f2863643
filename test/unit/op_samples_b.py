"""Arguments with which to try each operator that moves, multiplies or slides over tensors: bound arguments in schema order."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from op_samples import Samples

Sample = tuple[Any, ...]


def f32(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def i64(rng: np.random.Generator, *shape: int, low: int = -9, high: int = 10) -> Any:
    return rng.integers(low, high, shape)


def mask(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(0, 2, shape).astype(bool)


def shapes(*calls: tuple[Any, ...]) -> Samples:
    """Samples of a float tensor of each shape, with the further arguments; and of an integer tensor of the first."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for shape, *rest in calls:
            samples.append((f32(rng, *shape), *rest))
        shape, *rest = calls[0]
        samples.append((i64(rng, *shape), *rest))
        return samples

    return make


def floats(*calls: tuple[Any, ...]) -> Samples:
    """Samples of float tensors: a call starts with their shapes (None for an absent one); lists after them are tuples of numbers."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for call in calls:
            count = next((index for index, part in enumerate(call) if not isinstance(part, tuple | None)), len(call))
            tensors = [None if part is None else f32(rng, *part) for part in call[:count]]
            rest: list[Any] = [tuple(cast("list[int]", part)) if isinstance(part, list) else part for part in call[count:]]
            samples.append((*tensors, *rest))
        return samples

    return make


def lists(*calls: tuple[Any, ...]) -> Samples:
    """Samples of a list of float tensors with the shapes of the first argument, and the further arguments."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for parts, *rest in calls:
            samples.append(([f32(rng, *shape) for shape in parts], *rest))
        return samples

    return make


VIEW: dict[str, Samples] = {
    "view": shapes(((2, 3, 4), (4, 6)), ((2, 3, 4), (-1, 2)), ((), (1, 1)), ((0, 3), (3, 0))),
    "permute": shapes(((2, 3, 4), (2, 0, 1)), ((2, 3), (-1, 0)), ((), ())),
    "expand": shapes(((3, 1), (2, 3, 4)), ((3, 1), (-1, 4)), ((), (2, 2))),
    "squeeze.dim": shapes(((2, 1, 3), 1), ((2, 1, 3), 0), ((2, 1), -1), ((), 0)),
    "squeeze.dims": shapes(((1, 2, 1), (0, 2)), ((1, 2, 1), (0, 1))),
    "unsqueeze": shapes(((2, 3), 0), ((2, 3), -1), ((2, 3), 1), ((), 0)),
    "select.int": shapes(((2, 3, 4), 1, 2), ((2, 3, 4), -1, -4), ((3,), 0, 1)),
    "slice.Tensor": shapes(((6, 4), 0, 1, 5, 2), ((6, 4), 1, -3), ((6, 4), 0, -100, 100), ((6, 4), 0, 4, 2), ((6,), 0, None, None, 4)),
    "as_strided": shapes(((4, 5), (2, 3), (5, 1), 1), ((6,), (3, 2), (1, 3)), ((6,), (3, 3), (1, 1))),
    "diagonal": shapes(((3, 4),), ((3, 4), 1), ((2, 3, 4), -1, 1, 2), ((2, 3, 4), 5, 0, 2)),
    "unfold": shapes(((2, 7), 1, 3, 2), ((7, 2), 0, 2, 1), ((5,), 0, 5, 1)),
}

SHAPE: dict[str, Samples] = {
    "reshape": shapes(((2, 3, 4), (4, -1)), ((6,), (2, 3))),
    "_unsafe_view": shapes(((2, 3, 4), (4, -1))),
    "flatten.using_ints": shapes(((2, 3, 4),), ((2, 3, 4), 1), ((2, 3, 4, 5), 1, -2), ((),)),
    "ravel": shapes(((2, 3),), ((),)),
    "unflatten.int": shapes(((2, 12), 1, (3, 4)), ((12, 2), -2, (-1, 4))),
    "squeeze": shapes(((1, 2, 1, 3),), ((1,),)),
    "atleast_1d": shapes(((),), ((2,),)),
    "atleast_2d": shapes(((),), ((2,),), ((2, 3),)),
    "view_as": floats(((2, 6), (3, 4))),
    "reshape_as": floats(((2, 6), (3, 4))),
    "expand_as": floats(((3, 1), (2, 3, 4))),
    "broadcast_to": shapes(((3, 1), (2, 3, 4)), ((3, 1), (-1, 4))),
    "transpose.int": shapes(((2, 3, 4), 0, -1), ((2, 3), 1, 1), ((), 0, 0)),
    "swapaxes": shapes(((2, 3, 4), 0, -1)),
    "swapdims": shapes(((2, 3, 4), 1, -1)),
    "t": shapes(((2, 3),), ((3,),), ((),)),
    "mT": shapes(((2, 3, 4),)),
    "numpy_T": shapes(((2, 3),), ((3,),)),
    "movedim.intlist": shapes(((2, 3, 4, 5), (0, 1), (2, 0)), ((2, 3), (1,), (0,))),
    "moveaxis.intlist": shapes(((2, 3, 4, 5), (-1,), (0,))),
    "movedim.int": shapes(((2, 3, 4), 0, -1)),
    "moveaxis.int": shapes(((2, 3, 4), 2, 0)),
    "narrow": shapes(((5, 3), 0, 1, 3), ((5, 3), -1, -2, 2), ((5,), 0, 5, 0)),
    "pixel_shuffle": shapes(((2, 8, 3, 2), 2), ((9, 1, 2), 3)),
    "pixel_unshuffle": shapes(((2, 2, 4, 6), 2), ((1, 3, 6), 3)),
    "channel_shuffle": shapes(((2, 6, 2, 3), 3)),
    "diag_embed": shapes(((2, 3),), ((2, 3), 1), ((2, 3), -1, 0, 2)),
}

SPLIT: dict[str, Samples] = {
    "split_with_sizes": shapes(((6, 2), (1, 0, 5)), ((2, 4), (2, 2), -1)),
    "split.sizes": shapes(((6, 2), (1, 5)), ((2, 4), (2, 2), -1)),
    "unsafe_split_with_sizes": shapes(((6, 2), (1, 5))),
    "split.Tensor": shapes(((7, 2), 3), ((2, 4), 2, -1), ((2, 3), 9, 1)),
    "unsafe_split.Tensor": shapes(((7, 2), 3)),
    "chunk": shapes(((7, 2), 3), ((6, 2), 4), ((2, 3), 5, 1)),
    "unsafe_chunk": shapes(((7, 2), 3)),
    "tensor_split.sections": shapes(((7, 2), 3), ((2, 3), 5, 1)),
    "tensor_split.indices": shapes(((7, 2), (2, 5)), ((3, 7), (4, 2, 9), 1), ((7,), (-3,))),
    "unbind.int": shapes(((3, 2),), ((2, 3, 4), -1)),
}

CONCAT: dict[str, Samples] = {
    "cat": lambda rng: [
        ([f32(rng, 2, 3), f32(rng, 1, 3)],),
        ([f32(rng, 2, 3), f32(rng, 0), f32(rng, 2, 1)], -1),
        ([f32(rng, 2), i64(rng, 3)],),
        ([mask(rng, 2), i64(rng, 3).astype(np.uint8)], 0),
    ],
    "concat": lists((((2, 3), (1, 3)),), (((2, 3), (2, 1)), 1)),
    "concatenate": lists((((2, 3), (2, 1)), 1)),
    "stack": lists((((2, 3), (2, 3)),), (((2, 3), (2, 3), (2, 3)), -1), (((), ()),)),
    "hstack": lists((((2, 3), (2, 1)),), (((2,), (3,)),), (((), (2,)),)),
    "vstack": lists((((2, 3), (1, 3)),), (((3,), (3,)),)),
    "column_stack": lists((((2,), (2, 3)),), (((), ()),)),
    "repeat": shapes(((2, 3), (2, 1)), ((3,), (2, 2)), ((), (3,)), ((2,), (0,))),
    "tile": shapes(((2, 3), (2,)), ((3,), (2, 2))),
    "repeat_interleave.self_int": shapes(((2, 3), 2), ((2, 3), 2, 1), ((2, 3), 3, 0), ((2,), 2, -1)),
    "flip": shapes(((2, 3, 4), (0, -1)), ((3,), (0,)), ((2, 3), ())),
    "flipud": shapes(((2, 3),)),
    "fliplr": shapes(((2, 3),)),
    "roll": shapes(((2, 5), (1,), (1,)), ((2, 5), (-2, 7), (1, 0)), ((2, 5), (3,))),
    "rot90": shapes(((2, 3),), ((2, 3), 2), ((2, 3, 4), -1, (1, 2)), ((2, 3), 4)),
    "meshgrid.indexing": lists((((2,), (3,), (4,)), "ij"), (((2,), (3,), (4,)), "xy"), (((2,), ()), "ij")),
    "meshgrid": lists((((2,), (3,)),)),
    "slice_scatter": floats(((6, 4), (2, 4), 0, 1, 5, 2), ((6, 4), (6, 3), 1, -3)),
    "select_scatter": floats(((2, 3), (2,), 1, -1), ((2, 3), (3,), 0, 1)),
    "diagonal_scatter": floats(((3, 4), (3,)), ((2, 3, 4), (2, 2), -1, 1, 2)),
    "block_diag": lists((((2, 3), (1, 1), (2,), ()),)),
}

MATMUL: dict[str, Samples] = {
    "mm": lambda rng: [
        (f32(rng, 2, 3), f32(rng, 3, 4)),
        (f32(rng, 2, 0), f32(rng, 0, 4)),
        (i64(rng, 2, 3), i64(rng, 3, 4)),
        (f32(rng, 4, 30).astype(np.float16), f32(rng, 30, 5).astype(np.float16)),
    ],
    "bmm": floats(((5, 2, 3), (5, 3, 4))),
    "addmm": floats(((4,), (2, 3), (3, 4)), ((2, 4), (2, 3), (3, 4), 0.5, 2.0), ((2, 1), (2, 3), (3, 4), 0, 1)),
    "baddbmm": floats(((5, 2, 4), (5, 2, 3), (5, 3, 4)), ((4,), (5, 2, 3), (5, 3, 4), 0.5, 2.0), ((1, 2, 4), (5, 2, 3), (5, 3, 4), 0, 0.5)),
    "addbmm": floats(((2, 4), (5, 2, 3), (5, 3, 4)), ((4,), (5, 2, 3), (5, 3, 4), 0.5, 2.0)),
    "matmul": floats(
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((6, 5, 2, 3), (1, 1, 3, 4)),
        ((2, 3), (1, 3, 4)),
    ),
    "linear": floats(((2, 3), (4, 3), (4,)), ((2, 3), (4, 3), None), ((5, 2, 3), (4, 3), (4,)), ((3,), (4, 3), (4,)), ((2, 3), (3,), None)),
    "mv": floats(((2, 3), (3,))),
    "addmv": floats(((2,), (2, 3), (3,)), ((), (2, 3), (3,), 0.5, 2.0)),
    "dot": floats(((5,), (5,))),
    "vdot": floats(((5,), (5,))),
    "outer": floats(((5,), (3,))),
    "ger": floats(((5,), (3,))),
    "addr": floats(((5, 3), (5,), (3,)), ((3,), (5,), (3,), 0.5, 2.0)),
    "inner": floats(((5,), (5,)), ((2, 3), (4, 3)), ((), (2, 3)), ((2, 5, 3), (3,))),
    "tensordot": lambda rng: [
        (f32(rng, 2, 3, 4), f32(rng, 4, 3, 5), (1, 2), (1, 0)),
        (f32(rng, 2, 3), f32(rng, 4), (), ()),
    ],
    "chain_matmul": lists((((2, 3), (3, 4), (4, 5)),), (((2, 3),),)),
    "bilinear": floats(((5, 2), (5, 3), (4, 2, 3), (4,)), ((2,), (3,), (4, 2, 3), None)),
    "kron": floats(((2, 3), (3, 2)), ((2,), (2, 3)), ((), (3,))),
}

PAD: dict[str, Samples] = {
    "constant_pad_nd": shapes(((2, 3), (1, 2), 5), ((2, 3), (0, 1, 2, 0), 1.5), ((3, 4), (-1, 1)), ((3, 4), (-1, -2, 1, -1), 2)),
    "reflection_pad1d": shapes(((2, 4), (1, 3)), ((2, 3, 4), (2, 0)), ((2, 4), (-1, 2))),
    "reflection_pad2d": shapes(((2, 3, 4), (1, 3, 2, 0)), ((1, 2, 3, 4), (1, 1, 1, 1))),
    "reflection_pad3d": shapes(((2, 3, 4, 5), (1, 3, 2, 0, 1, 2))),
    "replication_pad1d": shapes(((2, 4), (1, 3)), ((2, 3, 4), (0, 5)), ((2, 4), (-1, 2))),
    "replication_pad2d": shapes(((2, 3, 4), (1, 5, 2, 0)), ((1, 2, 3, 4), (0, 1, 4, 1))),
    "replication_pad3d": shapes(((2, 3, 4, 5), (1, 3, 2, 0, 1, 4))),
    "pad": shapes(
        ((2, 3), (1, 2)),
        ((2, 3), (1, 2, 0, 3), "constant", 2.5),
        ((2, 3), (-1, 2)),
        ((2, 3, 4), (1, 2), "reflect"),
        ((2, 3, 4), (1, 2, 0, 1), "reflect"),
        ((2, 3, 4), (1, 9), "replicate"),
        ((2, 3, 4, 5), (1, 2, 3, 4), "replicate"),
        ((2, 3, 4), (1, 4), "circular"),
        ((2, 3, 4, 5), (5, 0, 1, 2), "circular"),
    ),
}

CONVOLUTION: dict[str, Samples] = {
    "convolution": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (2, 1), (1, 0), (1, 2), False, (0, 0), 1),
        (f32(rng, 2, 4, 8), f32(rng, 6, 2, 3), None, (2,), (1,), (1,), False, (0,), 2),
        (f32(rng, 1, 4, 5, 5), f32(rng, 4, 1, 3, 3), f32(rng, 4), (1, 1), (1, 1), (1, 1), False, (0, 0), 4),
        (f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), None, (1, 2, 1), (0, 1, 1), (1, 1, 1), False, (0, 0, 0), 1),
        (f32(rng, 2, 4, 5, 6), f32(rng, 4, 3, 3, 2), f32(rng, 6), (2, 3), (1, 0), (1, 2), True, (1, 2), 2),
        (f32(rng, 1, 2, 5), f32(rng, 2, 3, 3), None, (1,), (2,), (1,), True, (0,), 1),
    ],
    "_convolution": floats(((2, 3, 8, 7), (4, 3, 3, 2), (4,), [2, 1], [1, 0], [1, 2], False, [0, 0], 1, False, False, True, True)),
    "conv1d": lambda rng: [
        (f32(rng, 2, 4, 8), f32(rng, 6, 2, 3), f32(rng, 6), (2,), (1,), (1,), 2),
        (f32(rng, 3, 8), f32(rng, 4, 3, 3)),
    ],
    "conv2d": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (2, 1), (1, 0), (1, 2)),
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2)),
        (f32(rng, 4, 5, 6), f32(rng, 8, 1, 3, 3), None, (1, 1), (1, 1), (1, 1), 4),
    ],
    "conv3d": lambda rng: [(f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), f32(rng, 3), (1, 2, 1), (0, 1, 1))],
    "conv1d.padding": lambda rng: [
        (f32(rng, 2, 3, 8), f32(rng, 4, 3, 4), f32(rng, 4), (1,), "same"),
        (f32(rng, 2, 3, 8), f32(rng, 4, 3, 3), None, (2,), "valid", (2,)),
    ],
    "conv2d.padding": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (1, 1), "same", (2, 1)),
        (f32(rng, 3, 8, 7), f32(rng, 4, 3, 3, 3), None, (1, 1), "same"),
    ],
    "conv3d.padding": lambda rng: [(f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), None, (1, 1, 1), "same")],
    "conv_transpose1d": lambda rng: [(f32(rng, 2, 3, 5), f32(rng, 3, 4, 3), f32(rng, 4), (2,), (1,), (1,), 1, (1,))],
    "conv_transpose2d.input": lambda rng: [
        (f32(rng, 2, 4, 5, 6), f32(rng, 4, 3, 3, 2), f32(rng, 6), (2, 3), (1, 0), (1, 2), 2, (1, 2)),
        (f32(rng, 4, 5, 6), f32(rng, 4, 3, 2, 2), None, (2, 2)),
    ],
    "conv_transpose3d.input": lambda rng: [(f32(rng, 1, 2, 3, 2, 3), f32(rng, 2, 3, 2, 2, 2), None, (2, 1, 2))],
}


def batch_statistics(rng: np.random.Generator, *shape: int) -> Sample:
    channels = shape[1]
    return f32(rng, *shape), f32(rng, channels), f32(rng, channels), f32(rng, channels), np.abs(f32(rng, channels)) + 0.5


NORM: dict[str, Samples] = {
    "native_layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), f32(rng, 4), 1e-5),
        (f32(rng, 2, 3, 4), (3, 4), None, f32(rng, 3, 4), 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16), None, 1e-5),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4), f32(rng, 4), 1e-5),
    ],
    "layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), f32(rng, 4)),
        (f32(rng, 2, 3, 4), (3, 4), None, None, 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16), None),
    ],
    "rms_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4)),
        (f32(rng, 2, 3, 4), (3, 4), None, 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16)),
        (f32(rng, 2, 4).astype(np.float64), (4,)),
    ],
    "_fused_rms_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), 1e-5),
        (f32(rng, 2, 4).astype(np.float16), (4,), None, None),
    ],
    "native_group_norm": lambda rng: [
        (f32(rng, 2, 6, 4, 3), f32(rng, 6), f32(rng, 6), 2, 6, 12, 3, 1e-5),
        (f32(rng, 2, 4, 5), None, None, 2, 4, 5, 4, 1e-3),
        (f32(rng, 2, 4, 5).astype(np.float16), f32(rng, 4).astype(np.float16), None, 2, 4, 5, 2, 1e-3),
    ],
    "group_norm": lambda rng: [(f32(rng, 2, 6, 4, 3), 3, f32(rng, 6), f32(rng, 6)), (f32(rng, 2, 4), 2, None, None, 1e-3)],
    "_native_batch_norm_legit_no_training": lambda rng: [
        (*batch_statistics(rng, 2, 3, 4, 5), 0.1, 1e-5),
        (f32(rng, 2, 3), None, None, f32(rng, 3), np.abs(f32(rng, 3)), 0.1, 1e-3),
    ],
    "_native_batch_norm_legit.no_stats": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3), f32(rng, 3), True, 0.1, 1e-5),
        (f32(rng, 4, 3), None, None, True, 0.1, 1e-3),
    ],
    "batch_norm": lambda rng: [
        (*batch_statistics(rng, 2, 3, 4, 5), False, 0.1, 1e-5, False),
        (f32(rng, 2, 3, 4), None, None, None, None, True, 0.1, 1e-5, False),
    ],
    "instance_norm": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3), f32(rng, 3), None, None, True, 0.1, 1e-5, False),
        (*batch_statistics(rng, 2, 3, 4), False, 0.1, 1e-5, False),
    ],
    "_weight_norm": lambda rng: [
        (f32(rng, 4, 3, 2), f32(rng, 4, 1, 1)),
        (f32(rng, 4, 3, 2), f32(rng, 1, 1, 2), 2),
    ],
}

MAX_POOL = (((2, 3, 7, 6), (3, 2)), ((3, 7, 6), (3, 3), (2, 1), (1, 1)), ((1, 1, 8, 8), (3,), (2,), (1,), (2,), True))
AVG_POOL = (((2, 3, 7, 6), (3, 2)), ((3, 7, 6), (3, 3), (2, 1), (1, 1), False, False), ((1, 1, 8, 7), (3,), (2,), (1,), True, True))

POOL: dict[str, Samples] = {
    "max_pool2d_with_indices": lambda rng: [
        *shapes(*MAX_POOL)(rng),
        (np.array([[[0, np.nan, 1], [np.nan, 2, -np.inf]]], np.float32), (2,), (1,)),
        (np.full((1, 3, 3), -np.inf, np.float32), (2,), (1,), (1,)),
    ],
    "max_pool2d": shapes(*MAX_POOL),
    "max_pool1d": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], [1], True)),
    "max_pool1d_with_indices": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], [2], True)),
    "max_pool3d_with_indices": floats(((2, 3, 5, 4, 5), [2, 2, 3]), ((3, 5, 4, 5), [2], [1], [1])),
    "max_pool3d": floats(((2, 3, 5, 4, 5), [2, 2, 3])),
    "avg_pool2d": lambda rng: [
        *floats(*[(shape, *(list(part) if isinstance(part, tuple) else part for part in rest)) for shape, *rest in AVG_POOL])(rng),
        (f32(rng, 2, 5, 5), (2,), (2,), (1,), False, True, 7),
        (f32(rng, 2, 5, 5).astype(np.float16), (3,)),
    ],
    "avg_pool1d": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], True, False)),
    "avg_pool3d": floats(((2, 3, 5, 4, 5), [2, 2, 3]), ((3, 5, 4, 5), [2], [1], [1], False, False, 3)),
    "_adaptive_avg_pool2d": floats(((2, 3, 6, 8), [1, 1]), ((2, 6, 8), [3, 2]), ((2, 5, 7), [3, 4])),
    "adaptive_avg_pool2d": floats(((2, 3, 6, 8), [1, 1]), ((2, 6, 8), [3, 2]), ((2, 5, 7), [3, 4])),
    "adaptive_avg_pool1d": floats(((2, 3, 6), [1]), ((2, 6), [3]), ((2, 5), [3])),
    "_adaptive_avg_pool3d": floats(((2, 3, 4, 6, 8), [1, 1, 1]), ((2, 4, 6, 8), [2, 3, 2]), ((2, 5, 3, 4), [3, 2, 3])),
    "adaptive_avg_pool3d": floats(((2, 3, 4, 6, 8), [1, 1, 1]), ((2, 4, 6, 8), [2, 3, 2]), ((2, 5, 3, 4), [3, 2, 3])),
    "adaptive_max_pool1d": floats(((2, 3, 6), [3])),
    "adaptive_max_pool2d": floats(((2, 3, 6, 8), [3, 2])),
    "adaptive_max_pool3d": floats(((2, 4, 6, 8), [2, 3, 2])),
}

ATTENTION: dict[str, Samples] = {
    "tril": shapes(((3, 4),), ((2, 3, 3), 1), ((3, 4), -1)),
    "triu": shapes(((3, 4),), ((2, 3, 3), 1), ((3, 4), -1)),
    "scaled_dot_product_attention": lambda rng: [
        (f32(rng, 2, 3, 4, 8), f32(rng, 2, 3, 5, 8), f32(rng, 2, 3, 5, 6)),
        (f32(rng, 2, 3, 4, 8), f32(rng, 2, 3, 5, 8), f32(rng, 2, 3, 5, 8), f32(rng, 4, 5), 0.0, False, 0.5),
        (f32(rng, 4, 4), f32(rng, 4, 4), f32(rng, 4, 4), None, 0.0, True),
        (f32(rng, 1, 2, 3, 4), f32(rng, 1, 2, 5, 4), f32(rng, 1, 2, 5, 4), None, 0.0, True),
        (f32(rng, 1, 2, 3, 4), f32(rng, 1, 2, 5, 4), f32(rng, 1, 2, 5, 4), mask(rng, 1, 1, 3, 5) & (np.arange(3) != 1)[:, None]),
        (
            f32(rng, 2, 3, 4),
            f32(rng, 2, 3, 4),
            f32(rng, 2, 3, 4),
            np.where(mask(rng, 3, 3) & (np.arange(3) > 0)[:, None], f32(rng, 3, 3), np.float32(-np.inf)),
        ),
        (f32(rng, 1, 4, 3, 4), f32(rng, 1, 2, 5, 4), f32(rng, 1, 2, 5, 4), None, 0.0, False, None, True),
    ],
}


def below(rng: np.random.Generator, extent: int, *shape: int) -> Any:
    """Indices of a dimension of size `extent`."""
    return rng.integers(0, extent, shape)


def distinct(rng: np.random.Generator, extent: int, *shape: int) -> Any:
    """Indices of a dimension of size `extent`, each at most once along dimension 0."""
    return np.stack([rng.permutation(extent)[: shape[0]] for _ in range(int(np.prod(shape[1:])))], -1).reshape(shape)


INDEX: dict[str, Samples] = {
    "embedding": lambda rng: [(f32(rng, 5, 3), below(rng, 5, 2, 4)), (f32(rng, 5, 3), below(rng, 5).astype(np.int32), 0)],
    "one_hot": lambda rng: [(below(rng, 4, 2, 3), 4)],
    "index.Tensor": lambda rng: [
        (f32(rng, 4, 5), [below(rng, 4, 3)]),
        (f32(rng, 4, 5), [None, below(rng, 5, 2, 3) - 5]),
        (f32(rng, 4, 5, 6), [below(rng, 4, 3), below(rng, 5, 2, 1)]),
        (f32(rng, 4, 5, 6), [below(rng, 4, 3), None, below(rng, 6, 2, 1)]),
        (f32(rng, 4, 5, 6), [None, below(rng, 5, 3), below(rng, 6)]),
        (f32(rng, 4, 5), [mask(rng, 4)]),
        (f32(rng, 4, 5, 2), [mask(rng, 4, 5)]),
    ],
    "_unsafe_index.Tensor": lambda rng: [(f32(rng, 4, 5), [None, below(rng, 5, 2, 3)])],
    "index_put": lambda rng: [
        (f32(rng, 4, 5), [distinct(rng, 4, 3)], f32(rng, 3, 5)),
        (f32(rng, 4, 5), [None, distinct(rng, 5, 2)], f32(rng, 4, 2)),
        (f32(rng, 4, 5), [below(rng, 4, 6)], f32(rng), True),
        (f32(rng, 4, 5), [mask(rng, 4, 5)], f32(rng)),
    ],
    "_unsafe_index_put": lambda rng: [(f32(rng, 4, 5), [below(rng, 4, 6), below(rng, 5, 6)], f32(rng, 6), True)],
    "index_select": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 3)), (f32(rng, 4, 5), 0, below(rng, 4).astype(np.int32))],
    "index_add": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 7), f32(rng, 4, 7)),
        (f32(rng, 4, 5), -2, below(rng, 4, 3), f32(rng, 3, 5), 0.5),
    ],
    "index_copy": lambda rng: [(f32(rng, 4, 5), 1, distinct(rng, 5, 3), f32(rng, 4, 3))],
    "index_fill.int_Scalar": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 3), 2.5)],
    "take": lambda rng: [(f32(rng, 4, 5), below(rng, 20, 2, 3))],
    "gather": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 4, 7)),
        (f32(rng, 4, 5), 0, below(rng, 4, 2, 3)),
        (f32(rng, 4), -1, below(rng, 4, 6)),
        (f32(rng), 0, below(rng, 1, 3)),
    ],
    "take_along_dim": lambda rng: [
        (f32(rng, 4, 5), below(rng, 5, 1, 2), 1),
        (f32(rng, 4, 5), below(rng, 20, 3)),
        (f32(rng, 1, 5), below(rng, 5, 4, 2), -1),
    ],
    "nonzero": lambda rng: [(mask(rng, 3, 4),), (f32(rng, 3),), (f32(rng),)],
    "argwhere": lambda rng: [(mask(rng, 3, 4),)],
    "masked_select": lambda rng: [(f32(rng, 3, 4), mask(rng, 3, 4)), (f32(rng, 3, 1), mask(rng, 4))],
    "masked_scatter": lambda rng: [(f32(rng, 3, 4), mask(rng, 3, 4), f32(rng, 12)), (f32(rng, 3, 4), mask(rng, 4), f32(rng, 4, 5))],
    "scatter.src": lambda rng: [
        (f32(rng, 4, 5), 0, distinct(rng, 4, 3, 5), f32(rng, 3, 5)),
        (f32(rng, 4, 5), 0, distinct(rng, 4, 2, 3), f32(rng, 4, 4)),
        (f32(rng), 0, np.array(0), f32(rng)),
    ],
    "scatter.value": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 4, 2), 2.5), (i64(rng, 4), 0, below(rng, 4, 2), 3)],
    "scatter_add": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 4, 7), f32(rng, 4, 7)), (i64(rng, 4), 0, below(rng, 4, 9), i64(rng, 9))],
    "scatter_reduce.two": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 4, 7), f32(rng, 4, 7), reduce, include_self)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
    ],
    "scatter.reduce": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 4, 7), f32(rng, 4, 7), "add"),
        (f32(rng, 4, 5), 1, below(rng, 5, 4, 7), f32(rng, 4, 7), "multiply"),
    ],
    "scatter.value_reduce": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 4, 7), 2.5, "multiply")],
}

SORT: dict[str, Samples] = {
    "sort": lambda rng: [(f32(rng, 3, 5),), (f32(rng, 3, 5), 0, True), (f32(rng), 0), (np.array([1, np.nan, 0, -np.inf], np.float32),)],
    "sort.stable": lambda rng: [(i64(rng, 30, low=0, high=4), True), (i64(rng, 3, 30, low=0, high=4), True, -1, True)],
    "topk": lambda rng: [(f32(rng, 3, 5), 2), (f32(rng, 3, 5), 3, 0, False), (np.array([1, np.nan, 0, 5], np.float32), 2), (f32(rng), 1)],
    "argsort": lambda rng: [(f32(rng, 3, 5),), (f32(rng, 3, 5), 0, True)],
    "argsort.stable": lambda rng: [(i64(rng, 30, low=0, high=4), True), (i64(rng, 3, 30, low=0, high=4), True, -1, True)],
    "msort": lambda rng: [(f32(rng, 3, 5),)],
    "kthvalue": lambda rng: [(f32(rng, 3, 5), 2), (f32(rng, 3, 5), 3, 0, True), (f32(rng), 1)],
}


def recurrent(states: int, gates: int) -> Samples:
    """Samples of a recurrent layer with that many states and gates."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for biases, layers, bidirectional, batch_first in ((True, 1, False, False), (True, 2, True, True), (False, 2, False, True)):
            directions = 2 if bidirectional else 1
            params: list[Any] = []
            for layer in range(layers):
                for _ in range(directions):
                    params += [f32(rng, 4 * gates, 4 * directions if layer else 3), f32(rng, 4 * gates, 4)]
                    params += [f32(rng, 4 * gates), f32(rng, 4 * gates)] if biases else []
            hx = [f32(rng, layers * directions, 2, 4) for _ in range(states)]
            shape = (2, 5, 3) if batch_first else (5, 2, 3)
            samples.append((f32(rng, *shape), hx if states > 1 else hx[0], params, biases, layers, 0.0, False, bidirectional, batch_first))
        return samples

    return make


def recurrent_cell(states: int, gates: int) -> Samples:
    """Samples of one step of a recurrent layer."""

    def make(rng: np.random.Generator) -> list[Sample]:
        hx = [f32(rng, 2, 4) for _ in range(states)]
        weights = (f32(rng, 4 * gates, 3), f32(rng, 4 * gates, 4), f32(rng, 4 * gates), f32(rng, 4 * gates))
        return [(f32(rng, 2, 3), hx if states > 1 else hx[0], *weights)]

    return make


def projected_lstm(rng: np.random.Generator) -> list[Sample]:
    params = [f32(rng, 16, 3), f32(rng, 16, 2), f32(rng, 16), f32(rng, 16), f32(rng, 2, 4)]
    return [(f32(rng, 5, 2, 3), [f32(rng, 1, 2, 2), f32(rng, 1, 2, 4)], params, True, 1, 0.0, False, False, False)]


RNN: dict[str, Samples] = {
    "lstm.input": lambda rng: [*recurrent(2, 4)(rng), *projected_lstm(rng)],
    "gru.input": recurrent(1, 3),
    "rnn_tanh.input": recurrent(1, 1),
    "rnn_relu.input": recurrent(1, 1),
    "lstm_cell": recurrent_cell(2, 4),
    "gru_cell": recurrent_cell(1, 3),
    "rnn_tanh_cell": recurrent_cell(1, 1),
    "rnn_relu_cell": recurrent_cell(1, 1),
}

ATEN = {**VIEW, **SHAPE, **SPLIT, **CONCAT, **MATMUL, **PAD, **CONVOLUTION, **NORM, **POOL, **ATTENTION, **INDEX, **SORT, **RNN}
SAMPLES: dict[str, Samples] = {f"aten.{name}": samples for name, samples in ATEN.items()}
"""Generators by full operator name."""
