"""Descriptions of operations, values and operators in a few lines of Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op, level_ops
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.schema.schema import Schema, SchemaArgument, SchemaType
from flambeau.dialects.text.module_text import ParsedModule

LONGEST = 300
"""Longer lines are cut."""


def summary(kind: type[Operation]) -> str:
    """Returns the first paragraph of a class's own docstring on one line; empty if the docstring is inherited."""
    return " ".join(inspect.cleandoc(vars(kind).get("__doc__") or "").partition("\n\n")[0].split())


def type_text(kind: SchemaType) -> str:
    """Returns the type of an argument as PyTorch writes it."""
    listed = "" if not kind.is_list else "[]" if kind.list_size is None else f"[{kind.list_size}]"
    return f"{kind.base}{'?' if kind.element_optional else ''}{listed}{'?' if kind.optional else ''}"


def argument_text(argument: SchemaArgument) -> str:
    """Returns an argument as text: `int[2] stride=1`."""
    default = argument.default
    shown = str(list(default)) if isinstance(default, tuple) else repr(default) if isinstance(default, str) else str(default)
    return f"{type_text(argument.type)} {argument.name}{f'={shown}' if argument.has_default else ''}"


def schema_text(schema: Schema) -> str:
    """Returns a schema as PyTorch writes it."""
    parts: list[str] = []
    for argument in schema.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(argument_text(argument))
    returns = [type_text(kind) for kind in schema.returns]
    return f"{schema.qualified_name}({', '.join(parts)}) -> {returns[0] if len(returns) == 1 else '(' + ', '.join(returns) + ')'}"


def find_operation(name: str, context: FlambeauContext) -> type[Operation] | None:
    """Returns the class of an operation by its full name."""
    try:
        return find_op(name) or context.get_optional_op(name)
    except Exception:  # a dialect of a plug-in may fail to load in any way; the text around it still has a meaning
        return None


def operations_of(dialect: str, context: FlambeauContext) -> tuple[type[Operation], ...]:
    """Returns the operations of a dialect, sorted by name; of operations made from schemas, only those with a row."""
    has_rows = dialect in load_rows() or dialect == "core"
    found: dict[str, type[Operation]] = {kind.name: kind for kind in level_ops(dialect)} if has_rows else {}
    try:
        loaded = context.get_optional_dialect(dialect)
        found |= {kind.name: kind for kind in loaded.operations} if loaded is not None else {}
    except Exception:  # as above
        pass
    return tuple(found[name] for name in sorted(found))


def operator(kind: type[Operation]) -> str:
    """Returns a description of a class of operations: its name, its docstring, its signature."""
    lines = [f"**{kind.name}**"]
    if issubclass(kind, SchemaOp):
        lines += ["", "```", schema_text(kind.schema), "```"]
        words = [word for word, holds in (("Core ATen", kind.core), ("kept whole for targets with a kernel", kind.keep)) if holds]
        if words:
            lines += ["", f"_{', '.join(words)}_"]
    elif issubclass(kind, IRDLOperation):
        lines += ["", *_definition(kind)]
    if text := summary(kind):
        lines += ["", text]
    return "\n".join(lines)


def _definition(kind: type[IRDLOperation]) -> Iterator[str]:
    definition = kind.get_irdl_definition()
    for title, names in (
        ("operands", [name for name, _ in definition.operands]),
        ("attributes", [*definition.properties, *definition.attributes]),
        ("results", [name for name, _ in definition.results]),
        ("regions", [name for name, _ in definition.regions]),
    ):
        if names:
            yield f"- {title}: {', '.join(f'`{name}`' for name in names)}"


def operation(op: Operation) -> str:
    """Returns a description of an operation in the text: its kind, its types, the types inferred, its location in the user's model."""
    lines = [operator(type(op))]
    if op.results or op.operands:
        lines += ["", "```mlir", f"({_types(op.operands)}) -> ({_types(op.results)})", "```"]
    if isinstance(op, SchemaOp) and op.has("infer"):
        try:
            inferred = op.infer_types(op.operands, op.properties)
        except VerifyException as error:
            lines += ["", f"its types cannot be inferred: {' '.join(str(error).split())}"]
        else:
            if [str(kind) for kind in inferred] != [str(kind) for kind in op.result_types]:
                lines += ["", f"inferred: `{', '.join(map(str, inferred))}`"]
    if place := describe_location(op.location):
        lines += ["", f"in {place}"]
    return "\n".join(lines)


def _types(values: Sequence[SSAValue]) -> str:
    return ", ".join(str(value.type) for value in values)


def header(op: Operation, parsed: ParsedModule) -> str:
    """Returns the first line of an operation's text."""
    start, end = parsed.map.ranges.get(op, (0, 0)) if parsed.map is not None else (0, 0)
    line = parsed.text[start:end].partition("\n")[0].strip() or op.name
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def value(value: SSAValue, name: str, parsed: ParsedModule) -> str:
    """Returns a description of a value: its type, and its definition."""
    lines = ["```mlir", f"{name} : {value.type}", "```"]
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op()
        where = f"of `{owner.name}`" if owner is not None else ""
        lines.append(f"argument {value.index} {where}".rstrip())
    elif isinstance(value.owner, Operation):
        several = f"result {getattr(value, 'index', 0)} of " if len(value.owner.results) > 1 else ""
        lines += [f"{several}`{value.owner.name}`", "", "```mlir", header(value.owner, parsed), "```"]
        if text := summary(type(value.owner)):
            lines += ["", text]
        if place := describe_location(value.owner.location):
            lines += ["", f"in {place}"]
    return "\n".join(lines)


def block(block: Block, name: str) -> str:
    """Returns a description of a block: its arguments."""
    return f"```mlir\n{name}({', '.join(str(argument.type) for argument in block.args)})\n```"
