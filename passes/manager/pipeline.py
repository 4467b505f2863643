"""A pipeline of passes as an object: parsed, printed in canonical form, run with instrumentation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import DiagnosticException

from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError, is_listening, warn
from flambeau.dialects.ir.verify import ModuleVerifier, VerificationError
from flambeau.passes.manager.errors import PassCrash, PassError, PassInterrupted
from flambeau.passes.manager.grammar import ANY, MODULE, Element, Nested, parse
from flambeau.passes.manager.instrumentation import Instrumentation, Instrumentations, PassStep
from flambeau.passes.manager.operation_pass import OperationPass, PatternPass
from flambeau.passes.manager.pass_options import options_text
from flambeau.passes.manager.registry import PipelineError, find_pass, find_passes, pipelines
from flambeau.passes.rewriting.actions import watching
from flambeau.passes.rewriting.counters import counting
from flambeau.passes.rewriting.uses import editing_operands
from flambeau.support.collector import collector_paused
from flambeau.support.suggestions import did_you_mean


@dataclass(frozen=True)
class Pipeline:
    """Passes in order, some of them nested: what runs on the operations named `anchor` that stand directly inside the operation around.

    `any` as the anchor stands for all of these that are isolated: whose regions use no value from outside.
    """

    anchor: str
    elements: tuple[ModulePass | Pipeline, ...]

    def runs_on(self, op: Operation) -> bool:
        """Returns whether it runs on an operation that stands where the pipeline does."""
        return op.name == self.anchor or (self.anchor == ANY and op.has_trait(IsolatedFromAbove, value_if_unregistered=False))

    @staticmethod
    def parse(text: str) -> Pipeline:
        """Returns the pipeline of a text in MLIR's or xDSL's grammar; named pipelines are replaced by what they run.

        Raises:
            PipelineError: that points at the place in the text.
        """
        try:
            return _build(parse(text), ())
        except PipelineError as error:
            error.text = text
            raise

    @staticmethod
    def of(passes: Sequence[ModulePass]) -> Pipeline:
        """Passes on the module, one after the other."""
        return Pipeline(MODULE, tuple(passes))

    def __str__(self) -> str:
        """Returns the canonical text, which parses to an equal pipeline."""
        return f"{self.anchor}({','.join(pass_text(item) if isinstance(item, ModulePass) else str(item) for item in self.elements)})"

    def passes(self) -> Iterator[ModulePass]:
        """Yields every pass, nested ones among them, in order."""
        for element in self.elements:
            if isinstance(element, Pipeline):
                yield from element.passes()
            else:
                yield element

    @collector_paused()
    def run(
        self,
        module: ModuleOp,
        context: Context,
        instrumentations: Sequence[Instrumentation] = (),
        *,
        verify_each: bool = True,
        verify_last: bool = False,
        verifier: ModuleVerifier | None = None,
    ) -> None:
        """Runs the passes over `module` in place.

        Args:
            module: valid IR.
            context: owns the module's weights.
            instrumentations: what watches, the outermost first.
            verify_each: verify after each pass.
            verify_last: verify after the last pass, where not after each: as much as passes need that were tried alone.
            verifier: the module's verifier from an earlier call, which need not check again what has not changed.

        Raises:
            PassError: names the pass and says what went wrong, where in the model.
            PassInterrupted: a KeyboardInterrupt that names the pass.
        """
        verifier = verifier or ModuleVerifier()
        run = _Run(module, context, Instrumentations(tuple(instrumentations)), verifier if verify_each else None)
        for item in instrumentations:
            item.before_pipeline(self, module, context)
        with watching(run.watchers) if run.watchers.watches_actions else nullcontext():
            run.pipeline(self, module, (), ())
        if verify_last and not verify_each:
            run.check_end(verifier)
        for item in reversed(instrumentations):
            item.after_pipeline(self, module, context)


def pass_text(item: ModulePass) -> str:
    """Returns a pass as it stands in a pipeline, with the options that differ from their defaults."""
    return item.name + options_text(item)


def _build(tree: Nested, around: tuple[str, ...]) -> Pipeline:
    elements: list[ModulePass | Pipeline] = []
    path = (*around, tree.anchor)
    for element in tree.elements:
        if isinstance(element, Nested):
            _check_anchor(element)
            elements.append(_build(element, path))
            continue
        for found in _find(element):
            if around and not isinstance(found, OperationPass):
                message = f"pass {found.name!r} works on the whole module: write it outside of {tree.anchor}(…)"
                raise PipelineError(message, element.offset)
            if isinstance(found, OperationPass) and found.anchors and tree.anchor not in found.anchors:
                where = "any operation" if tree.anchor == ANY else tree.anchor
                message = f"pass {found.name!r} works on {' or '.join(found.anchors)}, not on {where}"
                raise PipelineError(message, element.offset)
            elements.append(found)
    return Pipeline(tree.anchor, tuple(elements))


def _find(element: Element) -> Sequence[ModulePass]:
    try:
        return find_passes(element.name, element.options)
    except PipelineError as error:
        raise PipelineError(error.message, element.offset if error.offset is None else error.offset) from error


_AT_EVERY_STAGE = {"builtin", "delegate", "func", "ml_program", "quantized_decomposed"}
"""Dialects whose operations say nothing about the stage of a module."""

_ANCHORS = (MODULE, ANY, "func.func", "exec.method", "delegate.partition")
"""The anchors that there is most reason to write, for suggestions."""


def _check_anchor(element: Nested) -> None:
    if element.anchor in _ANCHORS or ("." in element.anchor and not did_you_mean(element.anchor, _ANCHORS)):
        return
    if find_pass(element.anchor) is not None or element.anchor in pipelines():
        raise PipelineError(f"{element.anchor!r} is not an operation; the options of a pass stand in braces: {{key=value}}", element.offset)
    raise PipelineError(
        f"there is no operation {element.anchor!r} to nest passes in{did_you_mean(element.anchor, _ANCHORS)}", element.offset
    )


def _dialects_in(op: Operation) -> Iterator[str]:
    """Returns the dialect of each operation inside."""
    return (inner.name.partition(".")[0] for inner in op.walk() if inner is not op)


def _warn_of_nothing_to_do(step: PassStep) -> None:
    """Warns of a pass whose operations are not there, though others are."""
    works_on: tuple[str, ...] = getattr(type(step.pass_), "works_on", ())
    if not works_on or not is_listening("warning"):
        return
    if any(op.name in works_on or op.name.partition(".")[0] in works_on for op in step.op.walk()):
        return
    if here := sorted({*_dialects_in(step.op)} - _AT_EVERY_STAGE):
        warn(step.op, f"found nothing to work on: it works on {' and '.join(works_on)}; here are operations of {', '.join(here)}")


class _Run:
    """One run of a pipeline."""

    def __init__(self, module: ModuleOp, context: Context, watchers: Instrumentations, verifier: ModuleVerifier | None):
        self.watchers = watchers
        self._module = module
        self._context = context
        self._verifier = verifier
        self._steps = 0
        self._last: PassStep | None = None
        self._unverified: PassStep | None = None
        """The last step of a nested pipeline: what is around its operation was not verified after it."""

    def pipeline(self, pipeline: Pipeline, op: Operation, around: tuple[str, ...], at: tuple[int, ...]) -> None:
        path = (*around, pipeline.anchor)
        for index, element in enumerate(pipeline.elements):
            if not isinstance(element, Pipeline):
                self._pass(element, op, path, (*at, index))
                continue
            for region in op.regions:
                for block in region.blocks:
                    for inner in list(block.ops):
                        if inner.parent is not block and (last := self._last) is not None:
                            self._refuse(
                                last, f"erased a {inner.name} beside the operation that it works on; write it outside of {path[-1]}(…)"
                            )
                        if element.runs_on(inner):
                            self._nested(element, inner, path, (*at, index))
            if op is self._module and (last := self._unverified) is not None:
                try:
                    self._check(last, self._module)
                except PassError as error:
                    self._tell_of_failure(last, error)
                    raise

    def _nested(self, pipeline: Pipeline, op: Operation, path: tuple[str, ...], at: tuple[int, ...]) -> None:
        for watcher in self.watchers.items:
            watcher.before_nested_pipeline(pipeline, op)
        self.pipeline(pipeline, op, path, at)
        for watcher in reversed(self.watchers.items):
            watcher.after_nested_pipeline(pipeline, op)

    def _pass(self, item: ModulePass, op: Operation, path: tuple[str, ...], position: tuple[int, ...]) -> None:
        step = PassStep(self._steps, item, op, self._module, self._context, path, position=position)
        self._steps += 1
        self._last = step
        start = time.monotonic()
        try:
            self._watched(step)
        except KeyboardInterrupt as interrupt:
            raise PassInterrupted(step, time.monotonic() - start) from interrupt

    def _watched(self, step: PassStep) -> None:
        for watcher in self.watchers.items:
            watcher.before_pass(step)
        _warn_of_nothing_to_do(step)
        try:
            self._apply(step)
            if step.op is not step.module and step.op.parent is None:
                raise PassError(step, f"erased the {step.op.name} that it was to work on; write it outside of {step.path[-1]}(…)")
            self._check(step, step.op)
        except Exception as error:
            self._tell_of_failure(step, error)
            raise
        for watcher in reversed(self.watchers.items):
            watcher.after_pass(step)

    def _refuse(self, step: PassStep, message: str) -> NoReturn:
        """Fails a step after the pass itself has succeeded."""
        error = PassError(step, message)
        self._tell_of_failure(step, error)
        raise error

    def _tell_of_failure(self, step: PassStep, error: Exception) -> None:
        for watcher in reversed(self.watchers.items):
            watcher.after_pass_failed(step, error)

    def _apply(self, step: PassStep) -> None:
        if not step.op.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            message = (
                f"{step.op.name} is not isolated: its regions may use values from outside, which passes nested in it would not know of"
            )
            raise PassError(step, f"{message}; nest them in an operation such as func.func", op=step.op)
        try:
            with counting(step.counters), editing_operands():
                if isinstance(step.pass_, OperationPass):
                    step.pass_.apply_to(self._context, step.op)
                else:
                    step.pass_.apply(self._context, self._module)
        except OperationError as error:
            raise PassError(step, error.diagnostic.message, op=error.op, notes=error.diagnostic.notes) from error
        except (ValueError, DiagnosticException) as error:
            raise PassError.of(step, error) from error
        except (Exception, SystemExit) as error:
            raise PassCrash.of(step, error) from error

    def _check(self, step: PassStep, changed: Operation) -> None:
        """Verifies and checks what a pass left: of a nested one its operation, or else each function would cost what all of them do."""
        if self._verifier is None and not self.watchers.checks_passes:
            return
        for watcher in self.watchers.items:
            watcher.before_verification(step)
        if self._verifier is not None:
            self._verify(step, self._verifier, changed)
        if changed is step.op:
            for watcher in self.watchers.items:
                watcher.check_pass(step)
        for watcher in reversed(self.watchers.items):
            watcher.after_verification(step)

    def check_end(self, verifier: ModuleVerifier) -> None:
        """Verifies what all passes have left."""
        if (last := self._last) is not None:
            self._verify(last, verifier, self._module)

    def _verify(self, step: PassStep, verifier: ModuleVerifier, changed: Operation) -> None:
        try:
            verifier.verify(self._module, changed)
        except VerificationError as error:
            left = f"{step.name}: left the module invalid: "
            others = tuple(Diagnostic("error", f"{left}{other}", op=other.op) for other in error.others)
            late = "what is around it was verified when the nested pipeline was done: another of its passes may have left it so"
            notes = (Diagnostic("note", late),) if changed is not step.op else ()
            if self._verifier is None:
                alone = "only the end was verified: an earlier pass may have left it so; flambeau-opt verifies each"
                notes = (*notes, Diagnostic("note", alone))
            if isinstance(step.pass_, PatternPass):
                advice = "flambeau bisect --crash, given the reproducer or the same input and pipeline, finds the rewrite that does so"
                notes = (*notes, Diagnostic("note", advice))
            raise PassError(step, f"left the module invalid: {error}", op=error.op, notes=notes, others=others) from error
        except Exception as error:  # a verifier of a foreign dialect may have a bug
            raise PassCrash.of(step, error) from error
        self._unverified = None if changed is self._module else step
