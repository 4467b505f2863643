"""`python -m flambeau.tools.docs`: writes the reference, a page for each dialect and one for the passes, from what the folders hold."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ArrayOfConstraint
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    IRDLOperation,
    OptionalDef,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
)
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.backends.delegate import register_passes
from flambeau.dialects.registry import dialect_names, level_ops, load_rows, schema_table
from flambeau.dialects.row import SchemaOp
from flambeau.dialects.schema import Schema, SchemaArgument, SchemaType
from flambeau.passes.options import option_fields, type_words
from flambeau.passes.pipelines import PipelineOptions
from flambeau.passes.registry import own_pass, own_pass_names, pipelines, registered_passes
from flambeau.tools.opt.help import example_of, field_descriptions, scope_of, statistics_of

WRITTEN_BY = "<!-- Written by `make docs`. -->"

_INTRODUCTION = {
    "aten": """
An operator prints as its schema names it: tensors in parentheses, everything else in braces, types at the end. An optional tensor that
is absent is `none`, a list is `[%a, %b]`, and an attribute that has the schema's default is not there:

```mlir
func.func @f(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %y: tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<8xf32>) {
  %0 = aten.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = aten.cat([%y, %y]) {dim = -1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return %0, %1 : tensor<1x4x6x6xf32>, tensor<8xf32>
}
```

Below are the operators with a row, which have a meaning here: their types are inferred, the interpreter runs them, and each goes on to
the `core` dialect. *core*: it is Core ATen. *kept*: it is not, and a target that has a kernel may keep it whole. Otherwise passes
decompose it. The other overloads of ATen, {others} of them, parse, print and verify by their schema, so that a report of what is
unsupported is complete.
""",
    "core": """
The operators stand under the names that they have in [`aten`](aten.md); in italics, those that are not Core ATen and kept whole for a
target. Nothing else exists here, so a pass over `core` knows what it may meet. Declared result types are the inferred ones.
""",
    "edge": """
The operators are those of [`core`](core.md), except that a view is a copy: `view` is `view_copy`. In addition:
""",
}
"""What stands above the operators on a page; other pages have the docstring of the dialect alone."""


def _summary(thing: object) -> str:
    """The first paragraph of a docstring, on one line, fit for a table: outside of code, stars are formulas."""
    parts = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split()).replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else part.replace("*", "\\*") for index, part in enumerate(parts))


# Dialects


def dialect_page(name: str) -> str:
    """Every operation, attribute and type of a dialect."""
    package = importlib.import_module(f"flambeau.dialects.{name}")
    rows = load_rows()
    lines = [WRITTEN_BY, f"# `{name}`", "", _summary(package), ""]
    if name in _INTRODUCTION:
        others = sum(map(len, schema_table().values())) - len(rows["aten"])
        lines += [_INTRODUCTION[name].strip().replace("{others}", str(others)), ""]
    if name == "core":
        lines += _core_operators()
    else:
        lines += _families(rows.get(name, {}).values(), leveled=name == "aten")
    dialect: Dialect = package.DIALECT
    if dialect.attributes:
        lines += ["## Types and attributes", "", *(line for kind in dialect.attributes for line in _attribute(kind)), ""]
    for operation in dialect.operations:
        lines += _operation(operation)
    return "\n".join(lines).rstrip() + "\n"


def _by_family(operators: Iterable[type[SchemaOp]]) -> dict[str, list[type[SchemaOp]]]:
    """Operators by the file of their row, both in order."""
    families: dict[str, list[type[SchemaOp]]] = {}
    for operator in sorted(operators, key=lambda operator: operator.name):
        families.setdefault(operator.__module__.rpartition(".")[2], []).append(operator)
    return dict(sorted(families.items()))


def _families(operators: Iterable[type[SchemaOp]], *, leveled: bool) -> list[str]:
    """A table for each family."""
    lines: list[str] = []
    for family, members in _by_family(operators).items():
        lines += [f"## {family}", "", *(("| operator | | |", "|---|---|---|") if leveled else ("| operator | |", "|---|---|"))]
        for operator in members:
            level = ("core" if operator.core else "kept" if operator.keep else "") + " | " if leveled else ""
            lines.append(f"| `{operator.name}`<br>`{_signature(operator.schema)}` | {level}{_summary(operator)} |")
        lines.append("")
    return lines


def _core_operators() -> list[str]:
    """The names by family, each family with a link to what they mean."""
    lines = ["| family | operators |", "|---|---|"]
    for family, members in _by_family(operator.siblings["row"] for operator in level_ops("core")).items():
        names = (f"`{member.schema.name}`" if member.core else f"*`{member.schema.name}`*" for member in members)
        lines.append(f"| [{family}](aten.md#{family}) | {', '.join(names)} |")
    return [*lines, ""]


def _signature(schema: Schema) -> str:
    """The schema without the name."""
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
        default = f"={list(value) if isinstance(value, tuple) else value}"
    return f"{_type(argument.type)} {argument.name}{default}"


def _type(kind: SchemaType) -> str:
    alias = f"({kind.alias}{'!' if kind.mutated else ''})" if kind.alias else ""
    size = "" if kind.list_size is None else kind.list_size
    return f"{kind.base}{alias}{'?' if kind.element_optional else ''}{f'[{size}]' if kind.is_list else ''}{'?' if kind.optional else ''}"


def _attribute(kind: type[Attribute]) -> list[str]:
    """An item of a list, with the parameters below it."""
    lines = [f"* `{'!' if issubclass(kind, TypeAttribute) else '#'}{kind.name}`: {_summary(kind)}"]
    if issubclass(kind, ParametrizedAttribute):
        lines += [f"    * `{name}`: {_words(item.constr)}" for name, item in kind.get_irdl_definition().parameters]
    return lines


def _operation(kind: type[Operation]) -> list[str]:
    assert issubclass(kind, IRDLOperation)
    definition = kind.get_irdl_definition()
    text, described = _described(inspect.getdoc(kind) or "")
    lines = [f"## `{kind.name}`", "", text, ""]
    fields: list[tuple[str, str, Any]] = [("operand", name, item) for name, item in definition.operands]
    fields += [("result", name, item) for name, item in definition.results]
    fields += [("attribute", name, item) for name, item in {**definition.properties, **definition.attributes}.items()]
    for what, name, item in fields:
        if not name.endswith("SegmentSizes"):
            more = f"; {described[name]}" if name in described else ""
            lines.append(f"* {what} `{name}`: {_words(item.constr)}{_arity(item)}{more}")
    lines += [""] if fields else []
    traits = sorted(type(trait).__name__ for trait in kind.traits.traits)
    return [*lines, *([f"Traits: {', '.join(f'`{trait}`' for trait in traits)}.", ""] if traits else [])]


def _arity(item: object) -> str:
    return ", optional" if isinstance(item, OptionalDef) else ", any number" if isinstance(item, VariadicDef) else ""


def _described(text: str) -> tuple[str, dict[str, str]]:
    """A docstring without its section about attributes, and what that says of each."""
    text, _, section = text.partition("\n\nAttributes:\n")
    described: dict[str, str] = {}
    for line in section.splitlines():
        names, _, what = line.strip().partition(": ")
        described |= dict.fromkeys(names.split(", "), what)
    return text, described


def _words(constraint: object) -> str:
    """What a constraint lets through, in words."""
    match constraint:
        case RangeLengthConstraint(constraint=inner) | RangeOf(constr=inner):
            return _words(inner)
        case ArrayOfConstraint(elem_range_constraint=inner):
            return f"array of {_words(inner)}"
        case AnyOf(attr_constrs=parts):
            return " or ".join(map(_words, parts))
        case BaseAttr(attr=kind) if kind.__name__ == "TypeAttribute":
            return "a type"
        case BaseAttr(attr=kind):
            return f"`{getattr(kind, 'name', kind.__name__)}`"
        case AnyAttr():
            return "anything"
        case _:
            return f"`{type(constraint).__name__.removesuffix('Constraint')}`"


# Passes


def passes_page() -> str:
    """What each pipeline runs, and what each pass of ours does, needs, leaves and takes."""
    lines = [
        WRITTEN_BY,
        "# Pipelines and passes",
        "",
        "Each name is a word for `flambeau-opt -p`; xDSL's own passes work there too.",
        "",
        "## Pipelines",
        "",
    ]
    register_passes()
    for name, pipeline in sorted(pipelines().items()):
        steps = ", ".join(f"[`{step.name}`](#{step.name})" for step in pipeline(PipelineOptions()))
        lines += [f"**`{name}`**: {_summary(pipeline)} Runs {steps or 'nothing unless its options ask for it'}.", ""]
    lines += ["Options of each, in braces after its name:", "", *_option_items(PipelineOptions), "", "## Passes"]
    passes = registered_passes() | {name: own_pass(name) for name in own_pass_names()}
    for name in sorted(passes):
        cls = passes[name]
        lines += ["", f"### `{name}`", "", inspect.getdoc(cls) or ""]
        lines += ["", f"Runs on {scope_of(cls)}.", *_options(cls), *_statistics(cls), *_example(cls)]
    return "\n".join(lines) + "\n"


def _options(cls: type[ModulePass]) -> list[str]:
    lines = _option_items(cls)
    return ["", "Options:", "", *lines] if lines else []


def _option_items(cls: type[ArgSpecConvertible]) -> list[str]:
    descriptions = field_descriptions(cls)
    return [
        f"* `{field.name}`: {type_words(field.type)}, "
        f"{'which must be given' if field.required else f'default `{field.default_text()}`'}. {descriptions.get(field.field, '')}".rstrip()
        for field in option_fields(cls)
    ]


def _statistics(cls: type[ModulePass]) -> list[str]:
    counters = statistics_of(cls)
    return ["", f"Statistics: {', '.join(counters)}."] if counters else []


def _example(cls: type[ModulePass]) -> list[str]:
    example = example_of(cls)
    if example is None:
        return []
    before, after = (["", "```mlir", *text.splitlines(), "```", ""] for text in (example.before, example.after))
    return ["", f"Example: `flambeau-opt -p '{example.pipeline}'` on", *before, "gives", *after[:-1]]


PAGES: dict[str, Callable[[], str]] = {
    "reference/passes.md": passes_page,
    **{f"reference/{name}.md": partial(dialect_page, name) for name in dialect_names()},
}
"""The generated pages: the path of each within `docs`, and what writes it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the pages into the folder that `argv` names (`docs` by default)."""
    arguments = sys.argv[1:] if argv is None else argv
    folder = Path(arguments[0] if arguments else "docs")
    for name, page in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
