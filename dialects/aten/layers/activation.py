"""Activations."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers import complex_functions
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, erf, in_float, sigmoid, softplus, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, normalize_dim, shape_of, tensor, tensor_type, ui8
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.families import (
    NUMBERS,
    FloatOnlyUnaryOp,
    FloatUnaryOp,
    UnaryOp,
    require_category,
    require_number,
    wide_element,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("relu(Tensor self) -> Tensor", core=True)
class ReluOp(UnaryOp):
    """The larger of x and 0; NaN for NaN."""

    takes = NUMBERS
    limits = True
    activations = (("relu",),)

    @staticmethod
    def bounds(x: value_ranges.Range, /) -> value_ranges.Range:
        return value_ranges.limited(x, value_ranges.Range(0, 0))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.maximum(x, np.zeros((), x.dtype))


@aten("sigmoid(Tensor self) -> Tensor", core=True)
class SigmoidOp(FloatUnaryOp):
    """1 / (1 + exp(-x))."""

    bounds = staticmethod(value_ranges.between(0, 1))
    on_parts = staticmethod(complex_functions.logistic)

    activations = (("sigmoid",),)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(sigmoid, x)


@aten("tanh(Tensor self) -> Tensor", core=True)
class TanhOp(FloatUnaryOp):
    """The hyperbolic tangent."""

    bounds = staticmethod(value_ranges.between(-1, 1))
    on_parts = staticmethod(complex_functions.hyperbolic_tangent)

    activations = (("tanh",),)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.tanh, x)


def _require_approximation(name: str) -> None:
    if name not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', got {name!r}")


@aten('gelu(Tensor self, *, str approximate="none") -> Tensor', core=True)
class GeluOp(FloatOnlyUnaryOp):
    """x times the normal distribution function of x; `approximate = "tanh"` approximates it with a tanh."""

    activations = (("gelu", "none"), ("gelu_tanh", "tanh"))

    @staticmethod
    def infer(x: Tensor, /, approximate: str = "none") -> Tensor:
        _require_approximation(approximate)
        return FloatOnlyUnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, approximate: str) -> Array:
        _require_approximation(approximate)
        wide = widened(x)
        if approximate == "tanh":
            half = 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)))
        else:
            half = 0.5 * (1 + erf(wide * math.sqrt(0.5)))
        return (wide * half).astype(x.dtype)


@aten("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", core=True)
class EluOp(FloatOnlyUnaryOp):
    """scale * x if x > 0, else scale * alpha * (exp(input_scale * x) - 1)."""

    @staticmethod
    def numpy(x: Array, /, alpha: float, scale: float, input_scale: float) -> Array:
        wide = widened(x)
        below = alpha * scale * np.expm1(np.minimum(wide, 0) * input_scale)
        return np.where(wide > 0, wide * scale, below).astype(x.dtype)


@aten("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", core=True)
class HardtanhOp(UnaryOp):
    """x limited to [min_val, max_val]; NaN for NaN."""

    limits = True
    bounds = staticmethod(value_ranges.limited)
    activations = (("relu6", 0, 6),)

    @staticmethod
    def infer(x: Tensor, /, min_val: float = -1, max_val: float = 1) -> Tensor:
        require_category("hardtanh", x, at_least=1)
        element = element_of(x)
        for limit in (min_val, max_val):
            require_number(limit, element)
            if element == ui8 and limit < 0:
                raise ValueError(f"the limits of uint8 must not be negative, got {limit}")
        return UnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, min_val: float, max_val: float) -> Array:
        element = element_of_array(x)
        return np.minimum(np.maximum(x, cast_to(min_val, element)), cast_to(max_val, element))


@aten("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", core=True)
class LeakyReluOp(FloatOnlyUnaryOp):
    """x if x > 0, else negative_slope * x."""

    @staticmethod
    def numpy(x: Array, /, negative_slope: float) -> Array:
        wide = widened(x)
        return np.where(wide > 0, wide, wide * negative_slope).astype(x.dtype)


@aten("silu(Tensor self) -> Tensor", keep=True)
class SiluOp(FloatOnlyUnaryOp):
    """The sigmoid-weighted unit: x * sigmoid(x)."""

    activations = (("silu",),)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide * sigmoid(wide), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.mul.Tensor(x, aten.sigmoid(x))


@aten("relu6(Tensor self) -> Tensor")
class Relu6Op(UnaryOp):
    """x limited to [0, 6]."""

    takes = NUMBERS

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return HardtanhOp.numpy(x, 0, 6)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.hardtanh(x, 0, 6)


@aten("hardsigmoid(Tensor self) -> Tensor", keep=True)
class HardsigmoidOp(FloatOnlyUnaryOp):
    """x + 3 limited to [0, 6], divided by 6."""

    bounds = staticmethod(value_ranges.between(0, 1))
    activations = (("hardsigmoid",),)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: np.minimum(np.maximum(wide + 3, 0), 6) / 6, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.div.Scalar(aten.hardtanh(aten.add.Scalar(x, 3), 0, 6), 6)


@aten("hardswish(Tensor self) -> Tensor", keep=True)
class HardswishOp(FloatOnlyUnaryOp):
    """x * min(max(x + 3, 0), 6) / 6."""

    activations = (("hardswish",),)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide * np.minimum(np.maximum(wide + 3, 0), 6) / 6, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        wide = to_element(x, wide_element(element_of(x)))
        return to_element(aten.div.Scalar(aten.mul.Tensor(wide, aten.hardtanh(aten.add.Scalar(wide, 3), 0, 6)), 6), element_of(x))


@aten("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", keep=True)
class SoftplusOp(FloatOnlyUnaryOp):
    """log(1 + exp(beta * x)) / beta; x if beta * x exceeds the threshold."""

    @staticmethod
    def numpy(x: Array, /, beta: float, threshold: float) -> Array:
        wide = widened(x)
        return np.where(wide * beta > threshold, wide, softplus(wide * beta) / beta).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, beta: float, threshold: float) -> SSAValue:
        scaled = x if beta == 1 else aten.mul.Scalar(x, beta)
        # exp(scaled) would overflow in float16 before scaled exceeds the threshold.
        smooth = aten.add.Tensor(aten.relu(scaled), aten.log1p(aten.exp(aten.neg(aten.abs(scaled)))))
        return aten.where.self(aten.gt.Scalar(scaled, threshold), x, smooth if beta == 1 else aten.div.Scalar(smooth, beta))


@aten("mish(Tensor self) -> Tensor", keep=True)
class MishOp(FloatOnlyUnaryOp):
    """x * tanh(softplus(x))."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide * np.tanh(softplus(wide)), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.mul.Tensor(x, aten.tanh(aten.softplus(x)))


@aten("celu(Tensor self, Scalar alpha=1.) -> Tensor")
class CeluOp(FloatOnlyUnaryOp):
    """x if x > 0, else alpha * (exp(x / alpha) - 1)."""

    @staticmethod
    def infer(x: Tensor, /, alpha: float = 1) -> Tensor:
        if alpha == 0:
            raise ValueError("alpha must not be 0")
        return FloatOnlyUnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, alpha: float) -> Array:
        return EluOp.numpy(x, alpha, 1, 1 / alpha)

    @staticmethod
    def decompose(x: SSAValue, /, alpha: float) -> SSAValue:
        return aten.elu(x, alpha, 1.0, 1 / alpha)


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@aten("selu(Tensor self) -> Tensor")
class SeluOp(FloatOnlyUnaryOp):
    """The exponential linear unit whose two constants keep mean 0 and variance 1 (Klambauer et al., 2017)."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return EluOp.numpy(x, SELU_ALPHA, SELU_SCALE, 1)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.elu(x, SELU_ALPHA, SELU_SCALE)


@aten("log_sigmoid(Tensor self) -> Tensor", keep=True)
class LogSigmoidOp(FloatOnlyUnaryOp):
    """log(sigmoid(x)) without overflow."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: -softplus(-wide), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.sub.Tensor(aten.clamp(x, None, 0), aten.log1p(aten.exp(aten.neg(aten.abs(x)))))


@aten("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
class HardshrinkOp(FloatOnlyUnaryOp):
    """0 if x is in [-lambd, lambd], else x."""

    @staticmethod
    def numpy(x: Array, /, lambd: float) -> Array:
        wide = widened(x)
        return np.where((wide >= -lambd) & (wide <= lambd), np.zeros((), x.dtype), x)

    @staticmethod
    def decompose(x: SSAValue, /, lambd: float) -> SSAValue:
        return aten.where.ScalarSelf(aten.le.Scalar(aten.abs(x), lambd), 0, x)


@aten("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
class SoftshrinkOp(FloatOnlyUnaryOp):
    """x moved towards 0 by lambd; 0 if x is in [-lambd, lambd]; NaN for NaN."""

    @staticmethod
    def infer(x: Tensor, /, lambd: float = 0.5) -> Tensor:
        if not 0 <= lambd < math.inf:
            raise ValueError(f"lambd must be finite and not negative, got {lambd}")
        return FloatOnlyUnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, lambd: float) -> Array:
        wide = widened(x)
        return np.where(wide > lambd, wide - lambd, np.where(wide < -lambd, wide + lambd, wide * 0)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, lambd: float) -> SSAValue:
        width = float(lambd)
        inner = aten.where.self(aten.lt.Scalar(x, -width), aten.add.Scalar(x, width), aten.mul.Scalar(x, 0))
        return aten.where.self(aten.gt.Scalar(x, width), aten.sub.Scalar(x, width), inner)


@aten("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor")
class ThresholdOp(UnaryOp):
    """x if x > threshold, else `value`; NaN for NaN. Both numbers are truncated to integers for integer tensors."""

    @staticmethod
    def infer(x: Tensor, /, threshold: float = 0, value: float = 0) -> Tensor:
        require_category("threshold", x, at_least=1)
        for number in (threshold, value):
            require_number(number, f32 if element_of(x) in (f16, bf16) else element_of(x))
        return UnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, threshold: float, value: float) -> Array:
        element = element_of_array(x)
        return np.where(widened(x) <= cast_to(threshold, element_of_array(widened(x))), cast_to(value, element), x)

    @staticmethod
    def decompose(x: SSAValue, /, threshold: float, value: float) -> SSAValue:
        if dtype_of(element_of(x)).category == 1:
            threshold, value = int(threshold), int(value)
        return aten.masked_fill.Scalar(x, aten.le.Scalar(x, threshold), value)


@aten("prelu(Tensor self, Tensor weight) -> Tensor", keep=True)
class PreluOp(SchemaOp):
    """x if x > 0, else weight * x; the weight has one element, or one per channel (dimension 1)."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, /, weight: Tensor) -> Tensor:
        require_category("prelu", x, at_least=2)
        if not shape_of(x) and shape_of(weight) not in ((), (1,)):
            raise ValueError(f"an input without dimensions has one weight, got shape {list(shape_of(weight))}")
        if element_of(x) != element_of(weight):
            raise TypeError(f"the weight must have the input's element type, got {element_of(weight)} and {element_of(x)}")
        broadcast(shape_of(x), prelu_weight_shape(shape_of(x), shape_of(weight)))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, weight: Array) -> Array:
        wide = widened(x)
        return np.where(wide > 0, wide, wide * weight.reshape(prelu_weight_shape(x.shape, weight.shape))).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, weight: SSAValue) -> SSAValue:
        shape = prelu_weight_shape(shape_of(x), shape_of(weight))
        spread = weight if shape == shape_of(weight) else aten.view(weight, shape)
        return aten.where.self(aten.gt.Scalar(x, 0), x, aten.mul.Tensor(x, spread))


def prelu_weight_shape(shape: tuple[int, ...], weight: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of a PReLU's weight that broadcasts with an input of `shape`: [C, 1, …], or [] for a scalar; C is not compared."""
    if len(weight) > 1:
        raise ValueError(f"the weight must be a vector or a scalar, got shape {list(weight)}")
    if not weight or (weight == (1,) and len(shape) < 2):
        return ()
    return (*weight, *(1,) * (len(shape) - 2))


@aten("glu(Tensor self, int dim=-1) -> Tensor", keep=True)
class GluOp(SchemaOp):
    """The first half along `dim` times the sigmoid of the second half."""

    @staticmethod
    def infer(x: Tensor, /, dim: int = -1) -> Tensor:
        shape = list(shape_of(x))
        axis = normalize_dim(dim, len(shape))
        if not shape or differ(shape[axis] % 2, 0):
            raise ValueError(f"dimension {dim} must have an even size, got shape {shape}")
        shape[axis] //= 2
        return FloatOnlyUnaryOp.infer(tensor(element_of(x), shape))

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        first, second = np.split(widened(x), 2, axis=dim)
        return (first * sigmoid(second)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> SSAValue:
        half = shape_of(GluOp.infer(tensor_type(x), dim))[dim]
        return aten.mul.Tensor(aten.slice.Tensor(x, dim, 0, half), aten.sigmoid(aten.slice.Tensor(x, dim, half, 2 * half)))
