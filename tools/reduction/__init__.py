"""`flambeau reduce`: shrinks IR while a property holds."""

from flambeau.tools.reduction.delta_debugging import Predicate, Progress, Reduction, ReductionError, ReductionResult, reduce_module

__all__ = ["Predicate", "Progress", "Reduction", "ReductionError", "ReductionResult", "reduce_module"]
