"""The variables of a C file: declared once for each content where they are constant, with names that say what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_OpaqueAttr, EmitC_OpaqueType
from xdsl.ir import Attribute

from flambeau.dialects.emitc import GlobalOp
from flambeau.dialects.emitc.c_names import c_name


def opaque(type: str) -> EmitC_OpaqueType:
    """Returns the type that C calls `type`."""
    return EmitC_OpaqueType(StringAttr(type))


def array(type: str, length: int) -> EmitC_ArrayType:
    """Returns the type of arrays of `length` of what C calls `type`."""
    return EmitC_ArrayType([length], opaque(type))


def text(value: str) -> EmitC_OpaqueAttr:
    """Returns an attribute that is printed as it is."""
    return EmitC_OpaqueAttr(StringAttr(value))


@dataclass
class Declarations:
    """The variables of a file, in the order in which they were declared."""

    ops: list[GlobalOp] = field(default_factory=list[GlobalOp])
    _taken: dict[str, int] = field(default_factory=dict[str, int])
    _known: dict[tuple[Attribute, str], str] = field(default_factory=dict[tuple[Attribute, str], str])

    def reserve(self, wanted: str) -> str:
        """Returns a name like `wanted` that no variable has."""
        name = c_name(wanted)
        count = self._taken.get(name)
        if count is None:
            self._taken[name] = 1
            return name
        while f"{name}_{count}" in self._taken:
            count += 1
        self._taken[name] = count + 1
        return self.reserve(f"{name}_{count}")

    def variable(self, wanted: str, type: Attribute, value: str | None, specifiers: Sequence[str] = ("static",)) -> str:
        """Declares a variable; returns its name. Zeros without a value."""
        name = self.reserve(wanted)
        self.ops.append(GlobalOp(name, type, None if value is None else text(value), specifiers))
        return name

    def constant(self, wanted: str, type: Attribute, value: str, qualifiers: Sequence[str] = ("const",)) -> str:
        """Returns the name of a constant of this content, and declares it if there is none."""
        key = (type, value)
        if key not in self._known:
            self._known[key] = self.variable(wanted, type, value, ("static", *qualifiers))
        return self._known[key]

    def numbers(self, wanted: str, type: str, numbers: Sequence[int]) -> str:
        """Returns the name of a constant array of numbers; it has one element where there are none, because C has no empty arrays."""
        written = [str(number) for number in numbers] or ["0"]
        name = "_".join([wanted, *(str(number).replace("-", "m") for number in numbers)])
        return self.constant(name if len(name) < 40 else wanted, array(type, len(written)), f"{{{', '.join(written)}}}")
