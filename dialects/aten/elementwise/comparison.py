"""Comparisons and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import Operand, imaginary, pairs_of, unequal
from flambeau.dialects.aten.library.numerics import cast_operands, cast_to, operand_kind, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, promote_operands, shape_of, tensor
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import NUMBERS, BinaryOp, CompareOp, UnaryPredicateOp, float_element, operand_shape, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def compared(function: Callable[..., Any], a: Any, b: Any) -> Array:
    """Returns a comparison in the operands' common type."""
    return np.asarray(function(*cast_operands(a, b)))


@aten("eq.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("eq.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class EqTensorOp(CompareOp):
    """a == b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.equal, a, b)

    @staticmethod
    def on_parts(a: Operand, b: Operand, /) -> SSAValue:
        return aten.logical_not(NeTensorOp.on_parts(a, b))


@aten("ne.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("ne.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class NeTensorOp(CompareOp):
    """a != b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.not_equal, a, b)

    @staticmethod
    def on_parts(a: Operand, b: Operand, /) -> SSAValue:
        found = [part for part in map(unequal, *pairs_of(a, b)) if part is not None]
        return aten.logical_or(*found) if len(found) == 2 else found[0]


@aten("lt.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("lt.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class LtTensorOp(CompareOp):
    """a < b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.less, a, b)


@aten("le.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("le.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class LeTensorOp(CompareOp):
    """a <= b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.less_equal, a, b)


@aten("gt.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("gt.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class GtTensorOp(CompareOp):
    """a > b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.greater, a, b)


@aten("ge.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("ge.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class GeTensorOp(CompareOp):
    """a >= b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return compared(np.greater_equal, a, b)


class EitherPartOp(UnaryPredicateOp):
    """A UnaryPredicateOp that is true for a complex number if it is true for the real or the imaginary part."""

    @classmethod
    def on_parts(cls, x: Parts, /) -> SSAValue:
        return aten.logical_or(cls(x.real).result, cls(imaginary(x)).result)


@aten("isnan(Tensor self) -> Tensor", core=True)
class IsnanOp(EitherPartOp):
    """x is not a number."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.asarray(x != x)


@aten("isinf(Tensor self) -> Tensor", core=True)
class IsinfOp(EitherPartOp):
    """x is infinite, of either sign."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isinf(widened(x))


@aten("isfinite(Tensor self) -> Tensor")
class IsfiniteOp(UnaryPredicateOp):
    """x is neither infinite nor NaN."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isfinite(widened(x))

    @staticmethod
    def on_parts(x: Parts, /) -> SSAValue:
        return aten.logical_and(aten.isfinite(x.real), aten.isfinite(imaginary(x)))

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.logical_not(aten.logical_or(aten.isnan(x), aten.isinf(x)))


@aten("isposinf(Tensor self) -> Tensor")
class IsposinfOp(UnaryPredicateOp):
    """x is +inf."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isinf(widened(x)) & (x > 0)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.eq.Scalar(x, float("inf"))


@aten("isneginf(Tensor self) -> Tensor")
class IsneginfOp(UnaryPredicateOp):
    """x is -inf."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isinf(widened(x)) & (x < 0)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.eq.Scalar(x, float("-inf"))


@aten("maximum(Tensor self, Tensor other) -> Tensor", core=True)
class MaximumOp(BinaryOp):
    """The larger of a and b; NaN if a or b is NaN."""

    bounds = staticmethod(value_ranges.larger)

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.maximum(*cast_operands(a, b))


@aten("minimum(Tensor self, Tensor other) -> Tensor", core=True)
class MinimumOp(BinaryOp):
    """The smaller of a and b; NaN if a or b is NaN."""

    bounds = staticmethod(value_ranges.smaller)

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.minimum(*cast_operands(a, b))


@aten("fmax(Tensor self, Tensor other) -> Tensor")
class FmaxOp(BinaryOp):
    """The larger of a and b; if only one of them is NaN, the other operand."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.fmax(*cast_operands(a, b))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.where.self(aten.isnan(a), b, aten.where.self(aten.isnan(b), a, aten.maximum(a, b)))


@aten("fmin(Tensor self, Tensor other) -> Tensor")
class FminOp(BinaryOp):
    """The smaller of a and b; if only one of them is NaN, the other operand."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.fmin(*cast_operands(a, b))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.where.self(aten.isnan(a), b, aten.where.self(aten.isnan(b), a, aten.minimum(a, b)))


@aten("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", core=True)
@aten("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", core=True)
class ClampOp(SchemaOp):
    """x limited to [min, max]; either bound may be absent. The result is max if min > max, and NaN for NaN."""

    limits = True
    bounds = staticmethod(value_ranges.limited)
    activations = (("relu6", 0, 6),)
    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, low: Any = None, high: Any = None, /) -> Tensor:
        limits = [limit for limit in (low, high) if limit is not None]
        if not limits:
            raise ValueError("one of min and max must be given")
        if len(limits) == 2:
            require_category("clamp", x, *limits, at_least=1)
        return tensor(promote_operands(x, *limits), broadcast(*map(operand_shape, (x, *limits))))

    @staticmethod
    def numpy(x: Array, low: Any, high: Any, /) -> Array:
        limits = [limit for limit in (low, high) if limit is not None]
        element = promote_operands(*map(operand_kind, (x, *limits)))
        result = cast_to(x, element)
        if low is not None:
            result = np.maximum(result, cast_to(low, element))
        return result if high is None else np.minimum(result, cast_to(high, element))


@aten("clamp_min(Tensor self, Scalar min) -> Tensor")
class ClampMinOp(BinaryOp):
    """x limited from below by a number."""

    @staticmethod
    def numpy(x: Array, low: float, /) -> Array:
        return ClampOp.numpy(x, low, None)

    @staticmethod
    def decompose(x: SSAValue, low: float, /) -> SSAValue:
        return aten.clamp(x, low, None)


@aten("clamp_max(Tensor self, Scalar max) -> Tensor")
class ClampMaxOp(BinaryOp):
    """x limited from above by a number."""

    @staticmethod
    def numpy(x: Array, high: float, /) -> Array:
        return ClampOp.numpy(x, None, high)

    @staticmethod
    def decompose(x: SSAValue, high: float, /) -> SSAValue:
        return aten.clamp(x, None, high)


@aten("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor")
class ClampMinTensorOp(BinaryOp):
    """x limited from below."""

    @staticmethod
    def numpy(x: Array, low: Array, /) -> Array:
        return ClampOp.numpy(x, low, None)

    @staticmethod
    def decompose(x: SSAValue, low: SSAValue, /) -> SSAValue:
        return aten.maximum(x, low)


@aten("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor")
class ClampMaxTensorOp(BinaryOp):
    """x limited from above."""

    @staticmethod
    def numpy(x: Array, high: Array, /) -> Array:
        return ClampOp.numpy(x, None, high)

    @staticmethod
    def decompose(x: SSAValue, high: SSAValue, /) -> SSAValue:
        return aten.minimum(x, high)


@aten("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor")
class IsinTensorTensorOp(SchemaOp):
    """Whether each element of `elements` is equal to some element of `test_elements`, as bool."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, others: Tensor, /) -> Tensor:
        require_category("isin", others, at_least=1)
        return UnaryPredicateOp.infer(x)

    @staticmethod
    def numpy(x: Array, others: Array, /, invert: bool) -> Array:
        left, right = cast_operands(x, others)
        return np.isin(left, right, invert=invert)

    @staticmethod
    def decompose(x: SSAValue, others: SSAValue, /, invert: bool) -> SSAValue:
        found = aten.any.dim(aten.eq.Tensor(aten.unsqueeze(x, -1), aten.view(others, [-1])), -1)
        return aten.logical_not(found) if invert else found


@aten("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor")
class IsinTensorScalarOp(SchemaOp):
    """Whether each element is a number."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, other: float, /) -> Tensor:
        require_category("isin", other, at_least=1)
        return UnaryPredicateOp.infer(x)

    @staticmethod
    def numpy(x: Array, other: float, /, invert: bool) -> Array:
        return compared(np.not_equal if invert else np.equal, x, other)

    @staticmethod
    def decompose(x: SSAValue, other: float, /, invert: bool) -> SSAValue:
        return (aten.ne.Scalar if invert else aten.eq.Scalar)(x, other)


@aten("isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")
class IscloseOp(BinaryOp):
    """Whether |a - b| <= atol + rtol * |b|, or both are equal, or (if `equal_nan`) both are NaN; of two tensors of one type."""

    inplace = ()

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        if isinstance(a, float | int) or isinstance(b, float | int) or element_of(a) != element_of(b):
            raise TypeError("both operands must be tensors of one type")
        return UnaryPredicateOp.infer(tensor(element_of(a), broadcast(shape_of(a), shape_of(b))))

    @staticmethod
    def numpy(a: Array, b: Array, /, rtol: float, atol: float, equal_nan: bool) -> Array:
        first, second = (x if x.dtype.kind == "f" else x.astype(np.float32) for x in (widened(a), widened(b)))
        distance = np.abs(first - second)
        close = (distance <= atol + rtol * np.abs(second)) & np.isfinite(distance)
        return (a == b) | close | (equal_nan & np.isnan(first) & np.isnan(second))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, rtol: float, atol: float, equal_nan: bool) -> SSAValue:
        element = float_element(element_of(a))
        first, second = to_element(a, element), to_element(b, element)
        distance = aten.abs(aten.sub.Tensor(first, second))
        bound = aten.add.Scalar(aten.mul.Scalar(aten.abs(second), rtol), atol)
        finite = aten.logical_not(aten.logical_or(aten.isinf(distance), aten.isnan(distance)))
        result = aten.logical_or(aten.eq.Tensor(a, b), aten.logical_and(aten.le.Tensor(distance, bound), finite))
        return aten.logical_or(result, aten.logical_and(aten.isnan(first), aten.isnan(second))) if equal_nan else result
