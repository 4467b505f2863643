"""Arguments with which to try the operators that move, multiply and choose elements: bound arguments in schema order."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, floats, i64, lists, mask, shapes

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
    "atleast_3d": shapes(((),), ((2,),), ((2, 3),), ((2, 3, 4),)),
    "mH": shapes(((2, 3, 4),)),
    "adjoint": shapes(((2, 3),)),
    "trace": shapes(((3, 4),)),
    "diag": shapes(((3, 4), 1), ((3,), -1)),
    "linalg_cross": floats(((2, 3), (2, 3)), ((3, 2), (3, 1), 0)),
    "cross": floats(((2, 3), (2, 3)), ((3, 2), (3, 2), 0)),
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
    "pixel_shuffle": shapes(((2, 8, 3, 2), 2), ((1, 8, 3, 2), 2), ((9, 1, 2), 3)),
    "pixel_unshuffle": shapes(((2, 2, 4, 6), 2), ((1, 2, 4, 6), 2), ((1, 3, 6), 3)),
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
    "hsplit.int": shapes(((2, 4), 2), ((4,), 2)),
    "hsplit.array": shapes(((2, 4), (1, 3))),
    "vsplit.int": shapes(((4, 2), 2)),
    "vsplit.array": shapes(((4, 2), (3,))),
    "dsplit.int": shapes(((1, 2, 4), 2)),
    "dsplit.array": shapes(((1, 2, 4), (1, 3))),
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
    "dstack": lists((((2, 3), (2, 3)),), (((2,), (2,)),), (((1, 2, 3), (1, 2, 1)),)),
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
    "_int_mm": lambda rng: [
        (i64(rng, 20, 8).astype(np.int8), i64(rng, 8, 16).astype(np.int8)),
        (rng.integers(0, 256, (3, 5)).astype(np.uint8), rng.integers(-128, 128, (5, 4)).astype(np.int8)),
    ],
    "bmm": floats(((5, 2, 3), (5, 3, 4))),
    "addmm": lambda rng: [
        *floats(((4,), (2, 3), (3, 4)), ((2, 4), (2, 3), (3, 4), 0.5, 2.0), ((2, 1), (2, 3), (3, 4), 0, 1))(rng),
        (rng.integers(-5, 5, 4), rng.integers(-5, 5, (2, 3)), rng.integers(-5, 5, (3, 4)), 1, 2.0),
    ],
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
    "linalg_multi_dot": lists((((2, 3), (3, 4), (4, 5)),), (((3,), (3, 4), (4,)),), (((2, 3), (3,)),)),
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
        ((2, 3, 4, 5), (-1, 1, -2, 1), "circular"),
    ),
}


def attended(rng: np.random.Generator) -> tuple[Any, ...]:
    """Returns the weights and biases of attention of 4 heads of 2 features: of queries, keys and values, and of the projection after it."""
    return f32(rng, 24, 8) / 4, f32(rng, 24) / 4, f32(rng, 8, 8), f32(rng, 8)


def masks(rng: np.random.Generator) -> list[tuple[Any, int | None]]:
    """Returns masks of 2 sequences of 3 places, for 4 heads, with their types: none, of places, sequences or scores (one row is hidden)."""
    whole = np.where(mask(rng, 2, 4, 3, 3), f32(rng, 2, 4, 3, 3), np.float32(0))
    whole[1, 0, 1] = -np.inf
    return [(None, None), (np.triu(np.ones((3, 3), np.bool_), 1), 0), (np.arange(3) > [[0], [1]], 1), (whole, 2), (whole, None)]


def heads(rng: np.random.Generator) -> list[Sample]:
    """Returns attention, with and without its weights."""
    samples: list[Sample] = []
    for number, (hidden, kind) in enumerate(masks(rng)):
        for needed, average in ((number % 2 > 0, False), (True, True), (False, True)):
            parts = (f32(rng, 2, 3, 8), f32(rng, 2, 3, 8), f32(rng, 2, 3, 8), 8, 4)
            samples.append((*parts, *attended(rng), hidden, needed, average, kind))
    return samples


def encoders(rng: np.random.Generator) -> list[Sample]:
    """Returns layers of an encoder, of either order and activation."""
    samples: list[Sample] = []
    for number, (hidden, kind) in enumerate(masks(rng)):
        norms = [f32(rng, 8) for _ in range(4)]
        inner = (f32(rng, 5, 8), f32(rng, 5), f32(rng, 8, 5), f32(rng, 8))
        flags = (number % 2 > 0, number % 3 > 0, 1e-5)
        samples.append((f32(rng, 2, 3, 8), 8, 4, *attended(rng), *flags, *norms, *inner, hidden, kind))
    return samples


ATTENTION: dict[str, Samples] = {
    "_native_multi_head_attention": heads,
    "_transformer_encoder_layer_fwd": encoders,
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
    """Returns indices of a dimension of size `extent`."""
    return rng.integers(0, extent, shape)


def counts(*numbers: int) -> Any:
    """Returns the number of repetitions of each of several entries."""
    return np.array(numbers, np.int64)


def distinct(rng: np.random.Generator, extent: int, *shape: int) -> Any:
    """Returns indices of a dimension of size `extent`, each at most once along dimension 0."""
    return np.stack([rng.permutation(extent)[: shape[0]] for _ in range(int(np.prod(shape[1:])))], -1).reshape(shape)


INDEX: dict[str, Samples] = {
    "embedding": lambda rng: [(f32(rng, 5, 3), below(rng, 5, 2, 4)), (f32(rng, 5, 3), below(rng, 5).astype(np.int32), 0)],
    "one_hot": lambda rng: [(below(rng, 4, 2, 3), 4)],
    "_embedding_bag": lambda rng: [
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 3, 3])),
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 2, 7]), False, 0, False, f32(rng, 7), True),
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 3, 3]), False, 1, False, None, False, 2),
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 3, 3]), False, 2),
        *[(f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 2, 4]), False, mode, False, None, True) for mode in range(3)],
        (f32(rng, 6, 3).astype("float64"), below(rng, 6, 7), np.array([0, 2, 4]), False, 0, False, f32(rng, 7).astype("float64"), True),
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 2, 4]), False, 0, False, f32(rng, 7), True),
        (f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 2, 4]), False, 1, False, None, True, 2),
    ],
    "embedding_bag": lambda rng: [(f32(rng, 6, 3), below(rng, 6, 7), np.array([0, 3, 3]), False, mode) for mode in range(3)],
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
    "_index_put_impl": lambda rng: [
        (f32(rng, 4, 5), [below(rng, 4, 6), below(rng, 5, 6)], f32(rng, 6), True, True),
        (f32(rng, 4, 5), [None, np.array([3, 0])], f32(rng, 4, 2), False, False),
    ],
    "_unsafe_index_put": lambda rng: [(f32(rng, 4, 5), [below(rng, 4, 6), below(rng, 5, 6)], f32(rng, 6), True)],
    "index_select": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 3)), (f32(rng, 4, 5), 0, below(rng, 4).astype(np.int32))],
    "index_add": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 7), f32(rng, 4, 7)),
        (f32(rng, 4, 5), -2, below(rng, 4, 3), f32(rng, 3, 5), 0.5),
    ],
    "index_copy": lambda rng: [(f32(rng, 4, 5), 1, distinct(rng, 5, 3), f32(rng, 4, 3))],
    "index_fill.int_Scalar": lambda rng: [(f32(rng, 4, 5), 1, below(rng, 5, 3), 2.5), (f32(rng), 0, below(rng, 1, 1), 2.5)],
    "take": lambda rng: [(f32(rng, 4, 5), below(rng, 20, 2, 3))],
    "gather": lambda rng: [
        (f32(rng, 4, 5), 1, below(rng, 5, 4, 7)),
        (f32(rng, 4, 5), 0, below(rng, 4, 2, 3)),
        (f32(rng, 4), -1, below(rng, 4, 6)),
        (f32(rng, 4), 0, below(rng, 4)),
        (f32(rng), 0, below(rng, 1, 3)),
    ],
    "take_along_dim": lambda rng: [
        (f32(rng, 4, 5), below(rng, 5, 1, 2), 1),
        (f32(rng, 4, 5), below(rng, 20, 3)),
        (f32(rng, 1, 5), below(rng, 5, 4, 2), -1),
        (f32(rng, 4, 5), below(rng, 9, 1, 2) - 7, 1),
    ],
    "repeat_interleave.Tensor": lambda rng: [(counts(1, 0, 2), 3), (counts(2, 1).astype(np.int32), 3), (counts(), 0)],
    "repeat_interleave.self_Tensor": lambda rng: [
        (f32(rng, 2, 3), counts(1, 0, 2), 1, 3),
        (f32(rng, 2, 3), counts(2), None, 12),
        (f32(rng, 2), np.array(3), -1, 6),
        (mask(rng, 2, 1), counts(0, 3), 0, 3),
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
    "sort.stable": lambda rng: [
        *((i64(rng, 30, low=0, high=4), True), (i64(rng, 3, 30, low=0, high=4), True, -1, True)),
        *((i64(rng, 30, low=0, high=2).astype(bool), True), (np.array([np.nan, 1, np.nan, 1, np.inf], np.float32), True, 0, True)),
    ],
    "topk": lambda rng: [
        *((f32(rng, 3, 5), 2), (f32(rng, 3, 5), 3, 0, False), (np.array([1, np.nan, 0, 5], np.float32), 2), (f32(rng), 1)),
        *(
            (i64(rng, 300, low=0, high=4), k, -1, largest, in_order)
            for k in (2, 200, 300)
            for largest, in_order in ((True, True), (False, False))
        ),
        *((i64(rng, 40, 2, low=0, high=2), 20, 0), (np.ones((1, 84), np.float32), 20), (np.array([np.nan, 1, np.nan] * 9, np.float32), 20)),
    ],
    "argsort": lambda rng: [(f32(rng, 3, 5),), (f32(rng, 3, 5), 0, True)],
    "argsort.stable": lambda rng: [(i64(rng, 30, low=0, high=4), True), (i64(rng, 3, 30, low=0, high=4), True, -1, True)],
    "msort": lambda rng: [(f32(rng, 3, 5),)],
    "kthvalue": lambda rng: [(f32(rng, 3, 5), 2), (f32(rng, 3, 5), 3, 0, True), (f32(rng), 1)],
}


def recurrent(states: int, gates: int) -> Samples:
    """Returns samples of a recurrent layer with the given numbers of states and gates."""

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
    """Returns samples of one step of a recurrent layer."""

    def make(rng: np.random.Generator) -> list[Sample]:
        hx = [f32(rng, 2, 4) for _ in range(states)]
        weights = (f32(rng, 4 * gates, 3), f32(rng, 4 * gates, 4), f32(rng, 4 * gates), f32(rng, 4 * gates))
        return [(f32(rng, 2, 3), hx if states > 1 else hx[0], *weights)]

    return make


def projected_lstm(rng: np.random.Generator) -> list[Sample]:
    """Returns an LSTM whose hidden states are projected."""
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


def equations(*calls: tuple[str, tuple[tuple[int, ...], ...]]) -> Samples:
    """Returns samples of an equation over float tensors of the given shapes."""

    def make(rng: np.random.Generator) -> list[Sample]:
        return [(equation, [f32(rng, *shape) for shape in parts]) for equation, parts in calls]

    return make


CONTRACTION: dict[str, Samples] = {
    "_trilinear": floats(((5, 3), (4, 3, 6), (5, 6), [1, 3], [0], [1, 2], [2, 3])),
    "einsum": equations(
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("ij,jk", ((3, 4), (4, 5))),
        ("ij->ji", ((3, 4),)),
        ("ij->", ((3, 4),)),
        ("ii->i", ((3, 3),)),
        ("iji->j", ((3, 4, 3),)),
        ("i,j->ij", ((3,), (4,))),
        ("...ij,jk->...ik", ((2, 5, 3, 4), (4, 6))),
        ("b...c,...c->b...", ((2, 3, 4), (3, 4))),
        ("bhid, bhjd -> bhij", ((2, 3, 4, 5), (2, 3, 6, 5))),
        ("ab,bc,cd->da", ((2, 3), (3, 4), (4, 5))),
        ("ab,ac,b->c", ((2, 3), (2, 4), (3,))),
        ("ij,jk->ik", ((3, 1), (4, 5))),
        ("ij,ij->ij", ((3, 4), (3, 4))),
    ),
    "im2col": floats(((2, 3, 6, 5), [3, 2], [1, 2], [1, 0], [2, 1]), ((3, 6, 5), [2, 2], [1, 1], [0, 0], [1, 1])),
    "col2im": floats(((2, 8, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]), ((12, 9), [6, 5], [3, 2], [1, 2], [1, 1], [2, 2])),
    "_cdist_forward": lambda rng: [
        *floats(*[((4, 3), (5, 3), p, None) for p in (0.0, 2.0, 3.5)])(rng),
        (f32(rng, 2, 4, 3), f32(rng, 1, 5, 3), 1.0, None),
    ],
    "cdist": floats(((4, 3), (5, 3), 2.0), ((4, 3), (5, 3), float("inf"))),
    "_pdist_forward": floats(((4, 3), 2.0), ((4, 3), 1.0), ((1, 3), 2.0)),
    "pdist": floats(((4, 3), 2.0)),
}

ATEN = {**VIEW, **SHAPE, **SPLIT, **CONCAT, **MATMUL, **PAD, **ATTENTION, **INDEX, **SORT, **RNN, **CONTRACTION}
SAMPLES: dict[str, Samples] = {f"aten.{name}": samples for name, samples in ATEN.items()}
"""Generators by full operator name."""
