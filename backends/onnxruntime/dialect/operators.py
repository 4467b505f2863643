"""The base classes of the operators, and checks that they share."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import f16, f32, i1, i8, i32, i64
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor, ui8
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp

onnx = Namespace("onnxruntime")

Numbers = tuple[int, ...]
LEAST_OPSET, OPSET = 20, 21
"""The first opset that a model has here, and the one of which the operators are: a model has the first with all of its operators."""
FLOATS: frozenset[Attribute] = frozenset((f32, f16))
INTEGERS: frozenset[Attribute] = frozenset((i32, i64))
NUMBERS = FLOATS | INTEGERS
ALL = NUMBERS | {i1, i8, ui8}
"""The element types of tensors that are moved."""


class OnnxOp(SchemaOp):
    """An operator of ONNX."""

    takes = FLOATS
    since: ClassVar[int] = LEAST_OPSET
    """The first opset that has the operator in this form."""

    @property
    def opset(self) -> int:
        """The first opset that has the operator for its operands."""
        return self.since


class UnaryOnnxOp(OnnxOp):
    """A function of each element of a tensor."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(element_of(x), shape_of(x))


class BinaryOnnxOp(OnnxOp):
    """A function of the elements of two tensors of one type, which are broadcast to one shape."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_one_type(a, b)
        return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


class PredicateOnnxOp(BinaryOnnxOp):
    """A truth about the elements of two tensors."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_one_type(a, b)
        return tensor(i1, broadcast(shape_of(a), shape_of(b)))


def require_one_type(*kinds: Tensor | None) -> None:
    """Raises TypeError unless all tensors that are present have the element type of the first."""
    present = [element_of(kind) for kind in kinds if kind is not None]
    for element in present:
        if element != present[0]:
            raise TypeError(f"its tensors are of {present[0]} and {element}, not of one type")


def require_type(what: str, x: Tensor, element: Attribute) -> None:
    """Raises TypeError, which names `what`, unless a tensor has an element type."""
    if element_of(x) != element:
        raise TypeError(f"{what} is of {element_of(x)}, not of {element}")
