"""The pass manager: pipelines as text and as objects, what may watch them, and the base classes of passes.

A pipeline is parsed from MLIR's or xDSL's grammar, or made of passes; `str` gives its canonical text. It runs on a module, and is watched
by instrumentations, none of which a pass knows of:

    import flambeau


    class Sizes(flambeau.Instrumentation):
        def after_pass(self, step):
            print(step.name, sum(1 for _ in step.op.walk()), dict(step.counters))


    context = flambeau.FlambeauContext()
    pipeline = flambeau.Pipeline.parse("builtin.module(func.func(canonicalize,cse),aten-to-core)")
    pipeline.run(module, context, [Sizes()])

Instrumentations nest: the first one's `before_` hooks run first, its `after_` hooks last. `before_action` sees each single rewrite before
it happens and may forbid it. A pass that fails raises PassError, whose `diagnostic` has the operation and whose text is one line for
people.
"""

from flambeau.passes.manager.errors import PassCrash, PassError, PassInterrupted
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.operation_pass import OperationPass, PatternPass
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.rewriting.counters import count

__all__ = ["Instrumentation", "OperationPass", "PassCrash", "PassError", "PassInterrupted", "PassStep", "PatternPass", "Pipeline", "count"]
