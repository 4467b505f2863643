"""What the families of layers share."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The set of operations that has it in this form."""


class UnaryLayerOp(LayerOp):
    """A function of each element."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(f32, shape_of(x))


class BinaryLayerOp(LayerOp):
    """A function of two elements, of tensors that are broadcast to one shape."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_floats(b)
        return tensor(f32, broadcast(shape_of(a), shape_of(b)))


def require_floats(*kinds: Tensor) -> None:
    """Raises TypeError for a tensor of anything but float32."""
    for kind in kinds:
        if element_of(kind) != f32:
            raise TypeError(f"its tensors are of f32, not of {element_of(kind)}")


def require_rank(what: str, shape: Sequence[int], rank: int) -> None:
    """Raises ValueError for a tensor of another number of dimensions."""
    if len(shape) != rank:
        raise ValueError(f"{what} must have {rank} dimensions, got {list(shape)}")


def require_only(what: str, found: object, only: object) -> None:
    """Raises ValueError for a value that has no meaning here."""
    if found != only:
        raise ValueError(f"{what} is {found!r}, and {only!r} is supported here")


def attribute_name(argument: str) -> str:
    """Returns what the representation calls an argument behind `*`."""
    return "exclude-pad" if argument == "exclude_pad" else argument
