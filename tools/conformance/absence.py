"""Checks a backend without what it requires, modules or tools: all but encoding works, and one line names what is missing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import PassError
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.plugins.loader import load_plugin, loaded_plugins
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph
from flambeau.tools.conformance.graph_forms import Forms, Payload


@dataclass(frozen=True)
class _Request:
    backend: str
    modules: Sequence[str]
    plugins: Sequence[str]
    seed: int
    payloads: Sequence[Payload]


def check_absence(text: str, modules: Sequence[str], tools: Sequence[Tool], payloads: Sequence[Payload], seed: int) -> None:
    """Runs a backend in a process without some of what it requires: decodes payloads, converts a random graph, and lowers the graph.

    Args:
        text: the name of the backend, perhaps with options.
        modules: the modules that this process cannot import.
        tools: the tools that this process does not find.
        payloads: payloads of the backend, to decode.
        seed: the seed of the graph.

    Raises:
        Disagreement: decoding or converting fails, or lowering does not fail with one line that names one of them.
    """
    plugins = [str(plugin.path) for plugin in loaded_plugins() if plugin.path is not None]
    request = pickle.dumps(_Request(text, modules, plugins, seed, payloads))
    code = "from flambeau.tools.conformance.absence import main; main()"
    environment = {**os.environ, **{tool.variable: "nowhere" for tool in tools}}
    done = subprocess.run([sys.executable, "-c", code], input=request, capture_output=True, env=environment, check=False)
    names = [*modules, *(tool.name for tool in tools)]
    without = f"without {', '.join(names)}"
    if done.returncode:
        raise Disagreement(f"{without}: {(done.stderr.decode(errors='replace').strip().splitlines() or ['it fails'])[-1]}")
    said = done.stdout.decode(errors="replace").strip().splitlines()
    if len(said) != 1 or not any(name in said[0] for name in names):
        raise Disagreement(f"{without}, compiling does not say in one line what to install, but {' '.join(said)!r}")


def main() -> None:
    """Decodes the payloads and converts a graph, which must work without the modules; prints the error of lowering the graph."""
    request: _Request = pickle.load(sys.stdin.buffer)
    modules: dict[str, ModuleType | None] = dict.fromkeys(request.modules)
    cast("dict[str, ModuleType | None]", sys.modules).update(modules)  # importing a module whose entry is None fails
    for plugin in request.plugins:
        load_plugin(plugin)
    partitioner = Partitioner(request.backend)
    for payload in request.payloads if partitioner.backend.decode is not None else ():
        payload.decoded(partitioner.backend)
    graph = draw_graph(partitioner.table, operators_of(partitioner.table)[0], request.seed)
    assert graph is not None
    forms = Forms(partitioner, graph.module, graph.context)
    forms.convert()
    try:
        forms.lower()
    except PassError as error:
        print(error)
