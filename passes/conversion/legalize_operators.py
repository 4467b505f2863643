"""`legalize-operators`: decomposes edge operators that nothing runs whole, where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any

from xdsl.context import Context
from xdsl.ir import Operation

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.operators import check_operator_name
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import by_row
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.conversion.convert_core_to_edge import ToEdgePattern
from flambeau.passes.conversion.decompose_aten import stays_whole
from flambeau.passes.delegation.vetoes import Vetoes
from flambeau.passes.manager import OperationPass
from flambeau.passes.manager.pipeline_options import Chosen
from flambeau.passes.rewriting.decomposition import DecomposePattern
from flambeau.passes.rewriting.dialect_conversion import apply_partial_conversion
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.targets.interface import TargetName, find_target


@dataclass(frozen=True)
class LegalizeOperatorsPass(OperationPass):
    """Decomposes each operator of the edge level that neither a backend nor the target takes whole, until only such operators are left.

    An operator belongs to the first of the backends, and then the target, that takes it. A backend that takes one in parts gets what its
    row's decomposition consists of. One that is kept from a backend stays until, without backends, the operators are the target's.

    Needs: operators of the edge level. Leaves: the same level; what has no kernel and no decomposition (`convert-edge-to-exec` reports it),
    and the content of partitions. Raises ConversionError for an operator of a decomposition that has no form at the edge level.
    """

    name = "legalize-operators"
    target: TargetName = "executorch"
    """Whose kernels decide which operators stay whole."""
    preserve: tuple[Annotated[str, check_operator_name], ...] = ()
    """Operators to keep whole although nothing runs them."""
    backends: tuple[Chosen, ...] = ()
    """Backends that are to take operators, the first choice first."""
    no_delegate: tuple[str, ...] = ()
    """What no backend gets: paths of modules, and names of operators."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        decomposition = cache(self._decomposition)  # each operator is asked about once

        def why_illegal(op: Operation) -> str | None:
            assert isinstance(op, SchemaOp)
            if op.level() == "aten":
                return "it has no form at the edge level"
            return None if decomposition(op) is None else "nothing runs it whole"

        def decomposed(op: SchemaOp) -> Any:
            decompose = decomposition(op)
            found = None if decompose is None else decompose(op)
            if found is None and decompose is not None:
                decline("it has no decomposition of these operands")
            return found

        goal = ConversionTarget(f"operators for {self.target!r}").dynamic(why_illegal, SchemaOp).closed(PartitionOp)
        apply_partial_conversion(op, goal, [DecomposePattern(decomposed), ToEdgePattern("aten")])

    @cached_property
    def _veto(self) -> Vetoes:
        return Vetoes(self.no_delegate)

    @cached_property
    def _kernels(self) -> OperatorTable:
        return find_target(self.target).table

    def _decomposition(self, op: SchemaOp) -> Callable[[SchemaOp], Any] | None:
        """Returns what decomposes an operator; None for one that stays whole."""
        if op.level() == "aten":
            return None if stays_whole(op) else by_row
        if op.schema.name in self.preserve or op.name in self.preserve:
            return None
        tables = [chosen.table for chosen in self.backends if self._veto(op) is None and chosen.why_kept(op) is None]
        # What an operator consists of that a backend must not have would go to that backend.
        is_kept = len(tables) < len(self.backends)
        for table in tables if is_kept else (*tables, self._kernels):
            if table.why_not(op) is None:
                return None
            if (parts := table.parts(op)) is not None:
                return parts
        return by_row if op.has("decompose") and not is_kept else None
