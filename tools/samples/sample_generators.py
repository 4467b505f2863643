"""Generators of samples: functions that make the sample arguments of an operator from a random generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np

from flambeau.support.lazy import Array

Samples: TypeAlias = Callable[[np.random.Generator], list[tuple[Any, ...]]]
"""Makes sample arguments of an operator, bound in schema order.

An array represents a tensor, a list of arrays a list of tensors, and an xDSL type a ScalarType. All other arguments are Python values
(tuples for lists of numbers, None for an absent tensor or value). Trailing arguments may be left out and then have their defaults.
"""

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
REALS = (*FLOATS, *INTS)
ALL = (*REALS, "bool")
LARGE = ("float32", "bfloat16")
"""The types that hold numbers whose squares are too large for float32."""
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e38)
FINITE = tuple(number for number in SPECIAL if np.isfinite(number))
MIXED = (("float32", "int64"), ("int32", "float16"), ("int8", "uint8"), ("int64", "int32"), ("float16", "bfloat16"), ("float32", "float64"))


def make(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32", low: float = -3, high: float = 3) -> Array:
    """Returns a tensor with values in [low, high)."""
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype in FLOATS:
        return np.asarray(rng.uniform(low, high, shape)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return np.asarray(rng.integers(max(int(low), 0) if dtype.startswith("u") else int(low), int(high), shape)).astype(dtype)


def fixed(*samples: tuple[Any, ...]) -> Samples:
    """Returns a generator of exactly these samples; for samples without tensors."""
    return lambda _: list(samples)


def unary(
    *rest: tuple[Any, ...], dtypes: tuple[str, ...] = FLOATS, low: float = -3, high: float = 3, special: Sequence[float] = SPECIAL
) -> Samples:
    """Returns samples of one tensor: of each dtype, of several shapes and of special numbers, with each tail of other arguments."""

    def generate(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        tails = rest or ((),)
        samples = [(make(rng, (3, 4), dtype, low, high), *tail) for dtype in dtypes for tail in tails]
        samples += [(make(rng, shape, dtypes[0], low, high), *tails[0]) for shape in ((2, 3, 2), (5,), (), (0, 3))]
        if special:
            samples += [(np.array(special, "float32"), *tail) for tail in tails]
            samples += [(np.array(special, "float64"), *tails[0])] if "float64" in dtypes else []
        return samples

    return generate


def binary(
    *rest: tuple[Any, ...],
    dtypes: tuple[str, ...] = REALS,
    mixed: tuple[tuple[str, str], ...] = MIXED,
    low: float = -3,
    high: float = 3,
    low2: float | None = None,
    special: bool = True,
) -> Samples:
    """Returns samples of two tensors: of each dtype, of mixed dtypes, broadcast, 0-d, of special numbers; `low2` bounds the second."""

    def generate(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        second = low if low2 is None else low2
        tails = rest or ((),)
        pairs = [((3, 4), (3, 4), dtype, dtype) for dtype in dtypes] + [((2, 3), (2, 3), *pair) for pair in mixed]
        pairs += [(a, b, dtypes[0], dtypes[0]) for a, b in (((2, 1, 3), (4, 1)), ((), (3,)), ((), ()), ((0, 2), (2,)))]
        pairs += [(a, b, *pair) for pair in mixed for a, b in (((3,), ()), ((), (3,)))]
        samples = [(make(rng, a, da, low, high), make(rng, b, db, second, high), *tail) for a, b, da, db in pairs for tail in tails]
        if special:
            grid = np.array(SPECIAL, "float32")
            samples += [(grid[:, None], grid[None, :], *tail) for tail in tails]
        return samples

    return generate


def reduction(
    *rest: tuple[Any, ...],
    dtypes: tuple[str, ...] = REALS,
    low: float = -3,
    special: bool = True,
    empty: bool = True,
    large: tuple[str, ...] = (),
) -> Samples:
    """Returns samples of a rank-3 tensor of each dtype with each tail, then of 0-d, empty and NaN tensors with the first tail.

    For the types in `large`, there are also samples of numbers whose squares are among the largest of float32.
    """

    def generate(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        samples = [(make(rng, (2, 3, 4), dtype, low), *tail) for dtype in dtypes for tail in rest]
        first = dtypes[0]
        samples.append((make(rng, (5, 1, 3), first, low), *rest[0]))
        if empty:
            samples.append((make(rng, (2, 0, 3), first, low), *rest[0]))
        if special:
            with_nan = make(rng, (2, 3, 4), "float32", low)
            with_nan[0, 1, 2], with_nan[1, 0, 1], with_nan[1, 1, 1] = np.nan, np.inf, -np.inf
            samples += [(with_nan, *tail) for tail in rest]
        samples += [(make(rng, (2, 3, 4), dtype, -1.7e19, 1.7e19), *tail) for dtype in large for tail in rest]
        return samples

    return generate


def selecting(a: tuple[tuple[int, ...], str] | float, b: tuple[tuple[int, ...], str] | float) -> Callable[[np.random.Generator], Any]:
    """Returns a maker of one sample: a bool tensor of shape [3, 4] and two operands, each given as shape and dtype or as a number."""

    def operand(rng: np.random.Generator, spec: tuple[tuple[int, ...], str] | float) -> Any:
        return make(rng, *spec) if isinstance(spec, tuple) else spec

    return lambda rng: (make(rng, (3, 4), "bool"), operand(rng, a), operand(rng, b))


def each(*makers: Callable[[np.random.Generator], Any]) -> Samples:
    """Returns a generator of one sample from each maker."""
    return lambda rng: [maker(rng) for maker in makers]


def and_reals_that_do_not_fit(samples: Samples, *rest: tuple[Any, ...]) -> Samples:
    """Returns these samples, then a column of numbers that integer types cannot hold, in two types, with each tail of arguments."""
    column = np.array([np.nan, np.inf, -np.inf, 3000000001, -3000000001, 1e20, 300.7, -300.7])[:, None]
    return lambda rng: samples(rng) + [(column.astype(dtype), *tail) for dtype in ("float32", "float64") for tail in rest]


def tensors(*samples: tuple[Any, ...], low: float = -3, high: float = 3) -> Samples:
    """Returns samples in which a pair (shape, dtype) whose dtype is a name represents a tensor."""

    def value(rng: np.random.Generator, item: Any) -> Any:
        parts = cast("tuple[Any, ...]", item) if isinstance(item, tuple) else ()
        return make(rng, *parts, low, high) if len(parts) == 2 and isinstance(parts[1], str) else cast(Any, item)

    return lambda rng: [tuple(value(rng, item) for item in sample) for sample in samples]
