"""Comparisons, logic, choices by a condition, conversions and powers."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i1, i8, i32
from xdsl.ir import Attribute

from flambeau.backends.tosa.dialect.operators import FLOATS, MOVED, OfTwoOp, TosaOp, tosa
from flambeau.dialects.aten.elementwise.comparison import EqTensorOp, GeTensorOp, GtTensorOp
from flambeau.dialects.aten.elementwise.logic import LogicalAndOp, LogicalOrOp, LogicalXorOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, is_float, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived
from flambeau.support.lazy import Array, np

_NUMBERS: frozenset[Attribute] = FLOATS | {i8, i32}


class _ComparisonOp(OfTwoOp):
    """A condition on the elements of two tensors."""

    takes = FLOATS | {i32}

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        return tensor(i1, shape_of(OfTwoOp.infer(a, b)))


class _OfConditionsOp(OfTwoOp):
    """A condition made of two."""

    takes = frozenset((i1,))


COMPARISONS: dict[str, type[TosaOp]] = {
    name: derived(tosa(f"{name}(Tensor input1, Tensor input2) -> Tensor"), name, _ComparisonOp, row, __module__=__name__)
    for name, row in {"equal": EqTensorOp, "greater": GtTensorOp, "greater_equal": GeTensorOp}.items()
}
"""The comparisons."""
LOGIC: dict[str, type[TosaOp]] = {
    name: derived(
        tosa(f"logical_{name}(Tensor input1, Tensor input2) -> Tensor"), f"logical_{name}", _OfConditionsOp, row, __module__=__name__
    )
    for name, row in {"and": LogicalAndOp, "or": LogicalOrOp, "xor": LogicalXorOp}.items()
}
"""What makes a condition of two."""


@tosa("logical_not(Tensor input1) -> Tensor")
class LogicalNotOp(TosaOp):
    """Where a condition does not hold."""

    takes = frozenset((i1,))
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return ~x


@tosa("select(Tensor input1, Tensor input2, Tensor input3) -> Tensor")
class SelectOp(TosaOp):
    """The elements of the second tensor where a condition holds, else those of the third; dimensions of one entry are repeated."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(chosen: Tensor, a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b) or element_of(a) not in MOVED or len({len(shape_of(item)) for item in (chosen, a, b)}) > 1:
            raise ValueError(f"operands {chosen}, {a} and {b} are not of one rank, or the last two not of one type")
        return tensor(element_of(a), broadcast(shape_of(chosen), broadcast(shape_of(a), shape_of(b))))

    @staticmethod
    def numpy(chosen: Array, a: Array, b: Array, /) -> Array:
        return np.where(chosen, a, b)


@tosa("cast(Tensor input, *, ScalarType dtype) -> Tensor")
class CastOp(TosaOp):
    """The elements in another type; floats become the nearest integers, of two the even one, within the limits of the type."""

    takes = _NUMBERS
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute) -> Tensor:
        if dtype not in _NUMBERS or dtype == element_of(x) or not (is_float(element_of(x)) or dtype in FLOATS):
            raise ValueError(f"{element_of(x)} does not become {dtype}: one of them is a float, and they differ")
        return tensor(dtype, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute) -> Array:
        kind = numpy_dtype(element_of(tensor(dtype, ())))
        if kind.kind == "f":
            with np.errstate(over="ignore"):  # what float16 has not is infinite
                return x.astype(kind)
        limits = np.iinfo(np.int8 if kind == np.int8 else np.int32)
        return np.clip(np.rint(x.astype(np.float64)), limits.min, limits.max).astype(kind)


@tosa("pow(Tensor input1, Tensor input2) -> Tensor")
class PowOp(OfTwoOp):
    """The powers of numbers from 0 on; of others no result is defined."""

    takes = frozenset((f32,))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.power(a, b)
