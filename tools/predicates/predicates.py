"""What `flambeau bisect` looks for and `flambeau reduce` keeps: a property of a module and of what a pipeline makes of it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.operators import FlambeauContext
from flambeau.dialects.text.module_text import print_module, read_text
from flambeau.passes.manager import Instrumentation, PassError, Pipeline

if TYPE_CHECKING:
    from flambeau.support.lazy import Array
    from flambeau.tools.instruments.semantics import Reference, SemanticsOptions


class PredicateError(ValueError):
    """A predicate that makes no sense, or that cannot be evaluated on this module; for the lack of what `op` means, if it is given."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, op=op)


@dataclass(frozen=True)
class Outcome:
    """What a pipeline made of a module."""

    module: ModuleOp
    """The module as the pipeline left it: in the middle of its work if that failed."""
    context: FlambeauContext
    """Owns the module's weights."""
    error: Exception | None = None
    """What the pipeline raised."""


@dataclass(frozen=True)
class Verdict:
    """Whether a predicate holds, and what was seen."""

    holds: bool
    detail: str
    can_tell: bool = True
    """False where nothing can be said of this form of a module, which then does not hold."""
    kind: str = ""
    """What sort of thing was seen, where there are several."""

    def __bool__(self) -> bool:
        return self.holds


class Judge(ABC):
    """The predicate about one input module; asked about as many outcomes as wanted. Only that of `Crash` looks at errors."""

    @abstractmethod
    def __call__(self, outcome: Outcome) -> Verdict:
        """Whether the predicate holds for what a pipeline made of the module."""


class Question(ABC):
    """A kind of predicate."""

    description: str
    """What holds, to follow "the predicate": `the pipeline changes the result`."""
    wants_final: bool = False
    """Whether it is about what the whole pipeline makes of a module; otherwise about any intermediate form, even after half a pass."""
    wants_tellable: bool = False
    """Whether a pipeline that makes something of which nothing can be said is to blame for that."""

    confirmations: int = 1
    """How often an answer that decides is asked for once more."""

    @abstractmethod
    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """The predicate about a module. Raises PredicateError when it makes no sense for it."""


def run_pipeline(
    pipeline: Pipeline, module: ModuleOp, context: FlambeauContext, instrumentations: Sequence[Instrumentation] = (), *, verify: bool = True
) -> Outcome:
    """Runs a pipeline on a copy of a module, with weights of its own; whatever it raises is part of the outcome."""
    trial = context.clone()
    trial.blobs = context.blobs.copy()
    copy = module.clone()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what passes print is no part of what a command does
            pipeline.run(copy, trial, instrumentations, verify_each=verify)
    except Exception as error:  # a pass may fail in any way, and that is what is looked for
        return Outcome(copy, trial, error)
    return Outcome(copy, trial)


@dataclass(frozen=True)
class Predicate:
    """A question about what a pipeline makes of modules."""

    pipeline: Pipeline
    question: Question

    @property
    def description(self) -> str:
        """What holds."""
        return self.question.description

    def ask(self, module: ModuleOp, context: FlambeauContext) -> Verdict:
        """Whether the predicate holds for a module, which is not changed. Raises PredicateError when it makes no sense for the module."""
        judge = self.question.about(module, context)
        outcome = run_pipeline(self.pipeline, module, context)
        if outcome.error is not None and not isinstance(self.question, Crash):
            return Verdict(False, f"the pipeline fails: {error_text(outcome.error)}")
        verdict = judge(outcome)
        if verdict.can_tell or not self.question.wants_tellable:
            return verdict
        return Verdict(True, verdict.detail, can_tell=False)

    def check(self, module: ModuleOp, context: FlambeauContext) -> Verdict:
        """As `ask`; a module that the predicate makes no sense for does not satisfy it."""
        try:
            return self.ask(module, context)
        except PredicateError as error:
            return Verdict(False, str(error))

    def like(self, first: Verdict) -> Callable[[ModuleOp, FlambeauContext], Verdict]:
        """The check of modules that are to show the same sort of thing as one that was asked about before: no NaN for a wrong number."""

        def check(module: ModuleOp, context: FlambeauContext) -> Verdict:
            verdict = self.check(module, context)
            same = (verdict.can_tell, verdict.kind) == (first.can_tell, first.kind)
            return verdict if same else replace(verdict, holds=False)

        return check


def error_text(error: Exception) -> str:
    """A failure with its notes in one line."""
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines() if line.strip()) or type(error).__name__


@dataclass(frozen=True)
class WrongResult(Question):
    """The results of the module are others after the pipeline: by the interpreter, on stored or made-up inputs."""

    options: SemanticsOptions | None = None
    """How results are compared; None: as by default."""
    description = "the pipeline changes the result"
    wants_tellable = True

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """Runs the module once. Raises PredicateError when the interpreter cannot."""
        from flambeau.backends.interface import run_payload
        from flambeau.tools.instruments.semantics import Reference, SemanticsError, SemanticsOptions

        try:
            return _WrongResultJudge(Reference(module, context, replace(self.options or SemanticsOptions(), delegates=run_payload)))
        except SemanticsError as error:
            raise PredicateError(str(error), error.op) from error


class _WrongResultJudge(Judge):
    def __init__(self, reference: Reference):
        self.reference = reference

    def __call__(self, outcome: Outcome) -> Verdict:
        from flambeau.tools.instruments.semantics import SemanticsError

        try:
            difference = self.reference.difference(outcome.module, outcome.context)
        except SemanticsError as error:
            return Verdict(False, f"the results cannot be checked: {error}", can_tell=False)
        if difference is None:
            return Verdict(False, "the results are the same")
        if difference.is_failure and (invalid := _what_is_invalid(outcome.module)):
            # In the middle of a pass's work; of the whole pipeline, that is found by verification.
            return Verdict(False, f"the module is not valid: {invalid}", can_tell=False)
        return Verdict(True, str(difference), kind=difference.kind)


def _what_is_invalid(module: ModuleOp) -> str:
    try:
        verify_module(module)
    except VerificationError as error:
        return str(error)
    return ""


@dataclass
class Crash(Question):
    """The pipeline raises, or leaves invalid IR. Without `pattern`, the kind of the first error seen is what every later one must be."""

    pattern: str | None = None
    """A regular expression that the message must match."""
    kind: tuple[str, ...] | None = field(default=None, repr=False)
    """As of `kind_of`; of the first error, once one was seen."""

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the pattern
        """What holds."""
        return "the pipeline fails" + (f" with /{self.pattern}/" if self.pattern else "")

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """The judge, which looks at the error only."""
        return _CrashJudge(self)

    def matches(self, error: Exception) -> bool:
        """Whether this is the error that is looked for."""
        if self.pattern is not None:
            return re.search(self.pattern, str(error)) is not None
        kind = kind_of(error)
        self.kind = self.kind or kind
        return kind == self.kind


_VARYING = re.compile(r"""[-+]?\d[\w.+-]*|(?:tensor|vector|memref)<[^>]*>+|'[^']*'|"[^"]*"|%[\w$.-]+|\([^()]*\)""")
"""What another module has instead in the same message: numbers, types, names, places."""


def kind_of(error: Exception) -> tuple[str, ...]:
    """What tells an error from others, whatever the module: the pass, the class of what went wrong, and where it is from or what it says.

    An error about an operation is told by its words and the name of the operation; another by the innermost line outside of Flambeau and
    xDSL that it came through, or within them where there is none.
    """
    name = error.step.name if isinstance(error, PassError) else ""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    inner = chain[1] if len(chain) > 1 else error
    root = chain[-1]
    about = next((item for item in chain[1:] if isinstance(item, OperationError | VerificationError)), None)
    if about is not None and (root is about or isinstance(about, VerificationError)):
        return name, type(inner).__name__, about.op.name, _VARYING.sub("_", str(about))
    frames = [(frame.f_globals.get("__name__", ""), str(line)) for frame, line in traceback.walk_tb(root.__traceback__)]
    others = [frame for frame in frames if frame[0].partition(".")[0] not in ("flambeau", "xdsl")]
    # How deep a recursion goes differs.
    place = (others or frames)[:1] if isinstance(root, RecursionError) else (others or frames)[-1:]
    return (name, type(root).__name__, *(part for frame in place for part in frame))


class _CrashJudge(Judge):
    def __init__(self, question: Crash):
        self._question = question

    def __call__(self, outcome: Outcome) -> Verdict:
        if outcome.error is None:
            return Verdict(False, "the pipeline does not fail")
        message = error_text(outcome.error)
        if self._question.matches(outcome.error):
            return Verdict(True, message)
        return Verdict(False, f"the pipeline fails in another way: {message}")


class _TextQuestion(Question):
    """About the text of what the pipeline makes."""

    wants_final = True
    negated: bool

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """The judge, which looks at what the pipeline makes only."""
        return _TextJudge(self)

    @abstractmethod
    def accepts(self, outcome: Outcome) -> Verdict:
        """Whether the text is accepted; before negation."""


class _TextJudge(Judge):
    def __init__(self, question: _TextQuestion):
        self._question = question

    def __call__(self, outcome: Outcome) -> Verdict:
        verdict = self._question.accepts(outcome)
        return replace(verdict, holds=verdict.can_tell and verdict.holds != self._question.negated)


@dataclass(frozen=True)
class FileCheck(_TextQuestion):
    """What the pipeline makes passes the checks of a file; or fails them, if negated."""

    file: Path
    negated: bool = False

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the file's name
        """What holds."""
        return f"the output {'fails' if self.negated else 'passes'} the checks of {self.file}"

    def accepts(self, outcome: Outcome) -> Verdict:
        """Runs the checks. Raises PredicateError when there are none, or nothing can run them."""
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
    """What the status of FileCheck means: 1 is a check that fails, anything greater that there was nothing to check."""
    line = next(iter(said.strip().splitlines()), "a check fails")
    if status not in (0, 1):
        raise PredicateError(f"{file}: these checks cannot be run: {line}")
    return Verdict(status == 0, line if status else "all checks match")


CANNOT_TELL = 125
"""The status of a script that has nothing to say about a module, as of `git bisect`."""


@dataclass(frozen=True)
class Script(_TextQuestion):
    """A command that is given the path of what the pipeline makes, with the weights beside it, ends with status 0; or another, if negated.

    One that runs longer than `timeout` seconds, or ends with status 125, has said nothing: the predicate does not hold, negated or not.
    """

    command: str
    negated: bool = False
    timeout: float = 60.0
    confirmations = 3

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the command
        """What holds."""
        return f"`{self.command}` ends with {'another status than ' if self.negated else 'status '}0"

    def accepts(self, outcome: Outcome) -> Verdict:
        """Runs the command. Raises PredicateError when it cannot be run."""
        with tempfile.TemporaryDirectory(prefix="flambeau-") as folder:
            path = Path(folder) / "module.mlir"
            path.write_text(print_module(outcome.module, locations=True), encoding="utf-8")
            save_weights(outcome.module, outcome.context.blobs, path.with_suffix(".safetensors"))
            status = self._run(path)
        if status is None:
            return Verdict(False, f"it ran longer than {self.timeout:g} s", can_tell=False)
        return Verdict(status == 0, f"it ended with status {status}", can_tell=status != CANNOT_TELL)

    def _run(self, path: Path) -> int | None:
        """The status; None when the time was up. Raises PredicateError."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise PredicateError(f"the script {self.command!r} cannot be run: {error}") from error
        if not words:
            raise PredicateError("the script is empty: give a command, to which the path of a module is added")
        try:
            # In a session of its own, so that what it starts can be ended with it.
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
    """What would help where a script cannot be run."""
    path = Path(command)
    if not path.is_file():
        return ""
    return f"; did you mean ./{command}?" if path.name == command else "" if os.access(path, os.X_OK) else f"; chmod +x {command}"


@dataclass(frozen=True)
class PredicateOptions:
    """A predicate as said on a command line. Where it does not say which: a crash if the pipeline fails, else a wrong result."""

    pipeline: str = ""
    wrong_result: bool = False
    tolerance: float | None = None
    inputs: Path | None = None
    seed: int = 0
    crash: bool = False
    error: str | None = None
    filecheck: Path | None = None
    script: str | None = None
    negated: bool = False
    timeout: float = 60.0


def make_predicate(options: PredicateOptions, module: ModuleOp, context: FlambeauContext) -> Predicate:
    """The predicate of a command line, for a module it is about.

    Raises:
        PredicateError: options that contradict each other, or files that are not what they should be.
        PipelineError: the pipeline does not parse.
    """
    pipeline = Pipeline.parse(options.pipeline) if options.pipeline else Pipeline.of([])
    return Predicate(pipeline, _question(options, pipeline, module, context))


def _question(options: PredicateOptions, pipeline: Pipeline, module: ModuleOp, context: FlambeauContext) -> Question:
    is_crash = options.crash or options.error is not None
    is_wrong = options.wrong_result or options.inputs is not None or options.tolerance is not None
    if is_crash + is_wrong + (options.filecheck is not None) + (options.script is not None) > 1:
        raise PredicateError("give one predicate only: a wrong result, a crash, FileCheck or a script")
    if not options.timeout > 0:
        raise PredicateError(f"the time that a script may take must be more than 0 s, got {options.timeout}")
    if options.negated and options.filecheck is None and options.script is None:
        raise PredicateError("--not is for --filecheck and --script")
    if options.filecheck is not None:
        read_text(options.filecheck)
        return FileCheck(options.filecheck, options.negated)
    if options.script is not None:
        return Script(options.script, options.negated, options.timeout)
    if options.error is not None:
        try:
            re.compile(options.error)
        except (re.error, OverflowError, RecursionError) as error:
            raise PredicateError(f"--error {options.error!r} is no regular expression: {error}") from error
    if not is_crash and not is_wrong and not pipeline.elements:
        raise PredicateError("give a pipeline (-p), or a predicate that needs none: --script or --filecheck")
    if not is_wrong and (is_crash or run_pipeline(pipeline, module, context).error is not None):
        return Crash(options.error)
    return WrongResult(_semantics(options))


def _semantics(options: PredicateOptions) -> SemanticsOptions:
    from flambeau.tools.instruments.semantics import SemanticsOptions

    try:
        return SemanticsOptions(options.tolerance, None if options.inputs is None else load_inputs(options.inputs), options.seed)
    except ValueError as error:
        raise PredicateError(str(error)) from error


def load_inputs(path: Path) -> Mapping[str, Array]:
    """The arrays of an `.npz` file by name. Raises PredicateError, OSError."""
    import zipfile

    import numpy as np

    with path.open("rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive")
            with np.load(file, allow_pickle=False) as loaded:
                return {name: cast("Array", loaded[name]) for name in loaded.files}
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise PredicateError(f"{path} is not an .npz file of arrays, as numpy.savez writes: {error}") from error
