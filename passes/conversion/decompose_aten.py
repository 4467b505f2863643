"""`decompose-aten`: rewrites `aten` operators outside Core ATen in terms of those inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import by_row
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.decomposition import DecomposePattern
from flambeau.passes.rewriting.pattern import Pattern


def stays_whole(op: SchemaOp) -> bool:
    """Returns whether an `aten` operator has a sibling at the edge level: it is in Core ATen, or some kernel or backend takes it whole."""
    return (op.core or op.keep) and op.whole()


@dataclass(frozen=True)
class DecomposeAtenPass(PatternPass):
    """Rewrites every `aten` operator that no kernel and no backend takes whole by its row's `decompose`.

    Needs: `aten` operators with inferred types. Leaves: operators of Core ATen, those that some kernel or backend takes whole
    (`legalize-operators` decomposes them where none does), and those that have no decomposition (`convert-aten-to-core` reports the ones
    outside Core ATen).
    """

    name = "decompose-aten"
    strict: bool = False
    """Whether operators outside Core ATen are decomposed too where some kernel or backend takes them whole."""

    def patterns(self) -> Sequence[Pattern]:
        """Returns the pattern that decomposes by the operator's row."""
        return [DecomposePattern(self._decomposed)]

    def _decomposed(self, op: SchemaOp) -> Any:
        is_whole = stays_whole(op) and (op.core or not self.strict)
        return None if op.level() != "aten" or is_whole else by_row(op)
