"""Errors that end a pipeline: a pass refuses, crashes or is interrupted; each error is one line for people."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.ir.symbols import symbol_name
from flambeau.passes.manager.instrumentation import PassStep
from flambeau.passes.rewriting.actions import action_of
from flambeau.support.position import Position
from flambeau.support.tracebacks import in_one_line, locals_where_raised, raised_at, raised_outside


class PassError(ValueError):
    """A pass that failed on this module, or left it invalid."""

    def __init__(
        self,
        step: PassStep,
        message: str,
        *,
        op: Operation | None = None,
        notes: tuple[Diagnostic, ...] = (),
        others: tuple[Diagnostic, ...] = (),
    ):
        first = _with_place(message, None if op in [note.op for note in notes] else op)
        # A diagnostic has the operations as fields; the text must contain their places for readers of only the text.
        super().__init__("\n  ".join([f"{step.name}: {first}", *(_note_text(note) for note in notes)]))
        self.step = step
        self.diagnostic = Diagnostic("error", f"{step.name}: {message}", op=op, notes=notes)
        self.diagnostics = (self.diagnostic, *others)
        """Everything that is wrong, the first included."""

    @staticmethod
    def of(step: PassStep, error: Exception) -> PassError:
        """Returns the error that a ValueError of a pass is: its words, and where in a plug-in it was raised, for it may be a bug there."""
        text = str(error) or in_one_line(error)
        if _is_of_xdsl(step):
            text = " ".join(_SHOWN_IR.sub(r"\1", text).split())
        return PassError(step, text, notes=_raised_here(raised_outside(error)))


_SHOWN_IR = re.compile(r"(\w+)\(\n\t.*?\n\)", re.DOTALL)
"""An operation as xDSL shows it in messages: its class, and in parentheses its text on lines of its own."""


def _is_of_xdsl(step: PassStep) -> bool:
    return type(step.pass_).__module__.startswith("xdsl.")


class ResultChanged(PassError):
    """A pass that changed the results of the program."""


def _raised_here(place: Position | None) -> tuple[Diagnostic, ...]:
    return () if place is None else (Diagnostic("note", "raised here", place),)


def _note_text(note: Diagnostic) -> str:
    if note.position is not None:
        return f"{note.position.file}:{note.position.line}: {note.message}"
    return _with_place(note.message, note.op)


def _with_place(message: str, op: Operation | None) -> str:
    place = "" if op is None else describe_location(op.location)
    return f"at {place}: {message}" if place else message


class PassCrash(PassError):
    """A pass that ended in an exception other than a message for people: a bug of the pass. The exception is its cause."""

    @staticmethod
    def of(step: PassStep, error: BaseException) -> PassError:
        """Returns the crash that `error` means, with the pattern and the operation in work as far as they are known.

        Passes of xDSL raise any exception for a module that they do not take; then it is an error of the pass, and not a crash.
        """
        source = getattr(sys.modules.get(type(step.pass_).__module__), "__file__", None)
        folder = None if source is None else Path(source).parent
        # If one of Flambeau's passes called a plug-in's function, the function is the likelier culprit.
        notes = _raised_here(raised_outside(error) or raised_at(error, lambda file: file.parent == folder))
        if (action := action_of(error)) is not None:
            return PassCrash(step, f"internal error in {action.name} on {action.op.name}: {in_one_line(error)}", op=action.op, notes=notes)
        around = (step.op, step.module)
        found = locals_where_raised(error, lambda file: file.parent == folder)
        inner = {name: value for name, value in found.items() if isinstance(value, Operation) and value not in around}
        op = inner.get("op") or (inner.popitem()[1] if len(set(inner.values())) == 1 else None if step.op is step.module else step.op)
        on = "" if op is None else f" on {op.name}"
        if _is_of_xdsl(step):
            return PassError(step, f"this pass of xDSL does not take the module; it failed{on}: {in_one_line(error)}", op=op, notes=notes)
        return PassCrash(step, f"internal error{on}: {in_one_line(error)}", op=op, notes=notes)


class PassInterrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C while a pass ran; the text says which, and for how long it had run."""

    def __init__(self, step: PassStep, seconds: float):
        name = symbol_name(step.op)
        on = "" if step.op is step.module else f" on {step.op.name}{f' @{name}' if name else ''}"
        super().__init__(f"interrupted in pass {step.name!r}{on}, which had run for {seconds:.1f} s")
        self.step = step
