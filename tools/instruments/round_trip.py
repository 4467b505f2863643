"""Checks that the printed text of a module parses back to the same IR."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.equivalence import first_difference, shortened
from flambeau.dialects.text.module_text import IRError, parse_module, print_module
from flambeau.passes.manager.instrumentation import Instrumentation
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.support.tracebacks import in_one_line


class RoundTripError(OperationError):
    """An error for a module whose text parses back to other IR; it names the first operation that is lost or different."""


class RoundTrip(Instrumentation):
    """An instrumentation that checks a module before the first and after the last pass. Its hooks raise RoundTripError."""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Checks the input."""
        check_round_trip(module, context)

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Checks the result."""
        if pipeline.elements:
            check_round_trip(module, context)


def check_round_trip(module: ModuleOp, context: Context) -> None:
    """Prints a module in its own syntax and in the generic form, with locations, and parses both.

    Raises:
        RoundTripError: the first difference.
    """
    for generic in (False, True):
        form = "the generic form" if generic else "the text"
        try:
            text = print_module(module, generic=generic, locations=True)
        except Exception as error:
            raise RoundTripError(module, f"{form} cannot be printed: {in_one_line(error)}") from error
        try:
            again = parse_module(text, context.clone()).module
        except IRError as error:
            diagnostic = error.diagnostic
            lines = text.splitlines()
            line = diagnostic.position.line - 1 if diagnostic.position else len(lines)
            shown = f", at {shortened(lines[line].strip())!r}" if line < len(lines) else ""
            raise RoundTripError(module, f"{form} does not parse back: {diagnostic.message}{shown}") from error
        if (found := first_difference(module, again, locations=True)) is not None:
            raise RoundTripError(found[0], f"{form} parses back to other IR: {found[1]}")
