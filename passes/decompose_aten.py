"""`decompose-aten`: ATen operators outside Core ATen, in terms of those inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.diagnostics import OperationError
from flambeau.dialects.exec.target import TargetName
from flambeau.dialects.row import SchemaOp
from flambeau.passes.lowering.keep import keeps
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


@dataclass(frozen=True)
class DecomposePattern(Pattern):
    """Replaces an operator by its row's decomposition."""

    target: str
    preserve: frozenset[str]
    roots = (SchemaOp,)
    counter = "operators decomposed"

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
            raise OperationError(op, f"{op.name} cannot be decomposed: {error}") from error
        values = list(cast("list[SSAValue]", decomposed)) if isinstance(decomposed, tuple | list) else [cast(SSAValue, decomposed)]
        replace_with_values(op, values, rewriter)


@dataclass(frozen=True)
class DecomposeAtenPass(PatternPass):
    """Rewrites every `aten` operator that is not Core ATen, or for which the target has no kernel, by its row's `decompose`.

    Needs: `aten` operators with inferred types. Leaves: `aten` operators, core or kept whole, that the target has a kernel for or that
    `preserve` names, and those that have no decomposition (`convert-aten-to-core` reports the ones outside Core ATen).
    """

    name = "decompose-aten"
    target: TargetName = "executorch"
    """Whose kernels decide which operators stay whole."""
    preserve: tuple[str, ...] = ()
    """Operators to keep whole although they are not Core ATen."""

    def patterns(self) -> Sequence[Pattern]:
        """The one pattern that asks an operator's row."""
        return [DecomposePattern(self.target, frozenset(self.preserve))]
