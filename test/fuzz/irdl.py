"""Dialects in random IRDL, damaged: errors are for people, and what is accepted judges operations without stumbling.

A case is IRDL, a marker line, and operations of the dialect; before the damage, `mlir-opt` reads both, and tests compare what it says.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.dialects.irdl.load import read_irdl
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.support.position import Position
from fuzz.campaign import Campaign, Failure
from fuzz.mutation import changed

MARKER = "// -----\n"
_TYPES = ("i32", "i64", "f32", "index", "tensor<2xf32>")
_OWN_TYPES = ("!d.unit", "!d.box<i32>", "!d.box<f32>", "!d.box<!d.box<i32>>", "!d.num<i32>", "!d.num<f32>")
_ATTRIBUTES = ("3 : i32", '"foo"', "unit", "true", "[1]", "@f", "1.0 : f32")
_OWN_ATTRIBUTES = ("#d.pair<i32, i32>", '#d.pair<"a", "a">', "#d.two<i32, f32>")
_BASES = {
    "!builtin.integer": ("i32", "i64"),
    "!builtin.tensor": ("tensor<2xf32>",),
    "!builtin.f32": ("f32",),
    "#builtin.integer": ("3 : i32", "true"),
    "#builtin.string": ('"foo"',),
    "#builtin.type": (*_TYPES, *_OWN_TYPES),
    "#builtin.array": ("[1]",),
    "#builtin.symbol_ref": ("@f",),
}
"""What is of each kind."""
_KINDS = {"!unit": 0, "!box": 1, "!num": 1, "#pair": 2, "#two": 2}
"""How many parameters each kind of the dialect has."""
DECLARED = """\
  irdl.type @unit
  irdl.type @box { %0 = irdl.any irdl.parameters(%0) }
  irdl.type @num { %0 = irdl.is i32 %1 = irdl.is f32 %2 = irdl.any_of(%0, %1) irdl.parameters(%2) }
  irdl.attribute @pair { %0 = irdl.any irdl.parameters(%0, %0) }
  irdl.attribute @two { %0 = irdl.any %1 = irdl.any irdl.parameters(%0, %1) }
"""


@dataclass(frozen=True)
class _Constraint:
    """`irdl.is`, and so on: the operation, what it names, the constraints that it is made of."""

    op: str
    name: str = ""
    parts: tuple[int, ...] = ()

    def text(self) -> str:
        parts = ", ".join(f"%{part}" for part in self.parts)
        if self.op in ("any_of", "all_of"):
            return f"irdl.{self.op}({parts})"
        name = f"@d::@{self.name[1:]}" if self.name in _KINDS else f'"{self.name}"' if self.op == "base" else self.name
        return f"irdl.parametric {name}<{parts}>" if self.op == "parametric" else f"irdl.{self.op} {name}"


class RandomOperation:
    """The declaration of an operation, and operations that may be as it says."""

    def __init__(self, rng: random.Random, name: str):
        self.name = name
        self._rng = rng
        self._constraints: list[_Constraint] = []
        for _ in range(rng.randint(1, 6)):
            self._constraints.append(self._constraint())
        self._operands = [(self._any(), self._variadicity()) for _ in range(rng.randint(0, 3))]
        self._results = [(self._any(), self._variadicity()) for _ in range(rng.randint(0, 2))]
        self._attributes = {f"a{index}": self._any() for index in range(rng.choice((0, 0, 1, 2)))}
        self._regions = [self._region() for _ in range(rng.choice((0, 0, 0, 1, 2)))]

    def _any(self) -> int:
        return self._rng.randrange(len(self._constraints))

    def _variadicity(self) -> str:
        return self._rng.choice(("single", "single", "optional", "variadic"))

    def _region(self) -> tuple[list[int] | None, int | None]:
        arguments = [self._any() for _ in range(self._rng.randint(0, 2))]
        return self._rng.choice((None, arguments, arguments)), self._rng.choice((None, None, 1, 2))

    def _constraint(self) -> _Constraint:
        rng = self._rng
        op = rng.choice(("is", "any", "any", "base", "base", "parametric", "any_of", "all_of"))
        if op == "is":
            return _Constraint(op, rng.choice((*_TYPES, *_ATTRIBUTES)))
        if op == "base":
            return _Constraint(op, rng.choice((*_BASES, *_KINDS)))
        if op == "any" or not self._constraints:
            return _Constraint("any")
        if op == "parametric":
            name = rng.choice(tuple(_KINDS))
            return _Constraint(op, name, tuple(self._any() for _ in range(_KINDS[name])))
        return _Constraint(op, parts=tuple(self._any() for _ in range(rng.randint(1, 3))))

    def declaration(self) -> str:
        """In IRDL, as MLIR 19 writes it."""
        lines = [f"%{index} = {constraint.text()}" for index, constraint in enumerate(self._constraints)]
        for what, entries in (("operands", self._operands), ("results", self._results)):
            if entries:
                lines.append(f"irdl.{what}({', '.join(f'{variadicity} %{index}' for index, variadicity in entries)})")
        if self._attributes:
            entries = [f'"{name}" = %{index}' for name, index in self._attributes.items()]
            lines.append(f"irdl.attributes {{{', '.join(entries)}}}")
        for number, (arguments, size) in enumerate(self._regions):
            listed = "" if arguments is None else f"({', '.join(f'%{index}' for index in arguments)})"
            lines.append(f"%r{number} = irdl.region{listed}{'' if size is None else f' with size {size}'}")
        if self._regions:
            lines.append(f"irdl.regions({', '.join(f'%r{number}' for number in range(len(self._regions)))})")
        return "\n".join([f"  irdl.operation @{self.name} {{", *(f"    {line}" for line in lines), "  }", ""])

    # Operations

    def _seldom(self, chance: float = 0.04) -> bool:
        return self._rng.random() < chance

    def _fitting(self, index: int, chosen: dict[int, str]) -> str:
        """What a constraint may stand for, given what others do."""
        if index not in chosen:
            chosen[index] = self._choose(self._constraints[index], chosen)
        return chosen[index]

    def _choose(self, constraint: _Constraint, chosen: dict[int, str]) -> str:
        rng = self._rng
        match constraint.op:
            case "is":
                return constraint.name
            case "base" if constraint.name in _BASES:
                return rng.choice(_BASES[constraint.name])
            case "base":
                return _made(constraint.name, [rng.choice(("i32", "f32")) for _ in range(_KINDS[constraint.name])])
            case "parametric":
                return _made(constraint.name, [self._fitting(part, chosen) for part in constraint.parts])
            case "any_of":
                return self._fitting(rng.choice(constraint.parts), chosen)
            case "all_of":
                return self._fitting(constraint.parts[0], chosen)
            case _:
                return rng.choice((*_TYPES, *_OWN_TYPES) if not self._seldom(0.2) else (*_ATTRIBUTES, *_OWN_ATTRIBUTES))

    def _type(self, index: int, chosen: dict[int, str]) -> str:
        found = self._fitting(index, chosen)
        return found if (found.startswith("!") or found in _TYPES) and not self._seldom() else self._rng.choice((*_TYPES, *_OWN_TYPES))

    def _group(self, entries: Sequence[tuple[int, str]], chosen: dict[int, str]) -> tuple[list[int], list[str]]:
        """How many values each entry stands for, and their types."""
        rng = self._rng
        sizes: list[int] = []
        types: list[str] = []
        for index, variadicity in entries:
            size = {"single": 1, "optional": rng.randint(0, 1), "variadic": rng.randint(0, 3)}[variadicity]
            sizes.append(max(0, size + rng.choice((-1, 1))) if self._seldom() else size)
            types += [self._type(index, chosen) for _ in range(sizes[-1])]
        return sizes, types

    def instance(self) -> str:
        """A function around an operation that is often, but not always, as declared."""
        rng = self._rng
        chosen: dict[int, str] = {}
        operand_sizes, operands = self._group(self._operands, chosen)
        result_sizes, results = self._group(self._results, chosen)
        attributes = {name: self._fitting(index, chosen) for name, index in self._attributes.items() if not self._seldom()}
        for name in attributes:
            if self._seldom():
                attributes[name] = rng.choice((*_ATTRIBUTES, *_OWN_ATTRIBUTES, *_TYPES))
        for what, entries, sizes in (("operand", self._operands, operand_sizes), ("result", self._results, result_sizes)):
            if sum(variadicity != "single" for _, variadicity in entries) > 1 and not self._seldom():
                listed = ", ".join(map(str, [*sizes, 0] if self._seldom() else sizes))
                attributes[f"{what}_segment_sizes"] = f"array<{'i64' if self._seldom() else 'i32'}: {listed}>"
        if self._seldom(0.1):
            attributes["extra"] = "unit"
        regions = [self._body(number, region, chosen) for number, region in enumerate(self._regions)]
        if self._seldom():
            regions.append("{}")
        values = ", ".join(f"%x{number}" for number in range(len(operands)))
        named = f"%y:{len(results)} = " if results else ""
        listed = f" ({', '.join(regions)})" if regions else ""
        shown = f" {{{', '.join(f'{name} = {value}' for name, value in attributes.items())}}}" if attributes else ""
        types = f"({', '.join(operands)}) -> ({', '.join(results)})"
        arguments = f"({', '.join(f'%x{number}: {kind}' for number, kind in enumerate(operands))})"
        return (
            f'func.func @f{arguments} {{\n  {named}"d.{self.name}"({values}){listed}{shown} : {types}\n  "func.return"() : () -> ()\n}}\n'
        )

    def _body(self, number: int, region: tuple[list[int] | None, int | None], chosen: dict[int, str]) -> str:
        rng = self._rng
        arguments, size = region
        types = [rng.choice(_TYPES) for _ in range(rng.randint(0, 1))] if arguments is None else [self._type(i, chosen) for i in arguments]
        if self._seldom():
            types = types[1:]
        blocks: list[str] = []
        for block in range((size or rng.choice((0, 1, 1, 2))) + self._seldom()):
            given = [] if block else [f"%b{number}_{index}: {kind}" for index, kind in enumerate(types)]
            listed = f"({', '.join(given)})" if given else ""
            blocks.append(f'^bb{block}{listed}:\n  "llvm.unreachable"() : () -> ()\n')
        return f"{{\n{''.join(blocks)}}}"


def _made(kind: str, parameters: list[str]) -> str:
    listed = f"<{', '.join(parameters)}>" if parameters else ""
    return f"{kind[0]}d.{kind[1:]}{listed}"


def declared(operations: Sequence[RandomOperation]) -> str:
    """The dialect of these operations."""
    return f"irdl.dialect @d {{\n{DECLARED}{''.join(op.declaration() for op in operations)}}}\n"


def is_accepted(operation: RandomOperation) -> bool:
    """Whether a declaration is one: random choices of `irdl.any_of` may be of one kind."""
    try:
        read_irdl(declared([operation]), FlambeauContext())
    except IRError:
        return False
    return True


def make(rng: random.Random) -> str:
    """A dialect, damaged, and an operation of it."""
    operation = RandomOperation(rng, "go")
    text = changed(declared([operation]), rng) if rng.random() < 0.9 else declared([operation])
    return text + MARKER + operation.instance()


def _look_at(error: IRError, text: str) -> None:
    for diagnostic in error.diagnostics:
        if not diagnostic.message or "\n" in diagnostic.message or "make sense" in diagnostic.message:
            raise Failure("a message for nobody", diagnostic.message) from error
        _look_at_position(diagnostic.position, text)


def _look_at_position(position: Position | None, text: str) -> None:
    lines = text.split("\n")
    if position and not (1 <= position.line <= len(lines) and 1 <= position.column <= len(lines[position.line - 1]) + 1):
        raise Failure("position outside of the text", str(position))


def check(case: str) -> str:
    """Reads the dialect, and with it the operation."""
    text, _, use = case.rpartition(MARKER)
    context = FlambeauContext()
    try:
        dialects = read_irdl(text, FlambeauContext())
    except IRError as error:
        _look_at(error, text)
        return "refused"
    for dialect in dialects:
        if dialect.name not in context.registered_dialect_names:
            context.register_dialect(dialect.name, lambda dialect=dialect: dialect)
    try:
        verify_parsed(parse_module(use, context))
    except IRError as error:
        _look_at(error, use)
        return "invalid"
    return "valid"


CAMPAIGN = Campaign(make, check)
