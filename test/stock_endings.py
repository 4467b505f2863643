"""How stock ExecuTorch ends on files: `python stock_endings.py PATH ...` prints a line of JSON for each way to use each file.

A file is used in a process of its own, so that none ends another one; ExecuTorch is imported only once.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from executorch import runtime as executorch_runtime
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

peer: Any = executorch_runtime
portable_lib: Any = import_module("executorch.extension.pybindings.portable_lib")

PROGRAM = Path(__file__).parents[1] / "runtime" / "c" / "test" / "programs" / "add.pte"
SECONDS = 60
"""A use that takes longer hangs."""
NUMBERS = (True, False, 1, 0.5)
"""Given in turn for each input that is no tensor, because ExecuTorch does not tell its type."""
TYPES = dict(enumerate((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)))
"""By ExecuTorch's numbers; other types are given as bool."""


def is_well(ending: str) -> bool:
    """Whether an ending is one that a caller can live with."""
    return ending == "ran" or ending.startswith("raised ")


def ending(action: Callable[[], object], seconds: int = SECONDS) -> str:
    """How a process ends that does the action: "ran", "raised TYPE: MESSAGE", the name of a signal, or "exit STATUS"."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()  # it would write to a copy of stderr
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        signal.alarm(seconds)
        try:
            action()
            text = "ran"
        except Exception as error:
            text = f"raised {type(error).__name__}: {' '.join(str(error).split())[:1000]}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return text or f"exit {os.WEXITSTATUS(status)}"


def inputs(meta: Any, number: bool | int | float) -> Iterator[Any]:
    """Small numbers for each tensor, the number for each other input."""
    for index in range(meta.num_inputs()):
        try:
            info = meta.input_tensor_meta(index)
        except IndexError:
            yield number
            continue
        elements = torch.arange(torch.Size(info.sizes()).numel()) + int(number)
        yield (elements % 3).reshape(info.sizes()).to(TYPES.get(info.dtype(), torch.bool))


def run_program(data: bytes, verification: Any) -> None:
    """Runs each method of a program, several times. Raises what every time raises."""
    program = peer.Runtime.get().load_program(data, verification=verification)
    for name in sorted(program.method_names):
        method = program.load_method(name)
        errors: list[RuntimeError] = []
        for number in NUMBERS:
            try:
                method.execute(list(inputs(method.metadata, number)))
            except RuntimeError as error:
                errors.append(error)
        if len(errors) == len(NUMBERS):
            raise errors[-1]


def run_bundle(data: bytes) -> None:
    """Runs each method of the program in a bundled program."""
    bundle = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    for name in module.method_names():
        module.run_method(name, tuple(inputs(module.method_meta(name), 1)))


def uses(path: Path) -> dict[str, Callable[[], object]]:
    """The ways to use a file, by name."""
    data = path.read_bytes()
    match path.suffix:
        case ".pte":
            levels = ("Minimal", "InternalConsistency")
            return {level: partial(run_program, data, getattr(peer.Verification, level)) for level in levels}
        case ".bpte":
            return {"bundle": partial(run_bundle, data)}
        case ".ptd":
            return {"data": lambda: peer.Runtime.get().load_program(PROGRAM, data_path=path).load_method("forward")}
        case ".etdp":
            return {"record": partial(deserialize_from_etdump_flatcc, data)}
        case _:
            raise ValueError(f"{path}: ExecuTorch reads no files that end in {path.suffix!r}")


def main(paths: Sequence[str]) -> None:
    """Prints how each use of each file ends."""
    for path in paths:
        for use, action in uses(Path(path)).items():
            print(json.dumps({"path": path, "use": use, "ending": ending(action)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
