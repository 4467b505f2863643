"""Asks a predicate in a new process, without the state that passes of plug-ins keep between runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_module
from flambeau.plugins.loader import load_plugin, loaded_plugins
from flambeau.tools.predicates.crash import Crash
from flambeau.tools.predicates.predicate import Predicate, PredicateError, Verdict
from flambeau.tools.predicates.predicate_options import PredicateOptions, make_predicate
from flambeau.tools.predicates.wrong_result import WrongResult

_FILES = ("inputs", "filecheck")
"""The options that are paths."""


def ask_in_new_process(file: Path, predicate: Predicate, options: PredicateOptions, *, allow_unregistered: bool) -> Verdict:
    """Returns whether the predicate that `make_predicate` makes of `options` holds for the module in a file. Raises PredicateError."""
    question = predicate.question
    if isinstance(question, Crash):
        options = replace(options, crash=True)
    elif isinstance(question, WrongResult):
        options = replace(options, wrong_result=True)
    request = {
        "file": str(file),
        "options": {**asdict(options), **{name: str(path) for name in _FILES if (path := getattr(options, name)) is not None}},
        "kind": question.kind if isinstance(question, Crash) else None,
        "plugins": [str(plugin.path) for plugin in loaded_plugins() if plugin.path is not None],
        "allow_unregistered": allow_unregistered,
    }
    tool = "from flambeau.tools.predicates.new_process import main; main()"
    run = subprocess.run([sys.executable, "-c", tool], input=json.dumps(request), capture_output=True, encoding="utf-8", check=False)
    last: Sequence[str] = run.stdout.splitlines()[-1:]
    if run.returncode or not last:
        said = (run.stderr.strip().splitlines() or [f"it ended with status {run.returncode}"])[-1]
        raise PredicateError(f"{file}: a new process could not be asked: {said}")
    return Verdict(**json.loads(last[0]))


def main() -> None:
    """Answers the request on stdin with a verdict in the last line of stdout."""
    request: dict[str, Any] = json.loads(sys.stdin.read())
    for plugin in request["plugins"]:
        load_plugin(plugin)
    given: dict[str, Any] = request["options"]
    given |= {name: Path(given[name]) for name in _FILES if given[name] is not None}
    options = PredicateOptions(**given)
    context = FlambeauContext(allow_unregistered=request["allow_unregistered"])
    module = read_module(Path(request["file"]), context).module
    predicate = make_predicate(options, module, context)
    if isinstance(predicate.question, Crash) and request["kind"] is not None:
        predicate.question.kind = tuple(request["kind"])
    verdict = predicate.check(module, context)
    print(f"\n{json.dumps(asdict(verdict))}")
