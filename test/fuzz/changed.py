"""Passes on changed texts of the tests: each refuses in words, or leaves valid IR that computes the same; none takes long.

A case is a text, below a line that names the pipeline.
"""

from __future__ import annotations

import random

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.instrumentation import Instrumentation
from flambeau.passes.manager.registry import own_pass_names
from flambeau.tools.semantics.check_semantics import CheckSemantics
from flambeau.tools.semantics.reference_results import SemanticsError
from fuzz.campaign import Campaign
from fuzz.mutation import mutated
from fuzz.passes import Printing, is_fault, random_pipeline, refusal

_WITHOUT_WORK = ("apply-pdl-patterns", "partition", "print-op-stats", "view-op-graph")
"""The passes that do nothing without options, or to a module."""
_PASSES = ("compile", "compile{target=flambeau}", *(name for name in own_pass_names() if name not in _WITHOUT_WORK))


def make(chosen: random.Random) -> str:
    """A pipeline and a changed text."""
    names = random_pipeline(chosen) if chosen.random() < 0.3 else ",".join(chosen.sample(_PASSES, chosen.choice((1, 1, 2))))
    return f"// {names}\n{mutated(chosen)}"


def check(case: str) -> str:
    """Runs the pipeline on a text that is valid."""
    head, _, text = case.partition("\n")
    context = FlambeauContext(allow_unregistered=True)
    try:
        parsed = parse_module(text, context)
        verify_parsed(parsed)
    except IRError:
        return "not valid"
    printing = Printing()
    semantics = CheckSemantics()
    pipeline = Pipeline.parse(head.removeprefix("// "))
    watchers: list[Instrumentation] = [semantics, printing]
    try:
        semantics.before_pipeline(pipeline, parsed.module, context)
    except SemanticsError:
        watchers.remove(semantics)
    try:
        pipeline.run(parsed.module, context, watchers)
    except PassError as error:
        # The text may hold a plan already, and a wrong one.
        if is_fault(error) and not error.diagnostic.message.startswith("verify-plan: "):
            raise printing.failure(error) from error
        return refusal(error).partition(":")[0]
    return "run and compared" if semantics in watchers else "run"


CAMPAIGN = Campaign(make, check)
