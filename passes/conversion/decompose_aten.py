"""`decompose-aten`: rewrites operators outside Core ATen, those of other libraries among them, in terms of those inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import row_major
from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.dialects.schema.operators import check_operator_name
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.passes.analysis.operator_table import OperatorTable, is_constant
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import PatternPass
from flambeau.passes.manager.pipeline_options import Chosen
from flambeau.passes.rewriting.pattern import Pattern, rename_values, replace_with_values
from flambeau.passes.rewriting.retyping import retyped
from flambeau.passes.targets.interface import Target, TargetName, find_target

_UNFIT = (ValueError, TypeError, IndexError, VerifyException)
"""What a decomposition raises of operands that it does not take."""


@dataclass(frozen=True)
class BackToAtenPattern(Pattern):
    """Takes back to `aten` what was kept for a backend and is in no partition: on the way from there, types and scalars become explicit."""

    target: Target
    preserve: frozenset[str]
    roots = (SchemaOp,)
    counter = "operators taken back"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` unless something else keeps it."""
        assert isinstance(op, SchemaOp)
        was_kept = op.level() == "edge" and op.keep and not op.core and not isinstance(op.parent_op(), PartitionOp)
        if was_kept and op.schema.name not in self.preserve and not self.target.runs(op):
            new = op.rebuilt(level="aten")
            rename_values(op, new)
            rewriter.replace(op, new)


@dataclass(frozen=True)
class DecomposePattern(Pattern):
    """Replaces an operator by what the target's contract names instead, or by its row's decomposition."""

    target: Target
    preserve: frozenset[str]
    partitioners: tuple[Partitioner, ...]
    """The backends that may take operators."""
    roots = (SchemaOp,)
    counter = "operators decomposed"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Decomposes `op` unless the target runs it."""
        assert isinstance(op, SchemaOp)
        if op.level() != op.siblings["row"].level() or self._keeps(op):
            return
        try:
            values = self._instead(op)
            if values is None:
                return
            dynamic = not is_static(*op.operands, *op.results)
            pairs = zip(values, op.result_types, strict=True)
            values = [retyped(value, kind) if dynamic or row_major(value) == kind else value for value, kind in pairs]
        except _UNFIT as error:
            raise OperationError(op, f"{op.name} cannot be decomposed: {error}") from error
        replace_with_values(op, values, rewriter)

    def _instead(self, op: SchemaOp) -> list[SSAValue] | None:
        """Returns the decomposition of an operator, as results of detached operations; None without a decomposition."""
        takes_types = self.target.missing_type(op) is None
        contract = self.target.contract(op) if takes_types and self.target.keeps(type(op)) else None
        instead = contract.instead if contract is not None else None
        if instead is None and not op.has("decompose"):
            return None
        decomposed: Any = op.call("decompose", op.arguments()) if instead is None else instead(*op.arguments())
        return None if decomposed is None else flat_results(decomposed)

    def _keeps(self, op: SchemaOp) -> bool:
        if op.level() != "aten":
            return op.name in self.preserve or self.target.runs(op)
        if not (op.core or op.keep) or not op.whole():
            return False
        if op.schema.name in self.preserve:
            return True
        wanted = self.target.runs(op) or any(table.keeps_whole(op) for table in self._tables(op))
        return wanted and (op.core or not self._goes_in_parts(op))

    def _tables(self, op: SchemaOp) -> list[OperatorTable]:
        return [partitioner.table for partitioner in self.partitioners if partitioner.is_for(op)]

    def _goes_in_parts(self, op: SchemaOp) -> bool:
        """Returns whether the first backend that takes an operator, whole or decomposed, takes its decomposition."""
        for table in self._tables(op):
            if table.will_take(op):
                return False
            if self._takes_parts(table, op):
                return True
        return False

    def _takes_parts(self, table: OperatorTable, op: SchemaOp) -> bool:
        """Returns whether a backend takes the decomposition of an operator. Operations on constants alone are exempt."""
        block = Block(arg_types=[value.type for value in op.operands])
        operands: list[SSAValue] = list(block.args)
        for place, value in enumerate(op.operands):
            if isinstance(value, OpResult) and is_constant(value):
                block.add_op(load := value.op.clone())
                operands[place] = load.results[0]
        copy = op.rebuilt(operands, level="aten", result_types=op.result_types)
        try:
            values = self._instead(copy)
        except _UNFIT:
            return False
        if values is None:
            return False
        computed = set[SSAValue](block.args)
        parts: list[SchemaOp] = []
        for part in list(detached_ops(values)):
            if not isinstance(part, SchemaOp):
                return False
            new = part.rebuilt(level="edge")
            for old, result in zip(part.results, new.results, strict=True):
                old.replace_all_uses_with(result)
            if not computed.isdisjoint(new.operands):
                computed.update(new.results)
                parts.append(new)
        return all(table.why_not(part) is None or (not part.core and self._takes_parts(table, part)) for part in parts)


@dataclass(frozen=True)
class DecomposeAtenPass(PatternPass):
    """Rewrites every `aten` operator that is not Core ATen, or that no kernel of the target takes, by its row's `decompose`.

    The same holds for an operator of another library, whose row is in a plug-in: it stays whole if the target has its kernel.

    An operator belongs to the first of the backends, and then the target, that takes all of it, whole or in parts: what a later one would
    have whole is decomposed if an earlier one takes what it consists of.

    Needs: `aten` operators with inferred types. Leaves: `aten` operators, core or kept whole, that the target has a kernel for or that
    `preserve` names or a backend wants whole, and those that have no decomposition (`convert-aten-to-core` reports the ones outside Core
    ATen). At the edge level it rewrites what was kept for a backend and is in no partition.
    """

    name = "decompose-aten"
    target: TargetName = "executorch"
    """Whose kernels decide which operators stay whole."""
    preserve: tuple[Annotated[str, check_operator_name], ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[Chosen, ...] = ()
    """Backends whose tables want operators whole."""

    def patterns(self) -> Sequence[Pattern]:
        """Returns the step back to `aten`, and the pattern that decomposes by the operator's row."""
        target, preserve = find_target(self.target), frozenset(self.preserve)
        return [BackToAtenPattern(target, preserve), DecomposePattern(target, preserve, self.backends)]
