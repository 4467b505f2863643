"""Base classes of the families of layers, and checks that they share."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp

openvino = Namespace("openvino")

Numbers = tuple[int, ...]


class LayerOp(SchemaOp):
    """A layer, on tensors of float32."""

    takes: ClassVar[frozenset[Attribute] | None] = frozenset((f32,))
    opset: ClassVar[int] = 1
    """The number of OpenVINO's set of operations that has the layer in this form."""


class UnaryLayerOp(LayerOp):
    """An elementwise function of one tensor."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(f32, shape_of(x))


class BinaryLayerOp(LayerOp):
    """An elementwise function of two tensors, which are broadcast to one shape."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_floats(b)
        return tensor(f32, broadcast(shape_of(a), shape_of(b)))


def require_floats(*kinds: Tensor) -> None:
    """Raises TypeError unless all tensors are of float32."""
    for kind in kinds:
        if element_of(kind) != f32:
            raise TypeError(f"its tensors are of f32, not of {element_of(kind)}")


def attribute_name(argument: str) -> str:
    """Returns the name that an argument after `*` has in the representation."""
    return "exclude-pad" if argument == "exclude_pad" else argument
