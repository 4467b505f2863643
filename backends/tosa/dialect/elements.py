"""Functions of each element, and of the elements of two tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from flambeau.backends.tosa.dialect.operators import HIGH, LOW, Numbers, TosaOp, scaled, to_int8, tosa
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, LogOp, NegOp, ReciprocalOp, RsqrtOp, SinOp
from flambeau.dialects.aten.layers.activation import SigmoidOp, TanhOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.support.lazy import Array, np


class _OfFloatsOp(TosaOp):
    """A function of each element."""

    takes = frozenset((f32,))
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


class _OfTwoOp(TosaOp):
    """A function of two tensors of one type and rank, whose dimensions of one entry are repeated."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b) or len(shape_of(a)) != len(shape_of(b)):
            raise ValueError(f"operands {a} and {b} are not of one type and rank")
        return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


BINARY: dict[str, type[TosaOp]] = {
    row.schema.base: derived(tosa(f"{name}(Tensor input1, Tensor input2) -> Tensor"), name, _OfTwoOp, row, __module__=__name__)
    for name, row in {"add": AddTensorOp, "sub": SubTensorOp, "maximum": MaximumOp, "minimum": MinimumOp}.items()
}
"""The functions of two tensors, by the names of the operators of the edge level that they compute. None is of int8."""
MulOp = derived(tosa("mul(Tensor input1, Tensor input2, int shift=0) -> Tensor"), "mul", _OfTwoOp, MulTensorOp, __module__=__name__)


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
    """The entry of a table of 256 for each int8, that of -128 first."""

    takes = frozenset((i8,))
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /, table: Numbers) -> Tensor:
        if len(table) != HIGH - LOW + 1 or min(table) < LOW or max(table) > HIGH:
            raise ValueError(f"a table has 256 numbers of int8, got {len(table)}")
        return x

    @staticmethod
    def numpy(x: Array, /, table: Numbers) -> Array:
        return np.array(table, np.int8)[x.astype(np.int64) - LOW]


@tosa("rescale(Tensor input, int[] multiplier, int[] shift, int input_zp, int output_zp, *, ScalarType dtype) -> Tensor")
class RescaleOp(TosaOp):
    """(input - input_zp) * multiplier / 2 ** shift + output_zp, for all or for each entry of the last dimension, rounded once."""

    takes = frozenset((i8, i32))

    @staticmethod
    def infer(x: Tensor, /, multiplier: Numbers, shift: Numbers, dtype: Attribute) -> Tensor:
        if len(multiplier) not in (1, *shape_of(x)[-1:]) or len(shift) != len(multiplier) or not all(2 <= item <= 62 for item in shift):
            raise ValueError(f"{len(multiplier)} multipliers and the shifts {list(shift)} do not fit {x}")
        return tensor(dtype, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, multiplier: Numbers, shift: Numbers, input_zp: int, output_zp: int, dtype: Attribute) -> Array:
        found = scaled(x.astype(np.int64) - input_zp, np.array(multiplier), np.array(shift)) + output_zp
        return to_int8(found) if dtype == i8 else found.astype(np.int32)
