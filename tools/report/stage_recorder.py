"""A record of the changes of each pass of a compilation."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.passes.manager import Instrumentation, PassStep, Pipeline
from flambeau.passes.manager.pipeline import pass_text
from flambeau.tools.instruments.module_changes import ModuleChanges


@dataclass(frozen=True)
class StepRecord:
    """One run of a pass.

    Attributes:
        name: the pass with its options, and the function of a nested pipeline.
        seconds: the time of the pass alone.
        operations: the operations of the module afterwards.
        diff: the lines that changed, with their surroundings; empty if none did.
        left_out: the number of further lines of the diff.
    """

    name: str
    seconds: float
    operations: int
    diff: tuple[str, ...]
    left_out: int


MOST_LINES = 1500
"""The lines of a diff that are kept."""


class StageRecorder(Instrumentation):
    """An instrumentation that records each pass."""

    def __init__(self) -> None:
        self.steps: list[StepRecord] = []
        self._changes = ModuleChanges()
        self._began = 0.0

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Records the module before the first pass."""
        self._changes.since_last(module)

    def before_pass(self, step: PassStep) -> None:
        """Starts the clock."""
        self._began = perf_counter()

    def after_pass(self, step: PassStep) -> None:
        """Adds the record of the pass."""
        seconds = perf_counter() - self._began
        diff = self._changes.since_last(step.module)
        symbol = None if step.op is step.module else symbol_name(step.op)
        name = pass_text(step.pass_) + ("" if symbol is None else f" on @{symbol}")
        operations = sum(1 for _ in step.module.walk())
        self.steps.append(StepRecord(name, seconds, operations, tuple(diff[:MOST_LINES]), max(0, len(diff) - MOST_LINES)))
