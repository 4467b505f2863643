"""`#edge.layout`, the encoding of a tensor type: its dim order, and the extents of its dynamic dimensions.

A type without an encoding is dense and row-major, and of its dynamic dimensions nothing is known. `#edge.layout<[0, 2, 3, 1]>` names
another dim order (outermost first). `#edge.layout<sizes = [s0 in [1, 512], s0 * 2, 8]>` gives the extents; `? in [0, 8]` is one of
which only the range is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.extent_attribute import ExtentAttr, parse_quoted_extent, print_extent
from flambeau.support.suggestions import did_you_mean


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """Dim order (a permutation, outermost first) and, for dynamic shapes, the extent of each dimension.

    In `tensor<?x?x8xf32, #edge.layout<sizes = [s17 in [1, 8], s17 * 2, 8]>>` the first size is the symbol `s17`, and the second is twice
    as large. A symbol has one value in each run. Its range stands where a function first names it, and a function gives it no other range;
    `?` is a bound that it does not have, as in `s17 in [1, ?]`. Expressions have `+`, `-`, `*`, `floordiv`, `mod`, `min` and `max`.
    """

    name = "edge.layout"
    order: ArrayAttr[IntAttr]
    extents: ArrayAttr[ExtentAttr]

    @classmethod
    def of(cls, order: Sequence[int], sizes: Sequence[int] = ()) -> Self:
        """Returns the attribute for plain numbers and extents."""
        return cls(ArrayAttr([IntAttr(d) for d in order]), ArrayAttr([ExtentAttr.of(size) for size in sizes]))

    @property
    def dim_order(self) -> tuple[int, ...]:
        """The permutation, outermost dimension first."""
        return tuple(item.data for item in self.order)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The extent of each dimension; empty for a static shape, and where nothing is known of the dynamic dimensions."""
        return tuple(item.value for item in self.extents)

    @property
    def is_row_major(self) -> bool:
        """Whether the dim order is row-major, as of a type without an encoding."""
        order = self.dim_order
        return order == tuple(range(len(order)))

    def verify(self) -> None:
        """Checks that the order is a permutation and that there is an extent for each dimension."""
        order = self.dim_order
        if sorted(order) != list(range(len(order))):
            raise VerifyException(f"a dim order must be a permutation of 0..{len(order) - 1}, got {list(order)}")
        if self.extents.data and len(self.extents.data) != len(order):
            raise VerifyException(f"sizes must have {len(order)} entries, got {len(self.extents.data)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parses `<[0, 1], sizes = [s0, 32]>`; as MLIR prints the parameters of an attribute from IRDL, too."""
        with parser.in_angle_brackets():
            order = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            sizes: list[ExtentAttr] = []
            if order is None or parser.parse_optional_punctuation(","):
                _parse_key(parser, order)
                sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_quoted_extent(parser))
        return (ArrayAttr([IntAttr(d) for d in (range(len(sizes)) if order is None else order)]), ArrayAttr(sizes))

    def print_parameters(self, printer: Printer) -> None:
        """Prints `<[0, 1], sizes = [s0, 32]>`; a row-major order is left out beside sizes."""
        with printer.in_angle_brackets():
            if not self.extents.data or not self.is_row_major:
                printer.print_string(f"{list(self.dim_order)}{', ' if self.extents.data else ''}")
            if self.extents.data:
                printer.print_string("sizes = [")
                printer.print_list(self.extents.data, lambda item: print_extent(printer, item))
                printer.print_string("]")


def _parse_key(parser: AttrParser, order: Sequence[int] | None) -> None:
    """Parses `sizes =`, which may be absent behind a dim order."""
    start, key = parser.pos, parser.parse_optional_identifier()
    if key is None and order is not None:
        return
    if key != "sizes":
        what = "expected a dim order such as [0, 1], or sizes = [...]" if key is None else f"a layout has no {key!r}"
        parser.raise_error(f"{what}{did_you_mean(key or '', ['sizes'])}", start, parser.pos)
    parser.parse_punctuation("=")
