"""The passes on random valid modules: no internal error, valid IR after each, the same results, and so for every prefix of their rewrites.

A case is a module, below a line that names the pipeline and the seed of the debug counter.
"""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Sequence

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, print_module, verify_parsed
from flambeau.passes.manager import PassCrash, PassError, Pipeline
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import pass_text
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.manager.registry import pipelines
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter
from flambeau.tools.semantics.check_semantics import CheckSemantics
from flambeau.tools.semantics.reference_results import Reference, SemanticsError
from fuzz.campaign import Campaign, Failure
from fuzz.modules import random_module
from fuzz.structure import fill_globals

_ANYWHERE = ("canonicalize", "cse", "remove-dead-code", "fold-constants", "remove-redundant-clamps", "fold-batch-norm")
_PLAN = "plan-memory{effort=1000}"
_STORAGE = ("elide-views", "place-concat", "reuse-storage", "reorder-instructions", "remove-dead-code", "canonicalize", "cse")


def needed(pipeline: str, target: str) -> list[str]:
    """The passes of a named pipeline without those that are drawn: what follows may need each of them.

    Without `lower-scf` too: the evaluator has no branches between blocks.
    """
    left_out = {*_ANYWHERE, *_STORAGE, "lower-scf"}
    return [pass_text(item) for item in pipelines()[pipeline](PipelineOptions(target=target)) if item.name not in left_out]


def random_pipeline(chosen: random.Random) -> str:
    """Passes in an order that makes sense, up to some stage."""
    names: list[str] = []

    def more(passes: Sequence[str]) -> None:
        while chosen.random() < 0.4:
            names.append(chosen.choice(passes))

    target = chosen.choice(("executorch", "flambeau"))
    more(_ANYWHERE)
    names += needed("aten-to-core", target)
    more(_ANYWHERE)
    names.append("optimize-core" if chosen.random() < 0.5 else "remove-dead-code")
    names += needed("core-to-edge", target)
    more(_ANYWHERE)
    if target == "flambeau":
        names.append("optimize-edge{target=flambeau}")
        more((*_ANYWHERE, "fuse-epilogues", "propagate-layouts", "fuse-rms-norm"))
    names += needed("edge-to-exec", target)
    while chosen.random() < 0.7:
        names.append(chosen.choice((*_STORAGE, f"elide-views{{target={target}}}")))
    names += [_PLAN, "verify-plan"]
    while chosen.random() < 0.3:
        names.append(chosen.choice((*_STORAGE, _PLAN, "verify-plan")))
    return ",".join(names[: chosen.randrange(1, len(names) + 1)] if chosen.random() < 0.5 else names)


def make(chosen: random.Random) -> str:
    """A pipeline, how many rewrites of its last pass may happen, and a module."""
    level = "aten"
    counted = chosen.randrange(12) if chosen.random() < 0.4 else -1
    return f"// {counted} {random_pipeline(chosen)}\n{random_module(chosen, level)}"


class Printing(Instrumentation):
    """After each pass, the text of the module reads back as the same; each pass prints another of the forms of text."""

    def __init__(self) -> None:
        self.last: PassStep | None = None

    def before_pass(self, step: PassStep) -> None:
        self.last = step

    def after_pass(self, step: PassStep) -> None:
        generic, locations = [(False, False), (True, True), (True, False), (False, True)][step.index % 4]
        # xDSL gives a resource that is read once more another name.
        if "dense_resource" in print_module(step.module):
            return
        given = print_module(step.module, generic=generic, locations=locations)
        context = FlambeauContext(allow_unregistered=step.context.allow_unregistered)
        context.blobs = step.context.blobs if isinstance(step.context, FlambeauContext) else context.blobs
        try:
            parsed = parse_module(given, context)
            verify_parsed(parsed)
        except IRError as error:
            raise Failure(f"{step.name}: printed what does not parse: {error.diagnostic.message}", given) from error
        if (again := print_module(parsed.module, generic=generic, locations=locations)) != given:
            raise Failure(f"{step.name}: not printed as it was read", f"{given}\n{again}")

    def failure(self, error: PassError) -> Failure:
        """A fault of the last pass."""
        name = self.last.name if self.last else ""
        trace = "" if error.__cause__ is None else "".join(traceback.format_exception(error.__cause__)[-8:])
        return Failure(f"{name}: {re.sub(r'[0-9].*', '', error.diagnostic.message)}", f"{error}\n{trace}")


def check(case: str) -> str:
    """Runs the pipeline, with the last pass restricted."""
    head, _, text = case.partition("\n")
    _, counted, pipeline = head.split(" ", 2)
    context = FlambeauContext()
    try:
        parsed = parse_module(text, context)
        verify_parsed(parsed)
    except IRError as error:
        raise Failure(f"no valid module: {error.diagnostic.message}", text) from error
    fill_globals(parsed.module, context)
    try:
        Reference(parsed.module, context)
    except SemanticsError:
        return "cannot be run"
    printing = Printing()
    watchers: list[Instrumentation] = [CheckSemantics(), printing]
    found = Pipeline.parse(pipeline)
    try:
        if int(counted) < 0:
            found.run(parsed.module, context, watchers)
        else:
            passes = list(found.passes())
            Pipeline.of(passes[:-1]).run(parsed.module, context, watchers)
            restricted = DebugCounter({"*": CounterRange(0, int(counted))})
            Pipeline.of(passes[-1:]).run(parsed.module, context, [*watchers, restricted])
    except PassError as error:
        if is_fault(error):
            raise printing.failure(error) from error
        return refusal(error)
    return "restricted" if int(counted) >= 0 else "compiled"


def is_fault(error: PassError) -> bool:
    """Whether a pass is to blame, which did not refuse in words."""
    wrong = ("left the module invalid", "changes the result", "cannot be checked")
    message = error.diagnostic.message
    broken_plan = message.startswith("verify-plan: ") and "is not planned" not in message
    return isinstance(error, PassCrash) or broken_plan or any(words in message for words in wrong)


def refusal(error: PassError) -> str:
    """The word for a case that a pass refused."""
    return "refused: " + re.sub(r"[%0-9@(].*", "", error.diagnostic.message)[:70]


CAMPAIGN = Campaign(make, check)
