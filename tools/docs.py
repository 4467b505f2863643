"""`python -m flambeau.tools.docs`: writes docs/operators.md and docs/passes.md from what the folders hold."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.backends.delegate import register_passes
from flambeau.dialects.registry import load_rows
from flambeau.dialects.row import SchemaOp
from flambeau.passes.options import option_fields, type_words
from flambeau.passes.pipelines import PipelineOptions
from flambeau.passes.registry import own_pass, own_pass_names, pipelines, registered_passes
from flambeau.tools.opt.help import example_of, field_descriptions, scope_of, statistics_of

WRITTEN_BY = "<!-- Written by `make docs`. -->"


def _summary(thing: object) -> str:
    """The first paragraph of a docstring, on one line, fit for a table."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split()).replace("|", "\\|")


def operators_page() -> str:
    """The table of every operator that has a row: where it exists, how it is lowered, what it means."""
    rows = load_rows()
    lines = [WRITTEN_BY, "# Operators", ""]
    lines += [
        "Every operator with a row. `core`: in Core ATen, so in the `core` and `edge` dialects. `kept`: not core, kept whole for a target",
        "that has a kernel. Neither: decomposed on the way to core. Every other overload parses and prints from its schema alone.",
    ]
    for dialect in sorted(rows):
        families: dict[str, list[type[SchemaOp]]] = {}
        for name in sorted(rows[dialect]):
            families.setdefault(rows[dialect][name].__module__.rpartition(".")[2], []).append(rows[dialect][name])
        for family in sorted(families):
            title = dialect if family == dialect else f"{dialect}: {family}"
            lines += ["", f"## {title}", "", "| operator | level | |", "|---|---|---|"]
            for operator in families[family]:
                level = ", ".join(word for word, holds in (("core", operator.core), ("kept", operator.keep)) if holds)
                lines.append(f"| `{operator.name}` | {level} | {_summary(operator)} |")
    return "\n".join(lines) + "\n"


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
        steps = ", ".join(f"`{step.name}`" for step in pipeline(PipelineOptions()))
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


PAGES = {"operators.md": operators_page, "passes.md": passes_page}


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the pages into the folder that `argv` names (`docs` by default)."""
    arguments = sys.argv[1:] if argv is None else argv
    folder = Path(arguments[0] if arguments else "docs")
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
