"""Compares numpy's results of TOSA graphs with those of Arm's reference model, bit for bit, on random quantized layers.

    PYTHONPATH=test/helpers FLAMBEAU_TOSA_PYTHON=tosa-tools/bin/python .venv/bin/python backends/tosa/test/reference_model.py --layers 10000

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
from typing import Any

import numpy as np
import torch
from quantized_calls import CALLS, QuantizedCall
from quantized_layers import QuantizedFunction, QuantizedLayer, QuantizedPool, QuantizedProduct, QuantizedSum

from flambeau import to_edge_transform_and_lower
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array

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
        command = [python, "-c", SERVER]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self, data: bytes, arrays: Sequence[Array]) -> list[Array]:
        """Runs a graph. Raises RuntimeError unless its status is that it is valid and predictable."""
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump((data, [np.ascontiguousarray(item) for item in arrays]), self.process.stdin, 4)
        self.process.stdin.flush()
        found, status = pickle.load(self.process.stdout)
        if not status.endswith("TOSA_VALID"):
            raise RuntimeError(f"the reference model says {status}")
        return found


def main() -> int:
    """Compares, and prints what was compared; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    model = ReferenceModel(os.environ["FLAMBEAU_TOSA_PYTHON"])
    compared: Counter[str] = Counter()
    different = 0

    def both(identifier: str, data: memoryview, named: Mapping[str, memoryview], arrays: Sequence[Array], outputs: bool) -> Sequence[Array]:
        nonlocal different
        expected, found = run_payload(identifier, data, named, arrays, outputs), model.run(bytes(data), arrays)
        equal = all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(expected, found, strict=True))
        compared[type(layer).__name__] += 1
        if not equal:
            different += 1
            print(f"{type(layer).__name__}({number}): {expected} is not {found}")
        return expected

    for number in range(options.first, options.first + options.layers):
        layer = KINDS[number % len(KINDS)](number)
        edge = to_edge_transform_and_lower(torch.export.export(layer, layer.inputs), partitioner=["tosa"])
        interpret(edge.module, edge.context, both).run("forward", [item.numpy() for item in layer.inputs])
    print(f"{sum(compared.values())} graphs compared ({dict(compared)}), {different} different")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
