"""MLIR's own tools on the text of TOSA graphs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from flambeau import EdgeProgramManager
from flambeau.backends.tosa.mlir_text import mlir_text
from flambeau.dialects.delegate.ops import PayloadOp

STRICTLY = "--tosa-validate=strict-op-spec-alignment"
"""Otherwise it does not compare operators with the profiles."""


def graphs_of(edge: EdgeProgramManager) -> list[memoryview]:
    """The graphs of a program."""
    return [edge.context.blobs.get(op.data) for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


def validated(tool: str, profile: str, graphs: Mapping[str, memoryview]) -> None:
    """Lets tosa-opt validate graphs, which must be of a profile at level 8K."""
    _run(tool, profile, graphs, STRICTLY)


def through(tool: str, profile: str, graph: memoryview) -> memoryview:
    """A valid graph as tosa-opt writes it again, from its text."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "graph.tosa")
        _run(tool, profile, {"main": graph}, STRICTLY, f"--tosa-serialize=tosa-flatbuffer-filename={path}")
        return memoryview(path.read_bytes())


def _run(tool: str, profile: str, graphs: Mapping[str, memoryview], *passes: str) -> None:
    extensions = " extensions=int16" if profile == "int" else ""  # layers and tables of int16
    target = f"--tosa-attach-target=specification_version=1.0 profiles=pro_{profile}{extensions} level=8k"
    command = [tool, target, *passes, "-", "-o", "/dev/null"]
    done = subprocess.run(command, input=mlir_text(graphs), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
