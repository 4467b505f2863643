"""Comparisons, and what is computed of their results."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f16

from flambeau.backends.coreml.dialect.operators import MilOp, coreml, require_like
from flambeau.dialects.aten.elementwise.comparison import EqTensorOp, GeTensorOp, GtTensorOp, LeTensorOp, LtTensorOp, NeTensorOp
from flambeau.dialects.aten.elementwise.logic import LogicalAndOp, LogicalNotOp, LogicalOrOp, LogicalXorOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, i1, i32, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.dialects.schema.row import SchemaOp


class CompareMilOp(MilOp):
    """A comparison of the elements of two tensors, which are broadcast to one shape."""

    takes = frozenset((f16, f32, i32))

    @staticmethod
    def infer(x: Tensor, y: Tensor, /) -> Tensor:
        require_like(x, y)
        return tensor(i1, broadcast(shape_of(x), shape_of(y)))


class LogicalMilOp(CompareMilOp):
    """A function of the truth of the elements of two tensors."""

    takes = frozenset((i1,))


class LogicalNotBaseMilOp(MilOp):
    """A function of the truth of the elements of a tensor."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x


def _derived(name: str, base: type[MilOp], row: type[SchemaOp], meaning: str) -> Any:
    arguments = "Tensor x" if base is LogicalNotBaseMilOp else "Tensor x, Tensor y"
    schema = coreml(f"{name}({arguments}) -> Tensor")
    return derived(schema, f"{name}_mil", base, row, numpy=staticmethod(numpy_of(row)), __module__=__name__, __doc__=meaning)


COMPARISONS: dict[str, type[CompareMilOp]] = {
    row.schema.base: _derived(name, CompareMilOp, row, meaning)
    for name, row, meaning in (
        ("equal", EqTensorOp, "x == y."),
        ("not_equal", NeTensorOp, "x != y."),
        ("less", LtTensorOp, "x < y."),
        ("less_equal", LeTensorOp, "x <= y."),
        ("greater", GtTensorOp, "x > y."),
        ("greater_equal", GeTensorOp, "x >= y."),
    )
}
"""The comparisons, by the names of the operators of tensors and of a tensor and a number."""
LOGICAL: dict[str, type[LogicalMilOp]] = {
    name: _derived(f"logical_{name}", LogicalMilOp, row, meaning)
    for name, row, meaning in (
        ("and", LogicalAndOp, "x and y."),
        ("or", LogicalOrOp, "x or y."),
        ("xor", LogicalXorOp, "Either x or y."),
    )
}
"""The functions of two truths, by the ends of the names of operators."""
LogicalNotMilOp: type[LogicalNotBaseMilOp] = _derived("logical_not", LogicalNotBaseMilOp, LogicalNotOp, "Not x.")
