"""Predicates: a question about a module and a pipeline's output for it, and the verdict."""

from __future__ import annotations

import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager import Instrumentation, Pipeline


class PredicateError(ValueError):
    """An error of a predicate that is meaningless, or that cannot be evaluated on this module; `op` is the operation at fault."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, op=op)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a pipeline on a module."""

    module: ModuleOp
    """The module after the pipeline; if the pipeline failed, in the state at the failure."""
    context: FlambeauContext
    """Owns the module's weights."""
    error: Exception | None = None
    """The exception of the pipeline; None if it succeeded."""


@dataclass(frozen=True)
class Verdict:
    """The answer of a predicate, and the observation."""

    holds: bool
    detail: str
    can_tell: bool = True
    """Whether the predicate could be decided for this form of the module; if not, `holds` is False."""
    kind: str = ""
    """The kind of observation, if the predicate distinguishes several kinds."""

    def __bool__(self) -> bool:
        return self.holds


Judge: TypeAlias = Callable[[Outcome], Verdict]
"""A function that judges a pipeline's output for one input module. It may be called any number of times."""


class Question(ABC):
    """A kind of predicate."""

    description: str
    """The property in words: `the pipeline changes the result`."""
    wants_final: bool = False
    """Whether only the output of the whole pipeline can be judged; otherwise also intermediate forms, even after half a pass."""
    is_about_errors: bool = False
    """Whether a failing pipeline can satisfy the predicate."""
    wants_tellable: bool = False
    """Whether a pipeline is at fault if its output cannot be judged."""

    confirmations: int = 1
    """The number of times that a decisive answer is checked by asking again."""

    @abstractmethod
    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """Returns the judge for a module. Raises PredicateError if the question is meaningless for it."""


def run_pipeline(
    pipeline: Pipeline, module: ModuleOp, context: FlambeauContext, instrumentations: Sequence[Instrumentation] = (), *, verify: bool = True
) -> Outcome:
    """Runs a pipeline on a copy of a module, with its own weights; an exception becomes part of the outcome."""
    trial = context.clone()
    trial.blobs = context.blobs.copy()
    copy = module.clone()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # the output of passes is not part of a command's output
            pipeline.run(copy, trial, instrumentations, verify_each=verify)
    except Exception as error:  # a pass may fail in any way, and such a failure is wanted here
        return Outcome(copy, trial, error)
    return Outcome(copy, trial)


@dataclass(frozen=True)
class Predicate:
    """A question about a pipeline's output for modules."""

    pipeline: Pipeline
    question: Question

    @property
    def description(self) -> str:
        """The property in words."""
        return self.question.description

    def ask(self, module: ModuleOp, context: FlambeauContext) -> Verdict:
        """Returns whether the predicate holds for a module, which is not changed.

        Raises PredicateError if it is meaningless for the module.
        """
        judge = self.question.about(module, context)
        outcome = run_pipeline(self.pipeline, module, context)
        if outcome.error is not None and not self.question.is_about_errors:
            return Verdict(False, f"the pipeline fails: {error_text(outcome.error)}")
        verdict = judge(outcome)
        if verdict.can_tell or not self.question.wants_tellable:
            return verdict
        return Verdict(True, verdict.detail, can_tell=False)

    def check(self, module: ModuleOp, context: FlambeauContext) -> Verdict:
        """Returns the verdict of `ask`; a module for which the predicate is meaningless does not satisfy it."""
        try:
            return self.ask(module, context)
        except PredicateError as error:
            return Verdict(False, str(error))

    def like(self, first: Verdict) -> Callable[[ModuleOp, FlambeauContext], Verdict]:
        """Returns a function that checks other modules for a result of the same kind as `first`: not NaN instead of a wrong number."""

        def check(module: ModuleOp, context: FlambeauContext) -> Verdict:
            verdict = self.check(module, context)
            same = (verdict.can_tell, verdict.kind) == (first.can_tell, first.kind)
            return verdict if same else replace(verdict, holds=False)

        return check


def error_text(error: Exception) -> str:
    """Returns a failure with its notes in one line."""
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines() if line.strip()) or type(error).__name__
