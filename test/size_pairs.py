"""Runs programs at two sizes one after the other, in processes of their own, because a runtime that is wrong may end its process.

`python size_pairs.py ENGINE FOLDER ...` runs the program in each folder: `program.pte`, and the inputs of each size in `inputs.npz`, as
"size/argument". It writes `alone.ENGINE.npz` with the results of each size in a method that ran nothing before, as "size/result", and
`after.ENGINE.npz` with those of each size after each other size in one method, as "first/second/result".
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from stock_executorch import load as load_stock

from flambeau.runtime import Runtime
from flambeau.support.lazy import Array

import_module("executorch.kernels.quantized")  # adds them to stock ExecuTorch's

Run = Callable[[Sequence[Array]], Sequence[Any]]


def load(program: bytes) -> Run:
    """The method `forward` of a program in the C runtime."""
    return Runtime.get().load_program(program).load_method("forward").execute


ENGINES: dict[str, Callable[[bytes], Run]] = {"flambeau": load, "executorch": load_stock}


def write(folder: Path, program: bytes, inputs: Sequence[Sequence[Array]]) -> None:
    """Writes a program and the inputs of each size."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.pte").write_bytes(program)
    arrays = {f"{size}/{index}": array for size, call in enumerate(inputs) for index, array in enumerate(call)}
    save(folder / "inputs.npz", arrays)


def save(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes arrays by name."""
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]  its stub confuses arrays with an option


def run(engine: str, folders: Sequence[Path]) -> str:
    """Runs the programs in folders; returns what the process said of those that it could not run."""
    command = [sys.executable, __file__, engine, *map(str, folders)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200).stderr


def _run_one(engine: str, folder: Path) -> None:
    program, load = (folder / "program.pte").read_bytes(), ENGINES[engine]
    with np.load(folder / "inputs.npz") as stored:
        inputs: dict[str, list[Array]] = {}
        for name in stored.files:
            inputs.setdefault(name.split("/")[0], []).append(stored[name])
    alone = {f"{size}/{index}": value for size, call in inputs.items() for index, value in enumerate(_copied(load(program)(call)))}
    save(folder / f"alone.{engine}.npz", alone)
    after: dict[str, Array] = {}
    for first, second in permutations(inputs, 2):
        method = load(program)
        method(inputs[first])
        after |= {f"{first}/{second}/{index}": value for index, value in enumerate(_copied(method(inputs[second])))}
    save(folder / f"after.{engine}.npz", after)


def _copied(results: Sequence[Any]) -> list[Array]:
    return [np.array(value) for value in results]


def main(engine: str, *folders: str) -> None:
    """Runs each program in a copy of this process, so that the next one runs whatever becomes of it."""
    for folder in folders:
        child = os.fork()
        if child == 0:
            try:
                _run_one(engine, Path(folder))
            except Exception as error:
                print(f"{folder}: {error}", file=sys.stderr, flush=True)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status != 0:
            print(f"{folder}: the process ended with status {status}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
