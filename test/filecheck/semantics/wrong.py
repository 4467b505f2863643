"""Passes that change results: one wherever it sees relu, one only where state is kept."""

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.layers.activation import ReluOp
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.schema.namespace import aten
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


class SlopePattern(Pattern):
    """relu with a slope."""

    roots = (ReluOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        replace_with_values(op, [aten.mul.Scalar(op.operands[0], 0.5)], rewriter)


class ForgetPattern(Pattern):
    """No state."""

    roots = (GlobalStoreOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        rewriter.erase(op)


@dataclass(frozen=True)
class WrongSlopePass(PatternPass):
    """relu with a slope."""

    name = "wrong-slope"

    def patterns(self):
        """The pattern."""
        return [SlopePattern()]


@dataclass(frozen=True)
class ForgetStatePass(PatternPass):
    """No state."""

    name = "forget-state"

    def patterns(self):
        """The pattern."""
        return [ForgetPattern()]
