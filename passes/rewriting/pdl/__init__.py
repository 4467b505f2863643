"""Patterns written in xDSL's and MLIR's `pdl` dialect, compiled to patterns of our driver."""

from flambeau.passes.rewriting.pdl.loading import load_patterns, patterns_in
from flambeau.passes.rewriting.pdl.native_constraints import Constraint, pdl_constraint

__all__ = ["Constraint", "load_patterns", "patterns_in", "pdl_constraint"]
