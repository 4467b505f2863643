"""What the families of layers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp

openvino = Namespace("openvino")

Numbers = tuple[int, ...]


class LayerOp(SchemaOp):
    """A layer, on tensors of float32."""

    takes = frozenset((f32,))
    opset: ClassVar[int] = 1
    """The set of operations that has it in this form."""

    @classmethod
    def attribute_name(cls, name: str) -> str:
        """What the representation calls an argument behind `*`."""
        return {"exclude_pad": "exclude-pad"}.get(name, name)


class UnaryLayerOp(LayerOp):
    """A function of each element."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(f32, shape_of(x))


class BinaryLayerOp(LayerOp):
    """A function of two elements, of tensors that are broadcast to one shape."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        return tensor(f32, broadcast(shape_of(a), shape_of(b)))


def require_rank(what: str, shape: Sequence[int], rank: int) -> None:
    """Raises ValueError for a tensor of another number of dimensions."""
    if len(shape) != rank:
        raise ValueError(f"{what} must have {rank} dimensions, got {list(shape)}")
