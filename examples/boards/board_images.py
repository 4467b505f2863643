"""Builds images for boards: objects that programs share once, the rest of each program, and what of the image belongs to which part."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from board import HARNESS, Board
from board_networks import ROOT, Case
from link_map import pieces

from flambeau.runtime.emit.c_program.kernel_sources import needed_sources, runtime_sources
from flambeau.runtime.manifest import NO_OTHERS, kernel_rows, table_source

BUILD = ROOT / "build" / "boards"
FORMS = (".pte", "emitted C")
_RUNTIME = ROOT / "runtime" / "c"
_COMMON = ("-std=c11", "-O2", "-ffunction-sections", "-fdata-sections", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror")
_KERNELS = ("-fno-math-errno", "-fno-trapping-math")
_TOLERANCE = 1e-5
"""How far floats may be from those of the host, in units of the largest: sums of vectors have another order."""


_TELLING = re.compile(r"error: (?!ld returned)|overflowed|undefined|cannot find|unrecognized|multiple definition|syntax error")


class BuildError(Exception):
    """Reports that a compiler failed; the message is what it said first."""


@dataclass(frozen=True)
class Image:
    """What a board runs.

    Attributes:
        path: the file.
        text: bytes of code and constants by part: program, runtime, kernels, libraries; without weights, and without the harness.
        ram: bytes of variables by part.
    """

    path: Path
    text: Mapping[str, int]
    ram: Mapping[str, int]


def build(board: Board, case: Case, form: str, name: str) -> Image:
    """Builds an image.

    Raises:
        BuildError: the compiler or the linker fails, for example because the memory of the board is too small.
    """
    folder = BUILD / _key(board.name) / f"{name}-{_key(form)}"
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "case.c", _case(case, form))
    objects = _loaded_objects(board, case, folder) if form == FORMS[0] else emitted_objects(board, case, folder, HARNESS / "emitted.c")
    shared = (_object(board, HARNESS / f"{item}.c") for item in ("harness", *board.machine, *board.arithmetic))
    objects["harness"] += [*shared, _object(board, folder / "case.c", folder)]
    return _linked(board, folder, objects)


def emitted_objects(board: Board, case: Case, folder: Path, user: Path) -> dict[str, list[Path]]:
    """Compiles a program that is C, in a folder, and the file of C that uses it; returns the objects by part.

    Raises:
        BuildError: the compiler fails.
    """
    for path, data in case.files.items():
        _write(folder / path, data.decode())
    own = (f"-I{folder / 'flambeau'}", f"-I{folder / 'flambeau' / 'include'}", f"-I{folder}")
    objects = {
        "program": [_object(board, folder / "net.c", folder, own)],
        "weights": [_object(board, folder / "net_weights.c", folder, own)],
        "harness": [_object(board, user, folder, own)],
    }
    runtime = {path.removeprefix("flambeau/"): data.decode() for path, data in case.files.items() if path.startswith("flambeau/")}
    assert all(runtime_sources().get(path) == text for path, text in runtime.items())  # so that programs share their objects
    files = list(_compiled(runtime))
    objects["kernels"] = [_kernel(board, path, case) for path in files if path.startswith("kernels/")]
    objects["runtime"] = [_object(board, _RUNTIME / path) for path in files if not path.startswith("kernels/")]
    return objects


def _loaded_objects(board: Board, case: Case, folder: Path) -> dict[str, list[Path]]:
    """Compiles a program that is a `.pte`, and what it needs of the library."""
    _write(folder / "weights.c", _array("case_program", case.program) + f"const size_t case_program_size = {len(case.program)};\n")
    rows = [kernel_rows()[operator] for operator in sorted(case.operators)]
    _write(folder / "tables.c", f"{table_source(rows)}{NO_OTHERS}")
    files = needed_sources([*(row.run for row in rows), *(row.scratch for row in rows if row.scratch != "NULL")])
    core = (_object(board, path, flags=("-DFL_NO_HOOK",)) for path in _core())
    return {
        "weights": [_object(board, folder / "weights.c", folder)],
        "harness": [_object(board, HARNESS / "pte.c")],
        "runtime": [_object(board, folder / "tables.c", folder), *core],
        "kernels": [_kernel(board, path, case) for path in _compiled(files) if path.startswith("kernels/")],
    }


def _kernel(board: Board, path: str, case: Case) -> Path:
    """Compiles a file of kernels for the element types of a program; programs of the same types share it."""
    return _object(board, _RUNTIME / path, flags=(*_KERNELS, f"-DFL_DTYPES={case.dtypes:#x}u"), kind=f"{case.dtypes:x}")


def link(board: Board, arguments: Iterable[str | Path], image: Path) -> None:
    """Links an image of objects and options.

    Raises:
        BuildError: the linker fails, for example because the memory of the board is too small.
    """
    _call([*board.link_command, *map(str, arguments), "-Wl,--gc-sections", *board.libraries, "-o", str(image)])


def symbol_addresses(image: Path, board: Board) -> Mapping[str, int]:
    """Returns the addresses of the functions of an image."""
    tool = board.link_command[0].replace("gcc", "nm")
    lines = subprocess.run([tool, image], capture_output=True, text=True, check=True).stdout.splitlines()
    return {parts[2]: int(parts[0], 16) for parts in map(str.split, lines) if len(parts) == 3}


def _compiled(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if path.endswith(".c"))


def _key(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower()).strip("_")


def _core() -> list[Path]:
    core = _RUNTIME / "core"
    return [*sorted(core.glob("*.c")), *sorted(core.glob("checks/*.c")), core / "messages" / "append.c", core / "messages" / "sentences.c"]


def _write(path: Path, text: str) -> None:
    """Writes a file, unless it has that text: what is compiled of it stays."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _array(name: str, data: bytes) -> str:
    rows = ",\n".join(",".join(map(str, data[start : start + 32])) for start in range(0, len(data), 32))
    return f'#include "board.h"\n_Alignas(64) const uint8_t {name}[] = {{\n{rows}\n}};\n'


def _case(case: Case, form: str) -> str:
    parts: list[str] = []
    for kind, arrays in (("input", case.inputs), ("output", case.outputs)):
        parts += (_array(f"case_{kind}_{index}", data) for index, data in enumerate(arrays))
        listed = ", ".join(f"{{case_{kind}_{index}, {len(data)}}}" for index, data in enumerate(arrays))
        parts.append(f"const case_tensor case_{kind}s[] = {{{listed}}};\nconst uint32_t case_{kind}_count = {len(arrays)};\n")
    memory = case.memory if form == FORMS[0] else 64
    parts.append(f"const float case_tolerance = {_TOLERANCE}f;\nconst size_t case_memory_size = {memory};\n")
    parts.append(f"_Alignas(64) uint8_t case_memory[{memory}];\n")
    return "".join(parts)


def _digest(board: Board) -> str:
    """Returns the name of the folder of a board's shared objects: another one where the runtime or a flag has changed."""
    text = repr((board.compiler, board.flags, _COMMON, sorted(runtime_sources().items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _object(board: Board, source: Path, folder: Path | None = None, flags: tuple[str, ...] = (), kind: str = "") -> Path:
    """Compiles a file, unless its object is there: in the folder of a program, or in that of the board and a kind of flags."""
    place = folder or BUILD / _key(board.name) / _digest(board) / kind
    target = place / f"{source.parent.name}-{source.name}".replace(".c", ".o")
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime and folder is None:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    includes = (f"-I{HARNESS}", f"-I{_RUNTIME}", f"-I{_RUNTIME / 'include'}")
    _call([*board.compiler, *_COMMON, *board.flags, *flags, *includes, "-c", str(source), "-o", str(target)])
    return target


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if _TELLING.search(line)]
        raise BuildError(next(iter(said), done.stderr.strip() or "no message").rpartition("bin/ld: ")[2])


def _linked(board: Board, folder: Path, objects: Mapping[str, list[Path]]) -> Image:
    image, written = folder / "image.elf", folder / "image.map"
    link(board, [*board.layout(folder), *(path for paths in objects.values() for path in paths), f"-Wl,-Map={written}"], image)
    owners = {str(path): part for part, paths in objects.items() for path in paths}
    text: dict[str, int] = {}
    ram: dict[str, int] = {}
    for piece in pieces(written.read_text()):
        kind, part = (ram if piece.is_variable else text), owners.get(piece.file, "libraries")
        kind[part] = kind.get(part, 0) + piece.size
    return Image(image, text, ram)
