"""Prints operations with options: generic form, locations, elided constants, unique names, users of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from itertools import chain, count
from typing import IO, Any, Self, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.ir.extent_attribute import ExtentAttr, extent_text
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.text.float_text import is_repeated
from flambeau.dialects.text.printer import ModulePrinter


@dataclass(frozen=True)
class PrintingOptions:
    """The options for printing."""

    generic: bool = False
    """The generic form of every operation."""
    locations: bool = False
    """Locations of operations and block arguments."""
    elide_above: int | None = None
    """A constant with more elements is printed as `dense_resource<__elided__>` of the same type; None prints all."""
    elide_resources_above: int | None = None
    """A resource with a longer text is not printed after the module; None prints all."""
    unique_names: bool = False
    """Values of different functions have different names too."""
    users: bool = False
    """Comments list the operations that use each value; names are unique then too."""
    irdl: Callable[[Operation], Operation] | None = None
    """Converts an operation before printing (`for_irdl`) to the generic form that MLIR parses with dialects from IRDL: properties among the
    attributes, parameters as a plain list."""


class OptionsPrinter(ModulePrinter):
    """A printer with `PrintingOptions`. It never elides a constant that repeats one element, which is short."""

    options: PrintingOptions = PrintingOptions()

    @classmethod
    def make(cls, stream: IO[str], options: PrintingOptions) -> Self:
        """Returns a printer with these options."""
        printer = cls(
            stream,
            print_generic_format=options.generic or options.irdl is not None,
            print_properties_as_attributes=options.irdl is not None,
            print_debuginfo=options.locations,
        )
        printer.options = options
        return printer

    def enter_scope(self) -> None:
        """Begins an operation with its own scope of names."""
        if not self.options.unique_names:
            super().enter_scope()

    def exit_scope(self) -> None:
        """Ends an operation with its own scope of names."""
        if not self.options.unique_names:
            super().exit_scope()

    def print_all(self, op: Operation) -> None:
        """Prints an operation, the resources that it refers to, and a line break."""
        self.print_op(op)
        if (limit := self.options.elide_resources_above) is not None:
            resources = Builtin.get_interface(OpAsmDialectInterface)
            for keys in self._dialect_resources.values():
                keys -= {key for key, text in resources.build_resources(keys).items() if len(text) > limit} if resources else set()
        self.print_metadata((Builtin,))
        self.print_string("\n")

    def print_attribute(self, attribute: Attribute) -> None:
        """Prints an attribute."""
        if self.options.irdl is not None and isinstance(attribute, ExtentAttr):
            self.print_string(f'#{attribute.name}<"{extent_text(attribute.value)}">')
            return
        if self.options.irdl is not None and isinstance(attribute, LayoutAttr):
            sizes = ", ".join(extent_text(size) if is_known(size) else f'"{extent_text(size)}"' for size in attribute.sizes)
            self.print_string(f"#{attribute.name}<{list(attribute.dim_order)}, [{sizes}]>")
            return
        kind = self._elided(attribute)
        if kind is None:
            super().print_attribute(attribute)
            return
        self.print_string("dense_resource<__elided__> : ")
        super().print_attribute(kind)

    def _elided(self, attribute: Attribute) -> Attribute | None:
        """Returns the type of a constant to elide; None for other attributes."""
        if self.options.elide_above is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
            return None
        dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
        return dense.type if len(dense) > self.options.elide_above and not is_repeated(dense) else None


def operation_text(op: Operation, options: PrintingOptions | None = None) -> str:
    """Returns the text of an operation and its regions, with a line break at the end.

    If its custom syntax cannot print an operation that is not valid, the text is in the generic form.
    """
    options = options or PrintingOptions()
    try:
        return strict_text(op, options)
    except Exception:
        if options.generic:
            raise
        return strict_text(op, replace(options, generic=True))


def strict_text(op: Operation, options: PrintingOptions) -> str:
    """Returns the text as `operation_text` does, but raises the exceptions of an operation's custom syntax."""
    if options.irdl is not None:
        op = options.irdl(op)
    stream = StringIO()
    if options.users:
        printer = _UsersPrinter.make(stream, options)
        printer.name_all(op)
    else:
        printer = OptionsPrinter.make(stream, options)
    printer.print_all(op)
    return stream.getvalue()


class TextWithNames:
    """The text of an operation as `operation_text` prints it, but for comments, with the name of each value."""

    def __init__(self, op: Operation, options: PrintingOptions):
        printer = _PlacesPrinter.make(stream := StringIO(), options)
        if options.users:  # each name is of one value then
            printer.name_all(op)
        printer.places = []
        printer.print_op(op)
        self.text = stream.getvalue()
        self.names: Mapping[SSAValue, str] = printer.names
        self._places = printer.places

    def named_as(self, later: TextWithNames) -> str:
        """Returns the text in which each value has the name that it has in a later text, and a value that is gone has a name of its own."""
        used = set(later.names.values())
        number = 1 + max((int(name) for name in used if name.isdecimal()), default=-1)
        names = dict(later.names)
        parts: list[str] = []
        end = 0
        for start, value in self._places:
            if (name := names.get(value)) is None:
                own = self.names[value]
                wanted = chain([own], map(str, count(number)) if own.isdecimal() else (f"{own}_{index}" for index in count(1)))
                names[value] = name = next(text for text in wanted if text not in used)
                used.add(name)
            parts += [self.text[end:start], name]
            end = start + len(self.names[value])
        return "".join([*parts, self.text[end:]])


class _NamingPrinter(OptionsPrinter):
    @property
    def names(self) -> dict[SSAValue, str]:
        return self._ssa_values

    def name_all(self, op: Operation) -> None:
        """Gives every value inside `op` a name that no other has."""
        used: set[str] = set()
        numbers = map(str, count())
        for value in _values(op):
            if hint := value.name_hint:
                name = next(text for text in chain([hint], (f"{hint}_{index}" for index in count(1))) if text not in used)
            else:
                name = next(text for text in numbers if text not in used)
            used.add(name)
            self._ssa_values[value] = name


class _PlacesPrinter(_NamingPrinter):
    """Remembers where in the text it prints the name of which value."""

    places: list[tuple[int, SSAValue]]

    def print_ssa_value(self, value: SSAValue) -> str:
        name = super().print_ssa_value(value)
        assert isinstance(self.stream, StringIO)
        self.places.append((self.stream.tell() - len(name), value))
        return name


class _UsersPrinter(_NamingPrinter):
    """Prints comments with the users of each value; `name_all` must be called before."""

    def name_all(self, op: Operation) -> None:
        super().name_all(op)
        self._order = {inner: number for number, inner in enumerate(op.walk())}

    def print_op(self, op: Operation) -> None:
        block = op.parent
        if block is not None and block.first_op is op:
            for argument in block.args:
                self.print_string(f"// %{self._ssa_values[argument]} {self._users_of(argument)}")
                self._print_new_line()
        super().print_op(op)
        shown = [self._users_of(result) for result in op.results]
        if len(shown) > 1:
            shown = [f"%{self._ssa_values[result]} {users}" for result, users in zip(op.results, shown, strict=True)]
        if shown:
            self.print_string(f" // {'; '.join(shown)}")

    def _users_of(self, value: SSAValue) -> str:
        """Returns the users of a value: their first results, or the names of operations without results."""
        # Between passes, a detached operation may still be a user.
        users = sorted({use.operation for use in value.uses}, key=lambda op: self._order.get(op, len(self._order)))
        names = [f"%{self._ssa_values[op.results[0]]}" if op.results and op in self._order else op.name for op in users]
        return f"users: {', '.join(names)}" if names else "unused"


def _values(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.results
        for region in inner.regions:
            for block in region.blocks:
                yield from block.args
