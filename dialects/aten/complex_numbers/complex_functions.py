"""Elementary functions of complex tensors in terms of their real and imaginary parts."""

from __future__ import annotations

import math
from typing import cast

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import (
    Operand,
    divided,
    imaginary,
    multiplied,
    multiply,
    pairs_of,
    parts_of,
    quotient,
    reciprocal,
    truth,
)
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.namespace import aten


def absolute(x: Parts, /) -> SSAValue:
    """Returns the absolute values."""
    if x.imaginary is None:
        return aten.abs(x.real)
    a, b = aten.abs(x.real), aten.abs(x.imaginary)
    # The larger part is factored out, so that its square does not overflow; nothing can be divided by 0 and infinity.
    large, small = aten.maximum(a, b), aten.minimum(a, b)
    ratio = aten.div.Tensor(small, large)
    found = aten.mul.Tensor(large, aten.sqrt(aten.add.Scalar(aten.mul.Tensor(ratio, ratio), 1.0)))
    return aten.where.self(aten.logical_or(aten.eq.Scalar(large, 0.0), aten.eq.Scalar(large, math.inf)), large, found)


def angle(x: Parts, /) -> SSAValue:
    """Returns the angles."""
    return aten.atan2(imaginary(x), x.real)


def sign(x: Parts, /) -> Parts:
    """Returns the numbers of absolute value 1 with the same angles, and 0 of 0."""
    size = absolute(x)
    size = aten.add.Tensor(size, aten._to_copy(aten.eq.Scalar(size, 0), element_of(size)))
    return parts_of(divided(x.real, size), divided(x.imaginary, size))


def exponential(x: Parts, /) -> Parts:
    """Returns the exponentials."""
    size, angle = aten.exp(x.real), imaginary(x)
    return Parts(aten.mul.Tensor(size, aten.cos(angle)), aten.mul.Tensor(size, aten.sin(angle)))


def logarithm(x: Parts, /) -> Parts:
    """Returns the logarithms, with angles in (-pi, pi]."""
    return Parts(aten.log(absolute(x)), angle(x))


def logarithm_to(base: float, x: Parts, /) -> Parts:
    """Returns the logarithms to a base."""
    found = logarithm(x)
    return parts_of(multiplied(found.real, 1 / math.log(base)), multiplied(found.imaginary, 1 / math.log(base)))


def square_root(x: Parts, /) -> Parts:
    """Returns the roots whose real parts are not negative."""
    a, b = x.real, imaginary(x)
    large = aten.sqrt(aten.mul.Scalar(aten.add.Tensor(absolute(Parts(a, b)), aten.abs(a)), 0.5))
    divisor = aten.add.Tensor(large, aten._to_copy(aten.eq.Scalar(large, 0), element_of(large)))
    small = aten.div.Tensor(aten.mul.Scalar(b, 0.5), divisor)
    positive = aten.ge.Scalar(a, 0)
    signed = aten.where.self(aten.lt.Scalar(b, 0), aten.neg(large), large)
    return Parts(aten.where.self(positive, large, aten.abs(small)), aten.where.self(positive, small, signed))


def reciprocal_root(x: Parts, /) -> Parts:
    """Returns 1 divided by the roots."""
    return reciprocal(square_root(x))


def hyperbolic_sine(x: Parts, /) -> Parts:
    """Returns the hyperbolic sines."""
    a, b = x.real, imaginary(x)
    return Parts(aten.mul.Tensor(aten.sinh(a), aten.cos(b)), aten.mul.Tensor(aten.cosh(a), aten.sin(b)))


def hyperbolic_cosine(x: Parts, /) -> Parts:
    """Returns the hyperbolic cosines."""
    a, b = x.real, imaginary(x)
    return Parts(aten.mul.Tensor(aten.cosh(a), aten.cos(b)), aten.mul.Tensor(aten.sinh(a), aten.sin(b)))


def hyperbolic_tangent(x: Parts, /) -> Parts:
    """Returns the hyperbolic tangents."""
    a, b = aten.tanh(x.real), aten.tan(imaginary(x))
    return parts_of(*quotient((a, b), (aten.full(shape_of(a), 1.0, element_of(a)), aten.mul.Tensor(a, b))))


def _turned(x: Parts) -> Parts:
    """Returns the numbers times i."""
    return Parts(aten.neg(imaginary(x)), x.real)


def sine(x: Parts, /) -> Parts:
    """Returns the sines."""
    found = hyperbolic_sine(_turned(x))
    return Parts(imaginary(found), aten.neg(found.real))


def cosine(x: Parts, /) -> Parts:
    """Returns the cosines."""
    return hyperbolic_cosine(_turned(x))


def tangent(x: Parts, /) -> Parts:
    """Returns the tangents."""
    found = hyperbolic_tangent(_turned(x))
    return Parts(imaginary(found), aten.neg(found.real))


def logistic(x: Parts, /) -> Parts:
    """Returns 1 / (1 + exp(-x))."""
    found = exponential(Parts(aten.neg(x.real), aten.neg(imaginary(x))))
    return reciprocal(Parts(aten.add.Scalar(found.real, 1.0), found.imaginary))


def power(a: Operand, b: Operand, /) -> Parts:
    """Returns a to the power of b; 0 to the power of 0 is 1."""
    if isinstance(a, Parts) and b == 2:
        return multiply(a, a)
    if isinstance(a, Parts) and b in (1, -1, 0.5):
        return a if b == 1 else reciprocal(a) if b == -1 else square_root(a)
    base, exponent = (parts_of(*pair) if isinstance(pair[0], SSAValue) else pair for pair in pairs_of(a, b))
    if isinstance(base, Parts):
        found = exponential(multiply(logarithm(base), exponent if isinstance(exponent, Parts) else cast(float, exponent[0])))
        nothing = aten.logical_not(truth(base))
    else:
        assert isinstance(exponent, Parts)
        number = float(cast(float, base[0]))
        found = exponential(multiply(exponent, Parts(*_constant(math.log(abs(number) or 1), math.pi if number < 0 else 0, exponent))))
        nothing = aten.full((), number == 0, i1)
    ones = aten.logical_not(truth(exponent)) if isinstance(exponent, Parts) else aten.full((), exponent[0] == 0, i1)
    element = element_of(found.real)
    real = aten.where.self(nothing, aten._to_copy(ones, element), found.real)
    return Parts(real, aten.where.self(nothing, aten.full((), 0.0, element), imaginary(found)))


def _constant(real: float, imaginary: float, like: Parts) -> tuple[SSAValue, SSAValue]:
    element = element_of(like.real)
    return aten.full((), real, element), aten.full((), imaginary, element)
