"""`AbortReproducer`: keeps a reproducer on the disk while a pass runs, for a pass that ends the process."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.weight_files import weights_beside
from flambeau.dialects.text.module_text import print_module
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.tools.reproducers.crash_reproducer import reproducer_of
from flambeau.tools.reproducers.reproducer_file import (
    Case,
    Reproducer,
    ReproducerError,
    blobs_of,
    keep_weights,
    read_reproducer,
    rest_of,
    write_case,
)


class AbortReproducer(Instrumentation):
    """An instrumentation that writes a reproducer before each pass and removes it at the end, so that an abort or a hang leaves one.

    The cost is a print of the module before each pass; passes nested in one place of the pipeline share a print. The reproducer is not
    tried out. If a pass fails with an exception, a later `CrashReproducer` replaces this reproducer by a tested reproducer.
    """

    def __init__(self, path: Path, settings: Reproducer):
        self._path = path
        self._settings = settings
        self._pipeline: Pipeline | None = None
        self._place: int | None = None
        self._kept: set[BlobAttr] = set()
        self._weights: tuple[str, ...] = ()

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Resets the state."""
        self._pipeline, self._place = pipeline, None

    def before_pass(self, step: PassStep) -> None:
        """Writes the current module. Raises OSError, BlobError."""
        # Counters count from the start of the pipeline, and unverified IR may not parse.
        only_once = bool(self._settings.debug_counters) or not self._settings.verify_each
        if self._pipeline is None or step.position[0] == self._place or (only_once and self._place is not None):
            return
        if self._place is None:
            self._remove_earlier()
        self._place = step.position[0]
        notes = [f"written before {step.name} ran, which did not come to its end"]
        blobs = set(blobs_of(step.module))
        if not blobs <= self._kept:
            self._weights = keep_weights(step.module, step.context, self._path, notes)
            self._kept = blobs
        case = Case(print_module(step.module, locations=True), rest_of(self._pipeline, step.position[:1]), weights=self._weights)
        write_case(self._path, case, self._settings, notes)

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Removes the weights, if the reproducer of the failure exists and does not need them."""
        if reproducer_of(error) == self._path:
            self._remove_weights(read_reproducer(self._path).weights)

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Removes the reproducer."""
        if self._place is not None:
            self._path.unlink(missing_ok=True)
            self._remove_weights(())

    def _remove_earlier(self) -> None:
        """Removes the weights of an earlier reproducer with the same path."""
        try:
            self._weights = read_reproducer(self._path).weights
        except (ReproducerError, OSError):
            return  # there is none
        self._remove_weights(())
        self._weights = ()

    def _remove_weights(self, needed: tuple[str, ...]) -> None:
        beside = weights_beside(self._path)
        if beside.name in self._weights and beside.name not in needed:
            beside.unlink(missing_ok=True)
