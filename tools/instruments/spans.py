"""Nested spans of time in a run: phases of a tool, pipelines, passes, verification, analyses, rewrites."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.rewriting.actions import Action

if TYPE_CHECKING:
    from flambeau.passes.manager.pipeline import Pipeline

SpanKind: TypeAlias = Literal["phase", "pipeline", "pass", "verification", "analysis", "pattern"]
Outcome: TypeAlias = Literal["done", "matched", "unmatched", "skipped", "failed"]
"""The end of a span. `skipped`: the announced action did not happen, because it was forbidden or there was nothing to do."""


@dataclass(eq=False, slots=True)
class Span:
    """An interval of time."""

    kind: SpanKind
    name: str
    op: Operation | None
    """The operation that was worked on; None for the phases of a tool."""
    start: int
    """The time at which the span began, in nanoseconds of `perf_counter_ns`."""
    place: object = None
    """The position in the pipeline, which distinguishes passes and nested pipelines with the same name."""


class SpanInstrumentation(Instrumentation):
    """An instrumentation that turns the hooks into spans that always nest, whatever fails.

    It must be the last of the instrumentations, so that the work of the others is not attributed to passes.
    """

    def __init__(self) -> None:
        self._open: list[Span] = []

    def began(self, span: Span) -> None:
        """Called when a span begins, after the spans that contain it."""

    def ended(self, span: Span, end: int, outcome: Outcome) -> None:
        """Called when a span ends, after the spans inside of it."""

    def rewrote(self, action: Action) -> None:
        """Called for a rewrite that a pass makes without a pattern, whose duration is unknown."""

    @contextmanager
    def phase(self, name: str) -> Generator[None, None, None]:
        """Records the block as a phase of a tool."""
        depth = len(self._open)
        self._begin("phase", name, None)
        outcome: Outcome = "failed"
        try:
            yield
            outcome = "done"
        finally:
            self._end(depth, outcome)

    def close(self) -> None:
        """Ends the spans that a failure left open."""
        self._end(0, "failed")

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Begins the pipeline."""
        self._begin("pipeline", pipeline.anchor, module)

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Ends the pipeline."""
        self._end_last("pipeline", "done")

    def before_nested_pipeline(self, pipeline: Pipeline, op: Operation) -> None:
        """Begins the nested pipeline."""
        self._begin("pipeline", pipeline.anchor, op, id(pipeline))

    def after_nested_pipeline(self, pipeline: Pipeline, op: Operation) -> None:
        """Ends the nested pipeline."""
        self._end_last("pipeline", "done")

    def before_pass(self, step: PassStep) -> None:
        """Begins the pass."""
        self._begin("pass", step.name, step.op, step.position)

    def before_verification(self, step: PassStep) -> None:
        """Begins the verification."""
        self._begin("verification", "verification", step.module)

    def after_verification(self, step: PassStep) -> None:
        """Ends the verification."""
        self._end_last("verification", "done")

    def after_pass(self, step: PassStep) -> None:
        """Ends the pass."""
        self._end_last("pass", "done")

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Ends the pass, and the enclosing pipelines, which the error leaves too."""
        self._end_last("pass", "failed")
        if self._open and self._open[-1].kind == "verification":
            self._end(len(self._open) - 1, "failed")
        while self._open and self._open[-1].kind == "pipeline":
            self._end(len(self._open) - 1, "failed")

    def before_action(self, action: Action) -> bool:
        """Begins the attempt and allows it."""
        if action.kind != "rewrite":
            self._begin("analysis" if action.kind == "analysis" else "pattern", action.name, action.op)
        return True

    def after_action(self, action: Action, changed: bool) -> None:
        """Ends the attempt."""
        match action.kind:
            case "rewrite":
                self.rewrote(action)
            case "analysis":
                self._end_last("analysis", "done")
            case _:
                self._end_last("pattern", "matched" if changed else "unmatched")

    def after_action_forbidden(self, action: Action) -> None:
        """Ends the forbidden attempt."""
        if action.kind != "rewrite":
            self._end(len(self._open) - 1, "skipped")

    def _begin(self, kind: SpanKind, name: str, op: Operation | None, place: object = None) -> None:
        span = Span(kind, name, op, 0, place)
        self._open.append(span)
        self.began(span)
        span.start = perf_counter_ns()

    def _end(self, depth: int, outcome: Outcome) -> None:
        end = perf_counter_ns()
        while len(self._open) > depth:
            span = self._open.pop()
            self.ended(span, end, outcome if len(self._open) == depth else "failed")

    def _end_last(self, kind: SpanKind, outcome: Outcome) -> None:
        depth = next((depth for depth in reversed(range(len(self._open))) if self._open[depth].kind == kind), None)
        if depth is not None:
            self._end(depth, outcome)
