"""Runs programs whose payloads have changed bytes, under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from flambeau.runtime import include_folder
from flambeau.runtime.pte import read_program

_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-std=c11")
_LIMITS = {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512"}


def compile_tool(backend: Path, folder: Path) -> Path:
    """The program that changes payloads for the backend in a folder, whose name is the folder's."""
    tool, core = folder / "changed_payloads", include_folder().parent / "core"
    sources = [Path(__file__).with_suffix(".c"), *backend.glob("runtime/*.c"), *core.rglob("*.c")]
    includes = [f"-I{core.parent}", f"-I{include_folder()}", f"-DBACKEND=fl_backend_{backend.name}"]
    subprocess.run(["cc", *_SANITIZE, *includes, *sources, "-lm", "-ldl", "-lpthread", "-o", tool], check=True)
    return tool


def run_changed(tool: Path, settings: Mapping[str, str], programs: Sequence[bytes], count: int) -> list[int]:
    """Changes the first payload of each program so many times: how many were refused at load, refused when they ran, and ran.

    Args:
        tool: from `compile_tool`.
        settings: environment variables.
        programs: that call one delegate and no kernels.
        count: of changes.
    """
    arguments: list[str] = []
    for index, program in enumerate(programs):
        payload = bytes(read_program(program).execution_plan[0].delegates[0].processed)
        path = tool.parent / f"{index}.pte"
        path.write_bytes(program)
        arguments += [str(path), str(program.index(payload)), str(len(payload))]
    command = [tool, str(count), "1", *arguments]
    done = subprocess.run(command, env={**os.environ, **settings, **_LIMITS}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split() if word.isdigit()]
