"""How stock ExecuTorch ends on programs: `python stock_endings.py PATH ...` prints a line of JSON for each.

Each program has a process of its own, so that none ends another one; ExecuTorch is imported only once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from executorch import runtime as executorch_runtime

from flambeau.runtime import pte

peer: Any = executorch_runtime

SECONDS = 8
"""A program that takes longer hangs."""


def example(value: pte.Value, truth: bool) -> Any:
    """An input for a value: small numbers for a tensor, `truth` for a bool."""
    match value:
        case pte.Tensor():
            types = {dtype: torch_type for torch_type, dtype in _TYPES}
            count = 1
            for size in value.sizes:
                count *= size
            return (torch.arange(count) % 3).reshape(value.sizes).to(types[value.scalar_type])
        case pte.Bool():
            return truth
        case pte.Int(number) | pte.Double(number):
            return number
        case _:
            return None


_TYPES = (
    (torch.uint8, pte.ScalarType.BYTE),
    (torch.int8, pte.ScalarType.CHAR),
    (torch.int16, pte.ScalarType.SHORT),
    (torch.int32, pte.ScalarType.INT),
    (torch.int64, pte.ScalarType.LONG),
    (torch.float16, pte.ScalarType.HALF),
    (torch.float32, pte.ScalarType.FLOAT),
    (torch.float64, pte.ScalarType.DOUBLE),
    (torch.bool, pte.ScalarType.BOOL),
)


def run(data: bytes, verification: Any) -> None:
    program = peer.Runtime.get().load_program(data, verification=verification)
    try:
        plans = pte.read_program(data).execution_plan
    except pte.PteError:
        plans = ()
    for name in sorted(program.method_names):
        method = program.load_method(name)
        for plan in plans:
            if plan.name == name:
                for truth in (True, False):
                    method.execute([example(plan.values[index], truth) for index in plan.inputs])


def ending(path: str, verification: Any) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.alarm(SECONDS)
        try:
            run(Path(path).read_bytes(), verification)
            text = "ran"
        except Exception as error:
            text = f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        os.write(write, text.encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}" + (f" after '{text}'" if text else "")
    return text or f"exit {os.WEXITSTATUS(status)}"


def main() -> None:
    for path in sys.argv[1:]:
        endings = {name: ending(path, getattr(peer.Verification, name)) for name in ("Minimal", "InternalConsistency")}
        print(json.dumps({"path": path, **endings}), flush=True)


if __name__ == "__main__":
    main()
