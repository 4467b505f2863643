"""Checks of output files: the form of the program, the weights beside it, and files that must not be overwritten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from flambeau.dialects.ir.weight_files import check_beside
from flambeau.runtime.emit import Constant, ExternalConstants
from flambeau.runtime.pte.reader import IDENTIFIER

FORMS = ("pte", "mlir")
"""The forms of a program: bytes for a runtime, or IR."""


class OutputError(ValueError):
    """An error of a file that cannot be written or must not be. The message is one line for the user."""


def form_of(output: Path | None, emit: str | None, to: str | None) -> str:
    """Returns the form to write, one of FORMS: from `--emit`; IR if `--to` names a stage; else from the suffix of the output.

    Raises OutputError when they contradict each other.
    """
    if emit not in (None, *FORMS):
        raise OutputError(f"--emit is pte or mlir, not {emit!r}")
    if emit == "pte" and to is not None:
        raise OutputError(f"--to {to} is for --emit mlir: a .pte is made at the end of all stages")
    suffix = "" if output is None else output.suffix[1:]
    named = suffix if suffix in FORMS else None
    form = emit or ("mlir" if to is not None else named or "pte")
    if named not in (None, form):
        why = f"--emit {emit}" if emit else f"--to {to}"
        raise OutputError(f"{output} is the name of a .{named} file, but with {why} it would be a .{form} file: change one of them")
    return form


def check_output(path: Path, form: str, source: str | Path, *, named: bool = True) -> None:
    """Checks, before the work, that its result can be written without overwriting anything else.

    Args:
        path: the file to write. IR has its weights beside it, as `.safetensors`.
        form: one of FORMS, or pt2.
        source: the input.
        named: whether the user chose the name. If not, existing IR is not overwritten, because the user may have written it.

    Raises:
        OutputError: `path` cannot be written, is the source, or exists with another kind of content.
        BlobError: the weights would replace a file that Flambeau did not write.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file to write")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        return  # a device
    if form == "mlir":
        check_beside(path, source)
    if not path.exists():
        return
    if os.path.exists(source) and os.path.samefile(path, source):
        raise OutputError(f"refusing to overwrite the input {path}: name another file with -o")
    if form == "mlir" and not named:
        raise OutputError(f"{path} exists: name the file to write with -o, which may be this one")
    if path.stat().st_size and not (_is_pte(path) if form == "pte" else path.suffix == f".{form}"):
        raise OutputError(f"{path} exists and is not a .{form} file: name another file with -o")


def _is_pte(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8)[4:] == IDENTIFIER


def external_files(options: Sequence[str]) -> ExternalConstants | None:
    """Returns a collector of external constants for the options `NAME[=PATTERN]`; None without options. Raises OutputError."""
    choices: list[tuple[str, str]] = []
    for option in options:
        name, equal, pattern = option.partition("=")
        if not name or "/" in name or (equal and not pattern):
            raise OutputError(f"--external-constants is NAME or NAME=PATTERN, as in lora=*.lora_*, and NAME.ptd is written; not {option!r}")
        choices.append((name, pattern or "*"))

    def file_of(constant: Constant) -> str | None:
        return next((name for name, pattern in choices if fnmatchcase(constant.name, pattern)), None)

    return ExternalConstants(file_of) if choices else None
