"""`apply-pdl-patterns`: applies patterns that are written as IR in the `pdl` dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pdl import load_patterns, patterns_in


@dataclass(frozen=True)
class ApplyPdlPatternsPass(ModulePass):
    """Applies the `pdl.pattern`s of a file, or of the module itself, until none matches.

    A pattern is found by the operation at its root, tried by descending benefit, and announced under its symbol's name. As in
    MLIR, a matched operation has just the operands and results that the pattern lists. Attributes of ATen operators that have their
    default are absent. Of native constraints there are `has_one_use`, `same` and those of plug-ins.

    Needs nothing. Leaves the patterns where they are. Raises ValueError that names the position of a pattern that cannot be applied.
    """

    name = "apply-pdl-patterns"
    file: str = ""
    """The file with the patterns; the module's own when it is empty."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        try:
            patterns = load_patterns(self.file, ctx) if self.file else patterns_in(op, ctx)
        except OSError as error:
            raise ValueError(f"{self.file}: {error.strerror}") from error
        apply_patterns(op, patterns)
