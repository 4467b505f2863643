"""The pages of dialects: a table of operators with rows, a section for each other operation."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayOfConstraint
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
)
from xdsl.traits import HasParent, OpTrait

from flambeau.dialects.schema.operators import level_ops, schema_table
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.schema.schema import Schema, SchemaArgument, SchemaType
from flambeau.tools.reference.introductions import INTRODUCTIONS
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, entries_of, fenced, sections_of, summary, table

_SYNTAX = re.compile(r"`([^`]+)`(?:: (.+)|\.\n\n(.+))", re.DOTALL)
_NOUNS = {
    "array": "a list",
    "dictionary": "a dictionary",
    "float": "a number",
    "fun": "a function type",
    "int": "an integer",
    "integer": "an integer",
    "string": "a string",
    "symbol_name": "a symbol's name",
    "symbol_ref": "a symbol",
    "tensor": "a tensor",
    "unit": "nothing: there or not",
}
"""Descriptions of xDSL's attributes and types, by their name."""


def dialect_page(name: str) -> str:
    """Returns the page of a dialect: every operation, attribute and type."""
    package = importlib.import_module(f"flambeau.dialects.{name}")
    rows = load_rows()
    lines = [WRITTEN_BY, f"# `{name}`", "", summary(package), ""]
    if name in INTRODUCTIONS:
        others = sum(map(len, schema_table().values())) - len(rows["aten"])
        lines += [INTRODUCTIONS[name].strip().replace("{others}", str(others)), ""]
    if name == "core":
        lines += _core_operators()
    else:
        lines += _families(rows.get(name, {}).values(), leveled=name == "aten")
    dialect: Dialect = package.DIALECT
    # Operations of xDSL have its documentation, whose examples are parts of programs.
    attributes, operations = list(dialect.attributes), [item for item in dialect.operations if not item.__module__.startswith("xdsl.")]
    if attributes:
        lines += ["## Types and attributes", "", *_attributes(attributes)]
    for operation in operations:
        lines += operation_section(operation)
    return "\n".join(lines).rstrip() + "\n"


def _by_family(operators: Iterable[type[SchemaOp]]) -> dict[str, list[type[SchemaOp]]]:
    """Returns operators by the file of their row, both in order."""
    families: dict[str, list[type[SchemaOp]]] = {}
    for operator in sorted(operators, key=lambda operator: operator.name):
        families.setdefault(operator.__module__.rpartition(".")[2], []).append(operator)
    return dict(sorted(families.items()))


def _families(operators: Iterable[type[SchemaOp]], *, leveled: bool) -> list[str]:
    """Returns a table for each family."""
    lines: list[str] = []
    for family, members in _by_family(operators).items():
        rows: list[tuple[str, ...]] = []
        for operator in members:
            level = ("core" if operator.core else "kept" if operator.keep else "",) if leveled else ()
            name = f'<a id="{operator.name}"></a>`{operator.name}`<br>`{_signature(operator.schema)}`'
            rows.append((name, *level, summary(operator)))
        lines += [f"## {family}", "", *table(("operator", *(("level",) if leveled else ()), "computes"), rows)]
    return lines


def _core_operators() -> list[str]:
    """Returns the names by family, each with a link to its definition."""
    rows: list[tuple[str, str]] = []
    for family, members in _by_family(operator.siblings["row"] for operator in level_ops("core")).items():
        links = (f"[`{member.schema.name}`](aten.md#{member.name})" for member in members)
        names = (link if member.core else f"*{link}*" for link, member in zip(links, members, strict=True))
        rows.append((f"[{family}](aten.md#{family})", ", ".join(names)))
    return table(("family", "operators"), rows)


def _signature(schema: Schema) -> str:
    """Returns the text of a schema without the operator's name."""
    arguments: list[str] = []
    for argument in schema.arguments:
        if argument.keyword_only and "*" not in arguments:
            arguments.append("*")
        arguments.append(_argument(argument))
    returns = ", ".join(map(_type, schema.returns))
    return f"({', '.join(arguments)}) -> {returns if len(schema.returns) == 1 else f'({returns})'}".replace("|", "\\|")


def _argument(argument: SchemaArgument) -> str:
    default = ""
    if argument.has_default:
        value = argument.default
        quoted = f'"{value}"' if isinstance(value, str) and argument.type.base == "str" else value
        default = f"={list(value) if isinstance(value, tuple) else quoted}"
    return f"{_type(argument.type)} {argument.name}{default}"


def _type(kind: SchemaType) -> str:
    alias = f"({kind.alias}{'!' if kind.mutated else ''})" if kind.alias else ""
    size = "" if kind.list_size is None else kind.list_size
    return f"{kind.base}{alias}{'?' if kind.element_optional else ''}{f'[{size}]' if kind.is_list else ''}{'?' if kind.optional else ''}"


def _attributes(kinds: Iterable[type[Attribute]]) -> list[str]:
    """Returns a table of attributes that have only a name, and a section for each other."""
    plain: list[tuple[str, str]] = []
    lines: list[str] = []
    for kind in kinds:
        name = f"{'!' if issubclass(kind, TypeAttribute) else '#'}{kind.name}"
        parameters = kind.get_irdl_definition().parameters if issubclass(kind, ParametrizedAttribute) else []
        if not parameters:
            plain.append((f"`{name}`", summary(kind)))
            continue
        syntax, text = _syntax_of(inspect.getdoc(kind) or "")
        lines += [f"### `{name}`", "", *(fenced(syntax, "text") if syntax else []), text, ""]
        lines += table(("parameter", "is"), ((f"`{name}`", _words(item.constr)) for name, item in parameters))
    return [*table(("name", "is"), plain), *lines]


def operation_section(kind: type[Operation]) -> list[str]:
    """Returns a section with the syntax of an operation and tables of its parts."""
    assert issubclass(kind, IRDLOperation)
    definition = kind.get_irdl_definition()
    text, sections = sections_of(inspect.getdoc(kind) or "")
    described = entries_of(sections.get("Attributes", ""))
    syntax, text = _syntax_of(text)
    lines = [f"## `{kind.name}`", "", *(fenced(syntax, "text") if syntax else []), text, ""]
    attributes = [*definition.properties.items(), *definition.attributes.items()]
    for what, items in (("operand", definition.operands), ("attribute", attributes), ("result", definition.results)):
        shown = [(name, item) for name, item in items if not name.endswith("SegmentSizes")]
        meant = any(name in described for name, _ in shown)
        rows = ((f"`{name}`", f"{_words(item.constr)}{_arity(item)}", cell(described.get(name, ""))) for name, item in shown)
        lines += table((what, "is", "meaning"), rows) if meant else table((what, "is"), (row[:2] for row in rows))
    if regions := [f"`{name}`" for name, _ in definition.regions]:
        lines += [f"Regions: {', '.join(regions)}.", ""]
    traits = sorted(map(_trait, kind.traits.traits))
    return [*lines, *([f"Traits: {', '.join(traits)}.", ""] if traits else [])]


def _trait(trait: OpTrait) -> str:
    name = type(trait).__name__
    return f"`{name}<{', '.join(parent.name for parent in trait.op_types)}>`" if isinstance(trait, HasParent) else f"`{name}`"


def _syntax_of(text: str) -> tuple[str, str]:
    """Returns the example of syntax at the start of a docstring, and the remaining text."""
    match = _SYNTAX.fullmatch(text)
    if match is None:
        return "", text
    said = match[2] or match[3]
    return match[1], said[:1].upper() + said[1:]


def _arity(item: object) -> str:
    return ", may be absent" if isinstance(item, OptionalDef) else ", any number" if isinstance(item, VariadicDef) else ""


def _words(constraint: object) -> str:
    """Returns a description of the values that a constraint accepts."""
    match constraint:
        case RangeLengthConstraint(constraint=inner) | RangeOf(constr=inner):
            return _words(inner)
        case ArrayOfConstraint(elem_range_constraint=inner):
            return f"a list, each entry {_words(inner)}"
        case AnyOf(attr_constrs=parts):
            return " or ".join(map(_words, parts))
        case BaseAttr(attr=kind) if kind.__name__ == "TypeAttribute":
            return "a type"
        case BaseAttr(attr=kind):
            return _noun(getattr(kind, "name", kind.__name__))
        case AnyAttr():
            return "anything"
        case EqAttrConstraint(attr=attribute):
            return f"`{attribute}`"
        case _:
            return _noun(re.sub(r"(?<!^)(?=[A-Z])", "_", type(constraint).__name__.removesuffix("Constraint")).lower())


def _noun(name: str) -> str:
    return _NOUNS.get(name.removeprefix("builtin."), f"`{name}`")
