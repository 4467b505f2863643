"""Text and position of Python exceptions, for diagnostics."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import xdsl

from flambeau.support.position import Position


def in_one_line(error: BaseException) -> str:
    """Returns the class and message of an exception in one line: `NameError: name 'x' is not defined`."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def raised_at(error: BaseException, accepts: Callable[[Path], bool]) -> Position | None:
    """Returns the innermost line of the traceback in a file that `accepts` accepts, or None."""
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if accepts(Path(frame.filename))]
    if not frames:
        return None
    last = frames[-1]
    column, end = (last.colno or 0) + 1, (last.end_colno or 0) + 1
    length = max(1, end - column) if last.end_lineno == last.lineno else 1
    return Position(shown_path(Path(last.filename)), last.lineno or 1, column, length)


def raised_outside(error: BaseException) -> Position | None:
    """Returns the innermost line of the traceback outside Flambeau, xDSL and Python: in a plug-in, or in the user's model.

    The causes of the exception are searched first, because they come from deeper calls. Installed files count only if the traceback has no
    other file, because a plug-in may be installed beside other libraries.
    """
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    ours = (Path(__file__).parents[1], Path(xdsl.__file__).parent)
    python, installed = Path(sysconfig.get_path("stdlib")), {Path(sysconfig.get_path(key)) for key in ("purelib", "platlib")}

    def is_foreign(file: Path) -> bool:
        # The folder of installed libraries is inside Python's own folder.
        of_python = python in file.parents and installed.isdisjoint(file.parents)
        return file.is_file() and not of_python and not any(folder in file.parents for folder in ours)

    def is_not_installed(file: Path) -> bool:
        return is_foreign(file) and installed.isdisjoint(file.parents)

    for accepts in (is_not_installed, is_foreign):
        for item in reversed(chain):
            if (place := raised_at(item, accepts)) is not None:
                return place
    return None


def locals_where_raised(error: BaseException, accepts: Callable[[Path], bool]) -> Mapping[str, object]:
    """Returns the local variables of the innermost frame in a file that `accepts` accepts; empty if there is none."""
    import traceback

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if accepts(Path(frame.f_code.co_filename))]
    return frames[-1].f_locals if frames else {}


def shown_path(file: Path) -> str:
    """Returns a path for messages: relative if the file is below the current folder."""
    here = Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)
