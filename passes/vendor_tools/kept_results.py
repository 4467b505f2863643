"""Results of tools, kept in the user's cache folder: `$XDG_CACHE_HOME/flambeau/tools`, or `~/.cache/flambeau/tools`.

A file is a result, a zip archive whose name is the digest of the tool, its arguments and inputs. Removing files, or the folder, is
safe at any time.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flambeau.support.files import replacing

MOST_BYTES = 1 << 30
"""The size of the folder. Beyond it, the results that were not used for the longest time are removed."""

_PRINTED = "printed"
_FILES = "files/"


@dataclass(frozen=True)
class ToolResult:
    """The result of a run: the contents of the files that it wrote, by name, and all that it printed."""

    files: Mapping[str, bytes]
    printed: str

    @property
    def file(self) -> bytes:
        """The content of the one file."""
        (content,) = self.files.values()
        return content


def results_folder() -> Path:
    """Returns the folder, which may not exist yet. Raises RuntimeError for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "flambeau" / "tools"


def kept(key: str) -> ToolResult | None:
    """Returns a result; None if it is not there, or is damaged."""
    try:
        path = results_folder() / f"{key}.zip"
        with zipfile.ZipFile(path) as archive:
            files = {name.removeprefix(_FILES): archive.read(name) for name in archive.namelist() if name.startswith(_FILES)}
            found = ToolResult(files, archive.read(_PRINTED).decode())
        os.utime(path)
    except (OSError, RuntimeError, EOFError, KeyError, ValueError, zlib.error, zipfile.BadZipFile):
        return None
    return found


def keep(key: str, result: ToolResult) -> None:
    """Keeps a result if the folder can be written, and removes the oldest ones."""
    with suppress(OSError, RuntimeError):
        folder = results_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / f"{key}.zip") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_PRINTED, result.printed)
            for name, content in result.files.items():
                archive.writestr(f"{_FILES}{name}", content)
        _remove_oldest(folder)


def _remove_oldest(folder: Path) -> None:
    """Removes what was not used for the longest time until the rest has at most `MOST_BYTES`."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process removes some too
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > MOST_BYTES:
            path.unlink(missing_ok=True)
