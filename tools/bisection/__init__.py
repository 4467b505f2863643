"""Finding the pass, and the single rewrite within it, that makes a predicate hold."""

from flambeau.tools.bisection.bisection import Bisection, BisectionError, BisectionResult
from flambeau.tools.bisection.rewrites import Rewrite

__all__ = ["Bisection", "BisectionError", "BisectionResult", "Rewrite"]
