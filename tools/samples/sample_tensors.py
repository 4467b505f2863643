"""Random tensors, and samples made of them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from flambeau.tools.samples.sample_generators import Samples

Sample = tuple[Any, ...]


def f32(rng: np.random.Generator, *shape: int) -> Any:
    """Returns a float32 tensor of normally distributed numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def i64(rng: np.random.Generator, *shape: int, low: int = -9, high: int = 10) -> Any:
    """Returns an int64 tensor of numbers in [low, high)."""
    return rng.integers(low, high, shape)


def mask(rng: np.random.Generator, *shape: int) -> Any:
    """Returns a bool tensor."""
    return rng.integers(0, 2, shape).astype(bool)


def shapes(*calls: tuple[Any, ...]) -> Samples:
    """Returns samples of a float tensor of each shape, and of an integer tensor of the first shape, with the further arguments."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for shape, *rest in calls:
            samples.append((f32(rng, *shape), *rest))
        shape, *rest = calls[0]
        samples.append((i64(rng, *shape), *rest))
        return samples

    return make


def floats(*calls: tuple[Any, ...]) -> Samples:
    """Returns samples of float tensors. Each call begins with their shapes (None if absent); later lists are tuples of numbers."""

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
    """Returns samples of a list of float tensors with the shapes of the first argument, and the further arguments."""

    def make(rng: np.random.Generator) -> list[Sample]:
        samples: list[Sample] = []
        for parts, *rest in calls:
            samples.append(([f32(rng, *shape) for shape in parts], *rest))
        return samples

    return make
