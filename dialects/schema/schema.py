"""Operator schemas, as PyTorch writes them: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.

The grammar is that of `torch._C.FunctionSchema`; this module needs no torch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property

from flambeau.dialects.ir.attribute_values import Value
from flambeau.support.suggestions import did_you_mean


class SchemaError(ValueError):
    """A schema string that does not follow the grammar."""


@dataclass(frozen=True)
class SchemaType:
    """The type of an argument or a return: `base`, perhaps in a list, perhaps optional, perhaps an alias."""

    base: str
    """`Tensor`, `int` (also for SymInt), `float`, `bool`, `Scalar`, `str`, `ScalarType`, `MemoryFormat`, `Layout`, `Device`, …"""
    is_list: bool = False
    list_size: int | None = None
    """N of `int[N]`: a single number is repeated N times."""
    optional: bool = False
    element_optional: bool = False
    """True for `Tensor?[]`: elements may be None."""
    alias: str | None = None
    """The alias set, `a` of `Tensor(a)`."""
    mutated: bool = False
    """True for `Tensor(a!)`."""

    @property
    def is_tensor(self) -> bool:
        """A tensor or a list of tensors: an operand, not an attribute."""
        return self.base == "Tensor"

    @property
    def plain(self) -> SchemaType:
        """The type without its alias annotations."""
        return replace(self, alias=None, mutated=False)


@dataclass(frozen=True)
class SchemaArgument:
    """One argument of a schema."""

    name: str
    type: SchemaType
    default: Value = None
    has_default: bool = False
    keyword_only: bool = False

    @property
    def may_be_absent(self) -> bool:
        """A caller need not give it."""
        return self.has_default or self.type.optional


@dataclass(frozen=True)
class Schema:
    """An operator overload: its name, arguments and returns."""

    namespace: str
    base: str
    overload: str
    arguments: tuple[SchemaArgument, ...]
    returns: tuple[SchemaType, ...]
    written: tuple[str, ...] = ()
    """The arguments that its kernel writes, of an operator whose last results are their new values."""
    kernel: Schema | None = None
    """The schema of that kernel."""
    out_overload: str = ""
    """The overload of its out-variant, where that is not its own name with `_out`."""

    @cached_property
    def name(self) -> str:
        """`add.Tensor`; the default overload has no suffix."""
        return f"{self.base}.{self.overload}" if self.overload else self.base

    @cached_property
    def qualified_name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.namespace}::{self.name}"

    @cached_property
    def mutates(self) -> bool:
        """Some argument is written."""
        return any(argument.type.mutated for argument in self.arguments)

    @cached_property
    def is_view(self) -> bool:
        """The results share memory with an argument and nothing is written (`view`, `permute`, …)."""
        return not self.mutates and any(result.alias is not None for result in self.returns)

    @cached_property
    def operands(self) -> tuple[SchemaArgument, ...]:
        """The arguments that are tensors."""
        return tuple(argument for argument in self.arguments if argument.type.is_tensor)

    @cached_property
    def has_segments(self) -> bool:
        """Some tensor argument is a list or optional, so that the operands alone do not say which is whose."""
        return any(argument.type.is_list or argument.type.optional for argument in self.operands)

    @cached_property
    def attributes(self) -> dict[str, SchemaArgument]:
        """The arguments that are not tensors, by name."""
        return {argument.name: argument for argument in self.arguments if not argument.type.is_tensor}

    @cached_property
    def backend_flags(self) -> frozenset[str]:
        """The arguments that choose between PyTorch's own backends, such as `cudnn_enable`: they mean nothing outside of PyTorch."""
        if self.namespace != "aten":
            return frozenset()
        return frozenset(argument.name for argument in self.arguments if argument.type.base == "bool" and argument.name in _BACKEND_FLAGS)

    @cached_property
    def outs(self) -> tuple[SchemaArgument, ...]:
        """The written keyword-only arguments of an out-variant."""
        outs = (argument for argument in self.arguments if argument.keyword_only and argument.type.mutated)
        return tuple(argument for argument in outs if argument.name not in self.written)

    def renamed(self, base: str) -> Schema:
        """Returns the same signature under another base name, without alias annotations (`view` -> `view_copy`)."""
        arguments = tuple(replace(argument, type=replace(argument.type, alias=None)) for argument in self.arguments)
        return Schema(self.namespace, base, self.overload, arguments, tuple(replace(r, alias=None) for r in self.returns))

    def functional(self) -> Schema:
        """Returns the functional form of an operator that writes to arguments: the new values of these arguments are its last results.

        Its kernel has the name and the arguments of the operator, and one out more for each result that is not such an argument.
        """
        written = tuple(argument for argument in self.arguments if argument.type.mutated)
        names = tuple(argument.name for argument in written)
        computed = tuple(kind for kind in self.returns if not kind.mutated)
        outs = tuple(
            SchemaArgument("out" if len(computed) == 1 else f"out{index}", replace(kind, mutated=True), keyword_only=True)
            for index, kind in enumerate(computed)
        )
        overload = self.overload if not outs else f"{self.overload}_out" if self.overload else "out"
        kernel = replace(self, overload=overload, arguments=(*self.arguments, *outs), written=names)
        arguments = tuple(replace(argument, type=argument.type.plain) for argument in self.arguments)
        returns = (*computed, *(argument.type.plain for argument in written))
        return replace(self, arguments=arguments, returns=returns, written=names, kernel=kernel)


_BACKEND_FLAGS = frozenset({"allow_tf32", "benchmark", "cudnn_enable", "cudnn_enabled", "deterministic"})
_SCHEMA = re.compile(r"^(?:(?P<namespace>\w+)::)?(?P<base>\w+)(?:\.(?P<overload>\w+))?\((?P<arguments>.*)\) -> (?P<returns>.+)$")
_TYPE = re.compile(r"^(?P<base>\w+)(?:\((?P<alias>[^)]*)\))?(?P<inner>\?)?(?P<list>\[\d*\])?(?:\([^)]*\))?(?P<optional>\?)?$")
_KNOWN = frozenset(
    {"Any", "AnyEnumType", "Device", "Dict", "Future", "Generator", "Layout", "MemoryFormat", "QScheme", "RRef", "Scalar", "ScalarType"}
    | {"Storage", "Stream", "SymBool", "SymInt", "Tensor", "bool", "complex", "float", "int", "number", "str"}
)
"""The types that PyTorch's schemas name, beside variables (`t`, `tVal`), tuples and classes of TorchScript (`__torch__.…`)."""
_VARIABLE = re.compile(r"t\d?|tVal")
_BASES = {"SymInt": "int", "SymBool": "bool", "number": "Scalar", "Scalar": "Scalar"}


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    quoted = False
    current = ""
    for character in text:
        if character in "\"'":
            quoted = not quoted
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0 and not quoted:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return parts


def _parse_type(text: str) -> SchemaType:
    match = _TYPE.match(text)
    if match is None:
        if text and not text.startswith(("(", "__torch__.")):
            raise SchemaError(f"there is no type {text!r} in schemas")
        return SchemaType(base=text)
    alias, in_list = match["alias"], match["list"]
    inner, outer = match["inner"] is not None, match["optional"] is not None
    base = match["base"]
    if base not in _KNOWN and _VARIABLE.fullmatch(base) is None:
        raise SchemaError(f"there is no type {base!r} in schemas{did_you_mean(base, _KNOWN)}")
    return SchemaType(
        base=_BASES.get(base, base),
        is_list=in_list is not None,
        list_size=int(in_list[1:-1]) if in_list and in_list != "[]" else None,
        optional=outer or (inner and in_list is None),
        element_optional=inner and in_list is not None,
        alias=alias.rstrip("!").split(" ")[0].rstrip("!") if alias else None,
        mutated=bool(alias) and "!" in alias,
    )


_CONSTANTS: dict[str, Value] = {
    "None": None,
    "True": True,
    "False": False,
    "[]": (),
    "Mean": 1,
    "contiguous_format": "contiguous",
    "inf": float("inf"),
    "-inf": float("-inf"),
    "long": 4,
    "strided": 0,
}


def _parse_default(text: str, kind: SchemaType) -> Value:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return tuple(_parse_default(part, replace(kind, is_list=False)) for part in _split(text[1:-1]))
    try:
        number = float(text) if kind.base == "float" or re.search(r"[.e]", text) else int(text)
    except ValueError:
        raise SchemaError(f"default value {text!r} is not understood") from None
    return (number,) * kind.list_size if kind.is_list and kind.list_size else number


@cache
def parse_schema(text: str, namespace: str = "aten") -> Schema:
    """Parses a schema. `namespace` applies when the text names none. Raises SchemaError."""
    match = _SCHEMA.match(text)
    if match is None:
        raise SchemaError(f"not an operator schema: {text!r}")
    arguments: list[SchemaArgument] = []
    keyword_only = False
    for part in _split(match["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        left, equals, default = part.partition("=")
        kind_text, space, name = left.rpartition(" ")
        if not space and part != "...":
            raise SchemaError(f"argument {part!r} needs a type and a name, such as 'Tensor self'")
        kind = _parse_type(kind_text)
        value = _parse_default(default, kind) if equals else None
        arguments.append(SchemaArgument(name, kind, value, bool(equals), keyword_only))
    returns = match["returns"].strip()
    if returns.startswith("("):
        returns = returns[1:-1]
    kinds = tuple(_parse_type(part.rpartition(" ")[0] if re.search(r"[\])\w?] \w+$", part) else part) for part in _split(returns))
    return Schema(match["namespace"] or namespace, match["base"], match["overload"] or "", tuple(arguments), kinds)
