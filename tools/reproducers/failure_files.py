"""Unnamed files about failures: one folder for each user, with the newest files only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

KEPT = 20
"""So many failures stay on the disk."""


def new_failure_file(stem: str, suffix: str) -> Path:
    """Creates an empty file whose name begins with `stem`, and returns its path.

    Raises OSError.
    """
    folder = failure_folder()
    handle, name = tempfile.mkstemp(suffix, f"{stem}-", folder)
    os.close(handle)
    path = Path(name)
    _forget_old(folder.iterdir(), path)
    return path


def failure_folder() -> Path:
    """Returns the folder of the files, inside the folder for temporary files. Raises OSError."""
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir()) / f"flambeau-failures{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (user and folder.stat().st_uid != os.getuid()):
        # Another user may have made this folder, to read or replace its files.
        return Path(tempfile.mkdtemp(prefix="flambeau-failures-"))
    return folder


def _forget_old(files: Iterable[Path], newest: Path) -> None:
    """Removes all but the last `KEPT` failures. Other processes may do this at the same time."""
    times: dict[str, float] = {}
    groups: dict[str, list[Path]] = {}
    for file in files:
        try:
            time = file.stat().st_mtime
        except OSError:
            continue
        times[file.stem] = max(time, times.get(file.stem, 0.0))
        groups.setdefault(file.stem, []).append(file)
    times[newest.stem] = float("inf")
    for stem in sorted(times, key=lambda stem: times[stem])[:-KEPT]:
        for file in groups[stem]:
            try:
                file.unlink()
            except OSError:
                pass  # it is gone already, or not to be removed
