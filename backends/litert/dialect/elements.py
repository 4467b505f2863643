"""Functions of each element, and of the elements of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from xdsl.dialects.builtin import f16, f32, i8

from flambeau.backends.litert.dialect.operators import (
    HIGH,
    LOW,
    LiteRtOp,
    Numbers,
    Scales,
    activated,
    as_int8,
    check_scales,
    limits_of,
    litert,
    looked_up,
    quantized,
    rescaled,
    single,
)
from flambeau.dialects.aten.elementwise.comparison import MaximumOp as AtenMaximumOp
from flambeau.dialects.aten.elementwise.comparison import MinimumOp as AtenMinimumOp
from flambeau.dialects.aten.layers.activation import SigmoidOp, TanhOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.support.lazy import Array, np

_TYPES = "float[] scales=[], int[] zero_points=[]"
_WIDENED = 20
"""The bits by which operands of a sum are shifted before they are added."""


class _OfTwoOp(LiteRtOp):
    elementwise = True
    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        if element_of(a) != element_of(b):
            raise ValueError(f"operands {a} and {b} are not of one type")
        check_scales(a, scales, zero_points, 3)
        return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


def _sum(a: Array, b: Array, sign: int, activation: str, scales: Scales, zero_points: Numbers) -> Array:
    """Returns a sum or difference of integers, in steps of the larger scale divided by 2 ** 19."""
    first, second, to = map(single, scales)
    most = 2 * max(first, second)
    wide = [
        rescaled((item.astype(np.int64) - zero_point) << _WIDENED, scale / most)
        for item, zero_point, scale in zip((a, b), zero_points, (first, second), strict=False)
    ]
    return as_int8(rescaled(wide[0] + sign * wide[1], most / (2**_WIDENED * to)), zero_points[2], to, activation)


@litert(f'add(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_TYPES}) -> Tensor')
class AddOp(_OfTwoOp):
    """The sum."""

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a + b, fused_activation_function)
        return _sum(a, b, 1, fused_activation_function, scales, zero_points)


@litert(f'sub(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_TYPES}) -> Tensor')
class SubOp(_OfTwoOp):
    """The difference."""

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a - b, fused_activation_function)
        return _sum(a, b, -1, fused_activation_function, scales, zero_points)


@litert(f'mul(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_TYPES}) -> Tensor')
class MulOp(_OfTwoOp):
    """The product."""

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a * b, fused_activation_function)
        first, second, to = (np.float32(scale) for scale in scales)
        product = (a.astype(np.int64) - zero_points[0]) * (b.astype(np.int64) - zero_points[1])
        ratio = float(first * second / to)  # the kernel computes it in float32
        return as_int8(rescaled(product, ratio), zero_points[2], float(to), fused_activation_function)


class _OfTwoFloatsOp(LiteRtOp):
    """A function of two tensors of floats."""

    elementwise = True
    takes = frozenset((f32,))

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        return tensor(f32, broadcast(shape_of(a), shape_of(b)))


@litert("div(Tensor lhs, Tensor rhs) -> Tensor")
class DivOp(_OfTwoFloatsOp):
    """The quotient."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a / b


@litert("pow(Tensor lhs, Tensor rhs) -> Tensor")
class PowOp(_OfTwoFloatsOp):
    """The elements of one tensor to the powers of another's."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a**b


@litert("squared_difference(Tensor lhs, Tensor rhs) -> Tensor")
class SquaredDifferenceOp(_OfTwoFloatsOp):
    """The difference times itself."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return (a - b) ** 2


class _OfTwoAlikeOp(LiteRtOp):
    """A function of two tensors of one quantized type, which is that of the result."""

    elementwise = True
    keeps_type = True
    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b):
            raise ValueError(f"operands {a} and {b} are not of one type")
        return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


BINARY: dict[str, type[LiteRtOp]] = {
    name: derived(litert(f"{name}(Tensor lhs, Tensor rhs) -> Tensor"), name, _OfTwoAlikeOp, row, __module__=__name__)
    for name, row in {"maximum": AtenMaximumOp, "minimum": AtenMinimumOp}.items()
}
"""The functions of two tensors without a scale of their own, by the names of the operators of the edge level that they compute."""


@litert("quantize(Tensor input, *, float[] scales, int[] zero_points) -> Tensor")
class QuantizeOp(LiteRtOp):
    """Floats as integers, or the integers of a type as those of another. Only integers have a scale and a zero point."""

    elementwise = True
    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(tensor(i8, ()), scales, zero_points, 1 if element_of(x) == f32 else 2)
        return tensor(i8, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if x.dtype == np.float32:
            return quantized(x / np.float32(scales[0]), zero_points[0])
        ratio = single(scales[0]) / single(scales[1])
        return as_int8(rescaled(x.astype(np.int64) - zero_points[0], ratio), zero_points[1], scales[1])


@litert(f"dequantize(Tensor input, *, {_TYPES}) -> Tensor")
class DequantizeOp(LiteRtOp):
    """The floats that integers stand for, or those of half the size as float32."""

    elementwise = True
    takes = frozenset((i8, f16))
    versions: ClassVar = {i8: 2, f16: 3}

    @staticmethod
    def infer(x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 1)
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return x.astype(np.float32)
        return ((x.astype(np.int32) - zero_points[0]) * float(np.float32(scales[0]))).astype(np.float32)


class _ToFixedScaleOp(LiteRtOp):
    """A function whose results, if integers, have one scale and zero point; looked up in a table of float32."""

    elementwise = True
    versions: ClassVar = {i8: 2}
    fixed: ClassVar[tuple[float, int]]
    function: ClassVar[Callable[[Array], Array]]
    """What is computed of floats."""

    @classmethod
    def infer(cls, x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 2)
        if element_of(x) != f32 and (scales[1], zero_points[1]) != cls.fixed:
            raise ValueError(f"the result has the scale {scales[1]} and the zero point {zero_points[1]}, not {cls.fixed}")
        return x

    @classmethod
    def numpy(cls, x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return cls.function(x)
        return looked_up(cls.function, x, scales, zero_points)


@litert(f"logistic(Tensor x, *, {_TYPES}) -> Tensor")
class LogisticOp(_ToFixedScaleOp):
    """The logistic function; integers of the result have the scale 1/256."""

    fixed = (1 / 256, LOW)
    function = staticmethod(numpy_of(SigmoidOp))


@litert(f"tanh(Tensor input, *, {_TYPES}) -> Tensor")
class TanhRow(_ToFixedScaleOp):
    """The hyperbolic tangent; integers of the result have the scale 1/128."""

    fixed = (1 / 128, 0)
    function = staticmethod(numpy_of(TanhOp))


class _LimitedOp(LiteRtOp):
    elementwise = True
    keeps_type = True
    activation: ClassVar[str]

    @classmethod
    def infer(cls, x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 1)
        return x

    @classmethod
    def numpy(cls, x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(x, cls.activation)
        return np.clip(x, *limits_of(cls.activation, scales[0], zero_points[0])).astype(np.int8)


LIMITED: dict[str, type[LiteRtOp]] = {
    name: litert(f"{name.lower()}(Tensor x, *, {_TYPES}) -> Tensor")(
        type(
            f"{name.title().replace('_', '')}Op",
            (_LimitedOp,),
            {"__doc__": doc, "activation": name, "versions": versions, "__module__": __name__},
        )
    )
    for name, (doc, versions) in {
        "RELU": ("The elements, not below 0.", {i8: 2}),
        "RELU_N1_TO_1": ("The elements in [-1, 1].", {}),
        "RELU6": ("The elements in [0, 6].", {i8: 2}),
    }.items()
}
"""The functions that layers and sums can end with, as operators of their own; operand and result have one quantized type."""


@litert(f"softmax(Tensor input, *, float beta=1.0, {_TYPES}) -> Tensor")
class SoftmaxOp(LiteRtOp):
    """The softmax of rows; integers of the result have the scale 1/256, and come of a table of exponentials in float32."""

    versions: ClassVar = {i8: 2}
    fixed: ClassVar = (1 / 256, LOW)

    @classmethod
    def infer(cls, x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 2)
        if element_of(x) != f32 and (scales[1], zero_points[1]) != cls.fixed:
            raise ValueError(f"the result has the scale {scales[1]} and the zero point {zero_points[1]}, not {cls.fixed}")
        return x

    @staticmethod
    def numpy(x: Array, /, beta: float, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            powers = np.exp((x - x.max(-1, keepdims=True)) * np.float32(beta))
            return powers / powers.sum(-1, keepdims=True)
        table = np.exp(np.float32(-single(scales[0]) * beta) * np.arange(256).astype(np.float32))
        powers = table[x.max(-1, keepdims=True).astype(np.int64) - x]
        total = np.add.accumulate(powers, -1)[..., -1:]  # one after the other, as the kernel adds
        found = powers * (np.float32(1) / (total * np.float32(scales[1])))
        return np.clip((found + np.float32(0.5)).astype(np.int32) + zero_points[1], LOW, HIGH).astype(np.int8)
