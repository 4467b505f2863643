"""Arguments with which to try the operators on complex tensors: bound arguments in schema order."""

from __future__ import annotations

import numpy as np

from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import ALL, Samples, make, unary


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "complex64") -> Array:
    """Returns a tensor of complex numbers."""
    return np.asarray(make(rng, shape, "float64") + 1j * make(rng, shape, "float64")).astype(dtype)


def reals(*shapes: tuple[tuple[int, ...], ...], low: float = -3) -> Samples:
    """Returns samples of real tensors of the given shapes, in both types that are parts of complex ones."""
    return lambda rng: [tuple(make(rng, shape, dtype, low) for shape in each) for each in shapes for dtype in ("float32", "float64")]


def complexes(*shapes: tuple[int, ...]) -> Samples:
    """Returns samples of one complex tensor."""
    return lambda rng: [(numbers(rng, shape, dtype),) for shape in shapes for dtype in ("complex64", "complex128")]


SHAPES = ((3, 4), (), (0, 2))
COMPLEX: dict[str, Samples] = {
    "complex": reals(((3, 4), (3, 4)), ((2, 1), (3,)), ((), ())),
    "polar": reals(((3, 4), (3, 4)), ((2, 1), (3,))),
    "view_as_real": complexes(*SHAPES),
    "view_as_complex": reals(((3, 4, 2),), ((2,),)),
    **{name: complexes(*SHAPES) for name in ("imag", "_conj", "_conj_copy")},
    **{name: unary(dtypes=ALL) for name in ("real", "angle", "isreal", "_conj_physical", "conj", "conj_physical")},
    "sgn": unary(dtypes=ALL),
    "_fft_c2c": lambda rng: [
        (numbers(rng, shape, dtype), dims, normalization, forward)
        for dtype in ("complex64", "complex128")
        for shape, dims, normalization, forward in (
            ((12,), (0,), 0, True),
            ((3, 7), (1,), 1, False),
            ((4, 1, 6), (0, 2), 2, True),
            ((2, 30), (1, 0), 0, False),
            ((5, 2), (), 0, True),
        )
    ],
    "_fft_r2c": lambda rng: [
        (make(rng, shape, dtype), dims, normalization, onesided)
        for dtype in ("float32", "float64")
        for shape, dims, normalization, onesided in (
            ((8,), (0,), 0, True),
            ((3, 9), (1,), 1, True),
            ((4, 5, 2), (2, 0, 1), 2, True),
            ((6, 3), (0, 1), 0, False),
            ((1,), (0,), 0, True),
            ((2, 11), (1,), 1, False),
        )
    ],
    "_fft_c2r": lambda rng: [
        (numbers(rng, shape, dtype), dims, normalization, size)
        for dtype in ("complex64", "complex128")
        for shape, dims, normalization, size in (
            ((5,), (0,), 0, 8),
            ((3, 5), (1,), 2, 9),
            ((4, 3), (1, 0), 1, 6),
            ((2, 3), (1,), 0, 4),
            ((1,), (0,), 0, 1),
        )
    ],
    "vdot": lambda rng: (
        [(numbers(rng, (5,), dtype), numbers(rng, (5,), dtype)) for dtype in ("complex64", "complex128")]
        + [(make(rng, (4,), dtype), make(rng, (4,), dtype)) for dtype in ("float32", "int64")]
    ),
}
SAMPLES: dict[str, Samples] = {f"aten.{name}": samples for name, samples in COMPLEX.items()}
"""Generators by full operator name."""
