"""Compares numpy's results of TOSA graphs with those of Arm's reference model, on random quantized layers and random graphs.

    export PYTHONPATH=test/helpers FLAMBEAU_TOSA_PYTHON=tosa-tools/bin/python
    .venv/bin/python backends/tosa/test/reference_model.py --layers 10000
    .venv/bin/python backends/tosa/test/reference_model.py --graphs 1000 --backend "tosa{profile=fp}"

A campaign, outside of the tests: README.md says how to install the reference model in a Python of its own.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import torch
from quantized_calls import CALLS, QuantizedCall
from quantized_layers import QuantizedFunction, QuantizedLayer, QuantizedPool, QuantizedProduct, QuantizedSum

from flambeau import to_edge_transform_and_lower
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.operator_choices import Operator, operators_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph
from flambeau.tools.conformance.graph_forms import Forms

KINDS: Sequence[Callable[[int], Any]] = (
    *(QuantizedLayer, QuantizedSum, QuantizedProduct, QuantizedFunction, QuantizedPool),
    *(partial(QuantizedCall, kind) for kind in CALLS),
)
SERVER = """
import os, pickle, sys
import numpy as np
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
from tosa_reference_model import run
while True:
    try:
        data, arrays = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    found, status = run(data, arrays)
    pickle.dump(([np.asarray(item) for item in found], str(status)), out, 4)
    out.flush()
"""


class ReferenceModel:
    """The reference model, in a process of its own, which an invalid graph may end."""

    def __init__(self, python: str):
        self.command = [python, "-c", SERVER]
        self._start()

    def _start(self) -> None:
        self.errors = TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def run(self, data: bytes, arrays: Sequence[Array]) -> list[Array]:
        """Runs a graph. Raises RuntimeError unless its status is that it is valid and predictable."""
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump((data, [np.ascontiguousarray(item) for item in arrays]), self.process.stdin, 4)
        self.process.stdin.flush()
        try:
            found, status = pickle.load(self.process.stdout)
        except EOFError:
            self.errors.seek(0)
            last = self.errors.read().decode().strip().splitlines()[-3:]
            self._start()
            raise RuntimeError(f"the reference model ended: {last}") from None
        if not status.endswith("TOSA_VALID"):
            raise RuntimeError(f"the reference model says {status}")
        return found


class Comparison:
    """Runs payloads in numpy and in the reference model: integers are compared bit for bit, floats within 1e-5 of the largest."""

    def __init__(self, model: ReferenceModel):
        self.model = model
        self.compared: Counter[str] = Counter()
        self.different: list[str] = []
        self.kind, self.number = "", 0

    def __call__(
        self, identifier: str, data: memoryview, named: Mapping[str, memoryview], arrays: Sequence[Array], outputs: bool
    ) -> Sequence[Array]:
        """Computes what a payload does, by numpy."""
        expected = run_payload(identifier, data, named, arrays, outputs)
        try:
            found = self.model.run(bytes(data), arrays)
            self._note(all(map(_agree, expected, found)), f"{expected} is not {found}")
        except RuntimeError as error:
            self._note(False, str(error))
        return expected

    def _note(self, agrees: bool, what: str) -> None:
        self.compared[self.kind] += 1
        if not agrees:
            self.different.append(f"{self.kind}({self.number}): {what}")
            print(self.different[-1])

    def layer(self, kind: Callable[[int], Any], number: int) -> None:
        """Compares the payloads of a layer."""
        layer = kind(number)
        self.kind, self.number = type(layer).__name__, number
        edge = to_edge_transform_and_lower(torch.export.export(layer, layer.inputs), partitioner=["tosa"])
        interpret(edge.module, edge.context, self).run("forward", [item.numpy() for item in layer.inputs])

    def graph(self, partitioner: Partitioner, operators: Sequence[Operator], number: int) -> None:
        """Compares the payloads of a graph as `flambeau test-backend` draws it from the table of operators."""
        graph = draw_graph(partitioner.table, operators, number)
        if graph is None:
            return
        self.kind, self.number = "graph", number
        forms = Forms(partitioner, graph.module, graph.context)
        forms.convert()
        forms.lower()
        for inputs in graph.calls:
            with np.errstate(all="ignore"):
                interpret(forms.module, graph.context, self).run("forward", inputs)


def _agree(expected: Array, found: Array) -> bool:
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(expected, found)
    step = 1e-5 if expected.dtype == np.float32 else 1e-2
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return np.allclose(expected, found, rtol=step, atol=step * largest, equal_nan=True)


def main() -> int:
    """Compares, and prints what was compared; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--backend", default="tosa", help="the backend, with its options, for which graphs are drawn")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    comparison = Comparison(ReferenceModel(os.environ["FLAMBEAU_TOSA_PYTHON"]))
    for number in range(options.first, options.first + options.layers):
        comparison.layer(KINDS[number % len(KINDS)], number)
    partitioner = Partitioner(options.backend)
    operators, _ = operators_of(partitioner.table)
    for number in range(options.first, options.first + options.graphs):
        comparison.graph(partitioner, operators, number)
    compared, different = comparison.compared, comparison.different
    print(f"{sum(compared.values())} graphs compared ({dict(compared)}), {len(different)} different")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
