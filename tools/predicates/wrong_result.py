"""The predicate that the pipeline changes the results of the module."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.tools.predicates.predicate import Judge, Outcome, PredicateError, Question, Verdict
from flambeau.tools.semantics.reference_results import Reference, SemanticsError
from flambeau.tools.semantics.result_comparison import SemanticsOptions


@dataclass(frozen=True)
class WrongResult(Question):
    """The predicate that the interpreter computes different results after the pipeline, on stored or generated inputs."""

    options: SemanticsOptions = field(default_factory=SemanticsOptions)
    """The settings for comparing results."""
    description = "the pipeline changes the result"
    wants_tellable = True

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """Runs the module once, and returns the judge. Raises PredicateError if the interpreter cannot run it."""
        try:
            reference = Reference(module, context, self.options)
        except SemanticsError as error:
            raise PredicateError(str(error), error.op) from error
        return lambda outcome: _judge(reference, outcome)


def _judge(reference: Reference, outcome: Outcome) -> Verdict:
    try:
        difference = reference.difference(outcome.module, outcome.context)
    except SemanticsError as error:
        return Verdict(False, f"the results cannot be checked: {error}", can_tell=False)
    if difference is None:
        return Verdict(False, "the results are the same")
    if difference.is_failure and (invalid := _what_is_invalid(outcome.module)):
        # Half a pass may leave invalid IR; verification finds invalid IR after the whole pipeline.
        return Verdict(False, f"the module is not valid: {invalid}", can_tell=False)
    return Verdict(True, str(difference), kind=difference.kind)


def _what_is_invalid(module: ModuleOp) -> str:
    try:
        verify_module(module)
    except VerificationError as error:
        return str(error)
    return ""
