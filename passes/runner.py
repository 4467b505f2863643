"""Running passes over a module, with a verifier after each and errors that say which pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from flambeau.dialects.verify import ModuleVerifier, VerificationError
from flambeau.passes.registry import parse_passes
from flambeau.passes.rewriting.locations import where


class PassError(ValueError):
    """A pass that cannot do its work on this module, or that left it broken."""


@dataclass(frozen=True)
class PassEvent:
    """One pass, after it ran."""

    name: str
    module: ModuleOp
    seconds: float


def run_passes(
    passes: str | Sequence[ModulePass],
    module: ModuleOp,
    context: Context,
    *,
    verify_each: bool = True,
    verifier: ModuleVerifier | None = None,
    after_each: Callable[[PassEvent], None] | None = None,
) -> None:
    """Runs a pipeline over `module` in place.

    Args:
        passes: the text of a pipeline, or passes.
        module: valid IR.
        context: owns the module's weights.
        verify_each: verify after each pass.
        verifier: the module's verifier from an earlier call, which need not check again what has not changed.
        after_each: called after each pass.

    Raises:
        PassError: names the pass and says what went wrong, where in the model.
        PipelineError: the pipeline's text names what does not exist.
    """
    checker = verifier or ModuleVerifier()
    for item in parse_passes(passes) if isinstance(passes, str) else passes:
        start = time.perf_counter()
        try:
            item.apply(context, module)
        except (ValueError, DiagnosticException) as error:
            raise PassError(f"{item.name}: {error}") from error
        seconds = time.perf_counter() - start
        if verify_each:
            try:
                checker.verify(module)
            except VerificationError as error:
                raise PassError(f"{item.name} left the module invalid: {error}{where(error.op)}") from error
        if after_each is not None:
            after_each(PassEvent(item.name, module, seconds))
