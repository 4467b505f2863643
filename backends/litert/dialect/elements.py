"""Functions of each element, and of the elements of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import f16, f32, i8, i16
from xdsl.ir import Attribute

from flambeau.backends.litert.dialect.operators import (
    INTEGERS,
    OF_BYTES,
    LiteRtOp,
    Numbers,
    Scales,
    activated,
    between,
    check_scales,
    fitted,
    half_away,
    limits_of,
    lines,
    litert,
    looked_up,
    quantized,
    rescaled,
    single,
)
from flambeau.dialects.aten.elementwise.comparison import MaximumOp as AtenMaximumOp
from flambeau.dialects.aten.elementwise.comparison import MinimumOp as AtenMinimumOp
from flambeau.dialects.aten.layers.activation import SigmoidOp, TanhOp
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, broadcast, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.support.lazy import Array, np

_TYPES = "float[] scales=[], int[] zero_points=[]"
WIDENED = {1: 20, 2: 15}
"""The bits by which operands of a sum are shifted before they are added, by the bytes of their type."""


def _of_two(a: Tensor, b: Tensor, scales: Scales, zero_points: Numbers) -> Tensor:
    """Returns the type of a result. Raises ValueError."""
    if element_of(a) != element_of(b):
        raise ValueError(f"operands {a} and {b} are not of one type")
    check_scales(a, scales, zero_points, 3)
    return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


_SUM_TYPES = f"bool pot_scale_int16=True, {_TYPES}"


class SumOp(LiteRtOp):
    """A sum or a difference. That of int16 has kernels for scales which are powers of two, and for all, which is this one."""

    elementwise = True

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, pot_scale_int16: bool, scales: Scales, zero_points: Numbers) -> Tensor:
        if element_of(a) == i16 and pot_scale_int16:
            raise ValueError("it is between int16 by the kernel of scales that are powers of two (pot_scale_int16)")
        return _of_two(a, b, scales, zero_points)


def _sum(a: Array, b: Array, sign: int, activation: str, scales: Scales, zero_points: Numbers) -> Array:
    """Returns a sum or difference of integers, in fine steps of the larger scale."""
    first, second, to = map(single, scales)
    most, bits = 2 * max(first, second), WIDENED[a.itemsize]
    wide = [
        rescaled((item.astype(np.int64) - zero_point) << bits, scale / most)
        for item, zero_point, scale in zip((a, b), zero_points, (first, second), strict=False)
    ]
    return fitted(rescaled(wide[0] + sign * wide[1], most / (2**bits * to)), zero_points[2], to, a.dtype, activation)


@litert(f'add(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_SUM_TYPES}) -> Tensor')
class AddOp(SumOp):
    """The sum."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a + b, fused_activation_function)
        return _sum(a, b, 1, fused_activation_function, scales, zero_points)


@litert(f'sub(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_SUM_TYPES}) -> Tensor')
class SubOp(SumOp):
    """The difference."""

    versions: ClassVar = {i8: 2, i16: 5}

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a - b, fused_activation_function)
        return _sum(a, b, -1, fused_activation_function, scales, zero_points)


@litert(f'mul(Tensor lhs, Tensor rhs, *, str fused_activation_function="NONE", {_TYPES}) -> Tensor')
class MulOp(LiteRtOp):
    """The product."""

    elementwise = True
    versions: ClassVar = {i8: 2, i16: 4}

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        return _of_two(a, b, scales, zero_points)

    @staticmethod
    def numpy(a: Array, b: Array, /, fused_activation_function: str, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return activated(a * b, fused_activation_function)
        first, second, to = (np.float32(scale) for scale in scales)
        product = (a.astype(np.int64) - zero_points[0]) * (b.astype(np.int64) - zero_points[1])
        ratio = float(first * second / to)  # the kernel computes it in float32
        return fitted(rescaled(product, ratio), zero_points[2], float(to), a.dtype, fused_activation_function)


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
    versions: ClassVar = {i8: 2, i16: 4}

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


@litert("quantize(Tensor input, *, ScalarType dtype, float[] scales, int[] zero_points) -> Tensor")
class QuantizeOp(LiteRtOp):
    """Floats as integers, or the integers of a type as those of another. Only integers have a scale and a zero point."""

    elementwise = True
    versions: ClassVar = {i8: 2}

    @property
    def version(self) -> int:
        """The version that gives the result, or takes the operand."""
        return 2 if element_of(self.result) == i16 else super().version

    @staticmethod
    def infer(x: Tensor, /, dtype: ElementType, scales: Scales, zero_points: Numbers) -> Tensor:
        if dtype not in INTEGERS or element_of(x) not in (f32, dtype):
            raise ValueError(f"{x} is no operand of a quantization to {dtype}")
        check_scales(tensor(dtype, ()), scales, zero_points, 1 if element_of(x) == f32 else 2)
        return tensor(dtype, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dtype: ElementType, scales: Scales, zero_points: Numbers) -> Array:
        if x.dtype == np.float32:
            return quantized(x / np.float32(scales[0]), zero_points[0], numpy_dtype(dtype))
        ratio = single(scales[0]) / single(scales[1])
        return fitted(rescaled(x.astype(np.int64) - zero_points[0], ratio), zero_points[1], scales[1], x.dtype)


@litert(f"dequantize(Tensor input, *, {_TYPES}) -> Tensor")
class DequantizeOp(LiteRtOp):
    """The floats that integers stand for, or those of half the size as float32."""

    elementwise = True
    takes = frozenset((i8, i16, f16))
    versions: ClassVar = {i8: 2, i16: 3, f16: 3}

    @staticmethod
    def infer(x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 1)
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return x.astype(np.float32)
        return ((x.astype(np.int32) - zero_points[0]) * float(np.float32(scales[0]))).astype(np.float32)


Fixed = Mapping[Attribute, tuple[float, int]]
"""The scale and the zero point of an operator's results, by their type."""


def _check_fixed(x: Tensor, scales: Scales, zero_points: Numbers, fixed: Fixed) -> None:
    check_scales(x, scales, zero_points, 2)
    if element_of(x) != f32 and (scales[1], zero_points[1]) != fixed[element_of(x)]:
        raise ValueError(f"the result has the scale {scales[1]} and the zero point {zero_points[1]}, not {fixed[element_of(x)]}")


class _ToFixedScaleOp(LiteRtOp):
    """A function whose results, if integers, have one scale and zero point; of int8, looked up in a table of float32."""

    elementwise = True
    versions: ClassVar = {i8: 2, i16: 3}
    fixed: ClassVar[Fixed]
    function: ClassVar[Callable[[Array], Array]]
    """What is computed of floats."""
    rest_bits: ClassVar[int]
    """The bits of a fine step of int16 behind its place in the table."""
    fast_shifts: ClassVar[tuple[int, ...]]
    """The powers of two by which a scale that is multiplied exactly is more than 1/4096."""

    @classmethod
    def infer(cls, x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        _check_fixed(x, scales, zero_points, cls.fixed)
        return x

    @classmethod
    def numpy(cls, x: Array, /, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return cls.function(x)
        if x.dtype == np.int16:
            return cls.of_int16(*_logistic_of_fine(x, scales[0], cls.rest_bits, cls.fast_shifts))
        return looked_up(cls.function, x, scales, zero_points)

    @staticmethod
    def of_int16(x: Array, found: Array) -> Array:
        """Returns the results, of fine steps and of the logistic function of their absolute values, in 16 bits and those behind them.

        Each of the two operators has its own.
        """
        raise NotImplementedError


def _logistic_table() -> Array:
    """Returns the logistic function of 0, 1/24, …, 255/24 in 16 bits, so that lines between these are near it in the middle."""
    places = np.arange(0, 256, 0.5)
    exact = (1 << 16) / (1 + np.exp(-places / 24))
    ends, middles = exact[::2], exact[1::2]
    following = np.append(ends[1:], (1 << 16) / (1 + np.exp(-256 / 24)))
    table = np.rint(ends + (middles - (ends + following) / 2) / 2).astype(np.int64)
    table[-1] = (1 << 16) - 1
    return table


def _logistic_of_fine(x: Array, scale: float, rest_bits: int, fast_shifts: Sequence[int]) -> tuple[Array, Array]:
    """Returns int16 in steps of 1/12288, and the logistic function of their absolute values, or of twice these."""
    power = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    shift = 12 + int(half_away(power))
    if abs(power - half_away(power)) < np.float32(1e-3) and shift in fast_shifts:
        multiplier, shift = 3 << shift, 0
    else:
        ratio, shift = single(scale) * 4096 * 3, 0
        while ratio <= 32767 / 2 and shift <= 30:
            ratio, shift = 2 * ratio, shift + 1
        multiplier = int(ratio)
    fine = (x.astype(np.int64) * multiplier + ((1 << shift) >> 1)) >> shift
    place, rest = np.abs(fine) >> rest_bits, np.abs(fine) & ((1 << rest_bits) - 1)
    table, inside = _logistic_table(), np.minimum(place, 254)
    found = (table[inside] << rest_bits) + rest * (table[inside + 1] - table[inside])
    return fine, np.where(place >= 255, ((1 << 16) - (1 << (rest_bits - 8))) << rest_bits, found)


@litert(f"logistic(Tensor x, *, {_TYPES}) -> Tensor")
class LogisticOp(_ToFixedScaleOp):
    """The logistic function; integers of the result have the scale 1/256, or 1/32768."""

    fixed: ClassVar[Fixed] = {i8: (1 / 256, -128), i16: (1 / 32768, 0)}
    function = staticmethod(numpy_of(SigmoidOp))
    rest_bits = 9
    fast_shifts = (0,)

    @staticmethod
    def of_int16(x: Array, found: Array) -> Array:
        """Returns the results."""
        return (np.where(x >= 0, found + (1 << 9), (1 << 25) - found + (1 << 9) - 1) >> 10).astype(np.int16)


@litert(f"tanh(Tensor input, *, {_TYPES}) -> Tensor")
class TanhRow(_ToFixedScaleOp):
    """The hyperbolic tangent; integers of the result have the scale 1/128, or 1/32768."""

    fixed: ClassVar[Fixed] = {i8: (1 / 128, 0), i16: (1 / 32768, 0)}
    function = staticmethod(numpy_of(TanhOp))
    rest_bits = 8
    fast_shifts = (0, 1)

    @staticmethod
    def of_int16(x: Array, found: Array) -> Array:
        """Returns the results."""
        half = 1 << 23
        return (np.where(x >= 0, found - half + (1 << 7), half - found + (1 << 7) - 1) >> 8).astype(np.int16)


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
        return np.clip(x, *limits_of(cls.activation, scales[0], zero_points[0], x.dtype)).astype(x.dtype)


LIMITED: dict[str, type[LiteRtOp]] = {
    name: litert(f"{name.lower()}(Tensor x, *, {_TYPES}) -> Tensor")(
        type(
            f"{name.title().replace('_', '')}Op",
            (_LimitedOp,),
            {"__doc__": doc, "activation": name, "versions": versions, "takes": OF_BYTES | {*versions}, "__module__": __name__},
        )
    )
    for name, (doc, versions) in {
        "RELU": ("The elements, not below 0.", {i8: 2, i16: 3}),
        "RELU_N1_TO_1": ("The elements in [-1, 1].", {}),
        "RELU6": ("The elements in [0, 6].", {i8: 2, i16: 3}),
    }.items()
}
"""The functions that layers and sums can end with, as operators of their own; operand and result have one quantized type."""


@litert(f"softmax(Tensor input, *, float beta=1.0, {_TYPES}) -> Tensor")
class SoftmaxOp(LiteRtOp):
    """The softmax of rows; integers of the result have the scale 1/256, or 1/32768, and come of tables of exponentials."""

    versions: ClassVar = {i8: 2, i16: 3}
    fixed: ClassVar[Fixed] = {i8: (1 / 256, -128), i16: (1 / 32768, 0)}

    @classmethod
    def infer(cls, x: Tensor, /, scales: Scales, zero_points: Numbers) -> Tensor:
        _check_fixed(x, scales, zero_points, cls.fixed)
        return x

    @staticmethod
    def numpy(x: Array, /, beta: float, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            powers = np.exp((x - x.max(-1, keepdims=True)) * np.float32(beta))
            return powers / powers.sum(-1, keepdims=True)
        if x.dtype == np.int16:
            return _softmax_of_int16(x, single(scales[0]) * beta)
        table = np.exp(np.float32(-single(scales[0]) * beta) * np.arange(256).astype(np.float32))
        powers = table[x.max(-1, keepdims=True).astype(np.int64) - x]
        total = np.add.accumulate(powers, -1)[..., -1:]  # one after the other, as the kernel adds
        found = powers * (np.float32(1) / (total * np.float32(scales[1])))
        return np.clip((found + np.float32(0.5)).astype(np.int32) + zero_points[1], -128, 127).astype(np.int8)


def _softmax_of_int16(x: Array, scale: float) -> Array:
    """Returns a softmax by tables of exponentials of [-10, 0] and of 1 / (1 + [0, 1]): `SoftmaxInt16`."""
    fine, most = np.float64(2 / 65535), (1 << 15) - 1
    distance = rescaled(x.astype(np.int64) - x.max(-1, keepdims=True), scale / (10 / 65535)) + most
    exponentials = lines(np.exp, np.float64(10 / 65535) * -65535, np.float64(0), fine)
    powers = between(np.clip(distance, -most - 1, most), exponentials).astype(np.int64)
    total = powers.sum(-1, keepdims=True)
    bits = np.frexp(total.astype(np.float64))[1].astype(np.int64)
    normal = ((total << (31 - bits)) + (1 << 13)) >> 14
    reciprocals = lines(lambda numbers: 1 / (1 + numbers), np.float64(0), np.float64(1 / 65535) * 65535, fine)
    inverse = between(np.clip(normal - (1 << 15) - (1 << 16), -most - 1, most), reciprocals).astype(np.int64)
    return np.clip((powers * inverse + (1 << (bits - 2))) >> (bits - 1), 0, most).astype(np.int16)
