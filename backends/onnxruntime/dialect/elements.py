"""Functions of each element of one or more tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from flambeau.backends.onnxruntime.dialect.operators import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    BinaryOnnxOp,
    OnnxOp,
    PredicateOnnxOp,
    UnaryOnnxOp,
    onnx,
    require_one_type,
    require_type,
)
from flambeau.dialects.aten.elementwise import arithmetic, comparison, logic, math
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.layers import activation
from flambeau.dialects.aten.library.numerics import cast_to
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived
from flambeau.dialects.schema.families import chosen_element
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

_UNARY: tuple[tuple[str, type[SchemaOp], frozenset[Attribute]], ...] = (
    ("Abs", math.AbsOp, NUMBERS),
    ("Acos", math.AcosOp, FLOATS),
    ("Acosh", math.AcoshOp, FLOATS),
    ("Asin", math.AsinOp, FLOATS),
    ("Asinh", math.AsinhOp, FLOATS),
    ("Atan", math.AtanOp, FLOATS),
    ("Atanh", math.AtanhOp, FLOATS),
    ("BitwiseNot", logic.BitwiseNotOp, INTEGERS),
    ("Ceil", math.CeilOp, FLOATS),
    ("Cos", math.CosOp, FLOATS),
    ("Cosh", math.CoshOp, FLOATS),
    ("Erf", math.ErfOp, FLOATS),
    ("Exp", math.ExpOp, FLOATS),
    ("Floor", math.FloorOp, FLOATS),
    ("HardSwish", activation.HardswishOp, FLOATS),
    ("Log", math.LogOp, FLOATS),
    ("Mish", activation.MishOp, FLOATS),
    ("Neg", math.NegOp, NUMBERS),
    ("Not", logic.LogicalNotOp, frozenset((i1,))),
    ("Reciprocal", math.ReciprocalOp, FLOATS),
    ("Relu", activation.ReluOp, FLOATS),
    ("Round", math.RoundOp, FLOATS),
    ("Sigmoid", activation.SigmoidOp, FLOATS),
    ("Sin", math.SinOp, FLOATS),
    ("Sinh", math.SinhOp, FLOATS),
    ("Sqrt", math.SqrtOp, FLOATS),
    ("Tan", math.TanOp, FLOATS),
    ("Tanh", activation.TanhOp, FLOATS),
)


def _of_one(name: str, row: type[SchemaOp], takes: frozenset[Attribute]) -> type[UnaryOnnxOp]:
    declare = onnx(f"{name}(Tensor input) -> Tensor")
    return derived(declare, f"{name}Onnx", UnaryOnnxOp, row, takes=takes, __module__=__name__)


UNARY = {row.schema.base: _of_one(name, row, takes) for name, row, takes in _UNARY}
"""The operators that compute what one of the edge level does, by its name. Converters, the table and samples follow from it."""


@onnx("Sign(Tensor input) -> Tensor")
class SignOnnxOp(UnaryOnnxOp):
    """-1, 0 or 1 with the sign of each element; NaN for NaN."""

    takes = NUMBERS

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.sign(x)


def _of_two(
    name: str, base: type[BinaryOnnxOp], row: type[SchemaOp], meaning: str, takes: frozenset[Attribute] = NUMBERS
) -> type[BinaryOnnxOp]:
    declare = onnx(f"{name}(Tensor a, Tensor b) -> Tensor")
    return derived(declare, f"{name}Onnx", base, row, takes=takes, __doc__=meaning, __module__=__name__)


ARITHMETIC: dict[str, type[BinaryOnnxOp]] = {
    "add": _of_two("Add", BinaryOnnxOp, arithmetic.AddTensorOp, "a + b."),
    "sub": _of_two("Sub", BinaryOnnxOp, arithmetic.SubTensorOp, "a - b."),
    "mul": _of_two("Mul", BinaryOnnxOp, arithmetic.MulTensorOp, "a * b."),
}
"""The operators of two tensors, by the names of the operators of tensors and of a tensor and a number."""
COMPARISONS: dict[str, type[BinaryOnnxOp]] = {
    "eq": _of_two("Equal", PredicateOnnxOp, comparison.EqTensorOp, "Whether a is b.", NUMBERS | {i1}),
    "gt": _of_two("Greater", PredicateOnnxOp, comparison.GtTensorOp, "Whether a > b."),
    "ge": _of_two("GreaterOrEqual", PredicateOnnxOp, comparison.GeTensorOp, "Whether a >= b."),
    "lt": _of_two("Less", PredicateOnnxOp, comparison.LtTensorOp, "Whether a < b."),
    "le": _of_two("LessOrEqual", PredicateOnnxOp, comparison.LeTensorOp, "Whether a <= b."),
}
"""Truths about a tensor and a tensor, or a number."""
BINARY: dict[str, type[BinaryOnnxOp]] = {
    "maximum": _of_two("Max", BinaryOnnxOp, comparison.MaximumOp, "The larger of a and b."),
    "minimum": _of_two("Min", BinaryOnnxOp, comparison.MinimumOp, "The smaller of a and b."),
}
"""The other operators that compute what one of two tensors does, by its name."""
PowOp = _of_two("Pow", BinaryOnnxOp, PowTensorTensorOp, "a to the power of b.")


@onnx("Div(Tensor a, Tensor b) -> Tensor")
class DivOp(BinaryOnnxOp):
    """a / b, of integers without the fraction."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return arithmetic.DivTensorModeOp.numpy(a, b, None if a.dtype.kind == "f" else "trunc")


@onnx("Mod(Tensor a, Tensor b, *, bool fmod=False) -> Tensor")
class ModOp(OnnxOp):
    """The rest of a / b: with the sign of b, or with that of a if `fmod`, which floats need."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, fmod: bool) -> Tensor:
        if element_of(a) in FLOATS and not fmod:
            raise TypeError("the rest of floats needs fmod")
        return BinaryOnnxOp.infer(a, b)

    @staticmethod
    def numpy(a: Array, b: Array, /, fmod: bool) -> Array:
        return np.fmod(a, b) if fmod else np.mod(a, b)


LOGIC: dict[str, type[BinaryOnnxOp]] = {
    name: _of_two(onnx_name, BinaryOnnxOp, row, meaning, frozenset((i1,)))
    for name, onnx_name, row, meaning in (
        ("and", "And", logic.LogicalAndOp, "Whether both are true."),
        ("or", "Or", logic.LogicalOrOp, "Whether one is true."),
        ("xor", "Xor", logic.LogicalXorOp, "Whether just one is true."),
    )
}
"""Operators of truths, by the names of the logical and the bitwise ones."""
BITWISE: dict[str, type[BinaryOnnxOp]] = {
    name: _of_two(onnx_name, BinaryOnnxOp, row, meaning, INTEGERS)
    for name, onnx_name, row, meaning in (
        ("and", "BitwiseAnd", logic.BitwiseAndTensorOp, "The bits that both have."),
        ("or", "BitwiseOr", logic.BitwiseOrTensorOp, "The bits that one has."),
        ("xor", "BitwiseXor", logic.BitwiseXorTensorOp, "The bits that just one has."),
    )
}
"""The same of the bits of integers."""


@onnx("Clip(Tensor input, float? min=None, float? max=None) -> Tensor")
class ClipOp(UnaryOnnxOp):
    """x, limited to the range from `min` to `max`."""

    takes = NUMBERS

    @staticmethod
    def numpy(x: Array, /, min: float | None, max: float | None) -> Array:
        return comparison.ClampOp.numpy(x, min if x.dtype.kind == "f" or min is None else int(min), _limit(x, max))


def _limit(x: Array, limit: float | None) -> float | None:
    return limit if x.dtype.kind == "f" or limit is None else int(limit)


@onnx("Elu(Tensor x, *, float alpha=1.0) -> Tensor")
class EluOp(UnaryOnnxOp):
    """x where x is above 0, alpha * (exp(x) - 1) elsewhere."""

    @staticmethod
    def numpy(x: Array, /, alpha: float) -> Array:
        return activation.EluOp.numpy(x, alpha, 1, 1)


@onnx("Gelu(Tensor x, *, str approximate='none') -> Tensor")
class GeluOp(OnnxOp):
    """x times the normal distribution function of x, computed by erf, or approximated by tanh."""

    @staticmethod
    def infer(x: Tensor, /, approximate: str) -> Tensor:
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate is none or tanh, not {approximate!r}")
        return UnaryOnnxOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, approximate: str) -> Array:
        return activation.GeluOp.numpy(x, approximate)


@onnx("HardSigmoid(Tensor x, *, float alpha=0.2, float beta=0.5) -> Tensor")
class HardSigmoidOp(UnaryOnnxOp):
    """alpha * x + beta, limited to [0, 1]."""

    @staticmethod
    def numpy(x: Array, /, alpha: float, beta: float) -> Array:
        return np.clip(x.dtype.type(alpha) * x + x.dtype.type(beta), 0, 1)


@onnx("LeakyRelu(Tensor x, *, float alpha=0.01) -> Tensor")
class LeakyReluOp(UnaryOnnxOp):
    """x where x is above 0, alpha * x elsewhere."""

    @staticmethod
    def numpy(x: Array, /, alpha: float) -> Array:
        return activation.LeakyReluOp.numpy(x, alpha)


@onnx("Softplus(Tensor x) -> Tensor")
class SoftplusOp(UnaryOnnxOp):
    """log(1 + exp(x))."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.logaddexp(x, x.dtype.type(0))


@onnx("PRelu(Tensor x, Tensor slope) -> Tensor")
class PReluOp(BinaryOnnxOp):
    """x where x is above 0, slope * x elsewhere. The slope is broadcast to the shape of x."""

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, slope: Tensor, /) -> Tensor:
        require_one_type(x, slope)
        if broadcast(shape_of(x), shape_of(slope)) != shape_of(x):
            raise ValueError(f"slope {list(shape_of(slope))} is not broadcast to {list(shape_of(x))}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, slope: Array, /) -> Array:
        return np.where(x > 0, x, x * slope)


@onnx("Where(Tensor condition, Tensor x, Tensor y) -> Tensor")
class WhereOp(OnnxOp):
    """Elements of x where the condition is true, elements of y elsewhere."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(condition: Tensor, x: Tensor, y: Tensor, /) -> Tensor:
        require_one_type(x, y)
        return tensor(element_of(x), broadcast(*map(shape_of, (condition, x, y))))

    @staticmethod
    def numpy(condition: Array, x: Array, y: Array, /) -> Array:
        return np.where(condition, x, y)


@onnx("Cast(Tensor input, *, ScalarType to) -> Tensor")
class CastOp(OnnxOp):
    """The same numbers in another element type, without their fractions where that is one of integers."""

    takes = ALL

    @staticmethod
    def infer(x: Tensor, /, to: Attribute) -> Tensor:
        element = chosen_element(to, to)
        if element not in ALL:
            raise TypeError(f"a cast is to one of {', '.join(sorted(map(str, ALL)))}, not to {element}")
        return tensor(element, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, to: Attribute) -> Array:
        return cast_to(x, chosen_element(to, to))


@onnx("IsNaN(Tensor x) -> Tensor")
class IsNaNOp(OnnxOp):
    """Whether an element is no number."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(i1, shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isnan(x)


@onnx("IsInf(Tensor x) -> Tensor")
class IsInfOp(IsNaNOp):
    """Whether an element is infinite."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.isinf(x)


@onnx("Identity(Tensor input) -> Tensor")
class IdentityOp(UnaryOnnxOp):
    """The input."""

    takes = ALL

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x


@onnx("CumSum(Tensor x, int axis) -> Tensor")
class CumSumOp(OnnxOp):
    """The sums of the elements up to and including each element along a dimension."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, axis: int, /) -> Tensor:
        if not -len(shape_of(x)) <= axis < len(shape_of(x)):
            raise ValueError(f"axis {axis} is none of {len(shape_of(x))} dimensions")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, axis: int, /) -> Array:
        return np.cumsum(x, axis, x.dtype)


PLACES = (i64, i32)
"""The element types of indices."""


def require_places(x: Tensor) -> None:
    """Raises TypeError unless a tensor is one of indices."""
    if element_of(x) not in PLACES:
        require_type("indices", x, i64)
