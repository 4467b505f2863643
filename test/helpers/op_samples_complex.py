"""Arguments with which to try the operators on complex tensors: bound arguments in schema order."""

from __future__ import annotations

import numpy as np
from op_samples import ALL, Samples, make, unary

from flambeau.support.lazy import Array


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "complex64") -> Array:
    """A tensor of complex numbers."""
    return np.asarray(make(rng, shape, "float64") + 1j * make(rng, shape, "float64")).astype(dtype)


def reals(*shapes: tuple[tuple[int, ...], ...], low: float = -3) -> Samples:
    """Samples of real tensors of the given shapes, in both types that are parts of complex ones."""
    return lambda rng: [tuple(make(rng, shape, dtype, low) for shape in each) for each in shapes for dtype in ("float32", "float64")]


def complexes(*shapes: tuple[int, ...]) -> Samples:
    """Samples of one complex tensor."""
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
    "vdot": lambda rng: (
        [(numbers(rng, (5,), dtype), numbers(rng, (5,), dtype)) for dtype in ("complex64", "complex128")]
        + [(make(rng, (4,), dtype), make(rng, (4,), dtype)) for dtype in ("float32", "int64")]
    ),
}
SAMPLES: dict[str, Samples] = {f"aten.{name}": samples for name, samples in COMPLEX.items()}
"""Generators by full operator name."""
