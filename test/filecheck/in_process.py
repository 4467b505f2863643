"""A lit test format that runs RUN lines inside lit's own worker process.

Starting an interpreter, xDSL and FileCheck costs some 300 ms for each RUN line; running the same work in a process
that has them loaded costs a few milliseconds. What this format understands is

    [not] flambeau-opt … [2>&1] [< FILE] [> FILE] | [not] flambeau-opt … | filecheck …

A test with any other RUN line goes to lit's own shell as a whole, with the same meaning.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import lit.formats
import lit.Test
import lit.TestRunner

_lit: Any = lit.TestRunner  # lit has no types

# Each tool is a module with a function that takes arguments and returns an exit status, and whether the
# arguments begin with the tool's own name. Loaded at first use: a worker that runs no test pays nothing.
TOOLS = {
    "flambeau-opt": ("flambeau.tools.opt.driver", False),
    "filecheck": ("filecheck.main", True),
}

LIMIT_SECONDS = 60
"""A test that computes for longer has hung; the signal turns it into a failure. What other processes take of the machine does not count."""

CRASH = 134
"""The exit status that stands for an uncaught exception; `not` does not forgive it."""


@dataclass
class Command:
    """One stage of a pipeline."""

    tool: str
    arguments: list[str] = field(default_factory=list[str])
    negated: bool = False
    merge_stderr: bool = False
    stdin: str | None = None
    stdout: str | None = None


class NotUnderstood(Exception):
    """The RUN line needs a real shell."""


def parse_line(line: str) -> list[Command]:
    """The stages of a RUN line whose substitutions are made; raises NotUnderstood for anything beyond the grammar above."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise NotUnderstood(str(error)) from error
    stages: list[list[str]] = [[]]
    for token in tokens:
        if token == "|":
            stages.append([])
        else:
            stages[-1].append(token)
    return [_parse_stage(stage) for stage in stages]


def _parse_stage(tokens: list[str]) -> Command:
    negated = tokens[:1] == ["not"]
    tokens = tokens[negated:]
    if not tokens or tokens[0] not in TOOLS:
        raise NotUnderstood(f"not a tool: {tokens[:1]}")
    command = Command(tokens[0], negated=negated)
    index = 1
    while index < len(tokens):
        token = tokens[index]
        if tokens[index : index + 3] == ["2", ">&", "1"]:
            command.merge_stderr = True
            index += 3
        elif token in ("<", ">") and index + 1 < len(tokens) and tokens[index - 1] != "2":
            if token == "<":
                command.stdin = tokens[index + 1]
            else:
                command.stdout = tokens[index + 1]
            index += 2
        elif set(token) <= set("|<>&;"):
            raise NotUnderstood(f"operator {token}")
        else:
            command.arguments.append(token)
            index += 1
    return command


def _out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError(f"computed for longer than {LIMIT_SECONDS} s")


@contextlib.contextmanager
def _limited() -> Generator[None, None, None]:
    before = signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _text(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", write_through=True)


def _bytes_of(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@contextlib.contextmanager
def _stdin(content: bytes) -> Generator[None, None, None]:
    before = sys.stdin
    sys.stdin = _text(content)
    try:
        yield
    finally:
        sys.stdin = before


def run_command(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    """The exit status, standard output and standard error of one stage."""
    module, takes_name = TOOLS[command.tool]
    main: Callable[[list[str]], int | None] = importlib.import_module(module).main
    arguments = [command.tool, *command.arguments] if takes_name else command.arguments
    if command.stdin is not None:
        stdin = Path(command.stdin).read_bytes()
    out = _text()
    err = out if command.merge_stderr else _text()
    with _stdin(stdin), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with _limited():
                status = main(arguments) or 0
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        except BaseException:
            traceback.print_exc(file=err)
            status = CRASH
    output = _bytes_of(out)
    errors = b"" if command.merge_stderr else _bytes_of(err)
    if status == CRASH and command.merge_stderr:
        errors = output  # the next stage would swallow the traceback
    if command.stdout is not None:
        Path(command.stdout).parent.mkdir(parents=True, exist_ok=True)
        Path(command.stdout).write_bytes(output)
        output = b""
    if command.negated and status != CRASH:
        status = int(status == 0)
    return status, output, errors


def run_line(commands: list[Command]) -> tuple[int, str]:
    """The status of a pipeline (of its first failing stage) and what a person needs to see when it is not 0."""
    failed = 0
    report: list[str] = []
    passed_on = b""
    for command in commands:
        status, passed_on, errors = run_command(command, passed_on)
        if errors:
            report.append(f"stderr of {command.tool}:\n{errors.decode(errors='replace')}")
        if status and not failed:
            failed = status
            report.append(f"{'not ' if command.negated else ''}{command.tool} returned {status}")
    if failed and passed_on:
        report.append(f"stdout:\n{passed_on.decode(errors='replace')}")
    return failed, "\n".join(report)


class InProcessTest(lit.formats.ShTest):
    """ShTest that leaves out the processes where it can."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        """Runs one test file and gives lit's result."""
        script = _lit.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):
            return script
        folder, base = _lit.getTempPaths(test)
        substitutions = _lit.getDefaultSubstitutions(test, folder, base)
        lines: list[str] = _lit.applySubstitutions(script, substitutions, recursion_limit=test.config.recursiveExpansionLimit)
        # lit's parser begins each command with a note to lit's shell that says which RUN line it came from.
        lines = [re.sub(r"^%dbg\([^)]*\)\s*", "", line) for line in lines]
        try:
            pipelines = [parse_line(line) for line in lines]
        except NotUnderstood:
            shell: Any = super()
            return shell.execute(test, litConfig)
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = folder  # what the tools leave behind lies with the test's other files
        for line, commands in zip(lines, pipelines, strict=True):
            status, report = run_line(commands)
            if status:
                return lit.Test.Result(lit.Test.FAIL, f"RUN: {line}\n{report}")
        return lit.Test.Result(lit.Test.PASS, "")
