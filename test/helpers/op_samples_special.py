"""Samples of special functions: few, because each is many operations of a program."""

from __future__ import annotations

import numpy as np
from op_samples import Samples, make

from flambeau.dialects.aten.polynomials import POLYNOMIALS
from flambeau.support.lazy import Array

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 7.5, 12.0, 60.0)


def spread(low: float, high: float, count: int = 24) -> Array:
    """Numbers from `low` to `high` at which nothing special happens."""
    return np.linspace(low, high, count) + 0.0137


def function_of_one(low: float = -12, high: float = 12) -> Samples:
    """Numbers within the range where the function does different things, and special ones."""
    return lambda _: [(np.concatenate([spread(low, high), SPECIAL]),)]


def pairs(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Orders, each with numbers."""
    orders = np.array([0.5, 1.0, 1.5, 2.0, 5.0, np.nan])[:, None]
    numbers = np.array([-9.5, -3.0, -0.4, 0.0, 0.001, 1.0, 3.3, 100.0, np.inf, np.nan])
    return [(orders, numbers)]


_OF_ONE = (
    "special_erfcx special_log_ndtr lgamma digamma i0 special_i0e special_i1 special_i1e special_modified_bessel_k0 "
    "special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_bessel_j0 special_bessel_j1 "
    "special_bessel_y0 special_bessel_y1 special_airy_ai special_spherical_bessel_j0"
).split()


def degrees(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Places, each with degrees."""
    places = np.array([-30.0, -1.5, -1.0, -0.7, 0.0, 0.3, 0.5, 1.0, 2.5, np.inf, np.nan])[:, None]
    numbers = np.array([-2.0, 0.0, 1.0, 2.0, 3.7, 6.0, 12.0, 40.0, 130.0, np.nan])
    whole = make(rng, (3, 1), "int64"), make(rng, (4,), "int32", 0, 9)
    return [(places, numbers), (places.astype("float32"), numbers.astype("float32")), whole]


SAMPLES: dict[str, Samples] = {
    **{f"aten.{name}": function_of_one() for name in _OF_ONE},
    "aten.erfc": lambda rng: [*function_of_one()(rng), (make(rng, (2, 3)),), (make(rng, (3,), "int64"),), (make(rng, (0,), "float16"),)],
    "aten.erfinv": function_of_one(-1.2, 1.2),
    "aten.special_ndtri": function_of_one(-0.2, 1.2),
    "aten.polygamma": lambda rng: [(n, *function_of_one()(rng)[0]) for n in (0, 1, 2)],
    "aten.special_zeta": pairs,
    "aten.special_zeta.self_scalar": lambda rng: [(3.0, pairs(rng)[0][1])],
    "aten.special_zeta.other_scalar": lambda rng: [(pairs(rng)[0][0], 2.5)],
    **{f"aten.special_{name}": degrees for name in POLYNOMIALS},
    **{f"aten.special_{name}.x_scalar": lambda rng: [(0.5, degrees(rng)[0][1])] for name in POLYNOMIALS},
    **{f"aten.special_{name}.n_scalar": lambda rng: [(degrees(rng)[0][0], 7)] for name in POLYNOMIALS},
}
