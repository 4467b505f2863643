"""`flambeau reduce`: smaller IR that still shows what is looked for."""

from flambeau.tools.reduction.delta_debugging import Predicate, Progress, Reduction, ReductionError, ReductionResult, reduce_module

__all__ = ["Predicate", "Progress", "Reduction", "ReductionError", "ReductionResult", "reduce_module"]
