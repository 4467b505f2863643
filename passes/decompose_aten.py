"""`decompose-aten`: ATen operators outside Core ATen, in terms of those inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.row import SchemaOp
from flambeau.passes.lowering.keep import keeps
from flambeau.passes.rewriting.driver import apply_patterns
from flambeau.passes.rewriting.locations import where
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


@dataclass(frozen=True)
class DecomposePattern(Pattern):
    """Replaces an operator by its row's decomposition."""

    target: str
    preserve: frozenset[str]
    roots = (SchemaOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Decomposes `op` unless the target runs it."""
        assert isinstance(op, SchemaOp)
        if op.level() != "aten" or not op.has("decompose"):
            return
        if (op.core or op.keep) and (op.schema.name in self.preserve or keeps(self.target, type(op))):
            return
        try:
            decomposed: Any = op.decompose(*op.arguments())
        except (ValueError, TypeError, IndexError, VerifyException) as error:
            raise ValueError(f"{op.name}{where(op)} cannot be decomposed: {error}") from error
        values = list(cast("list[SSAValue]", decomposed)) if isinstance(decomposed, tuple | list) else [cast(SSAValue, decomposed)]
        replace_with_values(op, values, rewriter)


@dataclass(frozen=True)
class DecomposeAtenPass(ModulePass):
    """Rewrites every `aten` operator that is not Core ATen, or for which the target has no kernel, by its row's `decompose`.

    Needs: `aten` operators with inferred types. Leaves: `aten` operators, core or kept whole, that the target has a kernel for or that
    `preserve` names, and those that have no decomposition (`convert-aten-to-core` reports the ones outside Core ATen).
    """

    name = "decompose-aten"
    target: str = "executorch"
    preserve: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        apply_patterns(op, [DecomposePattern(self.target, frozenset(self.preserve))])
