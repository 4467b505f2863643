"""Tools: a vendor's programs, which compile payloads or simulate their device, as data."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING

from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.vendor_tools.kept_results import ToolResult, keep, kept
from flambeau.support.one_line import MOST_LETTERS, one_line

if TYPE_CHECKING:
    from typing_extensions import Buffer

_VERSION_SECONDS = 60
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class ToolError(BackendError):
    """A tool that does not do its work. `output` is all that it said, for a backend that finds the refused operators in it."""

    def __init__(self, message: str, output: str = ""):
        super().__init__(message)
        self.output = output


@dataclass(frozen=True)
class InstalledTool:
    """A tool that was found.

    Attributes:
        label: its name and version, for people.
        command: the words that start it.
        identity: the digest of all by which its results may differ: its version, when the program was written, the files of a `python`.
    """

    label: str
    command: tuple[str, ...]
    identity: str


@dataclass(frozen=True)
class Tool:
    """A program of a vendor.

    Attributes:
        name: what users call it, and the program on PATH.
        variable: the environment variable that holds the path of the program; it goes before PATH.
        install: how to install it, as in `pip install ethos-u-vela`.
        python: the arguments that make a Python run it, `("-m", "vela")` or a file. `variable` holds the path of this Python then, whose
            packages may be others than Flambeau's.
        version: the arguments that make it print its version; none for a tool without one.
        at_least: the least version; empty if any will do.
        seconds: the longest time that it may run.
    """

    name: str
    variable: str
    install: str
    python: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    at_least: str = ""
    seconds: float = 600

    def find(self) -> InstalledTool:
        """Returns the tool; its version is asked once. Raises ToolError that says what to install and which variable to set."""
        what = f"the Python that has {self.name}" if self.python else f"{self.name}"
        given = os.environ.get(self.variable, "")
        path = shutil.which(given) if given else None if self.python else shutil.which(self.name)
        if path is None and given:
            raise ToolError(f"{self.variable} is {given!r}, where no program is; it is the path of {what}")
        if path is None:
            where = f"{self.variable} is not set" if self.python else f"{self.name} is not on PATH, and {self.variable} is not set"
            raise ToolError(f"{where}: install {self.name} ({self.install}), or set {self.variable} to the path of {what}")
        return self._installed(os.path.abspath(path))

    def __str__(self) -> str:
        try:
            found = self.find()
        except ToolError as error:
            return f"{self.name}: {error}"
        return f"{found.label}: {found.command[0]}"

    def missing(self) -> str | None:
        """Returns what must be installed before it runs; None when it is there."""
        try:
            self.find()
        except ToolError as error:
            return str(error)
        return None

    def run(
        self, arguments: Sequence[str], inputs: Mapping[str, Buffer], outputs: Sequence[str] = (), *, is_kept: bool = True
    ) -> ToolResult:
        """Runs the tool in a new folder, which is removed afterwards.

        Args:
            arguments: those of its command line; they call files by their names in this folder.
            inputs: the contents of files that it reads, by name.
            outputs: patterns such as `*.npz` of files that it writes; each has at least one.
            is_kept: whether the result is kept, and taken from an earlier run of the same version with the same arguments and inputs.

        Raises:
            ToolError: the tool is absent or too old, runs too long, fails, or does not write its files; in one line.
        """
        tool = self.find()
        key = _digest(tool.identity, "\0".join(arguments), "\0".join(outputs), *(part for item in inputs.items() for part in item))
        if is_kept and (known := kept(key)) is not None:
            return known
        with TemporaryDirectory(prefix="flambeau-", ignore_cleanup_errors=True) as place:
            folder = Path(place)
            for name, data in inputs.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
            printed = _printed([*tool.command, *arguments], folder, tool.label, self.seconds)
            files: dict[str, bytes] = {}
            for pattern in outputs:
                written = [path for path in sorted(folder.glob(pattern)) if path.is_file() and str(path.relative_to(folder)) not in inputs]
                if not written:
                    raise ToolError(f"{tool.label} writes no {pattern}{_said(printed)}", printed)
                files |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in written}
        result = ToolResult(files, printed)
        if is_kept:
            keep(key, result)
        return result

    def _installed(self, path: str) -> InstalledTool:
        """Returns the tool at a path with its version. Raises ToolError."""
        command = (path, *(str(Path(word).absolute()) if Path(word).is_file() else word for word in self.python))
        files = [Path(word).read_bytes() for word in command[1:] if Path(word).is_file()]
        written = os.stat(path).st_mtime_ns
        how = f"install it ({self.install}), or set {self.variable} to another"
        try:
            printed = _version_of(command, written, self.version) if self.version else ""
        except ToolError as error:
            raise ToolError(f"{self.name} does not say its version: {error}; {how}", error.output) from error
        number = _NUMBER.search(printed)
        label = f"{self.name} {number[0]}" if number is not None else self.name
        if self.at_least and (number is None or _numbers(number[0]) < _numbers(self.at_least)):
            what = f"{label} at {path}" if number is not None else f"{label} at {path}, of an unknown version,"
            raise ToolError(f"{what} is too old, as {self.at_least} or newer is needed: {how}")
        return InstalledTool(label, command, _digest(self.name, printed, str(written), *files))


@cache
def _version_of(command: Sequence[str], written: int, arguments: Sequence[str]) -> str:
    """Returns all that a program prints about its version, a program that was written at some time. Raises ToolError."""
    with TemporaryDirectory(prefix="flambeau-", ignore_cleanup_errors=True) as folder:
        return _printed([*command, *arguments], Path(folder), command[0], _VERSION_SECONDS)


def _printed(command: Sequence[str], folder: Path, label: str, seconds: float) -> str:
    """Runs a command without a shell; returns all that it prints. Raises ToolError."""
    # A Python of others has packages of its own.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with TemporaryFile() as out, TemporaryFile() as err:  # not pipes, which what it started might hold open
        try:
            # In a session of its own, so that what it starts ends with it.
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            raise ToolError(f"{command[0]} cannot be run: {error.strerror}") from error
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        printed = ""
        for file in (err, out):
            file.seek(0)
            printed += _COLOR.sub("", file.read().decode(errors="replace"))
    if status is None:
        raise ToolError(f"{label} was ended, because it ran longer than {seconds:g} s{_said(printed)}", printed)
    if status:
        how = f"fails with status {status}" if status > 0 else f"is ended by {signal.Signals(-status).name}"
        raise ToolError(f"{label} {how}{_said(printed)}", printed)
    return printed


def _numbers(version: str) -> list[int]:
    """Returns the numbers of a version without zeros at its end, to compare it."""
    found = [int(part) for part in version.split(".")]
    while found and not found[-1]:
        found.pop()
    return found


def _digest(*parts: str | Buffer) -> str:
    """Returns a digest of texts and bytes in their order."""
    digests = (sha256(part.encode() if isinstance(part, str) else part).digest() for part in parts)
    return sha256(b"".join(digests)).hexdigest()


def _said(printed: str) -> str:
    """Returns the first line with an error, or the last line, behind a colon; empty without lines."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    found = next((line for line in lines if re.search(r"\berror\b|^[\w.]*error: ", line, re.IGNORECASE)), lines[-1] if lines else "")
    return found and f": {one_line(found)[:MOST_LETTERS]}"
