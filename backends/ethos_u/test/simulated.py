"""Payloads of Ethos-U55 in the simulator, beside the numpy of the TOSA operators that Vela compiled."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flambeau import EdgeProgramManager
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


def differences(simulator: Simulator, tosa: EdgeProgramManager, ethos_u: EdgeProgramManager, inputs: Sequence[Array]) -> Sequence[int]:
    """How many elements of each result differ: of a program with payloads of TOSA, and the same one with those of Ethos-U."""
    sources = [bytes(tosa.context.blobs.get(op.data)) for op in payloads_of(tosa)]
    graphs = dict(zip(sources, streams(ethos_u), strict=True))
    found: list[int] = []

    def both(identifier: str, data: memoryview, named: Any, arrays: Sequence[Array], outputs: bool) -> Sequence[Array]:
        expected = run_payload(identifier, data, named, arrays, outputs)
        graph = graphs[bytes(data)]
        results = simulator.run(graph, arrays[: len(graph.inputs)])
        found.extend(int((a.reshape(-1) != b.view(a.dtype)).sum()) for a, b in zip(expected, results, strict=True))
        return expected

    interpret(tosa.module, tosa.context, both).run("forward", inputs)
    return found
