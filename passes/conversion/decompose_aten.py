"""`decompose-aten`: rewrites operators outside Core ATen, those of other libraries among them, in terms of those inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.edge.layout import row_major
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.dialects.schema.operators import check_operator
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.rewriting.retyping import retyped
from flambeau.passes.targets.interface import Target, TargetName, find_target


@dataclass(frozen=True)
class DecomposePattern(Pattern):
    """Replaces an operator by what the target's contract names instead, or by its row's decomposition."""

    target: Target
    preserve: frozenset[str]
    roots = (SchemaOp,)
    counter = "operators decomposed"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Decomposes `op` unless the target runs it."""
        assert isinstance(op, SchemaOp)
        if op.level() != op.siblings["row"].level() or self._keeps(op):
            return
        takes_types = self.target.missing_type(op) is None
        contract = self.target.contract(op) if takes_types and self.target.keeps(type(op)) else None
        instead = contract.instead if contract is not None else None
        if instead is None and not op.has("decompose"):
            return
        try:
            decomposed: Any = op.call("decompose", op.arguments()) if instead is None else instead(*op.arguments())
            if decomposed is None:
                return
            values = cast("list[SSAValue]", flat_results(decomposed))
            dynamic = not is_static(*op.operands, *op.results)
            pairs = zip(values, op.result_types, strict=True)
            values = [retyped(value, kind) if dynamic or row_major(value) == kind else value for value, kind in pairs]
        except (ValueError, TypeError, IndexError, VerifyException) as error:
            raise OperationError(op, f"{op.name} cannot be decomposed: {error}") from error
        replace_with_values(op, values, rewriter)

    def _keeps(self, op: SchemaOp) -> bool:
        if op.level() != "aten":
            return op.name in self.preserve or self.target.runs(op)
        return (op.core or op.keep) and (op.schema.name in self.preserve or self.target.runs(op)) and op.whole()


@dataclass(frozen=True)
class DecomposeAtenPass(PatternPass):
    """Rewrites every `aten` operator that is not Core ATen, or that no kernel of the target takes, by its row's `decompose`.

    The same holds for an operator of another library, whose row is in a plug-in: it stays whole if the target has its kernel.

    Needs: `aten` operators with inferred types. Leaves: `aten` operators, core or kept whole, that the target has a kernel for or that
    `preserve` names, and those that have no decomposition (`convert-aten-to-core` reports the ones outside Core ATen).
    """

    name = "decompose-aten"
    target: TargetName = "executorch"
    """Whose kernels decide which operators stay whole."""
    preserve: tuple[Annotated[str, check_operator], ...] = ()
    """Operators to keep whole although they are not Core ATen."""

    def patterns(self) -> Sequence[Pattern]:
        """The one pattern that asks an operator's row."""
        return [DecomposePattern(find_target(self.target), frozenset(self.preserve))]
