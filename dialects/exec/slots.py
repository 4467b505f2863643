"""Tensor slots: constants, states, views and planned buffers. All slots of a method are declared before its instructions."""

from abc import ABC, abstractmethod
from math import prod
from typing import Self, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import BaseAttr, IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.ir.tensor_types import dtype_of

TENSOR = BaseAttr(TensorType)
INTEGER = BaseAttr(IntegerAttr)


def element_size(type: Attribute) -> int:
    """Returns bytes of one element. Raises TypeError for a type that a program's tensors cannot have."""
    return dtype_of(cast("TensorType[Attribute]", type).element_type).size


MOST_ELEMENTS = 2**31 - 1
"""The most elements of a tensor of a program, where empty dimensions count as one: the runtime has them in 32 bits."""


def nbytes(type: Attribute) -> int:
    """Returns a tensor's bytes at its upper bounds. Raises TypeError for a dimension without a bound, or above MOST_ELEMENTS elements."""
    bounds = upper_bounds(type)
    elements = prod(max(extent, 1) for extent in bounds)
    if elements > MOST_ELEMENTS:
        raise TypeError(f"{type} has {elements} elements, more than the 2^31 - 1 that a tensor of a program can have")
    return element_size(type) * prod(bounds)


class SlotOp(IRDLOperation, ABC):
    """The declaration of one value of a method, its only result `slot`. The order of the declarations gives the index of each."""


class TensorSlotOp(SlotOp, ABC):
    """A slot that holds a tensor."""

    slot = result_def(TENSOR)

    def verify_(self) -> None:
        """Checks that the size is known, and that the place is within its arena or source."""
        try:
            fault = self._fault(nbytes(self.slot.type), element_size(self.slot.type))
        except TypeError as error:
            fault = f"cannot be a slot: {error}"
        if fault is not None:
            raise VerifyException(f"{syntax.describe(self.slot)} {fault}")

    def _fault(self, size: int, element: int) -> str | None:
        """Returns the error, if any, in the place of a slot of `size` bytes: the end of a message that begins with the slot's name."""
        return None


class PlacedOp(TensorSlotOp, ABC):
    """A tensor slot that may have its own place in an arena.

    Without a place it is not planned yet, or the caller provides its memory at run time.
    """

    arena = opt_prop_def(INTEGER)
    offset = opt_prop_def(INTEGER)

    @property
    def place(self) -> tuple[int, int] | None:
        """Arena (from 1) and offset in bytes; None without a place."""
        if self.arena is None or self.offset is None:
            return None
        return _number(self.arena), _number(self.offset)

    @place.setter
    def place(self, place: tuple[int, int] | None) -> None:
        self.arena = None if place is None else syntax.integer(place[0])
        self.offset = None if place is None else syntax.integer(place[1])

    def _fault(self, size: int, element: int) -> str | None:
        if (self.arena is None) != (self.offset is None):
            return "has only one of arena and offset: give both, or neither to leave it unplanned"
        method = self.parent_op()
        if self.place is None or method is None:
            return None
        arena, offset = self.place
        declared = method.properties.get("arenas")
        if declared is None:
            return f"is in arena {arena}, but its method has no `arenas`: declare them"
        arenas = syntax.numbers(declared)
        if not 1 <= arena <= len(arenas):
            return f"is in arena {arena}, but its method has {len(arenas)} arena{'s' if len(arenas) != 1 else ''}, counted from 1"
        if offset < 0 or offset + size > arenas[arena - 1]:
            return f"takes bytes {offset} to {offset + size} of arena {arena}, which has {arenas[arena - 1]}"
        if offset % element:
            return f"starts at byte {offset} of arena {arena}, which is not a multiple of its element size {element}"
        return None


def _number(attribute: Attribute) -> int:
    return cast("IntegerAttr[IntegerType]", attribute).value.data


def _place_properties(arena: int | None, offset: int | None) -> dict[str, Attribute | None]:
    return {
        "arena": None if arena is None else syntax.integer(arena),
        "offset": None if offset is None else syntax.integer(offset),
    }


PLACE: dict[str, syntax.Kind] = {"arena": syntax.parse_integer, "offset": syntax.parse_integer}


@irdl_op_definition
class TensorOp(PlacedOp):
    """`%x = exec.tensor {arena = 1, offset = 0} : tensor<1x3xf32>`: a tensor that instructions or the caller write."""

    name = "exec.tensor"

    def __init__(self, type: Attribute, arena: int | None = None, offset: int | None = None):
        super().__init__(result_types=[type], properties=_place_properties(arena, offset))

    def print(self, printer: Printer) -> None:
        """Prints `{arena = 1, offset = 0} : type`."""
        syntax.print_braces(printer, {"arena": self.arena, "offset": self.offset}, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        properties, attributes = syntax.parse_braces(parser, PLACE)
        return cls.create(result_types=[_parse_type(parser)], properties=properties, attributes=attributes)


@irdl_op_definition
class ExternalOp(TensorSlotOp):
    """`%x = exec.external : tensor<1x3xf32>`: an input or output in the caller's memory.

    The slot never has a place in an arena, and other slots cannot share its memory. Writes to the slot write the caller's tensor.
    """

    name = "exec.external"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def print(self, printer: Printer) -> None:
        """Prints `{attributes} : type`."""
        syntax.print_braces(printer, {}, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        _, attributes = syntax.parse_braces(parser, {})
        return cls.create(result_types=[_parse_type(parser)], attributes=attributes)


def _print_type(printer: Printer, slot: SSAValue) -> None:
    printer.print_string(" : ")
    printer.print_attribute(slot.type)


def _parse_type(parser: Parser) -> Attribute:
    parser.parse_punctuation(":")
    return parser.parse_type()


def symbol(name: str | SymbolRefAttr) -> SymbolRefAttr:
    """Returns a reference to a symbol of the module."""
    return SymbolRefAttr(name) if isinstance(name, str) else name


@irdl_op_definition
class ConstantOp(TensorSlotOp):
    """`%w = exec.constant @w : tensor<3xf32>`: the bytes of a constant `ml_program.global`, without a copy."""

    name = "exec.constant"

    global_name = prop_def(SymbolRefAttr)

    def __init__(self, global_name: str | SymbolRefAttr, type: Attribute):
        super().__init__(result_types=[type], properties={"global_name": symbol(global_name)})

    def print(self, printer: Printer) -> None:
        """Prints `@w {attributes} : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.global_name)
        syntax.print_braces(printer, {}, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        name = _parse_symbol(parser)
        _, attributes = syntax.parse_braces(parser, {})
        return cls.create(result_types=[_parse_type(parser)], properties={"global_name": name}, attributes=attributes)


def _parse_symbol(parser: Parser) -> SymbolRefAttr:
    return SymbolRefAttr(parser.parse_symbol_name())


@irdl_op_definition
class StateOp(PlacedOp):
    """`%s = exec.state @counter {arena = 1, offset = 64} : tensor<1xi64>`: a tensor that keeps its bytes between calls.

    Its first value is that of a mutable `ml_program.global`, and zeros if the global has none. Methods that name one global have one state.
    Applications find the state in the runtime by its `qualified_name`, by default the name of the global; "" means no name.
    """

    name = "exec.state"

    global_name = prop_def(SymbolRefAttr)
    qualified_name = opt_prop_def(StringAttr)

    def __init__(
        self,
        global_name: str | SymbolRefAttr,
        type: Attribute,
        arena: int | None = None,
        offset: int | None = None,
        qualified_name: str | None = None,
    ):
        name = None if qualified_name is None else StringAttr(qualified_name)
        properties = {"global_name": symbol(global_name), "qualified_name": name, **_place_properties(arena, offset)}
        super().__init__(result_types=[type], properties=properties)

    @property
    def public_name(self) -> str:
        """The name by which applications find it; "" for none."""
        return self.global_name.string_value() if self.qualified_name is None else self.qualified_name.data

    def print(self, printer: Printer) -> None:
        """Prints `@counter {arena = 1, offset = 64} : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.global_name)
        properties = {"arena": self.arena, "offset": self.offset, "qualified_name": self.qualified_name}
        syntax.print_braces(printer, properties, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        name = _parse_symbol(parser)
        properties, attributes = syntax.parse_braces(parser, PLACE | {"qualified_name": syntax.parse_string})
        properties["global_name"] = name
        return cls.create(result_types=[_parse_type(parser)], properties=properties, attributes=attributes)


class AliasOp(TensorSlotOp, ABC):
    """A slot that uses the storage of another slot."""

    source = operand_def(TENSOR)

    @property
    @abstractmethod
    def byte_offset(self) -> int:
        """Its offset from the start of the source, in bytes."""

    def _fault(self, size: int, element: int) -> str | None:
        offset, room = self.byte_offset, nbytes(self.source.type)
        if offset < 0 or offset + size > room:
            return f"takes bytes {offset} to {offset + size} of {syntax.describe(self.source)}, which has {room}"
        if offset % element:
            return f"starts at byte {offset} of {syntax.describe(self.source)}, which is not a multiple of its element size {element}"
        # Each operation of a chain of reuses checks its own step only.
        root, total = _viewed(self.source)
        total += offset
        if isinstance(root.owner, ExternalOp):
            return f"lies in {syntax.describe(root)}, whose memory is the caller's: give it memory of its own"
        if isinstance(root.owner, ConstantOp):
            if isinstance(self, ReuseOp):
                return f"reuses the storage of constant {syntax.describe(root)}, which must not be written"
            if total:
                return f"starts at byte {total} of constant {syntax.describe(root)}, but .pte allows views of constants at byte 0 only"
        return None


@irdl_op_definition
class ViewOp(AliasOp):
    """`%v = exec.view %x {offset = 16} : tensor<3xf32>`: the bytes of `%x` from `offset` on as another tensor, with the same content.

    A write through either slot is visible through both slots.
    """

    name = "exec.view"

    offset = prop_def(INTEGER)

    def __init__(self, source: SSAValue | Operation, type: Attribute, offset: int = 0):
        super().__init__(operands=[source], result_types=[type], properties={"offset": syntax.integer(offset)})

    @property
    def byte_offset(self) -> int:
        """Its offset from the start of the source, in bytes."""
        return _number(self.offset)

    def print(self, printer: Printer) -> None:
        """Prints `%x {offset = 16} : type`; an offset of 0 is left out."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        syntax.print_braces(printer, {"offset": self.offset if self.byte_offset else None}, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        source = syntax.parse_slot(parser)
        properties, attributes = syntax.parse_braces(parser, {"offset": syntax.parse_integer})
        properties.setdefault("offset", syntax.integer(0))
        return cls.create(operands=[source], result_types=[_parse_type(parser)], properties=properties, attributes=attributes)


@irdl_op_definition
class ReuseOp(AliasOp):
    """`%r = exec.reuse %x : tensor<1x3xf32>`: the storage of `%x` for a new content.

    `%x` is dead after the instruction that writes `%r`; that instruction may still read it.
    """

    name = "exec.reuse"

    def __init__(self, source: SSAValue | Operation, type: Attribute):
        super().__init__(operands=[source], result_types=[type])

    @property
    def byte_offset(self) -> int:
        """Always 0."""
        return 0

    def print(self, printer: Printer) -> None:
        """Prints `%x {attributes} : type`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        syntax.print_braces(printer, {}, self.attributes)
        _print_type(printer, self.slot)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        source = syntax.parse_slot(parser)
        _, attributes = syntax.parse_braces(parser, {})
        return cls.create(operands=[source], result_types=[_parse_type(parser)], attributes=attributes)


def _viewed(slot: SSAValue) -> tuple[SSAValue, int]:
    """Returns the slot at the root of a chain of views, and the byte offset of `slot` in it."""
    offset = 0
    while isinstance(slot.owner, ViewOp):
        offset += slot.owner.byte_offset
        slot = slot.owner.source
    return slot, offset


Roots: TypeAlias = dict[SSAValue, tuple[SSAValue, int]]


def root_of(slot: SSAValue, known: Roots | None = None) -> tuple[SSAValue, int]:
    """Returns the slot at the root of a chain of views and reuses, and the byte offset of `slot` in its storage.

    `known` caches the results: pass one dictionary when you ask for many slots in the order of their declaration, since chains can be long.
    """
    root, offset = slot, 0
    while isinstance(root.owner, AliasOp):
        if known is not None and root in known:
            root, rest = known[root]
            offset += rest
            break
        offset += root.owner.byte_offset
        root = root.owner.source
    if known is not None:
        known[slot] = root, offset
    return root, offset


def place_of(slot: SSAValue, known: Roots | None = None) -> tuple[int, int] | None:
    """Returns the arena and byte offset of a planned tensor slot; None without a place. `known` is as for `root_of`."""
    root, offset = root_of(slot, known)
    place = root.owner.place if isinstance(root.owner, PlacedOp) else None
    return None if place is None else (place[0], place[1] + offset)


TENSORS: list[type[Operation]] = [TensorOp, ExternalOp, ConstantOp, StateOp, ViewOp, ReuseOp]
