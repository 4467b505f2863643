"""The input of `flambeau bisect` and `flambeau reduce`: a module from a file or stdin, or a reproducer with its pipeline and plug-ins."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from flambeau.dialects.ir.weight_files import files_beside
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import ParsedModule, decode, parse_module, read_text, verify_parsed
from flambeau.dialects.text.source_text import Source
from flambeau.plugins.loader import load_plugin
from flambeau.tools.opt.input import split
from flambeau.tools.predicates.predicate import PredicateError
from flambeau.tools.predicates.predicate_options import PredicateOptions
from flambeau.tools.reproducers.reproducer_file import Reproducer, is_reproducer, read_reproducer

STDIN = Path("-")
_MARKER = "// -----"


@dataclass(frozen=True)
class PredicateInput:
    """A module, and the question about it."""

    parsed: ParsedModule
    context: FlambeauContext
    """Owns the weights."""
    options: PredicateOptions
    """The given options, completed from the reproducer if the file is one."""
    allow_unregistered: bool


def read_predicate_input(file: Path, options: PredicateOptions, *, allow_unregistered: bool, locate: bool = False) -> PredicateInput:
    """Reads and verifies the input of a command; `-` is stdin.

    Raises:
        PredicateError: there are several modules in the file.
        IRError, ReproducerError, PluginError, OSError: the input is invalid, or cannot be read.
    """
    name = "<stdin>" if file == STDIN else str(file)
    text = decode(sys.stdin.buffer.read(), name) if file == STDIN else read_text(file)
    parts = [part for part in split(Source(text, name), _MARKER) if part.text.strip()]
    if len(parts) > 1:
        raise PredicateError(
            f"{name}: there are {len(parts)} modules between lines {_MARKER!r}, and one can be looked at: put it into a file of its own"
        )
    reproducer = read_reproducer(file) if file != STDIN and is_reproducer(file) else None
    if reproducer is not None:
        for path in reproducer.plugins:
            load_plugin(reproducer.find(path, file.parent))
        options = _completed(options, reproducer, file)
        allow_unregistered |= reproducer.allow_unregistered
    context = FlambeauContext(allow_unregistered=allow_unregistered)
    if file != STDIN:
        context.blobs.open_beside(file)
    if reproducer is not None:
        beside = files_beside(file)
        for weights in reproducer.weights:
            if (path := reproducer.find(weights, file.parent)) not in beside:
                context.blobs.open(path)
    parsed = parse_module(text, context, name, locate=locate)
    verify_parsed(parsed)
    return PredicateInput(parsed, context, options, allow_unregistered)


def _completed(options: PredicateOptions, found: Reproducer, file: Path) -> PredicateOptions:
    """Returns the options with a reproducer's pipeline if they have none, and with its check of results if they choose no predicate."""
    options = replace(options, pipeline=options.pipeline or found.pipeline)
    chosen = options.crash, options.error, options.filecheck, options.script, options.inputs, options.tolerance
    if not found.check_semantics or any(item not in (None, False) for item in chosen):
        return options
    try:
        tolerance = float(found.check_semantics)
    except ValueError:  # not a number: the default tolerance
        tolerance = None
    inputs = found.find(found.inputs, file.parent) if found.inputs else None
    return replace(options, wrong_result=True, tolerance=tolerance, inputs=inputs, seed=options.seed or found.seed)
