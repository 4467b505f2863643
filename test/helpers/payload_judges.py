"""Comparison of numpy's results of payloads with those of a vendor's program, in a process of its own."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import torch
from quantized_kinds import KINDS
from xdsl.dialects.builtin import FunctionType, ModuleOp, i16
from xdsl.ir import Region

from flambeau import to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.operator_choices import Operator, operators_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph
from flambeau.tools.conformance.graph_forms import Forms
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation
from flambeau.tools.samples.sample_table import bound_samples

_LOOP = """
import os, pickle, sys
import numpy as np
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
{code}
while True:
    try:
        data, arrays = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        found, error = [np.asarray(item) for item in run(data, arrays)], ""
    except Exception as caught:
        found, error = [], str(caught) or type(caught).__name__
    pickle.dump((found, error), out, 4)
    out.flush()
"""


class Judge:
    """A vendor's program that runs payloads, in a process of its own, which a payload may end."""

    def __init__(self, python: str, code: str):
        """`python` has the packages of `code`, which defines `run(data, arrays)`: the results of a payload, or an exception."""
        self.command = [python, "-c", _LOOP.format(code=code)]
        self._start()

    def _start(self) -> None:
        self.errors = TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def run(self, data: bytes, arrays: Sequence[Array]) -> list[Array]:
        """Returns the results of a payload. Raises RuntimeError with what the program says where it refuses it, or ends."""
        assert self.process.stdin is not None and self.process.stdout is not None
        before = os.fstat(self.errors.fileno()).st_size
        pickle.dump((data, [np.asarray(item, order="C") for item in arrays]), self.process.stdin, 4)
        self.process.stdin.flush()
        try:
            found, error = pickle.load(self.process.stdout)
        except EOFError:
            said = self._said(before)
            self._start()
            raise RuntimeError(f"the program ended: {said}") from None
        if error:
            raise RuntimeError(f"{error}: {self._said(before)}")
        return found

    def _said(self, before: int) -> list[str]:
        """Returns the last lines that the program wrote to standard error behind a place there."""
        return os.pread(self.errors.fileno(), 1 << 20, before).decode().strip().splitlines()[-3:]


class Comparison:
    """Runs payloads in numpy and by a judge: integers may be so many steps away, floats 1e-5 of the largest."""

    def __init__(self, judge: Judge, steps: int = 0):
        self.judge = judge
        self.steps = steps
        self.compared: Counter[str] = Counter()
        self.different: list[str] = []
        self.kind, self.number = "", 0

    def __call__(
        self, identifier: str, data: memoryview, named: Mapping[str, memoryview], arrays: Sequence[Array], outputs: bool
    ) -> Sequence[Array]:
        """Computes what a payload does, by numpy."""
        expected = run_payload(identifier, data, named, arrays, outputs)
        try:
            found = self.judge.run(bytes(data), arrays)
            agrees = all(agree(a, b, self.steps) for a, b in zip(expected, found, strict=True))
            self._note(agrees, f"{expected} is not {found}")
        except RuntimeError as error:
            self._note(False, str(error))
        return expected

    def _note(self, agrees: bool, what: str) -> None:
        self.compared[self.kind] += 1
        if not agrees:
            self.different.append(f"{self.kind}({self.number}): {what}")
            print(self.different[-1])

    def layer(self, kind: Callable[[int, torch.dtype | None], Any], number: int, partitioner: str) -> None:
        """Compares the payloads of a layer, of int16 for a backend of int16."""
        layer = kind(number, torch.int16 if i16 in Partitioner(partitioner).table.activations else None)
        self.kind, self.number = type(layer).__name__, number
        edge = to_edge_transform_and_lower(torch.export.export(layer, layer.inputs), partitioner=[partitioner])
        interpret(edge.module, edge.context, self).run("forward", [item.numpy() for item in layer.inputs])

    def graphs(self, partitioner: Partitioner, numbers: Sequence[int]) -> None:
        """Compares the payloads of graphs as `flambeau test-backend` draws them from the table of operators."""
        operators, _ = operators_of(partitioner.table)
        for number in numbers:
            self._graph(partitioner, operators, number)

    def _graph(self, partitioner: Partitioner, operators: Sequence[Operator], number: int) -> None:
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


@dataclass
class OperatorModels:
    """Payloads of one operator each, from the samples of the rows of a dialect, in numpy and by a judge.

    Attributes:
        samples: by the names of the operators.
        identifier: what programs call the backend.
        encode: the payload of a partition.
        judge: runs payloads.
    """

    samples: Mapping[str, Samples]
    identifier: str
    encode: Callable[[PartitionOp, ModuleConstants], bytes]
    judge: Judge

    def payload_of(self, row: type[SchemaOp], sample: tuple[Any, ...]) -> tuple[bytes, list[Array], list[Array]]:
        """Returns the payload of one operator, its inputs, and its results by numpy."""
        op, block = operation(row, sample)
        arrays = arrays_of(sample)
        expected = meaning(op, arrays)
        block.add_ops([op, ReturnOp(op.results)])
        partition = PartitionOp("partition", self.identifier, FunctionType.from_lists(block.arg_types, op.result_types), Region(block))
        return self.encode(partition, ModuleConstants(FlambeauContext(), ModuleOp([partition]))), arrays, expected

    def differences(self, seeds: Iterable[int], names: Iterable[str]) -> tuple[Counter[str], list[str]]:
        """Compares samples of operators, of several seeds each. Returns how many of each were compared, and what differs."""
        compared, different = Counter[str](), list[str]()
        for name, seed in product(names, seeds):
            row = find_op(name)
            assert row is not None
            for sample in bound_samples(self.samples[name], row, seed):
                data, arrays, expected = self.payload_of(row, sample)
                compared[name] += 1
                try:
                    results = self.judge.run(data, arrays)
                    what = next((first_difference(a, b) for a, b in zip(expected, results, strict=True) if not agree(a, b)), "")
                except RuntimeError as error:
                    what = str(error)
                if what:
                    numbers = [item for item in sample if not isinstance(item, np.ndarray | list)]
                    different.append(f"{name}, seed {seed}, {[item.shape for item in arrays]}, {numbers}: {what}")
        return compared, different

    def main(self, doc: str | None) -> int:
        """Compares what the command line names; 1 if something differs."""
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("operators", nargs="*", default=list(self.samples))
        parser.add_argument("--seeds", type=int, default=10)
        options = parser.parse_args()
        compared, different = self.differences(range(options.seeds), options.operators)
        print(*different, sep="\n")
        print(f"{sum(compared.values())} models of {len(compared)} operators compared, {len(different)} different")
        return int(bool(different))


def first_difference(expected: Array, found: Array) -> str:
    """Returns the first element that differs, in words."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{expected.dtype}{list(expected.shape)} is not {found.dtype}{list(found.shape)}"
    place = tuple(np.argwhere(expected != found)[0])
    return f"{expected[place]} is not {found[place]} at {list(place)}, one of {np.count_nonzero(expected != found)}"


def near(kind: np.dtype[Any]) -> float:
    """How far a float may be from another, as part of the largest: one step of float16 may move what later operators make of it by some."""
    return 1e-2 if kind == np.float16 else 1e-5


def agree(expected: Array, found: Array, steps: int = 0) -> bool:
    """Whether two results agree: integers to so many steps, floats within 1e-5 of the largest, float16 within 1e-2."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind in "iu" and steps:
        return int(np.abs(expected.astype(np.int64) - found.astype(np.int64)).max(initial=0)) <= steps
    if expected.dtype.kind != "f":
        return np.array_equal(expected, found)
    step = near(expected.dtype)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return np.allclose(expected, found, rtol=step, atol=step * largest, equal_nan=True)


def compare(judge: Judge, backend: str, doc: str | None, steps: int = 0) -> int:
    """Runs the campaign that the command line asks for, and prints what was compared; 1 if something differs."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--graphs", type=int, default=0)
    parser.add_argument("--backend", default=backend, help="the backend, with its options")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    comparison = Comparison(judge, steps)
    for number in range(options.first, options.first + options.layers):
        comparison.layer(KINDS[number % len(KINDS)], number, options.backend)
    comparison.graphs(Partitioner(options.backend), range(options.first, options.first + options.graphs))
    compared, different = comparison.compared, comparison.different
    print(f"{sum(compared.values())} graphs compared ({dict(compared)}), {len(different)} different")
    return int(bool(different))
