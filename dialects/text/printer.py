"""xDSL's printer, made faster for large modules, and without loss of attributes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatData,
    FunctionType,
    ModuleOp,
    NoneAttr,
    TensorType,
    UnitAttr,
    UnregisteredAttr,
    UnregisteredOp,
    f64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SingleBlockImplicitTerminator

from flambeau.dialects.ir.expressions import Symbol
from flambeau.dialects.text.float_text import array_text, dense_text, float_text


@dataclass(eq=False, repr=False)
class ModulePrinter(Printer):
    """xDSL's printer, with the same text. It caches the texts of types, and writes most strings directly to the stream."""

    _types: dict[int, tuple[Attribute, str]] = field(default_factory=dict[int, tuple[Attribute, str]], init=False)
    """The texts of types, by identity. The values keep the types alive, so that no other type gets the same identity."""
    _plain: dict[type[Operation], bool] = field(default_factory=dict[type[Operation], bool], init=False)
    """Whether the operations of a class are printed in their own syntax, without a new scope of names."""
    symbols: dict[str, Symbol] = field(default_factory=dict[str, Symbol], init=False)
    """The symbols whose ranges have been printed, by name."""

    def forget_texts(self) -> None:
        """Forgets the texts of types: a name in them is now another symbol's."""
        self._types.clear()

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Prints a text and indents its new lines."""
        if "\n" in text:
            super().print_string(text, indent=indent)
            return
        self._current_column += len(text)
        (self.stream or sys.stdout).write(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        if self._next_line_callback:
            super()._print_new_line(indent, print_message)
            return
        spaces = (self._indent if indent is None else indent) * self.indent_num_spaces
        (self.stream or sys.stdout).write("\n" + " " * spaces)
        self._current_line += 1
        self._current_column = spaces

    def print_ssa_value(self, value: SSAValue) -> str:
        """Prints and returns the name of a value, which gets one if it has none."""
        name = self._ssa_values.get(value)
        if name is None:
            return super().print_ssa_value(value)
        self.print_string("%" + name)
        return name

    def type_text(self, attribute: Attribute) -> str:
        """Returns the text of a type."""
        known = self._types.get(id(attribute))
        if known is not None:
            return known[1]
        named = dict(self.symbols)
        if type(attribute) is TensorType and type(attribute.encoding) is NoneAttr:
            sizes = "".join(["?x" if size == DYNAMIC_INDEX else f"{size}x" for size in attribute.get_shape()])
            text = f"tensor<{sizes}{self.type_text(attribute.element_type)}>"
        else:
            stream, column = self.stream, self._current_column
            self.stream = StringIO()
            try:
                super().print_attribute(attribute)
                text = self.stream.getvalue()
            finally:
                self.stream, self._current_column = stream, column
        if self.symbols == named:
            # What names a symbol first gives its range, and no more after that.
            self._types[id(attribute)] = attribute, text
        return text

    def print_attribute(self, attribute: Attribute) -> None:
        """Prints an attribute."""
        if isinstance(attribute, UnregisteredAttr):
            # Its text is kept as it was read, and an indent of its lines would become part of it.
            indent, self._indent = self._indent, 0
            super().print_attribute(attribute)
            self._indent = indent
        elif (text := _text_of_floats(attribute)) is not None:
            self.print_string(text)
            if isinstance(attribute, DenseIntOrFPElementsAttr):
                self.print_string(" : ")
                self.print_attribute(cast("DenseIntOrFPElementsAttr[Any]", attribute).type)
        elif isinstance(attribute, TypeAttribute) and "\n" not in (text := self.type_text(attribute)):
            self.print_string(text)
        else:
            super().print_attribute(attribute)

    def print_float(self, value: float, type: AnyFloat) -> None:
        """Prints a float without loss. A decimal with a point, unlike bits, is read in every syntax."""
        self.print_string(float_text(value, type))

    def print_function_type(self, input_types: Iterable[Attribute], output_types: Iterable[Attribute]) -> None:
        """Prints a function type, without parentheses around a single result."""
        inputs, outputs = list(input_types), list(output_types)
        if not all(isinstance(item, TypeAttribute) for item in (*inputs, *outputs)):
            super().print_function_type(inputs, outputs)
            return
        operands = ", ".join([self.type_text(item) for item in inputs])
        results = ", ".join([self.type_text(item) for item in outputs])
        if len(outputs) != 1 or isinstance(outputs[0], FunctionType):
            results = f"({results})"
        text = f"({operands}) -> {results}"
        if "\n" in text:
            super().print_function_type(inputs, outputs)
        else:
            self.print_string(text)

    def print_operation_type(self, op: Operation) -> None:
        """Prints the types of operands and results, without the location, which follows at the end of the operation after regions."""
        self.print_function_type(op.operand_types, op.result_types)

    def print_op_with_default_format(self, op: Operation) -> None:
        """Prints an operation without its name, in the generic syntax."""
        super().print_op_with_default_format(op)
        self._print_location(op)

    def _print_location(self, op: Operation) -> None:
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def print_op(self, op: Operation) -> None:
        """Prints an operation."""
        kind = type(op)
        plain = self._plain.get(kind)
        if plain is None:
            plain = not (
                self.print_generic_format
                or self.diagnostic.op_messages
                or kind.print is Operation.print
                or isinstance(op, UnregisteredOp)
                or op.get_traits_of_type(IsolatedFromAbove)
            )
            self._plain[kind] = plain
        if not self.print_generic_format and _omits_attributes(op):
            self.print_generic_format = True
            super().print_op(op)
            self.print_generic_format = False
            return
        if not plain:
            super().print_op(op)
            return
        if op.results:
            self.print_list(op.results, self.print_ssa_value)
            self.print_string(" = ")
        self.print_string(op.name)
        op.print(self)
        self._print_location(op)


def _text_of_floats(attribute: Attribute) -> str | None:
    """Returns the text, without the type of a constant, of an attribute of floats of which xDSL's text would lose bits, else None."""
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        return dense_text(cast("DenseIntOrFPElementsAttr[Any]", attribute))
    if isinstance(attribute, DenseArrayBase):
        return array_text(cast("DenseArrayBase[Any]", attribute))
    if isinstance(attribute, FloatData) and "." not in str(attribute.data):
        return f"#{attribute.name}<{float_text(attribute.data, f64)}>"
    return None


_PROBE = "flambeau.printer.probe"
_OMITTING: dict[type[Operation], bool] = {ModuleOp: False, FuncOp: False}
"""Whether the custom syntax of a class omits attributes that it does not know."""


def _omits_attributes(op: Operation) -> bool:
    """Returns whether an operation's custom syntax would omit some of its attributes, as with some xDSL operations."""
    if type(op).print is Operation.print:
        return False
    if isinstance(op, FuncOp) and not op.body.blocks:
        return op.arg_attrs is not None or op.res_attrs is not None
    if op.name == "scf.execute_region" and not op.results:
        return True  # xDSL omits the terminator, and its parser does not add it again
    if op.regions and op.has_trait(SingleBlockImplicitTerminator, value_if_unregistered=False):
        lasts = [block.last_op for region in op.regions for block in region.blocks]
        if any(last is not None and last.attributes for last in lasts):
            return True
    if not op.attributes:
        return False
    omitting = _OMITTING.get(type(op))
    if omitting is None:
        omitting = _OMITTING[type(op)] = _omits_probe(op)
    return omitting


def _omits_probe(op: Operation) -> bool:
    """Returns whether the printed text omits an unknown attribute."""
    op.attributes[_PROBE] = UnitAttr()
    try:
        stream = StringIO()
        Printer(stream).print_op(op)
        return _PROBE not in stream.getvalue()
    finally:
        del op.attributes[_PROBE]
