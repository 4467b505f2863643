"""Eigenvectors and singular vectors, which are theirs up to a sign, a phase or a basis, compared with other ones.

Vectors of one value (nearly equal ones count as one) span the same space as the expected ones if their projection of these is these. So the
results that `aligned` gives are close to the expected ones if and only if they are right, whichever choice the algorithm makes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from flambeau.support.lazy import Array

NEAR = 1e-4
"""How far values are apart, relative to the largest, whose vectors are told apart."""


def _runs(values: Array) -> list[slice]:
    """The places of equal values among ordered ones."""
    bound = NEAR * np.abs(values).max(initial=0)
    bounds = [0, *(i for i in range(1, len(values)) if abs(values[i] - values[i - 1]) > bound), len(values)]
    return [slice(start, end) for start, end in itertools.pairwise(bounds)]


def _over_batch(function: Callable[..., Sequence[Array]], rank: int, got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    """`function` of the matrices and vectors at each place of a batch, whose dimensions come first in the values."""
    found = [each.copy() for each in got]
    for place in np.ndindex(got[0].shape[:rank]):
        for out, result in zip(found, function([x[place] for x in got], [x[place] for x in want]), strict=True):
            out[place] = result
    return found


def _of_symmetric(got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    (values, vectors), expected = got, want[1]
    found = vectors.copy()
    for run in _runs(want[0]):
        found[:, run] = vectors[:, run] @ (vectors[:, run].T @ expected[:, run])
    return [values, found]


def _are_orthonormal(rows: Array) -> bool:
    return np.allclose(rows @ rows.T, np.eye(len(rows)), rtol=0, atol=1e3 * np.finfo(rows.dtype).eps)


def _of_singular(got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    left, values, right = (each.copy() for each in got)
    rank = int((want[1] > NEAR * want[1].max(initial=0)).sum())
    for run in _runs(want[1][:rank]):
        # The vectors of both sides turn together.
        turn = got[0][:, run].T @ want[0][:, run]
        left[:, run], right[run] = got[0][:, run] @ turn, turn.T @ got[2][run]
    # The vectors beyond are any that are orthogonal to each other and to these.
    if _are_orthonormal(got[0].T):
        left[:, rank:] = want[0][:, rank:]
    if _are_orthonormal(got[2]):
        right[rank:] = want[2][rank:]
    return [left, values, right]


def _nearest(got: Array, want: Array) -> list[int]:
    """For each expected value the place of one that is left and nearest."""
    left = list(range(len(got)))
    return [left.pop(int(np.argmin([abs(got[i] - x) for i in left]))) for x in want]


def _of_any(got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    order = _nearest(got[0], want[0])
    values, vectors = got[0][order], got[1][:, order]
    found = vectors.copy()
    bound = NEAR * np.abs(values).max(initial=0)
    for i, value in enumerate(values):
        alike = vectors[:, np.abs(values - value) <= bound]
        lengths = np.linalg.norm(vectors[:, i])
        found[:, i] = alike @ np.linalg.lstsq(alike, want[1][:, i], rcond=NEAR)[0] * lengths
    return [values, found]


def _unordered(got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    return [got[0][_nearest(got[0], want[0])]]


_CHOICES: dict[str, tuple[int, Callable[..., Sequence[Array]]]] = {
    "_linalg_eigh": (0, _of_symmetric),
    "_linalg_svd": (1, _of_singular),
    "linalg_eig": (0, _of_any),
    "_linalg_eigvals": (0, _unordered),
    "linalg_eigvals": (0, _unordered),
}
"""For each operator the result with the values, and what is done with the results of one matrix."""


def aligned(operator: str, got: Sequence[Array], want: Sequence[Array]) -> list[Array]:
    """Results of an operator, with vectors and an order that are chosen as those expected."""
    alike = [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in want]
    found = _CHOICES.get(operator.removeprefix("aten."))
    if found is None or not alike or any(x.ndim == 1 and not x.size for x in got[1:]):
        return list(got)
    place, function = found
    return _over_batch(function, got[place].ndim - 1, got, want)
