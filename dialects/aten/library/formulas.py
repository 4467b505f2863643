"""Functions that are computed in float64 by a formula, written once: numpy computes it, and a decomposition builds it.

A formula is written in numpy's functions. Given arrays, it is the meaning of a row; given `Traced` values, each function of numpy that it
calls becomes an operation, so it is the row's decomposition too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import float_operands, to_float
from flambeau.dialects.aten.library.operands import as_operand, number_for, to_element
from flambeau.dialects.ir.tensor_types import Tensor, element_of
from flambeau.dialects.schema.families import REALS, FloatBinaryOp, FloatUnaryOp, float_element, promote_values, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np

functions: Any = np
"""numpy as formulas call it: of arrays, and of `Traced` values, which its types do not know."""

_UNARY = {
    "negative": "neg",
    "absolute": "abs",
    "rint": "round",
    "arccos": "acos",
    **{
        name: name
        for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "floor", "trunc", "isnan", "isinf", "logical_not")
    },
}
_BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}
"""Functions of numpy and operators of ATen with the overloads `Tensor` and `Scalar`."""
_SWAPPED = {"add": "add", "mul": "mul", "eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Traced:
    """A tensor of a program that stands in for an array in a formula; its elements are float64 or bool."""

    def __init__(self, value: SSAValue):
        self.value = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Traced:
        name: str = ufunc.__name__
        values: list[Any] = [item.value if isinstance(item, Traced) else float(item) for item in inputs]
        if name in _UNARY:
            return Traced(getattr(aten, _UNARY[name])(*values))
        if name.startswith("logical_"):
            return Traced(getattr(aten, name)(*values))
        a, b = values
        name = {"true_divide": "divide"}.get(name, name)
        operator = getattr(aten, _BINARY[name])
        if isinstance(a, SSAValue):
            whole = operator.Tensor if name != "power" else operator.Tensor_Tensor
            number = operator.Scalar if name != "power" else operator.Tensor_Scalar
            return Traced((whole if isinstance(b, SSAValue) else number)(a, b))
        if _BINARY[name] in _SWAPPED:
            return Traced(getattr(aten, _SWAPPED[_BINARY[name]]).Scalar(b, a))
        return Traced(aten.pow.Scalar(a, b) if name == "power" else operator.Tensor(number_for(a, f64), b))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        if function.__name__ == "stack":
            return Traced(aten.stack([item.value for item in args[0]]))
        assert function.__name__ == "where", function.__name__
        condition, yes, no = args
        yes, no = (as_operand(item.value if isinstance(item, Traced) else float(item), f64) for item in (yes, no))
        return Traced(aten.where.self(condition.value, yes, no))

    def __getitem__(self, place: int) -> Traced:
        return Traced(aten.select.int(self.value, 0, place))

    def __neg__(self) -> Any:
        return functions.negative(self)

    def __abs__(self) -> Any:
        return functions.absolute(self)

    def __invert__(self) -> Any:
        return functions.logical_not(self)

    def __add__(self, other: Any) -> Any:
        return functions.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return functions.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return functions.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return functions.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return functions.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return functions.multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return functions.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return functions.divide(other, self)

    def __lt__(self, other: Any) -> Any:
        return functions.less(self, other)

    def __le__(self, other: Any) -> Any:
        return functions.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return functions.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return functions.greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return functions.equal(self, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  elements are compared, not the tensor

    def __and__(self, other: Any) -> Any:
        return functions.logical_and(self, other)

    def __or__(self, other: Any) -> Any:
        return functions.logical_or(self, other)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Returns the value of a polynomial, whose first coefficient is that of the highest power."""
    first, *rest = coefficients
    total: Any = first
    for coefficient in rest:
        total = (x if total is first and first == 1.0 else total * x) + coefficient
    return total


def chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Returns the value of a Chebyshev series for x in [-2, 2], whose first coefficient is that of the highest term."""
    before: Any = 0.0
    last, current = before, coefficients[0]
    for coefficient in coefficients[1:]:
        before, last = last, current
        current = (x * last if isinstance(before, float) and before == 0.0 else x * last - before) + coefficient
    return (current - before) * 0.5


def evaluated(formula: Callable[..., Any], *operands: Any) -> Array:
    """Returns a formula of arrays that have the result's type."""
    with np.errstate(all="ignore"):
        return np.asarray(formula(*(np.asarray(operand).astype(np.float64) for operand in operands))).astype(operands[0].dtype)


def built(formula: Callable[..., Any], element: Any, *operands: SSAValue | float) -> SSAValue:
    """Returns a formula of tensors and numbers, whose result has an element type, in operations."""
    values = [to_element(as_operand(operand, element), f64) for operand in operands]
    return to_element(formula(*map(Traced, values)).value, element)


class FormulaOp(FloatUnaryOp):
    """A function of one tensor that a formula computes."""

    takes = REALS

    @staticmethod
    def formula(x: Any) -> Any:
        """Returns the function, in numpy's functions."""
        raise NotImplementedError

    @classmethod
    def numpy(cls, x: Array, /) -> Array:
        return evaluated(cls.formula, to_float(x))

    @classmethod
    def decompose(cls, x: SSAValue, /) -> SSAValue:
        return built(cls.formula, float_element(element_of(x)), x)


class FormulaBinaryOp(FloatBinaryOp):
    """A function of two operands that a formula computes."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("this operator", a, b, at_most=2)
        return FloatBinaryOp.infer(a, b)

    @staticmethod
    def formula(a: Any, b: Any) -> Any:
        """Returns the function, in numpy's functions."""
        raise NotImplementedError

    @classmethod
    def numpy(cls, a: Array | float, b: Array | float, /) -> Array:
        return evaluated(cls.formula, *float_operands(a, b))

    @classmethod
    def decompose(cls, a: SSAValue | float, b: SSAValue | float, /) -> SSAValue:
        return built(cls.formula, float_element(promote_values(a, b)), a, b)
