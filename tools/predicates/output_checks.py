"""The predicates on the text of a pipeline's output: FileCheck's checks, and the status of a command."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module
from flambeau.tools.predicates.predicate import Judge, Outcome, PredicateError, Question, Verdict


class _TextQuestion(Question):
    """A question about the text of the pipeline's output."""

    wants_final = True
    negated: bool

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """Returns the judge, which looks at the output only."""
        return self._judge

    def _judge(self, outcome: Outcome) -> Verdict:
        verdict = self.accepts(outcome)
        return replace(verdict, holds=verdict.can_tell and verdict.holds != self.negated)

    @abstractmethod
    def accepts(self, outcome: Outcome) -> Verdict:
        """Returns whether the text is accepted, before negation."""


@dataclass(frozen=True)
class FileCheck(_TextQuestion):
    """The predicate that the pipeline's output passes the FileCheck checks of a file; if negated, that it fails them."""

    file: Path
    negated: bool = False

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the file's name
        """The property in words."""
        return f"the output {'fails' if self.negated else 'passes'} the checks of {self.file}"

    def accepts(self, outcome: Outcome) -> Verdict:
        """Runs the checks. Raises PredicateError if there are none, or if FileCheck cannot run."""
        text = print_module(outcome.module)
        if importlib.util.find_spec("filecheck") is not None:
            return _filecheck_in_process(self.file, text)
        command = next((found for name in ("filecheck", "FileCheck", "FileCheck-19") if (found := shutil.which(name))), None)
        if command is None:
            raise PredicateError("nothing here can run FileCheck tests: install the Python package filecheck, or LLVM's FileCheck")
        run = subprocess.run([command, str(self.file)], input=text, capture_output=True, encoding="utf-8", check=False)
        return _checked(self.file, run.returncode, run.stderr)


def _filecheck_in_process(file: Path, text: str) -> Verdict:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser

    options = Options(str(file), extensions={"MLIR_REGEX_CLS"})  # pyright: ignore[reportArgumentType]  it takes names, as its command does
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            status = Matcher(options, FInput("<output>", text), Parser.from_opts(options)).run()
    except Exception as error:
        raise PredicateError(f"{file}: these checks cannot be run: {' '.join(str(error).split())}") from error
    return _checked(file, status, said.getvalue())


def _checked(file: Path, status: int, said: str) -> Verdict:
    """Returns the meaning of FileCheck's exit status: 1 is a failed check; a greater status means that there was nothing to check."""
    line = next(iter(said.strip().splitlines()), "a check fails")
    if status not in (0, 1):
        raise PredicateError(f"{file}: these checks cannot be run: {line}")
    return Verdict(status == 0, line if status else "all checks match")


CANNOT_TELL = 125
"""The status of a script that cannot judge a module, as in `git bisect`."""


@dataclass(frozen=True)
class Script(_TextQuestion):
    """The predicate that a command on the path of the pipeline's output, with weights beside it, ends with status 0; or not, if negated.

    If the command runs longer than `timeout` seconds, or ends with status 125, the predicate does not hold, negated or not.
    """

    command: str
    negated: bool = False
    timeout: float = 60.0
    confirmations = 3

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the command
        """The property in words."""
        return f"`{self.command}` ends with {'another status than ' if self.negated else 'status '}0"

    def accepts(self, outcome: Outcome) -> Verdict:
        """Runs the command. Raises PredicateError if it cannot run."""
        with tempfile.TemporaryDirectory(prefix="flambeau-") as folder:
            path = Path(folder) / "module.mlir"
            path.write_text(print_module(outcome.module, locations=True), encoding="utf-8")
            save_weights(outcome.module, outcome.context.blobs, path.with_suffix(".safetensors"))
            status = self._run(path)
        if status is None:
            return Verdict(False, f"it ran longer than {self.timeout:g} s", can_tell=False)
        return Verdict(status == 0, f"it ended with status {status}", can_tell=status != CANNOT_TELL)

    def _run(self, path: Path) -> int | None:
        """Returns the exit status; None after a timeout. Raises PredicateError."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise PredicateError(f"the script {self.command!r} cannot be run: {error}") from error
        if not words:
            raise PredicateError("the script is empty: give a command, to which the path of a module is added")
        try:
            # In a session of its own, so that its child processes can be ended with it.
            process = subprocess.Popen([*words, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise PredicateError(f"the script {self.command!r} cannot be run: {error.strerror}{_advice(words[0])}") from error
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _advice(command: str) -> str:
    """Returns advice on a script that cannot be run."""
    path = Path(command)
    if not path.is_file():
        return ""
    return f"; did you mean ./{command}?" if path.name == command else "" if os.access(path, os.X_OK) else f"; chmod +x {command}"
