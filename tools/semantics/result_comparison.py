"""Compares results: tolerances, and the effect of rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Operation

from flambeau.runtime.interpreter import Leaf
from flambeau.runtime.scalar_types import SCALAR_TYPES
from flambeau.support.lazy import Array, np

TOLERANCES = {
    "float64": 1e-8,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 8e-2,
    **{row.name: 0.8 * 2**-row.format.fraction for row in SCALAR_TYPES if row.format and not row.computes},
}
"""The tolerance by dtype, relative to the largest number of the result; complex numbers are two. Integers and bools must be equal."""

NOT_FINITE = "elements are infinite or not numbers on one side only"
"""The message for results that cannot be compared as numbers."""

_NOISE_FACTOR = 2
"""The factor by which another form, which computes in other steps, may differ more than the reference's own rounding noise."""


@dataclass(frozen=True)
class SemanticsOptions:
    """The options for running a module and comparing its results."""

    tolerance: float | None = None
    """The tolerance for float32, relative to the largest number of a result; other dtypes in proportion. None: TOLERANCES."""
    inputs: Mapping[str, Array] | None = None
    """By the names of inputs (`x`, or `forward.x` where methods differ, or `arr_0`). None: the program's own example inputs if it has them,
    and others generated from `seed`."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise ValueError(f"the tolerance must be a number of 0 or more, got {self.tolerance}")
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative, got {self.seed}")

    def tolerance_for(self, dtype: np.dtype[Any]) -> float:
        """Returns the tolerance for a dtype."""
        default = TOLERANCES.get(dtype.name, 0.0)
        return default if self.tolerance is None else default / TOLERANCES["float32"] * self.tolerance


@dataclass(frozen=True)
class Steps:
    """How far a result that depends on quantized numbers may be from the reference, in steps of a scale."""

    most: float
    scale: float
    """What one step is, in floats."""

    def why_not(self, expected: Array, found: Array, tolerance: float) -> str | None:
        """Returns the difference of integers, or of finite floats, as text; None if they are near. The tolerance is added for floats."""
        a, b = expected.astype(np.float64), found.astype(np.float64)
        unit = self.scale if expected.dtype.name in TOLERANCES else 1
        steps = float(np.abs(a - b).max(initial=0.0)) / unit
        if steps <= self.most + tolerance * float(np.abs(a).max(initial=0.0)) / unit:
            return None
        return f"max |Δ| is {steps:.3g} {'step' if steps == 1 else 'steps'} of scale {self.scale:.3g}, {self.most:.3g} within rounding"


def difference_of(
    expected: Leaf,
    found: Leaf,
    options: SemanticsOptions,
    *,
    noise: Array | None = None,
    finite_only: bool = False,
    steps: Steps | None = None,
) -> str | None:
    """Returns the difference of two results as text; None if they are equal up to the tolerance, with NaN and infinity in the same places.

    Args:
        expected: the result of the reference.
        found: the result to compare.
        options: the tolerance.
        noise: the distance by which rounding moves each expected element. A smaller difference is accepted, unless all must be equal.
        finite_only: whether to skip elements whose expected value is infinite or NaN.
        steps: how far a result that depends on quantized numbers may be from the expected one.
    """
    if isinstance(expected, float) and isinstance(found, float):
        expected, found = np.asarray(expected), np.asarray(found)
    if not isinstance(expected, np.ndarray) or not isinstance(found, np.ndarray):
        return None if type(expected) is type(found) and expected == found else f"{_brief(found)} instead of {_brief(expected)}"
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{_brief(found)} instead of {_brief(expected)}"
    expected, found = _parts(expected), _parts(found)
    tolerance = options.tolerance_for(expected.dtype)
    if steps is not None and np.isfinite(found.astype(np.float64)).all():
        return steps.why_not(expected, found, tolerance)
    if expected.dtype.name not in TOLERANCES:
        return _unequal(expected != found)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    odd = ~(np.isfinite(a) & np.isfinite(b)) & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if finite_only:
        odd &= np.isfinite(a)
    if noise is not None and tolerance:
        odd &= np.isfinite(noise)
    if odd.any():
        return f"{int(odd.sum())} of {odd.size} {NOT_FINITE}"
    finite = np.isfinite(a) & np.isfinite(b)
    if not tolerance:
        return _unequal((a != b) & finite)
    scale = float(np.abs(a[finite]).max(initial=0.0))
    deltas = np.abs(a[finite] - b[finite])
    allowed = np.full(deltas.shape, tolerance * scale)
    if noise is not None:
        allowed = np.maximum(allowed, _NOISE_FACTOR * np.maximum(noise, np.median(noise) if noise.size else 0.0)[finite])
    if not (wrong := deltas > allowed).any():
        return None
    delta = float(deltas[wrong].max())
    relative = f"{delta / scale:.1e} of its scale {scale:.3g}" if scale else f"{delta:.1e}, where all should be 0"
    return f"max |Δ| is {relative}, tolerance {tolerance:.0e}"


def _parts(array: Array) -> Array:
    """Returns the real and imaginary parts of complex numbers side by side; another array unchanged."""
    return np.ascontiguousarray(array).view(cast("Array", cast(Any, array).real).dtype) if array.dtype.kind == "c" else array


def _unequal(wrong: Array) -> str | None:
    count = int(np.count_nonzero(wrong))
    return f"{count} of {wrong.size} elements" if count else None


def _brief(leaf: Leaf) -> str:
    return f"{leaf.dtype} {list(leaf.shape)}" if isinstance(leaf, np.ndarray) else repr(leaf)


class Rounding:
    """A random perturbation of floats by as much as rounding may: a perturbed run shows the effect of rounding on the results.

    With cancellation the effect is large in relation to the result; elsewhere it is about the precision of the dtype.
    """

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed)

    def moved(self, leaf: Leaf) -> Leaf:
        """Returns an array of floats, perturbed; any other value unchanged."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        if (parts := _parts(leaf)) is not leaf:
            return cast("Array", self.moved(parts)).view(leaf.dtype).reshape(leaf.shape)
        if leaf.dtype.name not in TOLERANCES:
            return leaf
        shape: tuple[int, ...] = leaf.shape
        by = 1 + _epsilon(leaf.dtype) * self._random.uniform(-1, 1, shape)
        return np.asarray(leaf.astype(np.float64) * by).astype(leaf.dtype)

    def observe(self, op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
        """Perturbs the results of an operation; an observer of the interpreter."""
        return [np.asarray(self.moved(array)) for array in arrays]


def noise_of(expected: Leaf, others: Sequence[Leaf]) -> Array | None:
    """Returns the largest distance of each element of a float result from the results of perturbed runs; None for other results."""
    if not isinstance(expected, np.ndarray) or (expected := _parts(expected)).dtype.name not in TOLERANCES:
        return None
    a = expected.astype(np.float64)
    noise = np.zeros(a.shape)
    for other in others:
        if not isinstance(other, np.ndarray) or (other := _parts(other)).shape != a.shape:
            continue
        b = other.astype(np.float64)
        with np.errstate(all="ignore"):
            delta = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        noise = np.maximum(noise, np.where(np.isnan(delta), np.inf, delta))
    return noise


def _epsilon(dtype: np.dtype[Any]) -> float:
    """Returns the machine epsilon of the dtype."""
    return 2.0 ** -{"float64": 52, "float32": 23, "float16": 10}.get(dtype.name, 7)
