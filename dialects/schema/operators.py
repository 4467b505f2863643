"""Finds operators by name: those with a row, and those of PyTorch's schema table, whose classes are made on demand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import cast

from flambeau.dialects.schema.row import PURE, WRITES, SchemaOp, class_name
from flambeau.dialects.schema.row_table import cached_over_rows, declared_row, find_row, load_rows
from flambeau.dialects.schema.schema import Schema, parse_schema
from flambeau.support.suggestions import did_you_mean

NO_MEANING = "Flambeau knows this operator's schema but not its meaning; a row in a plug-in says it: see docs/tutorials/add_operator.md"
"""Why an operator of the schema table that has no row cannot be lowered."""

UNDECOMPOSED = "flambeau.undecomposed"
"""The attribute of an operator without a row that PyTorch can decompose, but not here: why."""

LEVELS = ("aten", "core", "edge")
"""The dialects whose operators come from ATen's schemas."""


@cache
def nondeterministic_operators() -> frozenset[str]:
    """Returns the ATen operators that the pinned torch tags `nondeterministic_seeded`."""
    return frozenset(resources.files("flambeau.dialects.aten").joinpath("nondeterministic.txt").read_text(encoding="utf-8").split())


class _LateSchema:
    """A schema that is parsed on first use: few of the thousands of classes need theirs."""

    def __init__(self, text: str, namespace: str):
        self._text = text
        self._namespace = namespace

    def __get__(self, instance: SchemaOp | None, owner: type[SchemaOp]) -> Schema:
        owner.schema = schema = parse_schema(self._text, self._namespace)
        return schema


def table_op(dialect: str, text: str) -> type[SchemaOp]:
    """Returns a class for an ATen operator with a schema (the text) but no row: it parses and prints, and means nothing."""
    short = text[: text.index("(")]
    members = {
        "name": f"{dialect}.{short}",
        "schema": _LateSchema(text, "aten"),
        # In a schema, only a mutated alias contains "!".
        "traits": WRITES if "!" in text or short in nondeterministic_operators() else PURE,
        "__doc__": f"aten::{short}, which has no row.",
    }
    cls = cast("type[SchemaOp]", type(class_name(short), (SchemaOp,), members))
    cls.siblings = {"row": cls, dialect: cls}
    return cls


@cache
def schema_table() -> dict[str, tuple[str, ...]]:
    """Returns the schema strings of all ATen overloads of the pinned torch, by base name."""
    text = resources.files("flambeau.dialects.aten").joinpath("schemas.txt").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for line in text.splitlines():
        table.setdefault(line[: line.index("(")].partition(".")[0], []).append(line)
    return {name: tuple(lines) for name, lines in table.items()}


def _schema_text(name: str) -> str | None:
    base, _, _ = name.partition(".")
    return next((line for line in schema_table().get(base, ()) if line[: line.index("(")] == name), None)


def find_schema(name: str) -> Schema | None:
    """Returns the ATen schema with this name (`add.Tensor`), from the table."""
    text = _schema_text(name)
    return None if text is None else parse_schema(text)


@cached_over_rows
def find_op(name: str) -> type[SchemaOp] | None:
    """Returns the class of an operation by its full name (`aten.add.Tensor`, `edge.view_copy`, `fused.linear`), or None."""
    dialect, _, short = name.partition(".")
    if dialect not in LEVELS:
        return find_row(dialect, short)
    if dialect == "aten":
        text = None if (found := find_row(dialect, short)) else _schema_text(short)
        return found if text is None else table_op(dialect, text)
    if (found := declared_row(dialect, short)) is not None:
        return found
    base, dot, overload = short.partition(".")
    if dialect == "edge" and base.endswith("_copy"):
        found = find_row("aten", base.removesuffix("_copy") + dot + overload)
        if found is None or not found.schema.is_view or not (found.core or found.keep):
            found = declared_row("aten", short)
    elif (found := find_row("aten", short)) is not None and dialect == "edge" and found.schema.is_view:
        return None
    return found.at(dialect) if found is not None and (found.core or found.keep) else None


def level_ops(level: str) -> Iterator[type[SchemaOp]]:
    """Yields the classes with a row in a dialect, in name order."""
    rows = load_rows()
    yield from (rows[level][name] for name in sorted(rows.get(level, {})))
    if level not in ("core", "edge"):
        return
    for name in sorted(rows["aten"]):
        found = rows["aten"][name]
        if found.core or found.keep:
            yield found.at(level)


def check_operator_name(name: str) -> None:
    """Raises ValueError, with the one that was probably meant, for a name that is not ATen's (`add.Tensor`) or a row's (`mine.f`)."""
    if find_op(f"aten.{name}") is None and find_op(name) is None:
        near = did_you_mean(name, [operator.schema.name for operator in level_ops("aten")])
        raise ValueError(f"ATen has no operator {name!r}{near}")
