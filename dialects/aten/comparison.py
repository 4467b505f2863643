"""Comparisons, limits and selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.numerics import cast_operands, cast_to, element_of_array, operand_kind, widened
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, promote_operands, shape_of, tensor, ui8
from flambeau.dialects.schema.families import BinaryOp, CompareOp, UnaryPredicateOp, operand_shape, promote_values
from flambeau.dialects.schema.row import SchemaOp, aten
from flambeau.support.lazy import Array, np


def compared(function: Callable[..., Any], a: Any, b: Any) -> Array:
    """A comparison in the operands' common type."""
    return np.asarray(function(*cast_operands(a, b)))


@aten("eq.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class EqTensorOp(CompareOp):
    """a == b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.equal, a, b)


@aten("eq.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class EqScalarOp(CompareOp):
    """a == b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.equal, a, b)


@aten("ne.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class NeTensorOp(CompareOp):
    """a != b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.not_equal, a, b)


@aten("ne.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class NeScalarOp(CompareOp):
    """a != b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.not_equal, a, b)


@aten("lt.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class LtTensorOp(CompareOp):
    """a < b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.less, a, b)


@aten("lt.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class LtScalarOp(CompareOp):
    """a < b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.less, a, b)


@aten("le.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class LeTensorOp(CompareOp):
    """a <= b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.less_equal, a, b)


@aten("le.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class LeScalarOp(CompareOp):
    """a <= b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.less_equal, a, b)


@aten("gt.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class GtTensorOp(CompareOp):
    """a > b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.greater, a, b)


@aten("gt.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class GtScalarOp(CompareOp):
    """a > b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.greater, a, b)


@aten("ge.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class GeTensorOp(CompareOp):
    """a >= b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return compared(np.greater_equal, a, b)


@aten("ge.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
class GeScalarOp(CompareOp):
    """a >= b for a number b."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return compared(np.greater_equal, a, b)


@aten("isnan(Tensor self) -> Tensor", core=True)
class IsnanOp(UnaryPredicateOp):
    """x is not a number."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.asarray(x != x)


@aten("isinf(Tensor self) -> Tensor", core=True)
class IsinfOp(UnaryPredicateOp):
    """x is infinite, of either sign."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.isinf(widened(x))


@aten("isfinite(Tensor self) -> Tensor")
class IsfiniteOp(UnaryPredicateOp):
    """x is neither infinite nor NaN."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.isfinite(widened(x))

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        from flambeau.dialects.aten.logic import LogicalNotOp, LogicalOrOp

        return LogicalNotOp(LogicalOrOp(IsnanOp(x), IsinfOp(x))).result


@aten("isposinf(Tensor self) -> Tensor")
class IsposinfOp(UnaryPredicateOp):
    """x is +inf."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.isinf(widened(x)) & (x > 0)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return EqScalarOp(x, float("inf")).result


@aten("isneginf(Tensor self) -> Tensor")
class IsneginfOp(UnaryPredicateOp):
    """x is -inf."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.isinf(widened(x)) & (x < 0)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return EqScalarOp(x, float("-inf")).result


@aten("maximum(Tensor self, Tensor other) -> Tensor", core=True)
class MaximumOp(BinaryOp):
    """The larger of a and b; NaN when one is NaN."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return np.maximum(*cast_operands(a, b))


@aten("minimum(Tensor self, Tensor other) -> Tensor", core=True)
class MinimumOp(BinaryOp):
    """The smaller of a and b; NaN when one is NaN."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return np.minimum(*cast_operands(a, b))


@aten("max.other(Tensor self, Tensor other) -> Tensor")
class MaxOtherOp(BinaryOp):
    """As `maximum`."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return MaximumOp.numpy(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return MaximumOp(a, b).result


@aten("min.other(Tensor self, Tensor other) -> Tensor")
class MinOtherOp(BinaryOp):
    """As `minimum`."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return MinimumOp.numpy(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return MinimumOp(a, b).result


@aten("fmax(Tensor self, Tensor other) -> Tensor")
class FmaxOp(BinaryOp):
    """The larger of a and b; the other one when one is NaN."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return np.fmax(*cast_operands(a, b))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return WhereSelfOp(IsnanOp(a), b, WhereSelfOp(IsnanOp(b), a, MaximumOp(a, b))).result


@aten("fmin(Tensor self, Tensor other) -> Tensor")
class FminOp(BinaryOp):
    """The smaller of a and b; the other one when one is NaN."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return np.fmin(*cast_operands(a, b))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return WhereSelfOp(IsnanOp(a), b, WhereSelfOp(IsnanOp(b), a, MinimumOp(a, b))).result


class ClampingOp(SchemaOp):
    """Elementwise, one tensor and a lower and an upper limit of which one may be absent."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, low: Any = None, high: Any = None, *_: Any) -> Tensor:
        limits = [limit for limit in (low, high) if limit is not None]
        if not limits:
            raise ValueError("one of min and max must be given")
        return tensor(promote_operands(x, *limits), broadcast(*map(operand_shape, (x, *limits))))


def clamped(x: Array, low: Any, high: Any) -> Array:
    """Gives x limited from below, then from above, in the common type."""
    limits = [limit for limit in (low, high) if limit is not None]
    element = promote_operands(*map(operand_kind, (x, *limits)))
    result = cast_to(x, element)
    if low is not None:
        result = np.maximum(result, cast_to(low, element))
    return result if high is None else np.minimum(result, cast_to(high, element))


@aten("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", core=True)
class ClampOp(ClampingOp):
    """x limited to [min, max] given as numbers; max wins where they cross, NaN stays NaN."""

    @staticmethod
    def numpy(x: Array, low: float | None, high: float | None) -> Array:
        return clamped(x, low, high)


@aten("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", core=True)
class ClampTensorOp(ClampingOp):
    """x limited to [min, max]; max wins where they cross, NaN stays NaN."""

    @staticmethod
    def numpy(x: Array, low: Array | None, high: Array | None) -> Array:
        return clamped(x, low, high)


@aten("clamp_min(Tensor self, Scalar min) -> Tensor")
class ClampMinOp(BinaryOp):
    """x limited from below by a number."""

    @staticmethod
    def numpy(x: Array, low: float) -> Array:
        return clamped(x, low, None)

    @staticmethod
    def decompose(x: SSAValue, low: float) -> SSAValue:
        return ClampOp(x, low, None).result


@aten("clamp_max(Tensor self, Scalar max) -> Tensor")
class ClampMaxOp(BinaryOp):
    """x limited from above by a number."""

    @staticmethod
    def numpy(x: Array, high: float) -> Array:
        return clamped(x, None, high)

    @staticmethod
    def decompose(x: SSAValue, high: float) -> SSAValue:
        return ClampOp(x, None, high).result


@aten("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor")
class ClampMinTensorOp(BinaryOp):
    """x limited from below."""

    @staticmethod
    def numpy(x: Array, low: Array) -> Array:
        return clamped(x, low, None)

    @staticmethod
    def decompose(x: SSAValue, low: SSAValue) -> SSAValue:
        return MaximumOp(x, low).result


@aten("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor")
class ClampMaxTensorOp(BinaryOp):
    """x limited from above."""

    @staticmethod
    def numpy(x: Array, high: Array) -> Array:
        return clamped(x, None, high)

    @staticmethod
    def decompose(x: SSAValue, high: SSAValue) -> SSAValue:
        return MinimumOp(x, high).result


class SelectingOp(SchemaOp):
    """Elementwise choice between two operands, each a tensor or a number, by a bool (or ui8) tensor; broadcast and promoted."""

    @staticmethod
    def infer(condition: Tensor, a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        if element_of(condition) not in (i1, ui8):
            raise TypeError(f"the condition must be a bool tensor, got {element_of(condition)}")
        return tensor(promote_operands(a, b), broadcast(shape_of(condition), operand_shape(a), operand_shape(b)))


def selected(condition: Array, a: Any, b: Any) -> Array:
    """Gives a where the condition holds, b elsewhere, in their common type."""
    left, right = cast_operands(a, b)
    return np.where(condition.astype(bool), left, right)


def as_operand(x: SSAValue | float, element: Any) -> SSAValue:
    """A tensor or a number as a tensor of an element type."""
    from flambeau.dialects.aten.creation import number_for, to_element

    return to_element(x, element) if isinstance(x, SSAValue) else number_for(x, element)


@aten("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", core=True)
class WhereSelfOp(SelectingOp):
    """a where the condition holds, b elsewhere."""

    inplace = (1, 2)

    @staticmethod
    def numpy(condition: Array, a: Array, b: Array) -> Array:
        return selected(condition, a, b)


@aten("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor")
class WhereScalarOtherOp(SelectingOp):
    """a where the condition holds, the number b elsewhere."""

    inplace = (1,)

    @staticmethod
    def numpy(condition: Array, a: Array, b: float) -> Array:
        return selected(condition, a, b)

    @staticmethod
    def decompose(condition: SSAValue, a: SSAValue, b: float) -> SSAValue:
        element = promote_values(a, b)
        return WhereSelfOp(condition, as_operand(a, element), as_operand(b, element)).result


@aten("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor")
class WhereScalarSelfOp(SelectingOp):
    """The number a where the condition holds, b elsewhere."""

    inplace = (1,)

    @staticmethod
    def numpy(condition: Array, a: float, b: Array) -> Array:
        return selected(condition, a, b)

    @staticmethod
    def decompose(condition: SSAValue, a: float, b: SSAValue) -> SSAValue:
        element = promote_values(a, b)
        return WhereSelfOp(condition, as_operand(a, element), as_operand(b, element)).result


@aten("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor")
class WhereScalarOp(SelectingOp):
    """The number a where the condition holds, the number b elsewhere."""

    @staticmethod
    def numpy(condition: Array, a: float, b: float) -> Array:
        return selected(condition, a, b)

    @staticmethod
    def decompose(condition: SSAValue, a: float, b: float) -> SSAValue:
        element = promote_values(a, b)
        return WhereSelfOp(condition, as_operand(a, element), as_operand(b, element)).result


class MaskingOp(SchemaOp):
    """Elementwise replacement where a bool mask holds; the type stays that of the tensor."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, mask: Tensor, value: Tensor | float, *_: Any) -> Tensor:
        if element_of(mask) != i1:
            raise TypeError(f"the mask must be a bool tensor, got {element_of(mask)}")
        if operand_shape(value):
            raise ValueError(f"the value must be one number, got shape {list(operand_shape(value))}")
        return tensor(element_of(x), broadcast(shape_of(x), shape_of(mask)))


@aten("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", keep=True)
class MaskedFillScalarOp(MaskingOp):
    """A number where the mask holds, x elsewhere."""

    @staticmethod
    def numpy(x: Array, mask: Array, value: float) -> Array:
        return np.where(mask, cast_to(value, element_of_array(x)), x)

    @staticmethod
    def decompose(x: SSAValue, mask: SSAValue, value: float) -> SSAValue:
        return WhereSelfOp(mask, as_operand(value, element_of(x)), x).result


@aten("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor")
class MaskedFillTensorOp(MaskingOp):
    """A 0-d tensor's number where the mask holds, x elsewhere."""

    @staticmethod
    def numpy(x: Array, mask: Array, value: Array) -> Array:
        return np.where(mask, cast_to(value, element_of_array(x)), x)

    @staticmethod
    def decompose(x: SSAValue, mask: SSAValue, value: SSAValue) -> SSAValue:
        return WhereSelfOp(mask, as_operand(value, element_of(x)), x).result


class MembershipOp(SchemaOp):
    """Whether each element is among others; with `invert` whether it is not."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        return UnaryPredicateOp.infer(x)


@aten("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor")
class IsinTensorTensorOp(MembershipOp):
    """Whether each element is among those of another tensor."""

    @staticmethod
    def numpy(x: Array, others: Array, assume_unique: bool, invert: bool) -> Array:
        left, right = cast_operands(x, others)
        return np.isin(left, right, invert=invert)

    @staticmethod
    def decompose(x: SSAValue, others: SSAValue, assume_unique: bool, invert: bool) -> SSAValue:
        from flambeau.dialects.aten.logic import LogicalNotOp
        from flambeau.dialects.aten.reduction import AnyDimOp
        from flambeau.dialects.aten.view import UnsqueezeOp, ViewOp

        found = AnyDimOp(EqTensorOp(UnsqueezeOp(x, -1), ViewOp(others, [-1])), -1)
        return LogicalNotOp(found).result if invert else found.result


@aten("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor")
class IsinTensorScalarOp(MembershipOp):
    """Whether each element is a number."""

    @staticmethod
    def numpy(x: Array, other: float, assume_unique: bool, invert: bool) -> Array:
        return compared(np.not_equal if invert else np.equal, x, other)

    @staticmethod
    def decompose(x: SSAValue, other: float, assume_unique: bool, invert: bool) -> SSAValue:
        return (NeScalarOp if invert else EqScalarOp)(x, other).result
