"""Functions of each element whose results have a scale of their own between integers, or that are of floats only."""

from __future__ import annotations

from math import erfc
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i8, i16

from flambeau.backends.litert.dialect.operators import (
    OF_BYTES,
    LiteRtOp,
    Numbers,
    Scales,
    check_scales,
    divided_by_power,
    fitted,
    high_product,
    litert,
    looked_up,
    multiplier_of,
    rescaled,
    single,
)
from flambeau.dialects.aten.elementwise.math import CeilOp, CosOp, FloorOp, LogOp, NegOp, RoundOp, RsqrtOp, SinOp, SqrtOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, may_equal, shape_of
from flambeau.dialects.schema.derived_rows import derived
from flambeau.support.lazy import Array, np

_TYPES = "float[] scales=[], int[] zero_points=[]"


class _OfFloatsOp(LiteRtOp):
    """A function of floats only."""

    elementwise = True
    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x


UNARY: dict[str, type[LiteRtOp]] = {
    name: derived(litert(f"{name}(Tensor x) -> Tensor"), name, _OfFloatsOp, row, __module__=__name__)
    for name, row in {
        "ceil": CeilOp,
        "cos": CosOp,
        "floor": FloorOp,
        "log": LogOp,
        "neg": NegOp,
        "round": RoundOp,
        "rsqrt": RsqrtOp,
        "sin": SinOp,
        "sqrt": SqrtOp,
    }.items()
}
"""The functions of floats only, by the names of the operators of the edge level that they compute."""


@litert("square(Tensor x) -> Tensor")
class SquareOp(_OfFloatsOp):
    """The elements times themselves."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x * x


class _RescalingOp(LiteRtOp):
    """A function whose operand and result have scales of their own between integers."""

    elementwise = True
    versions: ClassVar = {i8: 2, i16: 2}

    @staticmethod
    def infer(x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 2)
        return x


@litert(f"abs(Tensor x, *, {_TYPES}) -> Tensor")
class AbsOp(_RescalingOp):
    """The absolute value."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return np.abs(x)
        found, (step, to) = np.abs(x.astype(np.int64) - zero_points[0]), map(np.float32, scales)
        return fitted(found if step == to else rescaled(found, float(step / to)), zero_points[1], scales[1], x.dtype)


@litert(f"exp(Tensor x, *, {_TYPES}) -> Tensor")
class ExpOp(_RescalingOp):
    """The exponential; of integers, looked up in a table."""

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        return looked_up(np.exp, x, scales, zero_points) if scales else np.exp(x)


def _below_zero(x: Array) -> Array:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


@litert(f"elu(Tensor x, *, {_TYPES}) -> Tensor")
class EluOp(_RescalingOp):
    """exp(x) - 1 of negative elements; of integers, looked up in a table."""

    takes = OF_BYTES
    versions: ClassVar = {}

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        return looked_up(_below_zero, x, scales, zero_points) if scales else _below_zero(x)


def _gelu(x: Array) -> Array:
    of_each = np.array([erfc(item) for item in (x * np.float32(-(0.5**0.5))).reshape(-1)], np.float32).reshape(x.shape)
    return np.float32(0.5) * x * of_each


def _gelu_by_tanh(x: Array) -> Array:
    inner = np.float32((2 / np.pi) ** 0.5) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))


@litert(f"gelu(Tensor input, *, bool approximate=False, {_TYPES}) -> Tensor")
class GeluOp(_RescalingOp):
    """The elements times the share of normally distributed numbers below them, or an approximation; of integers, looked up in a table."""

    @staticmethod
    def numpy(x: Array, /, approximate: bool, scales: Scales, zero_points: Numbers) -> Array:
        function = _gelu_by_tanh if approximate else _gelu
        return looked_up(function, x, scales, zero_points) if scales else function(x)


@litert(f"leaky_relu(Tensor input, *, float alpha, {_TYPES}) -> Tensor")
class LeakyReluOp(_RescalingOp):
    """The elements, negative ones times a number."""

    @staticmethod
    def numpy(x: Array, /, alpha: float, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return np.where(x > 0, x, x * np.float32(alpha))
        step, to = map(np.float32, scales)
        distance, factor = x.astype(np.int64) - zero_points[0], float(step * np.float32(alpha) / to)
        below = int(np.sign(factor)) * rescaled(distance, abs(factor))
        return fitted(np.where(distance >= 0, rescaled(distance, float(step / to)), below), zero_points[1], scales[1], x.dtype)


def _narrow(ratio: Any) -> tuple[int, int]:
    """Returns a ratio as a multiplier of 15 bits and an exponent: `DownScaleInt32ToInt16Multiplier`."""
    multiplier, exponent = multiplier_of(float(ratio))
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1), exponent


@litert(f"hard_swish(Tensor input, *, {_TYPES}) -> Tensor")
class HardSwishOp(_RescalingOp):
    """x * min(max(x + 3, 0), 6) / 6; of integers, in steps of 16 bits."""

    takes = OF_BYTES
    versions: ClassVar = {}

    @staticmethod
    def infer(x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 2)
        if element_of(x) != f32 and single(scales[0]) / 128 >= single(scales[1]):
            raise ValueError(f"the scale {scales[0]} of the operand is not less than 128 times that of the result, {scales[1]}")
        return x

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return x * np.clip(x + np.float32(3), 0, 6).astype(x.dtype) / np.float32(6)
        least, most, fine = -(1 << 15), (1 << 15) - 1, np.float32(1 / 128) * np.float32(scales[0])
        distance = (x.astype(np.int64) - zero_points[0]) << 7
        multiplier, exponent = _narrow(fine / np.float32(scales[1]))
        result = high_product(distance, multiplier, 15)
        gate_multiplier, gate_exponent = _narrow(fine / np.float32(3 / (1 << 15)))
        gate = distance
        if gate_exponent > 0:
            gate = np.clip(gate << (gate_exponent - 1), least, most)
        gate = high_product(gate, gate_multiplier, 15)
        gate = np.clip(gate << 1, least, most) if gate_exponent > 0 else divided_by_power(gate, -gate_exponent)
        product = ((gate + (1 << 15)) >> 1) * result
        return fitted(divided_by_power(np.sign(product) * (np.abs(product) >> 15), -exponent), zero_points[1], scales[1], x.dtype)


@litert("prelu(Tensor input, Tensor alpha, *, float[] scales=[], int[] zero_points=[]) -> Tensor")
class PreluOp(LiteRtOp):
    """The elements, negative ones times those of another tensor."""

    elementwise = True
    takes = OF_BYTES

    @staticmethod
    def infer(x: Tensor, alpha: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        if element_of(x) != element_of(alpha):
            raise ValueError(f"operands {x} and {alpha} are not of one type")
        check_scales(x, scales, zero_points, 3)
        if not may_equal(broadcast(shape_of(x), shape_of(alpha)), shape_of(x)):
            raise ValueError(f"{alpha} does not broadcast to {x}")
        return x

    @staticmethod
    def numpy(x: Array, alpha: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return np.where(x >= 0, x, x * alpha)
        step, slope, to = map(np.float32, scales)
        distance, factor = x.astype(np.int64) - zero_points[0], alpha.astype(np.int64) - zero_points[1]
        below = rescaled(distance * factor, float(step * slope / to))
        return fitted(np.where(distance >= 0, rescaled(distance, float(step / to)), below), zero_points[2], scales[2], x.dtype)
