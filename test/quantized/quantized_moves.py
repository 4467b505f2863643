"""Moves of quantized numbers, drawn at random: a function of tensors, and the shapes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Drawn = tuple[Callable[..., Tensor], Sequence[Sequence[int]]]


def of_one(function: Callable[[Tensor], Tensor], *shape: int) -> Drawn:
    """Returns a function of one tensor."""
    return function, (shape,)


def of_two(function: Callable[[Tensor, Tensor], Tensor], *shape: int) -> Drawn:
    """Returns a function of two tensors of one shape."""
    return function, (shape, shape)


def _sizes(rng: np.random.Generator, *most: int) -> tuple[int, ...]:
    return tuple(int(rng.integers(1, size + 1)) for size in most)


def _part(rng: np.random.Generator) -> Drawn:
    shape, dim = _sizes(rng, 9, 9, 9), int(rng.integers(0, 3))
    start, step = int(rng.integers(0, shape[dim])), int(rng.integers(1, 4))
    index = (*(slice(None),) * dim, slice(start, None, step))
    return of_one(lambda x: x[index], *shape)


def _one(rng: np.random.Generator) -> Drawn:
    shape, dim = _sizes(rng, 5, 9, 6), int(rng.integers(0, 3))
    index = int(rng.integers(-shape[dim], shape[dim]))
    return of_one(lambda x: x.select(dim, index), *shape)


def _padding(rng: np.random.Generator) -> Drawn:
    pads, value = [int(item) for item in rng.integers(-1, 4, 4)], float(rng.normal())
    return of_one(lambda x: F.pad(x, pads, value=value), 2, 4, 5)


def _repetition(rng: np.random.Generator) -> Drawn:
    shape, times = _sizes(rng, 4, 5), _sizes(rng, 3, 3, 3)
    return of_one(lambda x: x.repeat(times), *shape)


def _growth(rng: np.random.Generator) -> Drawn:
    return of_one(lambda x: x.expand(3, 4, 5), *((4, 1) if rng.random() < 0.5 else (1, 1, 5)))


def _reversal(rng: np.random.Generator) -> Drawn:
    dims = [int(item) for item in rng.permutation(3)[: rng.integers(1, 4)]]
    return of_one(lambda x: x.flip(dims), *_sizes(rng, 4, 5, 6))


def _stack(rng: np.random.Generator) -> Drawn:
    shape, dim = _sizes(rng, 4, 5), int(rng.integers(0, 3))
    return of_two(lambda x, y: torch.stack([x, y], dim), *shape)


def _pixels(rng: np.random.Generator) -> Drawn:
    if rng.random() < 0.5:
        return of_one(lambda x: F.pixel_shuffle(x, 2), 2, 12, 3, 2)
    return of_one(lambda x: F.pixel_unshuffle(x, 2), 2, 3, 4, 6)


def _places(rng: np.random.Generator) -> Drawn:
    shape, dim = _sizes(rng, 4, 5, 6), int(rng.integers(0, 3))
    places = torch.as_tensor(rng.integers(0, shape[dim], int(rng.integers(1, 9))))
    return of_one(lambda x: torch.index_select(x, dim, places), *shape)


def _rows(rng: np.random.Generator) -> Drawn:
    places = torch.as_tensor(rng.integers(0, 7, _sizes(rng, 3, 4)))
    return of_one(lambda x: F.embedding(places, x), 7, int(rng.integers(1, 6)))


MOVES: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "part": _part,
    "one": _one,
    "padding": _padding,
    "repetition": _repetition,
    "growth": _growth,
    "reversal": _reversal,
    "stack": _stack,
    "places": _places,
    "rows": _rows,
    "pixels": _pixels,
}
