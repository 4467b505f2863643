"""Explains why a pattern did not apply to an operation (`--why-not`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic, emit
from flambeau.dialects.ir.locations import file_positions
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.operation_pass import PatternPass
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.rewriting.actions import Action
from flambeau.passes.rewriting.explanation import Trace, set_trace
from flambeau.passes.rewriting.legality import name_of
from flambeau.support.suggestions import did_you_mean


@dataclass(frozen=True)
class Question:
    """A pattern, and the line with the operation that it should apply to."""

    pattern: str
    file: str = ""
    """The file of the operation; empty to ask about every operation."""
    line: int = 0

    @staticmethod
    def parse(text: str) -> Question:
        """Parses `PATTERN` or `PATTERN@FILE:LINE`. Raises ValueError."""
        pattern, at, place = text.partition("@")
        file, _, line = place.rpartition(":")
        if not pattern or (at and not (file and line.isdecimal())):
            raise ValueError(f"{text!r} is neither PATTERN nor PATTERN@FILE:LINE")
        return Question(pattern, file, int(line or 0))

    def is_about(self, file: str, line: int) -> bool:
        """Returns whether the question names this line; its file may be the last parts of a path."""
        wanted, given = PurePath(self.file).parts, PurePath(file).parts
        return line == self.line and given[-len(wanted) :] == wanted


class WhyNot(Instrumentation):
    """An instrumentation that traces attempts of one pattern, and reports after each pass the reason of each operation's last failure."""

    def __init__(self, question: Question, parsed: ParsedModule):
        self._question = question
        self._parsed = parsed
        self._trace = Trace(None)
        self._failed: dict[Operation, Trace] = {}
        self._told: dict[Operation, str] = {}
        """The last reason that was given about each operation, so that another pass does not repeat it."""
        self._was_tried = False

    def before_action(self, action: Action) -> bool:
        """Begins the trace of an attempt."""
        if action.name == self._question.pattern and self._is_asked_about(action.op):
            self._was_tried = True
            self._trace = Trace(action.op)
            set_trace(self._trace)
        return True

    def after_action(self, action: Action, changed: bool) -> None:
        """Ends the trace of an attempt."""
        if action.name == self._question.pattern and self._is_asked_about(action.op):
            set_trace(None)
            if changed:
                self._failed.pop(action.op, None)
                emit(Diagnostic("note", f"{action.name} applied here", op=action.op))
            else:
                self._failed[action.op] = self._trace

    def after_pass(self, step: PassStep) -> None:
        """Reports the reasons of failed attempts on operations that still exist."""
        set_trace(None)
        for op, trace in self._failed.items():
            reason = trace.reason or "it is Python code that gave no reason here; patterns that declare a graph always give one"
            if op.parent is not None and self._told.get(op) != reason:
                self._told[op] = reason
                emit(Diagnostic("note", f"{self._question.pattern} did not apply: {reason}", op=op))
        self._failed.clear()

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Reports the reasons for a pass that failed."""
        self.after_pass(step)

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Reports why there was no attempt."""
        if self._was_tried:
            return
        roots = {
            type(item).__name__: item.roots for found in pipeline.passes() if isinstance(found, PatternPass) for item in found.patterns()
        }
        name = self._question.pattern
        if name not in roots:
            known = f"; it tries {', '.join(roots)}" if roots else ""
            emit(Diagnostic("warning", f"the pipeline tries no pattern {name!r}{did_you_mean(name, roots) or known}"))
            return
        wanted = ", ".join(sorted({root.name for root in roots[name]}))
        there = sorted({name_of(op) for op in module.walk() if self._is_asked_about(op)}) if self._question.file else []
        where = f" at {self._question.file}:{self._question.line}" if self._question.file else ""
        here = f"; there is {', '.join(there)}" if there else "; no operation comes from there" if where else ""
        emit(Diagnostic("warning", f"{name} was not tried{where}: it is tried on {wanted}{here}"))

    def _is_asked_about(self, op: Operation) -> bool:
        if not self._question.file:
            return True
        position = self._parsed.position(op)
        if position is not None and self._question.is_about(position.file, position.line):
            return True
        return any(self._question.is_about(place.filename.data, place.line.data) for place in file_positions(op.location))
