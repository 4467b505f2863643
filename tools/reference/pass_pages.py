"""The page of pipelines and passes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.passes.delegation.interface import backend_names
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager.pass_options import option_fields, type_words
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.manager.registry import own_pass, own_pass_names, pipelines
from flambeau.passes.targets.interface import target_names
from flambeau.tools.opt.help import example_of, field_descriptions, scope_of, statistics_of
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, fenced, summary, table

_INTRODUCTION = """
# Pipelines and passes

Each name is a word for `flambeau-opt -p`; `flambeau-opt --help-pass NAME` shows the same text. xDSL's own passes work too:
`flambeau-opt --list-passes` names them.

A pass that runs on any operation may be nested: `func.func(cse)`. Options are in braces: `plan-memory{alignment=16}`.

## Pipelines
"""


def passes_page() -> str:
    """Returns the page: the passes of each pipeline; for each pass, its description, needs, results and options."""
    lines = [WRITTEN_BY, _INTRODUCTION.strip(), ""]
    for name, pipeline in sorted(pipelines().items()):
        steps = _steps(pipeline(PipelineOptions()))
        lines += [f"### `{name}`", "", summary(pipeline), "", f"Runs {steps or 'nothing without options'}.", ""]
        others = _steps(pipeline(PipelineOptions(backends=(Partitioner(backend_names()[0]),))))
        lines += [f"With backends: {others}.", ""] if others != steps else []
        for target in target_names():
            others = _steps(pipeline(PipelineOptions(target=target)))
            lines += [f"For the target `{target}`: {others}.", ""] if others != steps else []
    lines += ["### Options of pipelines", "", "Every pipeline takes these.", "", *_options(PipelineOptions), "## Passes", ""]
    passes = {name: own_pass(name) for name in own_pass_names()}
    for name in sorted(passes):
        lines += _pass(name, passes[name])
    return "\n".join(lines).rstrip() + "\n"


def _steps(passes: Sequence[ModulePass]) -> str:
    return ", ".join(f"[`{item.name}`](#{item.name})" for item in passes)


def _pass(name: str, kind: type[ModulePass]) -> list[str]:
    lines = [f"### `{name}`", "", inspect.getdoc(kind) or "", "", f"Runs on {scope_of(kind)}.", "", *_options(kind)]
    if counters := statistics_of(kind):
        lines += [f"Statistics: {', '.join(counters)}.", ""]
    if (example := example_of(kind)) is not None:
        lines += [f"Example: `flambeau-opt -p '{example.pipeline}'` on", "", *fenced(example.before, "mlir")]
        lines += ["gives", "", *fenced(example.after, "mlir")]
    return lines


def _options(kind: type[ArgSpecConvertible]) -> list[str]:
    descriptions = field_descriptions(kind)
    return table(
        ("option", "is", "default", "meaning"),
        (
            (
                f"`{field.name}`",
                type_words(field.type),
                "must be given" if field.required else f"`{field.default_text()}`",
                cell(descriptions.get(field.field, "")),
            )
            for field in option_fields(kind)
        ),
    )
