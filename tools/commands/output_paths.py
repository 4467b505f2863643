"""Checks of output files: the form of the program, the weights beside it, and files that must not be overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from flambeau.dialects.ir.weight_files import check_beside
from flambeau.passes.delegation.interface import file_backends
from flambeau.runtime.emit import Constant, ExternalConstants
from flambeau.runtime.emit.c_program import MARK
from flambeau.runtime.emit.external_constants import is_file_name
from flambeau.runtime.etdump.format import IDENTIFIER as ETDUMP_IDENTIFIER
from flambeau.runtime.flat_tensor.flat_tensor_file import IDENTIFIER as PTD_IDENTIFIER
from flambeau.runtime.pte.reader import IDENTIFIER
from flambeau.support.files import same_file
from flambeau.support.suggestions import did_you_mean

_IDENTIFIERS = {"pte": IDENTIFIER, "etdp": ETDUMP_IDENTIFIER, "ptd": PTD_IDENTIFIER}
"""The bytes 4 to 7 of files of a form, whatever their names; 8 to 11 if the file begins with its size."""

FOLDER_FORM = "c"
"""The form that is a folder of files."""
OWN_FORMS = ("pte", "mlir", FOLDER_FORM)


def forms() -> tuple[str, ...]:
    """Returns the forms of a program: bytes for a runtime, IR, or a file of a backend, by their suffixes."""
    return (*OWN_FORMS, *file_backends())


class OutputError(ValueError):
    """An error of a file that cannot be written or must not be. The message is one line for the user."""


def form_of(output: Path | None, emit: str | None, to: str | None) -> str:
    """Returns the form to write, one of `forms`: from `--emit`; IR if `--to` names a stage; else from the suffix of the output.

    Raises OutputError when they contradict each other.
    """
    known = forms()
    if emit not in (None, *known):
        raise OutputError(f"--emit is {', '.join(known[:-1])} or {known[-1]}, not {emit!r}")
    if emit not in (None, "mlir") and to is not None:
        raise OutputError(f"--to {to} is for --emit mlir: a .{emit} is made at the end of all stages")
    suffix = "" if output is None else output.suffix[1:]
    if suffix == FOLDER_FORM and emit == FOLDER_FORM:
        raise OutputError(f"{output} is the name of a file, and --emit {FOLDER_FORM} writes a folder: name one with -o")
    small = suffix.lower()
    near = f"; did you mean {small!r}?" if small in known else did_you_mean(suffix, file_backends())
    if emit is None and to is None and suffix not in known and near:
        raise OutputError(f"{output} has no suffix of a form of programs{near} --emit pte writes a .pte of this name")
    named = suffix if suffix in known and suffix != FOLDER_FORM else None
    form = emit or ("mlir" if to is not None else named or "pte")
    if named not in (None, form):
        why = f"--emit {emit}" if emit else f"--to {to}"
        raise OutputError(f"{output} is the name of a .{named} file, but with {why} it would be a .{form} file: change one of them")
    return form


def check_output(path: Path, form: str, source: str | Path, *, named: bool = True) -> None:
    """Checks, before the work, that its result can be written without overwriting anything else.

    Args:
        path: the file to write. IR has its weights beside it, as `.safetensors`.
        form: one of `forms`, or pt2.
        source: the input.
        named: whether the user chose the name. If not, existing IR is not overwritten, because the user may have written it.

    Raises:
        OutputError: as `check_outputs`.
        BlobError: the weights would replace a file that is not of Flambeau.
    """
    if form == FOLDER_FORM:
        _check_folder(path, MARK, f"--emit {FOLDER_FORM}")
        return
    file = file_backends()[form].file if form in file_backends() else None
    if file is not None and file.mark:
        _check_folder(path, file.mark, f"--emit {form}")
        return
    if form == "mlir" and not _is_device(path):
        check_beside(path, source)
    check_outputs([("-o", path, form)], source)
    if form == "mlir" and not named and path.is_file():
        raise OutputError(f"{path} exists: name the file to write with -o, which may be this one")


def _check_folder(path: Path, mark: str, option: str) -> None:
    """Checks that a folder can be written: it is absent, empty, or one of its kind, which has a file `mark`."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file, and {option} writes a folder: name another with -o")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir() and any(path.iterdir()) and not (path / mark).is_file():
        raise OutputError(f"{path} has other files: name a new folder, or one of an emitted program, with -o")


def check_outputs(outputs: Iterable[tuple[str, Path | None, str]], *sources: str | Path | None) -> None:
    """Checks, before the work, that its results can be written without overwriting anything else.

    Args:
        outputs: for each file to write, the option that names it, its path, and its form, such as pte or json.
        sources: the files that are read.

    Raises:
        OutputError: a file cannot be written, is a source or another output, or exists with another kind of content.
    """
    taken: list[tuple[str, Path]] = []
    for option, path, form in outputs:
        if path is None or _is_device(path):
            continue
        if path.is_dir():
            raise OutputError(f"{path} is a folder, not a file to write")
        if not path.parent.is_dir():
            raise OutputError(f"{path} cannot be written: there is no folder {path.parent}")
        if any(source is not None and same_file(path, source) for source in sources):
            raise OutputError(f"refusing to overwrite the input {path}: name another file with {option}")
        for other, file in taken:
            if same_file(path, file) or path.resolve() == file.resolve():
                raise OutputError(f"{other} and {option} name the same file {path}: name two files")
        if path.exists() and path.stat().st_size and not _has_form(path, form):
            raise OutputError(f"{path} exists and is not a .{form} file: name another file with {option}")
        taken.append((option, path))


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _has_form(path: Path, form: str) -> bool:
    """Returns whether the name of a file has the suffix of a form, or its content the identifier, where the form has one."""
    if form not in _IDENTIFIERS:
        return path.suffix == f".{form}"
    with path.open("rb") as file:
        head = file.read(12)
    return _IDENTIFIERS[form] in (head[4:8], head[8:])


def external_files(options: Sequence[str]) -> ExternalConstants | None:
    """Returns a collector of external constants for the options `NAME[=PATTERN]`; None without options. Raises OutputError."""
    choices: list[tuple[str, str]] = []
    for option in options:
        name, equal, pattern = option.partition("=")
        if not is_file_name(name) or (equal and not pattern):
            raise OutputError(f"--external-constants is NAME or NAME=PATTERN, as in lora=*.lora_*, and NAME.ptd is written; not {option!r}")
        choices.append((name, pattern or "*"))

    def file_of(constant: Constant) -> str | None:
        return next((name for name, pattern in choices if fnmatchcase(constant.name, pattern)), None)

    return ExternalConstants(file_of) if choices else None


def external_outputs(options: Sequence[str], folder: Path) -> list[tuple[str, Path, str]]:
    """Returns the files of each `NAME[=PATTERN]`, for `check_outputs`."""
    names = dict.fromkeys(option.partition("=")[0].removesuffix(".ptd") for option in options)
    return [("--external-constants", folder / f"{name}.ptd", "ptd") for name in names]
