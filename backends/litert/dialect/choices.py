"""Comparisons, logic, choices by conditions, and conversions of element types."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i1, i8, i16, i32, i64

from flambeau.backends.litert.dialect.operators import LiteRtOp, litert
from flambeau.dialects.aten.elementwise.comparison import EqTensorOp, GeTensorOp, GtTensorOp, LeTensorOp, LtTensorOp, NeTensorOp
from flambeau.dialects.aten.elementwise.logic import LogicalAndOp, LogicalOrOp
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, broadcast, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class _ComparisonOp(LiteRtOp):
    """A condition on the elements of two tensors."""

    elementwise = True
    takes = frozenset((f32, i1))

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b):
            raise ValueError(f"operands {a} and {b} are not of one type")
        return tensor(i1, broadcast(shape_of(a), shape_of(b)))


class _OrderOp(_ComparisonOp):
    takes = frozenset((f32,))


class _OfConditionsOp(_ComparisonOp):
    takes = frozenset((i1,))


def _of_two(name: str, family: type[LiteRtOp], row: type[SchemaOp]) -> type[LiteRtOp]:
    return derived(litert(f"{name}(Tensor lhs, Tensor rhs) -> Tensor"), name, family, row, __module__=__name__)


COMPARISONS: dict[str, type[LiteRtOp]] = {
    "eq": _of_two("equal", _ComparisonOp, EqTensorOp),
    "ne": _of_two("not_equal", _ComparisonOp, NeTensorOp),
    "gt": _of_two("greater", _OrderOp, GtTensorOp),
    "ge": _of_two("greater_equal", _OrderOp, GeTensorOp),
    "lt": _of_two("less", _OrderOp, LtTensorOp),
    "le": _of_two("less_equal", _OrderOp, LeTensorOp),
}
"""The comparisons, by the names of the operators of the edge level that they compute."""
LOGIC: dict[str, type[LiteRtOp]] = {
    "and": _of_two("logical_and", _OfConditionsOp, LogicalAndOp),
    "or": _of_two("logical_or", _OfConditionsOp, LogicalOrOp),
    "xor": COMPARISONS["ne"],
}
"""What makes a condition of two."""


@litert("logical_not(Tensor lhs) -> Tensor")
class LogicalNotOp(LiteRtOp):
    """Where a condition does not hold."""

    elementwise = True
    takes = frozenset((i1,))

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return ~x


@litert("select_v2(Tensor condition, Tensor x, Tensor y) -> Tensor")
class SelectV2Op(LiteRtOp):
    """The elements of one tensor where a condition holds, and of another where it does not."""

    elementwise = True
    keeps_type = True
    takes = frozenset((f32, i1, i8, i16))

    @staticmethod
    def infer(condition: Tensor, a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b) or element_of(condition) != i1:
            raise ValueError(f"{condition} is no condition, or {a} and {b} are not of one type")
        return tensor(element_of(a), broadcast(shape_of(condition), shape_of(a), shape_of(b)))

    @staticmethod
    def numpy(condition: Array, a: Array, b: Array, /) -> Array:
        return np.where(condition, a, b)


TYPES: dict[str, ElementType] = {"FLOAT32": f32, "INT32": i32, "INT64": i64, "BOOL": i1}
"""The types of conversions, by their names in the format."""


@litert("cast(Tensor input, *, str in_data_type, str out_data_type) -> Tensor")
class CastOp(LiteRtOp):
    """The elements in another type; fractions are cut off."""

    elementwise = True
    takes = frozenset((f32, i1, i32, i64))

    @staticmethod
    def infer(x: Tensor, /, in_data_type: str, out_data_type: str) -> Tensor:
        if TYPES.get(in_data_type) != element_of(x) or out_data_type not in TYPES:
            raise ValueError(f"{x} is not of {in_data_type}, or there is no conversion to {out_data_type}")
        return tensor(TYPES[out_data_type], shape_of(x))

    @staticmethod
    def numpy(x: Array, /, out_data_type: str) -> Array:
        return x.astype(numpy_dtype(TYPES[out_data_type]))
