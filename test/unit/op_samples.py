"""Sample arguments of rows: per operator, a generator of bound arguments in schema order.

An array stands for a tensor, an xDSL type for a ScalarType, and Python values for the rest (None where a tensor or value is absent).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from flambeau.dialects.lazy import Array

Samples: TypeAlias = Callable[[np.random.Generator], list[tuple[Any, ...]]]

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
REALS = (*FLOATS, *INTS)
ALL = (*REALS, "bool")
SHAPES: tuple[tuple[int, ...], ...] = ((2, 3, 4), (5,), ())


def make(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32", low: float = -3, high: float = 3) -> Array:
    """A tensor with values in [low, high)."""
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype in FLOATS:
        return np.asarray(rng.uniform(low, high, shape)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return np.asarray(rng.integers(max(int(low), 0) if dtype.startswith("u") else int(low), int(high), shape)).astype(dtype)


def unary(*rest: tuple[Any, ...], dtypes: tuple[str, ...] = FLOATS, low: float = -3, high: float = 3) -> Samples:
    """One tensor, then each of the tails of other arguments."""

    def generate(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        samples = [(make(rng, (3, 4), dtype, low, high), *tail) for dtype in dtypes for tail in rest or ((),)]
        samples += [(make(rng, shape, dtypes[0], low, high), *(rest or ((),))[0]) for shape in ((2, 3, 2), (5,), (), (0, 3))]
        return samples

    return generate


SAMPLES: dict[str, Samples] = {
    "aten.relu": unary(dtypes=REALS),
    "aten.sigmoid": unary(dtypes=ALL),
    "aten.silu": unary(),
}
"""Generators by full operator name."""
