"""Runs delegates for XNNPACK in the ways that `test/changed_payloads.c` explains.

`PYTHONPATH=test:test/helpers python test/campaigns/xnnpack_payloads.py --seed 1 --count 5000` tries each delegate of the
dynamic programs so often: with changed bytes under the sanitizers, with changed bytes and guarded memory, at several sizes one after
the other, and while allocations of XNNPACK fail. A failure names the seed of its trial, with which `--seed N --count 1` shows it again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import changed_payloads
import executorch
from dynamic_programs import CASES, TYPES, dynamic_program, programs
from runtime_programs import plan, tensor

from flambeau.backends.xnnpack.payload import EXTERNAL_INPUT, QuantizedTensorValue, read_payload
from flambeau.compiler.edge_program import to_edge
from flambeau.runtime.pte import DelegateCall, ScalarType, TensorShapeDynamism, read_program, write_program

LIBRARY = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
ELEMENTS = {1: ScalarType.FLOAT, 2: ScalarType.HALF, 3: ScalarType.CHAR}
WAYS = (("payloads", False), ("payloads", True), ("sizes", True), ("allocations", True))
"""The modes of the tool, and whether memory is guarded or the sanitizers watch."""


def calls_of(program: bytes) -> Iterator[bytes]:
    """For each delegate of a program, the program that calls it alone, with the largest sizes that its payload has."""
    whole = read_program(program)
    for delegate in whole.execution_plan[0].delegates:
        graph = read_payload(delegate.processed)[0]
        values: list[Any] = [item.tensor_value if isinstance(item, QuantizedTensorValue) else item for item in graph.xvalues]
        externals = sorted((value for value in values if value.flags), key=lambda value: value.external_id)
        tensors = [
            tensor(*value.dims, type=ELEMENTS[value.datatype], shape_dynamism=TensorShapeDynamism.DYNAMIC_BOUND) for value in externals
        ]
        ids, inputs = tuple(range(len(tensors))), sum(value.flags == EXTERNAL_INPUT for value in externals)
        method = plan([*tensors], [DelegateCall(0, ids)], [], [*ids[:inputs]], [*ids[inputs:]])
        yield b"".join(write_program(replace(whole, execution_plan=(replace(method, delegates=(delegate,)),))))


def subjects(names: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The delegates of the dynamic programs."""
    for name, kind in programs():
        if name in names and kind in kinds:
            program = bytes(to_edge(dynamic_program(name, kind).exported).to_backend("xnnpack").to_executorch().buffer)
            for index, call in enumerate(calls_of(program)):
                yield f"{name}, {kind}, {index}", call


def main() -> None:
    """Runs the campaign; the status is 1 at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--names", nargs="*", default=[name for name in CASES if name not in ("images", "llama")])
    parser.add_argument("--types", nargs="*", default=TYPES)
    options = parser.parse_args()
    chosen = dict(subjects(options.names, options.types))
    backend, settings = Path(__file__).parents[2] / "backends" / "xnnpack", {"FLAMBEAU_XNNPACK_LIBRARY": str(LIBRARY)}
    with tempfile.TemporaryDirectory() as folder:
        tools: dict[bool, Path] = {}
        for is_guarded in (False, True):
            (place := Path(folder) / str(is_guarded)).mkdir()
            tools[is_guarded] = changed_payloads.compile_tool(backend, place, LIBRARY if is_guarded else None)
        total = 0
        for mode, is_guarded in WAYS:
            for name, program in chosen.items():
                found = changed_payloads.run(tools[is_guarded], settings, [program], options.count, mode, options.seed, 86400)
                total += found.executions
                watched = "guarded memory" if is_guarded else "sanitizers"
                print(f"{mode}, {watched}, {name}: {found.results} of {options.count}, {found.executions} executions", flush=True)
        print(f"{total} executions")


if __name__ == "__main__":
    main()
