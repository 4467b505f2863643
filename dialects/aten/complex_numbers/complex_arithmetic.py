"""Arithmetic of complex tensors in terms of their real and imaginary parts."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import ElementType, complex_of, element_of, part_of, promote_operands, shape_of, tensor, tensor_type
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.namespace import aten

Operand: TypeAlias = "Parts | SSAValue | bool | int | float"
Number: TypeAlias = "SSAValue | float | None"
"""Real numbers: a tensor, or one for all; None is 0."""
Pair: TypeAlias = "tuple[Number, Number]"
"""Real and imaginary parts."""


def pairs_of(*operands: Operand) -> tuple[Pair, ...]:
    """Operands in the type to which they promote."""
    kinds = [
        tensor(complex_of(element_of(x.real)), shape_of(x.real))
        if isinstance(x, Parts)
        else tensor_type(x)
        if isinstance(x, SSAValue)
        else x
        for x in operands
    ]
    element = part_of(promote_operands(*kinds))
    return tuple(_pair(operand, element) for operand in operands)


def _pair(x: Operand, element: ElementType) -> Pair:
    if isinstance(x, Parts):
        return to_element(x.real, element), None if x.imaginary is None else to_element(x.imaginary, element)
    return to_element(x, element) if isinstance(x, SSAValue) else float(x), None


def parts_of(real: Number, imaginary: Number) -> Parts:
    """Numbers of which at least one is a tensor."""
    known = real if isinstance(real, SSAValue) else imaginary
    assert isinstance(known, SSAValue)

    def whole(x: Number) -> SSAValue:
        return x if isinstance(x, SSAValue) else aten.full((), x or 0.0, element_of(known))

    return Parts(whole(real), None if imaginary is None else whole(imaginary))


def added(a: Number, b: Number) -> Number:
    """Gives a + b."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, SSAValue):
        return aten.add.Tensor(a, b) if isinstance(b, SSAValue) else aten.add.Scalar(a, b)
    return aten.add.Scalar(b, a) if isinstance(b, SSAValue) else a + b


def negated(a: Number) -> Number:
    """Gives -a."""
    return None if a is None else aten.neg(a) if isinstance(a, SSAValue) else -a


def subtracted(a: Number, b: Number) -> Number:
    """Gives a - b."""
    if isinstance(a, SSAValue) and isinstance(b, SSAValue):
        return aten.sub.Tensor(a, b)
    return added(a, negated(b))


def multiplied(a: Number, b: Number) -> Number:
    """Gives a * b."""
    if a is None or b is None:
        return None
    if isinstance(a, SSAValue):
        return aten.mul.Tensor(a, b) if isinstance(b, SSAValue) else aten.mul.Scalar(a, b)
    return aten.mul.Scalar(b, a) if isinstance(b, SSAValue) else a * b


def unequal(a: Number, b: Number) -> SSAValue | None:
    """Returns whether a and b differ, of which one is a tensor; None where neither is."""
    if not isinstance(a, SSAValue):
        return unequal(b, a) if isinstance(b, SSAValue) else None
    return aten.ne.Tensor(a, b) if isinstance(b, SSAValue) else aten.ne.Scalar(a, b or 0.0)


def divided(a: Number, b: Number) -> Number:
    """Gives a / b."""
    assert b is not None
    if a is None:
        return None
    if isinstance(a, SSAValue):
        return aten.div.Tensor(a, b) if isinstance(b, SSAValue) else aten.div.Scalar(a, b)
    return multiplied(aten.reciprocal(b), a) if isinstance(b, SSAValue) else a / b


def product(a: Pair, b: Pair) -> Pair:
    """Returns the product of two complex numbers."""
    return subtracted(multiplied(a[0], b[0]), multiplied(a[1], b[1])), added(multiplied(a[0], b[1]), multiplied(a[1], b[0]))


def quotient(a: Pair, b: Pair) -> Pair:
    """Returns the quotient of two complex numbers."""
    real, imaginary = b
    if not isinstance(imaginary, SSAValue):
        return divided(a[0], real), divided(a[1], real)
    assert isinstance(real, SSAValue)
    # The divisor is scaled, so that its square does not overflow.
    largest = aten.maximum(aten.abs(real), aten.abs(imaginary))
    c, d = aten.div.Tensor(real, largest), aten.div.Tensor(imaginary, largest)
    size = aten.add.Tensor(aten.mul.Tensor(real, c), aten.mul.Tensor(imaginary, d))
    found = product(a, (c, aten.neg(d)))
    return divided(found[0], size), divided(found[1], size)


def imaginary(x: Parts, /) -> SSAValue:
    """Returns the imaginary parts as a tensor."""
    return aten.full(shape_of(x.real), 0.0, element_of(x.real)) if x.imaginary is None else x.imaginary


def truth(x: Operand) -> SSAValue:
    """Returns whether numbers differ from 0."""
    if not isinstance(x, Parts):
        assert isinstance(x, SSAValue)
        return x if element_of(x) == i1 else aten.ne.Scalar(x, 0)
    return aten.logical_or(aten.ne.Scalar(x.real, 0), aten.ne.Scalar(imaginary(x), 0))


def add(a: Operand, b: Operand, /, alpha: float) -> Parts:
    """Gives a + alpha * b."""
    (x, y) = pairs_of(a, b)
    return parts_of(*(added(left, right if alpha == 1 else multiplied(right, alpha)) for left, right in zip(x, y, strict=True)))


def subtract(a: Operand, b: Operand, /, alpha: float) -> Parts:
    """Gives a - alpha * b."""
    (x, y) = pairs_of(a, b)
    return parts_of(*(subtracted(left, right if alpha == 1 else multiplied(right, alpha)) for left, right in zip(x, y, strict=True)))


def multiply(a: Operand, b: Operand, /) -> Parts:
    """Gives a * b."""
    return parts_of(*product(*pairs_of(a, b)))


def divide(a: Operand, b: Operand, /) -> Parts:
    """Gives a / b."""
    return parts_of(*quotient(*pairs_of(a, b)))


def reciprocal(x: Parts, /) -> Parts:
    """Gives 1 / x."""
    return divide(1.0, x)


def conjugate(x: Parts, /) -> Parts:
    """Returns the conjugates."""
    return Parts(x.real, None if x.imaginary is None else aten.neg(x.imaginary))
