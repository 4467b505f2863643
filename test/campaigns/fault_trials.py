"""Runs the parts of `make test` on a working tree with a fault, the nearest and cheapest first, until one fails."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from campaigns.tests_of_files import nearest_filecheck, nearest_tests, operator_names

ISA = "x86-64" if os.uname().machine == "x86_64" else "native"
"""The first instruction set of the Makefile, which every machine executes."""
MEMORY = 12 << 30
"""Bytes that a process may take: a fault may grow a list without end."""
_TESTS_OF_OPERATORS = (
    "test/unit/dialects/test_rows.py",
    "test/unit/kernels/test_kernels_alone.py",
    "test/unit/kernels/test_kernels_arbitrary.py",
)
_WALK = "test/unit/kernels/test_kernels_of_rows.py"


@dataclass(frozen=True)
class Outcome:
    """What became of a fault.

    Attributes:
        part: the part of the tests that failed, or None where the fault survived.
        test: the first test that failed, or what the compiler said.
        seconds: the time it took.
    """

    part: str | None
    test: str
    seconds: float

    def __str__(self) -> str:
        """One line."""
        return (f"caught by {self.part}: {self.test[:160]}" if self.part else f"SURVIVED {self.test}") + f" ({self.seconds:.0f} s)"


@dataclass(frozen=True)
class Part:
    """A part of the tests: what it runs, and how its output names the first test that failed."""

    name: str
    command: Sequence[str]
    failure: re.Pattern[str]


@dataclass(frozen=True)
class Ended:
    """How a command ended: `status` is None where it was stopped because it said nothing."""

    status: int | None
    output: str


class Trials:
    """A working tree of the commit, which is built once and gets one fault after the other."""

    def __init__(self, root: Path, folder: Path, commit: str, limit: float, jobs: int):
        self.folder, self.limit, self.jobs = folder, limit, jobs
        self.bin = folder / ".venv" / "bin"
        self.caught: list[tuple[Part, str]] = []
        folder.parent.mkdir(exist_ok=True)
        self.lock = folder.with_suffix(".lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"error: another campaign plants faults in {folder}; wait for its end") from None
        make_working_tree(root, folder, commit)
        passed = folder / ".venv" / ".passed"
        if not passed.exists() or passed.read_text() != commit:
            ended = self._run(["make", "-s", f"JOBS={jobs}", f"ctest-{ISA}", "filecheck"])
            if ended.status != 0:
                raise SystemExit(f"the tests fail without a fault: {ended.output[-2000:]}")
            passed.write_text(commit)

    def outcome(self, file: str, text: str, directed: bool) -> Outcome:
        """Returns which part catches a fault, where the whole of pytest is left out if `directed`."""
        started = time.monotonic()
        path = self.folder / file
        original = path.read_text()
        self._write(path, text)
        try:
            part, test = self._first_failure(file, directed)
        finally:
            self._write(path, original)
            _git(self.folder, "clean", "--quiet", "--force", "-d")
        return Outcome(part, test, time.monotonic() - started)

    def failing_without_faults(self) -> list[str]:
        """Returns what of that which caught faults fails on the commit itself: tests of pytest, and commands."""
        self._build()
        tests = sorted({found for _, found in self.caught if "::" in found})
        commands = {tuple(part.command) for part, found in self.caught if "::" not in found}
        commands |= {(*self._pytest(), *tests)} if tests else set()
        failing: list[str] = []
        for command in sorted(commands):
            ended = self._run(command)
            if ended.status != 0:
                failing += _PYTEST_FAILURE.findall(ended.output) or [" ".join(command)]
        return failing

    def _first_failure(self, file: str, directed: bool) -> tuple[str | None, str]:
        for part in self._parts(file, directed):
            ended = self._run(part.command)
            if ended.status == 0 or (part.name == "pytest" and ended.status == _NO_TESTS):
                continue
            found = part.failure.search(ended.output)
            lines = _STARTED.findall(ended.output) if part.name == "pytest" else ended.output.strip().splitlines()
            how = "" if found else " (timeout)" if ended.status is None else f" (exit status {ended.status})"
            test = found.group(1) if found else lines[-1] if lines else ""
            self.caught.append((part, test if part.name == "pytest" else ""))
            return part.name + how, test
        return None, "the directed tests" if directed else "all tests"

    def _parts(self, file: str, directed: bool) -> Iterator[Part]:
        """The parts of `make test` for a file; what is between two of them runs when the second is asked for."""
        python = str(self.bin / "python")
        lit = [python, "-m", "lit.main", "--succinct", f"-j{self.jobs}", "--max-failures=1"]
        if file.endswith(".py"):
            self._build()
            # The length of a line says nothing of what the line does.
            yield Part("ruff", [str(self.bin / "ruff"), "check", "--output-format=concise", "--extend-ignore=E501", file], _FIRST_LINE)
            yield from (Part("FileCheck", [*lit, near], _LIT_FAILURE) for near in nearest_filecheck(self.folder, file))
            yield Part("pyright", [str(self.bin / "pyright"), f"src/flambeau/{file}"], _PYRIGHT_FAILURE)
        else:
            build = f"build/c/{ISA}"
            yield Part("compiler", [str(self.bin / "cmake"), "--build", build, f"-j{self.jobs}"], _COMPILER_FAILURE)
            ctest = [str(self.bin / "ctest"), "--test-dir", build, "--stop-on-failure"]
            yield Part("ctest", ctest, _CTEST_FAILURE)
        self._build()
        names = operator_names(self.folder, file)
        if names:
            yield Part("pytest", [*self._pytest(), "-x", *_TESTS_OF_OPERATORS, "-k", " or ".join(names)], _PYTEST_FAILURE)
            yield Part(
                "the walk over rows",
                ["env", "PYTHONPATH=test:test/helpers:test/suite", python, "test/campaigns/near_rows.py", *names],
                _WALK_FAILURE,
            )
        yield Part("FileCheck", [*lit, "test/filecheck", "backends"], _LIT_FAILURE)
        done = (*_TESTS_OF_OPERATORS, _WALK) if names else ()
        directed_tests = [test for test in nearest_tests(self.folder, file) if test not in done]
        yield Part("pytest", [*self._pytest(), "-x", *directed_tests], _PYTEST_FAILURE)
        if not directed:
            yield Part("pytest", [*self._pytest(), "-x", "-n", str(self.jobs), "--dist", "loadfile"], _PYTEST_FAILURE)

    def _pytest(self) -> list[str]:
        return [str(self.bin / "python"), "-m", "pytest", "-v", "-p", "no:cacheprovider"]

    def _build(self) -> None:
        """Installs the C runtime again, if a file of it has changed."""
        if (ended := self._run(["make", "-s", ".venv/.runtime"])).status != 0:
            raise SystemExit(f"the C runtime is not installed: {ended.output[-2000:]}")

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        if path.suffix == ".py":
            # Bytecode is told from that of another text by seconds and bytes, which may be the same.
            Path(cache_from_source(str(path))).unlink(missing_ok=True)

    def _run(self, command: Sequence[str]) -> Ended:
        """Runs a command in the working tree, and stops it with its children when it says nothing for too long."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=variables_of(self.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        assert process.stdout
        output, hangs = b"", False
        with process, selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            try:
                while (ready := selector.select(self.limit)) and (read := os.read(process.stdout.fileno(), 1 << 16)):
                    output += read
                hangs = not ready and process.poll() is None
                if ready:
                    process.wait()
            finally:
                # With what it has started, also where the campaign itself is stopped.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return Ended(None if hangs else process.returncode, output.decode(errors="replace"))


_NO_TESTS = 5
"""Pytest's exit status where `-k` chose no test."""
_STARTED = re.compile(r"^(\S+?\.(?:py|md)::.+?)(?: (?:PASSED|FAILED|ERROR|SKIPPED|Fatal Python error).*)?$", re.MULTILINE)
"""A test that pytest has begun, which is the last one where the process died."""
_WALK_FAILURE = re.compile(r"^disagrees: (.+)$", re.MULTILINE)
_FIRST_LINE = re.compile(r"^(.+)$", re.MULTILINE)
_PYRIGHT_FAILURE = re.compile(r"^\s*\S+:\d+:\d+ - (error: .+)$", re.MULTILINE)
_COMPILER_FAILURE = re.compile(r"^\S+:\d+:\d+: (error: .+)$", re.MULTILINE)
_CTEST_FAILURE = re.compile(r"^\s*\d+ - (\S+) \(", re.MULTILINE)
_LIT_FAILURE = re.compile(r"^\s+\S+ :: (\S+)$", re.MULTILINE)
_PYTEST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+?\.(?:py|md)\b.*?)(?: - .*)?$", re.MULTILINE)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def make_working_tree(root: Path, folder: Path, commit: str) -> None:
    """Checks a commit out into a working tree of its own, which has an environment and is not installed yet."""
    folder.parent.mkdir(exist_ok=True)
    if not (folder / ".git").exists():
        _git(root, "worktree", "prune")
        _git(root, "worktree", "add", "--quiet", "--detach", str(folder), commit)
    _git(folder, "checkout", "--quiet", "--force", "--detach", commit)
    _git(folder, "clean", "--quiet", "--force", "-d")
    if not (folder / ".venv" / ".installed").exists():
        make_environment(folder / ".venv")
    (folder / ".venv" / ".installed").touch()


def variables_of(folder: Path) -> dict[str, str]:
    """Returns the environment variables of commands in a working tree."""
    found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "FLAMBEAU_LIBRARY")}
    return found | {"PATH": os.pathsep.join([str(folder / ".venv" / "bin"), found.get("PATH", "")])}


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def make_environment(folder: Path) -> None:
    """Makes an environment that has the packages of the running one, and in which the working tree can be installed beside them."""
    venv.create(folder, with_pip=False)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (own / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    here = Path(sysconfig.get_path("scripts"))
    for script in here.iterdir():
        copy = folder / "bin" / script.name
        if copy.exists() or not script.is_file():
            continue
        text = script.read_bytes()
        if text.startswith(f"#!{here}".encode()):
            copy.write_bytes(text.replace(str(here).encode(), str(folder / "bin").encode(), 1))
            copy.chmod(0o755)
        else:
            copy.symlink_to(script)
    print(f"made an environment with the packages of {sys.prefix}", flush=True)
