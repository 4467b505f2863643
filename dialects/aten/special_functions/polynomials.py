"""Orthogonal polynomials, whose degree is data: each by its recurrence in the result's type, as PyTorch computes them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import float_operands
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.ir.tensor_types import Tensor, element_of
from flambeau.dialects.schema.families import FloatBinaryOp, float_element, promote_values
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import class_name
from flambeau.support.lazy import Array

_MOST = {"float32": 128, "float64": 512}
"""The highest degree of Hermite's polynomials; beyond, PyTorch gives NaN."""
_HIGHEST = 65536
"""The highest degree of the others: a recurrence takes as many steps, and data decides how many."""
POLYNOMIALS = {
    "chebyshev_polynomial_t": "Chebyshev's polynomial of the first kind",
    "chebyshev_polynomial_u": "Chebyshev's polynomial of the second kind",
    "chebyshev_polynomial_v": "Chebyshev's polynomial of the third kind",
    "chebyshev_polynomial_w": "Chebyshev's polynomial of the fourth kind",
    "hermite_polynomial_h": "The physicists' polynomial of Hermite",
    "hermite_polynomial_he": "The probabilists' polynomial of Hermite",
    "laguerre_polynomial_l": "Laguerre's polynomial",
    "legendre_polynomial_p": "Legendre's polynomial",
    "shifted_chebyshev_polynomial_t": "Chebyshev's polynomial of the first kind at 2 x - 1",
    "shifted_chebyshev_polynomial_u": "Chebyshev's polynomial of the second kind at 2 x - 1",
    "shifted_chebyshev_polynomial_v": "Chebyshev's polynomial of the third kind at 2 x - 1",
    "shifted_chebyshev_polynomial_w": "Chebyshev's polynomial of the fourth kind at 2 x - 1",
}


def _first(family: str, x: Any) -> Any:
    """Returns the polynomial of degree 1."""
    kind = family[-1]
    return {"t": x, "u": x + x, "v": x + x - 1, "w": x + x + 1, "h": x + x, "e": x, "l": 1 - x, "p": x}[kind]


def _next(family: str, k: int, x: Any, current: Any, last: Any) -> Any:
    """Returns the polynomial of degree k + 1, from those of degree k and k - 1."""
    if "chebyshev" in family:
        return (x + x) * current - last
    if family.endswith("h"):
        return (x + x) * current - 2 * k * last
    if family.endswith("he"):
        return x * current - k * last
    factor = (k + k) + (1 - x) if family.endswith("l") else (k + k + 1) * x
    return (factor * current - k * last) / (k + 1)


def _far(family: str, x: Any, degree: Any) -> Any:
    """Returns Chebyshev's polynomials of a high degree for |x| < 1."""
    angle = np.arccos(x)
    return {
        "t": lambda: np.cos(degree * angle),
        "u": lambda: np.sin((degree + 1) * angle) / np.sin(angle),
        "v": lambda: np.cos((degree + 0.5) * angle) / np.cos(angle / 2),
        "w": lambda: np.sin((degree + 0.5) * angle) / np.sin(angle / 2),
    }[family[-1]]()


def _edge(family: str, x: Any, degree: Any) -> Any:
    """Returns the polynomials of a family where x is -1 or 1."""
    sign = np.where((x > 0) | (degree % 2 == 0), 1, -1)
    odd = 2 * degree + 1
    at = {"t": sign, "u": sign * (degree + 1), "v": np.where(x > 0, 1, sign * odd), "w": np.where(x > 0, odd, sign), "p": sign}
    return at[family[-1]].astype(x.dtype)


def polynomial_of_degree(family: str, x: Any, n: Any) -> Array:
    """Returns the polynomials of a family at `x`; `n` is truncated, and negative degrees give 0."""
    kind = x.dtype
    with np.errstate(all="ignore"):
        x, n = (np.array(part) for part in np.broadcast_arrays(x, n))
        degree = np.where(np.isfinite(n) & (abs(n) < 2.0**63), n, -1).astype(np.int64)
        if "hermite" not in family and degree.size and degree.max() > _HIGHEST:
            raise ValueError(f"a degree must be at most {_HIGHEST}, got {degree.max()}")
        x = x + x - kind.type(1) if family.startswith("shifted") else x
        has_edges = family[-1] in "tuvwp" and not family.endswith("he")
        done = (degree < 2) | ((abs(x) == 1) if has_edges else (x == 0) if family.endswith("l") else False)
        found = np.where(degree < 0, kind.type(0), np.where(degree == 0, kind.type(1), _first(family, x).astype(kind)))
        if "hermite" in family:
            done, found = done | (degree > _MOST[kind.name]), np.where(degree > _MOST[kind.name], kind.type(np.nan), found)
        elif has_edges:
            found = np.where((abs(x) == 1) & (degree >= 0), _edge(family, x, degree), found)
        else:
            found = np.where((x == 0) & (degree >= 0), kind.type(1), found)
        if "chebyshev" in family:
            high = (abs(x) < 1) & (degree > 8)
            found, done = np.where(high, _far(family, x, degree.astype(kind)), found).astype(kind), done | high
        last, current, k = np.ones_like(x), _first(family, x).astype(kind), 1
        while not np.all(done):
            last, current, k = current, _next(family, k, x, current, last).astype(kind), k + 1
            found = np.where(done | (k > degree), found, current)
            done = done | (k >= degree) | (np.isnan(current) if "hermite" not in family else False)
    return np.asarray(found, kind)


def _declare(family: str, doc: str) -> None:
    """Declares the rows of a family: the one that has a kernel, and those that take a number."""

    def infer(x: Tensor | float, n: Tensor | float, /) -> Tensor:
        found = FloatBinaryOp.infer(x, n)
        if element_of(found) not in (f32, f64):
            raise TypeError(f"polynomials are not defined for {element_of(found)} tensors")
        return found

    def numpy(x: Array | float, n: Array | float, /) -> Array:
        return polynomial_of_degree(family, *float_operands(x, n))

    def decompose(x: SSAValue | float, n: SSAValue | float, /) -> SSAValue:
        element = float_element(promote_values(x, n))
        return getattr(aten, f"special_{family}")(as_operand(x, element), as_operand(n, element))

    members = {"__doc__": f"{doc} of degree n.", "__module__": __name__, "infer": staticmethod(infer), "numpy": staticmethod(numpy)}
    for overload, x, n in (("", "Tensor", "Tensor"), (".x_scalar", "Scalar", "Tensor"), (".n_scalar", "Tensor", "Scalar")):
        name = f"special_{family}{overload}"
        own = {**members, "decompose": staticmethod(decompose)} if overload else members
        aten(f"{name}({x} x, {n} n) -> Tensor", keep=not overload)(type(class_name(name), (FloatBinaryOp,), own))


for _family, _doc in POLYNOMIALS.items():
    _declare(_family, _doc)
