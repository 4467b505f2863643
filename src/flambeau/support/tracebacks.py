"""Exceptions of Python code as diagnostics show them: what was raised, and where."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import xdsl

from flambeau.support.position import Position


def in_one_line(error: BaseException) -> str:
    """An exception with its class: `NameError: name 'x' is not defined`."""
    what = " ".join(str(error).split())
    return f"{type(error).__name__}: {what}" if what else type(error).__name__


def raised_at(error: BaseException, concerned: Callable[[Path], bool]) -> Position | None:
    """The innermost place in a file that is `concerned`; None when the exception came through no such file."""
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if concerned(Path(frame.filename))]
    if not frames:
        return None
    last = frames[-1]
    column, end = (last.colno or 0) + 1, (last.end_colno or 0) + 1
    length = max(1, end - column) if last.end_lineno == last.lineno else 1
    return Position(shown_path(Path(last.filename)), last.lineno or 1, column, length)


def raised_outside(error: BaseException) -> Position | None:
    """The innermost place in a file that is neither ours nor xDSL's nor Python's: in a plug-in, or in the user's model.

    What an exception was raised from is looked at first: it came from deeper. A plug-in may be installed among other libraries, whose files
    count only when there are no others. None when the exception came through no such file.
    """
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    ours = (Path(__file__).parents[1], Path(xdsl.__file__).parent)
    python, installed = Path(sysconfig.get_path("stdlib")), {Path(sysconfig.get_path(key)) for key in ("purelib", "platlib")}

    def is_theirs(file: Path) -> bool:
        # Libraries are installed inside of Python's own folder.
        of_python = python in file.parents and installed.isdisjoint(file.parents)
        return file.is_file() and not of_python and not any(folder in file.parents for folder in ours)

    def is_at_home(file: Path) -> bool:
        return is_theirs(file) and installed.isdisjoint(file.parents)

    for concerned in (is_at_home, is_theirs):
        for item in reversed(chain):
            if (place := raised_at(item, concerned)) is not None:
                return place
    return None


def locals_where_raised(error: BaseException, concerned: Callable[[Path], bool]) -> Mapping[str, object]:
    """The local variables at the innermost place in a file that is `concerned`."""
    import traceback

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if concerned(Path(frame.f_code.co_filename))]
    return frames[-1].f_locals if frames else {}


def shown_path(file: Path) -> str:
    """A path as people read it: relative where the file lies below the current folder."""
    here = Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)
