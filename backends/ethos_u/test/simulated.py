"""Payloads of Ethos-U in the simulator, beside the numpy of the TOSA operators that Vela compiled."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flambeau import EdgeProgramManager
from flambeau.backends.ethos_u import encode
from flambeau.backends.ethos_u.bin_stream import Argument, CompiledGraph, read
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array


class Simulator:
    """The simulator, in a process of the Python that has Vela."""

    def __init__(self, python: str):
        command = [python, str(Path(__file__).with_name("npu_simulator.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, graph: CompiledGraph, inputs: Sequence[Array]) -> list[Array]:
        """Returns the bytes of the outputs. Raises RuntimeError for a stream that the simulator does not run."""
        assert self.process.stdin is not None and self.process.stdout is not None

        def places(items: Sequence[Argument]) -> list[tuple[int, int, int]]:
            return [(item.size, item.offset, item.region) for item in items]

        stream: dict[str, Any] = {"commands": graph.commands, "weights": graph.weights, "scratch": graph.scratch}
        stream |= {"inputs": places(graph.inputs), "outputs": places(graph.outputs)}
        pickle.dump((stream, [np.ascontiguousarray(item) for item in inputs]), self.process.stdin, 4)
        self.process.stdin.flush()
        found = pickle.load(self.process.stdout)
        if isinstance(found, str):
            raise RuntimeError(found)
        return found

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def payloads_of(edge: EdgeProgramManager) -> Sequence[PayloadOp]:
    """The payloads of a program, in their order."""
    return [op for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


def streams(edge: EdgeProgramManager) -> Sequence[CompiledGraph]:
    """Its command streams."""
    return [read(edge.context.blobs.get(op.data)) for op in payloads_of(edge)]


class Recorder:
    """Compiles programs for Ethos-U, and keeps the TOSA graph of each payload."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.graphs: dict[bytes, bytes] = {}
        self._last = b""
        encode_tosa, write = encode.encode_tosa, encode.write

        def kept(*arguments: Any) -> Any:
            found = encode_tosa(*arguments)
            self._last = found.data
            return found

        def written(graph: CompiledGraph) -> bytes:
            data = write(graph)
            self.graphs[data] = self._last
            return data

        monkeypatch.setattr(encode, "encode_tosa", kept)
        monkeypatch.setattr(encode, "write", written)

    def differences(self, simulator: Simulator, edge: EdgeProgramManager, inputs: Sequence[Array]) -> Sequence[int]:
        """How many elements of each result of a payload differ between the simulator and the numpy of its graph."""
        found: list[int] = []

        def both(identifier: str, data: memoryview, named: Any, arrays: Sequence[Array], outputs: bool) -> Sequence[Array]:
            expected = run_payload("TosaBackend", memoryview(self.graphs[bytes(data)]), {}, arrays, outputs)
            graph = read(data)
            results = simulator.run(graph, arrays[: len(graph.inputs)])
            found.extend(int((a.reshape(-1) != b.view(a.dtype)).sum()) for a, b in zip(expected, results, strict=True))
            return expected

        interpret(edge.module, edge.context, both).run("forward", inputs)
        return found
