"""Functions of each element, and of the elements of two tensors."""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import Attribute

from flambeau.backends.tosa.dialect.operators import FLOATS, RANGES, Numbers, OfTwoOp, TosaOp, i48, limited, scaled, tosa
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, LogOp, NegOp, ReciprocalOp, RsqrtOp, SinOp
from flambeau.dialects.aten.layers.activation import SigmoidOp, TanhOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.support.lazy import Array, np


class _OfFloatsOp(TosaOp):
    """A function of each element."""

    takes = FLOATS
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x


UNARY: dict[str, type[TosaOp]] = {
    row.schema.base: derived(tosa(f"{name}(Tensor input1) -> Tensor"), name, _OfFloatsOp, row, __module__=__name__)
    for name, row in {
        "abs": AbsOp,
        "ceil": CeilOp,
        "cos": CosOp,
        "erf": ErfOp,
        "exp": ExpOp,
        "floor": FloorOp,
        "log": LogOp,
        "reciprocal": ReciprocalOp,
        "rsqrt": RsqrtOp,
        "sigmoid": SigmoidOp,
        "sin": SinOp,
        "tanh": TanhOp,
    }.items()
}


@tosa("negate(Tensor input1, int input1_zp=0, int output_zp=0) -> Tensor")
class NegateOp(_OfFloatsOp):
    """Each element with the other sign."""

    numpy = staticmethod(numpy_of(NegOp))


UNARY["neg"] = NegateOp
"""The functions of floats, by the names of the operators of the edge level that they compute."""


BINARY: dict[str, type[TosaOp]] = {
    row.schema.base: derived(tosa(f"{name}(Tensor input1, Tensor input2) -> Tensor"), name, OfTwoOp, row, __module__=__name__)
    for name, row in {"add": AddTensorOp, "sub": SubTensorOp, "maximum": MaximumOp, "minimum": MinimumOp}.items()
}
"""The functions of two tensors, by the names of the operators of the edge level that they compute. None is of int8."""


@tosa("mul(Tensor input1, Tensor input2, int shift=0) -> Tensor")
class MulOp(OfTwoOp):
    """The product; of int32, divided by 2 ** shift and rounded, halves upwards."""

    @staticmethod
    def numpy(a: Array, b: Array, /, shift: int) -> Array:
        return scaled(a, b, shift).astype(np.int32) if shift else a * b


@tosa("clamp(Tensor input, *, Scalar min_val, Scalar max_val) -> Tensor")
class ClampOp(TosaOp):
    """The elements limited to [min_val, max_val]; NaN stays."""

    elementwise = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /, min_val: float, max_val: float) -> Array:
        return np.clip(x, x.dtype.type(min_val), x.dtype.type(max_val))


@tosa("table(Tensor input1, int[] table) -> Tensor")
class TableOp(TosaOp):
    """The entry of a table of 256 for each int8, that of -128 first.

    An int16 stands between two of 513 entries, that of -32768 and those of each 128 more. The result is an int32, 128 times as large.
    """

    takes = frozenset((i8, i16))
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /, table: Numbers) -> Tensor:
        element = element_of(x)
        count, (low, high) = (256, RANGES[i8]) if element == i8 else (513, RANGES[i16])
        if len(table) != count or min(table) < low or max(table) > high:
            raise ValueError(f"a table of {element} has {count} numbers of that type, got {len(table)}")
        if element == i16 and max(abs(b - a) for a, b in pairwise(table)) > high:
            raise ValueError(f"neighbours in a table differ by more than {high}")
        return tensor(i8 if element == i8 else i32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, table: Numbers) -> Array:
        wide = x.astype(np.int64)
        if x.dtype == np.int8:
            return np.array(table, np.int8)[wide + 2**7]
        numbers, (index, rest) = np.array(table, np.int32), divmod(wide + 2**15, 128)
        return (numbers[index] * 128 + (numbers[index + 1] - numbers[index]) * rest).astype(np.int32)


@tosa("rescale(Tensor input, int[] multiplier, int[] shift, int input_zp, int output_zp, *, ScalarType dtype) -> Tensor")
class RescaleOp(TosaOp):
    """(input - input_zp) * multiplier / 2 ** shift + output_zp, for all or for each entry of the last dimension, rounded once.

    Multipliers have 31 bits, those of int48 15 bits. Only int8 has zero points.
    """

    takes = frozenset((i8, i16, i32, i48))

    @staticmethod
    def infer(x: Tensor, /, multiplier: Numbers, shift: Numbers, input_zp: int, output_zp: int, dtype: Attribute) -> Tensor:
        element = element_of(x)
        most = RANGES[i16 if element == i48 else i32][1]
        if dtype not in (i8, i16, i32) or not all(0 <= item <= most for item in multiplier):
            raise ValueError(f"{element} does not become {dtype}, or a multiplier of {list(multiplier)} is not from 0 to {most}")
        if (input_zp and element != i8) or (output_zp and dtype != i8):
            raise ValueError(f"only int8 has zero points, and {input_zp} is that of {element}, {output_zp} that of {dtype}")
        if len(multiplier) not in (1, *shape_of(x)[-1:]) or len(shift) != len(multiplier) or not all(2 <= item <= 62 for item in shift):
            raise ValueError(f"{len(multiplier)} multipliers and the shifts {list(shift)} do not fit {x}")
        return tensor(dtype, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, multiplier: Numbers, shift: Numbers, input_zp: int, output_zp: int, dtype: Attribute) -> Array:
        return limited(scaled(x.astype(np.int64) - input_zp, np.array(multiplier), np.array(shift)) + output_zp, dtype)
