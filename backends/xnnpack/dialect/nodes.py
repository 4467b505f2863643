"""Base classes of the families of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

xnnpack = Namespace("xnnpack")

ELEMENTS: frozenset[Attribute] = frozenset((f32, f16))
"""The types of elements."""

MOST_DIMENSIONS = 6
"""The highest rank of the library's tensors."""

LIMITS = "float? output_min=None, float? output_max=None"
"""The arguments of a node whose result may be limited."""


class NodeOp(SchemaOp):
    """A node, on tensors that are all of float32 or all of float16."""

    takes = ELEMENTS
    known_flags: ClassVar[int] = 0
    """The bits of `flags` that the row supports."""

    @classmethod
    def typed(
        cls,
        operands: Sequence[Tensor | None],
        shape: tuple[int, ...],
        flags: int,
        output_min: float | None = None,
        output_max: float | None = None,
    ) -> Tensor:
        """Returns the type of a result.

        Raises ValueError for operands of several element types, unsupported flags, a shape that XNNPACK lacks, and a lower limit above the
        upper limit.
        """
        elements = {element_of(operand): None for operand in operands if operand is not None}
        if len(elements) > 1:
            raise ValueError(f"operands are of {' and '.join(map(str, elements))}; a node computes with one type")
        if flags & ~cls.known_flags:
            raise ValueError(f"flags {flags:#x} have no meaning here; those known are {cls.known_flags:#x}")
        if len(shape) > MOST_DIMENSIONS:
            raise ValueError(f"the result has {len(shape)} dimensions, and XNNPACK has up to {MOST_DIMENSIONS}")
        if any(extent < 1 for extent in shape):
            raise ValueError(f"the result has the shape {list(shape)}, and XNNPACK has no empty tensors")
        if output_min is not None and output_max is not None and not output_min <= output_max:
            raise ValueError(f"the result is limited to [{output_min}, {output_max}], which holds nothing")
        return tensor(next(iter(elements)), shape)


def limited(x: Array, output_min: float | None, output_max: float | None) -> Array:
    """Returns x limited to [output_min, output_max]; None is no limit."""
    if output_min is not None:
        x = np.maximum(x, x.dtype.type(output_min))
    return x if output_max is None else np.minimum(x, x.dtype.type(output_max))


class UnaryNodeOp(NodeOp):
    """An elementwise function of one tensor."""

    elementwise = True

    @classmethod
    def infer(cls, input: Tensor, flags: int, output_min: float | None = None, output_max: float | None = None) -> Tensor:
        return cls.typed([input], shape_of(input), flags, output_min, output_max)


class BinaryNodeOp(NodeOp):
    """An elementwise function of two tensors, which are broadcast to one shape."""

    @classmethod
    def infer(cls, a: Tensor, b: Tensor, /, flags: int, output_min: float | None = None, output_max: float | None = None) -> Tensor:
        return cls.typed([a, b], broadcast(shape_of(a), shape_of(b)), flags, output_min, output_max)
