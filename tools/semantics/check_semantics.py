"""`CheckSemantics`: compares the results of a module after each pass of a pipeline, and stops at the first pass that changes one."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.diagnostics import Diagnostic, warn
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.errors import ResultChanged
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import PassError, Pipeline
from flambeau.runtime.interpreter import HardwareOnlyError
from flambeau.support.lazy import Array
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.instruments.snapshot import Snapshot
from flambeau.tools.semantics.divergence import first_divergence
from flambeau.tools.semantics.reference_results import Reference, SemanticsError
from flambeau.tools.semantics.result_comparison import SemanticsOptions


class CheckSemantics(Instrumentation):
    """An instrumentation that runs the module before the pipeline and after each pass, and raises PassError at the first changed result."""

    def __init__(self, tolerance: float | None = None, inputs: Mapping[str, Array] | None = None, seed: int = 0):
        self.options = SemanticsOptions(tolerance, inputs, seed)
        self._module: ModuleOp | None = None
        self._reference: Reference | None = None
        self._good: ModuleOp | None = None
        self._snapshot: Snapshot | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Computes the reference, before the first pipeline on the module. Raises SemanticsError."""
        if self._module is not module:
            self._module, self._good = module, None
            try:
                self._reference = Reference(module, _ours(context), self.options)
            except SemanticsError as error:
                if not isinstance(error.__cause__, HardwareOnlyError):
                    raise
                warn(module, f"results are not checked: {error.__cause__}")
                return
            self._good, self._snapshot = module.clone(), Snapshot(module)

    def check_pass(self, step: PassStep) -> None:
        """Compares the results. Raises PassError that names the pass, the output, and the first value that differs."""
        reference, good, context = self._reference, self._good, _ours(step.context)
        if reference is None or good is None or (snapshot := Snapshot(step.module)) == self._snapshot:
            return
        try:
            difference = reference.difference(step.module, context)
            if difference is None:
                self._good, self._snapshot = step.module.clone(), snapshot
                return
            divergence = None if difference.is_failure else first_divergence(reference, difference, (good, context), (step.module, context))
        except SemanticsError as error:
            if isinstance(error.__cause__, HardwareOnlyError):
                self._good = None
                warn(step.op, f"results are not checked from here on: {error.__cause__}")
                return
            raise PassError(step, f"left a module whose results cannot be checked: {error}", op=error.op) from error
        except MemoryError as error:
            raise PassError(step, f"left a module whose results cannot be checked: {in_one_line(error)}") from error
        note = Diagnostic("note", "flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite that does so")
        if divergence is None:
            raise ResultChanged(step, f"changes the result: {difference}", op=difference.op, notes=(note,))
        raise ResultChanged(step, f"changes the result: {difference}; {divergence}", op=divergence.after.op, notes=(note,))


def _ours(context: Context) -> FlambeauContext:
    if not isinstance(context, FlambeauContext):
        raise SemanticsError("results can be checked only with a context that owns the module's weights")
    return context
