"""xDSL's parser, in which a hexadecimal literal of a float type is the bits of the number, wherever it stands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float80Type,
    Float128Type,
    FloatAttr,
    FloatData,
    IntegerAttr,
    RankedStructure,
    f64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from flambeau.dialects.text.float_text import rounded, value_of

_BITS = re.compile(r"(?:-\s*)?0x")
_INTEGER_ARRAY = re.compile(r"<\s*[su]?i\d")
_NUMBER_TYPE = re.compile(r"<\s*:\s*([a-zA-Z]\w*)")
"""The type with which a `complex.number` begins."""


class Bits(int):
    """A hexadecimal literal."""


@dataclass
class _Element(Parser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]  xDSL's type of elements
    """An element of a dense constant."""

    def parts(self) -> tuple[Any, ...]:
        """Returns the literal, or those of a complex number."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def to_type(self, parser: Any, type: Any) -> Any:
        """Converts the element as xDSL does, and bits to a number."""
        number, is_complex = _number_type(type)
        if not isinstance(number, AnyFloat) or isinstance(self.value, tuple) is not is_complex:
            return super().to_type(parser, type)
        values = tuple(cast("ConstantParser", parser).number_of(part, number, self.span) for part in self.parts())
        return values if is_complex else values[0]


class ConstantParser(Parser):
    """xDSL's parser, which takes the bits of floats."""

    _TensorLiteralElement = _Element  # xDSL makes the elements of dense constants by this name
    _literal: tuple[_Element, ...] = ()
    """The elements of the dense constant that was parsed last."""
    _float: AnyFloat | None = None
    """The type of the numbers in an attribute that gives them none of their own."""

    def number_of(self, literal: bool | int | float, kind: AnyFloat, place: Span) -> float:
        """Returns the number of a float type that a literal denotes. Raises ParseError."""
        if not isinstance(literal, Bits):
            return float(literal)
        if literal < 0 or place.text.startswith("-"):
            self.raise_error("The bits of a float have no sign before them: it is one of the bits.", place)
        try:
            return value_of(literal, kind)
        except ValueError as error:
            self.raise_error(str(error), place)

    def _parse_optional_bits(self, kind: AnyFloat) -> Bits | None:
        """Parses a hexadecimal literal as the bits of a float type; returns None, and consumes nothing, if something else follows."""
        start = self.pos
        if not self._at_bits():
            return None
        self._parse_optional_token(MLIRTokenKind.MINUS)
        token = self._consume_token(MLIRTokenKind.INTEGER_LIT)
        bits = Bits(token.text, 16)
        self.number_of(bits, kind, Span(start, token.span.end, self.lexer.input))
        return bits

    def _at_bits(self) -> bool:
        return _BITS.match(self.lexer.input.content, self.pos) is not None

    # A float, alone

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """Parses as xDSL does; keeps the bits of NaN."""
        start = self.pos
        if not self._at_bits():
            return super().parse_optional_builtin_int_or_float_attr()
        self.parse_optional_number()
        if self._current_token.kind is MLIRTokenKind.COLON:
            kind = self._parse_attribute_type()
            if isinstance(kind, AnyFloat):
                end = self.pos
                self._resume_from(start)
                bits = self._parse_optional_bits(kind)
                self._resume_from(end)
                return FloatAttr[AnyFloat].new([FloatData(value_of(bits or 0, kind)), kind])
        self._resume_from(start)
        return super().parse_optional_builtin_int_or_float_attr()

    def parse_optional_float(self, *, allow_negative: bool = True) -> float | None:
        """Parses as xDSL does."""
        if self._float is not None and (bits := self._parse_optional_bits(self._float)) is not None:
            return value_of(bits, self._float)
        found = super().parse_optional_float(allow_negative=allow_negative)
        return found if found is None or self._float is None else rounded(found, self._float)

    def parse_optional_number(self, *, allow_boolean: bool = False) -> int | float | None:
        """Parses as xDSL does."""
        if self._float is not None and (bits := self._parse_optional_bits(self._float)) is not None:
            return value_of(bits, self._float)
        found = super().parse_optional_number(allow_boolean=allow_boolean)
        return found if found is None or self._float is None else rounded(found, self._float)

    def _parse_dialect_type_or_attribute_body(self, attr_name: str, *arguments: Any, **keywords: Any) -> Any:
        outer = self._float
        if attr_name == "builtin.float_data":
            self._float = f64
        elif attr_name == "complex.number" and (match := _NUMBER_TYPE.match(self.lexer.input.content, self.pos)) is not None:
            self._float = self._builtin_float_types.get(match[1])
        try:
            return super()._parse_dialect_type_or_attribute_body(attr_name, *arguments, **keywords)
        finally:
            self._float = outer

    # Arrays

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.pos
        if _INTEGER_ARRAY.match(self.lexer.input.content, start) is None:
            self.parse_characters("<", " in dense array")
            kind = self.parse_attribute()
            if isinstance(kind, AnyFloat) and self.parse_optional_punctuation(":") is not None:
                return self._parse_floats(kind)
            self._resume_from(start)
        return super()._parse_builtin_densearray_attr()

    def _parse_floats(self, kind: AnyFloat) -> DenseArrayBase:
        self._check_width(kind)

        def parse_item() -> bytes:
            bits = self._parse_optional_bits(kind)
            return _packed(self.parse_float() if bits is None else bits, kind)

        items = self.parse_comma_separated_list(self.Delimiter.NONE, parse_item)
        self.parse_characters(">", " in dense array")
        return DenseArrayBase(kind, BytesAttr(b"".join(items)))

    def _check_width(self, kind: Attribute) -> None:
        if isinstance(kind, Float80Type | Float128Type):
            self.raise_error(f"There are no lists of {kind.name} constants: only a single number can be of this type.")

    # Dense constants

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        kind = super()._parse_dense_literal_type()
        self._check_width(_number_type(kind.element_type)[0])
        return kind

    def _parse_optional_bool_int_or_float(self) -> Any:
        found = super()._parse_optional_bool_int_or_float()
        if found is not None and type(found[0]) is int and _BITS.match(self.lexer.input.content, found[1].start) is not None:
            return Bits(found[0]), found[1]
        return found

    def _parse_optional_complex(self) -> Any:
        token = self._parse_optional_token(MLIRTokenKind.L_PAREN)
        if token is None:
            return None
        real, _ = self._parse_bool_int_or_float()
        self.parse_punctuation(",")
        imaginary, _ = self._parse_bool_int_or_float()
        if type(real) is not type(imaginary) and not isinstance(real, Bits) and not isinstance(imaginary, Bits):
            self.raise_error("Complex value must be either (float, float) or (int, int)")
        end = self._consume_token(MLIRTokenKind.R_PAREN)
        return (real, imaginary), Span(token.span.start, end.span.end, token.span.input)

    def _parse_tensor_literal(self) -> Any:
        literal = super()._parse_tensor_literal()
        self._literal = tuple(cast("list[_Element]", literal[0]))
        return literal

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[AnyDenseElement] | None) -> DenseIntOrFPElementsAttr:
        """Parses as xDSL does; keeps the bits of NaN."""
        self._literal = tuple[_Element, ...]()
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        parts = [part for element in self._literal for part in element.parts()]
        number = _number_type(attribute.type.element_type)[0]
        if not isinstance(number, AnyFloat) or not any(isinstance(part, Bits) for part in parts):
            return attribute
        data = b"".join([_packed(part, number) for part in parts])
        copies = math.prod(attribute.get_shape()) // len(self._literal)
        return DenseIntOrFPElementsAttr(attribute.type, BytesAttr(data * copies))


def _packed(literal: bool | int | float, kind: AnyFloat) -> bytes:
    return literal.to_bytes(kind.size, "little") if isinstance(literal, Bits) else kind.pack((float(literal),))


def _number_type(element: Attribute) -> tuple[Attribute, bool]:
    """Returns the type of the numbers of an element type, and whether there are two of them in an element."""
    if isinstance(element, ComplexType):
        return cast("ComplexType[Any]", element).element_type, True
    return element, False
