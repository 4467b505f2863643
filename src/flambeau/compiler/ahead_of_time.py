"""Programs as machine code: emitted as C, compiled by this machine's compiler, and loaded."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import methods_of
from flambeau.dialects.emitc.c_names import function_names
from flambeau.dialects.exec.method import MethodOp
from flambeau.runtime.binding import Runtime
from flambeau.runtime.binding.emitted_method import EmittedMethod
from flambeau.runtime.binding.library import find_library, include_folder
from flambeau.support.files import replacing

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from flambeau.compiler.edge_program import ExecutorchProgramManager
    from flambeau.dialects.schema.context import FlambeauContext

NAME = "program"
_FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-Wl,--gc-sections")
_ARITHMETIC = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""With these, loops compute what the kernels of the library compute."""


class CompilerError(ValueError):
    """Reports that this machine has no compiler of C, or that it failed. The message is one line for people."""


@dataclass(frozen=True)
class CompiledProgram:
    """A program in a shared library.

    Attributes:
        library: the file of the machine code.
        methods: its methods by name. They share the memory of the library, and one thread at a time may run any of them.
    """

    library: Path
    methods: Mapping[str, EmittedMethod]

    def load_method(self, name: str = "forward") -> EmittedMethod:
        """Returns a method. Raises KeyError for an unknown name."""
        return self.methods[name]

    def __call__(self, *inputs: object, **kwargs: object) -> list[object]:
        """Runs the only method, or `forward`, and returns its outputs."""
        name = next(iter(self.methods)) if len(self.methods) == 1 else "forward"
        return self.methods[name](*inputs, **kwargs)


def aot(program: ExecutorchProgramManager, *, cache_dir: str | os.PathLike[str] | None = None) -> CompiledProgram:
    """Compiles a program ahead of time, to machine code of this machine.

    Args:
        program: what `to_executorch` returned.
        cache_dir: the folder of compiled programs; one of the same content is loaded from there. By default `flambeau` in the user's cache
            (`XDG_CACHE_HOME`).

    Raises:
        CompilerError: there is no C compiler (`CC`, or cc), or it failed.
        PassError: lists the parts of the program that cannot be C, such as delegates.
    """
    return compile_module(program.module, program.context, program.buffer, cache_dir=cache_dir)


def compile_module(
    module: ModuleOp, context: FlambeauContext, program: bytes, *, cache_dir: str | os.PathLike[str] | None = None
) -> CompiledProgram:
    """Compiles a planned module, whose `.pte` is `program`, as `aot` does."""
    files = Compilation(module.clone(), context).emit_c(NAME, "incbin", with_runtime=False)
    folder = Path(cache_dir) if cache_dir is not None else _cache_folder()
    library = _compiled(files, folder)
    loaded = Runtime.get().load_program(program)
    # A copy, so that each program that is loaded has memory of its own.
    with tempfile.NamedTemporaryFile(suffix=library.suffix) as copy:
        copy.write(library.read_bytes())
        copy.flush()
        code = ctypes.CDLL(copy.name)
    getattr(code, f"{NAME}_init")()
    known = methods_of(module)
    functions = function_names(NAME, known)
    methods = {
        name: EmittedMethod(loaded, index, code, NAME, functions[name], _fixed_inputs(method))
        for index, (name, method) in enumerate(known.items())
    }
    return CompiledProgram(library, methods)


def _fixed_inputs(method: MethodOp) -> frozenset[int]:
    """Returns the positions of the inputs that no instruction reads."""
    inputs = enumerate(method.terminator.inputs)
    return frozenset(index for index, slot in inputs if all(use.operation is method.terminator for use in slot.uses))


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flambeau"


def _compiled(files: Mapping[str, bytes], folder: Path) -> Path:
    """Returns the library of a program, which is compiled unless the folder has it."""
    command = _compiler()
    static = find_library().with_name("libflambeau.a")
    instructions = static.with_suffix(".flags")
    for path in (static, instructions):
        if not path.is_file():
            raise CompilerError(f"{path} is missing: Flambeau's package has it beside its shared library")
    flags = (*_FLAGS, *_ARITHMETIC, *instructions.read_text(encoding="utf-8").split())
    key = hashlib.sha256(repr((command, _version(command), flags, static.stat().st_mtime_ns, static.stat().st_size)).encode())
    for path, data in sorted(files.items()):
        key.update(f"{path} {len(data)} ".encode())
        key.update(data)
    target = folder / f"{key.hexdigest()[:32]}.so"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for path, data in files.items():
            (Path(place) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / path).write_bytes(data)
        sources = [path for path in files if path.endswith((".c", ".S"))]
        made = Path(place) / target.name
        call = [*command, *flags, f"-I{include_folder()}", "-I.", *sources, str(static), "-lm", "-o", str(made)]
        result = subprocess.run(call, cwd=place, capture_output=True, text=True)
        if result.returncode:
            said = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip() or "no message")
            raise CompilerError(f"{command[0]} cannot compile the program: {said}")
        with replacing(target) as file:
            file.write(made.read_bytes())
    return target


def _compiler() -> tuple[str, ...]:
    command = tuple(shlex.split(os.environ.get("CC", ""))) or ("cc",)
    if which(command[0]) is None:
        raise CompilerError(f"there is no C compiler {command[0]}: install one, or name it by CC")
    return command


@cache
def _version(command: tuple[str, ...]) -> str:
    return subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
