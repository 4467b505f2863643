"""Files of whole programs, for tests: their bytes, and what numpy computes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from flambeau import EdgeProgramManager
from flambeau.backends.litert.label import labelled
from flambeau.backends.litert.payload import read
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.support.lazy import Array

PLAN = b"OfflineMemoryAllocation"
"""The name of the metadata with the memory plan."""


def file_of(edge: EdgeProgramManager, options: str = "") -> bytes:
    """Returns a program as a TFLite file, with options in braces."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        edge.save(path, f"litert{options}")
        return path.read_bytes()


def decoded_results(data: bytes, arrays: Sequence[Array]) -> Sequence[Array]:
    """Returns what numpy computes of a file, by the rows of its operators."""
    (graph,) = read(memoryview(data), "the file").subgraphs
    return run_payload("LiteRtBackend", memoryview(labelled(data, len(graph.inputs), len(graph.outputs))), {}, arrays, False)
