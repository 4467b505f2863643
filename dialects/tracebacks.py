"""Exceptions of Python code as diagnostics show them: what was raised, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flambeau.dialects.diagnostics import Position


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


def locals_where_raised(error: BaseException, concerned: Callable[[Path], bool]) -> Mapping[str, object]:
    """The local variables at the innermost place in a file that is `concerned`."""
    import traceback

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if concerned(Path(frame.f_code.co_filename))]
    return frames[-1].f_locals if frames else {}


def shown_path(file: Path) -> str:
    """A path as people read it: relative where the file lies below the current folder."""
    here = Path.cwd()
    return str(file.relative_to(here)) if here in file.parents else str(file)
