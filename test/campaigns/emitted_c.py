"""Builds the folder of every model of the end-to-end tests as C with sanitizers, and compares what it writes with the runtime's results.

    PYTHONPATH=test .venv/bin/python test/campaigns/emitted_c.py [names of models]

A campaign, outside of the tests. Each folder is built by its own CMakeLists.txt for this machine's instruction set, with each form of
`--weights`, for the targets in turns. It prints the bytes of each program beside kernels and weights, of its data, and whether the
bits are those of the `.pte`. The exit status is 1 if some are not, or if a compiler or a sanitizer says anything.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from all_engines import TARGETS
from models import SMALLER
from rich.console import Console
from rich.table import Table

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.emit.c_program import WEIGHTS

_FLAGS = "-march=native -O1 -g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"


def _built(files: dict[str, bytes], folder: Path) -> str:
    """Builds a folder; returns what the compiler said, if it failed."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    for command in (["cmake", "-S", ".", "-B", "build", f"-DCMAKE_C_FLAGS={_FLAGS}"], ["cmake", "--build", "build", "--parallel", "2"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            return done.stderr
    return ""


def _run(folder: Path, inputs: list[Any], weights: str) -> tuple[bytes, str]:
    """Runs `main.c` of a folder; returns the bytes of the outputs, and what it said."""
    paths = [str(folder / "net_weights.bin")] if weights == "blob" else []
    for index, array in enumerate(inputs):
        paths.append(str(folder / f"{index}.bin"))
        np.ascontiguousarray(array).tofile(paths[-1])
    done = subprocess.run([folder / "build" / "net_main", *paths], capture_output=True)
    return done.stdout, done.stderr.decode(errors="replace")


def main(names: list[str]) -> int:
    """Judges the models; returns the exit status."""
    table = Table("model", "target", "weights", "text of net.c", "bss", "bits")
    failed = 0
    for name in names or SMALLER:
        for target, weights in zip(cycle(TARGETS), WEIGHTS, strict=False):
            module, inputs = SMALLER[name]()
            arrays = [item.numpy() for item in inputs]
            context = FlambeauContext()
            compilation = Compilation(export_module(module, inputs, context), context, PipelineOptions(target=target))
            results = Runtime.get().load_program(compilation.emit()).load_method("forward").execute(arrays)
            with TemporaryDirectory() as place:
                folder = Path(place)
                said = _built(compilation.emit_c("net", weights), folder)
                found, why = (b"", said) if said else _run(folder, arrays, weights)
                sized = "size build/CMakeFiles/net.dir/net.c.o | tail -1"
                text, _, bss = subprocess.run(sized, shell=True, cwd=folder, capture_output=True, text=True).stdout.split()[:3] or (
                    "",
                    "",
                    "",
                )
            same = found == b"".join(np.asarray(item).tobytes() for item in results)
            failed += not same or bool(why)
            table.add_row(name, target, weights, text, bss, "equal" if same and not why else f"different: {why[:200]}")
    Console(stderr=True).print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
