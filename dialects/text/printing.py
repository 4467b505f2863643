"""Operations as text for people: what `flambeau-opt` prints on request, between passes and in its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from itertools import chain, count
from typing import IO, Any, Self, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.edge.layout import LayoutAttr
from flambeau.dialects.text.printer import ModulePrinter


@dataclass(frozen=True)
class PrintingOptions:
    """How to print."""

    generic: bool = False
    """The generic form of every operation."""
    locations: bool = False
    """Locations of operations and block arguments."""
    elide_above: int | None = None
    """Constants of more elements are printed as `dense_resource<__elided__>`, a stand-in of the same type; None prints all."""
    elide_resources_above: int | None = None
    """Resources whose text is longer are not printed after the module; None prints all."""
    unique_names: bool = False
    """No two values of the module have one name, not even in different functions."""
    users: bool = False
    """Comments say which operations use each value; names are unique then too."""
    irdl: Callable[[Operation], Operation] | None = None
    """Gives what is printed in the place of an operation (`for_irdl`), in the generic form that MLIR reads with dialects
    from IRDL: properties among the attributes, parameters as a plain list."""


class OptionsPrinter(ModulePrinter):
    """Prints as its options say. A constant that repeats a single element is short and stays."""

    options: PrintingOptions = PrintingOptions()

    @classmethod
    def make(cls, stream: IO[str], options: PrintingOptions) -> Self:
        """A printer with these options."""
        printer = cls(
            stream,
            print_generic_format=options.generic or options.irdl is not None,
            print_properties_as_attributes=options.irdl is not None,
            print_debuginfo=options.locations,
        )
        printer.options = options
        return printer

    def enter_scope(self) -> None:
        """Begins an operation whose names are its own."""
        if not self.options.unique_names:
            super().enter_scope()

    def exit_scope(self) -> None:
        """Ends such an operation."""
        if not self.options.unique_names:
            super().exit_scope()

    def print_all(self, op: Operation) -> None:
        """Prints an operation, the resources that it mentions, and a line break."""
        self.print_op(op)
        if (limit := self.options.elide_resources_above) is not None:
            resources = Builtin.get_interface(OpAsmDialectInterface)
            for keys in self._dialect_resources.values():
                keys -= {key for key, text in resources.build_resources(keys).items() if len(text) > limit} if resources else set()
        self.print_metadata((Builtin,))
        self.print_string("\n")

    def print_attribute(self, attribute: Attribute) -> None:
        """Prints an attribute."""
        if self.options.irdl is not None and isinstance(attribute, LayoutAttr):
            self.print_string(f"#{attribute.name}<{list(attribute.dim_order)}, {list(attribute.upper_bounds)}>")
            return
        kind = self._elided(attribute)
        if kind is None:
            super().print_attribute(attribute)
            return
        self.print_string("dense_resource<__elided__> : ")
        super().print_attribute(kind)

    def _elided(self, attribute: Attribute) -> Attribute | None:
        """The type of an attribute that is too large to print."""
        if self.options.elide_above is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
            return None
        dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
        return dense.type if len(dense) > self.options.elide_above and not dense.is_splat() else None


def operation_text(op: Operation, options: PrintingOptions | None = None) -> str:
    """The text of an operation and what is inside it, with a line break at the end.

    An operation that is not valid may be in a state that its own syntax cannot say; it is then printed in the generic form.
    """
    options = options or PrintingOptions()
    try:
        return strict_text(op, options)
    except Exception:
        if options.generic:
            raise
        return strict_text(op, replace(options, generic=True))


def strict_text(op: Operation, options: PrintingOptions) -> str:
    """As `operation_text`; whatever the syntax of an operation raises is an error."""
    if options.irdl is not None:
        op = options.irdl(op)
    stream = StringIO()
    if options.users:
        printer = _UsersPrinter.make(stream, options)
        printer.name_all(op, {})
    else:
        printer = OptionsPrinter.make(stream, options)
    printer.print_all(op)
    return stream.getvalue()


class TextWithNames:
    """The text of an operation in which each value that an earlier text showed keeps its name from there."""

    def __init__(self, op: Operation, options: PrintingOptions, earlier: TextWithNames | None = None):
        stream = StringIO()
        printer = _NamingPrinter.make(stream, options)
        known: dict[SSAValue, str] = {} if earlier is None else earlier.names
        if any(value in known for value in _values(op)):
            printer.name_all(op, known)
        printer.print_op(op)
        self.text = stream.getvalue()
        self.names: dict[SSAValue, str] = known | printer.names


class _NamingPrinter(OptionsPrinter):
    @property
    def names(self) -> dict[SSAValue, str]:
        return self._ssa_values

    def name_all(self, op: Operation, names: Mapping[SSAValue, str]) -> None:
        """Gives every value inside `op` its name from `names`, or one that is not among them."""
        used = set(names.values())
        number = 1 + max((int(name) for name in used if name.isdecimal()), default=-1)
        for value in _values(op):
            name = names.get(value)
            if name is None and (hint := value.name_hint):
                name = next(text for text in chain([hint], (f"{hint}_{index}" for index in count(1))) if text not in used)
            elif name is None:
                name = str(number)
                number += 1
            used.add(name)
            self._ssa_values[value] = name


class _UsersPrinter(_NamingPrinter):
    """Says in comments who uses what; every value has its name already."""

    def name_all(self, op: Operation, names: Mapping[SSAValue, str]) -> None:
        super().name_all(op, names)
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
        """The operations that use a value, by their first result, or by name when they have none."""
        # Between passes, an operation that stands nowhere any more may still be a user.
        users = sorted({use.operation for use in value.uses}, key=lambda op: self._order.get(op, len(self._order)))
        names = [f"%{self._ssa_values[op.results[0]]}" if op.results and op in self._order else op.name for op in users]
        return f"users: {', '.join(names)}" if names else "unused"


def _values(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.results
        for region in inner.regions:
            for block in region.blocks:
                yield from block.args
