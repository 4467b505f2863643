"""The base classes of nodes, and checks that they share."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp

mps = Namespace("mps")

Numbers = tuple[int, ...]

ELEMENTWISE = "(Tensor input1) -> Tensor"
OF_TWO = "(Tensor input1, Tensor input2) -> Tensor"


class NodeOp(SchemaOp):
    """A node, of tensors of float32."""

    takes: ClassVar[frozenset[Attribute] | None] = frozenset((f32,))


class FunctionNodeOp(NodeOp):
    """A function of each element of a tensor."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x


class BinaryNodeOp(NodeOp):
    """A function of the elements of two tensors, which are broadcast to one shape."""

    @staticmethod
    def infer(x: Tensor, y: Tensor, /) -> Tensor:
        require_floats(y)
        return tensor(f32, broadcast(shape_of(x), shape_of(y)))


def require_floats(*kinds: Tensor | None) -> None:
    """Raises TypeError unless all tensors are of float32."""
    for kind in kinds:
        if kind is not None and element_of(kind) != f32:
            raise TypeError(f"its tensors are of f32, not of {element_of(kind)}")
