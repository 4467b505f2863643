"""The pass manager: pipelines as text and as objects, what may watch them, and the base classes of passes.

from flambeau.passes.manager import Pipeline
Pipeline.parse("builtin.module(func.func(canonicalize,cse),plan)").run(module, context)
"""

from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.operation_pass import OperationPass, PatternPass
from flambeau.passes.manager.pipeline import PassCrash, PassError, Pipeline
from flambeau.passes.rewriting.statistics import count

__all__ = ["Instrumentation", "OperationPass", "PassCrash", "PassError", "PassStep", "PatternPass", "Pipeline", "count"]
