"""Compiles eight quantized models, and compares numpy's results of their TOSA graphs with those of others.

    export PYTHONPATH=test:test/helpers:test/quantized:test/suite
    .venv/bin/python backends/tosa/test/models_in_integers.py
    .venv/bin/python backends/tosa/test/models_in_integers.py --backend vgf --small

Others are Arm's reference model, which must compute the same bits, and Flambeau's kernels of integers in C, which round in other places.
With `--backend vgf`, Arm's emulation layers compute compiled files instead of the reference model; README.md of that folder says what
they need. A campaign, outside of the tests, which make the small models in shares. It prints, for each model, the partitions, the share
of the arithmetic in them, and the elements of the results that differ. The exit status is 1 if any do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from device_models import SMALL, WHOLE, Floats
from mlir_tools import graphs_of
from payload_judges import Judge
from reference_model import reference_model
from rich.console import Console
from rich.table import Table
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeCompileConfig, get_delegation_info, quantize, to_edge, to_edge_transform_and_lower
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.binding import Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array


@dataclass
class Compared:
    """What is known of a model.

    Attributes:
        partitions: how many graphs it is.
        share: the part of the arithmetic that is in them.
        elements: those of the results of graphs.
        different: those that differ from what the other computes.
        steps: the most steps by which a result of the model is away from that of Flambeau's kernels.
        near: the part of the elements that are away by one step at most.
    """

    partitions: int
    share: float
    elements: int
    different: int
    steps: int
    near: float


def compared(model: Floats, reference: Judge | None, backend: str = "tosa") -> Compared:
    """Compares a model with the reference model, or, without one, with what a backend of this family computes."""
    module, inputs = model
    program = quantize((module.eval(), inputs), [inputs] * 2, backend=backend).program
    tosa = to_edge_transform_and_lower(program, partitioner=["tosa"])
    arrays, elements, different = [item.numpy() for item in inputs], 0, 0

    def count(expected: Sequence[Array], found: Sequence[Array]) -> None:
        nonlocal elements, different
        for a, b in zip(expected, found, strict=True):
            elements, different = elements + a.size, different + int(np.count_nonzero(a != b))

    def both(identifier: str, data: memoryview, named: Mapping[str, memoryview], given: Sequence[Array], outputs: bool) -> Sequence[Array]:
        expected = run_payload(identifier, data, named, given, outputs)
        if reference is not None:
            count(expected, reference.run(bytes(data), given))
        return expected

    results: Any = interpret(tosa.module, tosa.context, both).run("forward", arrays)
    results = [np.asarray(item) for item in results]
    if reference is None:
        vgf = to_edge_transform_and_lower(program, partitioner=[backend])
        others: Any = interpret(vgf.module, vgf.context, run_payload).run("forward", arrays)
        count(results, [np.asarray(item) for item in others])
    own = to_edge(program, compile_config=EdgeCompileConfig(target="flambeau")).to_executorch().buffer
    kernels = [np.asarray(item) for item in Runtime.get().load_program(bytes(own)).load_method().execute(arrays)]
    away = np.concatenate([_steps_between(*pair).reshape(-1) for pair in zip(results, kernels, strict=True)])
    whole = sum(row.flops for row in get_delegation_info(to_edge(program)).rows)
    left = sum(row.flops for row in get_delegation_info(tosa).rows if row.backend is None)
    return Compared(len(graphs_of(tosa)), 1 - left / whole, elements, different, int(away.max()), float((away <= 1).mean()))


def _steps_between(found: Array, other: Array) -> Array:
    """Returns the differences of numbers that were quantized, in their steps."""
    levels = np.diff(np.unique(np.concatenate([found, other]).astype(np.float64)))
    step = float(levels[levels > 1e-6 * levels.max(initial=0)].min(initial=np.inf))
    return np.rint(np.abs(found.astype(np.float64) - other) / step).astype(np.int64)


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(WHOLE))
    parser.add_argument("--backend", default="tosa")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    reference = reference_model(*installed("tosa-tools")) if options.backend == "tosa" else None
    names = ("model", "partitions", "arithmetic in them", "elements", "that differ", "steps from our kernels", "within one step", "s")
    table, wrong = Table(*names), 0
    for name in options.models:
        seed()
        start = time.perf_counter()
        found = compared((SMALL if options.small else WHOLE)[name](), reference, options.backend)
        numbers = (
            str(found.partitions),
            f"{found.share:.2%}",
            str(found.elements),
            str(found.different),
            str(found.steps),
            f"{found.near:.2%}",
        )
        table.add_row(name, *numbers, f"{time.perf_counter() - start:.0f}")
        wrong += found.different
    Console(width=140).print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
