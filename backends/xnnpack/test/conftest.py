"""Runs programs whose payloads have changed bytes."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import executorch
import pytest

from flambeau.runtime import include_folder

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-std=c11"]


@pytest.fixture(scope="session")
def run_changed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times, under the sanitizers: how many were refused at load, refused when they ran, and ran."""
    here, core, folder = Path(__file__).parent, include_folder().parent / "core", tmp_path_factory.mktemp("changed")
    sources = [here / "changed_payloads.c", *(here.parent / "runtime").glob("*.c"), *core.glob("*.c")]
    command = ["cc", *SANITIZE, f"-I{core.parent}", f"-I{include_folder()}", *sources, "-lm", "-ldl", "-o", folder / "changed_payloads"]
    subprocess.run(command, check=True)
    library = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
    settings = {"FLAMBEAU_XNNPACK_LIBRARY": str(library), "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512"}

    def run(programs: list[bytes], count: int) -> list[int]:
        paths = [folder / f"{index}.pte" for index in range(len(programs))]
        for path, program in zip(paths, programs, strict=True):
            path.write_bytes(program)
        command = [folder / "changed_payloads", str(count), "1", *paths]
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split() if word.isdigit()]

    return run
