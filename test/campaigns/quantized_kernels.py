"""Random layers of quantized numbers: numpy, and the C runtime for each instruction set, give the same integers.

    PYTHONPATH=test:test/helpers:test/quantized python test/campaigns/quantized_kernels.py --layers 10000 --jobs 2 build/c/*/libflambeau.so

Without libraries, it takes the installed one. A library that this machine cannot execute is named and left out. It prints the layers that
differ, then a count for each library, and returns 1 if one differs.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from campaigns.job_options import add_job_options, chosen_executor
from quantized_layers import LAYERS
from quantized_programs import compiled_for
from rich.progress import track

from flambeau.runtime import Runtime
from flambeau.runtime.binding.library import find_library
from flambeau.runtime.interpreter import interpret
from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import in_order

_LAYERS_A_FILE = 500


def write(numbers: range, path: Path) -> None:
    """Writes of each layer its number, its program, its inputs, and its results in numpy."""
    cases: list[tuple[int, bytes, list[Any], Any]] = []
    for number in numbers:
        layer = LAYERS[number % len(LAYERS)](number)
        module, context, program = compiled_for("flambeau", torch.export.export(layer, layer.inputs), "fuse-quantized")
        arrays = [item.numpy() for item in layer.inputs]
        cases.append((number, program, arrays, interpret(module, context).run("forward", arrays)[0]))
    path.write_bytes(pickle.dumps(cases))


def differing(path: Path) -> list[int]:
    """The layers of a file of which the C runtime gives other integers."""
    found: list[int] = []
    for number, program, arrays, expected in pickle.loads(path.read_bytes()):
        (result,) = Runtime.get().load_program(program).load_method("forward").execute(arrays)
        if not np.array_equal(np.asarray(result), expected):
            found.append(number)
    return found


def judged(libraries: Sequence[Path], block: tuple[int, int]) -> dict[Path, list[int] | str]:
    """By library, the layers of which it gives other integers; or in words why it does not run."""
    found: dict[Path, list[int] | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layers"
        write(range(*block), path)
        for library in libraries:
            environment = os.environ | {"FLAMBEAU_LIBRARY": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
            run = subprocess.run(
                [sys.executable, __file__, "--child", str(path)], capture_output=True, text=True, env=environment, check=False
            )
            if run.returncode < 0:
                found[library] = f"this machine does not execute it (signal {-run.returncode})"
                continue
            run.check_returncode()
            found[library] = [int(number) for number in run.stdout.split()]
    return found


def main() -> int:
    """Runs the campaign; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares the C runtime's quantized layers with numpy's.")
    parser.add_argument("libraries", nargs="*", type=Path, help="builds of libflambeau.so")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first layer, which seeds it")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    add_job_options(parser)
    arguments = parser.parse_args()
    if arguments.child:
        print(*differing(arguments.child))
        return 0
    libraries = [path.resolve() for path in arguments.libraries or [find_library()]]
    wrong: dict[Path, int | str] = dict.fromkeys(libraries, 0)
    end = arguments.first + arguments.layers
    places = range(arguments.first, end, _LAYERS_A_FILE)
    blocks = [(start, min(start + _LAYERS_A_FILE, end)) for start in places]
    lost = 0
    with chosen_executor(arguments) as executor:
        for (first, last), future in track(in_order(executor, partial(judged, libraries), blocks), "layers", len(blocks)):
            try:
                results = future.result()
            except LostProcessError as error:
                lost += last - first
                print(f"layers {first} to {last - 1}: {error}")
                continue
            for library, found in results.items():
                known = wrong[library]
                wrong[library] = found if isinstance(found, str) else known if isinstance(known, str) else known + len(found)
                for number in () if isinstance(found, str) else found:
                    print(f"{library}: layer {number} differs from numpy")
    for library, count in wrong.items():
        print(
            f"{library}: {count if isinstance(count, str) else f'{arguments.layers - lost - count} of {arguments.layers} layers as numpy'}"
        )
    return int(lost > 0 or any(isinstance(count, int) and count > 0 for count in wrong.values()))


if __name__ == "__main__":
    from campaigns import quantized_kernels  # other processes import its functions by this name

    sys.exit(quantized_kernels.main())
