"""Functions of matrices and of rows, drawn at random: products, reductions, softmax and norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from quantized_programs import tensor_of
from torch import Tensor

Function = Callable[..., Tensor]
Draw = Callable[[np.random.Generator], tuple[Function, Sequence[Sequence[int]]]]


def _sizes(rng: np.random.Generator, rank: int, most: int = 9) -> tuple[int, ...]:
    return tuple(int(item) for item in rng.integers(1, most, rank))


def _dims(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    return tuple(int(item) for item in rng.permutation(rank)[: rng.integers(1, rank + (rank == 1))])


def _matrices(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    batch, rows, inner, columns = _sizes(rng, 4, 20)
    return (
        (torch.mm, ((rows, inner), (inner, columns)))
        if rng.random() < 0.4
        else (torch.bmm, ((batch, rows, inner), (batch, inner, columns)))
    )


def _with_bias(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    rows, inner, columns = _sizes(rng, 3, 20)
    bias = tensor_of(rng.normal(size=columns).astype(np.float32))

    def function(a: Tensor, b: Tensor) -> Tensor:
        return torch.addmm(bias, a, b)

    return function, ((rows, inner), (inner, columns))


def _along(function: Function) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
        shape = (*_sizes(rng, int(rng.integers(0, 3))), int(np.exp(rng.uniform(0, 7))), *_sizes(rng, int(rng.integers(0, 2)), 4))
        dim = int(np.argmax(shape))

        def of_dim(x: Tensor) -> Tensor:
            return function(x, dim)

        return of_dim, (shape,)

    return draw


def _norm(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    rows, count = int(rng.integers(1, 8)), int(np.exp(rng.uniform(0, 7)))
    weight, bias = (tensor_of(rng.normal(size=count).astype(np.float32)) if rng.random() < 0.7 else None for _ in range(2))
    is_rms = bool(rng.random() < 0.3)

    def function(x: Tensor) -> Tensor:
        return F.rms_norm(x, (count,), weight) if is_rms else F.layer_norm(x, (count,), weight, bias)

    return function, ((rows, count),)


def _group_norm(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
    batch, groups, each, height, width = _sizes(rng, 5, 6)
    weight, bias = (tensor_of(rng.normal(size=groups * each).astype(np.float32)) for _ in range(2))

    def function(x: Tensor) -> Tensor:
        return F.group_norm(x, groups, weight, bias)

    return function, ((batch, groups * each, height, width),)


def _reduction(function: Function) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Function, Sequence[Sequence[int]]]:
        shape = _sizes(rng, int(rng.integers(2, 5)))
        dims, keeps = _dims(rng, len(shape)), bool(rng.random() < 0.5)

        def of_dims(x: Tensor) -> Tensor:
            return function(x, dims, keeps)

        return of_dims, (shape,)

    return draw


def _largest(x: Tensor, dims: Sequence[int], keeps: bool) -> Tensor:
    return torch.max(x, dims[0], keeps)[0]


ROWS: Mapping[str, Draw] = {
    "product": _matrices,
    "product and bias": _with_bias,
    "softmax": _along(torch.softmax),
    "log_softmax": _along(torch.log_softmax),
    "layer_norm": _norm,
    "group_norm": _group_norm,
    "sum": _reduction(torch.sum),
    "mean": _reduction(torch.mean),
    "amax": _reduction(torch.amax),
    "amin": _reduction(torch.amin),
    "max.dim": _reduction(_largest),
}
