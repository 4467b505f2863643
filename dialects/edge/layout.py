"""`#edge.layout`, the encoding of a tensor type for its memory layout: dim order, and bounds of dynamic dimensions.

A type without an encoding is dense, row-major and static. `#edge.layout<[0, 2, 3, 1]>` names another dim order (outermost first);
`#edge.layout<[0, 1], max = [8, 32]>` bounds the dynamic dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntAttr, NoneAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, tensor, tensor_type

CHANNELS_LAST = (0, 2, 3, 1)
"""The dim order of images whose channels are innermost: of [batch, channels, height, width]."""


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """Dim order (a permutation, outermost first) and, for dynamic shapes, the upper bound of each dimension."""

    name = "edge.layout"
    order: ArrayAttr[IntAttr]
    bounds: ArrayAttr[IntAttr]

    @classmethod
    def of(cls, order: Sequence[int], bounds: Sequence[int] = ()) -> Self:
        """The attribute for plain numbers."""
        return cls(ArrayAttr([IntAttr(d) for d in order]), ArrayAttr([IntAttr(b) for b in bounds]))

    @property
    def dim_order(self) -> tuple[int, ...]:
        """The permutation, outermost dimension first."""
        return tuple(item.data for item in self.order)

    @property
    def upper_bounds(self) -> tuple[int, ...]:
        """The bound of each dimension; empty for a static shape."""
        return tuple(item.data for item in self.bounds)

    def verify(self) -> None:
        """Checks that the order is a permutation and the bounds fit it."""
        order = self.dim_order
        if sorted(order) != list(range(len(order))):
            raise VerifyException(f"a dim order must be a permutation of 0..{len(order) - 1}, got {list(order)}")
        if self.upper_bounds and len(self.upper_bounds) != len(order):
            raise VerifyException(f"bounds must have {len(order)} entries, got {len(self.upper_bounds)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parses `<[0, 1], max = [8, 32]>`; without `max =` too, which is how MLIR prints the parameters of an attribute from IRDL."""
        with parser.in_angle_brackets():
            order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            bounds: list[int] = []
            if parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("max"):
                    parser.parse_punctuation("=")
                bounds = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        return (ArrayAttr([IntAttr(d) for d in order]), ArrayAttr([IntAttr(b) for b in bounds]))

    def print_parameters(self, printer: Printer) -> None:
        """Prints `<[0, 1], max = [8, 32]>`."""
        with printer.in_angle_brackets():
            printer.print_string(str(list(self.dim_order)))
            if self.upper_bounds:
                printer.print_string(f", max = {list(self.upper_bounds)}")


def layout_of(value: SSAValue | Attribute) -> LayoutAttr | None:
    """The layout written on a tensor type, if any."""
    encoding = tensor_type(value).encoding
    return encoding if isinstance(encoding, LayoutAttr) else None


def dim_order(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The dim order of a tensor, outermost dimension first."""
    layout = layout_of(value)
    return layout.dim_order if layout is not None else tuple(range(len(tensor_type(value).get_shape())))


def upper_bounds(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The largest shape the tensor may take: its shape when static. Raises TypeError for an unbounded dynamic dimension."""
    shape = tensor_type(value).get_shape()
    layout = layout_of(value)
    if layout is not None and layout.upper_bounds:
        return layout.upper_bounds
    if DYNAMIC_INDEX in shape:
        raise TypeError(f"{tensor_type(value)} has a dynamic dimension without a bound")
    return shape


def with_dim_order(value: SSAValue | Attribute, order: Sequence[int]) -> Tensor:
    """The same tensor type in another dim order."""
    kind = tensor_type(value)
    bounds = layout.upper_bounds if (layout := layout_of(kind)) is not None else ()
    default = tuple(order) == tuple(range(len(order)))
    encoding = NoneAttr() if default and not bounds else LayoutAttr.of(order, bounds)
    return tensor(kind.element_type, kind.get_shape(), encoding)


def row_major(value: SSAValue | Attribute) -> Tensor:
    """The same tensor type in row-major order."""
    kind = tensor_type(value)
    return kind if layout_of(kind) is None else with_dim_order(kind, range(len(kind.get_shape())))


def byte_strides(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The stride of each dimension in bytes, at the upper bounds."""
    sizes = upper_bounds(value)
    strides = [0] * len(sizes)
    step = dtype_of(tensor_type(value).element_type).size
    for dim in reversed(dim_order(value)):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


def equal_memory(a: SSAValue | Attribute, b: SSAValue | Attribute) -> bool:
    """Whether two tensors of one shape lay their elements out in the same places: dimensions of size 1 may stand anywhere."""
    shape = tensor_type(a).get_shape()
    if shape != tensor_type(b).get_shape():
        return False
    return [d for d in dim_order(a) if shape[d] != 1] == [d for d in dim_order(b) if shape[d] != 1]
