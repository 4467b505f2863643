"""The size of the C library with only the kernels of a program and without backends, found by linking."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from flambeau.runtime import find_library, include_folder
from flambeau.runtime.manifest import KernelRow, kernel_rows, table_source
from flambeau.tools.commands.engines import EngineError

_HEAD = """#include "flambeau/runtime.h"
"""

_TAIL = """
const fl_backend *const *fl_builtin_backends(size_t *count) { return *count = 0, (const fl_backend *const *)0; }

int main(int argc, char **argv) {
  static fl_program program;
  static fl_method method;
  static fl_requirements need;
  static fl_memory memory;
  static fl_value value;
  static fl_error error;
  return argc == 0 || fl_program_load(&program, argv[0], 0, &error) || fl_method_measure(&program, 0, 0, &need, &error) ||
         fl_method_init(&method, &program, 0, 0, &memory, &error) || fl_method_set_input(&method, 0, &value, &error) ||
         fl_method_set_output(&method, 0, argv, 0, &error) || fl_method_execute(&method, &error) || fl_method_output(&method, 0) == 0;
}
"""


@dataclass(frozen=True)
class LibrarySize:
    """Bytes of code and constant data, on this machine.

    Attributes:
        core: the code that loads and executes programs, without a kernel.
        kernels: the kernels of the program, and the code that they share.
        alone: the bytes that each operator needs if it is the only operator.
        absent: the operators of which the library has no kernel.
    """

    core: int
    kernels: int
    alone: dict[str, int]
    absent: tuple[str, ...]


def library_size(operators: Iterable[str]) -> LibrarySize:
    """Links the runtime with the kernels of some operators, and returns the sizes. Raises EngineError if there is nothing to link with."""
    names = sorted(set(operators))
    rows = [kernel_rows()[name] for name in names if name in kernel_rows()]
    archive = find_library().with_suffix(".a")
    if not archive.is_file():
        raise EngineError(f"the size of the library is found by linking {archive}, which is not there: `pip install .` builds it")
    with TemporaryDirectory(prefix="flambeau-size-") as folder:
        nothing = _linked(Path(folder), "int main(void) { return 0; }\n", archive)
        core = _linked(Path(folder), _program([]), archive)
        whole = _linked(Path(folder), _program(rows), archive)
        alone = {row.name: _linked(Path(folder), _program([row]), archive) - core for row in rows}
    return LibrarySize(core - nothing, whole - core, alone, tuple(name for name in names if name not in kernel_rows()))


def _program(rows: list[KernelRow]) -> str:
    """Returns a C program that runs programs with some kernels only, so that the library's table of all kernels is not linked."""
    return f"{_HEAD}{table_source(rows)}{_TAIL}"


def _linked(folder: Path, source: str, archive: Path) -> int:
    """Returns the bytes of a program and of the parts of the library that it needs."""
    (folder / "main.c").write_text(source, encoding="utf-8")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    options = ["-Os", "-I", str(include_folder()), str(folder / "main.c"), str(archive), "-lm", "-Wl,--gc-sections"]
    _run([*compiler, *options, "-o", str(folder / "main")])
    return int(_run(["size", str(folder / "main")]).splitlines()[1].split()[0])


def _run(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        raise EngineError(f"the size of the library is found with a C compiler and `size`, and there is no {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise EngineError(f"the library cannot be linked: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout
