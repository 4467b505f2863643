"""Writes files atomically: the old file stays until the new one is complete."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[BinaryIO, None, None]:
    """Opens a file that replaces `path` atomically when the block ends; if the block raises, `path` is unchanged.

    A link stays a link: its target is replaced. Permissions stay. A path that is not a regular file, such as a pipe, is written directly.

    Raises:
        OSError: the file cannot be written; the error names `path`.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a link to a pipe, such as /dev/stdout, has no path to replace
        with naming(path), open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    # The name of the target may already have the maximum length.
    temporary = target.with_name(f".{target.name[:100]}-{os.urandom(8).hex()}")
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with temporary.open("xb") as file:
            yield file
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, os.fspath(temporary), os.fspath(target)):
            missing = isinstance(error, FileNotFoundError) and not target.parent.is_dir()
            why = f"there is no folder {Path(path).parent}" if missing else error.strerror
            raise OSError(error.errno, why, os.fspath(path)) from error
        raise


@contextmanager
def naming(path: str | os.PathLike[str]) -> Generator[None, None, None]:
    """Makes an OSError within the block name `path` if the error names no file, such as the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def no_file(path: str | os.PathLike[str]) -> str:
    """Returns in words why there is no file to read at a path."""
    return f"{path} is a folder, not a file" if os.path.isdir(path) else f"no such file: {path}"


def same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Returns whether both paths exist and name the same file."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


class _NamedFile(FileIO):
    """A text file whose `write` raises OSErrors that name the file."""

    def write(self, data: Buffer, /) -> int:
        with naming(os.fspath(str(self.name))):
            return super().write(data)


def open_text(path: str | os.PathLike[str]) -> TextIO:
    """Opens a text file for direct writing. Raises OSError, now and in later writes, that names `path`."""
    return TextIOWrapper(BufferedWriter(_NamedFile(os.fspath(path), "w")), encoding="utf-8")


def write_bytes(path: str | os.PathLike[str], data: Buffer) -> None:
    """Writes a file atomically. Raises OSError."""
    with replacing(path) as file:
        file.write(data)


def write_files(path: str | os.PathLike[str], data: Buffer | Mapping[str, Buffer]) -> None:
    """Writes a file, or a folder of files by their paths in it, each of them atomically. Raises OSError."""
    if not isinstance(data, Mapping):
        write_bytes(path, data)
        return
    for name, content in data.items():
        place = os.path.join(path, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_bytes(place, content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text file atomically. Raises OSError."""
    write_bytes(path, text.encode())
