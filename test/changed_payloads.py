"""Runs programs with changed payloads, at several sizes, or while memory runs out, under the sanitizers or with guarded memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flambeau.runtime import include_folder
from flambeau.runtime.pte import read_program

_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-Og", "-std=c11")
_GUARD = ("-rdynamic", "-g", "-O1", "-std=c11")
_LIMITS = {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512"}
_LEAKS = "known_leaks.supp"
"""Beside the tests of a backend: what its adapter leaves on purpose, in the form of LeakSanitizer's suppressions."""


def compile_tool(backend: Path, folder: Path, vendor: Path | None = None) -> Path:
    """The program that changes payloads for the backend in a folder, whose name is the folder's.

    Args:
        backend: its folder.
        folder: for what is built.
        vendor: the backend's library, whose memory is then guarded and may run out; without it, the sanitizers watch.
    """
    tool, core = folder / "changed_payloads", include_folder().parent / "core"
    own = Path(__file__).with_suffix(".c")
    sources = [
        own,
        *backend.glob("runtime/*.c"),
        *(core.parent / "library").glob("*.c"),
        *(path for path in core.rglob("*.c") if path.stem != "numbers"),
    ]
    includes = [f"-I{core.parent}", f"-I{include_folder()}", f"-DBACKEND=fl_backend_{backend.name}"]
    flags = _SANITIZE
    if vendor is not None:
        flags = (*_GUARD, f'-DVENDOR="/{vendor.name}"')
        sources.append(own.with_name("vendor_memory.c"))
    subprocess.run(["cc", *flags, *includes, *sources, "-lm", "-ldl", "-lpthread", "-o", tool], check=True)
    if (leaks := backend / "test" / _LEAKS).exists():
        shutil.copy(leaks, folder)
    return tool


@dataclass(frozen=True)
class Trials:
    """What came of the trials with some programs.

    Attributes:
        results: how many were refused at load, refused when they ran, and ran.
        executions: how many executions of a method that took.
    """

    results: list[int]
    executions: int


def run_changed(tool: Path, settings: Mapping[str, str], programs: Sequence[bytes], count: int) -> list[int]:
    """Changes the first payload of each program so many times: how many were refused at load, refused when they ran, and ran.

    Args:
        tool: from `compile_tool`.
        settings: environment variables.
        programs: that call one delegate and no kernels.
        count: of changes.
    """
    return run(tool, settings, programs, count).results


def run(
    tool: Path,
    settings: Mapping[str, str],
    programs: Sequence[bytes],
    count: int,
    mode: str = "payloads",
    seed: int = 1,
    seconds: float = 600,
) -> Trials:
    """Tries each program so many times.

    Args:
        tool: from `compile_tool`.
        settings: environment variables.
        programs: that call one delegate and no kernels.
        count: of trials with each program.
        mode: one that `changed_payloads.c` explains.
        seed: of the first trial.
        seconds: the most that it takes.
    """
    arguments: list[str] = []
    for index, program in enumerate(programs):
        payload = bytes(read_program(program).execution_plan[0].delegates[0].processed)
        path = tool.parent / f"{index}.pte"
        path.write_bytes(program)
        arguments += [str(path), str(program.index(payload)), str(len(payload))]
    command = [tool, mode, str(count), str(seed), *arguments]
    leaks = tool.with_name(_LEAKS)
    limits = _LIMITS | ({"LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"} if leaks.exists() else {})
    done = subprocess.run(command, env={**os.environ, **limits, **settings}, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr}"
    *results, executions = [int(word) for word in done.stdout.split() if word.isdigit()]
    return Trials(results, executions)
